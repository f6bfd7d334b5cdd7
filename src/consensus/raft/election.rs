//! Terms and elections: election timeout, pre-vote, votes, leadership transfer (Raft, section 5.2; dissertation,
//! sections 3.10, 9.6).

use imbl::OrdMap;

use super::{Body, ELECTION_TIMER, HEARTBEAT_TIMER, Output, Raft, RaftMessage, ServerState, quorum::VoteResult};
use crate::consensus::{
    Deadline, Effect, Encoder, Rejection, ReplicaId, Ticket,
    mutation::{self, Mutation},
};

/// Largest accepted difference of a message's term above the replica's own.
const TERM_JUMP_MAX: u64 = 1 << 32;

/// Phase of the election timeout: a fixed part, the leader's lease, then a randomized part of at most the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElectionTimeout {
    /// The fixed part runs: with a known leader, vote requests are ignored.
    Lease,
    /// The fixed part is over; the random draw is pending.
    Drawing(Ticket),
    /// The randomized part runs.
    Randomized,
}

/// Kind of election that a replica campaigns in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Campaign {
    /// Pre-vote: asks without a change of term.
    PreVote,
    /// After a won pre-vote.
    Election,
    /// Leadership transfer: the leader sent TimeoutNow.
    Transfer,
}

impl Raft {
    pub(super) fn on_message(&mut self, from: ReplicaId, message: RaftMessage, output: &mut Output<'_>) {
        if let Err(reason) = self.check_message(from, &message) {
            return output.reject(Rejection::Message { from, reason });
        }
        let RaftMessage { term, body } = message;
        let of_leader = matches!(body, Body::Append { .. } | Body::Heartbeat { .. } | Body::Snapshot { .. });
        if term > self.term {
            match body {
                Body::RequestVote { transfer: false, .. } if self.is_in_lease() => {
                    return output.mark("raft/lease-kept");
                }
                // Pre-votes do not change the term.
                Body::RequestVote { pre: true, .. } | Body::Vote { pre: true, granted: true } => {}
                _ => self.become_follower(term, of_leader.then_some(from), output),
            }
        } else if term < self.term {
            match body {
                // The response's term updates a stale leader, and a pre-candidate that stays in an old term.
                _ if of_leader => output.send_after_write(from, self.term, Body::HeartbeatResponse { round: 0 }),
                Body::RequestVote { pre: true, .. } => {
                    output.send_after_write(from, self.term, Body::Vote { pre: true, granted: false });
                }
                _ => output.mark("raft/old-term"),
            }
            return;
        }
        if of_leader {
            if !matches!(self.state, ServerState::Follower) {
                self.become_follower(term, Some(from), output);
            }
            self.leader = Some(from);
            self.wait_for_leader(output);
        }
        match body {
            Body::RequestVote { pre, last_index, last_term, .. } => {
                self.on_vote_request(from, term, pre, (last_index, last_term), output);
            }
            Body::Vote { pre, granted } => self.on_vote(from, pre, granted, output),
            Body::Append { prev_index, prev_term, entries, commit } => {
                self.on_append(from, (prev_index, prev_term), &entries, commit, output);
            }
            Body::Appended { index } => self.on_appended(from, index, output),
            Body::AppendRejected { rejected, hint_index, hint_term } => {
                self.on_append_rejected(from, rejected, (hint_index, hint_term), output);
            }
            Body::Heartbeat { commit, round } => self.on_heartbeat(from, commit, round, output),
            Body::HeartbeatResponse { round } => self.on_heartbeat_response(from, round, output),
            Body::Snapshot { index, entry_term, block } => self.on_snapshot(from, index, entry_term, block, output),
            Body::TimeoutNow => self.campaign(Campaign::Transfer, output),
        }
    }

