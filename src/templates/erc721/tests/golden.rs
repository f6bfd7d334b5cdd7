//! Gas of each call, refused ones too, and what a history of calls leaves in storage and logs. A changed number is a changed chain:
//! raise the template's version with it.

use super::*;
use crate::primitives::KeyPair;
use crate::templates::test_chain::golden::{Place, assert_golden, short};

/// Every function and its refusals: name, caller, input.
fn steps() -> Vec<(&'static str, Address, Vec<u8>)> {
    let (id, nobody) = (|n: u64| U256::from(n), Address::ZERO);
    let long = "a URI of more than thirty-one bytes, in two words of its own";
    let safe = |from, to, n| sol::safeTransferFrom_0Call { from, to, tokenId: id(n) }.abi_encode();
    let (receiver, fee) = (BOB, |n: u64| U96::from(n));
    let delegation = |expiry: u64, s: U256| {
        let (delegatee, nonce, expiry) = (CAROL, U256::ZERO, U256::from(expiry));
        let (v, r, s) = (27, B256::repeat_byte(7), s.into());
        sol::delegateBySigCall { delegatee, nonce, expiry, v, r, s }.abi_encode()
    };
    let holder = KeyPair::from_seed(1, "holder");
    let mut dirty = transfer(OWNER, BOB, 1).abi_encode();
    dirty[4] = 1;
    let data = Bytes::from_static(&[1; 40]);
    let with_data = sol::safeTransferFrom_1Call { from: BOB, to: OWNER, tokenId: id(2), data };
    vec![
        ("safeMint", OWNER, mint(OWNER, 1, "one").abi_encode()),
        ("safeMint with a long URI", OWNER, mint(BOB, 2, long).abi_encode()),
        ("safeMint without URI", OWNER, sol::safeMint_0Call { to: BOB, tokenId: id(3) }.abi_encode()),
        ("safeMint of what there is", OWNER, mint(BOB, 1, "").abi_encode()),
        ("safeMint to nobody", OWNER, mint(nobody, 9, "").abi_encode()),
        ("safeMint by a stranger", BOB, mint(BOB, 9, "").abi_encode()),
        ("delegate", BOB, sol::delegateCall { delegatee: CAROL }.abi_encode()),
        ("delegate again", BOB, sol::delegateCall { delegatee: BOB }.abi_encode()),
        ("transferFrom", BOB, transfer(BOB, CAROL, 2).abi_encode()),
        ("transferFrom by a stranger", BOB, transfer(CAROL, BOB, 2).abi_encode()),
        ("transferFrom of another", CAROL, transfer(BOB, CAROL, 2).abi_encode()),
        ("transferFrom of what is not there", BOB, transfer(BOB, CAROL, 9).abi_encode()),
        ("transferFrom to nobody", CAROL, transfer(CAROL, nobody, 2).abi_encode()),
        ("transferFrom to oneself", CAROL, transfer(CAROL, CAROL, 2).abi_encode()),
        ("approve", CAROL, sol::approveCall { to: BOB, tokenId: id(2) }.abi_encode()),
        ("approve by the approved", BOB, sol::approveCall { to: BOB, tokenId: id(2) }.abi_encode()),
        ("getApproved", BOB, sol::getApprovedCall { tokenId: id(2) }.abi_encode()),
        ("safeTransferFrom by the approved", BOB, safe(CAROL, BOB, 2)),
        ("safeTransferFrom with data", BOB, with_data.abi_encode()),
        ("setApprovalForAll", OWNER, sol::setApprovalForAllCall { operator: BOB, approved: true }.abi_encode()),
        (
            "setApprovalForAll of nobody",
            OWNER,
            sol::setApprovalForAllCall { operator: nobody, approved: true }.abi_encode(),
        ),
        ("isApprovedForAll", BOB, sol::isApprovedForAllCall { owner: OWNER, operator: BOB }.abi_encode()),
        ("safeTransferFrom by an operator", BOB, safe(OWNER, BOB, 2)),
        ("balanceOf", BOB, sol::balanceOfCall { owner: BOB }.abi_encode()),
        ("balanceOf nobody", BOB, sol::balanceOfCall { owner: nobody }.abi_encode()),
        ("ownerOf", BOB, sol::ownerOfCall { tokenId: id(1) }.abi_encode()),
        ("ownerOf what is not there", BOB, sol::ownerOfCall { tokenId: id(9) }.abi_encode()),
        ("tokenURI", BOB, sol::tokenURICall { tokenId: id(1) }.abi_encode()),
        ("tokenURI, long", BOB, sol::tokenURICall { tokenId: id(2) }.abi_encode()),
        ("tokenURI without one", BOB, sol::tokenURICall { tokenId: id(3) }.abi_encode()),
        ("totalSupply", BOB, sol::totalSupplyCall {}.abi_encode()),
        ("tokenByIndex", BOB, sol::tokenByIndexCall { index: id(2) }.abi_encode()),
        ("tokenByIndex beyond", BOB, sol::tokenByIndexCall { index: id(3) }.abi_encode()),
        ("tokenOfOwnerByIndex", BOB, sol::tokenOfOwnerByIndexCall { owner: BOB, index: id(1) }.abi_encode()),
        ("tokenOfOwnerByIndex beyond", BOB, sol::tokenOfOwnerByIndexCall { owner: BOB, index: id(9) }.abi_encode()),
        ("pause by a stranger", BOB, sol::pauseCall {}.abi_encode()),
        ("unpause, not paused", OWNER, sol::unpauseCall {}.abi_encode()),
        ("pause", OWNER, sol::pauseCall {}.abi_encode()),
        ("pause, paused", OWNER, sol::pauseCall {}.abi_encode()),
        ("transferFrom while paused", OWNER, transfer(OWNER, BOB, 1).abi_encode()),
        ("safeMint while paused", OWNER, mint(BOB, 9, "").abi_encode()),
        ("burn while paused", OWNER, sol::burnCall { tokenId: id(1) }.abi_encode()),
        ("paused", BOB, sol::pausedCall {}.abi_encode()),
        ("unpause", OWNER, sol::unpauseCall {}.abi_encode()),
        ("setDefaultRoyalty", OWNER, sol::setDefaultRoyaltyCall { receiver, feeNumerator: fee(250) }.abi_encode()),
        (
            "setDefaultRoyalty above all",
            OWNER,
            sol::setDefaultRoyaltyCall { receiver, feeNumerator: fee(10_001) }.abi_encode(),
        ),
        (
            "setDefaultRoyalty by a stranger",
            BOB,
            sol::setDefaultRoyaltyCall { receiver, feeNumerator: fee(1) }.abi_encode(),
        ),
        (
            "setTokenRoyalty",
            OWNER,
            sol::setTokenRoyaltyCall { tokenId: id(1), receiver, feeNumerator: fee(1) }.abi_encode(),
        ),
        (
            "setTokenRoyalty for nobody",
            OWNER,
            sol::setTokenRoyaltyCall { tokenId: id(1), receiver: nobody, feeNumerator: fee(1) }.abi_encode(),
        ),
        ("royaltyInfo of one", BOB, sol::royaltyInfoCall { tokenId: id(1), salePrice: id(100_000) }.abi_encode()),
        ("royaltyInfo", BOB, sol::royaltyInfoCall { tokenId: id(2), salePrice: id(100_000) }.abi_encode()),
        ("grantRole", OWNER, sol::grantRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("grantRole by a stranger", BOB, sol::grantRoleCall { role: MINTER_ROLE, account: CAROL }.abi_encode()),
        ("hasRole", BOB, sol::hasRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("getRoleAdmin", BOB, sol::getRoleAdminCall { role: MINTER_ROLE }.abi_encode()),
        ("revokeRole", OWNER, sol::revokeRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        (
            "renounceRole of another",
            BOB,
            sol::renounceRoleCall { role: PAUSER_ROLE, callerConfirmation: OWNER }.abi_encode(),
        ),
        ("renounceRole", OWNER, sol::renounceRoleCall { role: PAUSER_ROLE, callerConfirmation: OWNER }.abi_encode()),
        ("DEFAULT_ADMIN_ROLE", BOB, sol::DEFAULT_ADMIN_ROLECall {}.abi_encode()),
        ("MINTER_ROLE", BOB, sol::MINTER_ROLECall {}.abi_encode()),
        ("PAUSER_ROLE", BOB, sol::PAUSER_ROLECall {}.abi_encode()),
        ("burn", BOB, sol::burnCall { tokenId: id(3) }.abi_encode()),
        ("burn of the last", OWNER, sol::burnCall { tokenId: id(1) }.abi_encode()),
        ("burn by a stranger", CAROL, sol::burnCall { tokenId: id(2) }.abi_encode()),
        ("clock", BOB, sol::clockCall {}.abi_encode()),
        ("CLOCK_MODE", BOB, sol::CLOCK_MODECall {}.abi_encode()),
        ("getVotes", BOB, sol::getVotesCall { account: BOB }.abi_encode()),
        ("getPastVotes", BOB, sol::getPastVotesCall { account: BOB, timepoint: id(9) }.abi_encode()),
        ("getPastVotes of the future", BOB, sol::getPastVotesCall { account: BOB, timepoint: id(10) }.abi_encode()),
        ("getPastTotalSupply", BOB, sol::getPastTotalSupplyCall { timepoint: id(9) }.abi_encode()),
        ("delegates", BOB, sol::delegatesCall { account: BOB }.abi_encode()),
        ("delegateBySig, expired", BOB, delegation(999, U256::ONE)),
        ("delegateBySig, high s", BOB, delegation(2_000, U256::MAX)),
        ("delegateBySig of anybody", BOB, delegation(2_000, U256::ONE)),
        ("nonces", BOB, sol::noncesCall { owner: OWNER }.abi_encode()),
        ("eip712Domain", BOB, sol::eip712DomainCall {}.abi_encode()),
        ("supportsInterface", BOB, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("name", BOB, sol::nameCall {}.abi_encode()),
        ("symbol", BOB, sol::symbolCall {}.abi_encode()),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
        ("half a selector", BOB, vec![1, 2]),
        ("half the arguments", OWNER, transfer(OWNER, BOB, 1).abi_encode()[..40].to_vec()),
        ("a dirty address", OWNER, dirty),
        ("delegateBySig", BOB, votes::signed_for(OWNER.create(0), &holder, 0).abi_encode()),
    ]
}

/// Constructions, refused ones too.
fn constructions() -> Vec<(&'static str, Erc721Params)> {
    let long = "a name of more than thirty-one bytes, which solc stores apart".to_owned();
    let plain = Erc721Params::new("Plain", "PLN", "", OWNER);
    let without_votes = Erc721Features { votes: false, ..ALL };
    vec![
        ("all functions", params()),
        ("all but votes", Erc721Params { features: without_votes, ..params() }),
        ("no function", plain.clone()),
        ("royalties", Erc721Params { royalty_fee: 250, ..plain.clone() }),
        ("long texts", Erc721Params { name: long.clone(), base_uri: long.clone(), ..plain.clone() }),
        ("a long name and votes", Erc721Params { name: long, ..params() }),
        ("royalties above all", Erc721Params { royalty_fee: 10_001, ..plain.clone() }),
        ("royalties for nobody", Erc721Params { royalty_fee: 1, royalty_receiver: Address::ZERO, ..plain }),
    ]
}

/// Returns a token's address, the result and the line of its construction.
fn construction(name: &str, journal: &mut Journal, params: &Erc721Params) -> (Address, FrameResult, String) {
    let (init_code, block) = (params.init_code(), BlockContext::default());
    let message = Message::create(OWNER, 0, U256::ZERO, &init_code, Gas::new(10_000_000));
    let place = Place { block: &block, registry: super::super::super::builtin() };
    let (result, line) = place.run(&format!("construction with {name}"), journal, &message);
    (message.to, result, line)
}

impl Deployed {
    fn line(&mut self, name: &str, caller: Address, value: u64, input: &[u8]) -> String {
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(1_000_000));
        Place { block: &self.block, registry: &self.registry }.line(name, &mut self.journal, &message)
    }
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut text = String::new();
    for (name, params) in constructions() {
        let mut journal = empty_journal();
        let (_, result, line) = construction(name, &mut journal, &params);
        text += &line;
        if !result.is_success() {
            continue;
        }
        let mut token = deploy(&params);
        for (name, caller, input) in steps() {
            text += &token.line(name, caller, 0, &input);
        }
        text += &token.line("value", BOB, 1, &transfer(BOB, CAROL, 2).abi_encode());
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

/// The first mint of a token without votes, from the schedule.
#[test]
fn a_mints_gas_is_the_sum_of_its_operations() {
    let (hash, warm, cold, new) = (30 + 2 * 6, 100, 2_100, 20_000);
    let dispatch = 100;
    // The features; the caller's role, two mappings deep; whether it is paused.
    let checks = cold + (2 * hash + cold) + cold;
    // The owner and the balance; the owner's slot is read again, as an address does not fill it.
    let owner = (hash + cold) + (hash + cold + new) + (hash + warm + new);
    let transfer = 375 + 4 * 375;
    // The number of all tokens; this one's index, 0 as before; its place in the list, whose start is a hash of one word.
    let all_tokens = cold + (hash + cold + warm) + (warm + new + 30 + 6 + cold + new);
    // The balance; the place in the owner's list, two mappings deep; the index there, 0 as before.
    let owned_tokens = (hash + warm) + (2 * hash + cold + new) + (hash + cold + warm);
    // The features again; the receiver, who is the caller.
    let receiver = warm + warm;
    let uri = hash + cold + new;
    let metadata_update = 375 + 375 + 32 * 8;
    let want = dispatch + checks + owner + transfer + all_tokens + owned_tokens + receiver + uri + metadata_update;
    let features = Erc721Features { votes: false, ..ALL };
    let mut token = deploy(&Erc721Params { features, ..params() });
    let (_, caller, input) = steps().swap_remove(0);
    let result = token.call_raw(caller, 0, &input, 1_000_000);
    assert_eq!(1_000_000 - result.gas_left.get(), want);
}
