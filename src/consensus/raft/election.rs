//! Terms and elections: patience, pre-vote, votes, transfer of leadership (Raft, section 5.2; thesis, sections 3.10, 9.6).

use imbl::OrdMap;

use super::{Body, ELECTION_TIMER, HEARTBEAT_TIMER, Output, Part, Raft, RaftMessage, quorum::VoteResult};
use crate::consensus::{
    Deadline, Effect, Encoder, Rejection, ReplicaId, Ticket,
    mutation::{self, Mutation},
};

/// Terms further than this above one's own are no message of this life.
const TERM_JUMP_MAX: u64 = 1 << 32;

/// How long a replica still waits for a leader: once the election timeout, then a part of it again that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// A leader that was heard is believed to lead: nobody else gets a vote.
    Lease,
    /// The fixed part is over; how long the rest is was asked.
    Drawing(Ticket),
    /// The drawn part runs.
    Last,
}

/// Why somebody stands for election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Campaign {
    /// Asks first whether it could win.
    PreVote,
    /// It could.
    Election,
    /// The leader asked for it.
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
                // A pre-vote's term is only a question.
                Body::RequestVote { pre: true, .. } | Body::Vote { pre: true, granted: true } => {}
                _ => self.become_follower(term, of_leader.then_some(from), output),
            }
        } else if term < self.term {
            match body {
                // An old leader learns from the answer's term; so does a candidate that pre-vote keeps in an old one.
                _ if of_leader => output.promise(from, self.term, Body::HeartbeatAnswer { round: 0 }),
                Body::RequestVote { pre: true, .. } => {
                    output.promise(from, self.term, Body::Vote { pre: true, granted: false });
                }
                _ => output.mark("raft/old-term"),
            }
            return;
        }
        if of_leader {
            if !matches!(self.part, Part::Follower) {
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
            Body::HeartbeatAnswer { round } => self.on_heartbeat_answer(from, round, output),
            Body::Snapshot { index, entry_term, block } => self.on_snapshot(from, index, entry_term, block, output),
            Body::TimeoutNow => self.campaign(Campaign::Transfer, output),
        }
    }

    /// What no correct replica says. Nothing has changed yet.
    fn check_message(&self, from: ReplicaId, message: &RaftMessage) -> Result<(), String> {
        let RaftMessage { term, body } = message;
        if *term == 0 || *term > self.term.saturating_add(TERM_JUMP_MAX) {
            return Err(format!("term {term} is far from this replica's term {}", self.term));
        }
        if !self.config.is_replica(from) {
            return Err("it is no replica of this chain".to_owned());
        }
        // Whoever was asked was a member; a leader or candidate that is none yet, as far as is known here, may well be one
        // (Raft, section 6).
        let is_answer = matches!(
            body,
            Body::Vote { .. } | Body::Appended { .. } | Body::AppendRejected { .. } | Body::HeartbeatAnswer { .. }
        );
        if is_answer && !self.head.membership.is_member(from) {
            return Err("it answers and is no member".to_owned());
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
            Body::HeartbeatAnswer { round } if *term == self.term => match &self.part {
                Part::Leader(leader) if *round > leader.round => Err(format!("answers round {round} of heartbeats")),
                _ => Ok(()),
            },
            Body::Snapshot { index, block, .. } => self.check_snapshot(*index, *block),
            _ => Ok(()),
        }
    }

    /// Whether the present leader is to be believed for a while, so that no candidate can unseat it.
    fn is_in_lease(&self) -> bool {
        self.is_leader() || (self.leader.is_some() && self.patience == Patience::Lease)
    }

    /// Starts to wait anew.
    pub(super) fn wait_for_leader(&mut self, output: &mut Output<'_>) {
        self.patience = Patience::Lease;
        let deadline = Deadline::After { nanos: self.config.election_nanos() };
        output.effects.push(Effect::ArmTimer { timer: ELECTION_TIMER, deadline });
    }

    pub(super) fn on_election_timer(&mut self, output: &mut Output<'_>) {
        match self.patience {
            Patience::Lease => {
                let ticket = self.next_ticket.take_next();
                self.patience = Patience::Drawing(ticket);
                output.effects.push(Effect::Draw { ticket, bound: self.config.election_nanos() });
            }
            Patience::Last => self.campaign(Campaign::PreVote, output),
            Patience::Drawing(_) => output.mark("raft/stale-timer"),
        }
    }

    pub(super) fn on_random(&mut self, ticket: Ticket, value: u64, output: &mut Output<'_>) {
        if self.patience != Patience::Drawing(ticket) || self.is_leader() {
            return output.mark("raft/stale-draw");
        }
        self.patience = Patience::Last;
        output.effects.push(Effect::ArmTimer { timer: ELECTION_TIMER, deadline: Deadline::After { nanos: value } });
    }

    /// Stands for election, unless it may not: no voter, or a change of the members is committed and not applied.
    pub(super) fn campaign(&mut self, campaign: Campaign, output: &mut Output<'_>) {
        if self.is_leader() {
            return output.mark("raft/leads-already");
        }
        // Nobody is believed to lead any more, also by one who may not stand: its vote may be needed.
        self.leader = None;
        self.wait_for_leader(output);
        let Some(own_id) = self.own_id() else { return };
        if self.has_unapplied_change() {
            return output.mark("raft/change-first");
        }
        let pre = campaign == Campaign::PreVote;
        if pre {
            self.part = Part::PreCandidate { votes: OrdMap::unit(own_id, true) };
        } else {
            self.term += 1;
            self.vote = Some(own_id);
            output.hard_state = true;
            self.part = Part::Candidate { votes: OrdMap::new(), own: self.take_ticket(output) };
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
            output.promise(voter, term, body.clone());
        }
        self.count_votes(output);
    }

    /// Gives its vote or not (Raft, figure 2, "RequestVote RPC"). Learners vote too: the candidate may know of their
    /// promotion when they don't.
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
        // A granted pre-vote carries the term that was asked about, so that its asker finds it.
        let term = if granted { term } else { self.term };
        output.promise(from, term, Body::Vote { pre, granted });
    }

    fn on_vote(&mut self, from: ReplicaId, pre: bool, granted: bool, output: &mut Output<'_>) {
        match &mut self.part {
            Part::PreCandidate { votes } if pre => {
                votes.entry(from).or_insert(granted);
            }
            Part::Candidate { votes, .. } if !pre => {
                votes.entry(from).or_insert(granted);
            }
            _ => return output.mark("raft/stale-vote"),
        }
        self.count_votes(output);
    }

    /// Its own vote is durable.
    pub(super) fn vote_for_itself(&mut self, output: &mut Output<'_>) {
        if let (Some(own_id), Part::Candidate { votes, .. }) = (self.own_id(), &mut self.part) {
            votes.insert(own_id, true);
            self.count_votes(output);
        }
    }

    pub(super) fn count_votes(&mut self, output: &mut Output<'_>) {
        let (votes, pre) = match &self.part {
            Part::PreCandidate { votes } => (votes, true),
            Part::Candidate { votes, .. } => (votes, false),
            _ => return,
        };
        match self.head.membership.vote(|voter| votes.get(&voter).copied()) {
            VoteResult::Won if pre => self.campaign(Campaign::Election, output),
            VoteResult::Won => self.become_leader(output),
            VoteResult::Lost => self.become_follower(self.term, None, output),
            VoteResult::Pending => {}
        }
    }

    /// Follows in `term`; what it did as a leader ends.
    pub(super) fn become_follower(&mut self, term: u64, leader: Option<ReplicaId>, output: &mut Output<'_>) {
        if let Part::Leader(former) = &self.part {
            output.effects.push(Effect::DisarmTimer(HEARTBEAT_TIMER));
            former.stop_building(output);
            output.mark("raft/stepped-down");
        }
        if term > self.term {
            (self.term, self.vote) = (term, None);
            output.hard_state = true;
        }
        self.leader = leader;
        self.part = Part::Follower;
        self.wait_for_leader(output);
    }

    /// Begins to hand leadership to `to`: it is brought up to date, then told to stand. No block is built meanwhile.
    pub(super) fn transfer_leader(&mut self, to: ReplicaId, output: &mut Output<'_>) -> Result<(), String> {
        let own_id = self.own_id();
        let is_voter = self.head.membership.incoming().contains(&to);
        let last_index = self.log.last_index();
        let Part::Leader(leader) = &mut self.part else {
            return Err("only the leader hands leadership on; this replica does not lead".to_owned());
        };
        if !is_voter || own_id == Some(to) {
            return Err(format!("{to} can't take over: name another voter"));
        }
        leader.stop_building(output);
        (leader.transfer, leader.duty) = (Some(to), super::production::Duty::Idle);
        output.mark("raft/transfer");
        if leader.progress.get(&to).is_some_and(|progress| progress.matched() == last_index) {
            output.send(to, self.term, Body::TimeoutNow);
        } else {
            self.send_append(to, output);
        }
        Ok(())
    }
}

impl Patience {
    pub(super) fn encode(self, out: &mut Encoder) {
        match self {
            Self::Lease => out.u8(0),
            Self::Drawing(ticket) => {
                out.u8(1);
                out.u64(ticket.get());
            }
            Self::Last => out.u8(2),
        }
    }
}
