//! The section `governance` of genesis.

use serde::{Deserialize, Serialize};

use super::{interface as sol, outcome::PERMILLE};

/// Open proposals at once, at most: the bound of [`GovernanceSpec::max_open_proposals`].
pub const OPEN_MAX: u16 = 256;

/// The longest voting period, in seconds: a year.
pub const PERIOD_SECS_MAX: u32 = 31_536_000;

/// The highest threshold, in thousandths: one above nobody could exceed.
pub(super) const THRESHOLD_PERMILLE_MAX: u16 = PERMILLE - 1;

/// Rules of proposals and votes, fixed at genesis. The defaults are those of the Cosmos SDK where it has the rule.
///
/// Times are in seconds, `_permille` in thousandths. In JSON the names are camelCase, unknown ones are refused, missing ones have their
/// default. The validators of genesis vote by their stake where the specification has `staking`, else with one vote each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct GovernanceSpec {
    /// Voting period of a proposal that does not name its own; default two days.
    pub voting_period_secs: u32,
    /// Least voting period; default two days.
    pub min_voting_period_secs: u32,
    /// Part of all weight that must vote, abstentions included; default 33.4 %. A proposal may name a higher one.
    pub quorum_permille: u16,
    /// Part of the votes without abstentions above which those in favour must be; default 50 %, at most 99.9 %. A proposal may name a higher
    /// one.
    pub threshold_permille: u16,
    /// Part of the votes above which vetoes stop a proposal; default 33.4 %.
    pub veto_permille: u16,
    /// Weight that a proposer needs, in gwei of stake, or in validators on a chain without stake; default 0: any that is not 0.
    pub min_proposer_weight: u64,
    /// Open proposals at once; default 64, from 1 to [`OPEN_MAX`].
    pub max_open_proposals: u16,
}

impl Default for GovernanceSpec {
    fn default() -> Self {
        Self {
            voting_period_secs: 172_800,
            min_voting_period_secs: 172_800,
            quorum_permille: 334,
            threshold_permille: 500,
            veto_permille: 334,
            min_proposer_weight: 0,
            max_open_proposals: 64,
        }
    }
}

/// Error of a rule outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("governance rule `{field}` is {got}; it must be from {least} to {most}")]
pub struct GovernanceSpecError {
    /// Name of the rule in the JSON.
    pub field: &'static str,
    /// Its value.
    pub got: u64,
    /// The least valid value.
    pub least: u64,
    /// The largest valid value.
    pub most: u64,
}

impl GovernanceSpec {
    /// Sets the voting period, and the least one with it.
    #[must_use]
    pub const fn with_voting_period(self, secs: u32) -> Self {
        Self { voting_period_secs: secs, min_voting_period_secs: secs, ..self }
    }

    /// Checks all rules.
    ///
    /// # Errors
    /// [`GovernanceSpecError`] for the first one outside its range.
    pub fn check(&self) -> Result<(), GovernanceSpecError> {
        let checks: [(&'static str, u64, u64, u64); 6] = [
            ("votingPeriodSecs", self.voting_period_secs.into(), 1, PERIOD_SECS_MAX.into()),
            ("minVotingPeriodSecs", self.min_voting_period_secs.into(), 1, self.voting_period_secs.into()),
            ("quorumPermille", self.quorum_permille.into(), 0, PERMILLE.into()),
            ("thresholdPermille", self.threshold_permille.into(), 0, THRESHOLD_PERMILLE_MAX.into()),
            ("vetoPermille", self.veto_permille.into(), 0, PERMILLE.into()),
            ("maxOpenProposals", self.max_open_proposals.into(), 1, OPEN_MAX.into()),
        ];
        match checks.into_iter().find(|(_, got, least, most)| !(least..=most).contains(&got)) {
            Some((field, got, least, most)) => Err(GovernanceSpecError { field, got, least, most }),
            None => Ok(()),
        }
    }

    pub(super) const fn settings(&self, has_stake: bool) -> sol::Settings {
        sol::Settings {
            hasStake: has_stake,
            votingPeriodSecs: self.voting_period_secs,
            minVotingPeriodSecs: self.min_voting_period_secs,
            quorumPermille: self.quorum_permille,
            thresholdPermille: self.threshold_permille,
            vetoPermille: self.veto_permille,
            minProposerWeight: self.min_proposer_weight,
            maxOpenProposals: self.max_open_proposals,
        }
    }
}

impl From<&sol::Settings> for GovernanceSpec {
    fn from(settings: &sol::Settings) -> Self {
        Self {
            voting_period_secs: settings.votingPeriodSecs,
            min_voting_period_secs: settings.minVotingPeriodSecs,
            quorum_permille: settings.quorumPermille,
            threshold_permille: settings.thresholdPermille,
            veto_permille: settings.vetoPermille,
            min_proposer_weight: settings.minProposerWeight,
            max_open_proposals: settings.maxOpenProposals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_right_and_come_back() {
        let spec = GovernanceSpec::default();
        assert_eq!(spec.check(), Ok(()));
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<GovernanceSpec>(&json).unwrap(), spec);
        assert_eq!(serde_json::from_str::<GovernanceSpec>("{}").unwrap(), spec);
        assert!(serde_json::from_str::<GovernanceSpec>(r#"{"quorum": 1}"#).is_err());
        assert_eq!(GovernanceSpec::from(&spec.settings(true)), spec);
    }

    #[test]
    fn impossible_values_are_named() {
        for (json, field) in [
            (r#"{"votingPeriodSecs": 0}"#, "votingPeriodSecs"),
            (r#"{"votingPeriodSecs": 31536001}"#, "votingPeriodSecs"),
            (r#"{"votingPeriodSecs": 9}"#, "minVotingPeriodSecs"),
            (r#"{"minVotingPeriodSecs": 0}"#, "minVotingPeriodSecs"),
            (r#"{"quorumPermille": 1001}"#, "quorumPermille"),
            (r#"{"thresholdPermille": 1000}"#, "thresholdPermille"),
            (r#"{"vetoPermille": 1001}"#, "vetoPermille"),
            (r#"{"maxOpenProposals": 257}"#, "maxOpenProposals"),
            (r#"{"maxOpenProposals": 0}"#, "maxOpenProposals"),
        ] {
            let error = serde_json::from_str::<GovernanceSpec>(json).unwrap().check().unwrap_err();
            assert_eq!(error.field, field, "{json}: {error}");
        }
    }
}
