//! The state of a branch after a block: validators and their duties, votes counted, justified and final checkpoints.
//!
//! It follows from genesis, headers and payloads alone, except for changes of stake by execution. Validator sets change
//! in three steps, so that a light verifier never adopts a set that was not finalized:
//!
//! 1. The branch accumulates the validator updates of executed blocks.
//! 2. The first block of an epoch commits to the bonded stake after them (`elected` in its payload), unless a commitment is
//!    pending.
//! 3. When a checkpoint above that block is final, and so is the change before it, the stake is in force two epochs later, so that
//!    proposers are known an epoch ahead. Until a checkpoint of such an epoch is final, the validators before the change answer, too
//!    (`SetChange`).
//!
//! Penalties, which follow from the payloads, are deducted at once; offenders leave at once, too.

use core::cell::RefCell;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, OnceLock},
};

use imbl::OrdMap;

use super::{
    Casper, Checkpoint, Electorate, PosConfig, RevealChain, Turnout,
    casper::Tally,
    participation::Participation,
    payload::encode_members,
    set_change::{self, Rear},
    shuffling,
    slot_times::{PendingLength, SlotTimes},
};
use crate::{
    consensus::{
        BlockId, Encoder, EvidenceWindow, Validator, ValidatorSet,
        encoding::Decoder,
        former_members::FormerMembers,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Timestamp},
    system::{ParameterUpdates, ValidatorUpdates},
};

/// Weight of each validator of a set without stake, in gwei: 32 ether.
const WEIGHT_WITHOUT_STAKE: u64 = 32_000_000_000;

/// Epochs that a thread keeps: more than the branches and neighbouring epochs that are drawn at one time.
const DRAWN_MAX: usize = 8;

thread_local! {
    /// Epochs drawn last, newest first.
    static DRAWN: RefCell<VecDeque<Arc<Epoch>>> = const { RefCell::new(VecDeque::new()) };
}

/// The validators of an epoch and their duties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Number of the epoch.
    pub number: u64,
    /// Validators and their weights.
    pub electorate: Electorate,
    /// Seed of the duties.
    pub seed: B256,
    /// Number of its slots.
    slots: u64,
    duties: DrawnDuties,
}

/// The duties of an epoch, drawn when they are first asked for: nobody asks for those of an epoch that passes without blocks. They follow
/// from the rest of the epoch, so comparisons ignore them.
#[derive(Clone, Debug, Default)]
struct DrawnDuties(OnceLock<Duties>);

#[derive(Clone, Debug)]
struct Duties {
    /// Index in the set of each slot's proposer.
    proposers: Vec<usize>,
    /// Attestation slot of each validator from the start of the epoch, by its index in the set.
    attestation_slots: Vec<u64>,
}

impl PartialEq for DrawnDuties {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for DrawnDuties {}

impl Epoch {
    /// Returns an epoch, whose duties follow from its seed.
    pub fn new(config: &PosConfig, number: u64, electorate: Electorate, seed: B256) -> Self {
        Self { number, electorate, seed, slots: config.slots_per_epoch, duties: DrawnDuties::default() }
    }

    fn duties(&self) -> &Duties {
        let Self { number, electorate: Electorate { set, .. }, seed, slots, duties } = self;
        duties.0.get_or_init(|| {
            let start = number.saturating_mul(*slots);
            let proposers = start..start.saturating_add(*slots);
            let proposers = proposers.map(|slot| shuffling::proposer(set, *seed, slot).unwrap_or_default()).collect();
            Duties { proposers, attestation_slots: shuffling::attestation_slots(set.len(), *seed, *slots) }
        })
    }

    /// Returns the same from the epochs that this thread drew last, if it is among them: replicas of one process draw the same epochs one
    /// after the other, and one that restarts draws that of every stored block.
    pub(super) fn drawn(config: &PosConfig, number: u64, electorate: Electorate, seed: B256) -> Arc<Self> {
        DRAWN.with_borrow_mut(|known| {
            let is_it = |epoch: &Self| {
                (epoch.seed, epoch.number, epoch.slots) == (seed, number, config.slots_per_epoch)
                    && epoch.electorate == electorate
            };
            if let Some(epoch) = known.iter().find(|epoch| is_it(epoch)) {
                return epoch.clone();
            }
            let epoch = Arc::new(Self::new(config, number, electorate, seed));
            known.truncate(DRAWN_MAX - 1);
            known.push_front(epoch.clone());
            epoch
        })
    }

