//! ReadIndex: linearizable reads without a log entry (dissertation, section 6.4).

use super::{Output, Raft, ServerState};
use crate::consensus::{
    ChainEvent, Effect, Encoder,
    mutation::{self, Mutation},
};

/// Largest number of pending reads.
const READS_MAX: usize = 1_024;

/// A read that waits until a majority confirms that this replica still was leader after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingRead {
    request: u64,
    /// The heartbeat round that a majority has to respond to.
    round: u64,
    /// The read index: has to be applied first.
    index: u64,
}

impl Raft {
    /// Starts a ReadIndex request; [`ChainEvent::ReadReady`] follows when the head may be read, or
    /// [`ChainEvent::ReadAborted`] when this replica stops leading first.
    pub(super) fn read(&mut self, request: u64, output: &mut Output<'_>) -> Result<(), String> {
        let index = self.log.committed();
        let has_committed = self.log.term(index) == Some(self.term);
        let ServerState::Leader(leader) = &mut self.state else {
            return Err("only the leader serves linearizable reads; this replica is not the leader".to_owned());
        };
        if !has_committed {
            return Err("the leader has not committed an entry of its term yet; retry later".to_owned());
        }
        if leader.reads.len() >= READS_MAX {
            return Err(format!("{READS_MAX} reads are pending already; retry later"));
        }
        leader.reads.push_back(PendingRead { request, round: leader.round + 1, index });
        self.broadcast_heartbeat(output);
        self.release_reads(output);
        Ok(())
    }

    /// Tells those who wait for a read that this replica, the leader so far, does not serve it.
    pub(super) fn abort_reads(&mut self, output: &mut Output<'_>) {
        let ServerState::Leader(leader) = &mut self.state else { return };
        let pending = core::mem::take(&mut leader.reads);
        for PendingRead { request, .. } in pending.into_iter().filter(|_| !mutation::active(Mutation::RaftDropsReads)) {
            output.effects.push(Effect::Chain(ChainEvent::ReadAborted { request }));
        }
    }

    /// Completes the reads whose round a majority responded to and whose index is applied.
    pub(super) fn release_reads(&mut self, output: &mut Output<'_>) {
        if !matches!(&self.state, ServerState::Leader(leader) if !leader.reads.is_empty()) {
            return;
        }
        let own_id = self.own_id();
        let ServerState::Leader(leader) = &mut self.state else { return };
        let (round, progress) = (leader.round, &leader.progress);
        let confirmed = self
            .head
            .membership
            .committed(|voter| if Some(voter) == own_id { round } else { progress.get(&voter).map_or(0, |p| p.round) });
        let applied = self.log.applied();
        while let Some(read) = leader.reads.front().filter(|read| read.round <= confirmed && read.index <= applied) {
            let (request, block) = (read.request, self.head.block);
            output.effects.push(Effect::Chain(ChainEvent::ReadReady { request, block }));
            leader.reads.pop_front();
        }
    }
}

impl PendingRead {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { request, round, index } = self;
        out.u64(*request);
        out.u64(*round);
        out.u64(*index);
    }
}
