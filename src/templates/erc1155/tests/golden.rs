//! Gas of each call, refused ones too, and what a history of calls leaves in storage and logs. A changed number is a changed chain:
//! raise the template's version with it.

use super::*;
use crate::templates::test_chain::golden::{Place, assert_golden, short};

/// Every function and its refusals: name, caller, input.
fn steps() -> Vec<(&'static str, Address, Vec<u8>)> {
    let zero = Address::ZERO;
    let approve = |operator, approved| sol::setApprovalForAllCall { operator, approved }.abi_encode();
    let grant = |role| sol::grantRoleCall { role, account: BOB }.abi_encode();
    let set_uri = |text: &str| sol::setURICall { newuri: text.to_owned() }.abi_encode();
    let all = |fee: u64| sol::setDefaultRoyaltyCall { receiver: BOB, feeNumerator: U96::from(fee) }.abi_encode();
    let one = |fee: u64| {
        sol::setTokenRoyaltyCall { tokenId: U256::from(2), receiver: BOB, feeNumerator: U96::from(fee) }.abi_encode()
    };
    let info = |id: u64| sol::royaltyInfoCall { tokenId: U256::from(id), salePrice: U256::from(1_000) }.abi_encode();
    let mut dirty = transfer(OWNER, BOB, 1, 1).abi_encode();
    dirty[4] = 1;
    let long = "ipfs://a-directory-whose-name-does-not-fit-into-one-slot/{id}.json";
    let (ids, accounts) = ([1, 2, 3].map(U256::from).to_vec(), vec![OWNER, BOB, CAROL]);
    vec![
        ("mint", OWNER, mint(OWNER, 1, 100).abi_encode()),
        ("mint of a known id", OWNER, mint(OWNER, 1, 100).abi_encode()),
        ("mint by a stranger", BOB, mint(BOB, 1, 1).abi_encode()),
        ("mint to nobody", OWNER, mint(zero, 1, 1).abi_encode()),
        ("mintBatch", OWNER, mint_batch(OWNER, &[(2, 100), (3, 100), (4, 1)]).abi_encode()),
        ("mintBatch of nothing", OWNER, mint_batch(OWNER, &[]).abi_encode()),
        ("mintBatch by a stranger", BOB, mint_batch(BOB, &[]).abi_encode()),
        ("safeTransferFrom to a new holder", OWNER, transfer(OWNER, BOB, 1, 10).abi_encode()),
        ("safeTransferFrom to a holder", OWNER, transfer(OWNER, BOB, 1, 10).abi_encode()),
        ("safeTransferFrom to oneself", OWNER, transfer(OWNER, OWNER, 1, 10).abi_encode()),
        ("safeTransferFrom of too much", BOB, transfer(BOB, OWNER, 1, 21).abi_encode()),
        ("safeTransferFrom of everything", BOB, transfer(BOB, OWNER, 1, 20).abi_encode()),
        ("safeTransferFrom to nobody", OWNER, transfer(OWNER, zero, 1, 1).abi_encode()),
        ("safeTransferFrom of nobody", zero, transfer(zero, BOB, 1, 0).abi_encode()),
        ("safeTransferFrom by a stranger", BOB, transfer(OWNER, BOB, 1, 1).abi_encode()),
        ("safeBatchTransferFrom", OWNER, transfer_batch(OWNER, BOB, &[(1, 5), (2, 5), (3, 5)]).abi_encode()),
        ("safeBatchTransferFrom of one", OWNER, transfer_batch(OWNER, BOB, &[(1, 5)]).abi_encode()),
        ("safeBatchTransferFrom of nothing", OWNER, transfer_batch(OWNER, BOB, &[]).abi_encode()),
        ("safeBatchTransferFrom of too much", OWNER, transfer_batch(OWNER, BOB, &[(1, 5), (4, 2)]).abi_encode()),
        ("setApprovalForAll", OWNER, approve(BOB, true)),
        ("setApprovalForAll of nobody", OWNER, approve(zero, true)),
        ("isApprovedForAll", BOB, sol::isApprovedForAllCall { account: OWNER, operator: BOB }.abi_encode()),
        ("safeTransferFrom by an operator", BOB, transfer(OWNER, CAROL, 1, 1).abi_encode()),
        ("burn by an operator", BOB, burn(OWNER, 1, 1).abi_encode()),
        ("setApprovalForAll, revoked", OWNER, approve(BOB, false)),
        ("burn", BOB, burn(BOB, 1, 5).abi_encode()),
        ("burn of too much", BOB, burn(BOB, 1, 50).abi_encode()),
        ("burn of another's", BOB, burn(OWNER, 1, 5).abi_encode()),
        ("burnBatch", BOB, burn_batch(BOB, &[(2, 5), (3, 1)]).abi_encode()),
        ("burnBatch of everything", OWNER, burn_batch(OWNER, &[(4, 1)]).abi_encode()),
        ("balanceOf", BOB, sol::balanceOfCall { account: OWNER, id: U256::from(1) }.abi_encode()),
        ("balanceOfBatch", BOB, sol::balanceOfBatchCall { accounts: accounts.clone(), ids }.abi_encode()),
        ("balanceOfBatch, uneven", BOB, sol::balanceOfBatchCall { accounts, ids: Vec::new() }.abi_encode()),
        ("totalSupply", BOB, sol::totalSupply_0Call {}.abi_encode()),
        ("totalSupply of an id", BOB, sol::totalSupply_1Call { id: U256::from(1) }.abi_encode()),
        ("exists", BOB, sol::existsCall { id: U256::from(1) }.abi_encode()),
        ("uri", BOB, sol::uriCall { id: U256::from(1) }.abi_encode()),
        ("setURI, long", OWNER, set_uri(long)),
        ("uri, long", BOB, sol::uriCall { id: U256::from(1) }.abi_encode()),
        ("setURI, short", OWNER, set_uri("ipfs://")),
        ("setURI by a stranger", BOB, set_uri("ipfs://")),
        ("pause by a stranger", BOB, sol::pauseCall {}.abi_encode()),
        ("unpause, not paused", OWNER, sol::unpauseCall {}.abi_encode()),
        ("pause", OWNER, sol::pauseCall {}.abi_encode()),
        ("pause, paused", OWNER, sol::pauseCall {}.abi_encode()),
        ("safeTransferFrom while paused", OWNER, transfer(OWNER, BOB, 1, 1).abi_encode()),
        ("mint while paused", OWNER, mint(BOB, 1, 1).abi_encode()),
        ("burn while paused", OWNER, burn(OWNER, 1, 1).abi_encode()),
        ("paused", BOB, sol::pausedCall {}.abi_encode()),
        ("unpause", OWNER, sol::unpauseCall {}.abi_encode()),
        ("DEFAULT_ADMIN_ROLE", BOB, sol::DEFAULT_ADMIN_ROLECall {}.abi_encode()),
        ("MINTER_ROLE", BOB, sol::MINTER_ROLECall {}.abi_encode()),
        ("PAUSER_ROLE", BOB, sol::PAUSER_ROLECall {}.abi_encode()),
        ("URI_SETTER_ROLE", BOB, sol::URI_SETTER_ROLECall {}.abi_encode()),
        ("hasRole", BOB, sol::hasRoleCall { role: token::MINTER_ROLE, account: BOB }.abi_encode()),
        ("getRoleAdmin", BOB, sol::getRoleAdminCall { role: token::MINTER_ROLE }.abi_encode()),
        ("grantRole", OWNER, grant(token::MINTER_ROLE)),
        ("grantRole, granted", OWNER, grant(token::MINTER_ROLE)),
        ("grantRole by a stranger", BOB, grant(token::PAUSER_ROLE)),
        ("revokeRole", OWNER, sol::revokeRoleCall { role: token::MINTER_ROLE, account: BOB }.abi_encode()),
        ("renounceRole", OWNER, renounce(OWNER)),
        ("renounceRole of another", OWNER, renounce(BOB)),
        ("setDefaultRoyalty", OWNER, all(100)),
        ("setDefaultRoyalty above the price", OWNER, all(10_001)),
        ("setDefaultRoyalty by a stranger", BOB, all(100)),
        ("setTokenRoyalty", OWNER, one(500)),
        ("setTokenRoyalty above the price", OWNER, one(10_001)),
        ("setTokenRoyalty by a stranger", BOB, one(500)),
        ("royaltyInfo of all", BOB, info(1)),
        ("royaltyInfo of one", BOB, info(2)),
        ("supportsInterface", BOB, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
        ("half a selector", BOB, vec![1, 2]),
        ("half the arguments", OWNER, transfer(OWNER, BOB, 1, 1).abi_encode()[..100].to_vec()),
        ("a dirty address", OWNER, dirty),
    ]
}

fn renounce(account: Address) -> Vec<u8> {
    sol::renounceRoleCall { role: token::MINTER_ROLE, callerConfirmation: account }.abi_encode()
}

/// Constructions, refused ones too.
fn constructions() -> Vec<(&'static str, Erc1155Params)> {
    let long = "ipfs://a-directory-whose-name-does-not-fit-into-one-slot/{id}.json".to_owned();
    vec![
        ("all functions", params()),
        ("no function", Erc1155Params::new(URI, OWNER)),
        ("a long URI", Erc1155Params { uri: long, ..params() }),
        ("no royalty", Erc1155Params { royalty_fee: 0, ..params() }),
        ("a royalty above the price", Erc1155Params { royalty_fee: 10_001, ..params() }),
        ("nobody's royalty", Erc1155Params { royalty_receiver: Address::ZERO, ..params() }),
    ]
}

/// Returns a token's address, the result and the line of its construction.
fn construction(name: &str, journal: &mut Journal, params: &Erc1155Params) -> (Address, FrameResult, String) {
    let (init_code, block) = (params.init_code(), BlockContext::default());
    let message = Message::create(OWNER, 0, U256::ZERO, &init_code, Gas::new(10_000_000));
    let place = Place { block: &block, registry: super::super::super::builtin() };
    let (result, line) = place.run(&format!("construction with {name}"), journal, &message);
    (message.to, result, line)
}

impl Deployed {
    fn line(&mut self, name: &str, caller: Address, value: u64, input: &[u8]) -> String {
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(1_000_000));
        Place { block: &BlockContext::default(), registry: &self.registry }.line(name, &mut self.journal, &message)
    }
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut text = String::new();
    for (name, params) in constructions() {
        let mut journal = empty_journal();
        let (token, result, line) = construction(name, &mut journal, &params);
        text += &line;
        if !result.is_success() {
            continue;
        }
        let mut token = Deployed { journal, registry: super::super::super::builtin().clone(), token };
        for (name, caller, input) in steps() {
            text += &token.line(name, caller, 0, &input);
        }
        text.push_str(&format!("storage: {}\n", storage(token)));
    }
    text
}

/// Returns the start of keccak of the token's slots and words.
fn storage(mut token: Deployed) -> String {
    let changes = token.journal.take_changes();
    let slots = changes.accounts[&token.token].storage.iter();
    let words = slots.flat_map(|(slot, value)| [slot.to_be_bytes::<32>(), value.to_be_bytes::<32>()]);
    short(&words.flatten().collect::<Vec<_>>())
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}

/// The first transfer of the table, from the schedule: dispatch, the pause flag, two slots of balances by their common id, the
/// event, the receiver's code.
#[test]
fn a_transfers_gas_is_the_sum_of_its_operations() {
    let (dispatch, hash, cold) = (100, 30 + 2 * 6, 2_100);
    let sender = hash + cold + 2_900;
    let new_holder = hash + cold + 20_000;
    let event = 375 + 4 * 375 + 64 * 8;
    let receiver = 2_600;
    let want = dispatch + cold + hash + sender + new_holder + event + receiver;
    let mut token = stocked();
    let result = token.call_raw(OWNER, 0, &transfer(OWNER, BOB, 1, 10).abi_encode(), 1_000_000);
    assert_eq!(1_000_000 - result.gas_left.get(), want);
}
