//! What the votes of an epoch earn and cost.
//!
//! The rules are those of Altair (consensus-specs, altair/beacon-chain.md: `process_attestation`, `get_base_reward`,
//! `get_flag_index_deltas`): a vote has up to three flags, timely source, target and head, each with a weight; who has a flag earns
//! its weight of the base reward, times the part of the stake that has it, too; who lacks source or target loses their weight. The
//! proposer that includes a vote earns an eighth of what proposers and attesters earn together. While finality stalls, nothing is
//! earned. Differences:
//!
//! - stake counts in gwei, without rounding to increments of an ether;
//! - a vote counts with the source and target of its branch only (`VoteError`), so that one with a wrong target has no flag at all;
//! - delays count from the validator's attestation slot, as it may vote later in its epoch;
//! - the proposer's part is paid with the votes of the epoch, and not while finality stalls (there at once, and always);
//! - nobody has the duty of the sync committee's weight;
//! - on demand slots have no length: no vote is late, and a missed one, for which there may have been no block, costs nothing;
//! - an epoch's rewards and penalties of one validator are set off against each other.

use std::collections::BTreeMap;

use super::{Epoch, PosConfig, participation::Participation};
use crate::{
    consensus::{
        Validator, ValidatorSet,
        mutation::{self, Mutation},
    },
    primitives::{Address, U256},
};

/// `TIMELY_SOURCE_WEIGHT`, `TIMELY_TARGET_WEIGHT`, `TIMELY_HEAD_WEIGHT`.
const FLAG_WEIGHTS: [u64; 3] = [14, 26, 14];
/// `TIMELY_HEAD_FLAG_INDEX`: a wrong or late head costs nothing.
const HEAD: usize = 2;
/// `PROPOSER_WEIGHT`.
const PROPOSER_WEIGHT: u64 = 8;
/// `WEIGHT_DENOMINATOR`.
const WEIGHT_DENOMINATOR: u64 = 64;
/// Smallest total stake that base rewards are computed with, in gwei (`EFFECTIVE_BALANCE_INCREMENT`).
const TOTAL_MIN: u128 = 1_000_000_000;

/// Votes of an epoch whose votes can no longer be included.
#[derive(Clone, Copy, Debug)]
pub(super) struct EpochVotes<'a> {
    pub(super) config: &'a PosConfig,
    /// The epoch.
    pub(super) epoch: &'a Epoch,
    /// The epoch after it, in whose blocks late votes are.
    pub(super) after: &'a Epoch,
    /// Votes by index in the epoch's set.
    pub(super) votes: &'a [Participation],
    /// Whether finality stalls, so that the inactivity leak is in force.
    pub(super) is_leaking: bool,
}

/// Change of a validator by an epoch, in gwei: one of the two is 0, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) reward: u64,
    pub(super) penalty: u64,
}

/// What validators earn and lose, in gwei.
#[derive(Debug)]
struct Sums(BTreeMap<Address, [u128; 2]>);

