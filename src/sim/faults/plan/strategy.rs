//! Plans for proptest.

use proptest::prelude::*;

use super::FaultPlan;
use crate::sim::faults::profile::Profile;

impl FaultPlan {
    /// Plans that [`FaultPlan::random`] draws, and parts of them: a failing one shrinks by leaving faults out.
    ///
    /// ```
    /// use chainbox::{
    ///     consensus::{ConsensusConfig, PbftConfig},
    ///     sim::{FaultPlan, CampaignSetup, run_plan},
    /// };
    /// use proptest::test_runner::{Config, TestRunner};
    ///
    /// // Four replicas of PBFT bear whatever its profile draws: crashes, cuts, lies of one of them.
    /// let pbft = ConsensusConfig::Pbft(PbftConfig::default());
    /// let setup = CampaignSetup { validators: vec![4], ..CampaignSetup::of(pbft) };
    /// let mut runner = TestRunner::new(Config { cases: 3, ..Config::default() });
    /// let outcome = runner.run(&FaultPlan::strategy(4, setup.profile.clone()), |plan| {
    ///     let report = run_plan(&setup, 7, &plan);
    ///     assert!(report.is_passed(), "{:?}", report.outcome);
    ///     Ok(())
    /// });
    /// assert!(outcome.is_ok(), "the smallest plan that fails: {outcome:?}");
    /// ```
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
