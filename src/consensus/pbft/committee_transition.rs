//! The committee in force, and its changes at checkpoints.
//!
//! Changes of the staking contracts in executed blocks are collected and take effect with the next block whose height is a
//! multiple of K. The committee before that block agrees on it, and its payload names the committee after it, so that
//! headers and certificates suffice to verify which validators may certify a block. Validators convicted by evidence in a
//! payload are removed in the same way, with or without stake. Payloads are empty without changes and evidence.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Committee, DoubleSigning, EvidenceError, HeaderError, Payload, PbftConfig, PbftError};
use crate::{
    consensus::{
        Authenticator, Encoder, Validator, ValidatorSet,
        encoding::Decoder,
        former_members::{Departure, FormerMembers},
        in_force::InForce,
        mutation::{self, Mutation},
        slot_clock::SlotClock,
    },
    primitives::{Address, Bytes, Height, Timestamp},
    system::{ParameterUpdates, ValidatorUpdates},
};

/// The committee after a block, and the changes that are pending until the next checkpoint. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitteeTransition {
    committee: Committee,
    /// New weights by address; 0 removes the validator.
    pending: Option<Arc<BTreeMap<Address, u64>>>,
    /// Members convicted by evidence.
    convicted: BTreeSet<Address>,
    /// Height of the block that put the committee in force; 0 for that of genesis.
    since: Height,
    /// Members of the committee before, which that block removed.
    leavers: BTreeSet<Address>,
    /// Members that left and whose stake is still locked.
    former: FormerMembers,
    /// Parameters of the chain that changed since genesis, and the times of heights by them.
    in_force: Option<InForce>,
}

impl CommitteeTransition {
    /// Returns a committee at genesis, without pending changes.
    pub fn new(committee: Committee) -> Self {
        let (since, former) = (Height::GENESIS, FormerMembers::default());
        let (convicted, leavers) = (BTreeSet::new(), BTreeSet::new());
        Self { committee, pending: None, convicted, since, leavers, former, in_force: None }
    }

    /// Returns the configuration by which children are judged.
    pub(super) fn config_in_force(&self, config: &PbftConfig) -> PbftConfig {
        self.in_force.as_ref().map_or(*config, |in_force| config.with_parameters(&in_force.parameters))
    }

    /// Returns the transition after the block at `height` put `changes` of the chain's parameters in force.
    #[must_use]
    pub(super) fn with_parameters(mut self, config: &PbftConfig, height: Height, changes: &ParameterUpdates) -> Self {
        let genesis = SlotClock::at_genesis(config.period);
        self.in_force = InForce::after(self.in_force.as_ref(), genesis, height.get(), changes);
        self
    }

    /// Returns the time of a block, at the earliest: each takes at least a period, on demand it counts as a second.
    fn time_at(&self, config: &PbftConfig, height: Height) -> Timestamp {
        let clock = self.in_force.as_ref().map_or(SlotClock::at_genesis(config.period), |in_force| in_force.clock);
        clock.time_of(height.get())
    }

    /// Returns the committee of the next block.
    pub const fn committee(&self) -> &Committee {
        &self.committee
    }

    /// Whether evidence against `validator` counts at `height`: it is a member, or left and its stake is still locked.
    pub(super) fn is_accountable(&self, config: &PbftConfig, height: Height, validator: &Address) -> bool {
        let window = self.config_in_force(config).evidence;
        let is_locked = |departure: &Departure| !departure.is_withdrawable(&window, self.time_at(config, height));
        self.committee.contains(validator)
            || (self.former.get(validator).is_some_and(is_locked) && !mutation::active(Mutation::PbftForgetsLeavers))
    }

    /// Returns the offender if the next block, at height `newest`, may include this evidence.
    ///
    /// # Errors
    /// [`EvidenceError`] for evidence that is old or proves nothing, and for who is convicted or not accountable.
    pub(super) fn check_evidence(
        &self,
        config: &PbftConfig,
        newest: Height,
        proof: &DoubleSigning,
        authenticator: &Authenticator,
    ) -> Result<Address, EvidenceError> {
        let offender = proof.recent_offender(&self.config_in_force(config), newest, authenticator)?;
        if self.convicted.contains(&offender) {
            return Err(EvidenceError::Convicted { offender });
        }
        if self.is_accountable(config, newest, &offender) {
            Ok(offender)
        } else {
            Err(EvidenceError::Withdrawable { offender })
        }
    }

    /// Returns members that are convicted by evidence and not removed yet.
    pub const fn convicted(&self) -> &BTreeSet<Address> {
        &self.convicted
    }

    /// Returns the height of the block that put the committee in force; 0 for the committee of genesis.
    pub const fn since(&self) -> Height {
        self.since
    }

