//! Validators that left the set and can still be slashed, and the age up to which evidence counts.
//!
//! Who misbehaved is accountable until its stake is withdrawable, whether or not it still validates (the beacon chain's
//! `is_slashable_validator`: until `withdrawable_epoch`). A protocol keeps in its header context whom its set lost, and when;
//! an entry is dropped when evidence about it no longer counts.

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use super::{
    encoding::{Decoder, Encoder},
    validators::ValidatorSet,
};
use crate::{
    primitives::{Address, Height, Timestamp},
    system::{ParameterUpdates, parameters::Parameter, staking::StakingParams},
};

/// Age of evidence that counts, and the time for which stake can be slashed after its validator left. Follows from the staking
/// contract's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceWindow {
    /// Age in blocks up to which evidence counts whatever its age in time.
    pub blocks: u64,
    /// Age in seconds up to which evidence counts whatever its age in blocks; at least `unbonding_secs`.
    pub secs: u64,
    /// Time from leaving the set to withdrawal, in seconds.
    pub unbonding_secs: u64,
}

impl Default for EvidenceWindow {
    fn default() -> Self {
        Self::of_staking(&StakingParams::default())
    }
}

impl EvidenceWindow {
    /// Returns the window of a chain with these parameters of stake.
    pub fn of_staking(params: &StakingParams) -> Self {
        let unbonding_secs = params.unbonding_secs;
        Self { blocks: params.evidence_max_age_blocks, secs: params.evidence_age_secs(), unbonding_secs }
    }

    /// Returns the window after changes of the chain's parameters. Stake that was unbonding when the period became shorter stays locked, so
    /// that the time for which who left is accountable never becomes shorter.
    #[must_use]
    pub(in crate::consensus) fn with(self, changed: &ParameterUpdates) -> Self {
        let value = |parameter, before| changed.value(parameter).map_or(before, |value| value as u64);
        let unbonding_secs = value(Parameter::UnbondingPeriod, self.unbonding_secs).max(self.unbonding_secs);
        let secs = value(Parameter::EvidenceMaxAge, self.secs).max(unbonding_secs);
        Self { blocks: value(Parameter::EvidenceMaxAgeBlocks, self.blocks), secs, unbonding_secs }
    }

    /// Whether it is that of the default parameters of stake.
    pub(in crate::consensus) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether evidence no longer counts: both of its ages are past.
    pub const fn is_expired(&self, blocks: u64, secs: u64) -> bool {
        blocks > self.blocks && secs > self.secs
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self { blocks, secs, unbonding_secs } = self;
        [blocks, secs, unbonding_secs].into_iter().for_each(|number| out.u64(*number));
    }
}

/// The end of a validator's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::consensus) struct Departure {
    /// Height of the first block without it.
    pub(in crate::consensus) height: Height,
    /// Time of that block.
    pub(in crate::consensus) time: Timestamp,
    /// Weight that it had.
    pub(in crate::consensus) weight: u64,
}

/// Validators that left and whose stake is not withdrawable yet. Cloning is O(1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::consensus) struct FormerMembers(OrdMap<Address, Departure>);

impl FormerMembers {
    /// Adds the members of `before` that are not in `after`, since the block at `height` and `time`.
    pub(in crate::consensus) fn note(
        &mut self,
        before: &ValidatorSet,
        after: &ValidatorSet,
        (height, time): (Height, Timestamp),
    ) {
        for member in before.members().iter().filter(|member| !after.contains(&member.address)) {
            self.add(member.address, Departure { height, time, weight: member.weight });
        }
    }

    /// Adds a validator that left.
    pub(in crate::consensus) fn add(&mut self, validator: Address, departure: Departure) {
        self.0.insert(validator, departure);
    }

    pub(in crate::consensus) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes a validator: it is punished.
    pub(in crate::consensus) fn remove(&mut self, validator: &Address) {
        self.0.remove(validator);
    }

    /// Returns when a validator left, unless that is too long ago to matter.
    pub(in crate::consensus) fn get(&self, validator: &Address) -> Option<&Departure> {
        self.0.get(validator)
    }

    /// Drops those whose stake is withdrawable at `now`.
    pub(in crate::consensus) fn retain(&mut self, window: &EvidenceWindow, now: Timestamp) {
        self.drop_where(|departure| departure.is_withdrawable(window, now));
    }

    /// Drops those of whom `is_gone` says so.
    pub(in crate::consensus) fn drop_where(&mut self, is_gone: impl Fn(&Departure) -> bool) {
        let gone: Vec<_> = self.0.iter().filter(|(_, departure)| is_gone(departure)).map(|(who, _)| *who).collect();
        for validator in &gone {
            self.0.remove(validator);
        }
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self(members) = self;
        out.list(members.iter(), |out, (validator, Departure { height, time, weight })| {
            out.address(validator);
            out.u64(height.get());
            out.timestamp(*time);
            out.u64(*weight);
        });
    }

    pub(in crate::consensus) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let members = bytes.list(|bytes| {
            let (validator, height) = (bytes.address()?, Height::new(bytes.u64()?));
            Some((validator, Departure { height, time: Timestamp::from_secs(bytes.u64()?), weight: bytes.u64()? }))
        })?;
        Some(Self(members.into_iter().collect()))
    }
}

impl Departure {
    /// Whether the validator's stake is withdrawable at `now`.
    pub(in crate::consensus) const fn is_withdrawable(&self, window: &EvidenceWindow, now: Timestamp) -> bool {
        now.as_secs() >= self.time.as_secs().saturating_add(window.unbonding_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: EvidenceWindow = EvidenceWindow { blocks: 10, secs: 60, unbonding_secs: 60 };

    fn set(bytes: &[u8]) -> ValidatorSet {
        ValidatorSet::equal(bytes.iter().map(|byte| Address::repeat_byte(*byte))).unwrap()
    }

    #[test]
    fn evidence_expires_when_both_ages_are_past() {
        for (blocks, secs, want) in [(10, 60, false), (11, 60, false), (10, 61, false), (11, 61, true)] {
            assert_eq!(WINDOW.is_expired(blocks, secs), want, "{blocks} blocks, {secs} s");
        }
        let params = StakingParams { unbonding_secs: 90, evidence_max_age_secs: 30, ..StakingParams::default() };
        assert_eq!(EvidenceWindow::of_staking(&params).secs, 90, "no less than stake is locked");
    }

    #[test]
    fn who_left_is_kept_until_its_stake_is_withdrawable() {
        let mut former = FormerMembers::default();
        let at = |secs| (Height::new(secs), Timestamp::from_secs(secs));
        former.note(&set(&[1, 2, 3]), &set(&[1, 4]), at(100));
        former.note(&set(&[1, 4]), &set(&[1, 3]), at(130));
        let kept = |former: &FormerMembers| former.0.keys().map(|it| it.0[0]).collect::<Vec<_>>();
        assert_eq!(kept(&former), [2, 3, 4]);
        let mut out = Encoder::new();
        former.encode(&mut out);
        assert_eq!(FormerMembers::decode(&mut Decoder::new(out.as_bytes())), Some(former.clone()));
        for (now, want) in [(159, vec![2, 3, 4]), (160, vec![4]), (190, vec![])] {
            former.retain(&WINDOW, Timestamp::from_secs(now));
            assert_eq!(kept(&former), want, "{now}");
        }
    }
}
