//! What a branch knows after a block: validators and their duties, votes counted, justified and final checkpoints.
//!
//! It follows from genesis, headers and payloads alone, but for changes of stake, which execution tells. Sets of validators
//! change in three steps, so that nobody who has only headers is ever led astray by a set that nobody confirmed:
//!
//! 1. The updates of executed blocks are gathered along the branch.
//! 2. The first block of an epoch commits to the bonded stake with them (`elected` in its payload); one at a time.
//! 3. When a checkpoint above that block is final, the stake is in force from the next epoch but one on, so that
//!    proposers are known an epoch ahead.
//!
//! What penalties take away meanwhile is deducted at once, for they follow from the payloads; offenders leave at once.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{
    Casper, Checkpoint, PosConfig, Turnout,
    payload::{decode_set, encode_members},
    shuffling,
};
use crate::{
    consensus::{BlockId, Encoder, Validator, ValidatorSet, encoding::Decoder},
    primitives::{Address, B256, Timestamp},
    system::ValidatorUpdates,
};

/// Weight of each validator of a set that has no stake: 32 ether in gwei.
const WEIGHT_WITHOUT_STAKE: u64 = 32_000_000_000;

/// The validators of an epoch and what each does in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Its number.
    pub number: u64,
    /// Who votes, and how much that weighs.
    pub set: ValidatorSet,
    /// What its duties are drawn from.
    pub seed: B256,
    /// The place in the set of each slot's proposer.
    proposers: Vec<usize>,
    /// From which slot of the epoch on each validator votes.
    attestation_slots: Vec<u64>,
}

impl Epoch {
    /// Draws the duties of an epoch.
    pub fn new(config: &PosConfig, number: u64, set: ValidatorSet, seed: B256) -> Self {
        let start = config.start_of(number);
        let slots = start..start.saturating_add(config.slots_per_epoch);
        let proposers = slots.map(|slot| shuffling::proposer(&set, seed, slot).unwrap_or_default()).collect();
        let attestation_slots = shuffling::attestation_slots(set.len(), seed, config.slots_per_epoch);
        Self { number, set, seed, proposers, attestation_slots }
    }

    /// Who proposes in `slot`, which is of this epoch.
    pub fn proposer(&self, config: &PosConfig, slot: u64) -> Option<Address> {
        let place = *self.proposers.get((slot % config.slots_per_epoch) as usize)?;
        self.set.members().get(place).map(|member| member.address)
    }

    /// The slot from which on a validator votes.
    pub fn attestation_slot(&self, config: &PosConfig, validator: &Address) -> Option<u64> {
        let place = self.set.index_of(validator)?;
        Some(config.start_of(self.number) + self.attestation_slots[place])
    }
}

/// A branch after one of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// When slot 0 began.
    pub genesis_time: Timestamp,
    /// The slot that it is after.
    pub slot: u64,
    /// The newest block.
    pub latest: BlockId,
    /// Randomness so far.
    pub mix: B256,
    /// The epoch before this one.
    pub previous: Arc<Epoch>,
    /// This epoch.
    pub current: Arc<Epoch>,
    /// The validators of the next epoch and the seed of its duties.
    pub next: (ValidatorSet, B256),
    /// Checkpoints of the previous and this epoch.
    pub checkpoints: [Checkpoint; 2],
    /// Who voted for them, by place in the epochs' sets.
    pub(super) voted: [Vec<bool>; 2],
    /// Justified and final checkpoints.
    pub casper: Casper,
    /// Stake and what becomes of it.
    pub(super) stake: Arc<Stake>,
    /// The state at the end of its epoch.
    pub(super) ahead: Ahead,
}