    /// Returns the members of the committee before, which the block at [`CommitteeTransition::since`] removed.
    pub const fn leavers(&self) -> &BTreeSet<Address> {
        &self.leavers
    }

    /// Returns the transition with a block's updates pending. Updates of convicted members are ignored.
    #[must_use]
    pub fn with(&self, updates: &ValidatorUpdates) -> Self {
        if updates.is_empty() {
            return self.clone();
        }
        let updates = updates.iter().filter(|update| !self.convicted.contains(&update.address));
        self.with_pending(updates.map(|update| (update.address, update.weight)))
    }

    fn with_pending(&self, weights: impl Iterator<Item = (Address, u64)>) -> Self {
        let mut pending = self.pending.as_deref().cloned().unwrap_or_default();
        pending.extend(weights);
        let pending = (!pending.is_empty()).then(|| Arc::new(pending));
        Self { pending, ..self.clone() }
    }

    /// Returns the committee that a checkpoint would put in force now; `None` when nothing changes.
    ///
    /// # Errors
    /// [`PbftError::NoValidators`], [`PbftError::TooFewValidators`]: the change stays pending until more validators join.
    pub fn successor(&self, config: &PbftConfig) -> Result<Option<Committee>, PbftError> {
        let Some(pending) = &self.pending else { return Ok(None) };
        let mut members: BTreeMap<_, _> =
            self.committee.validators().members().iter().map(|member| (member.address, member.weight)).collect();
        members.extend(pending.iter().map(|(address, weight)| (*address, *weight)));
        if mutation::active(Mutation::PbftKeepsRemovedMembers) {
            members.extend(self.committee.validators().members().iter().map(|member| (member.address, member.weight)));
        }
        let members = members.into_iter().filter(|(_, weight)| *weight > 0);
        let set = ValidatorSet::new(members.map(|(address, weight)| Validator { address, weight }));
        let set = set.map_err(|_| PbftError::NoValidators)?;
        if set == *self.committee.validators() { Ok(None) } else { Committee::new(config, set).map(Some) }
    }

    /// Returns the payload of the block at `height` with this evidence and these absent members, in ascending order.
    pub fn payload(
        &self,
        config: &PbftConfig,
        height: Height,
        evidence: Vec<DoubleSigning>,
        absent: Vec<Address>,
    ) -> Bytes {
        let successor = self.successor_at(config, height).map(|committee| committee.validators().clone());
        Payload { successor, evidence, absent }.encoded()
    }

    /// Returns the transition after the block at `height` with this payload, without the updates by that block's execution.
    ///
    /// # Errors
    /// [`HeaderError`] when the payload names another successor than the pending changes give, or has invalid evidence.
    pub fn after(
        &self,
        config: &PbftConfig,
        height: Height,
        payload: &Bytes,
        authenticator: &Authenticator,
    ) -> Result<Self, HeaderError> {
        let successor = self.successor_at(config, height);
        if payload.is_empty() && successor.is_none() {
            return Ok(self.clone());
        }
        let Payload { successor: named, evidence, absent } = Payload::decode(payload)?;
        self.check_absent(config, &absent)?;
        if named.as_ref() != successor.as_ref().map(Committee::validators) {
            let (got, want) =
                (named.map_or(0, |set| set.len()), successor.map_or(0, |committee| committee.validators().len()));
            return Err(HeaderError::Successor { got, want });
        }
        let offenders = self.offenders(config, height, &evidence, authenticator)?;
        Ok(self.followed_by(config, height, successor, offenders))
    }

    /// Like [`CommitteeTransition::after`] for a light verifier, which trusts the successor named in a certified header.
    ///
    /// # Errors
    /// [`HeaderError`] for a malformed payload, a change that is not at a checkpoint, or invalid evidence.
    pub fn after_proven(
        &self,
        config: &PbftConfig,
        height: Height,
        payload: &Bytes,
        authenticator: &Authenticator,
    ) -> Result<Self, HeaderError> {
        let Payload { successor, evidence, absent } = Payload::decode(payload)?;
        self.check_absent(config, &absent)?;
        if let Some(set) = successor.as_ref().filter(|_| !config.is_checkpoint_height(height)) {
            return Err(HeaderError::Successor { got: set.len(), want: 0 });
        }
        let successor = successor.map(|set| Committee::new(config, set)).transpose()?;
        let offenders = self.offenders(config, height, &evidence, authenticator)?;
        Ok(self.followed_by(config, height, successor, offenders))
    }

    /// Checks that a block on a chain that reports absences names members, in ascending order, no more than a quorum leaves.
    fn check_absent(&self, config: &PbftConfig, absent: &[Address]) -> Result<(), HeaderError> {
        let (committee, is_on) = (&self.committee, config.report_absences && config.period > 0);
        let max = if is_on { committee.validators().len().saturating_sub(committee.quorums().strong()) } else { 0 };
        let are_members = absent.iter().all(|member| committee.contains(member));
        if absent.len() <= max && are_members && absent.is_sorted_by(|one, other| one < other) {
            return Ok(());
        }
        Err(HeaderError::Absent { got: absent.len(), max })
    }

