//! Epoch processing: justification, inactivity leak, rewards and penalties of votes, correlation penalties, next validators.
//!
//! After Ethereum's consensus specifications ("Epoch processing" of Altair): inactivity scores, a leak in proportion to them while
//! finality stalls, rewards and penalties of the votes of the epoch before, and a slashing penalty in proportion to the stake slashed
//! at about the same time.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Checkpoint, Electorate, Epoch, EpochAccounting, PosConfig,
    participation::Participation,
    rewards::{Delta, EpochVotes},
    set_change::Rear,
    state::{EpochDeltas, Stake, State, epoch_seed},
};
use crate::{
    consensus::{
        Validator, ValidatorSet,
        mutation::{self, Mutation},
    },
    primitives::{Address, Timestamp},
};

/// Increase of an inactivity score by an epoch of absence (`INACTIVITY_SCORE_BIAS`).
const SCORE_ABSENT: u64 = 4;
/// Decrease of each inactivity score by an epoch with timely finality (`INACTIVITY_SCORE_RECOVERY_RATE`).
const SCORE_RECOVERY: u64 = 16;

impl State {
    /// Returns the state at a later slot without blocks in between (`process_slots`), unchanged for an earlier one.
    pub(super) fn advanced(&self, config: &PosConfig, slot: u64) -> (Self, EpochDeltas) {
        let (mut state, deltas) = match config.epoch_of(slot) {
            epoch if epoch > self.epoch() => self.at_epoch(config, epoch),
            _ => (self.clone(), EpochDeltas::default()),
        };
        state.slot = slot.max(state.slot);
        (state, deltas)
    }

    /// Returns the state at the start of a later epoch, and the deltas of those that ended before it. Its cost does not depend on the number of
    /// epochs: after a few without a block, one is as the one before.
    fn at_epoch(&self, config: &PosConfig, epoch: u64) -> (Self, EpochDeltas) {
        let (mut state, mut deltas) = self.next_epoch_cache.get_or_init(|| self.at_next_epoch(config));
        while epoch > state.epoch() {
            let before = state.clone();
            state.end_epoch(config, &mut deltas);
            if state.is_at_rest_since(config, &before) {
                state.pass_to(config, state.rests_until(config).min(epoch).saturating_sub(1));
            }
        }
        (state, deltas)
    }

    /// Whether an epoch changed nothing but its number, so that the next ones will do so, too, up to [`State::rests_until`].
    fn is_at_rest_since(&self, config: &PosConfig, before: &Self) -> bool {
        // The epochs are compared by who has duties in them; the others are of blocks, or follow from the epoch's number.
        let Self {
            genesis_time: _,
            slot: _,
            latest: _,
            time: _,
            mix: _,
            reveals,
            previous: _,
            current: _,
            next: _,
            checkpoints: _,
            voted,
            casper,
            stake,
            parameters,
            times,
            pending_length,
            next_epoch_cache: _,
        } = before;
        !before.could_have_votes(config)
            && self.electorates() == before.electorates()
            && (&self.casper, &self.pending_length, &self.parameters) == (casper, pending_length, parameters)
            && (&self.voted, &self.times, &self.stake) == (voted, times, stake)
            && self.reveals.len() == reveals.len()
    }

    /// Returns those of the previous, the current and the next epoch.
    fn electorates(&self) -> [&Electorate; 3] {
        [&self.previous.electorate, &self.current.electorate, &self.next.0]
    }

    /// Returns the next epoch whose end has something to account for without any block: the correlation penalty of an offence.
    fn rests_until(&self, config: &PosConfig) -> u64 {
        let due = self.stake.slashed.values().map(|(at, _)| at.saturating_add(config.correlation_delay));
        due.filter(|epoch| *epoch >= self.epoch()).min().unwrap_or(u64::MAX)
    }

