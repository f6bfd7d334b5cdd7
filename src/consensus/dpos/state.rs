//! The state of a branch after a block, and the part of the next block's payload that follows from it.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use super::{
    ConfirmError, DposConfig, Infraction, Irreversibility, Prepared, Schedule, confirmation::may_be_succeeded, elect,
    evidence::evidence_age,
};
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        encoding::Decoder,
        former_members::{Departure, FormerMembers},
        in_force::InForce,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Height, Timestamp},
    system::ValidatorUpdates,
};

/// Weights of all candidates for election, by address.
pub type Candidates = OrdMap<Address, u64>;

/// State after a block that verification of its children needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderContext {
    /// The block.
    pub block: BlockId,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// Slot of the block; genesis has slot 0.
    pub slot: u64,
    /// Schedules and confirmations after the block.
    pub state: Arc<State>,
    /// Candidates of the next election, after executing the branch up to this block. Empty in light verifiers.
    pub candidates: Candidates,
    /// Who was a producer while evidence of that time counts, and when it last was one, or had a slot without being a candidate, or ended to be a
    /// candidate. Light verifiers know of no candidates.
    pub(super) former: FormerMembers,
    /// Parameters of the chain that changed since genesis.
    pub(super) in_force: Option<InForce>,
}

/// Schedules and confirmations of one branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    active: Arc<Schedule>,
    pending: Option<Pending>,
    progress: Irreversibility,
    /// Infractions reported on this branch, by [`Infraction::slot`] and offender; as old as evidence may be.
    reported: OrdSet<(u64, Address)>,
}

/// A schedule that takes effect when the block that proposed it is irreversible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The schedule.
    pub schedule: Arc<Schedule>,
    /// Height of the block that proposed it.
    pub proposed_at: Height,
}

/// Inputs of a branch's next block.
#[derive(Clone, Copy, Debug)]
pub struct BlockInputs<'a> {
    /// Slot of the block.
    pub slot: u64,
    /// Place of its producer in the active schedule.
    pub place: usize,
    /// Number of the newest blocks that it confirms, including itself.
    pub confirmed: u16,
    /// Infractions that the block proves.
    pub offences: &'a [Infraction],
}

/// Source of an election's result.
#[derive(Clone, Copy, Debug)]
pub enum Election<'a> {
    /// Computed from the candidates' weights.
    Counted,
    /// Taken from the header's payload, for a light verifier, which trusts two thirds of the producers.
    FromHeader(Option<&'a ValidatorSet>),
}

/// The part of a payload that follows from the parent and the [`BlockInputs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DerivedPayload {
    /// Producers of the empty slots before the block.
    pub absent: Vec<Address>,
    /// Producers elected, when they differ from the active ones and no schedule is pending.
    pub proposes: Option<ValidatorSet>,
    /// Hash of the schedule in force after the block, when it changes.
    pub activates: Option<B256>,
}

/// Returns the first producers: the heaviest validators of genesis.
pub(super) fn first_producers(config: &DposConfig, validators: &ValidatorSet) -> ValidatorSet {
    elect(&candidates_of(validators), config.producers).unwrap_or_else(|| validators.clone())
}

fn candidates_of(validators: &ValidatorSet) -> Candidates {
    validators.members().iter().map(|member| (member.address, member.weight)).collect()
}

impl HeaderContext {
    /// Returns the context of genesis, whose heaviest validators are the first producers.
    pub fn genesis(config: &DposConfig, block: BlockId, timestamp: Timestamp, validators: &ValidatorSet) -> Self {
        let candidates = candidates_of(validators);
        let producers = first_producers(config, validators);
        let progress = Irreversibility::new(config.finality, block.height, producers.len());
        let active = Arc::new(Schedule::new(0, block.hash, producers));
        let state = Arc::new(State { active, pending: None, progress, reported: OrdSet::new() });
        let former = FormerMembers::default();
        Self { block, timestamp, slot: 0, state, candidates, former, in_force: None }
    }

    /// Returns the configuration by which the next block is made and judged.
    pub(super) fn config(&self, config: &DposConfig) -> DposConfig {
        self.in_force.as_ref().map_or(*config, |in_force| config.with_in_force(in_force))
    }