    /// Returns the validators with duties.
    pub const fn set(&self) -> &ValidatorSet {
        &self.electorate.set
    }

    /// Returns the proposer of `slot`, which must be in this epoch.
    pub fn proposer(&self, config: &PosConfig, slot: u64) -> Option<Address> {
        let place = *self.duties().proposers.get((slot % config.slots_per_epoch) as usize)?;
        self.set().members().get(place).map(|member| member.address)
    }

    /// Returns the first slot in which a validator may vote; `None` for another address.
    pub fn attestation_slot(&self, config: &PosConfig, validator: &Address) -> Option<u64> {
        let place = self.set().index_of(validator)?;
        Some(config.start_of(self.number) + self.attestation_slots()[place])
    }

    /// Returns the attestation slot of each validator from the start of the epoch, by its index in the set.
    pub(super) fn attestation_slots(&self) -> &[u64] {
        &self.duties().attestation_slots
    }
}

/// The state of a branch after a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Start of slot 0.
    pub genesis_time: Timestamp,
    /// Slot of the state: of the newest block, or advanced beyond it.
    pub slot: u64,
    /// Newest block.
    pub latest: BlockId,
    /// Timestamp of the newest block.
    pub time: Timestamp,
    /// Accumulated randomness (RANDAO mix).
    pub mix: B256,
    /// Reveals of each validator.
    pub(super) reveals: OrdMap<Address, RevealChain>,
    /// Previous epoch.
    pub previous: Arc<Epoch>,
    /// Current epoch.
    pub current: Arc<Epoch>,
    /// Validators of the next epoch and the seed of its duties.
    pub next: (Electorate, B256),
    /// Checkpoints of the previous and the current epoch.
    pub checkpoints: [Checkpoint; 2],
    /// Votes of the validators for these checkpoints, by index in the epoch's set.
    pub(super) voted: [Vec<Participation>; 2],
    /// Justified and final checkpoints.
    pub casper: Casper,
    /// Stake, penalties and offenders.
    pub(super) stake: Arc<Stake>,
    /// Parameters of the chain that changed since genesis.
    pub(super) parameters: ParameterUpdates,
    /// Beginnings of the slots, up to the end of the next epoch.
    pub(super) times: SlotTimes,
    /// A block time that is committed to, but not final.
    pub(super) pending_length: Option<PendingLength>,
    /// Cached state at the start of the next epoch.
    pub(super) next_epoch_cache: NextEpochCache,
}

/// The part of a branch's state that changes only at the end of an epoch, with evidence and with stake updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stake {
    /// Bonded stake in force before penalties, in gwei.
    pub(super) bonded: Vec<Validator>,
    /// The validators before the set in force, while its change is not final.
    pub(super) rear: Option<Rear>,
    /// Epoch of a pending commitment and its bonded stake in gwei, which is not in force yet.
    pub(super) elected: Option<(u64, Vec<Validator>)>,
    /// Weights changed by executed blocks since the last commitment, in gwei.
    pub(super) pending_updates: BTreeMap<Address, u64>,
    /// Penalties that are deducted from the committed stake already, and later ones; in gwei.
    pub(super) debts: [BTreeMap<Address, u64>; 2],
    /// Inactivity score of each validator; no entry for 0.
    pub(super) inactivity_scores: BTreeMap<Address, u64>,
    /// Epoch of the evidence and weight at that time, in gwei, of each offender.
    pub(super) slashed: BTreeMap<Address, (u64, u64)>,
    /// Validators that left and whose stake is still locked.
    pub(super) former: FormerMembers,
    /// Validators that did not vote in the newest epoch whose votes can no longer be included; ascending.
    pub(super) absent: Vec<Address>,
}

