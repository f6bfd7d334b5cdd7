//! PBFT: agreement, checkpoints and view changes of Castro and Liskov, "Practical Byzantine Fault Tolerance and Proactive
//! Recovery" (TOCS 2002), without its proactive recovery, for a committee that changes. `docs/protocols/pbft.md` says what is
//! built, with the argument for what is not the paper's, and what is absent.
//!
//! `n = 3f + 1` validators agree on one block per height in three phases (pre-prepare, prepare, commit) and tolerate `f`
//! Byzantine ones. A committed block is final: the head is safe and finalized, and its proof is a [`Certificate`] of
//! `2f + 1` signatures kept beside the block.
//!
//! The paper's terms, and where this implementation differs:
//!
//! - A *sequence number* is a height, a *request* is a block. The primary builds it, backups execute it before they
//!   prepare it. Nonces make a client's transaction execute exactly once.
//! - A block extends its parent, so a replica pre-prepares a height only after it committed the one below. Heights
//!   above wait in the log, between the watermarks `h < n <= h + L`. A view change therefore never leaves a gap below a
//!   chosen block, and a *null request* is a height for which the new primary may propose any block.
//! - A *checkpoint* is a block's hash, which covers its state. Every K blocks replicas send checkpoint messages; `2f + 1` of
//!   them make the checkpoint stable.
//! - *State transfer* is block sync: blocks arrive with their certificates and are executed in order.
//! - All messages are signed, view-changes included, so a new-view contains them whole and needs no acknowledgements.
//! - The *validators* change at checkpoints only, by the staking contracts' changes in executed blocks (see
//!   [`CommitteeTransition`]). A block that changes the committee is a stable checkpoint at once, since its certificate proves
//!   it. Each committee counts views from 0, which needs no new-view, and its messages about views name the height since which
//!   it is in force.
//! - The paper's clients make the replicas suspect a primary that omits a request; here each replica watches the transactions
//!   of its pool, and `f + 1` suspicions end the view (see [`Suspicion`]).
//! - Equivocation is proven by two conflicting signatures (see [`DoubleSigning`]), included as evidence in a block; the
//!   offender is removed at the next checkpoint and, on a chain with stake, slashed.

mod attendance;
mod certificate;
mod checkpoint;
mod committee;
mod committee_transition;
mod config;
mod double_signing;
mod downtime_window;
mod evidence;
mod family;
mod header_error;
mod light;
mod log;
mod message;
mod new_view;
mod normal;
mod payload;
mod progress;
mod proposing;
mod record;
mod rules;
mod suspicion;
mod sync;
mod view_change;
mod vote;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use self::{
    attendance::Attendance,
    log::Log,
    record::{Head, Journal},
    sync::Fetched,
};
use super::{
    Admin, Authenticator, BlockId, ConsensusMessage, Deadline, Effect, Encoder, Event, Finality, FinalityKind,
    Protocol, Purpose, Recipients, Records, Rejection, ReplicaId, Signer, Ticket, TimerId, ValidatorSet,
    impl_by_encoding,
    mutation::{self, Mutation},
};
use crate::primitives::{Address, Height, Timestamp};

pub use certificate::{Certificate, CertificateError, Seal};
pub use committee::Committee;
pub use committee_transition::CommitteeTransition;
pub use config::{PbftConfig, PbftError, Quorums};
pub use double_signing::{DoubleSigning, EvidenceError};
#[cfg(any(test, feature = "internals"))]
pub use double_signing::{EVIDENCE_BLOCKS_MAX, EVIDENCE_PER_BLOCK_MAX};
pub use downtime_window::DowntimeWindow;
pub use header_error::HeaderError;
pub use light::LightVerifier;
pub use message::{Body, MessageError, NewView, PbftMessage, Suspicion, ViewChange};
pub use payload::Payload;
#[cfg(feature = "internals")]
pub use record::HEAD_KEY;
pub use vote::{InView, Phase, View};

