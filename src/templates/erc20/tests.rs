//! The token against OpenZeppelin's behaviour, Solidity's layout, and the gas schedule.

mod errors;
mod flash_mint;
mod gas;
mod golden;
mod model;
mod permit;
mod roles;
mod vesting;
mod votes;

use alloy_primitives::{B256, Log, address, keccak256};
use alloy_sol_types::{SolError, SolEvent, SolInterface};

use super::{interface as sol, *};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::{Journal, fixture::MapView},
    vm::{BlockContext, Descriptor, FrameOutcome, FrameResult, Message, TemplateRegistry, execute, mapping_slot},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const SUPPLY: U256 = U256::from_limbs([1_000, 0, 0, 0]);

/// A deployed token.
struct Deployed {
    journal: Journal,
    block: BlockContext,
    registry: TemplateRegistry,
    token: Address,
}

fn params() -> Erc20Params {
    let features = Erc20Features::ALL;
    Erc20Params { features, cap: Some(U256::from(5_000)), ..Erc20Params::new("Gold", "GLD", SUPPLY, OWNER) }
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
    Deployed::at(token, journal)
}

impl Deployed {
    fn at(token: Address, journal: Journal) -> Self {
        let block = BlockContext { chain_id: 1, timestamp: Timestamp::from_secs(1_000), ..BlockContext::default() };
        Self { journal, block, registry: super::super::builtin().clone(), token }
    }