/// Rewards and penalties of the epochs that ended before a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EpochDeltas {
    /// Whether an epoch ended.
    pub(super) ended: bool,
    /// Reward of each validator that earned one, in gwei.
    pub(super) rewards: BTreeMap<Address, u64>,
    /// Penalty of each validator that has one, in gwei.
    pub(super) penalties: BTreeMap<Address, u64>,
}

/// The state at the start of the next epoch and its deltas, computed once for proposing, voting and verifying. It follows from
/// the state, so comparisons ignore it, and a clone, whose state may change, starts empty.
#[derive(Debug, Default)]
pub(super) struct NextEpochCache(OnceLock<Arc<(State, EpochDeltas)>>);

impl NextEpochCache {
    /// Returns the cached result of `compute`, which is called at most once.
    pub(super) fn get_or_init(&self, compute: impl FnOnce() -> (State, EpochDeltas)) -> (State, EpochDeltas) {
        self.0.get_or_init(|| Arc::new(compute())).as_ref().clone()
    }
}

impl Clone for NextEpochCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for NextEpochCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NextEpochCache {}

impl State {
    /// Returns the state after genesis, whose hash is the initial randomness.
    pub fn genesis(config: &PosConfig, block: BlockId, time: Timestamp, validators: &ValidatorSet) -> Self {
        let (electorate, mix) = (Electorate::settled(staked(validators)), block.hash);
        let set = &electorate.set;
        let seed = |epoch| epoch_seed(epoch, mix);
        let current = Epoch::drawn(config, 0, electorate.clone(), seed(0));
        let casper = Casper::genesis(block);
        let voted = [vec![Participation::default(); set.len()], vec![Participation::default(); set.len()]];
        let stake = Stake { bonded: set.members().to_vec(), ..Stake::default() };
        Self {
            genesis_time: time,
            slot: 0,
            latest: block,
            time,
            mix,
            reveals: OrdMap::new(),
            previous: current.clone(),
            current,
            next: (electorate, seed(1)),
            checkpoints: [casper.finalized; 2],
            voted,
            casper,
            stake: Arc::new(stake),
            parameters: ParameterUpdates::NONE,
            times: SlotTimes::from_genesis(time, config.period),
            pending_length: None,
            next_epoch_cache: NextEpochCache::default(),
        }
    }

    /// Returns the number of the current epoch.
    pub fn epoch(&self) -> u64 {
        self.current.number
    }

    /// Returns the next epoch, whose duties are fixed already.
    pub fn look_ahead(&self, config: &PosConfig) -> Epoch {
        Epoch::new(config, self.epoch() + 1, self.next.0.clone(), self.next.1)
    }

    /// Returns the index of epoch `number` among those whose votes are counted: 0 for the previous, 1 for the current one.
    pub(super) fn counted(&self, number: u64) -> Option<usize> {
        match self.epoch().checked_sub(number) {
            Some(0) => Some(1),
            Some(1) => Some(0),
            _ => None,
        }
    }

    /// Returns the previous (0) or the current (1) epoch.
    pub(super) const fn epoch_at(&self, place: usize) -> &Arc<Epoch> {
        if place == 0 { &self.previous } else { &self.current }
    }

    /// Returns the source that votes for the previous (0) or the current (1) epoch must have.
    pub(super) const fn source_at(&self, place: usize) -> Checkpoint {
        if place == 0 { self.casper.previous_justified } else { self.casper.justified }
    }

    /// Whether a vote of `validator` for epoch `number` is counted already.
    pub fn has_vote(&self, validator: &Address, number: u64) -> bool {
        let Some(place) = self.counted(number) else { return false };
        self.epoch_at(place).set().index_of(validator).is_some_and(|index| self.voted[place][index].has_voted())
    }

    /// Whether evidence against `validator` is on this branch.
    pub fn is_slashed(&self, validator: &Address) -> bool {
        self.stake.slashed.contains_key(validator)
    }