    /// Returns whether a block in `slot` is the first of its round: there are elections, and parameters are taken over.
    pub(super) fn begins_round(&self, config: &DposConfig, slot: u64) -> bool {
        let active = &self.state.active;
        active.round(slot, config) > active.round(self.slot, config)
    }

    /// Returns the state after the next block and the payload derived for it. The candidates are those before its own updates.
    ///
    /// # Errors
    /// [`ConfirmError`] when its producer may not confirm this range.
    pub fn extend(
        &self,
        config: &DposConfig,
        inputs: &BlockInputs<'_>,
        election: Election<'_>,
    ) -> Result<(State, DerivedPayload), ConfirmError> {
        let active = &self.state.active;
        let limit = self.state.pending.as_ref().map(|pending| pending.proposed_at);
        let progress = self.state.progress.extend(inputs.place, inputs.confirmed, limit)?;
        let absent = active.absent(self.slot, inputs.slot, config);
        let proposes = self.elected(config, inputs.slot, election);
        let mut reported = self.state.reported.clone();
        let begins = config.time_of(inputs.slot, (self.slot, self.timestamp));
        let oldest = config.slot_id(inputs.slot, begins).saturating_sub(evidence_age(config));
        while reported.get_min().is_some_and(|(slot, _)| *slot < oldest) {
            reported.remove_min();
        }
        reported.extend(inputs.offences.iter().map(|offence| (offence.slot, offence.offender)));
        let pending = match &proposes {
            Some(producers) => {
                let schedule = Arc::new(Schedule::new(active.version() + 1, self.block.hash, producers.clone()));
                Some(Pending { schedule, proposed_at: progress.height() })
            }
            None => self.state.pending.clone(),
        };
        let mut state = State { active: active.clone(), pending, progress, reported };
        let activates = state.promote();
        Ok((state, DerivedPayload { absent, proposes, activates }))
    }

    /// Applies the validator updates of the block's execution.
    #[must_use]
    pub fn with_updates(mut self, updates: &ValidatorUpdates) -> Self {
        for update in updates {
            if update.weight == 0 {
                let was_in_office = self.has_been_in_office(&update.address);
                if let Some(weight) = self.candidates.remove(&update.address).filter(|_| was_in_office) {
                    let departure = Departure { height: self.block.height, time: self.timestamp, weight };
                    self.former.add(update.address, departure);
                }
            } else {
                self.candidates.insert(update.address, update.weight);
            }
        }
        self
    }

    /// Whether evidence against `producer` counts: it is a candidate, or has been a producer while evidence of that time counts. Whether it
    /// has stake that can be slashed, the staking contract knows.
    pub(super) fn is_accountable(&self, config: &DposConfig, producer: &Address) -> bool {
        let is_late = |departure: &Departure| {
            mutation::active(Mutation::DposForgetsCandidates)
                && departure.is_withdrawable(&config.evidence, self.timestamp)
        };
        let has_left = || self.former.get(producer).is_some_and(|departure| !is_late(departure));
        self.state.active.producers().contains(producer)
            || self.is_candidate(producer)
            || (has_left() && !mutation::active(Mutation::DposForgetsLeavers))
    }

    fn is_candidate(&self, producer: &Address) -> bool {
        let forgets = [Mutation::DposForgetsCandidates, Mutation::DposForgetsLeavers].into_iter().any(mutation::active);
        self.candidates.contains_key(producer) && !forgets
    }

    fn has_been_in_office(&self, producer: &Address) -> bool {
        self.former.get(producer).is_some() || self.state.active.producers().contains(producer)
    }

    /// Returns who was a producer after the next block's header, which has `state` and says who was on duty. Candidates are noted when they leave the
    /// schedule, others with every slot.
    pub(super) fn former_after(
        &self,
        config: &DposConfig,
        (height, time): (Height, Timestamp),
        state: &State,
        on_duty: impl IntoIterator<Item = Address>,
    ) -> FormerMembers {
        let (before, mut former) = (self.state.active.producers(), self.former.clone());
        for producer in on_duty {
            if !self.candidates.contains_key(&producer) {
                former.add(producer, Departure { height, time, weight: before.weight_of(&producer) });
            }
        }
        if state.active.version() != self.state.active.version() {
            former.note(before, state.active.producers(), (height, time));
        }
        let id = |height: Height, time| config.slot_id(height.get(), time);
        let age = |departure: &Departure| id(height, time).saturating_sub(id(departure.height, departure.time));
        former.drop_where(|departure| age(departure) > evidence_age(config));
        former
    }

