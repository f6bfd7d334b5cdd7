//! The token against OpenZeppelin's behaviour, Solidity's layout, and the gas schedule.

mod errors;
mod golden;
mod model;
mod receiving;
mod vesting;

use alloy_primitives::{Log, address, keccak256};
use alloy_sol_types::SolEventInterface;
use serde_json::json;

use super::{interface as sol, *};
use crate::{
    primitives::Gas,
    state::{Journal, fixture::MapView},
    vm::{BlockContext, Descriptor, FrameOutcome, FrameResult, Message, TemplateRegistry, execute, mapping_slot},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const ALL: Erc1155Features = Erc1155Features { mintable: true, burnable: true, pausable: true };
const URI: &str = "ipfs://items/{id}.json";

/// A deployed token.
struct Deployed {
    journal: Journal,
    registry: TemplateRegistry,
    token: Address,
}

fn params() -> Erc1155Params {
    Erc1155Params { features: ALL, royalty_receiver: CAROL, royalty_fee: 250, ..Erc1155Params::new(URI, OWNER) }
}

fn empty_journal() -> Journal {
    Journal::new(MapView::with_balances(&[OWNER, BOB, CAROL], U256::from(100)))
}

fn create(journal: &mut Journal, init_code: &[u8], value: u64, gas: u64) -> (Address, FrameResult) {
    journal.begin_transaction();
    let message = Message::create(OWNER, 0, U256::from(value), init_code, Gas::new(gas));
    (message.to, execute(journal, &BlockContext::default(), super::super::builtin(), &message).unwrap())
}

fn deploy(params: &Erc1155Params) -> Deployed {
    let mut journal = empty_journal();
    let (token, result) = create(&mut journal, &params.init_code(), 0, 10_000_000);
    assert!(result.is_success(), "{result:?}");
    Deployed { journal, registry: super::super::builtin().clone(), token }
}

/// Returns a token of which the owner has a hundred of the ids 1, 2 and 3.
fn stocked() -> Deployed {
    let mut token = deploy(&params());
    token.ok(OWNER, &mint_batch(OWNER, &[(1, 100), (2, 100), (3, 100)]));
    token
}

impl Deployed {
    /// Runs a transaction of its own with ample gas.
    fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        self.call_raw(caller, 0, &call.abi_encode(), 1_000_000)
    }

    fn call_raw(&mut self, caller: Address, value: u64, input: &[u8], gas: u64) -> FrameResult {
        self.journal.begin_transaction();
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(gas));
        execute(&mut self.journal, &BlockContext::default(), &self.registry, &message).unwrap()
    }

    fn read<C: SolCall>(&mut self, call: &C) -> C::Return {
        let result = self.call(CAROL, call);
        assert!(result.is_success(), "{result:?}");
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    fn ok<C: SolCall>(&mut self, caller: Address, call: &C) {
        let result = self.call(caller, call);
        assert!(result.is_success(), "{result:?}");
        assert!(result.output.is_empty(), "it returns nothing");
    }

    fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert!(self.journal.logs().is_empty());
    }

    fn balance(&mut self, account: Address, id: u64) -> u64 {
        self.read(&sol::balanceOfCall { account, id: U256::from(id) }).to()
    }

    fn supply(&mut self, id: u64) -> u64 {
        self.read(&sol::totalSupply_1Call { id: U256::from(id) }).to()
    }

    fn slot(&mut self, slot: U256) -> U256 {
        self.journal.storage(&self.token, &slot).unwrap()
    }

    fn logs(&self) -> Vec<sol::Erc1155TokenEvents> {
        let decode = |log: &Log| sol::Erc1155TokenEvents::decode_log(log).unwrap().data;
        self.journal.logs().iter().map(decode).collect()
    }
}

fn lists(pairs: &[(u64, u64)]) -> (Vec<U256>, Vec<U256>) {
    pairs.iter().map(|(id, value)| (U256::from(*id), U256::from(*value))).unzip()
}

fn mint(account: Address, id: u64, amount: u64) -> sol::mintCall {
    sol::mintCall { account, id: U256::from(id), amount: U256::from(amount), data: Bytes::new() }
}