/// The slow part of a branch's state: it changes at epochs' ends, with evidence and with updates of stake only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stake {
    /// In force, before penalties.
    pub(super) bonded: Vec<Validator>,
    /// Committed to and not in force yet, with the epoch of the commitment.
    pub(super) elected: Option<(u64, Vec<Validator>)>,
    /// What executed blocks changed since the last commitment.
    pub(super) gathered: BTreeMap<Address, u64>,
    /// Penalties that the committed stake has deducted already, and those after it.
    pub(super) debts: [BTreeMap<Address, u64>; 2],
    /// How long each validator was absent; none for 0.
    pub(super) scores: BTreeMap<Address, u64>,
    /// Offenders with the epoch of the evidence and their weight then.
    pub(super) slashed: BTreeMap<Address, (u64, u64)>,
    /// Who did not vote in the newest epoch of which all votes are in; ascending.
    pub(super) absent: Vec<Address>,
}

/// What the ends of epochs brought, for the block after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dues {
    /// Whether an epoch ended.
    pub(super) ended: bool,
    pub(super) penalties: BTreeMap<Address, u64>,
}

/// What a state becomes when its epoch ends, once that was asked for: proposing, voting and judging in the first slot of an
/// epoch all ask. It follows from the state, so it takes no part in comparisons; and a clone, which is about to change, begins
/// without it.
#[derive(Debug, Default)]
pub(super) struct Ahead(OnceLock<Arc<(State, Dues)>>);

impl Ahead {
    /// Returns the state and the dues that `compute` gives, which is called once at most.
    pub(super) fn get_or_init(&self, compute: impl FnOnce() -> (State, Dues)) -> (State, Dues) {
        self.0.get_or_init(|| Arc::new(compute())).as_ref().clone()
    }
}

impl Clone for Ahead {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Ahead {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Ahead {}

impl State {
    /// After genesis, whose hash is the first randomness.
    pub fn genesis(config: &PosConfig, block: BlockId, time: Timestamp, validators: &ValidatorSet) -> Self {
        let (set, mix) = (staked(validators), block.hash);
        let seed = |epoch| epoch_seed(epoch, mix);
        let current = Arc::new(Epoch::new(config, 0, set.clone(), seed(0)));
        let casper = Casper::genesis(block);
        let voted = [vec![false; set.len()], vec![false; set.len()]];
        let stake = Stake { bonded: set.members().to_vec(), ..Stake::default() };
        Self {
            genesis_time: time,
            slot: 0,
            latest: block,
            mix,
            previous: current.clone(),
            current,
            next: (set, seed(1)),
            checkpoints: [casper.finalized; 2],
            voted,
            casper,
            stake: Arc::new(stake),
            ahead: Ahead::default(),
        }
    }

    /// The epoch that it is in.
    pub fn epoch(&self) -> u64 {
        self.current.number
    }

    /// The duties of the next epoch, which are fixed already.
    pub fn look_ahead(&self, config: &PosConfig) -> Epoch {
        Epoch::new(config, self.epoch() + 1, self.next.0.clone(), self.next.1)
    }

    /// Which of the counted epochs `number` is: 0 for the previous, 1 for this one.
    pub(super) fn counted(&self, number: u64) -> Option<usize> {
        match self.epoch().checked_sub(number) {
            Some(0) => Some(1),
            Some(1) => Some(0),
            _ => None,
        }
    }

    /// The counted epoch of this place.
    pub(super) const fn epoch_at(&self, place: usize) -> &Arc<Epoch> {
        if place == 0 { &self.previous } else { &self.current }
    }

    /// Where votes for this epoch have to start from.
    pub(super) const fn source_at(&self, place: usize) -> Checkpoint {
        if place == 0 { self.casper.previous_justified } else { self.casper.justified }
    }

    /// Whether a vote of `validator` for epoch `number` is counted already.
    pub fn has_vote(&self, validator: &Address, number: u64) -> bool {
        let Some(place) = self.counted(number) else { return false };
        self.epoch_at(place).set.index_of(validator).is_some_and(|index| self.voted[place][index])
    }

    /// Whether evidence against `validator` is on this branch.
    pub fn is_slashed(&self, validator: &Address) -> bool {
        self.stake.slashed.contains_key(validator)
    }