    /// Refuses a message that no correct replica sends, before any state changes.
    fn check_message(&self, from: ReplicaId, message: &RaftMessage) -> Result<(), String> {
        let RaftMessage { term, body } = message;
        if *term == 0 || *term > self.term.saturating_add(TERM_JUMP_MAX) {
            return Err(format!("term {term} is far from this replica's term {}", self.term));
        }
        if !self.config.is_replica(from) {
            return Err("sender is not a replica of this chain".to_owned());
        }
        // Requests go to members only, so that responses come from members; a leader or candidate may be a member whose
        // addition this replica has not applied (Raft, section 6).
        let is_response = matches!(
            body,
            Body::Vote { .. } | Body::Appended { .. } | Body::AppendRejected { .. } | Body::HeartbeatResponse { .. }
        );
        if is_response && !self.head.membership.is_member(from) {
            return Err("response of a replica that is not a member".to_owned());
        }
        let of_leader =
            matches!(body, Body::Append { .. } | Body::Heartbeat { .. } | Body::Snapshot { .. } | Body::TimeoutNow);
        if of_leader && *term == self.term && self.leader.is_some_and(|leader| leader != from) {
            return Err(format!("term {term} has another leader"));
        }
        match body {
            Body::Append { prev_index, prev_term, entries, .. } => {
                self.check_entries(*term, (*prev_index, *prev_term), entries)
            }
            Body::Appended { index } if *term == self.term && *index > self.log.last_index() => {
                Err(format!("acknowledges entry {index}; the log ends at {}", self.log.last_index()))
            }
            Body::HeartbeatResponse { round } if *term == self.term => match &self.state {
                ServerState::Leader(leader) if *round > leader.round => {
                    Err(format!("heartbeat response of round {round}; the newest round is {}", leader.round))
                }
                _ => Ok(()),
            },
            Body::Snapshot { index, block, .. } => self.check_snapshot(*index, *block),
            _ => Ok(()),
        }
    }

    /// Returns whether a leader's lease runs, in which vote requests are ignored.
    fn is_in_lease(&self) -> bool {
        self.is_leader() || (self.leader.is_some() && self.election_timeout == ElectionTimeout::Lease)
    }

    /// Restarts the election timeout.
    pub(super) fn wait_for_leader(&mut self, output: &mut Output<'_>) {
        self.election_timeout = ElectionTimeout::Lease;
        let deadline = Deadline::After { nanos: self.config.election_nanos() };
        output.effects.push(Effect::ArmTimer { timer: ELECTION_TIMER, deadline });
    }

    pub(super) fn on_election_timer(&mut self, output: &mut Output<'_>) {
        match self.election_timeout {
            ElectionTimeout::Lease => {
                let ticket = self.next_ticket.take_next();
                self.election_timeout = ElectionTimeout::Drawing(ticket);
                output.effects.push(Effect::Draw { ticket, bound: self.config.election_nanos() });
            }
            ElectionTimeout::Randomized => self.campaign(Campaign::PreVote, output),
            ElectionTimeout::Drawing(_) => output.mark("raft/stale-timer"),
        }
    }

    pub(super) fn on_random(&mut self, ticket: Ticket, value: u64, output: &mut Output<'_>) {
        if self.election_timeout != ElectionTimeout::Drawing(ticket) || self.is_leader() {
            return output.mark("raft/stale-draw");
        }
        self.election_timeout = ElectionTimeout::Randomized;
        output.effects.push(Effect::ArmTimer { timer: ELECTION_TIMER, deadline: Deadline::After { nanos: value } });
    }

    /// Starts an election, unless this replica is not a voter or has a committed membership change to apply.
    pub(super) fn campaign(&mut self, campaign: Campaign, output: &mut Output<'_>) {
        if self.is_leader() {
            return output.mark("raft/leads-already");
        }
        // The leader is unknown now, also for a replica that may not campaign: its vote may be needed.
        self.leader = None;
        self.wait_for_leader(output);
        let Some(own_id) = self.own_id() else { return };
        if self.has_unapplied_change() {
            return output.mark("raft/change-first");
        }
        let pre = campaign == Campaign::PreVote;
        if pre {
            self.state = ServerState::PreCandidate { votes: OrdMap::unit(own_id, true) };
        } else {
            self.term += 1;
            self.vote = Some(own_id);
            output.hard_state = true;
            self.state = ServerState::Candidate { votes: OrdMap::new(), own: self.take_ticket(output) };
        }
        output.mark(if pre { "raft/pre-vote" } else { "raft/election" });
        let body = Body::RequestVote {
            pre,
            transfer: campaign == Campaign::Transfer,
            last_index: self.log.last_index(),
            last_term: self.log.last_term(),
        };
        let term = self.term + u64::from(pre);
        let membership = self.head.membership.clone();
        for voter in membership.members().into_iter().filter(|voter| *voter != own_id && membership.is_voter(*voter)) {
            output.send_after_write(voter, term, body.clone());
        }
        self.count_votes(output);
    }

