//! Deposits, withdrawals, transfers, a hostile withdrawer, and what it costs.

use alloy_sol_types::Revert;
use proptest::{collection::vec, prelude::*};

use super::{interface as sol, *};
use crate::{
    templates::test_chain::{
        FUNDS, TestChain,
        actor::{self, ActorTemplate},
        pools::{BOB, CAROL, OWNER},
    },
    vm::{Descriptor, FrameOutcome, HaltReason},
};

#[derive(Clone)]
struct World {
    chain: TestChain,
    token: Address,
}

fn deploy() -> World {
    let mut chain = TestChain::new(&[OWNER, BOB, CAROL]);
    let token = chain.deploy(OWNER, 0, &WrappedNativeParams::default().init_code());
    World { chain, token }
}

impl World {
    fn deposit(&mut self, from: Address, value: u64) {
        let result = self.chain.send(from, self.token, value, &sol::depositCall {}.abi_encode(), 100_000);
        assert!(result.is_success(), "{result:?}");
    }

    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.token, call)
    }

    /// A call that WETH9 refuses with an empty reason, and a word of zeros after it.
    fn is_refused(&mut self, from: Address, call: &impl SolCall) {
        let refusal = [Revert::from("").abi_encode(), vec![0; 32]].concat();
        assert_eq!(self.chain.call(from, self.token, call).map(|_| ()), Err(refusal.into()));
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.token, call)
    }

    fn held(&self, account: Address) -> u64 {
        self.read(&sol::balanceOfCall { account }).to()
    }
}

fn withdraw(wad: u64) -> sol::withdrawCall {
    sol::withdrawCall { wad: U256::from(wad) }
}

fn transfer_from(src: Address, dst: Address, wad: u64) -> sol::transferFromCall {
    sol::transferFromCall { src, dst, wad: U256::from(wad) }
}

#[test]
fn ether_is_wrapped_and_unwrapped() {
    let mut world = deploy();
    let token = world.token;
    world.deposit(BOB, 100);
    let deposited = sol::Deposit { dst: BOB, wad: U256::from(100) };
    assert_eq!(world.chain.journal.logs()[0].data, deposited.encode_log_data());
    assert!(world.chain.send(BOB, token, 20, &[], 100_000).is_success(), "sent plainly");
    assert_eq!((world.held(BOB), world.chain.wei(token)), (120, 120));
    assert_eq!(world.read(&sol::totalSupplyCall {}), U256::from(120));
    world.ok(BOB, &withdraw(50));
    let withdrawn = sol::Withdrawal { src: BOB, wad: U256::from(50) };
    assert_eq!(world.chain.journal.logs()[0].data, withdrawn.encode_log_data());
    assert_eq!((world.held(BOB), world.chain.wei(BOB), world.chain.wei(token)), (70, FUNDS - 70, 70));
    world.is_refused(BOB, &withdraw(71));
    world.ok(BOB, &withdraw(0));
    assert_eq!(world.read(&sol::nameCall {}), "Wrapped Ether");
    assert_eq!(world.read(&sol::symbolCall {}), "WETH");
    assert_eq!(world.read(&sol::decimalsCall {}), 18);
}

#[test]
fn tokens_are_transferred_and_allowed() {
    let mut world = deploy();
    world.deposit(BOB, 100);
    assert!(world.ok(BOB, &sol::transferCall { dst: CAROL, wad: U256::from(10) }));
    let transferred = sol::Transfer { src: BOB, dst: CAROL, wad: U256::from(10) };
    assert_eq!(world.chain.journal.logs()[0].data, transferred.encode_log_data());
    world.is_refused(CAROL, &sol::transferCall { dst: BOB, wad: U256::from(11) });
    world.is_refused(CAROL, &transfer_from(BOB, CAROL, 1));
    world.ok(BOB, &sol::approveCall { guy: CAROL, wad: U256::from(5) });
    world.ok(CAROL, &transfer_from(BOB, OWNER, 3));
    assert_eq!(world.read(&sol::allowanceCall { owner: BOB, spender: CAROL }), U256::from(2));
    world.is_refused(CAROL, &transfer_from(BOB, OWNER, 3));
    world.ok(BOB, &sol::approveCall { guy: CAROL, wad: U256::MAX });
    world.ok(CAROL, &transfer_from(BOB, OWNER, 3));
    assert_eq!(world.read(&sol::allowanceCall { owner: BOB, spender: CAROL }), U256::MAX);
    world.ok(BOB, &transfer_from(BOB, BOB, 3));
    assert_eq!((world.held(BOB), world.held(CAROL), world.held(OWNER)), (84, 10, 6));
}

/// A withdrawer is sent ether with 2,300 gas, in which it can change nothing.
#[test]
fn a_hostile_withdrawer_cannot_call_again() {
    let mut world = deploy();
    let hostile = world.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
    let token = world.token;
    world.deposit(BOB, 100);
    world.ok(BOB, &sol::transferCall { dst: hostile, wad: U256::from(50) });
    world.chain.ok(BOB, hostile, &actor::armCall { target: token, data: withdraw(50).abi_encode().into() });
    let run = actor::runCall { target: token, data: withdraw(50).abi_encode().into() };
    let got = world.chain.ok(BOB, hostile, &run);
    assert!(!got.isSuccess && got.output.is_empty());
    assert_eq!((world.held(hostile), world.chain.wei(token)), (50, 100));
}

