//! Log replication: AppendEntries, heartbeats and commitment (Raft, sections 5.3 and 5.4.2).

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    BUILD_TIMER, Body, ELECTION_TIMER, Entry, HEARTBEAT_TIMER, Output, Payload, Raft, ServerState, production::Leader,
};
use crate::consensus::{
    BlockId, Deadline, Effect, Purpose, ReplicaId,
    mutation::{self, Mutation},
};

impl Raft {
    pub(super) fn become_leader(&mut self, output: &mut Output<'_>) {
        let Some(own_id) = self.own_id() else { return };
        self.leader = Some(own_id);
        self.state = ServerState::Leader(Leader::new(&self.head.membership, own_id, self.log.last_index()));
        // An empty entry: a leader commits nothing before an entry of its own term.
        let index = self.log.last_index() + 1;
        self.log.append(Entry::new(self.term, index, None));
        output.entries_changed(index);
        output.mark("raft/leader");
        self.arm_quorum_check(output);
        self.on_heartbeat_timer(output);
        self.broadcast_append(output);
    }

    /// Sends heartbeats, which restart the followers' election timeouts.
    pub(super) fn on_heartbeat_timer(&mut self, output: &mut Output<'_>) {
        let deadline = Deadline::After { nanos: self.config.heartbeat_nanos() };
        output.effects.push(Effect::ArmTimer { timer: HEARTBEAT_TIMER, deadline });
        self.broadcast_heartbeat(output);
    }

    /// Sends a new round of heartbeats.
    pub(super) fn broadcast_heartbeat(&mut self, output: &mut Output<'_>) {
        let (term, committed) = (self.term, self.log.committed());
        let ServerState::Leader(leader) = &mut self.state else { return };
        leader.round += 1;
        let commits_all = mutation::active(Mutation::RaftHeartbeatCommitsAll);
        for (replica, progress) in &leader.progress {
            let commit = if commits_all { committed } else { progress.matched().min(committed) };
            output.send(*replica, term, Body::Heartbeat { commit, round: leader.round });
        }
    }

    /// Steps down unless messages of a majority arrived within an election timeout; aborts a leadership transfer that
    /// took as long.
    pub(super) fn check_quorum(&mut self, output: &mut Output<'_>) {
        let own_id = self.own_id();
        let ServerState::Leader(leader) = &mut self.state else { return };
        let is_active = |voter: ReplicaId| {
            Some(Some(voter) == own_id || leader.progress.get(&voter).is_some_and(|progress| progress.active))
        };
        if self.head.membership.vote(is_active) != super::quorum::VoteResult::Won {
            output.mark("raft/quorum-lost");
            return self.become_follower(self.term, None, output);
        }
        let replicas: Vec<_> = leader.progress.keys().copied().collect();
        for replica in replicas {
            if let Some(progress) = leader.progress.get_mut(&replica) {
                progress.active = false;
            }
        }
        if leader.transfer.take().is_some() {
            output.mark("raft/transfer-given-up");
        }
        self.arm_quorum_check(output);
        self.plan_block(output);
    }

    fn arm_quorum_check(&self, output: &mut Output<'_>) {
        let deadline = Deadline::After { nanos: self.config.election_nanos() };
        output.effects.push(Effect::ArmTimer { timer: ELECTION_TIMER, deadline });
    }

    pub(super) fn broadcast_append(&mut self, output: &mut Output<'_>) {
        let ServerState::Leader(leader) = &self.state else { return };
        let replicas: SmallVec<[ReplicaId; 8]> = leader.progress.keys().copied().collect();
        let mut shared = None;
        for replica in replicas {
            self.send_append_sharing(replica, &mut shared, output);
        }
    }

    /// Sends the entries that `to` lacks, unless it is paused; without any, the commit index.
    pub(super) fn send_append(&mut self, to: ReplicaId, output: &mut Output<'_>) {
        self.send_append_sharing(to, &mut None, output);
    }

