//! PBFT: Castro and Liskov, "Practical Byzantine Fault Tolerance and Proactive Recovery" (TOCS 2002), whole.
//!
//! `n = 3f + 1` validators agree on one block a height in three steps (pre-prepare, prepare, commit) and survive `f` of
//! them that do anything at all. Committed is final: the head is safe and finalized, and its proof is a [`Certificate`]
//! of `2f + 1` signatures kept beside the block.
//!
//! How the paper's terms read here:
//!
//! - A *sequence number* is a height, a *request* a block. The primary builds it, backups execute it before they
//!   prepare it. A client's transaction counts exactly once by its nonce.
//! - A block extends its parent, so a replica pre-prepares a height only after it committed the one below. Heights
//!   above wait in the log, between the watermarks `h < n <= h + L`. It follows that a view change never leaves a gap
//!   below a chosen block, and a *null request* is a height that the new primary is free to propose anew.
//! - A *checkpoint* is a block's hash, which covers its state. Every K blocks it is voted upon and stable at `2f + 1`.
//! - *State transfer* is block sync: blocks come with their certificates, in order, and are executed.
//! - Messages are signed, view-changes too, so a new-view carries them whole and needs no acknowledgements.
//!
//! - The *validators* change at checkpoints only, by what executed blocks changed in the staking contracts (see
//!   [`CommitteeTransition`]). A block that puts others in force is a stable checkpoint at once, for its certificate proves it, and
//!   the view goes on under its new primary.
//! - Who contradicts itself is proved to by its two signatures (see [`DoubleSigning`]), told in a block and put out at the next
//!   checkpoint; where there is stake, it is slashed.

mod certificate;
mod checkpoint;
mod committee;
mod committee_transition;
mod config;
mod double_signing;
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
mod sync;
mod view_change;
mod vote;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use self::{
    log::Log,
    record::{Head, Journal},
    sync::Fetched,
};
use super::{
    Admin, Authenticator, BlockId, Deadline, Effect, Encoder, Event, Finality, FinalityKind, Message, Protocol,
    Recipients, Records, Rejection, ReplicaId, Signer, Ticket, TimerId, ValidatorSet, impl_by_encoding,
    mutation::{self, Mutation},
};
use crate::primitives::{Address, B256, Height, Timestamp};

pub use certificate::{Certificate, CertificateError, Seal};
pub use committee::Committee;
pub use committee_transition::CommitteeTransition;
pub use config::{PbftConfig, PbftError, Quorums};
pub use double_signing::{DoubleSigning, EvidenceError};
#[cfg(any(test, feature = "internals"))]
pub use double_signing::{EVIDENCE_BLOCKS_MAX, EVIDENCE_PER_BLOCK_MAX};
pub use header_error::HeaderError;
pub use light::LightVerifier;
pub use message::{Body, MessageError, NewView, PbftMessage, ViewChange};
pub use payload::Payload;
#[cfg(feature = "internals")]
pub use record::HEAD_KEY;
pub use rules::PbftRules;
pub use vote::{InView, Phase, View};

/// Fires when the primary may build its next block.
pub const BUILD_TIMER: TimerId = TimerId::new(1);
/// Fires when a block, or a new view that a quorum asked for, did not come in time.
pub const SUSPECT_TIMER: TimerId = TimerId::new(2);
/// Fires when it is time to say again what may have been lost.
pub const RESEND_TIMER: TimerId = TimerId::new(3);

/// How many views ahead of its own a replica takes votes and proposals of.
pub const VIEWS_AHEAD_MAX: u64 = 64;
/// How many views ahead it takes view-changes and new-views of; it keeps one a validator.
pub const VIEW_CHANGES_AHEAD_MAX: u64 = 65_536;

