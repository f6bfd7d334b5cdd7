//! What a branch says after each of its blocks, and what its next block has to say.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use super::{ConfirmError, DposConfig, EVIDENCE_SLOTS_MAX, Irreversibility, Offence, Schedule, elect};
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Height, Timestamp},
    system::ValidatorUpdates,
};

/// Weights of all who may be elected.
pub type Candidates = OrdMap<Address, u64>;

/// What a block's judgement needs of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The block.
    pub block: BlockId,
    /// Its time.
    pub timestamp: Timestamp,
    /// Its slot; genesis has slot 0.
    pub slot: u64,
    /// What it leaves for the next one.
    pub state: Arc<State>,
    /// Whom the next election counts: what executing the branch up to and with this block gave. Light verifiers leave it empty.
    pub candidates: Candidates,
}

/// Schedules and confirmations of one branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    active: Arc<Schedule>,
    pending: Option<Pending>,
    progress: Irreversibility,
    /// Double productions that were told, by slot; old ones are forgotten.
    told: OrdSet<(u64, Address)>,
}

/// A schedule that waits for the block that proposed it to become irreversible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The schedule.
    pub schedule: Arc<Schedule>,
    /// Height of the block that proposed it.
    pub proposed_at: Height,
}

/// A block that is to be added to a branch.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// Its slot.
    pub slot: u64,
    /// Place of its producer in the active schedule.
    pub place: usize,
    /// How many of the newest blocks it confirms, itself among them.
    pub confirmed: u16,
    /// Double productions that it tells.
    pub offences: &'a [Offence],
}

/// Who says whom an election elects.
#[derive(Clone, Copy, Debug)]
pub enum Election<'a> {
    /// The candidates' weights.
    Counted,
    /// The block itself, to a light verifier, which trusts that two thirds of the producers counted.
    Claimed(Option<&'a ValidatorSet>),
}

/// What follows from a block and stands in its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Says {
    /// Whose slots stayed empty before it.
    pub absent: Vec<Address>,
    /// Whom the election elected, when that is somebody new and no other schedule is pending.
    pub proposes: Option<ValidatorSet>,
    /// Hash of the schedule in force after it, when that is another.
    pub activates: Option<B256>,
}

impl Link {
    /// Genesis, whose heaviest validators are the first producers.
    pub fn genesis(config: &DposConfig, block: BlockId, timestamp: Timestamp, validators: &ValidatorSet) -> Self {
        let candidates: Candidates =
            validators.members().iter().map(|member| (member.address, member.weight)).collect();
        let producers = elect(&candidates, config.producers).unwrap_or_else(|| validators.clone());
        let progress = Irreversibility::new(block.height, producers.len());
        let active = Arc::new(Schedule::new(0, block.hash, producers));
        let state = Arc::new(State { active, pending: None, progress, told: OrdSet::new() });
        Self { block, timestamp, slot: 0, state, candidates }
    }

    /// The branch with one more block and what that block has to say. The candidates are those before its own updates.
    ///
    /// # Errors
    /// [`ConfirmError`] when its producer may not confirm what it does.
    pub fn extend(
        &self,
        config: &DposConfig,
        draft: &Draft<'_>,
        election: Election<'_>,
    ) -> Result<(State, Says), ConfirmError> {
        let active = &self.state.active;
        let progress = self.state.progress.extend(draft.place, draft.confirmed)?;
        let absent = active.absent(self.slot, draft.slot, config);
        let proposes = self.elected(config, draft.slot, election);
        let mut told = self.state.told.clone();
        while told.get_min().is_some_and(|(slot, _)| slot.saturating_add(EVIDENCE_SLOTS_MAX) < draft.slot) {
            told.remove_min();
        }
        told.extend(draft.offences.iter().map(|offence| (offence.slot, offence.offender)));
        let pending = match &proposes {
            Some(producers) => {
                let schedule = Arc::new(Schedule::new(active.version() + 1, self.block.hash, producers.clone()));
                Some(Pending { schedule, proposed_at: progress.height() })
            }
            None => self.state.pending.clone(),
        };
        let mut state = State { active: active.clone(), pending, progress, told };
        let activates = state.promote();
        Ok((state, Says { absent, proposes, activates }))
    }

    /// The same with what executing the block changed.
    #[must_use]
    pub fn with_updates(mut self, updates: &ValidatorUpdates) -> Self {
        for update in updates {
            if update.weight == 0 {
                self.candidates.remove(&update.address);
            } else {
                self.candidates.insert(update.address, update.weight);
            }
        }
        self
    }

    /// Whom the first block of a round proposes; one schedule at a time, and only when the producers are others.
    fn elected(&self, config: &DposConfig, slot: u64, election: Election<'_>) -> Option<ValidatorSet> {
        let active = &self.state.active;
        let is_new_round = active.round(slot, config) > active.round(self.slot, config);
        if !is_new_round || self.state.pending.is_some() {
            return None;
        }
        let elected = match election {
            Election::Counted => elect(&self.candidates, config.producers)?,
            Election::Claimed(claimed) => claimed.filter(|set| set.len() <= config.producers as usize)?.clone(),
        };
        let is_same = elected.addresses().eq(active.producers().addresses());
        (!is_same).then_some(elected)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { block, timestamp, slot, state, candidates } = self;
        block.encode(out);
        out.timestamp(*timestamp);
        out.u64(*slot);
        state.encode(out);
        out.list(candidates.iter(), |out, (address, weight)| {
            out.address(address);
            out.u64(*weight);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let block = BlockId::decode(bytes)?;
        let (timestamp, slot) = (Timestamp::from_secs(bytes.u64()?), bytes.u64()?);
        let state = Arc::new(State::decode(bytes)?);
        let candidates = bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?;
        let link = Self { block, timestamp, slot, state, candidates: candidates.into_iter().collect() };
        (link.state.progress.height() == block.height).then_some(link)
    }
}

impl State {
    /// Who produces after the block.
    pub fn active(&self) -> &Schedule {
        &self.active
    }

    /// Who will, once that is irreversible.
    pub const fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref()
    }

    /// Confirmations and what follows from them.
    pub const fn progress(&self) -> &Irreversibility {
        &self.progress
    }

    /// Whether a double production was told before.
    pub fn was_told(&self, offence: &Offence) -> bool {
        self.told.contains(&(offence.slot, offence.offender))
    }

    /// Puts the pending schedule in force when the block that proposed it is irreversible; answers its hash.
    fn promote(&mut self) -> Option<B256> {
        let is_due = |pending: &Pending| {
            self.progress.irreversible() >= pending.proposed_at || mutation::active(Mutation::DposScheduleEarly)
        };
        let schedule = self.pending.as_ref().filter(|pending| is_due(pending))?.schedule.clone();
        let before = self.active.producers();
        let origin: Vec<_> = schedule.producers().addresses().map(|address| before.index_of(&address)).collect();
        self.progress = self.progress.reelect(origin);
        (self.active, self.pending) = (schedule, None);
        Some(self.active.hash())
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { active, pending, progress, told } = self;
        active.encode(out);
        out.option(pending.as_ref(), |out, pending| {
            pending.schedule.encode(out);
            out.u64(pending.proposed_at.get());
        });
        progress.encode(out);
        out.list(told.iter(), |out, (slot, offender)| {
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
        let told = bytes.list(|bytes| Some((bytes.u64()?, bytes.address()?)))?;
        let is_sound = progress.confirmers().len() == active.producers().len();
        is_sound.then(|| Self { active, pending, progress, told: told.into_iter().collect() })
    }
}