    /// Returns the members convicted by evidence in the block at `height`, each at most once.
    fn offenders(
        &self,
        config: &PbftConfig,
        height: Height,
        evidence: &[DoubleSigning],
        authenticator: &Authenticator,
    ) -> Result<BTreeSet<Address>, EvidenceError> {
        let mut found = BTreeSet::new();
        for proof in evidence {
            let offender = self.check_evidence(config, height, proof, authenticator)?;
            if !found.insert(offender) {
                return Err(EvidenceError::Convicted { offender });
            }
        }
        Ok(found)
    }

    /// Returns the transition after a change to `successor`, with `offenders` pending removal.
    fn followed_by(
        &self,
        config: &PbftConfig,
        height: Height,
        successor: Option<Committee>,
        offenders: BTreeSet<Address>,
    ) -> Self {
        let mut after = successor.map_or_else(|| self.clone(), |committee| self.changed_to(committee, height));
        after.former = self.former_at(config, height, after.committee(), &offenders);
        let remains = |offender: &&Address| after.committee.contains(offender);
        after.convicted = self.convicted.iter().chain(&offenders).filter(remains).copied().collect();
        let leaving: Vec<_> = after.convicted.iter().map(|offender| (*offender, 0)).collect();
        after.with_pending(leaving.into_iter())
    }

    /// Returns the transition after the block at `height` put `committee` in force.
    fn changed_to(&self, committee: Committee, height: Height) -> Self {
        let before = self.committee.validators().addresses();
        let leavers = before.filter(|address| !committee.contains(address)).collect();
        Self { since: height, leavers, in_force: self.in_force.clone(), ..Self::new(committee) }
    }

    /// Returns who left and is not convicted, after the block at `height` put `committee` in force.
    fn former_at(
        &self,
        config: &PbftConfig,
        height: Height,
        committee: &Committee,
        offenders: &BTreeSet<Address>,
    ) -> FormerMembers {
        let mut former = self.former.clone();
        let now = self.time_at(config, height);
        former.note(self.committee.validators(), committee.validators(), (height, now));
        self.convicted.iter().chain(offenders).for_each(|offender| former.remove(offender));
        former.retain(&self.config_in_force(config).evidence, now);
        former
    }

    fn successor_at(&self, config: &PbftConfig, height: Height) -> Option<Committee> {
        if self.pending.is_none() || !config.is_checkpoint_height(height) {
            return None;
        }
        self.successor(config).ok().flatten()
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // Quorums follow from the parameters and the validators; `encode_rest` writes what few chains have.
        let Self { committee, pending, convicted: _, since, leavers, former: _, in_force: _ } = self;
        out.u64(since.get());
        out.list(leavers.iter(), |out, leaver| out.address(leaver));
        out.list(committee.validators().members().iter(), |out, member| {
            out.address(&member.address);
            out.u64(member.weight);
        });
        let pending = pending.as_deref();
        out.len(pending.map_or(0, BTreeMap::len));
        for (address, weight) in pending.into_iter().flatten() {
            out.address(address);
            out.u64(*weight);
        }
    }

    /// Encodes the convicted, the former members and what is in force since genesis; no bytes when there is nothing of these.
    pub(super) fn encode_rest(&self, out: &mut Encoder) {
        let has_changes = self.in_force.is_some();
        if !self.convicted.is_empty() || !self.former.is_empty() || has_changes {
            out.list(self.convicted.iter(), |out, offender| out.address(offender));
        }
        if !self.former.is_empty() || has_changes {
            self.former.encode(out);
        }
        InForce::encode_at_end(self.in_force.as_ref(), out);
    }

    /// Returns the transition with what [`CommitteeTransition::encode_rest`] encodes.
    pub(super) fn with_rest(mut self, bytes: &mut Decoder<'_>) -> Option<Self> {
        if !bytes.is_empty() {
            self.convicted = bytes.list(Decoder::address)?.into_iter().collect();
        }
        if !bytes.is_empty() {
            self.former = FormerMembers::decode(bytes)?;
        }
        self.in_force = InForce::decode_at_end(bytes)?;
        Some(self)
    }

