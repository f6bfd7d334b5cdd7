//! A leader's state, and its block production: one block at a time, on a log that is committed and applied to its end.

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use super::{
    BUILD_TIMER, Change, Entry, Membership, Output, Payload, Raft, ServerState,
    progress::{Progress, track_members},
    read::PendingRead,
    registry::next_change,
    rules::{check_header, next_voters},
};
use crate::{
    chain::Block,
    consensus::{BlockId, BuildRequest, Effect, Encoder, Purpose, Rejection, ReplicaId, Signer, Ticket},
    primitives::{B64, B256},
};

/// Volatile state of a leader.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    /// Replication progress of every other member.
    pub(super) progress: OrdMap<ReplicaId, Progress>,
    /// The newest heartbeat round.
    pub(super) round: u64,
    /// Target of a leadership transfer in progress.
    pub(super) transfer: Option<ReplicaId>,
    /// Pending ReadIndex requests, oldest first.
    pub(super) reads: Vector<PendingRead>,
    pub(super) build_state: BuildState,
    /// The membership change for the next block.
    change: Option<Change>,
}

/// Stage of the next block's production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuildState {
    /// Not started: the log is not applied to its end, or a leadership transfer is in progress.
    Idle,
    /// The build timer runs.
    Waiting,
    /// A block was requested.
    Building(Ticket),
}

impl Leader {
    pub(super) fn new(membership: &Membership, own_id: ReplicaId, last_index: u64) -> Self {
        let mut progress = OrdMap::new();
        track_members(&mut progress, membership, last_index + 1);
        progress.remove(&own_id);
        Self { progress, round: 0, transfer: None, reads: Vector::new(), build_state: BuildState::Idle, change: None }
    }

    pub(super) fn stop_building(&self, output: &mut Output<'_>) {
        match self.build_state {
            BuildState::Waiting => output.effects.push(Effect::DisarmTimer(BUILD_TIMER)),
            BuildState::Building(_) => output.effects.push(Effect::CancelBuild),
            BuildState::Idle => {}
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { progress, round, transfer, reads, build_state, change } = self;
        out.list(progress.iter(), |out, (replica, of_replica)| {
            out.u32(replica.get());
            of_replica.encode(out);
        });
        out.u64(*round);
        out.option(*transfer, |out, to| out.u32(to.get()));
        out.list(reads.iter(), |out, read| read.encode(out));
        let (build_state, ticket) = match *build_state {
            BuildState::Idle => (0, Ticket::default()),
            BuildState::Waiting => (1, Ticket::default()),
            BuildState::Building(ticket) => (2, ticket),
        };
        out.u8(build_state);
        out.u64(ticket.get());
        out.option(change.as_ref(), |out, change| {
            out.bytes(&Payload::of_change(change.clone()).encoded());
        });
    }
}

impl Raft {
    /// Starts production of the next block, if it may.
    pub(super) fn plan_block(&mut self, output: &mut Output<'_>) {
        let is_ready = self.log.applied() == self.log.last_index() && self.applying.is_none();
        let ServerState::Leader(leader) = &mut self.state else { return };
        if !is_ready || leader.transfer.is_some() || leader.build_state != BuildState::Idle {
            return;
        }
        if self.config.period == 0 {
            self.request_block(output);
        } else {
            leader.build_state = BuildState::Waiting;
            self.arm_build(output);
        }
    }

    pub(super) fn on_build_timer(&mut self, output: &mut Output<'_>) {
        match &self.state {
            ServerState::Leader(leader) if leader.build_state == BuildState::Waiting => self.request_block(output),
            _ => output.mark("raft/stale-timer"),
        }
    }

    fn request_block(&mut self, output: &mut Output<'_>) {
        let Some(beneficiary) = self.signer.as_ref().map(Signer::address) else { return };
        let membership = &self.head.membership;
        let ServerState::Leader(leader) = &mut self.state else { return };
        // Drops a proposed change that another block made invalid.
        leader.change = leader.change.take().filter(|change| membership.after(change).is_ok());
        let leave = (membership.is_joint() && membership.auto_leave()).then_some(Change::LeaveJoint);
        let change = match self.head.pending.as_ref().filter(|_| self.config.by_contract) {
            Some(pending) => next_change(&self.config, membership, pending),
            None => leave.or_else(|| leader.change.clone()),
        };
        let after = change.as_ref().and_then(|change| membership.after(change).ok());
        let next_voters = after.and_then(|after| next_voters(membership, &after));
        let payload = Payload { term: self.term, index: self.log.last_index() + 1, change, next_voters };
        let ticket = self.next_ticket.take_next();
        leader.build_state = BuildState::Building(ticket);
        output.effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: self.head.block,
            beneficiary,
            difficulty: 0,
            timestamp_min: self.head.earliest_next(&self.config),
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            payload: payload.encoded(),
        }));
    }

    /// Appends the built block to the log as its next entry.
    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, output: &mut Output<'_>) {
        let (ServerState::Leader(leader), Some(signer)) = (&self.state, &self.signer) else {
            return output.mark("raft/stale-build");
        };
        if leader.build_state != BuildState::Building(ticket) || BlockId::parent_of(&block) != self.head.block {
            return output.mark("raft/stale-build");
        }
        let seal = signer.sign(Purpose::Block, block.hash());
        let sealed = Arc::new(Arc::unwrap_or_clone(block).with_seal(seal));
        let context = match check_header(&self.config, &self.head, &sealed.as_ref().into(), signer.address()) {
            Ok(context) if (context.term, context.index) == (self.term, self.log.last_index() + 1) => context,
            Ok(_) => return output.mark("raft/stale-build"),
            Err(error) => {
                let (block, reason) = (BlockId::of(&sealed), error.to_string());
                return output.reject(Rejection::Header { block, reason });
            }
        };
        let changes_members = context.membership != self.head.membership;
        if let ServerState::Leader(leader) = &mut self.state {
            leader.build_state = BuildState::Idle;
            leader.change = leader.change.take().filter(|_| !changes_members);
        }
        self.log.append(Entry::new(self.term, context.index, Some(sealed)));
        output.entries_changed(context.index);
        self.broadcast_append(output);
    }

    /// Schedules a membership change for the next block.
    pub(super) fn propose_change(&mut self, change: Change, output: &mut Output<'_>) -> Result<(), String> {
        if self.config.by_contract {
            return Err(
                "the validators' contract of this chain decides who votes; its administrator adds and removes voters"
                    .to_owned(),
            );
        }
        let membership = self.head.membership.clone();
        let has_unapplied_change = self.log.applied() < self.log.last_index();
        let ServerState::Leader(leader) = &mut self.state else {
            return Err("only the leader changes the members; this replica is not the leader".to_owned());
        };
        if leader.change.is_some() || has_unapplied_change {
            return Err("an earlier block or change is not applied yet; retry later".to_owned());
        }
        membership.after(&change).map_err(|error| error.to_string())?;
        leader.change = Some(change);
        // Replaces the request of a block that is not built yet.
        if matches!(leader.build_state, BuildState::Building(_)) {
            self.request_block(output);
        }
        Ok(())
    }
}