    /// Whether `signer` is a validator of the previous, current or next epoch, has bonded stake, or is slashed.
    pub(super) fn knows(&self, signer: &Address) -> bool {
        let sets = [self.previous.set(), self.current.set(), &self.next.0.set];
        let is_bonded = self.stake.bonded.binary_search_by_key(signer, |member| member.address).is_ok();
        is_bonded || self.is_slashed(signer) || sets.iter().any(|set| set.contains(signer))
    }

    /// Whether `validator` is a validator of the current or the next epoch.
    pub(super) fn is_validator_soon(&self, validator: &Address) -> bool {
        self.current.set().contains(validator) || self.next.0.set.contains(validator)
    }

    /// Whether `validator` has stake that can be slashed: it is a validator, or left and its stake is still locked
    /// (`is_slashable_validator`).
    pub fn is_slashable(&self, validator: &Address) -> bool {
        !self.is_slashed(validator) && self.is_accountable(validator)
    }

    /// Whether `validator` is a validator of the previous, current or next epoch, or of a set whose change is not settled, or left and its stake is
    /// still locked.
    pub(super) fn is_accountable(&self, validator: &Address) -> bool {
        let sets = [self.previous.set(), self.current.set(), &self.next.0.set];
        let rear = self.stake.rear.as_ref().map(Rear::members);
        sets.into_iter().chain(rear).any(|set| set.contains(validator))
            || (self.stake.former.get(validator).is_some() && !mutation::active(Mutation::PosForgetsLeavers))
    }

    /// Returns the weight of an offender for the correlation penalty, in gwei.
    pub(super) fn weight_of(&self, validator: &Address) -> u64 {
        let sets = [self.current.set(), &self.next.0.set, self.previous.set()];
        let rear = self.stake.rear.as_ref().map(Rear::members);
        let found = sets.into_iter().chain(rear).find_map(|set| Some(set.members()[set.index_of(validator)?].weight));
        found.or_else(|| self.stake.former.get(validator).map(|departure| departure.weight)).unwrap_or_default()
    }

    /// Returns the age up to which evidence counts.
    pub(super) fn evidence(&self, config: &PosConfig) -> EvidenceWindow {
        config.evidence.with(&self.parameters)
    }

    /// Returns the time of the state: the start of its slot, on demand the timestamp of the newest block.
    pub(super) fn now(&self, config: &PosConfig) -> Timestamp {
        if config.period == 0 { self.time } else { self.times.time_of(self.slot) }
    }

    /// Returns the turnout of the previous (0) or the current (1) epoch. Votes that an offender cast before the evidence stay
    /// counted: a checkpoint that a block justifies is justified for all its descendants. (The specifications remove them, so that
    /// evidence can undo a justification that other replicas used already; with few validators no branch would be viable.)
    pub(super) fn turnout(&self, place: usize) -> Turnout {
        let (epoch, votes) = (self.epoch_at(place), &self.voted[place]);
        let tally = |set: &ValidatorSet| {
            // Both in ascending order, and the first include the second.
            let mut all = epoch.set().members().iter().zip(votes);
            let mut vote_of = |address| all.find(|(member, _)| member.address == address).map(|(_, vote)| vote);
            let voters =
                set.members().iter().filter(|member| vote_of(member.address).is_some_and(|vote| vote.has_voted()));
            Tally { weight: voters.map(|member| u128::from(member.weight)).sum(), total: set.total_weight() }
        };
        let mut tallies = epoch.electorate.quorum_sets().map(tally);
        let (tally, rear) = (tallies.next().unwrap_or_default(), tallies.next());
        Turnout { checkpoint: self.checkpoints[place], tally, rear }
    }

    /// Returns the checkpoints that would be justified and final if the epoch ended now (`compute_pulled_up_tip`).
    pub fn unrealized(&self) -> Casper {
        self.casper.after_epoch(&self.turnout(0), &self.turnout(1))
    }

