//! The token against OpenZeppelin's behaviour, Solidity's layout, and the gas schedule.

mod errors;
mod gas;
mod golden;
mod model;
mod permit;

use alloy_primitives::{B256, Log, address, keccak256};
use alloy_sol_types::{SolError, SolEvent, SolInterface};

use super::{interface as sol, *};
use crate::{
    primitives::{Gas, Timestamp},
    state::{Journal, fixture::MapView},
    vm::{BlockContext, Descriptor, FrameOutcome, FrameResult, Message, execute, mapping_slot},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const SUPPLY: U256 = U256::from_limbs([1_000, 0, 0, 0]);
const ALL: Erc20Features = Erc20Features { mintable: true, burnable: true, pausable: true };

/// A deployed token.
struct Deployed {
    journal: Journal,
    block: BlockContext,
    token: Address,
}

fn params() -> Erc20Params {
    Erc20Params { features: ALL, cap: Some(U256::from(5_000)), ..Erc20Params::new("Gold", "GLD", SUPPLY, OWNER) }
}

fn create(journal: &mut Journal, init_code: &[u8], value: u64, gas: u64) -> (Address, FrameResult) {
    journal.begin_transaction();
    let message = Message::create(OWNER, 0, U256::from(value), init_code, Gas::new(gas));
    let block = BlockContext::default();
    (message.to, execute(journal, &block, super::super::builtin(), &message).unwrap())
}

fn empty_journal() -> Journal {
    Journal::new(MapView::with_balances(&[OWNER, BOB, CAROL], U256::from(100)))
}

fn deploy(params: &Erc20Params) -> Deployed {
    let mut journal = empty_journal();
    let (token, result) = create(&mut journal, &params.init_code(), 0, 10_000_000);
    assert!(result.is_success(), "{result:?}");
    let block = BlockContext { chain_id: 1, timestamp: Timestamp::from_secs(1_000), ..BlockContext::default() };
    Deployed { journal, block, token }
}

impl Deployed {
    /// Runs a transaction of its own with ample gas.
    fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        self.call_raw(caller, 0, &call.abi_encode(), 1_000_000)
    }

    fn call_raw(&mut self, caller: Address, value: u64, input: &[u8], gas: u64) -> FrameResult {
        self.journal.begin_transaction();
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(gas));
        execute(&mut self.journal, &self.block, super::super::builtin(), &message).unwrap()
    }

    fn read<C: SolCall>(&mut self, call: &C) -> C::Return {
        let result = self.call(CAROL, call);
        assert!(result.is_success(), "{result:?}");
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    fn ok<C: SolCall>(&mut self, caller: Address, call: &C) {
        let result = self.call(caller, call);
        assert!(result.is_success(), "{result:?}");
    }

    fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert!(self.journal.logs().is_empty());
    }

    fn balance(&mut self, account: Address) -> u64 {
        self.read(&sol::balanceOfCall { account }).to()
    }

    fn slot(&mut self, slot: U256) -> U256 {
        self.journal.storage(&self.token, &slot).unwrap()
    }

    fn logs(&self) -> Vec<(Address, sol::Erc20TokenEvents)> {
        use alloy_sol_types::SolEventInterface;
        let decode = |log: &Log| (log.address, sol::Erc20TokenEvents::decode_log(log).unwrap().data);
        self.journal.logs().iter().map(decode).collect()
    }
}

fn transfer(to: Address, value: u64) -> sol::transferCall {
    sol::transferCall { to, value: U256::from(value) }
}

#[test]
fn immutables_are_at_the_documented_slots() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.erc20.immutables").0), IMMUTABLES);
}