fn mint_batch(to: Address, pairs: &[(u64, u64)]) -> sol::mintBatchCall {
    let (ids, amounts) = lists(pairs);
    sol::mintBatchCall { to, ids, amounts, data: Bytes::new() }
}

fn transfer(from: Address, to: Address, id: u64, value: u64) -> sol::safeTransferFromCall {
    sol::safeTransferFromCall { from, to, id: U256::from(id), value: U256::from(value), data: Bytes::new() }
}

fn transfer_batch(from: Address, to: Address, pairs: &[(u64, u64)]) -> sol::safeBatchTransferFromCall {
    let (ids, values) = lists(pairs);
    sol::safeBatchTransferFromCall { from, to, ids, values, data: Bytes::new() }
}

fn burn(account: Address, id: u64, value: u64) -> sol::burnCall {
    sol::burnCall { account, id: U256::from(id), value: U256::from(value) }
}

fn burn_batch(account: Address, pairs: &[(u64, u64)]) -> sol::burnBatchCall {
    let (ids, values) = lists(pairs);
    sol::burnBatchCall { account, ids, values }
}

#[test]
fn constants_are_the_hashes_of_their_texts() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.erc1155.immutables").0), IMMUTABLES);
    assert_eq!(keccak256("MINTER_ROLE"), token::MINTER_ROLE);
    assert_eq!(keccak256("PAUSER_ROLE"), token::PAUSER_ROLE);
    assert_eq!(keccak256("URI_SETTER_ROLE"), token::URI_SETTER_ROLE);
}

#[test]
fn a_new_token_gives_its_owner_the_roles_and_has_a_royalty() {
    let mut token = deploy(&params());
    let roles = [DEFAULT_ADMIN_ROLE, token::PAUSER_ROLE, token::MINTER_ROLE, token::URI_SETTER_ROLE];
    let granted = roles
        .map(|role| sol::Erc1155TokenEvents::RoleGranted(sol::RoleGranted { role, account: OWNER, sender: OWNER }));
    assert_eq!(token.logs(), granted);
    for role in roles {
        assert!(token.read(&sol::hasRoleCall { role, account: OWNER }));
        assert!(!token.read(&sol::hasRoleCall { role, account: BOB }));
        assert_eq!(token.read(&sol::getRoleAdminCall { role }), DEFAULT_ADMIN_ROLE);
    }
    assert_eq!(token.read(&sol::DEFAULT_ADMIN_ROLECall {}), DEFAULT_ADMIN_ROLE);
    assert_eq!(token.read(&sol::MINTER_ROLECall {}), token::MINTER_ROLE);
    assert_eq!(token.read(&sol::PAUSER_ROLECall {}), token::PAUSER_ROLE);
    assert_eq!(token.read(&sol::URI_SETTER_ROLECall {}), token::URI_SETTER_ROLE);
    assert_eq!(token.read(&sol::uriCall { id: U256::from(7) }), URI);
    let sale = sol::royaltyInfoCall { tokenId: U256::from(7), salePrice: U256::from(1_000) };
    let sol::royaltyInfoReturn { receiver, amount } = token.read(&sale);
    assert_eq!((receiver, amount), (CAROL, U256::from(25)));
}

#[test]
fn without_a_fee_no_royalty_is_stored() {
    let mut token = deploy(&Erc1155Params::new(URI, OWNER));
    assert_eq!(token.slot(U256::from(7)), U256::ZERO);
    let sale = sol::royaltyInfoCall { tokenId: U256::from(7), salePrice: U256::MAX };
    let sol::royaltyInfoReturn { receiver, amount } = token.read(&sale);
    assert_eq!((receiver, amount), (Address::ZERO, U256::ZERO));
}