/// One replica of PBFT.
#[derive(Clone, Debug)]
pub struct Pbft {
    config: PbftConfig,
    authenticator: Authenticator,
    /// Who decides on the block after the head.
    transition: CommitteeTransition,
    signer: Option<Signer>,
    /// Its address while it is a validator; `None` for an observer.
    me: Option<Address>,
    head: BlockId,
    timestamp: Timestamp,
    view: View,
    /// Whether this replica left the view before and waits for the new-view of `view`.
    is_changing: bool,
    /// Whether a quorum wants `view` too, so that its primary's time runs.
    is_awaited: bool,
    log: Log,
    /// The latest view-change of each validator.
    view_changes: BTreeMap<Address, Arc<PbftMessage>>,
    /// How the present view began, for those who missed it.
    new_view: Option<Arc<PbftMessage>>,
    /// Over which link each validator was last heard.
    peers: BTreeMap<Address, ReplicaId>,
    /// The highest block that each validator showed to have committed.
    claims: BTreeMap<Address, Height>,
    /// Blocks after the head that were asked of others.
    fetching: BTreeMap<Height, Fetched>,
    /// Chosen blocks whose bodies are missing.
    wanted: BTreeSet<BlockId>,
    /// Proof against validators that no block has told yet.
    evidence: BTreeMap<Address, DoubleSigning>,
    /// Requests made, so that the next one goes to another peer.
    requests: u64,
    build_state: BuildState,
    /// Views in a row that brought no block.
    doublings: u32,
    /// Of the newest record; what is said again waits for it.
    last_write: Option<Ticket>,
    next_ticket: Ticket,
    journal: Journal,
}

/// What the primary is doing about the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuildState {
    /// Nothing.
    Idle,
    /// The timer runs.
    Scheduled,
    /// A block was asked for.
    Building(Ticket),
}

impl Pbft {
    /// A replica at genesis. Without a validator's `signer` it follows and never votes.
    ///
    /// # Errors
    /// [`PbftError`] for parameters or a number of validators that PBFT refuses.
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

