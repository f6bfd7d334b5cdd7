//! Price feeds: Chainlink's mock with an owner.

use alloy_primitives::{Address, I256, U256, aliases::U80};
use alloy_sol_types::{SolInterface, sol};
use chainbox::templates::PriceFeedParams;
use proptest::{prelude::*, sample::select};

use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::{Call, FIRST_TIMESTAMP},
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, contract, person},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Feed {
        function updateAnswer(int256 _answer);
        function updateRoundData(uint80 _roundId, int256 _answer, uint256 _timestamp, uint256 _startedAt);
        function transferOwnership(address newOwner);
        function renounceOwnership();
    }
}

use Feed::{FeedCalls as Calls, *};

#[derive(Clone, Debug)]
pub struct PriceFeed;

#[derive(Clone, Debug)]
pub struct Operation {
    from: Address,
    call: Calls,
}

fn an_answer() -> impl Strategy<Value = I256> {
    prop_oneof![
        8 => (-1_000_i64..100_000).prop_map(|answer| I256::try_from(answer).expect("small")),
        1 => Just(I256::ZERO),
        1 => select(vec![I256::MIN, I256::MAX, I256::MINUS_ONE]),
        1 => any::<[u64; 4]>().prop_map(|limbs| I256::from_raw(U256::from_limbs(limbs))),
    ]
}

fn a_round() -> impl Strategy<Value = U80> {
    prop_oneof![12 => (0_u64..9).prop_map(U80::from), 1 => select(vec![U80::MAX, U80::MAX - U80::ONE])]
}

fn a_moment() -> impl Strategy<Value = U256> {
    let near = (0_u64..400_000).prop_map(|offset| U256::from(FIRST_TIMESTAMP - 200_000 + offset));
    prop_oneof![8 => near, 1 => Just(U256::ZERO), 1 => values::edge()]
}

impl Suite for PriceFeed {
    type Setup = PriceFeedParams;
    type Operation = Operation;

    const CONTRACT: &'static str = "PriceFeed";
    const UNREACHABLE: &'static [&'static str] = &[];

    fn setups() -> BoxedStrategy<PriceFeedParams> {
        let owner = prop_oneof![19 => Just(person(ADMIN)), 1 => Just(Address::ZERO)];
        (select(vec![0_u8, 8, 18, u8::MAX]), values::text(), an_answer(), owner)
            .prop_map(|(decimals, description, answer, owner)| PriceFeedParams { decimals, description, answer, owner })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use values::{account, mostly_admin};
        let round = (a_round(), an_answer(), a_moment(), a_moment());
        prop_oneof![
            40 => (mostly_admin(), an_answer())
                .prop_map(|(from, answer)| (from, Calls::updateAnswer(updateAnswerCall { _answer: answer }))),
            40 => (mostly_admin(), round).prop_map(|(from, (round, answer, timestamp, started_at))| {
                let call = updateRoundDataCall {
                    _roundId: round,
                    _answer: answer,
                    _timestamp: timestamp,
                    _startedAt: started_at,
                };
                (from, Calls::updateRoundData(call))
            }),
            2 => (mostly_admin(), prop_oneof![4 => Just(person(ADMIN)), 1 => account()])
                .prop_map(|(from, new)| (from, Calls::transferOwnership(transferOwnershipCall { newOwner: new }))),
            1 => mostly_admin().prop_map(|from| (from, Calls::renounceOwnership(renounceOwnershipCall {}))),
        ]
        .prop_map(|(from, call)| Operation { from, call })
        .boxed()
    }

    fn reference(setup: &PriceFeedParams) -> Vec<Creation> {
        vec![Creation::reference(Self::CONTRACT, &setup.encode())]
    }

    fn call(_: &PriceFeedParams, operation: &Operation, _: &mut Scene<'_>) -> Call {
        let Operation { from, call } = operation;
        Call { from: *from, to: contract(Self::INDEX), value: U256::ZERO, input: call.abi_encode().into() }
    }

    fn keys(_: &PriceFeedParams) -> Keys {
        let mut numbers = values::numbers([]);
        numbers.extend([U256::from(U80::MAX), U256::from(U80::MAX) + U256::ONE, U256::from(U80::MAX) + U256::from(2)]);
        Keys { addresses: values::accounts(), numbers, words: Vec::new() }
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<PriceFeed>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<PriceFeed>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<PriceFeed> {
        creations: |setup| vec![Creation::new(setup.init_code())],
        own_slots: &[],
        regressions: "tests/openzeppelin/regressions/price_feed.txt",
    }
    .run();
}