#[test]
fn tokens_move_one_by_one_and_in_batches() {
    let mut token = stocked();
    token.ok(OWNER, &transfer(OWNER, BOB, 1, 30));
    let (operator, from) = (OWNER, OWNER);
    let single = sol::TransferSingle { operator, from, to: BOB, id: U256::from(1), value: U256::from(30) };
    assert_eq!(token.logs(), [sol::Erc1155TokenEvents::TransferSingle(single)]);
    assert_eq!((token.balance(OWNER, 1), token.balance(BOB, 1)), (70, 30));
    let pairs = [(2, 10), (3, 20), (2, 5)];
    token.ok(OWNER, &transfer_batch(OWNER, BOB, &pairs));
    let (ids, values) = lists(&pairs);
    let batch = sol::TransferBatch { operator, from, to: BOB, ids, values };
    assert_eq!(token.logs(), [sol::Erc1155TokenEvents::TransferBatch(batch)]);
    assert_eq!((token.balance(BOB, 2), token.balance(BOB, 3)), (15, 20));
    // A batch of one is a single transfer to who reads events, one of none is a batch.
    token.ok(OWNER, &transfer_batch(OWNER, BOB, &[(1, 1)]));
    assert!(matches!(token.logs()[..], [sol::Erc1155TokenEvents::TransferSingle(_)]));
    token.ok(OWNER, &transfer_batch(OWNER, BOB, &[]));
    assert!(matches!(token.logs()[..], [sol::Erc1155TokenEvents::TransferBatch(_)]));
    token.ok(OWNER, &transfer(OWNER, OWNER, 1, 69));
    assert_eq!(token.balance(OWNER, 1), 69);
    let (accounts, ids) = (vec![OWNER, BOB, BOB, CAROL], [1, 1, 3, 9].map(U256::from).to_vec());
    let balances = token.read(&sol::balanceOfBatchCall { accounts, ids });
    assert_eq!(balances, [69, 31, 20, 0].map(U256::from));
    assert_eq!([token.supply(1), token.supply(2), token.supply(3)], [100; 3], "transfers change no supply");
}

#[test]
fn an_operator_acts_for_a_holder() {
    let mut token = stocked();
    let approve = |approved| sol::setApprovalForAllCall { operator: BOB, approved };
    let asked = sol::isApprovedForAllCall { account: OWNER, operator: BOB };
    assert!(!token.read(&asked));
    token.ok(OWNER, &approve(true));
    let event = sol::ApprovalForAll { account: OWNER, operator: BOB, approved: true };
    assert_eq!(token.logs(), [sol::Erc1155TokenEvents::ApprovalForAll(event)]);
    assert!(token.read(&asked));
    token.ok(BOB, &transfer(OWNER, CAROL, 1, 1));
    token.ok(BOB, &transfer_batch(OWNER, CAROL, &[(2, 1), (3, 1)]));
    token.ok(BOB, &burn(OWNER, 1, 1));
    token.ok(BOB, &burn_batch(OWNER, &[(2, 1)]));
    assert_eq!((token.balance(OWNER, 1), token.balance(OWNER, 2), token.balance(CAROL, 1)), (98, 98, 1));
    token.ok(OWNER, &approve(false));
    let missing = sol::ERC1155MissingApprovalForAll { operator: BOB, owner: OWNER };
    token.fails(BOB, &transfer(OWNER, CAROL, 1, 1), &missing);
}

#[test]
fn supplies_follow_minting_and_burning() {
    let mut token = stocked();
    assert_eq!(token.read(&sol::totalSupply_0Call {}), U256::from(300));
    assert_eq!((token.supply(1), token.supply(4)), (100, 0));
    let exists = |id: u64| sol::existsCall { id: U256::from(id) };
    assert!(token.read(&exists(1)) && !token.read(&exists(4)));
    token.ok(OWNER, &mint(BOB, 4, 7));
    assert!(token.read(&exists(4)));
    token.ok(OWNER, &mint_batch(BOB, &[(4, 1), (4, 2), (1, 5)]));
    assert_eq!((token.supply(1), token.supply(4)), (105, 10));
    token.ok(BOB, &burn(BOB, 4, 3));
    let (operator, from, to) = (BOB, BOB, Address::ZERO);
    let event = sol::TransferSingle { operator, from, to, id: U256::from(4), value: U256::from(3) };
    assert_eq!(token.logs(), [sol::Erc1155TokenEvents::TransferSingle(event)]);
    token.ok(BOB, &burn_batch(BOB, &[(4, 3), (1, 5), (4, 4)]));
    assert_eq!((token.supply(1), token.supply(4), token.balance(BOB, 4)), (100, 0, 0));
    assert_eq!(token.read(&sol::totalSupply_0Call {}), U256::from(300));
}

