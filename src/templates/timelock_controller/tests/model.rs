//! Random histories against a table of operations, and arbitrary call data.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::vm::{HaltReason, Marker};

/// Operations are transfers of 1, 2, 4, ... tokens, so that a balance tells which were executed.
const OPERATIONS: usize = 6;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    /// Schedules operation `index`, which has the operation before it as its predecessor or none.
    Schedule {
        index: usize,
        delay: u64,
    },
    Cancel(usize),
    Execute(usize),
    /// Lets another least delay be in force, at once.
    SetDelay(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let index = 0..OPERATIONS;
    prop_oneof![
        3 => (1_u64..80).prop_map(Step::Wait),
        4 => (index.clone(), 0_u64..150).prop_map(|(index, delay)| Step::Schedule { index, delay }),
        1 => index.clone().prop_map(Step::Cancel),
        5 => index.prop_map(Step::Execute),
        1 => (0_u64..100).prop_map(Step::SetDelay),
    ]
}

/// What has become of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    ReadyAt(u64),
    Done,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn operations_follow_a_table(steps in vec(step(), 1..50), chained in vec(any::<bool>(), OPERATIONS)) {
        let mut world = deploy(&params());
        let mut operations: Vec<sol::executeCall> = Vec::new();
        for (index, is_chained) in chained.iter().enumerate() {
            let mut call = operation(world.token, world.transfer(1 << index));
            if let Some(before) = operations.last().filter(|_| *is_chained) {
                call.predecessor = world.id(before);
            }
            operations.push(call);
        }
        let mut fates: BTreeMap<usize, Fate> = BTreeMap::new();
        let (mut now, mut least, mut received) = (NOW, DELAY, 0);
        for step in steps {
            match step {
                Step::Wait(seconds) => {
                    now += seconds;
                    world.wait(seconds);
                }
                Step::Schedule { index, delay } => {
                    let got = world.chain.call(PROPOSER, world.timelock, &scheduled(&operations[index], delay));
                    let is_taken = !fates.contains_key(&index) && delay >= least;
                    prop_assert_eq!(got.is_ok(), is_taken);
                    if is_taken {
                        // A moment in the past does not occur: time starts far from zero.
                        fates.insert(index, Fate::ReadyAt(now + delay));
                    }
                }
                Step::Cancel(index) => {
                    let id = world.id(&operations[index]);
                    let got = world.chain.call(PROPOSER, world.timelock, &sol::cancelCall { id });
                    let is_pending = matches!(fates.get(&index), Some(Fate::ReadyAt(_)));
                    prop_assert_eq!(got.is_ok(), is_pending);
                    if is_pending {
                        fates.remove(&index);
                    }
                }
                Step::Execute(index) => {
                    let got = world.chain.call(EXECUTOR, world.timelock, &operations[index]);
                    let is_due = matches!(fates.get(&index), Some(Fate::ReadyAt(at)) if *at <= now);
                    let needs_before = index > 0 && chained[index];
                    let is_next = !needs_before || fates.get(&(index - 1)) == Some(&Fate::Done);
                    prop_assert_eq!(got.is_ok(), is_due && is_next);
                    if is_due && is_next {
                        fates.insert(index, Fate::Done);
                        received += 1 << index;
                    }
                }
                Step::SetDelay(delay) => {
                    let call = sol::updateDelayCall { newDelay: U256::from(delay) };
                    world.chain.ok(world.timelock, world.timelock, &call);
                    least = delay;
                }
            }
            prop_assert_eq!(world.tokens(STRANGER), received);
            for (index, call) in operations.iter().enumerate() {
                let id = world.id(call);
                let want = match fates.get(&index) {
                    None => sol::OperationState::Unset,
                    Some(Fate::Done) => sol::OperationState::Done,
                    Some(Fate::ReadyAt(at)) if *at > now => sol::OperationState::Waiting,
                    Some(Fate::ReadyAt(_)) => sol::OperationState::Ready,
                };
                prop_assert_eq!(world.read(&sol::getOperationStateCall { id }), want);
            }
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..30, tail: Vec<u8>, words in vec(0_u64..400, 0..8), value in 0_u64..2) {
        let world = deploy(&TimelockControllerParams { executors: vec![Address::ZERO], ..params() });
        let known = sol::TimelockControllerCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.into_iter().flat_map(|word| U256::from(word).to_be_bytes::<32>()).collect();
        let input = [known.as_slice(), &words, &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = world.chain.clone().send(PROPOSER, world.timelock, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(TimelockController::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[STRANGER]).create(STRANGER, value, &init_code, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