    /// Runs a transaction of its own with ample gas.
    fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        self.call_raw(caller, 0, &call.abi_encode(), 1_000_000)
    }

    fn call_raw(&mut self, caller: Address, value: u64, input: &[u8], gas: u64) -> FrameResult {
        self.journal.begin_transaction();
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(gas));
        execute(&mut self.journal, &self.block, &self.registry, &message).unwrap()
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
    let granted = |role| sol::Erc20TokenEvents::RoleGranted(sol::RoleGranted { role, account: OWNER, sender: OWNER });
    assert_eq!(
        token.logs().into_iter().map(|(_, event)| event).collect::<Vec<_>>(),
        [
            sol::Erc20TokenEvents::Transfer(sol::Transfer { from: Address::ZERO, to: OWNER, value: SUPPLY }),
            granted(DEFAULT_ADMIN_ROLE),
            granted(token::PAUSER_ROLE),
            granted(token::MINTER_ROLE),
        ]
    );
    assert_eq!(token.read(&sol::nameCall {}), "Gold");
    assert_eq!(token.read(&sol::symbolCall {}), "GLD");
    assert_eq!(token.read(&sol::decimalsCall {}), 6);
    assert_eq!(token.read(&sol::totalSupplyCall {}), SUPPLY, "decimals do not scale it");
    assert_eq!(token.read(&sol::capCall {}), U256::from(5_000));
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
fn a_minter_mints_up_to_the_cap_and_holders_burn() {
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

/// Every value is in solc's slot, so that `eth_getStorageAt` reads the same as of a Solidity contract.
#[test]
fn storage_is_laid_out_as_solidity_does() {
    let mut token = deploy(&params());
    token.ok(OWNER, &transfer(BOB, 10));
    token.ok(OWNER, &sol::approveCall { spender: BOB, value: U256::from(77) });
    token.block.height = Height::new(9);
    token.ok(OWNER, &sol::delegateCall { delegatee: BOB });
    token.ok(OWNER, &sol::pauseCall {});
    let word = |address: Address| U256::from_be_bytes(address.into_word().0);
    let (slot, one) = (|n: u64| U256::from(n), U256::ONE);
    assert_eq!(token.slot(mapping_slot(word(BOB), slot(0))), U256::from(10));
    assert_eq!(token.slot(mapping_slot(word(BOB), mapping_slot(word(OWNER), one))), U256::from(77));
    assert_eq!(token.slot(slot(2)), SUPPLY);
    let mut gold = [0; 32];
    gold[..4].copy_from_slice(b"Gold");
    gold[31] = 8;
    assert_eq!(token.slot(slot(3)), U256::from_be_bytes(gold));
    assert_eq!(token.slot(slot(5)), one);
    let minters = mapping_slot(token::MINTER_ROLE.into(), slot(6));
    assert_eq!(token.slot(mapping_slot(word(OWNER), minters)), one);
    assert_eq!([token.slot(slot(7)), token.slot(slot(8))], [U256::ZERO; 2]);
    assert_eq!(token.slot(mapping_slot(word(OWNER), slot(10))), word(BOB));
    let votes = mapping_slot(word(BOB), slot(11));
    assert_eq!(token.slot(votes), one);
    let first: U256 = keccak256(votes.to_be_bytes::<32>()).into();
    assert_eq!(token.slot(first), (U256::from(990) << 48_usize) | U256::from(9));
    assert_eq!(token.slot(slot(12)), one, "the supply's first checkpoint");
    assert_eq!(token.slot(IMMUTABLES), U256::from(0b1_1111 << 8 | 18));
    assert_eq!(token.slot(IMMUTABLES + one), U256::from(5_000));
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
        "_roles 6 0 mapping(bytes32 => struct RoleData)",
        "_nameFallback 7 0 string",
        "_versionFallback 8 0 string",
        "_nonces 9 0 mapping(address => uint256)",
        "_delegatee 10 0 mapping(address => address)",
        "_delegateCheckpoints 11 0 mapping(address => struct Trace208)",
        "_totalCheckpoints 12 0 struct Trace208",
        "_settings immutables + 0 0 struct Settings",
        "_cap immutables + 1 0 uint256",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_long_symbol_is_stored_behind_its_slot() {
    for len in [31, 32, 33, 64, 65] {
        let symbol = "abcdefghij".repeat(7)[..len].to_owned();
        let mut token = deploy(&Erc20Params { symbol: symbol.clone(), ..params() });
        assert_eq!(token.read(&sol::symbolCall {}), symbol);
        if len > 31 {
            assert_eq!(token.slot(U256::from(4)), U256::from(len * 2 + 1));
            let first: U256 = keccak256(U256::from(4).to_be_bytes::<32>()).into();
            assert_eq!(token.slot(first), U256::from_be_slice(&symbol.as_bytes()[..32]));
        }
    }
}

/// Where a feature is chosen, and the selectors of its functions.
type Optional = (fn(&mut Erc20Features) -> &mut bool, &'static [[u8; 4]]);

const OPTIONAL: [Optional; 5] = [
    (|it| &mut it.mintable, &[sol::mintCall::SELECTOR, sol::MINTER_ROLECall::SELECTOR]),
    (|it| &mut it.burnable, &[sol::burnCall::SELECTOR, sol::burnFromCall::SELECTOR]),
    (
        |it| &mut it.pausable,
        &[
            sol::pauseCall::SELECTOR,
            sol::unpauseCall::SELECTOR,
            sol::pausedCall::SELECTOR,
            sol::PAUSER_ROLECall::SELECTOR,
        ],
    ),
    (
        |it| &mut it.votes,
        &[
            sol::clockCall::SELECTOR,
            sol::CLOCK_MODECall::SELECTOR,
            sol::getVotesCall::SELECTOR,
            sol::getPastVotesCall::SELECTOR,
            sol::getPastTotalSupplyCall::SELECTOR,
            sol::delegatesCall::SELECTOR,
            sol::delegateCall::SELECTOR,
            sol::delegateBySigCall::SELECTOR,
            sol::numCheckpointsCall::SELECTOR,
            sol::checkpointsCall::SELECTOR,
        ],
    ),
    (
        |it| &mut it.flash_mint,
        &[sol::maxFlashLoanCall::SELECTOR, sol::flashFeeCall::SELECTOR, sol::flashLoanCall::SELECTOR],
    ),
];

/// With every choice of features, a function reverts without data when its feature is left out, and only then.
#[test]
fn functions_of_features_that_are_left_out_revert() {
    for choice in 0..1_u8 << OPTIONAL.len() {
        let mut features = Erc20Features::default();
        for (index, (feature, _)) in OPTIONAL.iter().enumerate() {
            *feature(&mut features) = choice & 1 << index != 0;
        }
        let mut token = deploy(&Erc20Params { features, ..params() });
        for (feature, functions) in OPTIONAL {
            let is_on = *feature(&mut features);
            for function in functions {
                let result = token.call_raw(OWNER, 0, &zeros(*function), 1_000_000);
                let is_absent = result.outcome == FrameOutcome::Revert && result.output.is_empty();
                assert_eq!(is_absent, !is_on, "{features:?} {function:?}");
            }
        }
        token.ok(OWNER, &transfer(BOB, 10));
        assert_eq!(token.read(&sol::capCall {}), U256::from(5_000));
        let role = |name: &str| keccak256(name);
        let mut has = |role| token.read(&sol::hasRoleCall { role, account: OWNER });
        let roles = [has(B256::ZERO), has(role("MINTER_ROLE")), has(role("PAUSER_ROLE"))];
        assert_eq!(roles, [true, features.mintable, features.pausable]);
    }
}

/// A call with arguments of zeros, but for the empty data of a flash loan.
fn zeros(function: [u8; 4]) -> Vec<u8> {
    if function == sol::flashLoanCall::SELECTOR {
        let (receiver, token) = (Address::ZERO, Address::ZERO);
        return sol::flashLoanCall { receiver, token, value: U256::ZERO, data: Bytes::new() }.abi_encode();
    }
    [function.as_slice(), &[0; 7 * 32]].concat()
}

#[test]
fn interfaces_are_supported() {
    let mut token = deploy(&params());
    // ERC-165 and IAccessControl, as the contract that the wizard prints: not ERC-20.
    let known = [(0x01ff_c9a7_u32, true), (0x7965_db0b, true), (0x3637_2b07, false), (0xffff_ffff, false), (0, false)];
    for (id, want) in known {
        let call = sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() };
        assert_eq!(token.read(&call), want, "{id:#x}");
    }
}

#[test]
fn a_token_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Erc20);
    let values = serde_json::json!({
        "name": "Gold", "symbol": "GLD", "totalSupply": "1000", "features": { "mintable": true, "votes": true }, "cap": "5000",
    });
    let encoded = descriptor.encode(values.as_object().unwrap(), OWNER).unwrap();
    let features = Erc20Features { mintable: true, votes: true, ..Erc20Features::default() };
    assert_eq!(encoded, Erc20Params { features, ..params() }.init_code());
    let mut listed = values;
    listed["features"] = serde_json::json!(["votes", "mintable"]);
    assert_eq!(descriptor.encode(listed.as_object().unwrap(), OWNER).unwrap(), encoded);
    listed["features"] = serde_json::json!(["votes", "taxes"]);
    let errors = descriptor.encode(listed.as_object().unwrap(), OWNER).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["features.taxes"]);
    let errors = descriptor.encode(&serde_json::Map::new(), OWNER).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["name", "symbol"]);
    let least = serde_json::json!({ "name": "Gold", "symbol": "GLD" });
    let plain = Erc20Params::new("Gold", "GLD", U256::ZERO, OWNER);
    assert_eq!(descriptor.encode(least.as_object().unwrap(), OWNER).unwrap(), plain.init_code());
}

#[test]
fn the_abi_is_complete() {
    let abi = Erc20.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (42, 11, 30));
    let constructor = abi.constructor.unwrap();
    let names: Vec<_> = constructor.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["name", "symbol", "decimals", "totalSupply", "cap", "owner", "features", "vesting"]);
    // Every function of the interface is dispatched.
    let mut token = deploy(&params());
    for selector in sol::Erc20TokenCalls::selectors() {
        let result = token.call_raw(OWNER, 0, &zeros(selector), 1_000_000);
        assert!(result.is_success() || !result.output.is_empty(), "{selector:?}");
    }
}
