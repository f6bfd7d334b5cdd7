//! Reads that see every write acknowledged before them, without an entry in the log (thesis, section 6.4).

use super::{Output, Part, Raft};
use crate::consensus::{ChainEvent, Effect, Encoder};

/// Reads that wait at once.
const READS_MAX: usize = 1_024;

/// A read that waits until a majority confirmed, after it was asked, that this replica still leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingRead {
    request: u64,
    /// The round of heartbeats that has to be answered.
    round: u64,
    /// What has to be applied.
    index: u64,
}

impl Raft {
    /// Asks a majority whether this replica still leads; [`ChainEvent::ReadReady`] tells when the head may be read.
    pub(super) fn read(&mut self, request: u64, output: &mut Output<'_>) -> Result<(), String> {
        let index = self.log.committed();
        let has_committed = self.log.term(index) == Some(self.term);
        let Part::Leader(leader) = &mut self.part else {
            return Err("only the leader answers such reads; this replica does not lead".to_owned());
        };
        if !has_committed {
            return Err("the leader has not committed an entry of its term yet; ask again".to_owned());
        }
        if leader.reads.len() >= READS_MAX {
            return Err(format!("{READS_MAX} reads wait already"));
        }
        leader.reads.push_back(PendingRead { request, round: leader.round + 1, index });
        self.broadcast_heartbeat(output);
        self.release_reads(output);
        Ok(())
    }

    /// Answers the reads whose round a majority answered and whose index is applied.
    pub(super) fn release_reads(&mut self, output: &mut Output<'_>) {
        if !matches!(&self.part, Part::Leader(leader) if !leader.reads.is_empty()) {
            return;
        }
        let own_id = self.own_id();
        let Part::Leader(leader) = &mut self.part else { return };
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