#[test]
fn a_new_token_returns_its_parameters() {
    let mut token = deploy(&Erc20Params { decimals: 6, ..params() });
    assert_eq!(
        token.logs().into_iter().map(|(_, event)| event).collect::<Vec<_>>(),
        [
            sol::Erc20TokenEvents::OwnershipTransferred(sol::OwnershipTransferred {
                previousOwner: Address::ZERO,
                newOwner: OWNER
            }),
            sol::Erc20TokenEvents::Transfer(sol::Transfer { from: Address::ZERO, to: OWNER, value: SUPPLY }),
        ]
    );
    assert_eq!(token.read(&sol::nameCall {}), "Gold");
    assert_eq!(token.read(&sol::symbolCall {}), "GLD");
    assert_eq!(token.read(&sol::decimalsCall {}), 6);
    assert_eq!(token.read(&sol::totalSupplyCall {}), SUPPLY, "decimals do not scale it");
    assert_eq!(token.read(&sol::capCall {}), U256::from(5_000));
    assert_eq!(token.read(&sol::ownerCall {}), OWNER);
    assert!(!token.read(&sol::pausedCall {}));
    assert_eq!(token.balance(OWNER), 1_000);
}

#[test]
fn a_transfer_moves_tokens_and_emits_an_event() {
    let mut token = deploy(&params());
    let result = token.call(OWNER, &transfer(BOB, 10));
    assert!(sol::transferCall::abi_decode_returns_validate(&result.output).unwrap());
    let event = sol::Transfer { from: OWNER, to: BOB, value: U256::from(10) };
    let [log] = token.journal.logs() else { panic!("one log") };
    assert_eq!((log.address, &log.data), (token.token, &event.encode_log_data()));
    assert_eq!(log.topics()[0], keccak256("Transfer(address,address,uint256)"));
    assert_eq!((token.balance(OWNER), token.balance(BOB)), (990, 10));
    token.ok(BOB, &transfer(BOB, 10));
    token.ok(CAROL, &transfer(BOB, 0));
    assert_eq!(token.balance(BOB), 10);
}

#[test]
fn allowances_are_used_up_unless_infinite() {
    let mut token = deploy(&params());
    let approve = |value| sol::approveCall { spender: BOB, value };
    let allowance = sol::allowanceCall { owner: OWNER, spender: BOB };
    let pull = sol::transferFromCall { from: OWNER, to: CAROL, value: U256::from(30) };
    token.ok(OWNER, &approve(U256::from(50)));
    let approval = sol::Approval { owner: OWNER, spender: BOB, value: U256::from(50) };
    assert_eq!(token.journal.logs()[0].data, approval.encode_log_data());
    token.ok(BOB, &pull);
    assert_eq!(token.logs().len(), 1, "no Approval event when an allowance is used");
    assert_eq!(token.read(&allowance), U256::from(20));
    token.ok(OWNER, &approve(U256::MAX));
    token.ok(BOB, &pull);
    assert_eq!(token.read(&allowance), U256::MAX);
    assert_eq!(token.balance(CAROL), 60);
}

#[test]
fn the_owner_mints_up_to_the_cap_and_holders_burn() {
    let mut token = deploy(&params());
    token.ok(OWNER, &sol::mintCall { to: BOB, amount: U256::from(4_000) });
    assert_eq!(token.read(&sol::totalSupplyCall {}), U256::from(5_000));
    token.ok(BOB, &sol::burnCall { value: U256::from(1_500) });
    let burnt = sol::Transfer { from: BOB, to: Address::ZERO, value: U256::from(1_500) };
    assert_eq!(token.journal.logs()[0].data, burnt.encode_log_data());
    token.ok(BOB, &sol::approveCall { spender: CAROL, value: U256::from(500) });
    token.ok(CAROL, &sol::burnFromCall { account: BOB, value: U256::from(500) });
    assert_eq!(token.balance(BOB), 2_000);
    assert_eq!(token.read(&sol::totalSupplyCall {}), U256::from(3_000));
    assert_eq!(token.read(&sol::allowanceCall { owner: BOB, spender: CAROL }), U256::ZERO);
}

