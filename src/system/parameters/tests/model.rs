//! Random histories of schedules and boundaries: the contract has what a map has.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{lab::GENESIS, *};

#[derive(Clone, Debug)]
enum Step {
    /// Who, and changes by number and value.
    Schedule { by_owner: bool, changes: Vec<(u8, u128)> },
    /// The protocol takes over what waits.
    Boundary,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = prop_oneof![0..200_u128, 1_000_000..30_000_000_u128, any::<u128>()];
    let changes = proptest::collection::vec((0..13_u8, value), 0..4);
    let schedule = (proptest::bool::weighted(0.9), changes);
    let schedule = schedule.prop_map(|(by_owner, changes)| Step::Schedule { by_owner, changes });
    proptest::collection::vec(prop_oneof![4 => schedule, 1 => Just(Step::Boundary)], 1..40)
}

fn is_valid(by_owner: bool, changes: &[(u8, u128)]) -> bool {
    let has = |parameter: Parameter| GENESIS.iter().any(|(there, _)| *there == parameter);
    let fits = |(code, value): &(u8, u128)| {
        Parameter::from_code(*code).is_some_and(|parameter| has(parameter) && parameter.range().contains(value))
    };
    by_owner && !changes.is_empty() && changes.iter().all(fits)
}

proptest! {
    #[test]
    fn the_contract_has_what_a_map_has(steps in steps()) {
        let mut lab = Lab::new();
        let mut in_force: BTreeMap<Parameter, u128> =
            GENESIS.iter().map(|(parameter, value)| (*parameter, u128::from(*value))).collect();
        let mut waiting = ParameterUpdates::NONE;
        for step in steps {
            match step {
                Step::Schedule { by_owner, changes } => {
                    let list = changes.iter().map(|(parameter, value)| sol::Change { parameter: *parameter, value: U256::from(*value) });
                    let call = sol::scheduleCall { changes: list.collect() };
                    let result = lab.call(if by_owner { OWNER } else { ALICE }, &call);
                    prop_assert_eq!(result.is_success(), is_valid(by_owner, &changes));
                    let emitted = ParameterUpdates::new(scheduled_changes(lab.journal.logs()));
                    prop_assert_eq!(emitted.is_empty(), !result.is_success());
                    waiting = waiting.followed_by(&emitted);
                }
                Step::Boundary => {
                    lab.system(&activate(&waiting));
                    in_force.extend(waiting.iter().map(|update| (update.parameter, update.value)));
                    waiting = ParameterUpdates::NONE;
                }
            }
            let infos = lab.ok(ALICE, &sol::parametersCall {});
            let want: Vec<_> = in_force
                .iter()
                .map(|(parameter, value)| (parameter.code(), *value, waiting.value(*parameter).unwrap_or(*value)))
                .collect();
            let got: Vec<_> = infos
                .iter()
                .map(|info| (info.parameter, info.value.to::<u128>(), info.scheduled.to::<u128>()))
                .collect();
            prop_assert_eq!(got, want);
        }
    }
}