    /// Passes to the start of a later epoch, up to which nothing happens; does nothing for an earlier one.
    fn pass_to(&mut self, config: &PosConfig, number: u64) {
        if number <= self.epoch() {
            return;
        }
        let drawn =
            |number| Epoch::drawn(config, number, self.current.electorate.clone(), epoch_seed(number, self.mix));
        (self.previous, self.current) = (drawn(number - 1), drawn(number));
        self.next.1 = epoch_seed(number + 1, self.mix);
        self.checkpoints = [number - 1, number].map(|epoch| Checkpoint { epoch, block: self.latest });
        self.slot = config.start_of(number);
    }

    fn at_next_epoch(&self, config: &PosConfig) -> (Self, EpochDeltas) {
        let (mut state, mut deltas) = (self.clone(), EpochDeltas::default());
        state.end_epoch(config, &mut deltas);
        (state, deltas)
    }

    /// Applies the end of the epochs before a block at this slot and returns the block's accounting, if any ended. `elected`
    /// is the accounting in the header, for verifiers that do not execute; others compute the bonded stake.
    pub(super) fn apply_epoch(
        &mut self,
        deltas: EpochDeltas,
        elected: Option<Option<&EpochAccounting>>,
    ) -> Option<EpochAccounting> {
        let EpochDeltas { ended, rewards, penalties } = deltas;
        if !ended {
            return None;
        }
        let stake = Arc::make_mut(&mut self.stake);
        let elected = match elected {
            None => stake.election(),
            Some(from_header) => from_header.and_then(|accounting| accounting.elected.clone()),
        };
        let elected = elected.filter(|_| stake.elected.is_none());
        if let Some(members) = &elected {
            stake.elected = Some((self.current.number, members.clone()));
            stake.pending_updates.clear();
            // Earlier penalties are deducted from the elected stake already; those of this block are not executed yet.
            let [before, after] = &mut stake.debts;
            for (validator, debt) in core::mem::replace(after, penalties.clone()) {
                let new = penalties.get(&validator).copied().unwrap_or_default();
                add_gwei(before, validator, debt.saturating_sub(new));
            }
        }
        let next = (self.next.0 != self.current.electorate).then(|| self.next.0.hash());
        let (rewards, penalties) = (rewards.into_iter().collect(), penalties.into_iter().collect());
        Some(EpochAccounting { penalties, rewards, elected, next })
    }

    pub(super) fn end_epoch(&mut self, config: &PosConfig, deltas: &mut EpochDeltas) {
        deltas.ended = true;
        self.casper = self.unrealized();
        self.settle_length(config);
        self.slot = config.start_of(self.epoch() + 1).max(self.slot);
        let now = self.now(config);
        let mut stake = Stake::clone(&self.stake);
        let is_rear = |validator: &Address| stake.rear.as_ref().is_some_and(|rear| rear.members().contains(validator));
        let is_bonded = |validator: &Address| stake.bonded.iter().any(|member| member.address == *validator);
        stake.inactivity_scores.retain(|validator, _| is_bonded(validator) || is_rear(validator));
        stake.absent.clear();
        // Genesis has no epoch before it.
        if self.epoch() > 0 {
            let accounts_for_votes = self.could_have_votes(config);
            if accounts_for_votes {
                self.apply_absence(config, &mut stake, deltas);
                self.apply_rewards(config, &mut stake, deltas);
            }
            self.name_members(&stake, accounts_for_votes, deltas);
        }
        apply_correlation(config, self.epoch(), self.current.set(), &mut stake, deltas);
        self.change_set(&mut stake, now);
        self.forget_former(config, &mut stake, now);
        self.begin_epoch(config, stake);
    }

