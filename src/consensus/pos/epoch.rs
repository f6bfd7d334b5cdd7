//! What happens where an epoch ends: justification, the inactivity leak, correlation penalties, the next validators.
//!
//! After Ethereum's consensus specifications ("Epoch processing" of Altair): scores of absence, a leak in proportion to
//! them while finality is late, and for offenders a penalty that grows with how many offended at about the same time.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Accounts, Checkpoint, Epoch, PosConfig,
    state::{Dues, Stake, State, epoch_seed},
};
use crate::{consensus::ValidatorSet, primitives::Address};

/// What an epoch of absence adds to a score (`INACTIVITY_SCORE_BIAS`).
const SCORE_ABSENT: u64 = 4;
/// What an epoch takes from each score while finality is on time (`INACTIVITY_SCORE_RECOVERY_RATE`).
const SCORE_RECOVERY: u64 = 16;

impl State {
    /// The branch at a later slot without blocks in between (`process_slots`); nothing for an earlier one.
    pub(super) fn advanced(&self, config: &PosConfig, slot: u64) -> (Self, Dues) {
        let (mut state, mut dues) = match config.epoch_of(slot) > self.epoch() {
            true => self.ahead.get_or_init(|| self.at_next_epoch(config)),
            false => (self.clone(), Dues::default()),
        };
        while config.epoch_of(slot) > state.epoch() {
            state.end_epoch(config, &mut dues);
        }
        state.slot = slot.max(state.slot);
        (state, dues)
    }

    fn at_next_epoch(&self, config: &PosConfig) -> (Self, Dues) {
        let (mut state, mut dues) = (self.clone(), Dues::default());
        state.end_epoch(config, &mut dues);
        (state, dues)
    }

    /// The accounts of a block at this slot. `elected` is what a block that was made by another claims of the bonded stake,
    /// for those who execute nothing; everybody else finds it out.
    pub(super) fn settle(&mut self, dues: Dues, elected: Option<Option<&Accounts>>) -> Option<Accounts> {
        if !dues.ended {
            return None;
        }
        let stake = Arc::make_mut(&mut self.stake);
        let elected = match elected {
            None => stake.election(),
            Some(claimed) => claimed.and_then(|accounts| accounts.elected.clone()),
        };
        let elected = elected.filter(|_| stake.elected.is_none());
        if let Some(members) = &elected {
            stake.elected = Some((self.current.number, members.clone()));
            stake.gathered.clear();
            // The stake that was elected has earlier penalties deducted; those of this block are yet to be executed.
            let [before, after] = &mut stake.debts;
            for (validator, debt) in core::mem::replace(after, dues.penalties.clone()) {
                let new = dues.penalties.get(&validator).copied().unwrap_or_default();
                owe(before, validator, debt.saturating_sub(new));
            }
        }
        let next = (self.next.0 != self.current.set).then(|| self.next.0.hash());
        Some(Accounts { penalties: dues.penalties.into_iter().collect(), elected, next })
    }

    fn end_epoch(&mut self, config: &PosConfig, dues: &mut Dues) {
        dues.ended = true;
        self.casper = self.unrealized();
        let mut stake = Stake::clone(&self.stake);
        stake.scores.retain(|validator, _| stake.bonded.iter().any(|member| member.address == *validator));
        self.settle_absence(config, &mut stake, dues);
        settle_correlation(config, self.epoch(), &self.current.set, &mut stake, dues);
        if stake.elected.as_ref().is_some_and(|(epoch, _)| self.casper.finalized.epoch > *epoch)
            && let Some((_, members)) = stake.elected.take()
        {
            stake.bonded = members;
            stake.debts[0].clear();
        }
        self.begin_epoch(config, stake);
    }