    /// Grants or refuses a vote (Raft, figure 2, "RequestVote RPC"). Learners vote too: they may have been promoted
    /// without having applied that yet.
    fn on_vote_request(
        &mut self,
        from: ReplicaId,
        term: u64,
        pre: bool,
        (last_index, last_term): (u64, u64),
        output: &mut Output<'_>,
    ) {
        let is_free =
            self.vote == Some(from) || (self.vote.is_none() && self.leader.is_none()) || (pre && term > self.term);
        let is_free = is_free || mutation::active(Mutation::RaftVotesTwice);
        let is_up_to_date =
            self.log.is_up_to_date(last_index, last_term) || mutation::active(Mutation::RaftVotesForAnyLog);
        let granted = is_free && is_up_to_date;
        if granted && !pre {
            self.vote = Some(from);
            output.hard_state = true;
            self.wait_for_leader(output);
        }
        // A granted pre-vote carries the requested term, by which the pre-candidate matches it.
        let term = if granted { term } else { self.term };
        output.send_after_write(from, term, Body::Vote { pre, granted });
    }

    fn on_vote(&mut self, from: ReplicaId, pre: bool, granted: bool, output: &mut Output<'_>) {
        match &mut self.state {
            ServerState::PreCandidate { votes } if pre => {
                votes.entry(from).or_insert(granted);
            }
            ServerState::Candidate { votes, .. } if !pre => {
                votes.entry(from).or_insert(granted);
            }
            _ => return output.mark("raft/stale-vote"),
        }
        self.count_votes(output);
    }

    /// Counts the candidate's own vote, which is durable now.
    pub(super) fn vote_for_itself(&mut self, output: &mut Output<'_>) {
        if let (Some(own_id), ServerState::Candidate { votes, .. }) = (self.own_id(), &mut self.state) {
            votes.insert(own_id, true);
            self.count_votes(output);
        }
    }

    pub(super) fn count_votes(&mut self, output: &mut Output<'_>) {
        let (votes, pre) = match &self.state {
            ServerState::PreCandidate { votes } => (votes, true),
            ServerState::Candidate { votes, .. } => (votes, false),
            _ => return,
        };
        match self.head.membership.vote(|voter| votes.get(&voter).copied()) {
            VoteResult::Won if pre => self.campaign(Campaign::Election, output),
            VoteResult::Won => self.become_leader(output),
            VoteResult::Lost => self.become_follower(self.term, None, output),
            VoteResult::Pending => {}
        }
    }

    /// Becomes a follower in `term`; ends the duties of a leader.
    pub(super) fn become_follower(&mut self, term: u64, leader: Option<ReplicaId>, output: &mut Output<'_>) {
        self.abort_reads(output);
        if let ServerState::Leader(former) = &self.state {
            output.effects.push(Effect::DisarmTimer(HEARTBEAT_TIMER));
            former.stop_building(output);
            output.mark("raft/stepped-down");
        }
        if term > self.term {
            (self.term, self.vote) = (term, None);
            output.hard_state = true;
        }
        self.leader = leader;
        self.state = ServerState::Follower;
        self.wait_for_leader(output);
    }

    /// Starts a leadership transfer to `to`: replicates the log to it, then sends TimeoutNow. No block is built meanwhile.
    pub(super) fn transfer_leader(&mut self, to: ReplicaId, output: &mut Output<'_>) -> Result<(), String> {
        let own_id = self.own_id();
        let is_voter = self.head.membership.incoming().contains(&to);
        let last_index = self.log.last_index();
        let ServerState::Leader(leader) = &mut self.state else {
            return Err("only the leader transfers leadership; this replica is not the leader".to_owned());
        };
        if !is_voter || own_id == Some(to) {
            return Err(format!("leadership can't go to {to}: name another voter"));
        }
        leader.stop_building(output);
        (leader.transfer, leader.build_state) = (Some(to), super::production::BuildState::Idle);
        output.mark("raft/transfer");
        if leader.progress.get(&to).is_some_and(|progress| progress.matched() == last_index) {
            output.send(to, self.term, Body::TimeoutNow);
        } else {
            self.send_append(to, output);
        }
        Ok(())
    }
}

impl ElectionTimeout {
    pub(super) fn encode(self, out: &mut Encoder) {
        match self {
            Self::Lease => out.u8(0),
            Self::Drawing(ticket) => {
                out.u8(1);
                out.u64(ticket.get());
            }
            Self::Randomized => out.u8(2),
        }
    }
}