impl EpochVotes<'_> {
    /// Returns the change of each validator with duties, and of proposers that included votes, given who is slashed: those earn nothing and lose as
    /// if absent.
    pub(super) fn deltas(&self, is_slashed: impl Fn(&Address) -> bool) -> BTreeMap<Address, Delta> {
        let set = self.epoch.set();
        let of_member = |(index, member): (usize, &Validator)| {
            if is_slashed(&member.address) { [false; 3] } else { self.flags(index) }
        };
        let flags: Vec<_> = set.members().iter().enumerate().map(of_member).collect();
        let mut with_flag = [0_u128; 3];
        for (member, flags) in set.members().iter().zip(&flags) {
            (0..3).filter(|flag| flags[*flag]).for_each(|flag| with_flag[flag] += u128::from(member.weight));
        }
        let is_earning = !self.is_leaking || mutation::active(Mutation::PosRewardsInLeak);
        let is_costly = self.config.period > 0 && !mutation::active(Mutation::PosSkipsPenalties);
        let total = set.total_weight();
        let root = total.max(TOTAL_MIN).isqrt();
        let mut sums = Sums::of_members(set);
        for (index, (member, flags)) in set.members().iter().zip(&flags).enumerate() {
            // `get_base_reward`: in proportion to the stake, and all together to the square root of the total.
            let base = u128::from(member.weight) * u128::from(self.config.base_reward_factor) / root;
            for flag in 0..3 {
                let weight = FLAG_WEIGHTS[flag];
                if flags[flag] && is_earning {
                    sums.earn(member.address, share(base, weight, with_flag[flag], total, WEIGHT_DENOMINATOR));
                } else if !flags[flag] && flag != HEAD && is_costly {
                    sums.lose(member.address, share(base, weight, 1, 1, WEIGHT_DENOMINATOR));
                }
            }
            let included: u64 = (0..3).filter(|flag| flags[*flag]).map(|flag| FLAG_WEIGHTS[flag]).sum();
            let proposer = self.proposer_of(index).filter(|proposer| is_earning && !is_slashed(proposer));
            if let Some(proposer) = proposer {
                let whole = (WEIGHT_DENOMINATOR - PROPOSER_WEIGHT) * WEIGHT_DENOMINATOR / PROPOSER_WEIGHT;
                sums.earn(proposer, share(base, included, 1, 1, whole));
            }
        }
        sums.net(set)
    }

    /// Returns the flags of a validator: timely source, target and head (`get_attestation_participation_flag_indices`).
    fn flags(&self, index: usize) -> [bool; 3] {
        let vote = self.votes[index];
        let Some(slots) = vote.slots() else { return [false; 3] };
        let delay = slots.saturating_sub(self.epoch.attestation_slots()[index]);
        // On demand slots have no length.
        let within = |slots: u64| self.config.period == 0 || delay <= slots;
        [within(self.config.slots_per_epoch.isqrt()), true, vote.is_head_right() && within(1)]
    }

    /// Returns the proposer of the block that includes a validator's vote.
    fn proposer_of(&self, index: usize) -> Option<Address> {
        let slot = self.config.start_of(self.epoch.number).checked_add(self.votes[index].slots()?)?;
        let epoch = [self.epoch, self.after].into_iter().find(|epoch| epoch.number == self.config.epoch_of(slot))?;
        epoch.proposer(self.config, slot)
    }
}

impl Sums {
    fn of_members(set: &ValidatorSet) -> Self {
        Self(set.addresses().map(|validator| (validator, [0; 2])).collect())
    }

    fn earn(&mut self, validator: Address, gwei: u128) {
        let [earned, _] = self.0.entry(validator).or_default();
        *earned = earned.saturating_add(gwei);
    }

    fn lose(&mut self, validator: Address, gwei: u128) {
        let [_, lost] = self.0.entry(validator).or_default();
        *lost = lost.saturating_add(gwei);
    }

    /// Returns the differences; nobody loses more than its weight.
    fn net(self, set: &ValidatorSet) -> BTreeMap<Address, Delta> {
        let clamp = |gwei: u128| u64::try_from(gwei).unwrap_or(u64::MAX);
        let net = |(validator, [earned, lost]): (Address, [u128; 2])| {
            let weight = set.index_of(&validator).map_or(0, |index| set.members()[index].weight);
            let (reward, penalty) = (earned.saturating_sub(lost), lost.saturating_sub(earned));
            (validator, Delta { reward: clamp(reward), penalty: clamp(penalty).min(weight) })
        };
        let is_named = |delta: &Delta| *delta != Delta::default() || !mutation::active(Mutation::PosNamesEarnersOnly);
        self.0.into_iter().map(net).filter(|(_, delta)| is_named(delta)).collect()
    }
}

/// Returns `base * weight * part / (total * whole)`, rounded down.
fn share(base: u128, weight: u64, part: u128, total: u128, whole: u64) -> u128 {
    let product = U256::from(base).saturating_mul(U256::from(weight)).saturating_mul(U256::from(part));
    product.checked_div(U256::from(total).saturating_mul(U256::from(whole))).unwrap_or_default().saturating_to()
}