#[test]
fn pausing_stops_every_movement() {
    let mut token = stocked();
    token.ok(OWNER, &sol::pauseCall {});
    assert_eq!(token.logs(), [sol::Erc1155TokenEvents::Paused(sol::Paused { account: OWNER })]);
    assert!(token.read(&sol::pausedCall {}));
    let paused = sol::EnforcedPause {};
    token.fails(OWNER, &transfer(OWNER, BOB, 1, 1), &paused);
    token.fails(OWNER, &transfer_batch(OWNER, BOB, &[]), &paused);
    token.fails(OWNER, &mint(BOB, 1, 1), &paused);
    token.fails(OWNER, &mint_batch(BOB, &[(1, 1)]), &paused);
    token.fails(OWNER, &burn(OWNER, 1, 1), &paused);
    token.fails(OWNER, &burn_batch(OWNER, &[(1, 1)]), &paused);
    token.ok(OWNER, &sol::setApprovalForAllCall { operator: BOB, approved: true });
    token.ok(OWNER, &sol::unpauseCall {});
    token.ok(OWNER, &transfer(OWNER, BOB, 1, 1));
}

#[test]
fn roles_say_who_may_do_what() {
    let mut token = deploy(&params());
    let lacks = |role| sol::AccessControlUnauthorizedAccount { account: BOB, neededRole: role };
    let set_uri = || sol::setURICall { newuri: "ipfs://other".to_owned() };
    let set_all = || sol::setDefaultRoyaltyCall { receiver: BOB, feeNumerator: U96::from(1) };
    let set_one =
        || sol::setTokenRoyaltyCall { tokenId: U256::from(7), receiver: BOB, feeNumerator: U96::from(10_000) };
    token.fails(BOB, &mint(BOB, 1, 1), &lacks(token::MINTER_ROLE));
    token.fails(BOB, &mint_batch(BOB, &[]), &lacks(token::MINTER_ROLE));
    token.fails(BOB, &sol::pauseCall {}, &lacks(token::PAUSER_ROLE));
    token.fails(BOB, &sol::unpauseCall {}, &lacks(token::PAUSER_ROLE));
    token.fails(BOB, &set_uri(), &lacks(token::URI_SETTER_ROLE));
    token.fails(BOB, &set_all(), &lacks(DEFAULT_ADMIN_ROLE));
    token.fails(BOB, &set_one(), &lacks(DEFAULT_ADMIN_ROLE));
    for role in [token::MINTER_ROLE, token::PAUSER_ROLE, token::URI_SETTER_ROLE, DEFAULT_ADMIN_ROLE] {
        token.fails(BOB, &sol::grantRoleCall { role, account: BOB }, &lacks(DEFAULT_ADMIN_ROLE));
        token.ok(OWNER, &sol::grantRoleCall { role, account: BOB });
    }
    token.ok(BOB, &mint(BOB, 1, 1));
    token.ok(BOB, &sol::pauseCall {});
    token.ok(BOB, &sol::unpauseCall {});
    token.ok(BOB, &set_uri());
    assert!(token.logs().is_empty(), "the wizard's setURI emits nothing");
    assert_eq!(token.read(&sol::uriCall { id: U256::ZERO }), "ipfs://other");
    token.ok(BOB, &set_all());
    token.ok(BOB, &set_one());
    let sale = |id: u64| sol::royaltyInfoCall { tokenId: U256::from(id), salePrice: U256::from(20_000) };
    assert_eq!(token.read(&sale(7)).amount, U256::from(20_000));
    assert_eq!(token.read(&sale(8)).amount, U256::from(2));
    token.ok(BOB, &sol::renounceRoleCall { role: token::MINTER_ROLE, callerConfirmation: BOB });
    token.ok(OWNER, &sol::revokeRoleCall { role: token::PAUSER_ROLE, account: BOB });
    token.fails(BOB, &mint(BOB, 1, 1), &lacks(token::MINTER_ROLE));
    token.fails(BOB, &sol::pauseCall {}, &lacks(token::PAUSER_ROLE));
}