    /// Whether `signer` votes in one of the epochs about this one, or has stake or had it when it offended.
    pub(super) fn knows(&self, signer: &Address) -> bool {
        let sets = [&self.previous.set, &self.current.set, &self.next.0];
        let is_bonded = self.stake.bonded.binary_search_by_key(signer, |member| member.address).is_ok();
        is_bonded || self.is_slashed(signer) || sets.iter().any(|set| set.contains(signer))
    }

    /// Whether `validator` votes in this epoch or the next.
    pub(super) fn is_validator_soon(&self, validator: &Address) -> bool {
        self.current.set.contains(validator) || self.next.0.contains(validator)
    }

    /// Whether `validator` has stake that an offence could cost.
    pub fn is_slashable(&self, validator: &Address) -> bool {
        let sets = [&self.previous.set, &self.current.set, &self.next.0];
        !self.is_slashed(validator) && sets.iter().any(|set| set.contains(validator))
    }

    /// The weight with which an offender goes into the accounts.
    pub(super) fn weight_of(&self, validator: &Address) -> u64 {
        let sets = [&self.current.set, &self.next.0, &self.previous.set];
        let found = sets.iter().find_map(|set| Some(set.members()[set.index_of(validator)?].weight));
        found.unwrap_or_default()
    }

    /// How the votes for a counted epoch stand. Those that an offender cast before it was found out stay: what a block
    /// justifies is justified for everything that is built upon it. (The specifications take them out, so that evidence can undo a
    /// justification that others have seen already; with few validators that leaves no branch to follow.)
    pub(super) fn turnout(&self, place: usize) -> Turnout {
        let epoch = self.epoch_at(place);
        let voters = epoch.set.members().iter().zip(&self.voted[place]).filter(|(_, voted)| **voted);
        Turnout {
            checkpoint: self.checkpoints[place],
            weight: voters.map(|(member, _)| u128::from(member.weight)).sum(),
            total: epoch.set.total_weight(),
        }
    }

    /// What would be justified and final if this epoch ended now (`compute_pulled_up_tip`).
    pub fn unrealized(&self) -> Casper {
        self.casper.after_epoch(&self.turnout(0), &self.turnout(1))
    }

    /// The same after execution told what changed in the bonded stake.
    #[must_use]
    pub fn with_updates(&self, updates: &ValidatorUpdates) -> Self {
        let mut state = self.clone();
        if !updates.is_empty() {
            let gathered = &mut Arc::make_mut(&mut state.stake).gathered;
            gathered.extend(updates.iter().map(|update| (update.address, update.weight)));
        }
        state
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // The state ahead follows from this one.
        let Self {
            genesis_time,
            slot,
            latest,
            mix,
            previous,
            current,
            next: (next_set, next_seed),
            checkpoints,
            voted,
            casper,
            stake,
            ahead: _,
        } = self;
        out.timestamp(*genesis_time);
        out.u64(*slot);
        latest.encode(out);
        out.hash(mix);
        for epoch in [previous, current] {
            // Proposers and slots are drawn from the seed.
            let Epoch { number, set, seed, proposers: _, attestation_slots: _ } = epoch.as_ref();
            out.u64(*number);
            encode_members(set.members(), out);
            out.hash(seed);
        }
        encode_members(next_set.members(), out);
        out.hash(next_seed);
        checkpoints.iter().for_each(|checkpoint| checkpoint.encode(out));
        voted.iter().for_each(|of_epoch| out.list(of_epoch.iter(), |out, voted| out.bool(*voted)));
        casper.encode(out);
        stake.encode(out);
    }

