//! Multicall3, and contracts that it calls.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::{templates::Multicall, vm::Marker};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call as Transaction,
    exercise::exercise,
    layout::Keys,
    parties::{contract, person},
    relay_target::{FORWARDER_SLOT, RELAY_TARGET, RelayTarget},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Multicall3 {
        struct Call {
            address target;
            bytes callData;
        }

        struct Call3 {
            address target;
            bool allowFailure;
            bytes callData;
        }

        struct Call3Value {
            address target;
            bool allowFailure;
            uint256 value;
            bytes callData;
        }

        function aggregate(Call[] calls);
        function tryAggregate(bool requireSuccess, Call[] calls);
        function tryBlockAndAggregate(bool requireSuccess, Call[] calls);
        function blockAndAggregate(Call[] calls);
        function aggregate3(Call3[] calls);
        function aggregate3Value(Call3Value[] calls);
    }
}

use Multicall3::*;

/// Place of the contract that is called among the creations.
const TARGET: usize = 0;
const MULTICALL: usize = 1;

#[derive(Clone, Debug)]
pub struct Multicalls;

#[derive(Clone, Debug)]
pub struct Operation {
    from: Address,
    /// In wei.
    value: u64,
    call: Multicall3Calls,
}

/// One call of a list.
#[derive(Clone, Debug)]
struct Item {
    target: Address,
    data: Bytes,
    /// In wei.
    value: u64,
    is_allowed_to_fail: bool,
}

/// Returns the strategy of lists of calls, most of which succeed.
fn items() -> impl Strategy<Value = Vec<Item>> {
    let tell = || RelayTarget::tellCall {}.abi_encode();
    let pass = |to, data: Vec<u8>| RelayTarget::passCall { to, data: data.into() }.abi_encode();
    let refuse = || RelayTarget::refuseCall {}.abi_encode();
    let read = RelayTarget::trustedForwarderCall {}.abi_encode();
    let again = aggregateCall { calls: vec![Call { target: contract(TARGET), callData: tell().into() }] }.abi_encode();
    let told = vec![tell(), tell(), read, pass(person(0), Vec::new()), pass(contract(MULTICALL), again)];
    let refused = vec![refuse(), vec![1, 2, 3, 4], Vec::new(), pass(contract(TARGET), refuse())];
    let to_target = prop_oneof![6 => select(told), 1 => select(refused)].prop_map(|data| (contract(TARGET), data));
    let to_others = values::account().prop_map(|account| (account, Vec::new()));
    let value = prop_oneof![2 => Just(0_u64), 1 => 1_u64..20];
    let item = (prop_oneof![5 => to_target, 2 => to_others], value, prop::bool::weighted(0.7)).prop_map(
        |((target, data), value, is_allowed_to_fail)| Item { target, data: data.into(), value, is_allowed_to_fail },
    );
    vec(item, 0..5)
}

fn plain(items: Vec<Item>) -> Vec<Call> {
    items.into_iter().map(|item| Call { target: item.target, callData: item.data }).collect()
}

fn with_failure(items: Vec<Item>) -> Vec<Call3> {
    let call = |Item { target, data, is_allowed_to_fail, .. }| Call3 {
        target,
        allowFailure: is_allowed_to_fail,
        callData: data,
    };
    items.into_iter().map(call).collect()
}

fn with_value(items: Vec<Item>) -> Vec<Call3Value> {
    let call = |Item { target, data, value, is_allowed_to_fail }| Call3Value {
        target,
        allowFailure: is_allowed_to_fail,
        value: U256::from(value),
        callData: data,
    };
    items.into_iter().map(call).collect()
}

impl Suite for Multicalls {
    type Setup = ();
    type Operation = Operation;

    const CONTRACT: &'static str = "Multicall3";
    const INDEX: usize = MULTICALL;

    fn setups() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Multicall3Calls as Calls;
        let require = || prop::bool::weighted(0.3);
        // What is sent with calls that take no value stays in the contract.
        let value = || prop_oneof![2 => Just(0_u64), 1 => 1_u64..5];
        let others = prop_oneof![
            items().prop_map(|items| Calls::aggregate(aggregateCall { calls: plain(items) })),
            (require(), items()).prop_map(|(require, items)| {
                Calls::tryAggregate(tryAggregateCall { requireSuccess: require, calls: plain(items) })
            }),
            (require(), items()).prop_map(|(require, items)| {
                Calls::tryBlockAndAggregate(tryBlockAndAggregateCall { requireSuccess: require, calls: plain(items) })
            }),
            items().prop_map(|items| Calls::blockAndAggregate(blockAndAggregateCall { calls: plain(items) })),
            items().prop_map(|items| Calls::aggregate3(aggregate3Call { calls: with_failure(items) })),
        ];
        let others =
            (values::a_person(), value(), others).prop_map(|(from, value, call)| Operation { from, value, call });
        let excess = prop_oneof![12 => Just(0_u64), 1 => 1_u64..5];
        let valued = (values::a_person(), excess, items()).prop_map(|(from, excess, items)| {
            let value = items.iter().map(|item| item.value).sum::<u64>() + excess;
            let call = Calls::aggregate3Value(aggregate3ValueCall { calls: with_value(items) });
            Operation { from, value, call }
        });
        prop_oneof![3 => others, 1 => valued].boxed()
    }

    fn reference(_: &()) -> Vec<Creation> {
        let target = Creation::reference("RelayTarget", &person(0).abi_encode());
        vec![target, Creation::reference(Self::CONTRACT, &[])]
    }

    fn call(_: &(), operation: &Operation, _: &mut Scene<'_>) -> Transaction {
        let Operation { from, value, call } = operation;
        let input = call.abi_encode().into();
        Transaction { from: *from, to: contract(MULTICALL), value: U256::from(*value), input }
    }

    /// Numbers of blocks that are to come: chainbox tells of blocks before the parent that it does not know their hashes.
    fn keys(_: &()) -> Keys {
        let numbers = vec![U256::from(10_000), U256::ONE << 64, U256::MAX];
        Keys { addresses: values::accounts(), numbers, words: Vec::new() }
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Multicalls>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Multicalls>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<Multicalls> {
        creations: |()| {
            let target = Marker(RELAY_TARGET).init_code(&person(0).abi_encode());
            vec![Creation::new(target), Creation::new(Multicall::init_code())]
        },
        own_slots: &[FORWARDER_SLOT],
        regressions: "tests/openzeppelin/regressions/multicall.txt",
    }
    .run();
}