    /// Settles a change of the set that is final, and begins the next one when its commitment is.
    fn change_set(&self, stake: &mut Stake, now: Timestamp) {
        let finalized = self.casper.finalized.epoch;
        if stake.rear.as_ref().is_some_and(|rear| rear.is_settled_by(finalized))
            && let Some(rear) = stake.rear.take()
        {
            let after = ValidatorSet::from_sorted(stake.bonded.clone());
            stake.former.note(rear.members(), &after, (self.latest.height, now));
        }
        if stake.rear.is_none()
            && stake.elected.as_ref().is_some_and(|(epoch, _)| finalized > *epoch)
            && let Some((_, members)) = stake.elected.take()
        {
            stake.rear = stake.effective_set().map(|before| Rear::new(self.epoch() + 2, before));
            stake.bonded = members;
            stake.debts[0].clear();
        }
    }

    /// Drops those about whom evidence counts no longer: former validators whose stake is withdrawable, and offenders that have
    /// left (they can't be punished twice) and whose correlation penalty is past.
    fn forget_former(&self, config: &PosConfig, stake: &mut Stake, now: Timestamp) {
        let (epoch, kept) = (self.epoch(), 2 * config.correlation_delay);
        let elected = stake.elected.as_ref().map_or(&[][..], |(_, members)| members.as_slice());
        let is_bonded = |who: &Address| stake.bonded.iter().chain(elected).any(|member| member.address == *who);
        let sets = [self.previous.set(), self.current.set(), &self.next.0.set];
        let rear = stake.rear.as_ref().map(Rear::members);
        let stays = |who: &Address| is_bonded(who) || sets.into_iter().chain(rear).any(|set| set.contains(who));
        stake.slashed.keys().for_each(|offender| stake.former.remove(offender));
        stake.slashed.retain(|offender, (at, _)| at.saturating_add(kept) >= epoch || stays(offender));
        stake.former.retain(&self.evidence(config), now);
    }

    fn begin_epoch(&mut self, config: &PosConfig, stake: Stake) {
        let number = self.epoch() + 1;
        let (set, seed) = core::mem::replace(
            &mut self.next,
            // When no validator is left, the current ones stay, so that a chain without stake still has proposers.
            (stake.effective().unwrap_or_else(|| self.current.electorate.clone()), epoch_seed(number + 1, self.mix)),
        );
        let current = Epoch::drawn(config, number, set, seed);
        self.previous = core::mem::replace(&mut self.current, current);
        let [_, voted] = core::mem::take(&mut self.voted);
        self.voted = [voted, vec![Participation::default(); self.current.set().len()]];
        self.checkpoints = [self.checkpoints[1], Checkpoint { epoch: number, block: self.latest }];
        self.slot = config.start_of(number);
        let is_known = |who: &Address| {
            [self.previous.set(), self.current.set(), &self.next.0.set].iter().any(|set| set.contains(who))
                || stake.bonded.iter().any(|member| member.address == *who)
        };
        if self.reveals.keys().any(|who| !is_known(who)) {
            self.reveals = core::mem::take(&mut self.reveals).into_iter().filter(|(who, _)| is_known(who)).collect();
        }
        self.stake = Arc::new(stake);
    }

    /// Whether a block could have votes of the previous epoch: there is one in it or since. Without any all validators were away alike, as where
    /// one process runs them all and did not run itself: it costs nobody more than others, and so nobody anything.
    fn could_have_votes(&self, config: &PosConfig) -> bool {
        let latest = config.epoch_of(self.times.slot_begun(self.time));
        config.period == 0 || latest >= self.previous.number || mutation::active(Mutation::PosChargesForGaps)
    }

    /// Whether finality stalls for so long that stake leaks (`is_in_inactivity_leak`).
    fn is_leaking(&self, config: &PosConfig) -> bool {
        self.previous.number.saturating_sub(self.casper.finalized.epoch) > config.leak_after
    }