    pub(super) fn decode(config: &PosConfig, bytes: &mut Decoder<'_>) -> Option<Self> {
        let (genesis_time, slot) = (Timestamp::from_secs(bytes.u64()?), bytes.u64()?);
        let (latest, mix) = (BlockId::decode(bytes)?, bytes.hash()?);
        let mut epoch = || {
            let (number, set) = (bytes.u64()?, decode_set(bytes)?);
            Some(Arc::new(Epoch::new(config, number, set, bytes.hash()?)))
        };
        let (previous, current) = (epoch()?, epoch()?);
        let next = (decode_set(bytes)?, bytes.hash()?);
        let checkpoints = [Checkpoint::decode(bytes)?, Checkpoint::decode(bytes)?];
        let voted = [bytes.list(Decoder::bool)?, bytes.list(Decoder::bool)?];
        let fits = voted[0].len() == previous.set.len() && voted[1].len() == current.set.len();
        let (casper, stake) = (Casper::decode(bytes)?, Arc::new(Stake::decode(bytes)?));
        let state = Self {
            genesis_time,
            slot,
            latest,
            mix,
            previous,
            current,
            next,
            checkpoints,
            voted,
            casper,
            stake,
            ahead: Ahead::default(),
        };
        fits.then_some(state)
    }
}

impl Stake {
    fn encode(&self, out: &mut Encoder) {
        let Self { bonded, elected, gathered, debts: [deducted, owed], scores, slashed, absent } = self;
        encode_members(bonded, out);
        out.option(elected.as_ref(), |out, (epoch, members)| {
            out.u64(*epoch);
            encode_members(members, out);
        });
        for amounts in [gathered, deducted, owed, scores] {
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
        out.list(absent.iter(), |out, validator| out.address(validator));
    }

    fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let bonded = super::payload::decode_members(bytes)?;
        let elected = if bytes.bool()? { Some((bytes.u64()?, super::payload::decode_members(bytes)?)) } else { None };
        let mut amounts = || Some(bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?.into_iter().collect());
        let (gathered, debts, scores) = (amounts()?, [amounts()?, amounts()?], amounts()?);
        let slashed = bytes.list(|bytes| Some((bytes.address()?, (bytes.u64()?, bytes.u64()?))))?;
        let absent = bytes.list(Decoder::address)?;
        Some(Self { bonded, elected, gathered, debts, scores, slashed: slashed.into_iter().collect(), absent })
    }

    /// The bonded stake with everything that was gathered; `None` when that changes nothing or leaves nobody.
    pub(super) fn election(&self) -> Option<Vec<Validator>> {
        let mut weights: BTreeMap<Address, u64> =
            self.bonded.iter().map(|member| (member.address, member.weight)).collect();
        weights.extend(&self.gathered);
        let members: Vec<_> = weights
            .into_iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(address, weight)| Validator { address, weight })
            .collect();
        (!members.is_empty() && members != self.bonded).then_some(members)
    }

    /// Who votes with what: the bonded stake without offenders and without what penalties took.
    pub(super) fn effective(&self) -> Option<ValidatorSet> {
        let owed = |validator: &Address| -> u64 {
            self.debts.iter().filter_map(|debts| debts.get(validator)).fold(0, |sum, debt| sum.saturating_add(*debt))
        };
        let members = self.bonded.iter().filter(|member| !self.slashed.contains_key(&member.address));
        let left =
            members.map(|member| Validator { weight: member.weight.saturating_sub(owed(&member.address)), ..*member });
        ValidatorSet::new(left.filter(|member| member.weight > 0)).ok()
    }
}

/// The seed of an epoch, from the randomness at the end of the epoch before the one before it.
pub(super) fn epoch_seed(epoch: u64, mix: B256) -> B256 {
    shuffling::seed("chainbox pos epoch", epoch, mix)
}

/// The set itself; where no stake exists (every weight is 1) each validator counts as 32 ether.
pub(super) fn staked(validators: &ValidatorSet) -> ValidatorSet {
    if validators.members().iter().any(|member| member.weight != 1) {
        return validators.clone();
    }
    let with_stake = validators.members().iter().map(|member| Validator { weight: WEIGHT_WITHOUT_STAKE, ..*member });
    ValidatorSet::from_sorted(with_stake.collect())
}
