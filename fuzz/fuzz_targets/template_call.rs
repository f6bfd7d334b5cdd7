//! Every template behind the host, with any call data, caller, value and gas: a call ends within its gas, no frame panics, one that fails
//! leaves no trace, and the token keeps its supply equal to what its holders have.
#![no_main]

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;
use arbitrary::{Arbitrary as _, Unstructured};
use chainbox::{
    primitives::{Gas, Timestamp},
    state::Journal,
    templates::{self, erc20::interface as erc20},
    vm::{BlockContext, FrameOutcome, FrameResult, HaltReason, Inspector, Message, execute_inspected},
};
use chainbox_fuzz::{Who, contracts::World};
use libfuzzer_sys::fuzz_target;

const CALLS_MAX: usize = 30;
/// Most gas of a call, in gas units.
const GAS_MAX: u64 = 2_000_000;

fuzz_target!(|bytes: &[u8]| {
    let mut world = World::start();
    let mut u = Unstructured::new(bytes);
    for _ in 0..CALLS_MAX {
        // The input is used up.
        if u.is_empty() || act(&mut world, &mut u).is_err() {
            break;
        }
    }
    check_supply(&mut world);
});

/// Makes one call, with ample gas or little, and tries it with half of what it used.
fn act(world: &mut World, u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let contract = u.choose(&world.contracts)?.clone();
    let from = Who::arbitrary(u)?.address();
    let value = if u.ratio(1, 6)? { U256::from(u.arbitrary::<u8>()?) } else { U256::ZERO };
    let gas = if u.ratio(1, 6)? { u.int_in_range(0..=GAS_MAX)? } else { GAS_MAX };
    let input = world.input(&contract, u)?;
    let seconds = u64::from(u.ratio(1, 6)?);
    world.block.timestamp = Timestamp::from_secs(world.block.timestamp.as_secs() + seconds);

    let mut spare = world.journal.clone();
    let call = |gas| Message::call(from, contract.address, value, &input, Gas::new(gas));
    let result = run(&mut world.journal, &world.block, &call(gas));
    run(&mut spare, &world.block, &call((gas - result.gas_left.get()) / 2));
    Ok(())
}

/// Runs a call, which leaves everything as it was if it fails.
fn run(journal: &mut Journal, block: &BlockContext, message: &Message<'_>) -> FrameResult {
    let mut before = journal.clone();
    journal.begin_transaction();
    let result = execute_inspected(journal, block, templates::builtin(), message, &mut NoPanic).expect("readable");
    assert!(result.gas_left <= message.gas, "{} left of {}", result.gas_left, message.gas);
    if !result.is_success() {
        assert!(journal.logs().is_empty());
        assert_eq!(journal.clone().take_changes(), before.take_changes(), "{result:?}");
    }
    result
}

/// Fails at a panic of any frame, which its caller could hide.
struct NoPanic;

impl Inspector for NoPanic {
    fn exit(&mut self, result: &FrameResult) {
        assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}

fn check_supply(world: &mut World) {
    let token = world.address("erc20-token");
    let mut read = |input: Vec<u8>| {
        let message = Message::call(Who::Alice.address(), token, U256::ZERO, &input, Gas::new(1_000_000));
        U256::from_be_slice(&run(&mut world.journal, &world.block, &message).output)
    };
    let supply = read(erc20::totalSupplyCall {}.abi_encode());
    let holders = Who::ALL.map(Who::address).into_iter().chain(world.contracts.iter().map(|contract| contract.address));
    let holders: Vec<Address> = holders.chain([Address::ZERO]).collect();
    let held: U256 = holders.into_iter().map(|account| read(erc20::balanceOfCall { account }.abi_encode())).sum();
    // What a batch creates could hold some, too.
    assert!(held <= supply, "{held} held, {supply} issued");
}
