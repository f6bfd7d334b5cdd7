//! What a suite's operations reach in the reference alone: a comparison in which everything reverts shows nothing.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Selector;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

use crate::{
    differential::{create, prepare},
    engine::{Engine, Outcome},
    reference::Reference,
    suite::{Case, Clock, Scene, Step, Suite, cases, reference_of, under_test},
};

/// Least and greatest share of operations that succeed, in percent.
const SUCCEEDED: core::ops::RangeInclusive<u32> = 35..=90;
/// Fewest and most cases.
const CASES_MIN: u32 = 20;
const CASES_MAX: u32 = 200;
/// Least number of successful calls of each function.
const SUCCESSES_MIN: u32 = 3;

/// What was reached.
#[derive(Default)]
struct Reached {
    /// Successes and failures by the function's signature.
    calls: BTreeMap<&'static str, (u32, u32)>,
    errors: BTreeSet<Selector>,
    /// Variables that were not zero somewhere.
    variables: BTreeSet<String>,
}

/// Runs random cases on the reference until they have reached everything, always the same ones.
///
/// # Panics
/// When too many or too few operations succeed, when a function never succeeds or never fails, and when an error is never met or a
/// variable never set that [`Suite::UNREACHABLE`] does not name.
pub fn exercise<S: Suite>() {
    let mut runner = TestRunner::deterministic();
    let strategy = cases::<S>(60);
    let mut reached = Reached::default();
    for number in 1..=CASES_MAX {
        let case = strategy.new_tree(&mut runner).expect("no value is filtered").current();
        run::<S>(&case, &mut reached);
        if number >= CASES_MIN && reached.missing::<S>().is_empty() {
            return;
        }
    }
    panic!("{}\n{:#?}", reached.missing::<S>().join("\n"), reached.calls);
}

fn run<S: Suite>(case: &Case<S>, reached: &mut Reached) {
    let artifact = reference_of::<S>();
    let mut engine = Reference::new();
    prepare(&mut engine);
    for (index, creation) in S::reference(&case.setup).iter().enumerate() {
        let outcome = create(&mut engine, index, creation);
        reached.note_error(&outcome);
        if !outcome.is_success() {
            return;
        }
    }
    for call in S::preparation(&case.setup) {
        engine.call(&call);
    }
    let mut clock = Clock::FIRST;
    for step in &case.steps {
        match step {
            Step::Advance { blocks, seconds } => {
                engine.advance(*blocks, *seconds);
                clock = Clock { block: clock.block + blocks, timestamp: clock.timestamp + seconds };
            }
            Step::Send(operation) => {
                let mut call = S::call(&case.setup, operation, &mut Scene { reference: &mut engine, clock });
                call.value = call.value.min(engine.balance(call.from));
                let outcome = engine.call(&call);
                reached.note_error(&outcome);
                if call.to == under_test::<S>() {
                    let name = artifact.called(&call.input).unwrap_or("no function");
                    let (successes, failures) = reached.calls.entry(name).or_default();
                    *(if outcome.is_success() { successes } else { failures }) += 1;
                }
            }
            // Damage is meant to fail.
            Step::SendDamaged(..) => {}
        }
    }
    let contract = under_test::<S>();
    for location in artifact.layout.locations(&mut engine, contract, &S::keys(&case.setup)) {
        if !location.value(engine.storage(contract, location.slot)).is_zero() {
            reached.variables.insert(location.variable);
        }
    }
}

impl Reached {
    fn note_error(&mut self, outcome: &Outcome) {
        if let (Outcome::Revert { output }, Some(selector)) = (outcome, outcome.output().get(..4)) {
            debug_assert!(output.len() >= 4);
            self.errors.insert(Selector::from_slice(selector));
        }
    }

    /// Returns what should have been reached and was not, in words.
    fn missing<S: Suite>(&self) -> Vec<String> {
        let artifact = reference_of::<S>();
        let is_expected = |name: &str| !S::UNREACHABLE.contains(&name);
        let mut missing = Vec::new();
        let (successes, failures) = self.calls.values().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let share = 100 * successes / (successes + failures).max(1);
        if !SUCCEEDED.contains(&share) {
            missing.push(format!("{share} % of the operations succeed; that should be {SUCCEEDED:?}"));
        }
        for function in artifact.functions.iter().filter(|function| !function.is_view) {
            let (successes, failures) = self.calls.get(function.signature.as_str()).copied().unwrap_or_default();
            if successes < SUCCESSES_MIN || (failures == 0 && is_expected(&function.signature)) {
                missing.push(format!("{} succeeds {successes} times, fails {failures} times", function.signature));
            }
        }
        for (selector, signature) in &artifact.errors {
            if self.errors.contains(selector) != is_expected(signature) {
                missing.push(format!("error {signature} is met: {}", self.errors.contains(selector)));
            }
        }
        for variable in artifact.layout.variables() {
            if self.variables.contains(variable) != is_expected(variable) {
                missing.push(format!("variable {variable} is set: {}", self.variables.contains(variable)));
            }
        }
        missing
    }
}