/// Fires when the primary may build its next block.
pub const BUILD_TIMER: TimerId = TimerId::new(1);
/// Fires when a block, or a new view that a quorum requests, is overdue.
pub const SUSPECT_TIMER: TimerId = TimerId::new(2);
/// Fires when messages that may have been lost are due to be resent.
pub const RESEND_TIMER: TimerId = TimerId::new(3);

/// Greatest distance of votes and proposals above the replica's view, in views.
pub const VIEWS_AHEAD_MAX: u64 = 64;
/// Greatest distance of view-changes and new-views above the replica's view, in views; one per validator is kept.
pub const VIEW_CHANGES_AHEAD_MAX: u64 = 65_536;

/// One replica of PBFT.
#[derive(Clone, Debug)]
pub struct Pbft {
    config: PbftConfig,
    authenticator: Authenticator,
    /// Committee for the block after the head, and its pending changes.
    transition: CommitteeTransition,
    signer: Option<Signer>,
    /// This replica's address while it is a validator; `None` for an observer.
    me: Option<Address>,
    head: BlockId,
    timestamp: Timestamp,
    view: View,
    /// Whether this replica left the previous view and waits for the new-view of `view`.
    is_changing: bool,
    /// Whether a quorum requests `view` or a later one, so that the timeout of its primary runs.
    is_awaited: bool,
    log: Log,
    /// The latest view-change of each validator.
    view_changes: BTreeMap<Address, Arc<PbftMessage>>,
    /// New-view message that started the current view, resent to replicas that missed it.
    new_view: Option<Arc<PbftMessage>>,
    /// Links over which messages of validators, present and just removed, came: the first `f + 1` of each.
    peers: BTreeMap<Address, Vec<ReplicaId>>,
    /// Links of no validator over which somebody said to be ahead. If the committee was replaced, its members are among them.
    strangers: BTreeSet<ReplicaId>,
    /// Greatest height that each validator's messages imply it committed.
    claims: BTreeMap<Address, Height>,
    /// Requested blocks above the head.
    fetching: BTreeMap<Height, Fetched>,
    /// Blocks chosen by the new-view whose bodies are missing, with the number of requests made.
    wanted: BTreeMap<BlockId, u32>,
    /// Evidence that no block includes yet, by offender.
    evidence: BTreeMap<Address, DoubleSigning>,
    /// The latest suspicion of each validator.
    suspicions: BTreeMap<Address, Arc<PbftMessage>>,
    attendance: Attendance,
    /// Validators whose outdated view-change was answered since the resend timer fired last.
    answered: BTreeSet<Address>,
    /// Times that the resend timer fired since the head moved.
    ticks_without_block: u32,
    build_state: BuildState,
    /// Consecutive views that committed no block.
    doublings: u32,
    /// Ticket of the newest write, which resent messages wait for.
    last_write: Option<Ticket>,
    next_ticket: Ticket,
    journal: Journal,
}

/// Progress of the primary's next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuildState {
    /// No block is scheduled.
    Idle,
    /// The build timer runs.
    Scheduled,
    /// A block is requested under this ticket.
    Building(Ticket),
}

