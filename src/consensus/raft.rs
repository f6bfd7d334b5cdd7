//! Raft: a replicated log of blocks under one elected leader (Ongaro and Ousterhout, "In Search of an Understandable
//! Consensus Algorithm"; Ongaro's dissertation, "Consensus: Bridging Theory and Practice").
//!
//! Blocks are log entries, and only the leader builds them, one at a time, on the committed log. An entry is committed
//! when a majority stores it; a committed block is applied, and is then head, safe and final at once. Raft tolerates
//! crashes of a minority and no Byzantine fault: followers trust the leader.
//!
//! Beside the core: pre-vote and leader lease (a rejoining replica does not disrupt the leader), check-quorum (a leader
//! without contact to a majority steps down), leadership transfer, learners, membership changes by single steps and joint
//! configurations, compaction (a follower too far behind fetches blocks), fast log rejection, a window of in-flight
//! messages, and ReadIndex. Where the papers leave a choice, it is that of etcd's implementation.
//!
//! A membership change is part of a block's [`Payload`] and takes effect when that block is applied, as in etcd, so that the
//! members at any block follow from the headers. That is safe because the commit index is durable with each entry, and
//! because a replica that knows of a committed change applies it before it stands for election (`docs/protocols/raft.md`).
//! Vote requests and entries are accepted from any replica, member or not, as the paper's section 6 demands: the
//! receiver's own configuration may be out of date.

mod apply;
mod config;
mod election;
mod family;
mod light;
mod log;
mod membership;
mod message;
mod payload;
mod production;
mod progress;
pub mod quorum;
mod read;
mod record;
mod registry;
mod replication;
mod rules;
mod snapshot;

use std::sync::Arc;

use imbl::OrdMap;
use smallvec::SmallVec;

use self::{apply::Applying, election::ElectionTimeout, log::Log, production::Leader, snapshot::BlockSync};
use super::{
    Admin, Authenticator, BlockId, ConsensusMessage, Effect, Encoder, Event, Finality, FinalityKind, Protocol,
    Recipients, Records, Rejection, ReplicaId, Signer, Ticket, TimerId, ValidatorSet, impl_by_encoding,
    mutation::{self, Mutation},
};
use crate::primitives::Timestamp;

pub use config::{RaftConfig, RaftError};
pub use light::LightVerifier;
pub use log::Entry;
pub use membership::{Assignment, Change, ChangeError, Membership, Role};
pub use message::{Body, RaftMessage};
pub use payload::{Payload, PayloadError};
pub use record::{ENTRY_PREFIX, HARD_STATE_KEY, HEAD_KEY};
pub use rules::{HeaderContext, HeaderError, check_header};

/// Election timeout of a follower or candidate; check-quorum interval of a leader.
pub const ELECTION_TIMER: TimerId = TimerId::new(1);
/// Heartbeat interval of a leader.
pub const HEARTBEAT_TIMER: TimerId = TimerId::new(2);
/// Earliest time of a leader's next block.
pub const BUILD_TIMER: TimerId = TimerId::new(3);

/// One replica of Raft.
#[derive(Clone, Debug)]
pub struct Raft {
    config: Arc<RaftConfig>,
    authenticator: Authenticator,
    signer: Option<Signer>,
    term: u64,
    vote: Option<ReplicaId>,
    leader: Option<ReplicaId>,
    state: ServerState,
    election_timeout: ElectionTimeout,
    log: Log,
    /// The newest applied block, and the configuration after it.
    head: HeaderContext,
    applying: Option<Applying>,
    /// Term and index of the last acknowledgement to a leader.
    acknowledged: (u64, u64),
    sync: Option<BlockSync>,
    next_ticket: Ticket,
}

/// State of a replica in its term (Raft, figure 4).
#[derive(Clone, Debug)]
enum ServerState {
    Follower,
    /// Collecting pre-votes (dissertation, section 9.6).
    PreCandidate {
        votes: OrdMap<ReplicaId, bool>,
    },
    /// Collecting votes; its own vote counts once the write `own` is durable.
    Candidate {
        votes: OrdMap<ReplicaId, bool>,
        own: Ticket,
    },
    Leader(Leader),
}