    /// A replica that goes on at a stored head, when *all* replicas do, from the record under [`HEAD_KEY`] that was written
    /// with it: what only one of them promised is forgotten. One that restarts alone needs [`Pbft::recover`].
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
        let mut log = Log::new(head.stable, config.log_window);
        log.checkpoints.extend(head.checkpoints.iter().map(|block| (block.height, block.hash)));
        let top = (head.block, head.timestamp);
        let mut replica = Self::at(config, authenticator, head.transition, signer, top, log);
        replica.view = head.view;
        Ok(replica)
    }

    /// A replica after a crash, from all of its records; without any it begins at genesis. A record whose write was cut short
    /// counts as not written: nothing that depends on it was said.
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

    /// The transition that a record under [`HEAD_KEY`] holds, with the block that it is of.
    pub(in crate::consensus) fn recorded_transition(
        config: &PbftConfig,
        head_record: &[u8],
    ) -> Result<(B256, CommitteeTransition), PbftError> {
        let head = Head::of_record(config, head_record).ok_or(PbftError::Record { key: "head" })??;
        Ok((head.block.hash, head.transition))
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
            claims: BTreeMap::new(),
            fetching: BTreeMap::new(),
            wanted: BTreeSet::new(),
            evidence: BTreeMap::new(),
            requests: 0,
            build_state: BuildState::Idle,
            doublings: 0,
            last_write: None,
            next_ticket: Ticket::default(),
            journal: Journal::default(),
        }
    }

    /// The view that it is in, or that it asks for.
    pub const fn view(&self) -> View {
        self.view
    }

    /// Whether it waits for its view to begin.
    pub const fn is_changing(&self) -> bool {
        self.is_changing
    }

    /// Who leads its view.
    pub fn primary(&self) -> Address {
        self.committee().primary(self.view)
    }

    /// The validators in force, and their quorums.
    pub const fn committee(&self) -> &Committee {
        self.transition.committee()
    }

    /// Why a change of the validators that waits would not be put in force now; `None` when nothing is wrong with it.
    pub fn refused_change(&self) -> Option<PbftError> {
        self.transition.successor(&self.config).err()
    }

    /// The low and the high watermark: it agrees upon blocks above the first and up to the second.
    pub const fn watermarks(&self) -> (Height, Height) {
        (self.log.stable.height, self.log.high())
    }

    /// The newest checkpoint that a quorum has.
    pub const fn stable_checkpoint(&self) -> BlockId {
        self.log.stable
    }

    /// The block that it has prepared at `height`, with the latest view; known above the stable checkpoint only.
    pub fn prepared(&self, height: Height) -> Option<InView> {
        let (view, hash) = self.log.slot(height)?.prepared?;
        Some(InView { block: BlockId { height, hash }, view })
    }

    /// The lowest and the highest block that its log holds something of: proposals, votes, votes for checkpoints.
    pub fn logged(&self) -> Option<(Height, Height)> {
        let (slots, votes) = (&self.log.slots, &self.log.checkpoint_votes);
        let lowest = slots.keys().next().into_iter().chain(votes.keys().next()).min()?;
        let highest = slots.keys().next_back().into_iter().chain(votes.keys().next_back()).max()?;
        Some((*lowest, *highest))
    }

    /// The highest block that it has prepared.
    pub fn highest_prepared(&self) -> Option<InView> {
        self.log.slots.keys().rev().find_map(|height| self.prepared(*height))
    }

    fn is_primary(&self) -> bool {
        self.me == Some(self.primary())
    }

    const fn quorums(&self) -> &Quorums {
        self.committee().quorums()
    }

    /// Whether time means anything: blocks on demand come when they come.
    const fn has_timers(&self) -> bool {
        self.config.period > 0 && self.me.is_some()
    }

    fn start(&mut self, effects: &mut Vec<Effect>) {
        if self.is_changing {
            self.ask_for_view(effects);
        } else {
            let head = self.head.height;
            let above = self.log.bound().into_iter().filter(|block| block.height > head);
            for block in above {
                if self.misses_body(&block) {
                    self.want(block, effects);
                }
            }
            self.expect_block(effects);
            self.judge_next(effects);
            self.plan(effects);
        }
        self.arm_resend(effects);
        if self.config.period == 0 {
            // On demand nothing is said again later.
            self.vote_again(effects);
        }
    }

    fn on_message(
        &mut self,
        from: ReplicaId,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let sender = self.signed_by_validator(message)?;
        if self.me == Some(sender) {
            return Err(MessageError::Known);
        }
        let claim = match &message.body {
            // Whoever speaks of a block has committed its parent.
            Body::PrePrepare { block, .. } => block.height().parent(),
            Body::Prepare { block, .. } | Body::Commit { block, .. } => block.height.parent(),
            Body::Checkpoint { block } => Some(block.height),
            Body::ViewChange(view_change) => view_change.checkpoints.last().map(|block| block.height),
            Body::NewView(_) | Body::Evidence(_) => None,
        };
        let is_new_offence =
            claim.is_some_and(|claim| claim > self.claims.get(&sender).copied().unwrap_or(self.head.height));
        let was_new = is_new_offence || !self.peers.contains_key(&sender);
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
        };
        match outcome {
            // It can't be counted here, and still tells that its sender is ahead.
            Err(MessageError::Watermarks { .. } | MessageError::OldView { .. }) if is_new_offence => {
                effects.push(Effect::Mark("pbft/behind"));
            }
            other => other?,
        }
        if self.peers.get(&sender) != Some(&from) {
            self.peers.insert(sender, from);
        }
        if let Some(claim) = claim.filter(|_| is_new_offence) {
            self.claim(sender, claim);
        }
        if was_new {
            self.catch_up(effects);
        }
        Ok(())
    }

    /// Which validator signed.
    fn signed_by_validator(&self, message: &PbftMessage) -> Result<Address, MessageError> {
        let hash = message.body.hash_to_sign(&self.authenticator);
        let signer = self.authenticator.author(hash, &message.signature)?;
        if self.committee().contains(&signer) { Ok(signer) } else { Err(MessageError::NotValidator { signer }) }
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

    /// A client's transaction is left out of block after block: whoever leads is suspected as if it made none.
    fn on_overdue(&mut self, effects: &mut Vec<Effect>) {
        if self.has_timers() && !self.is_changing && !self.is_primary() {
            effects.push(Effect::Mark("pbft/overdue"));
            self.start_view_change(self.view.next(), effects);
        }
    }

    /// Says again what may have been lost, and asks others for what did not come.
    fn resend(&mut self, effects: &mut Vec<Effect>) {
        self.arm_resend(effects);
        if self.is_changing {
            self.resend_view_change(effects);
        } else {
            self.resend_votes(effects);
        }
        self.resend_checkpoint(effects);
        self.resend_evidence(effects);
        self.fetch_again(effects);
    }

    /// Observers, too: what they asked for may be lost.
    fn arm_resend(&self, effects: &mut Vec<Effect>) {
        if self.config.period > 0 {
            let nanos = self.config.timeout_nanos(0) / 2;
            effects.push(Effect::ArmTimer { timer: RESEND_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Gives the primary until the next block is due, and then some.
    fn expect_block(&self, effects: &mut Vec<Effect>) {
        if self.has_timers() {
            let period = self.config.period.saturating_mul(1_000_000_000);
            let nanos = period.saturating_add(self.config.timeout_nanos(self.doublings));
            effects.push(Effect::ArmTimer { timer: SUSPECT_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Makes durable what this replica may no longer contradict.
    fn persist(&mut self, effects: &mut Vec<Effect>) -> Ticket {
        let ticket = self.next_ticket.take_next();
        self.last_write = Some(ticket);
        effects.push(Effect::Persist { ticket, records: self.journal.take() });
        ticket
    }

    /// Signs and sends a promise once it is durable, and answers the message.
    fn sign_and_send(&mut self, body: Body, effects: &mut Vec<Effect>) -> Option<Arc<PbftMessage>> {
        let signature = self.signer.as_ref()?.sign(body.hash_to_sign(&self.authenticator));
        let message = Arc::new(PbftMessage { body, signature });
        let ticket = self.persist(effects);
        broadcast(&message, Some(ticket), effects);
        Some(message)
    }

    /// The head as it is recorded.
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
    effects.push(Effect::Send { to: Recipients::Others, message: Message::Pbft(message.clone()), after });
}

impl Protocol for Pbft {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let outcome = match event {
            Event::Start => {
                self.start(effects);
                Ok(())
            }
            Event::Message { from, message: Message::Pbft(message) } => {
                self.on_message(from, &message, effects).map_err(Rejection::from)
            }
            Event::Message { message, .. } => Err(Rejection::Unexpected { what: message.label() }),
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
            Event::Admin(_) => {
                let reason =
                    "pbft takes no wishes: its validators change by what blocks do in the staking contracts".to_owned();
                Err(Rejection::Admin { reason })
            }
        };
        if let Err(rejection) = outcome {
            effects.push(Effect::Reject(rejection));
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator judges signatures alike in every replica of a chain; a signer is known by its address.
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
            claims,
            fetching,
            wanted,
            evidence,
            requests,
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
        out.list(peers.iter(), |out, (validator, replica)| {
            out.address(validator);
            out.u32(replica.get());
        });
        out.list(claims.iter(), |out, (validator, height)| {
            out.address(validator);
            out.u64(height.get());
        });
        out.list(fetching.iter(), |out, (height, fetched)| {
            out.u64(height.get());
            fetched.encode(out);
        });
        out.list(wanted.iter(), |out, block| block.encode(out));
        out.u64(*requests);
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
        transition.encode_convicted(out);
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
