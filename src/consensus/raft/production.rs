//! A leader's own state, and its blocks: one at a time, on a log that is committed and applied to its end.

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use super::{
    BUILD_TIMER, Change, Entry, Membership, Output, Part, Payload, Raft,
    progress::{Progress, follow_members},
    read::PendingRead,
    rules::{check_header, next_voters},
};
use crate::{
    chain::Block,
    consensus::{BlockId, BuildRequest, Effect, Encoder, Rejection, ReplicaId, Signer, Ticket},
    primitives::B256,
};

/// What a leader has beside the rest.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    /// Every other member.
    pub(super) progress: OrdMap<ReplicaId, Progress>,
    /// The newest round of heartbeats.
    pub(super) round: u64,
    /// To whom leadership is being handed.
    pub(super) transfer: Option<ReplicaId>,
    /// Reads that wait for a round to be answered.
    pub(super) reads: Vector<PendingRead>,
    pub(super) duty: Duty,
    /// The change of members that the next block carries.
    change: Option<Change>,
}

/// What a leader does about the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Nothing yet: the log is not applied to its end, or leadership is being handed on.
    Idle,
    /// The timer runs.
    Waiting,
    /// A block was asked for.
    Building(Ticket),
}

impl Leader {
    pub(super) fn new(membership: &Membership, own_id: ReplicaId, last_index: u64) -> Self {
        let mut progress = OrdMap::new();
        follow_members(&mut progress, membership, last_index + 1);
        progress.remove(&own_id);
        Self { progress, round: 0, transfer: None, reads: Vector::new(), duty: Duty::Idle, change: None }
    }

    pub(super) fn stop_building(&self, output: &mut Output<'_>) {
        match self.duty {
            Duty::Waiting => output.effects.push(Effect::DisarmTimer(BUILD_TIMER)),
            Duty::Building(_) => output.effects.push(Effect::CancelBuild),
            Duty::Idle => {}
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { progress, round, transfer, reads, duty, change } = self;
        out.list(progress.iter(), |out, (replica, of_replica)| {
            out.u32(replica.get());
            of_replica.encode(out);
        });
        out.u64(*round);
        out.option(*transfer, |out, to| out.u32(to.get()));
        out.list(reads.iter(), |out, read| read.encode(out));
        let (duty, ticket) = match *duty {
            Duty::Idle => (0, Ticket::default()),
            Duty::Waiting => (1, Ticket::default()),
            Duty::Building(ticket) => (2, ticket),
        };
        out.u8(duty);
        out.u64(ticket.get());
        out.option(change.as_ref(), |out, change| {
            out.bytes(&Payload::of_change(change.clone()).encoded());
        });
    }
}

impl Raft {
    /// Sees to the next block when it is time to.
    pub(super) fn plan_block(&mut self, output: &mut Output<'_>) {
        let is_ready = self.log.applied() == self.log.last_index() && self.applying.is_none();
        let Part::Leader(leader) = &mut self.part else { return };
        if !is_ready || leader.transfer.is_some() || leader.duty != Duty::Idle {
            return;
        }
        if self.config.period == 0 {
            self.ask_for_block(output);
        } else {
            leader.duty = Duty::Waiting;
            self.arm_build(output);
        }
    }

    pub(super) fn on_build_timer(&mut self, output: &mut Output<'_>) {
        match &self.part {
            Part::Leader(leader) if leader.duty == Duty::Waiting => self.ask_for_block(output),
            _ => output.mark("raft/stale-timer"),
        }
    }

    fn ask_for_block(&mut self, output: &mut Output<'_>) {
        let Some(beneficiary) = self.signer.as_ref().map(Signer::address) else { return };
        let membership = &self.head.membership;
        let Part::Leader(leader) = &mut self.part else { return };
        // A proposal that another block made impossible is dropped.
        leader.change = leader.change.take().filter(|change| membership.after(change).is_ok());
        let leave = (membership.is_joint() && membership.auto_leave()).then_some(Change::LeaveJoint);
        let change = leave.or_else(|| leader.change.clone());
        let after = change.as_ref().and_then(|change| membership.after(change).ok());
        let next_voters = after.and_then(|after| next_voters(membership, &after));
        let payload = Payload { term: self.term, index: self.log.last_index() + 1, change, next_voters };
        let ticket = self.next_ticket.take_next();
        leader.duty = Duty::Building(ticket);
        output.effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: self.head.block,
            beneficiary,
            difficulty: 0,
            timestamp_min: self.head.earliest_next(&self.config),
            mix_hash: B256::ZERO,
            payload: payload.encoded(),
        }));
    }

    /// The block becomes the log's next entry.
    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, output: &mut Output<'_>) {
        let (Part::Leader(leader), Some(signer)) = (&self.part, &self.signer) else {
            return output.mark("raft/stale-build");
        };
        if leader.duty != Duty::Building(ticket) || BlockId::parent_of(&block) != self.head.block {
            return output.mark("raft/stale-build");
        }
        let seal = signer.sign(block.hash());
        let sealed = Arc::new(Arc::unwrap_or_clone(block).with_seal(seal));
        let link = match check_header(&self.config, &self.head, &sealed.as_ref().into(), signer.address()) {
            Ok(link) if (link.term, link.index) == (self.term, self.log.last_index() + 1) => link,
            Ok(_) => return output.mark("raft/stale-build"),
            Err(error) => {
                let (block, reason) = (BlockId::of(&sealed), error.to_string());
                return output.reject(Rejection::Header { block, reason });
            }
        };
        let changes_members = link.membership != self.head.membership;
        if let Part::Leader(leader) = &mut self.part {
            leader.duty = Duty::Idle;
            leader.change = leader.change.take().filter(|_| !changes_members);
        }
        self.log.append(Entry::new(self.term, link.index, Some(sealed)));
        output.entries_changed(link.index);
        self.broadcast_append(output);
    }

    /// Takes a change of members for the next block.
    pub(super) fn propose_change(&mut self, change: Change, output: &mut Output<'_>) -> Result<(), String> {
        let membership = self.head.membership.clone();
        let has_unapplied_change = self.log.applied() < self.log.last_index();
        let Part::Leader(leader) = &mut self.part else {
            return Err("only the leader changes the members; this replica does not lead".to_owned());
        };
        if leader.change.is_some() || has_unapplied_change {
            return Err("an earlier block or change is not in force yet; ask again after it".to_owned());
        }
        membership.after(&change).map_err(|error| error.to_string())?;
        leader.change = Some(change);
        // A block that was asked for and not built yet takes it along.
        if matches!(leader.duty, Duty::Building(_)) {
            self.ask_for_block(output);
        }
        Ok(())
    }
}