    /// Decodes [`CommitteeTransition::encode`]; the inner error is that of an invalid committee.
    pub(super) fn decode(config: &PbftConfig, bytes: &mut Decoder<'_>) -> Option<Result<Self, PbftError>> {
        let since = Height::new(bytes.u64()?);
        let leavers = bytes.list(Decoder::address)?.into_iter().collect();
        let members = bytes.list(|bytes| Some(Validator { address: bytes.address()?, weight: bytes.u64()? }))?;
        let pending: BTreeMap<_, _> = bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?.into_iter().collect();
        let pending = (!pending.is_empty()).then(|| Arc::new(pending));
        let set = ValidatorSet::new(members).ok()?;
        Some(Committee::new(config, set).map(|committee| Self { pending, since, leavers, ..Self::new(committee) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{ParameterUpdate, ValidatorUpdate, parameters::Parameter};

    fn address(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn transition(count: u8) -> CommitteeTransition {
        let set = ValidatorSet::equal((1..=count).map(address)).unwrap();
        CommitteeTransition::new(Committee::new(&config(), set).unwrap())
    }

    fn config() -> PbftConfig {
        PbftConfig::default().with_checkpoints(4, 8)
    }

    fn authority() -> Authenticator {
        Authenticator::symbolic(7)
    }

    fn updates(list: &[(u8, u64)]) -> ValidatorUpdates {
        ValidatorUpdates::new(
            list.iter().map(|(byte, weight)| ValidatorUpdate { address: address(*byte), weight: *weight }),
        )
    }

    #[test]
    fn changes_wait_for_a_checkpoint_and_its_payload_names_the_new_set() {
        let before = transition(4).with(&updates(&[(9, 5)])).with(&updates(&[(1, 0), (8, 7)]));
        let (config, height) = (config(), Height::new(8));
        assert_eq!(before.payload(&config, Height::new(7), Vec::new(), Vec::new()), Bytes::new());
        let after = before.after(&config, Height::new(7), &Bytes::new(), &authority()).unwrap();
        assert_eq!(after, before);
        let payload = before.payload(&config, height, Vec::new(), Vec::new());
        let after = before.after(&config, height, &payload, &authority()).unwrap();
        assert_eq!(after.committee().validators().addresses().collect::<Vec<_>>(), [2, 3, 4, 8, 9].map(address));
        assert_eq!(after.committee().quorums().strong(), 4);
        assert_eq!((before.since().get(), after.since()), (0, height));
        assert!(before.leavers().is_empty() && after.leavers().iter().eq([&address(1)]));
        assert_eq!(after.payload(&config, Height::new(12), Vec::new(), Vec::new()), Bytes::new());
        assert_eq!(transition(4).after_proven(&config, height, &payload, &authority()).unwrap(), after);
        for (height, payload) in [(8, Bytes::new()), (7, payload.clone()), (8, vec![0xc0].into())] {
            assert!(before.after(&config, Height::new(height), &payload, &authority()).is_err());
        }
        for (height, payload) in [(7, payload.clone()), (8, vec![0xc0].into()), (8, payload.slice(1..))] {
            assert!(transition(4).after_proven(&config, Height::new(height), &payload, &authority()).is_err());
        }
    }

    #[test]
    fn a_change_that_leaves_too_few_waits_for_others() {
        let config = config();
        let short = transition(4).with(&updates(&[(1, 0)]));
        let want = PbftError::TooFewValidators { validators: 3, faulty: 1, want: 4 };
        assert_eq!(short.successor(&config), Err(want));
        assert_eq!(short.after(&config, Height::new(4), &Bytes::new(), &authority()).unwrap(), short);
        let empty = transition(4).with(&updates(&[(1, 0), (2, 0), (3, 0), (4, 0)]));
        assert_eq!(empty.successor(&config), Err(PbftError::NoValidators));
        let replaced = short.with(&updates(&[(5, 3)])).successor(&config).unwrap().unwrap();
        assert_eq!(replaced.validators().addresses().collect::<Vec<_>>(), [2, 3, 4, 5].map(address));
    }

    #[test]
    fn encoding_round_trips() {
        let (config, height) = (config(), Height::new(4));
        let changing = transition(5).with(&updates(&[(1, 0)]));
        let payload = changing.payload(&config, height, Vec::new(), Vec::new());
        let changed = changing.after(&config, height, &payload, &authority()).unwrap();
        let transition = changed.with(&updates(&[(9, 5)]));
        let change = ParameterUpdate { parameter: Parameter::BlockTime, value: 7 };
        let transition = transition.with_parameters(&config, height, &ParameterUpdates::new([change]));
        assert_eq!(transition.config_in_force(&config).period, 7);
        let (mut out, mut rest) = (Encoder::new(), Encoder::new());
        transition.encode(&mut out);
        transition.encode_rest(&mut rest);
        let decoded = CommitteeTransition::decode(&config, &mut Decoder::new(out.as_bytes())).unwrap().unwrap();
        assert_eq!(decoded.with_rest(&mut Decoder::new(rest.as_bytes())), Some(transition));
    }
}