    /// As [`Raft::send_append`]; `shared` are the entries from some index on that another follower was sent, which most
    /// followers lack alike.
    fn send_append_sharing(
        &mut self,
        to: ReplicaId,
        shared: &mut Option<(u64, Arc<[Entry]>)>,
        output: &mut Output<'_>,
    ) {
        let ServerState::Leader(leader) = &mut self.state else { return };
        let Some(progress) = leader.progress.get_mut(&to).filter(|p| !p.is_paused(self.config.inflight_max)) else {
            return;
        };
        let prev_index = progress.next_index() - 1;
        let Some(prev_term) = self.log.term(prev_index) else {
            progress.become_snapshot(self.head.index);
            output.mark("raft/snapshot");
            return self.send_snapshot(to, output);
        };
        let first = prev_index + 1;
        let entries = match shared {
            Some((from, entries)) if *from == first => entries.clone(),
            _ => shared.insert((first, self.log.slice(first, self.config.entries_max))).1.clone(),
        };
        progress.sent(entries.last().map(|entry| entry.index));
        let commit = self.log.committed();
        output.send(to, self.term, Body::Append { prev_index, prev_term, entries, commit });
    }

    /// Verifies that `entries` can come from a leader in `term`: in order, each block with its entry's term and index,
    /// sealed by its author, and a child of the block before it.
    pub(super) fn check_entries(
        &self,
        term: u64,
        (prev_index, prev_term): (u64, u64),
        entries: &[Entry],
    ) -> Result<(), String> {
        if entries.is_empty() {
            return Ok(());
        }
        let agrees = self.log.term(prev_index) == Some(prev_term);
        let mut parent = agrees.then(|| self.log.block_at_or_below(prev_index));
        let mut last = (prev_index, prev_term);
        for entry in entries {
            let Entry { term: entry_term, index, block, .. } = entry;
            if Some(*index) != last.0.checked_add(1) || *entry_term < last.1 || *entry_term > term {
                return Err(format!(
                    "entry {index} of term {entry_term} can't follow entry {} of term {}",
                    last.0, last.1
                ));
            }
            last = (*index, *entry_term);
            if agrees && *index <= self.log.committed() && self.log.term(*index).is_some_and(|own| own != *entry_term) {
                return Err(format!("entry {index} of term {entry_term} conflicts with a committed entry"));
            }
            let Some(block) = block else { continue };
            let payload = Payload::decode(block.protocol_payload()).map_err(|error| error.to_string())?;
            if (payload.term, payload.index) != (*entry_term, *index) {
                return Err(format!("entry {index} holds the block of entry {}", payload.index));
            }
            if parent.is_some_and(|parent| parent != BlockId::parent_of(block)) {
                return Err(format!("the block of entry {index} is not a child of the one before it"));
            }
            let author = self
                .authenticator
                .author(Purpose::Block, block.hash(), block.seal())
                .map_err(|error| error.to_string())?;
            if author != block.header().beneficiary {
                return Err(format!("the block of entry {index} is sealed by {author}, not by its author"));
            }
            parent = Some(BlockId::of(block));
        }
        Ok(())
    }

    /// Appends entries that follow a matching entry (Raft, figure 2, "AppendEntries RPC").
    pub(super) fn on_append(
        &mut self,
        from: ReplicaId,
        (prev_index, prev_term): (u64, u64),
        entries: &[Entry],
        commit: u64,
        output: &mut Output<'_>,
    ) {
        if prev_index < self.log.committed() && self.log.term(prev_index) != Some(prev_term) {
            // Compacted here: committed entries match every leader's log.
            return output.send_after_write(from, self.term, Body::Appended { index: self.log.committed() });
        }
        if self.log.term(prev_index).is_none_or(|term| term != prev_term) {
            let (hint_index, hint_term) = self.log.find_conflict_by_term(prev_index, prev_term);
            let body = Body::AppendRejected { rejected: prev_index, hint_index, hint_term };
            return output.send_after_write(from, self.term, body);
        }
        if let Some(first) = self.log.merge(entries) {
            output.entries_changed(first);
        }
        let index = entries.last().map_or(prev_index, |entry| entry.index);
        let is_committed = self.log.commit(commit.min(index));
        // A message that only advances the commit index needs no second acknowledgement; if the first is lost, the
        // response to a heartbeat causes the entries to be sent again.
        if !(is_committed && entries.is_empty() && self.acknowledged == (self.term, index)) {
            self.acknowledged = (self.term, index);
            output.send_after_write(from, self.term, Body::Appended { index });
        }
        self.apply(output);
    }