    fn begin_epoch(&mut self, config: &PosConfig, stake: Stake) {
        let number = self.epoch() + 1;
        let (set, seed) = core::mem::replace(
            &mut self.next,
            // With nobody left the last ones go on, so that a chain without stake still has an order.
            (stake.effective().unwrap_or_else(|| self.current.set.clone()), epoch_seed(number + 1, self.mix)),
        );
        let current = Arc::new(Epoch::new(config, number, set, seed));
        self.previous = core::mem::replace(&mut self.current, current);
        let [_, voted] = core::mem::take(&mut self.voted);
        self.voted = [voted, vec![false; self.current.set.len()]];
        self.checkpoints = [self.checkpoints[1], Checkpoint { epoch: number, block: self.latest }];
        self.slot = config.start_of(number);
        self.stake = Arc::new(stake);
    }

    /// Scores of absence from the previous epoch, and the leak (`process_inactivity_updates`, `get_inactivity_penalty_deltas`).
    fn settle_absence(&self, config: &PosConfig, stake: &mut Stake, dues: &mut Dues) {
        if self.epoch() == 0 {
            return;
        }
        stake.absent.clear();
        let is_leaking = self.previous.number.saturating_sub(self.casper.finalized.epoch) > config.leak_after;
        for (member, voted) in self.previous.set.members().iter().zip(&self.voted[0]) {
            let validator = member.address;
            let is_present = *voted && !stake.slashed.contains_key(&validator);
            let mut score = stake.scores.remove(&validator).unwrap_or_default();
            score = if is_present { score.saturating_sub(1) } else { score.saturating_add(SCORE_ABSENT) };
            if !is_leaking {
                score = score.saturating_sub(SCORE_RECOVERY);
            }
            if score > 0 {
                stake.scores.insert(validator, score);
            }
            if !is_present {
                stake.absent.push(validator);
            }
            if is_leaking && !is_present {
                let leak = u128::from(member.weight) * u128::from(score) / u128::from(config.leak_quotient.max(1));
                fine(stake, dues, validator, u64::try_from(leak).unwrap_or(u64::MAX).min(member.weight));
            }
        }
    }
}

/// What offenders lose on top once it is known how many there were (`process_slashings`).
fn settle_correlation(config: &PosConfig, epoch: u64, set: &ValidatorSet, stake: &mut Stake, dues: &mut Dues) {
    // Of the stake as it was with the offenders, who have left the set.
    let gone = stake.slashed.iter().filter(|(offender, _)| !set.contains(offender));
    let total = set.total_weight() + gone.map(|(_, (_, weight))| u128::from(*weight)).sum::<u128>();
    let delay = config.correlation_delay;
    let due: Vec<_> = stake.slashed.iter().filter(|(_, (at, _))| at.saturating_add(delay) == epoch).collect();
    let due: Vec<_> = due.into_iter().map(|(validator, entry)| (*validator, *entry)).collect();
    for (validator, (at, weight)) in due {
        let together = stake.slashed.values().filter(|(other, _)| other.abs_diff(at) <= delay);
        let slashed: u128 = together.map(|(_, weight)| u128::from(*weight)).sum();
        let share = slashed.saturating_mul(u128::from(config.correlation_multiplier)).min(total);
        let penalty = u128::from(weight).saturating_mul(share).checked_div(total).unwrap_or_default();
        fine(stake, dues, validator, u64::try_from(penalty).unwrap_or(u64::MAX).min(weight));
    }
    // Offenders are remembered as long as somebody might show their offences again.
    let kept = config.unbonding_epochs.max(2 * delay);
    stake.slashed.retain(|_, (at, _)| at.saturating_add(kept) >= epoch);
}

fn fine(stake: &mut Stake, dues: &mut Dues, validator: Address, gwei: u64) {
    if gwei > 0 {
        owe(&mut stake.debts[1], validator, gwei);
        owe(&mut dues.penalties, validator, gwei);
    }
}

fn owe(debts: &mut BTreeMap<Address, u64>, validator: Address, gwei: u64) {
    let debt = debts.entry(validator).or_default();
    *debt = debt.saturating_add(gwei);
}