#[test]
fn pausing_stops_every_movement() {
    let mut token = deploy(&params());
    token.ok(OWNER, &sol::approveCall { spender: BOB, value: U256::from(5) });
    token.ok(OWNER, &sol::pauseCall {});
    assert_eq!(token.logs()[0].1, sol::Erc20TokenEvents::Paused(sol::Paused { account: OWNER }));
    assert!(token.read(&sol::pausedCall {}));
    assert_eq!(token.read(&sol::ownerCall {}), OWNER, "they share a slot");
    let paused = sol::EnforcedPause {};
    token.fails(OWNER, &transfer(BOB, 1), &paused);
    token.fails(BOB, &sol::transferFromCall { from: OWNER, to: BOB, value: U256::from(1) }, &paused);
    token.fails(OWNER, &sol::mintCall { to: BOB, amount: U256::from(1) }, &paused);
    token.fails(OWNER, &sol::burnCall { value: U256::from(1) }, &paused);
    token.fails(OWNER, &sol::pauseCall {}, &paused);
    token.ok(OWNER, &sol::approveCall { spender: BOB, value: U256::from(6) });
    token.ok(OWNER, &sol::unpauseCall {});
    assert_eq!(token.logs()[0].1, sol::Erc20TokenEvents::Unpaused(sol::Unpaused { account: OWNER }));
    token.fails(OWNER, &sol::unpauseCall {}, &sol::ExpectedPause {});
    token.ok(OWNER, &transfer(BOB, 1));
}

#[test]
fn ownership_moves_and_ends() {
    let mut token = deploy(&params());
    token.ok(OWNER, &sol::transferOwnershipCall { newOwner: BOB });
    let moved = sol::OwnershipTransferred { previousOwner: OWNER, newOwner: BOB };
    assert_eq!(token.journal.logs()[0].data, moved.encode_log_data());
    token.fails(OWNER, &sol::pauseCall {}, &sol::OwnableUnauthorizedAccount { account: OWNER });
    token.ok(BOB, &sol::renounceOwnershipCall {});
    assert_eq!(token.read(&sol::ownerCall {}), Address::ZERO);
    token.fails(BOB, &sol::pauseCall {}, &sol::OwnableUnauthorizedAccount { account: BOB });
}

/// Every value is in solc's slot, so that `eth_getStorageAt` reads the same as of a Solidity contract.
#[test]
fn storage_is_laid_out_as_solidity_does() {
    let mut token = deploy(&params());
    token.ok(OWNER, &transfer(BOB, 10));
    token.ok(OWNER, &sol::approveCall { spender: BOB, value: U256::from(77) });
    token.ok(OWNER, &sol::pauseCall {});
    let word = |address: Address| U256::from_be_bytes(address.into_word().0);
    let (slot, one) = (|n: u64| U256::from(n), U256::from(1));
    assert_eq!(token.slot(mapping_slot(word(BOB), slot(0))), U256::from(10));
    assert_eq!(token.slot(mapping_slot(word(BOB), mapping_slot(word(OWNER), one))), U256::from(77));
    assert_eq!(token.slot(slot(2)), SUPPLY);
    let mut gold = [0; 32];
    gold[..4].copy_from_slice(b"Gold");
    gold[31] = 8;
    assert_eq!(token.slot(slot(3)), U256::from_be_bytes(gold));
    assert_eq!(token.slot(slot(5)), (word(OWNER) << 8) | one);
    assert_eq!(token.slot(slot(6)), U256::ZERO);
}