/// Solidity takes a string's bytes as they are.
#[test]
fn a_uri_may_have_any_bytes() {
    let mut token = deploy(&params());
    let bytes = Bytes::from_static(&[0x61, 0xff, 0xfe]);
    let input = [sol::setURICall::SELECTOR.as_slice(), &(bytes.clone(),).abi_encode_params()].concat();
    assert!(token.call_raw(OWNER, 0, &input, 1_000_000).is_success());
    let word = token.slot(U256::from(2)).to_be_bytes::<32>();
    assert_eq!((&word[..3], word[31]), (bytes.as_ref(), 6));
    let result = token.call(BOB, &sol::uriCall { id: U256::ZERO });
    assert_eq!(result.output, bytes.abi_encode());
}

/// Every value is in solc's slot, so that `eth_getStorageAt` reads the same as of a Solidity contract.
#[test]
fn storage_is_laid_out_as_solidity_does() {
    let mut token = stocked();
    token.ok(OWNER, &sol::setApprovalForAllCall { operator: BOB, approved: true });
    token.ok(OWNER, &sol::setTokenRoyaltyCall { tokenId: U256::from(9), receiver: BOB, feeNumerator: U96::from(5) });
    token.ok(OWNER, &sol::pauseCall {});
    let word = |address: Address| U256::from_be_bytes(address.into_word().0);
    let (slot, hundred) = (|n: u64| U256::from(n), U256::from(100));
    assert_eq!(token.slot(mapping_slot(word(OWNER), mapping_slot(slot(2), slot(0)))), hundred);
    assert_eq!(token.slot(mapping_slot(word(BOB), mapping_slot(word(OWNER), slot(1)))), U256::ONE);
    assert_eq!(token.slot(slot(2)).to_be_bytes::<32>()[..22], *URI.as_bytes());
    let minter = mapping_slot(token::MINTER_ROLE.into(), slot(3));
    assert_eq!(token.slot(mapping_slot(word(OWNER), minter)), U256::ONE);
    assert_eq!(token.slot(slot(4)), U256::ONE);
    assert_eq!(token.slot(mapping_slot(slot(2), slot(5))), hundred);
    assert_eq!(token.slot(slot(6)), U256::from(300));
    assert_eq!(token.slot(slot(7)), (U256::from(250) << 160_usize) | word(CAROL));
    assert_eq!(token.slot(mapping_slot(slot(9), slot(8))), (U256::from(5) << 160_usize) | word(BOB));
    assert_eq!(token.slot(IMMUTABLES), U256::from(0b111));
}