impl Pbft {
    /// Returns a replica at genesis. Without a validator's `signer` it is an observer and never votes.
    ///
    /// # Errors
    /// [`PbftError`] for invalid parameters or too few validators.
    pub fn new(
        config: PbftConfig,
        genesis: (BlockId, Timestamp),
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PbftError> {
        let transition = CommitteeTransition::new(Committee::new(&config, validators)?);
        let (head, timestamp) = genesis;
        Ok(Self::at(config, authenticator, transition, signer, (head, timestamp), Log::new(head, config.log_window)))
    }

    /// Returns a replica at a stored head, from the record under [`HEAD_KEY`] that was written with it. For restarts of *all*
    /// replicas only, since votes above the head are lost; a replica that restarts alone needs [`Pbft::recover`].
    ///
    /// # Errors
    /// [`PbftError::Record`] when the record does not decode, otherwise as [`Pbft::new`].
    pub fn restore(
        config: PbftConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PbftError> {
        let head = Head::of_record(&config, head_record).ok_or(PbftError::Record { key: "head" })??;
        let stable = head.proven_checkpoint();
        let mut log = Log::new(stable, config.log_window);
        let above = head.checkpoints.iter().filter(|block| block.height > stable.height);
        log.checkpoints.extend(above.map(|block| (block.height, block.hash)));
        let top = (head.block, head.timestamp);
        let mut replica = Self::at(config, authenticator, head.transition, signer, top, log);
        replica.view = head.view;
        Ok(replica)
    }

    /// Returns a replica after a crash, from all of its records; without any it starts at genesis. A partly written record
    /// counts as not written: no message that depends on it was sent.
    ///
    /// # Errors
    /// As [`Pbft::restore`].
    pub fn recover(
        config: PbftConfig,
        genesis: (BlockId, Timestamp),
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PbftError> {
        let found = record::recover(&config, genesis.0, records)?;
        let (transition, top) = match found.head {
            Some(head) => (head.transition, (head.block, head.timestamp)),
            None => (CommitteeTransition::new(Committee::new(&config, validators)?), genesis),
        };
        let mut replica = Self::at(config, authenticator, transition, signer, top, found.log);
        (replica.view, replica.journal) = (found.view, found.journal);
        replica.is_changing = found.is_changing && replica.me.is_some();
        Ok(replica)
    }

    fn at(
        config: PbftConfig,
        authenticator: Authenticator,
        transition: CommitteeTransition,
        signer: Option<Signer>,
        (head, timestamp): (BlockId, Timestamp),
        log: Log,
    ) -> Self {
        let me = signer.as_ref().map(Signer::address).filter(|address| transition.committee().contains(address));
        Self {
            config,
            authenticator,
            transition,
            signer,
            me,
            head,
            timestamp,
            view: View::default(),
            is_changing: false,
            is_awaited: false,
            log,
            view_changes: BTreeMap::new(),
            new_view: None,
            peers: BTreeMap::new(),
            strangers: BTreeSet::new(),
            claims: BTreeMap::new(),
            fetching: BTreeMap::new(),
            wanted: BTreeMap::new(),
            evidence: BTreeMap::new(),
            suspicions: BTreeMap::new(),
            attendance: Attendance::default(),
            answered: BTreeSet::new(),
            ticks_without_block: 0,
            build_state: BuildState::Idle,
            doublings: 0,
            last_write: None,
            next_ticket: Ticket::default(),
            journal: Journal::default(),
        }
    }

    /// Returns the current view, or the requested one during a view change.
    pub const fn view(&self) -> View {
        self.view
    }

    /// Returns whether a view change is in progress.
    pub const fn is_changing(&self) -> bool {
        self.is_changing
    }

    /// Returns the primary of the view.
    pub fn primary(&self) -> Address {
        self.committee().primary(self.view)
    }

    /// Returns the validators in force, with their quorums.
    pub const fn committee(&self) -> &Committee {
        self.transition.committee()
    }

    /// Returns the height of the block that put the committee in force; 0 for that of genesis.
    pub(crate) const fn in_force_since(&self) -> Height {
        self.transition.since()
    }

    /// Returns why the pending change of validators cannot take effect; `None` when it can, or nothing is pending.
    pub fn refused_change(&self) -> Option<PbftError> {
        self.transition.successor(&self.config).err()
    }

    /// Returns the low and the high watermark (h, h + L): votes count above the first and up to the second.
    pub const fn watermarks(&self) -> (Height, Height) {
        (self.log.stable.height, self.log.high())
    }

    /// Returns the stable checkpoint.
    pub const fn stable_checkpoint(&self) -> BlockId {
        self.log.stable
    }

    /// Returns the block prepared at `height` with its latest view; known above the stable checkpoint only.
    pub fn prepared(&self, height: Height) -> Option<InView> {
        let (view, hash) = self.log.slot(height)?.prepared?;
        Some(InView { block: BlockId { height, hash }, view })
    }

    /// Returns the lowest and the highest height with log entries: proposals, votes, checkpoint messages.
    pub fn logged(&self) -> Option<(Height, Height)> {
        let (slots, votes) = (&self.log.slots, &self.log.checkpoint_votes);
        let lowest = slots.keys().next().into_iter().chain(votes.keys().next()).min()?;
        let highest = slots.keys().next_back().into_iter().chain(votes.keys().next_back()).max()?;
        Some((*lowest, *highest))
    }

    /// Returns the highest prepared block.
    pub fn highest_prepared(&self) -> Option<InView> {
        self.log.slots.keys().rev().find_map(|height| self.prepared(*height))
    }

    fn is_primary(&self) -> bool {
        self.me == Some(self.primary())
    }

    const fn quorums(&self) -> &Quorums {
        self.committee().quorums()
    }

    /// Returns whether timers run: for validators, unless blocks are made on demand.
    const fn has_timers(&self) -> bool {
        self.config.period > 0 && self.me.is_some()
    }

    fn start(&mut self, effects: &mut Vec<Effect>) {
        self.count_own_checkpoints(effects);
        if self.is_changing {
            self.request_view(effects);
        } else {
            let head = self.head.height;
            let above = self.log.bound().into_iter().filter(|block| block.height > head);
            for block in above {
                if self.misses_body(&block) {
                    self.fetch_body(block, effects);
                }
            }
            self.arm_suspect(effects);
            self.execute_next(effects);
            self.schedule_block(effects);
        }
        self.arm_resend(effects);
        if self.config.period == 0 {
            // On demand no resend timer runs.
            self.vote_again(effects);
            self.announce_departure(effects);
        }
    }

    fn on_message(
        &mut self,
        from: ReplicaId,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let sender = self.signer_of(message)?;
        if !self.committee().contains(&sender) {
            return self.on_message_of_former(sender, from, message, effects);
        }
        if self.me == Some(sender) {
            return Err(MessageError::Known);
        }
        if let Body::Commit { block, .. } = &message.body {
            self.note_attendance(sender, block, effects);
        }
        let claim = message.body.committed();
        let is_new_claim =
            claim.is_some_and(|claim| claim > self.claims.get(&sender).copied().unwrap_or(self.head.height));
        let was_new = is_new_claim || !self.peers.contains_key(&sender);
        let outcome = match &message.body {
            Body::PrePrepare { view, block } => self.on_pre_prepare(sender, *view, block, message, effects),
            Body::Prepare { view, block } => {
                self.on_prepare((sender, from), *view, *block, &message.signature, effects)
            }
            Body::Commit { view, block } => self.on_commit(sender, *view, *block, &message.signature, effects),
            Body::Checkpoint { block } => self.on_checkpoint(sender, *block, effects),
            Body::ViewChange(view_change) => self.on_view_change(sender, from, view_change, message, effects),
            Body::NewView(new_view) => self.on_new_view(sender, new_view, message, effects),
            Body::Evidence(proof) => self.on_evidence(proof, effects),
            Body::Suspicion(suspicion) => self.on_suspicion(sender, suspicion, message, effects),
        };
        match outcome {
            // Not counted, but it shows that its sender is ahead.
            Err(
                MessageError::Watermarks { .. } | MessageError::OldView { .. } | MessageError::OtherCommittee { .. },
            ) if is_new_claim => effects.push(Effect::Mark("pbft/behind")),
            // A relay was faster with it. The link on which it came now may be the sender's own.
            Err(MessageError::Known)
                if !mutation::active(Mutation::PbftRebindsPeers) && self.learn_link(sender, from) =>
            {
                effects.push(Effect::Mark("pbft/another-link"));
            }
            other => other?,
        }
        self.learn_link(sender, from);
        if let Some(claim) = claim.filter(|_| is_new_claim) {
            self.claim(sender, claim);
        }
        if was_new {
            self.catch_up(effects);
        }
        Ok(())
    }

    /// Returns the validator that signed the message.
    fn signed_by_validator(&self, message: &PbftMessage) -> Result<Address, MessageError> {
        let signer = self.signer_of(message)?;
        if self.committee().contains(&signer) { Ok(signer) } else { Err(MessageError::NotValidator { signer }) }
    }

    fn signer_of(&self, message: &PbftMessage) -> Result<Address, MessageError> {
        let hash = message.body.hash_to_sign(&self.authenticator);
        Ok(self.authenticator.author(Purpose::Message, hash, &message.signature)?)
    }

    fn on_timer(&mut self, timer: TimerId, effects: &mut Vec<Effect>) {
        match timer {
            BUILD_TIMER if self.build_state == BuildState::Scheduled => self.request_block(effects),
            SUSPECT_TIMER if self.me.is_some() && !mutation::active(Mutation::PbftNeverSuspects) => {
                effects.push(Effect::Mark("pbft/timeout"));
                self.doublings = self.doublings.saturating_add(1);
                self.start_view_change(self.view.next(), effects);
            }
            RESEND_TIMER => self.resend(effects),
            _ => effects.push(Effect::Mark("pbft/stale-answer")),
        }
    }

    /// Resends messages and requests that may have been lost.
    fn resend(&mut self, effects: &mut Vec<Effect>) {
        self.arm_resend(effects);
        self.answered.clear();
        self.ticks_without_block = self.ticks_without_block.saturating_add(1);
        if self.is_changing {
            self.resend_view_change(effects);
        } else {
            self.resend_votes(effects);
        }
        self.resend_suspicions(effects);
        self.resend_checkpoint(effects);
        self.announce_departure(effects);
        self.resend_evidence(effects);
        self.fetch_again(effects);
    }

    /// Arms the resend timer; on observers too, whose requests may be lost.
    fn arm_resend(&self, effects: &mut Vec<Effect>) {
        if self.config.period > 0 {
            let nanos = self.config.timeout_nanos(0) / 2;
            effects.push(Effect::ArmTimer { timer: RESEND_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Arms the suspect timer for the block period plus the timeout.
    fn arm_suspect(&self, effects: &mut Vec<Effect>) {
        if self.has_timers() {
            let period = self.transition.config_in_force(&self.config).period.saturating_mul(1_000_000_000);
            let nanos = period.saturating_add(self.config.timeout_nanos(self.doublings));
            effects.push(Effect::ArmTimer { timer: SUSPECT_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Writes the journal's pending records.
    fn persist(&mut self, effects: &mut Vec<Effect>) -> Ticket {
        let ticket = self.next_ticket.take_next();
        self.last_write = Some(ticket);
        effects.push(Effect::Persist { ticket, records: self.journal.take() });
        ticket
    }

    /// Signs a message and sends it once the pending records are durable; returns it. `None` without a signer.
    fn sign_and_send(&mut self, body: Body, effects: &mut Vec<Effect>) -> Option<Arc<PbftMessage>> {
        let signature = self.signer.as_ref()?.sign(Purpose::Message, body.hash_to_sign(&self.authenticator));
        let message = Arc::new(PbftMessage { body, signature });
        let ticket = self.persist(effects);
        broadcast(&message, Some(ticket), effects);
        Some(message)
    }

    /// Returns the head's record.
    fn head_record(&self) -> Head {
        Head {
            transition: self.transition.clone(),
            block: self.head,
            timestamp: self.timestamp,
            view: self.view,
            stable: self.log.stable,
            checkpoints: self.log.own_checkpoints().collect(),
        }
    }
}

fn broadcast(message: &Arc<PbftMessage>, after: Option<Ticket>, effects: &mut Vec<Effect>) {
    effects.push(Effect::Send { to: Recipients::Others, message: ConsensusMessage::Pbft(message.clone()), after });
}

impl Protocol for Pbft {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let outcome = match event {
            Event::Start => {
                self.start(effects);
                Ok(())
            }
            Event::Message { from, message: ConsensusMessage::Pbft(message) } => {
                self.on_message(from, &message, effects).map_err(Rejection::from)
            }
            Event::Message { message, .. } => Err(Rejection::Unexpected { what: message.constant_label() }),
            Event::BlockSynced { block, .. } => self.on_synced(block, effects),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, effects),
            Event::BlockBuilt { ticket, block } => {
                self.on_built(ticket, block, effects);
                Ok(())
            }
            Event::Timer(timer) => {
                self.on_timer(timer, effects);
                Ok(())
            }
            Event::Persisted(_) => Ok(()),
            Event::Random { .. } => Err(Rejection::Unexpected { what: "random draw" }),
            Event::Admin(Admin::Overdue) => {
                self.on_overdue(effects);
                Ok(())
            }
            Event::Admin(Admin::Offence(proof)) => self.on_offence(&proof, effects),
            Event::Admin(_) => {
                let reason =
                    "pbft supports no admin commands: change its validators by staking transactions".to_owned();
                Err(Rejection::Admin { reason })
            }
        };
        if let Err(rejection) = outcome {
            effects.push(Effect::Reject(rejection));
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator is the same in every replica of a chain; the address identifies a signer.
        // `me` follows from signer and validators.
        let Self {
            config,
            authenticator: _,
            transition,
            signer,
            me: _,
            head,
            timestamp,
            view,
            is_changing,
            is_awaited,
            log,
            view_changes,
            new_view,
            peers,
            strangers,
            claims,
            fetching,
            wanted,
            evidence,
            suspicions,
            attendance,
            answered,
            ticks_without_block,
            build_state,
            doublings,
            last_write,
            next_ticket,
            journal,
        } = self;
        config.encode(out);
        transition.encode(out);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        head.encode(out);
        out.timestamp(*timestamp);
        out.u64(view.get());
        out.bool(*is_changing);
        out.bool(*is_awaited);
        log.encode(out);
        out.list(view_changes.values(), |out, message| message.encode(out));
        out.option(new_view.as_ref(), |out, message| message.encode(out));
        out.list(peers.iter(), |out, (validator, links)| {
            out.address(validator);
            out.list(links.iter(), |out, link| out.u32(link.get()));
        });
        out.list(strangers.iter(), |out, link| out.u32(link.get()));
        out.list(claims.iter(), |out, (validator, height)| {
            out.address(validator);
            out.u64(height.get());
        });
        out.list(fetching.iter(), |out, (height, fetched)| {
            out.u64(height.get());
            fetched.encode(out);
        });
        out.list(wanted.iter(), |out, (block, requests)| {
            block.encode(out);
            out.u32(*requests);
        });
        out.list(suspicions.values(), |out, message| message.encode(out));
        out.list(answered.iter(), |out, validator| out.address(validator));
        out.u32(*ticks_without_block);
        let (kind, ticket) = match *build_state {
            BuildState::Idle => (0, Ticket::default()),
            BuildState::Scheduled => (1, Ticket::default()),
            BuildState::Building(ticket) => (2, ticket),
        };
        out.u8(kind);
        out.u64(ticket.get());
        out.u32(*doublings);
        out.option(last_write.as_ref(), |out, ticket| out.u64(ticket.get()));
        out.u64(next_ticket.get());
        journal.encode(out);
        transition.encode_rest(out);
        if self.reports_absences() {
            attendance.encode(out);
        }
        if !evidence.is_empty() {
            out.list(evidence.values(), |out, proof| proof.encode_to(out));
        }
    }

    fn head(&self) -> BlockId {
        self.head
    }

    fn finality(&self) -> Finality {
        Finality::both(self.head, FinalityKind::Certificate)
    }

    fn validators(&self) -> ValidatorSet {
        self.committee().validators().clone()
    }
}

impl_by_encoding!(Pbft);

#[cfg(test)]
mod tests;