#[test]
fn a_function_that_is_not_there_is_no_deposit() {
    let mut world = deploy();
    let result = world.chain.send(BOB, world.token, 5, &[1, 2, 3, 4], 100_000);
    assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
    let result = world.chain.send(BOB, world.token, 5, &withdraw(0).abi_encode(), 100_000);
    assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = WrappedNative.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "name 0 0 string",
        "symbol 1 0 string",
        "decimals 2 0 uint8",
        "balanceOf 3 0 mapping(address => uint256)",
        "allowance 4 0 mapping(address => mapping(address => uint256))",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_wrapper_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&WrappedNative);
    let encoded = descriptor.encode(&serde_json::Map::new(), OWNER).unwrap();
    assert_eq!(encoded, WrappedNativeParams::default().init_code());
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let init_code = WrappedNativeParams::default().init_code();
    let (_, mut got) = TestChain::new(&[OWNER]).creation_line(OWNER, "WETH9's name", &init_code);
    let mut world = deploy();
    let amount = |value: u64| U256::from(value);
    let steps = [
        ("deposit, the first", BOB, 100, sol::depositCall {}.abi_encode()),
        ("deposit", BOB, 100, sol::depositCall {}.abi_encode()),
        ("receive", BOB, 100, Vec::new()),
        ("withdraw", BOB, 0, withdraw(50).abi_encode()),
        ("withdraw of nothing", BOB, 0, withdraw(0).abi_encode()),
        ("withdraw of too much", BOB, 0, withdraw(500).abi_encode()),
        ("transfer", BOB, 0, sol::transferCall { dst: CAROL, wad: amount(10) }.abi_encode()),
        ("transfer of too much", BOB, 0, sol::transferCall { dst: CAROL, wad: amount(500) }.abi_encode()),
        ("approve", BOB, 0, sol::approveCall { guy: CAROL, wad: amount(10) }.abi_encode()),
        ("transferFrom", CAROL, 0, transfer_from(BOB, OWNER, 5).abi_encode()),
        ("transferFrom of too much", CAROL, 0, transfer_from(BOB, OWNER, 6).abi_encode()),
        ("name", BOB, 0, sol::nameCall {}.abi_encode()),
        ("symbol", BOB, 0, sol::symbolCall {}.abi_encode()),
        ("decimals", BOB, 0, sol::decimalsCall {}.abi_encode()),
        ("totalSupply", BOB, 0, sol::totalSupplyCall {}.abi_encode()),
        ("balanceOf", BOB, 0, sol::balanceOfCall { account: BOB }.abi_encode()),
        ("allowance", BOB, 0, sol::allowanceCall { owner: BOB, spender: CAROL }.abi_encode()),
        ("value to another function", BOB, 1, withdraw(1).abi_encode()),
        ("a function that is not there", BOB, 0, vec![1, 2, 3, 4]),
    ];
    for (name, from, value, input) in steps {
        got += &world.chain.line(name, from, world.token, value, &input);
    }
    let supports = sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode();
    got += &world.chain.line("supportsInterface", BOB, world.token, 0, &supports);
    let want = include_str!("tests/golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The token has as much ether as there are tokens, whatever happens; nobody gets what is not his.
    #[test]
    fn each_token_is_backed(steps in vec((0_usize..4, 0_usize..3, 0_usize..3, 0_u64..200), 1..40)) {
        let users = [OWNER, BOB, CAROL];
        let mut world = deploy();
        for (kind, from, to, wad) in steps {
            let (from, to) = (users[from], users[to]);
            let (input, value) = match kind {
                0 => (sol::depositCall {}.abi_encode(), wad),
                1 => (withdraw(wad).abi_encode(), 0),
                2 => (sol::transferCall { dst: to, wad: U256::from(wad) }.abi_encode(), 0),
                _ => (sol::approveCall { guy: to, wad: U256::from(wad) }.abi_encode(), 0),
            };
            let (had, wealth) = (world.held(from), world.held(from) + world.chain.wei(from));
            let is_success = world.chain.send(from, world.token, value, &input, 1_000_000).is_success();
            prop_assert_eq!(is_success, matches!(kind, 0 | 3) || wad <= had);
            if kind < 2 {
                prop_assert_eq!(world.held(from) + world.chain.wei(from), wealth);
            }
            let sum: u64 = users.iter().map(|user| world.held(*user)).sum();
            prop_assert_eq!(sum, world.chain.wei(world.token));
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..12, tail: Vec<u8>, words: [u64; 8], value in 0_u64..2) {
        let mut world = deploy();
        world.deposit(BOB, 100);
        let known = sol::WrappedNativeCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = world.chain.send(BOB, world.token, value, &input, 100_000);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(WrappedNative::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