    /// Returns the producers that a block at `slot` proposes: in the first block of a round, when they change and no schedule is
    /// pending.
    fn elected(&self, config: &DposConfig, slot: u64, election: Election<'_>) -> Option<ValidatorSet> {
        let active = &self.state.active;
        if !self.begins_round(config, slot) || self.state.pending.is_some() || !may_be_succeeded(active) {
            return None;
        }
        let elected = match election {
            Election::Counted => elect(&self.candidates, config.producers)?,
            Election::FromHeader(from_header) => {
                from_header.filter(|set| set.len() <= config.producers as usize)?.clone()
            }
        };
        let is_same = elected.addresses().eq(active.producers().addresses());
        (!is_same).then_some(elected)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // `InForce::encode_at_end` writes what few chains have.
        let Self { block, timestamp, slot, state, candidates, former, in_force: _ } = self;
        block.encode(out);
        out.timestamp(*timestamp);
        out.u64(*slot);
        state.encode(out);
        former.encode(out);
        out.list(candidates.iter(), |out, (address, weight)| {
            out.address(address);
            out.u64(*weight);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let block = BlockId::decode(bytes)?;
        let (timestamp, slot) = (Timestamp::from_secs(bytes.u64()?), bytes.u64()?);
        let (state, former) = (Arc::new(State::decode(bytes)?), FormerMembers::decode(bytes)?);
        let candidates = bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?;
        let candidates = candidates.into_iter().collect();
        let context = Self { block, timestamp, slot, state, candidates, former, in_force: None };
        (context.state.progress.height() == block.height).then_some(context)
    }
}

impl State {
    /// Returns the schedule in force after the block.
    pub fn active(&self) -> &Schedule {
        &self.active
    }

    /// Returns the schedule that takes effect when the block that proposed it is irreversible.
    pub const fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref()
    }

    /// Returns the confirmations and irreversibility of the branch.
    pub const fn progress(&self) -> &Irreversibility {
        &self.progress
    }

    /// Returns the prepared height under the schedule in force: what a child that confirms something implies.
    pub fn prepared(&self) -> Prepared {
        Prepared { version: self.active.version(), height: self.progress.prepared() }
    }

    /// Iterates over the producers whose infractions were reported on this branch.
    pub fn reported_offenders(&self) -> impl Iterator<Item = Address> {
        self.reported.iter().map(|(_, offender)| *offender)
    }

    /// Whether this infraction was reported before on this branch.
    pub fn is_reported(&self, offence: &Infraction) -> bool {
        self.reported.contains(&(offence.slot, offence.offender))
    }

    /// Puts the pending schedule in force when the block that proposed it is irreversible, and returns its hash.
    fn promote(&mut self) -> Option<B256> {
        let is_due = |pending: &Pending| {
            self.progress.irreversible() >= pending.proposed_at || mutation::active(Mutation::DposScheduleEarly)
        };
        let Pending { schedule, proposed_at } = self.pending.clone().filter(is_due)?;
        let before = self.active.producers();
        let origin: Vec<_> = schedule.producers().addresses().map(|address| before.index_of(&address)).collect();
        self.progress = self.progress.reelect(origin, proposed_at);
        (self.active, self.pending) = (schedule, None);
        Some(self.active.hash())
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { active, pending, progress, reported } = self;
        active.encode(out);
        out.option(pending.as_ref(), |out, Pending { schedule, proposed_at }| {
            schedule.encode(out);
            out.u64(proposed_at.get());
        });
        progress.encode(out);
        out.list(reported.iter(), |out, (slot, offender)| {
            out.u64(*slot);
            out.address(offender);
        });
    }

    fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let active = Arc::new(Schedule::decode(bytes)?);
        let pending = if bytes.bool()? {
            let schedule = Arc::new(Schedule::decode(bytes)?);
            Some(Pending { schedule, proposed_at: Height::new(bytes.u64()?) })
        } else {
            None
        };
        let progress = Irreversibility::decode(bytes)?;
        let reported = bytes.list(|bytes| Some((bytes.u64()?, bytes.address()?)))?;
        let is_valid = progress.confirmers().len() == active.producers().len();
        is_valid.then(|| Self { active, pending, progress, reported: reported.into_iter().collect() })
    }
}