    /// Updates inactivity scores by the previous epoch and applies the inactivity leak (`process_inactivity_updates`, `get_inactivity_penalty_deltas`).
    fn apply_absence(&self, config: &PosConfig, stake: &mut Stake, deltas: &mut EpochDeltas) {
        let is_leaking = self.is_leaking(config);
        for (member, vote) in self.previous.set().members().iter().zip(&self.voted[0]) {
            let validator = member.address;
            let is_present = vote.has_voted() && !stake.slashed.contains_key(&validator);
            let mut score = stake.inactivity_scores.remove(&validator).unwrap_or_default();
            score = if is_present { score.saturating_sub(1) } else { score.saturating_add(SCORE_ABSENT) };
            if !is_leaking {
                score = score.saturating_sub(SCORE_RECOVERY);
            }
            if score > 0 {
                stake.inactivity_scores.insert(validator, score);
            }
            if !is_present {
                stake.absent.push(validator);
            }
            if is_leaking && !is_present {
                let leak = u128::from(member.weight) * u128::from(score) / u128::from(config.leak_quotient.max(1));
                penalize(stake, deltas, member, u64::try_from(leak).unwrap_or(u64::MAX).min(member.weight));
            }
        }
    }

    /// Adds what the votes of the previous epoch earn and cost (`process_rewards_and_penalties`). Who had duties in it is named, with 0 too, so that
    /// the staking contract keeps the stake of those locked who left.
    fn apply_rewards(&self, config: &PosConfig, stake: &mut Stake, deltas: &mut EpochDeltas) {
        let votes = EpochVotes {
            config,
            epoch: &self.previous,
            after: &self.current,
            votes: &self.voted[0],
            is_leaking: self.is_leaking(config),
        };
        for (validator, Delta { reward, penalty }) in votes.deltas(|validator| stake.slashed.contains_key(validator)) {
            let weight = self.previous.set().weight_of(&validator);
            penalize(stake, deltas, &Validator { address: validator, weight }, penalty);
            if penalty == 0 {
                add_gwei(&mut deltas.rewards, validator, reward);
            }
        }
    }

    /// Names who has duties, or is elected to have them, and is not accounted for otherwise: whoever left meanwhile has its stake locked until it had
    /// its last one, however long nobody was there or nothing became final.
    fn name_members(&self, stake: &Stake, accounts_for_votes: bool, deltas: &mut EpochDeltas) {
        if mutation::active(Mutation::PosForgetsElected) {
            return;
        }
        let previous = self.previous.set();
        let elected = stake.elected.iter().flat_map(|(_, members)| members.iter().map(|member| member.address));
        let on_duty = previous.addresses().chain(self.current.set().addresses()).chain(self.next.0.set.addresses());
        for member in on_duty.chain(elected).filter(|member| !accounts_for_votes || !previous.contains(member)) {
            add_gwei(&mut deltas.rewards, member, 0);
        }
    }
}

/// Applies penalties to offenders, in proportion to the stake slashed at about the same time (`process_slashings`).
fn apply_correlation(config: &PosConfig, epoch: u64, set: &ValidatorSet, stake: &mut Stake, deltas: &mut EpochDeltas) {
    // The total includes offenders, which have left the set.
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
        let offender = Validator { address: validator, weight };
        penalize(stake, deltas, &offender, u64::try_from(penalty).unwrap_or(u64::MAX).min(weight));
    }
}

/// Deducts `gwei` of a validator's weight.
fn penalize(stake: &mut Stake, deltas: &mut EpochDeltas, validator: &Validator, gwei: u64) {
    let Validator { address, weight } = *validator;
    if gwei > 0 {
        add_gwei(&mut stake.debts[1], address, gwei);
        add_gwei(&mut deltas.penalties, address, gwei);
        if let Some(rear) = &mut stake.rear {
            rear.penalize(&address, gwei, weight);
        }
    }
}

/// Adds to a sum; 0 names the validator.
fn add_gwei(sums: &mut BTreeMap<Address, u64>, validator: Address, gwei: u64) {
    let sum = sums.entry(validator).or_default();
    *sum = sum.saturating_add(gwei);
}