    pub(super) fn on_appended(&mut self, from: ReplicaId, index: u64, output: &mut Output<'_>) {
        let ServerState::Leader(leader) = &mut self.state else { return output.mark("raft/stale-answer") };
        let Some(progress) = leader.progress.get_mut(&from) else { return };
        progress.active = true;
        let was_paused = progress.is_paused(self.config.inflight_max);
        let advanced = progress.acknowledge(index);
        let committed = self.log.committed();
        if advanced {
            self.maybe_commit(output);
        }
        if was_paused && committed == self.log.committed() {
            self.send_append(from, output);
        }
        self.fill_window(from, output);
        self.complete_transfer(from, output);
    }

    /// Fills the in-flight window of a follower that lacks entries.
    fn fill_window(&mut self, to: ReplicaId, output: &mut Output<'_>) {
        loop {
            let ServerState::Leader(leader) = &self.state else { return };
            let more = leader.progress.get(&to).is_some_and(|progress| {
                progress.is_replicating()
                    && !progress.is_paused(self.config.inflight_max)
                    && progress.next_index() <= self.log.last_index()
            });
            if !more {
                return;
            }
            self.send_append(to, output);
        }
    }

    fn complete_transfer(&self, from: ReplicaId, output: &mut Output<'_>) {
        let ServerState::Leader(leader) = &self.state else { return };
        let is_caught_up = leader.progress.get(&from).is_some_and(|p| p.matched() == self.log.last_index());
        if leader.transfer == Some(from) && is_caught_up {
            output.send(from, self.term, Body::TimeoutNow);
        }
    }

    /// Moves a follower's next index back after a rejected append, by a whole term per message with the help of the hint.
    pub(super) fn on_append_rejected(
        &mut self,
        from: ReplicaId,
        rejected: u64,
        (hint_index, hint_term): (u64, u64),
        output: &mut Output<'_>,
    ) {
        let ServerState::Leader(leader) = &mut self.state else { return output.mark("raft/stale-answer") };
        let Some(progress) = leader.progress.get_mut(&from) else { return };
        progress.active = true;
        let (hint, _) = self.log.find_conflict_by_term(hint_index, hint_term);
        let is_learner = !self.head.membership.is_voter(from);
        if progress.reject(rejected, hint.min(hint_index), is_learner) {
            output.mark("raft/fast-reject");
            self.send_append(from, output);
        }
    }

    /// Commits entries that a majority stores, if the last is of this term: older entries are committed with it and
    /// never by counting replicas (Raft, section 5.4.2, figure 8).
    pub(super) fn maybe_commit(&mut self, output: &mut Output<'_>) {
        if self.log.committed() == self.log.last_index() {
            return;
        }
        let own_id = self.own_id();
        let ServerState::Leader(leader) = &self.state else { return };
        let durable = self.log.durable();
        let index = self.head.membership.committed(|voter| {
            if Some(voter) == own_id { durable } else { leader.progress.get(&voter).map_or(0, |p| p.matched()) }
        });
        if self.log.term(index) == Some(self.term) && self.log.commit(index) {
            self.broadcast_append(output);
            self.apply(output);
        }
    }

    pub(super) fn on_heartbeat(&mut self, from: ReplicaId, commit: u64, round: u64, output: &mut Output<'_>) {
        self.log.commit(commit);
        output.send_after_write(from, self.term, Body::HeartbeatResponse { round });
        self.apply(output);
    }

    pub(super) fn on_heartbeat_response(&mut self, from: ReplicaId, round: u64, output: &mut Output<'_>) {
        let ServerState::Leader(leader) = &mut self.state else { return output.mark("raft/stale-answer") };
        let Some(progress) = leader.progress.get_mut(&from) else { return };
        progress.active = true;
        progress.round = progress.round.max(round);
        progress.resume(self.config.inflight_max);
        if progress.snapshot().is_some() {
            self.send_snapshot(from, output);
        } else if progress.matched() < self.log.last_index() || !progress.is_replicating() {
            self.send_append(from, output);
        }
        self.release_reads(output);
    }

    pub(super) fn arm_build(&self, output: &mut Output<'_>) {
        let timestamp = self.head.earliest_next(&self.config);
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
        output.effects.push(Effect::ArmTimer { timer: BUILD_TIMER, deadline });
    }
}
