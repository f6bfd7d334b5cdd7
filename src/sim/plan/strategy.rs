//! Plans for proptest.

use proptest::prelude::*;

use super::FaultPlan;
use crate::sim::Profile;

impl FaultPlan {
    /// Plans that [`FaultPlan::random`] draws, and parts of them: a failing one shrinks by leaving faults out.
    pub fn strategy(replicas: u32, profile: Profile) -> impl Strategy<Value = Self> {
        any::<u64>().prop_flat_map(move |seed| {
            let faults = Self::random(seed, replicas, &profile).faults;
            let count = faults.len();
            proptest::sample::subsequence(faults, 0..=count).prop_map(Self::new)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn every_plan_is_possible_and_comes_back_from_toml(plan in FaultPlan::strategy(5, Profile::byzantine())) {
            prop_assert!(plan.check(5).is_ok());
            prop_assert_eq!(FaultPlan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
    }
}