/// The table that solc prints for OpenZeppelin's contracts in one, by their linearization.
#[test]
fn the_layout_is_that_of_the_solidity_contract() {
    let layout = Erc1155.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = if slot < IMMUTABLES { slot.to_string() } else { format!("immutables + {}", slot - IMMUTABLES) };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_balances 0 0 mapping(uint256 => mapping(address => uint256))",
        "_operatorApprovals 1 0 mapping(address => mapping(address => bool))",
        "_uri 2 0 string",
        "_roles 3 0 mapping(bytes32 => struct RoleData)",
        "_paused 4 0 bool",
        "_totalSupply 5 0 mapping(uint256 => uint256)",
        "_totalSupplyAll 6 0 uint256",
        "_defaultRoyaltyInfo 7 0 struct RoyaltyInfo",
        "_tokenRoyaltyInfo 8 0 mapping(uint256 => struct RoyaltyInfo)",
        "_features immutables + 0 0 uint8",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

/// Every function of the interface, with arguments of zeros: without a feature its functions, and no others, revert without data.
#[test]
fn optional_functions_are_absent_when_off() {
    let minting = vec![sol::mintCall::SELECTOR, sol::mintBatchCall::SELECTOR, sol::MINTER_ROLECall::SELECTOR];
    let burning = vec![sol::burnCall::SELECTOR, sol::burnBatchCall::SELECTOR];
    let pausing = vec![
        sol::pauseCall::SELECTOR,
        sol::unpauseCall::SELECTOR,
        sol::pausedCall::SELECTOR,
        sol::PAUSER_ROLECall::SELECTOR,
    ];
    let cases = [
        (ALL, vec![]),
        (Erc1155Features { mintable: false, ..ALL }, minting.clone()),
        (Erc1155Features { burnable: false, ..ALL }, burning.clone()),
        (Erc1155Features { pausable: false, ..ALL }, pausing.clone()),
        (Erc1155Features::default(), [minting, burning, pausing].concat()),
    ];
    for (features, absent) in cases {
        let params = Erc1155Params { features, ..params() };
        for selector in Calls::selectors() {
            let input = [selector.as_slice(), &[0; 7 * 32]].concat();
            let result = deploy(&params).call_raw(OWNER, 0, &input, 1_000_000);
            let is_absent = result.outcome == FrameOutcome::Revert && result.output.is_empty();
            let name = Calls::name_by_selector(selector);
            assert_eq!(is_absent, absent.contains(&selector), "{name:?} with {features:?}: {result:?}");
        }
    }
    let mut token = deploy(&Erc1155Params::new(URI, OWNER));
    assert!(!token.read(&sol::hasRoleCall { role: token::MINTER_ROLE, account: OWNER }));
    assert!(!token.read(&sol::hasRoleCall { role: token::PAUSER_ROLE, account: OWNER }));
    assert!(token.read(&sol::hasRoleCall { role: token::URI_SETTER_ROLE, account: OWNER }));
}

#[test]
fn interfaces_are_supported() {
    let mut token = deploy(&params());
    // ERC-165, ERC-1155, its metadata, access control, ERC-2981.
    let known = [0x01ff_c9a7_u32, 0xd9b6_7a26, 0x0e89_341c, 0x7965_db0b, 0x2a55_205a];
    for (id, want) in known.map(|id| (id, true)).into_iter().chain([(0xffff_ffff, false), (0, false)]) {
        let call = sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() };
        assert_eq!(token.read(&call), want, "{id:#x}");
    }
}

#[test]
fn a_token_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Erc1155);
    let values = json!({
        "uri": URI, "owner": OWNER.to_string(), "royaltyReceiver": CAROL.to_string(), "royaltyFee": "2.5",
        "features": { "mintable": true, "burnable": true, "pausable": true },
    });
    assert_eq!(descriptor.encode(values.as_object().unwrap(), BOB).unwrap(), params().init_code());
    let least = json!({ "uri": URI });
    let plain = Erc1155Params::new(URI, BOB);
    assert_eq!(descriptor.encode(least.as_object().unwrap(), BOB).unwrap(), plain.init_code());
    let wrong = json!({ "uri": 5 });
    let errors = descriptor.encode(wrong.as_object().unwrap(), OWNER).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["uri"]);
    assert!(descriptor.constructor.iter().all(|parameter| !parameter.description.is_empty()));
}

#[test]
fn the_abi_is_complete() {
    let abi = Erc1155.abi();
    assert_eq!(abi.functions().count(), 31);
    assert_eq!(abi.events().count(), 10);
    assert_eq!(abi.errors().count(), 15);
    let constructor = abi.constructor.unwrap();
    let names: Vec<_> = constructor.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["uri", "owner", "features", "royaltyReceiver", "royaltyFee", "distribution"]);
}

#[test]
fn a_distribution_mints_the_id_one() {
    let plain = Erc1155Params {
        distribution: [(BOB, 70), (OWNER, 30)]
            .map(|(account, amount)| VestingAllocation::at_once(account, U256::from(amount)))
            .to_vec(),
        ..Erc1155Params::new(URI, OWNER)
    };
    let mut token = deploy(&plain);
    let mut balance = |account| token.read(&sol::balanceOfCall { account, id: U256::ONE });
    assert_eq!([BOB, OWNER, CAROL].map(&mut balance), [70, 30, 0].map(U256::from));
    assert_eq!(token.read(&sol::totalSupply_1Call { id: U256::ONE }), U256::from(100));
}