    /// Returns the state with the validator updates of its block's execution.
    #[must_use]
    pub fn with_updates(&self, updates: &ValidatorUpdates) -> Self {
        let mut state = self.clone();
        if !updates.is_empty() {
            let pending_updates = &mut Arc::make_mut(&mut state.stake).pending_updates;
            pending_updates.extend(updates.iter().map(|update| (update.address, update.weight)));
        }
        state
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // The cache follows from the state.
        let Self {
            genesis_time,
            slot,
            latest,
            time,
            mix,
            reveals,
            previous,
            current,
            next: (next_electorate, next_seed),
            checkpoints,
            voted,
            casper,
            stake,
            parameters,
            times: _,
            pending_length: _,
            next_epoch_cache: _,
        } = self;
        out.timestamp(*genesis_time);
        out.u64(*slot);
        latest.encode(out);
        out.timestamp(*time);
        out.hash(mix);
        out.list(reveals.iter(), |out, (validator, chain)| {
            out.address(validator);
            chain.encode(out);
        });
        for epoch in [previous, current] {
            // Proposers and attestation slots follow from the seed.
            let Epoch { number, electorate, seed, slots: _, duties: _ } = epoch.as_ref();
            out.u64(*number);
            electorate.encode(out);
            out.hash(seed);
        }
        next_electorate.encode(out);
        out.hash(next_seed);
        checkpoints.iter().for_each(|checkpoint| checkpoint.encode(out));
        voted.iter().for_each(|of_epoch| out.list(of_epoch.iter(), |out, vote| vote.encode(out)));
        casper.encode(out);
        stake.encode(out);
        out.bytes(&parameters.to_bytes());
        self.encode_times(out);
    }

    pub(super) fn decode(config: &PosConfig, bytes: &mut Decoder<'_>) -> Option<Self> {
        let (genesis_time, slot) = (Timestamp::from_secs(bytes.u64()?), bytes.u64()?);
        let (latest, time) = (BlockId::decode(bytes)?, Timestamp::from_secs(bytes.u64()?));
        let mix = bytes.hash()?;
        let reveals = bytes.list(|bytes| Some((bytes.address()?, RevealChain::decode(bytes)?)))?.into_iter().collect();
        let mut epoch = || {
            let (number, electorate) = (bytes.u64()?, Electorate::decode(bytes)?);
            Some(Epoch::drawn(config, number, electorate, bytes.hash()?))
        };
        let (previous, current) = (epoch()?, epoch()?);
        let next = (Electorate::decode(bytes)?, bytes.hash()?);
        let checkpoints = [Checkpoint::decode(bytes)?, Checkpoint::decode(bytes)?];
        let voted = [bytes.list(Participation::decode)?, bytes.list(Participation::decode)?];
        let fits = voted[0].len() == previous.set().len() && voted[1].len() == current.set().len();
        let (casper, stake) = (Casper::decode(bytes)?, Arc::new(Stake::decode(bytes)?));
        let parameters = ParameterUpdates::from_bytes(bytes.bytes()?)?;
        let state = Self {
            genesis_time,
            slot,
            latest,
            time,
            mix,
            reveals,
            previous,
            current,
            next,
            checkpoints,
            voted,
            casper,
            stake,
            parameters,
            times: SlotTimes::from_genesis(genesis_time, config.period),
            pending_length: None,
            next_epoch_cache: NextEpochCache::default(),
        };
        state.decode_times(config, bytes).filter(|_| fits)
    }
}

impl Stake {
    fn encode(&self, out: &mut Encoder) {
        let Self {
            bonded,
            rear,
            elected,
            pending_updates,
            debts: [deducted, owed],
            inactivity_scores,
            slashed,
            former,
            absent,
        } = self;
        encode_members(bonded, out);
        out.option(rear.as_ref(), |out, rear| rear.encode(out));
        out.option(elected.as_ref(), |out, (epoch, members)| {
            out.u64(*epoch);
            encode_members(members, out);
        });
        for amounts in [pending_updates, deducted, owed, inactivity_scores] {
            out.list(amounts.iter(), |out, (validator, amount)| {
                out.address(validator);
                out.u64(*amount);
            });
        }
        out.list(slashed.iter(), |out, (validator, (epoch, weight))| {
            out.address(validator);
            out.u64(*epoch);
            out.u64(*weight);
        });
        former.encode(out);
        out.list(absent.iter(), |out, validator| out.address(validator));
    }

    fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let (bonded, rear) = (super::payload::decode_members(bytes)?, bytes.option(Rear::decode)?);
        let elected = if bytes.bool()? { Some((bytes.u64()?, super::payload::decode_members(bytes)?)) } else { None };
        let mut amounts = || Some(bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?.into_iter().collect());
        let (pending_updates, debts, inactivity_scores) = (amounts()?, [amounts()?, amounts()?], amounts()?);
        let slashed = bytes.list(|bytes| Some((bytes.address()?, (bytes.u64()?, bytes.u64()?))))?;
        let former = FormerMembers::decode(bytes)?;
        let absent = bytes.list(Decoder::address)?;
        Some(Self {
            bonded,
            rear,
            elected,
            pending_updates,
            debts,
            inactivity_scores,
            slashed: slashed.into_iter().collect(),
            former,
            absent,
        })
    }

    /// Returns the bonded stake with the pending updates; `None` when it is unchanged or empty.
    pub(super) fn election(&self) -> Option<Vec<Validator>> {
        let mut weights: BTreeMap<Address, u64> =
            self.bonded.iter().map(|member| (member.address, member.weight)).collect();
        weights.extend(&self.pending_updates);
        let members: Vec<_> = weights
            .into_iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(address, weight)| Validator { address, weight })
            .collect();
        (!members.is_empty() && members != self.bonded).then_some(members)
    }

    /// Returns the validators in force, and those before them while the change is not final.
    pub(super) fn effective(&self) -> Option<Electorate> {
        let rear = self.rear.as_ref().and_then(|rear| rear.in_force(|validator| self.slashed.contains_key(validator)));
        Some(set_change::electorate(rear, self.effective_set()?))
    }

    /// Returns the bonded stake without offenders and less the penalties.
    pub(super) fn effective_set(&self) -> Option<ValidatorSet> {
        let owed = |validator: &Address| -> u64 {
            self.debts.iter().filter_map(|debts| debts.get(validator)).fold(0, |sum, debt| sum.saturating_add(*debt))
        };
        let members = self.bonded.iter().filter(|member| !self.slashed.contains_key(&member.address));
        let left =
            members.map(|member| Validator { weight: member.weight.saturating_sub(owed(&member.address)), ..*member });
        ValidatorSet::new(left.filter(|member| member.weight > 0)).ok()
    }
}

/// Returns the seed of an epoch, from the randomness at the end of the second epoch before it.
pub(super) fn epoch_seed(epoch: u64, mix: B256) -> B256 {
    shuffling::seed("chainbox pos epoch", epoch, mix)
}

/// Returns the set; without stake (every weight is 1), with a weight of 32 ether for each validator.
pub(super) fn staked(validators: &ValidatorSet) -> ValidatorSet {
    if validators.members().iter().any(|member| member.weight != 1) {
        return validators.clone();
    }
    let with_stake = validators.members().iter().map(|member| Validator { weight: WEIGHT_WITHOUT_STAKE, ..*member });
    ValidatorSet::from_sorted(with_stake.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_drawn_before_is_what_would_be_drawn_anew() {
        let set = |count| Electorate::settled(ValidatorSet::equal((1..=count).map(Address::repeat_byte)).unwrap());
        let config = |slots| PosConfig::default().with_slots_per_epoch(slots);
        for _ in 0..2 {
            for (slots, number, count, seed) in
                [(4, 1, 4, 7), (8, 1, 4, 7), (8, 2, 4, 7), (8, 2, 5, 7), (8, 2, 5, 8), (4, 1, 4, 7)]
            {
                let (config, set, seed) = (config(slots), set(count), B256::repeat_byte(seed));
                let drawn = Epoch::drawn(&config, number, set.clone(), seed);
                assert_eq!(*drawn, Epoch::new(&config, number, set, seed));
            }
        }
        let again = || Epoch::drawn(&config(4), 1, set(4), B256::repeat_byte(7));
        assert!(Arc::ptr_eq(&again(), &again()));
        assert!(DRAWN.with_borrow(VecDeque::len) <= DRAWN_MAX);
    }
}