/// Output of one step: immediate effects, then one write and the messages that may depend on it.
struct Output<'a> {
    effects: &'a mut Vec<Effect>,
    sends: SmallVec<[QueuedMessage; 4]>,
    /// The write's ticket, once allocated.
    ticket: Option<Ticket>,
    /// Whether term or vote changed.
    hard_state: bool,
    /// The first entry that changed.
    entries_from: Option<u64>,
}

struct QueuedMessage {
    to: ReplicaId,
    message: RaftMessage,
    /// Whether it depends on state that has to be durable first.
    after_write: bool,
}

impl Raft {
    /// Creates a replica at genesis. Without a `signer`, or with one that is not a voter, it only follows.
    ///
    /// # Errors
    /// [`RaftError`] for invalid parameters.
    pub fn new(
        config: RaftConfig,
        genesis: (BlockId, Timestamp),
        members: Membership,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, RaftError> {
        let (block, timestamp) = genesis;
        let head = HeaderContext::genesis(block, timestamp, Arc::new(members));
        Self::at(config, head, authenticator, signer)
    }

    /// Creates a replica at a stored head, for a restart of *all* replicas: votes and entries of single replicas are
    /// dropped. A replica that restarts alone needs [`Raft::recover`].
    ///
    /// # Errors
    /// [`RaftError::Record`] when the record does not decode, and as [`Raft::new`].
    pub fn restore(
        config: RaftConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, RaftError> {
        let head = record::decode_head(head_record).ok_or(RaftError::Record { key: "head" })?;
        Self::at_head(config, head, authenticator, signer)
    }

    /// Recovers a replica after a crash: term, vote, log and commit index from its records. Without a head record it starts
    /// at genesis. What was committed and not applied is applied with [`Event::Start`]. A record whose write was cut short counts as not written: no message that depends on it was sent.
    ///
    /// # Errors
    /// [`RaftError::Record`] for records that are complete and do not decode, and as [`Raft::new`].
    pub fn recover(
        config: RaftConfig,
        genesis: (BlockId, Timestamp),
        members: Membership,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, RaftError> {
        let mut raft = match record::find_head(records) {
            Some(head) => Self::at_head(config, head.ok_or(RaftError::Record { key: "head" })?, authenticator, signer)?,
            None => Self::new(config, genesis, members, authenticator, signer)?,
        };
        if let Some(hard_state) = record::find_hard_state(records) {
            let hard_state = hard_state.ok_or(RaftError::Record { key: "hard-state" })?;
            // A head from synced blocks may be of a later term than the last one voted in.
            if hard_state.term >= raft.term {
                (raft.term, raft.vote) = (hard_state.term, hard_state.vote);
            }
        }
        let forgets = mutation::active(Mutation::RaftForgetsEntries);
        let records = if forgets { &Records::new() } else { records };
        let mut committed = raft.log.committed();
        while let Some(found) = record::find_entry(records, raft.log.last_index() + 1, raft.log.last_term()) {
            let (entry, known) = found.ok_or(RaftError::Record { key: "entry" })?;
            if entry.term > raft.term {
                (raft.term, raft.vote) = (entry.term, None);
            }
            raft.log.append(entry);
            committed = committed.max(known);
        }
        raft.log.mark_all_durable();
        if !mutation::active(Mutation::RaftForgetsCommit) {
            raft.log.commit(committed);
        }
        Ok(raft)
    }

    fn at_head(
        config: RaftConfig,
        mut head: HeaderContext,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, RaftError> {
        head.membership = Arc::new(head.membership.as_ref().clone().with_learners(&config.observers));
        Self::at(config, head, authenticator, signer)
    }

    fn at(
        config: RaftConfig,
        head: HeaderContext,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, RaftError> {
        config.check()?;
        Ok(Self {
            config: Arc::new(config),
            authenticator,
            signer,
            term: head.term,
            vote: None,
            leader: None,
            state: ServerState::Follower,
            election_timeout: ElectionTimeout::Lease,
            log: Log::starting_at(head.index, head.term, head.block),
            head,
            applying: None,
            acknowledged: (0, 0),
            sync: None,
            next_ticket: Ticket::default(),
        })
    }

    /// Returns the current term.
    pub const fn term(&self) -> u64 {
        self.term
    }

    /// Returns the leader of the current term, if known.
    pub const fn leader(&self) -> Option<ReplicaId> {
        self.leader
    }

    /// Returns whether this replica is the leader.
    pub const fn is_leader(&self) -> bool {
        matches!(self.state, ServerState::Leader(_))
    }

    /// Returns the configuration after the head.
    pub fn membership(&self) -> &Membership {
        &self.head.membership
    }

    /// Returns the head's term and index, and the configuration after it.
    pub const fn head_context(&self) -> &HeaderContext {
        &self.head
    }

    /// Returns the commit index.
    pub const fn committed_index(&self) -> u64 {
        self.log.committed()
    }

    /// Returns the last index that is durable on this replica.
    pub const fn durable_index(&self) -> u64 {
        self.log.durable()
    }

    /// Returns the last log index.
    pub fn last_index(&self) -> u64 {
        self.log.last_index()
    }

    /// Returns the last compacted index.
    pub const fn compacted_index(&self) -> u64 {
        self.log.base_index()
    }

    /// Returns the entry at `index`; `None` when it is compacted or absent.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        self.log.entry(index)
    }

    /// Returns its own replica number, if it is a voter.
    fn own_id(&self) -> Option<ReplicaId> {
        self.head.membership.voter_of(&self.signer.as_ref()?.address())
    }

    fn take_ticket(&mut self, output: &mut Output<'_>) -> Ticket {
        *output.ticket.get_or_insert_with(|| self.next_ticket.take_next())
    }

    /// Emits the write of changed records, then the queued messages.
    fn finish(&mut self, output: &mut Output<'_>) {
        if output.hard_state || output.entries_from.is_some() {
            let ticket = self.take_ticket(output);
            let count = output.entries_from.map_or(0, |first| (self.log.last_index() + 1).saturating_sub(first));
            let mut records = Vec::with_capacity(count as usize + 2);
            if output.hard_state {
                records.extend(record::hard_state(record::HardState { term: self.term, vote: self.vote }));
            }
            if let Some(first) = output.entries_from {
                let (mut prev_term, committed) = (self.log.term(first - 1).unwrap_or_default(), self.log.committed());
                records.extend(self.log.after(first - 1).map(|entry| {
                    let record = record::entry(entry, prev_term, committed);
                    prev_term = entry.term;
                    record
                }));
            }
            output.effects.push(Effect::Persist { ticket, records });
            self.log.begin_write(ticket);
        }
        let newest_write = self.log.newest_write();
        for QueuedMessage { to, message, after_write } in output.sends.drain(..) {
            let after = newest_write.filter(|_| after_write);
            let (to, message) = (Recipients::One(to), ConsensusMessage::Raft(message));
            output.effects.push(Effect::Send { to, message, after });
        }
    }

    fn on_persisted(&mut self, ticket: Ticket, output: &mut Output<'_>) {
        if !self.log.finish_write(ticket) {
            return output.reject(Rejection::Unexpected { what: "write" });
        }
        match &self.state {
            ServerState::Candidate { own, .. } if *own <= ticket => self.vote_for_itself(output),
            ServerState::Leader(_) => self.maybe_commit(output),
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: TimerId, output: &mut Output<'_>) {
        match (timer, &self.state) {
            (ELECTION_TIMER, ServerState::Leader(_)) => self.check_quorum(output),
            (ELECTION_TIMER, _) => self.on_election_timer(output),
            (HEARTBEAT_TIMER, ServerState::Leader(_)) => self.on_heartbeat_timer(output),
            (BUILD_TIMER, ServerState::Leader(_)) => self.on_build_timer(output),
            _ => output.mark("raft/stale-timer"),
        }
    }

    fn on_admin(&mut self, admin: Admin, output: &mut Output<'_>) {
        let done = match admin {
            Admin::TransferLeader { to } => self.transfer_leader(to, output),
            Admin::ChangeMembers(change) => self.propose_change(change, output),
            Admin::Read { request } => self.read(request, output),
            _ => {
                Err("raft has neither signer votes nor stake; its members change by `Admin::ChangeMembers`".to_owned())
            }
        };
        if let Err(reason) = done {
            output.reject(Rejection::Admin { reason });
        }
    }
}

impl<'a> Output<'a> {
    fn new(effects: &'a mut Vec<Effect>) -> Self {
        Self { effects, sends: SmallVec::new(), ticket: None, hard_state: false, entries_from: None }
    }

    /// Queues a message that depends on no pending write.
    fn send(&mut self, to: ReplicaId, term: u64, body: Body) {
        self.sends.push(QueuedMessage { to, message: RaftMessage { term, body }, after_write: false });
    }

    /// Queues a message that is sent once all writes so far are durable.
    fn send_after_write(&mut self, to: ReplicaId, term: u64, body: Body) {
        self.sends.push(QueuedMessage { to, message: RaftMessage { term, body }, after_write: true });
    }

    fn entries_changed(&mut self, first: u64) {
        self.entries_from = Some(self.entries_from.map_or(first, |earlier| earlier.min(first)));
    }

    fn reject(&mut self, rejection: Rejection) {
        self.effects.push(Effect::Reject(rejection));
    }

    fn mark(&mut self, name: &'static str) {
        self.effects.push(Effect::Mark(name));
    }
}

impl Protocol for Raft {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let mut output = Output::new(effects);
        match event {
            Event::Start => {
                self.wait_for_leader(&mut output);
                self.apply(&mut output);
            }
            Event::Message { from, message: ConsensusMessage::Raft(message) } => {
                self.on_message(from, message, &mut output)
            }
            Event::Message { .. } => output.reject(Rejection::Unexpected { what: "message of another protocol" }),
            Event::BlockSynced { from, block } => self.on_block_synced(from, block, &mut output),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, &mut output),
            Event::BlockBuilt { ticket, block } => self.on_built(ticket, block, &mut output),
            Event::Random { ticket, value } => self.on_random(ticket, value, &mut output),
            Event::Timer(timer) => self.on_timer(timer, &mut output),
            Event::Persisted(ticket) => self.on_persisted(ticket, &mut output),
            Event::Admin(admin) => self.on_admin(admin, &mut output),
        }
        self.finish(&mut output);
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator is the same in every replica of a chain; the address identifies the signer.
        let Self {
            config,
            authenticator: _,
            signer,
            term,
            vote,
            leader,
            state,
            election_timeout,
            log,
            head,
            applying,
            acknowledged: (acknowledged_term, acknowledged_index),
            sync,
            next_ticket,
        } = self;
        config.encode(out);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        out.u64(*term);
        out.option(*vote, |out, vote| out.u32(vote.get()));
        out.option(*leader, |out, leader| out.u32(leader.get()));
        let votes = |out: &mut Encoder, votes: &OrdMap<ReplicaId, bool>| {
            out.list(votes.iter(), |out, (replica, granted)| {
                out.u32(replica.get());
                out.bool(*granted);
            });
        };
        match state {
            ServerState::Follower => out.u8(0),
            ServerState::PreCandidate { votes: counted } => {
                out.u8(1);
                votes(out, counted);
            }
            ServerState::Candidate { votes: counted, own } => {
                out.u8(2);
                votes(out, counted);
                out.u64(own.get());
            }
            ServerState::Leader(leader) => {
                out.u8(3);
                leader.encode(out);
            }
        }
        election_timeout.encode(out);
        log.encode(out);
        head.encode(out);
        out.option(applying.as_ref(), |out, applying| applying.encode(out));
        out.u64(*acknowledged_term);
        out.u64(*acknowledged_index);
        out.option(sync.as_ref(), |out, sync| sync.encode(out));
        out.u64(next_ticket.get());
    }

    fn head(&self) -> BlockId {
        self.head.block
    }

    fn finality(&self) -> Finality {
        Finality::both(self.head.block, FinalityKind::LogCommit)
    }

    fn validators(&self) -> ValidatorSet {
        self.head.membership.validators()
    }
}

impl_by_encoding!(Raft);

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