/// The table that solc prints for OpenZeppelin's contracts in one, by their linearization.
#[test]
fn the_layout_is_that_of_the_solidity_contract() {
    let layout = Erc20.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = if slot < IMMUTABLES { slot.to_string() } else { format!("immutables + {}", slot - IMMUTABLES) };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_balances 0 0 mapping(address => uint256)",
        "_allowances 1 0 mapping(address => mapping(address => uint256))",
        "_totalSupply 2 0 uint256",
        "_name 3 0 string",
        "_symbol 4 0 string",
        "_paused 5 0 bool",
        "_owner 5 1 address",
        "_nameFallback 6 0 string",
        "_versionFallback 7 0 string",
        "_nonces 8 0 mapping(address => uint256)",
        "_settings immutables + 0 0 struct Settings",
        "_cap immutables + 1 0 uint256",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_long_name_is_stored_behind_its_slot() {
    for len in [31, 32, 33, 64, 65] {
        let name = "abcdefghij".repeat(7)[..len].to_owned();
        let mut token = deploy(&Erc20Params { name: name.clone(), ..params() });
        assert_eq!(token.read(&sol::nameCall {}), name);
        if len > 31 {
            assert_eq!(token.slot(U256::from(3)), U256::from(len * 2 + 1));
            let first: U256 = keccak256(U256::from(3).to_be_bytes::<32>()).into();
            assert_eq!(token.slot(first), U256::from_be_slice(&name.as_bytes()[..32]));
            assert_eq!(token.slot(U256::from(6)), U256::from(len * 2 + 1), "the EIP-712 name too");
        }
    }
}

#[test]
fn optional_functions_are_absent_when_off() {
    let mut token = deploy(&Erc20Params::new("Plain", "PLN", SUPPLY, OWNER));
    let calls = [
        sol::mintCall { to: BOB, amount: U256::from(1) }.abi_encode(),
        sol::burnCall { value: U256::from(1) }.abi_encode(),
        sol::burnFromCall { account: OWNER, value: U256::ZERO }.abi_encode(),
        sol::pauseCall {}.abi_encode(),
        sol::unpauseCall {}.abi_encode(),
        sol::pausedCall {}.abi_encode(),
    ];
    for input in calls {
        let result = token.call_raw(OWNER, 0, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
    }
    assert_eq!(token.read(&sol::capCall {}), U256::MAX);
}

#[test]
fn interfaces_are_supported() {
    let mut token = deploy(&params());
    // ERC-165, ERC-20, its metadata, EIP-2612, EIP-5267.
    let known = [0x01ff_c9a7_u32, 0x3637_2b07, 0xa219_a025, 0x9d8f_f7da, 0x84b0_196e];
    for (id, want) in known.map(|id| (id, true)).into_iter().chain([(0xffff_ffff, false), (0, false)]) {
        let call = sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() };
        assert_eq!(token.read(&call), want, "{id:#x}");
    }
}

#[test]
fn a_token_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Erc20);
    let values = serde_json::json!({
        "name": "Gold", "symbol": "GLD", "totalSupply": "1000", "features": { "mintable": true }, "cap": "5000",
    });
    let encoded = descriptor.encode(values.as_object().unwrap(), OWNER).unwrap();
    let features = Erc20Features { mintable: true, ..Erc20Features::default() };
    assert_eq!(encoded, Erc20Params { features, ..params() }.init_code());
    let errors = descriptor.encode(&serde_json::Map::new(), OWNER).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["name", "symbol"]);
    let least = serde_json::json!({ "name": "Gold", "symbol": "GLD" });
    let plain = Erc20Params::new("Gold", "GLD", U256::ZERO, OWNER);
    assert_eq!(descriptor.encode(least.as_object().unwrap(), OWNER).unwrap(), plain.init_code());
}

#[test]
fn the_abi_is_complete() {
    let abi = Erc20.abi();
    assert_eq!(abi.functions().count(), 24);
    assert_eq!(abi.events().count(), 6);
    assert_eq!(abi.errors().count(), 17);
    let constructor = abi.constructor.unwrap();
    let names: Vec<_> = constructor.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["name", "symbol", "totalSupply", "decimals", "owner", "features", "cap"]);
    // Every function of the interface is dispatched.
    let mut token = deploy(&params());
    for selector in sol::Erc20TokenCalls::selectors() {
        let input = [selector.as_slice(), &[0; 7 * 32]].concat();
        let result = token.call_raw(OWNER, 0, &input, 1_000_000);
        assert!(result.is_success() || !result.output.is_empty(), "{selector:?}");
    }
}
