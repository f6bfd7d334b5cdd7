//! A chained protocol in two phases, after HotStuff-2 (Malkhi and Nayak, 2023), simplified: votes go to everybody.
//!
//! View `v` has one leader, who proposes a block on the block of the highest certificate it knows; the block's payload has both. A quorum of
//! votes is the next certificate, and begins the next view. A view without one ends by new-view votes, which carry certificates.

use std::time::Duration;

use chainbox::{
    consensus::{
        Ballot, BlockId, BlockTimers, BlockTree, Effect, Encoder, Event, Finality, OwnProtocol, Pacemaker, Participant,
        Proposal, Protocol, Quorum, QuorumCertificate, Rejection, ReplicaStart, RoundStatus, TimerId, ValidatorSet,
        Votes,
    },
    sim::{Invariant, invariant},
};
use serde::{Deserialize, Serialize};

const TIMERS: BlockTimers = BlockTimers { build: TimerId::new(1), fetch: TimerId::new(2) };
const VIEW: TimerId = TimerId::new(3);

/// A block's view, and the certificate of its parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Payload {
    view: u64,
    justify: QuorumCertificate<Ballot>,
}

/// What survives a crash: the newest views in which it voted and proposed, and its lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Safety {
    voted: u64,
    proposed: u64,
    lock: QuorumCertificate<Ballot>,
}

/// One replica.
#[derive(Clone, Debug)]
pub(crate) struct TwoPhase {
    me: Participant,
    blocks: BlockTree<Payload>,
    votes: Votes<Ballot>,
    pacemaker: Pacemaker,
    safety: Safety,
}

chainbox::impl_by_encoding!(TwoPhase);

/// The protocol; quorums are `missing_votes` too small: by none, unless a test wants a bug.
pub(crate) fn two_phase(missing_votes: u128) -> OwnProtocol {
    OwnProtocol::new("two-phase", move |start| TwoPhase::new(&start, missing_votes))
        .with_labels(&["vote", Pacemaker::LABEL])
        .with_marks(&[Pacemaker::TIMED_OUT, Pacemaker::JOINED, BlockTree::<Payload>::FETCHED])
        .with_rounds_max(20)
        .with_byzantine_tolerance()
        .with_parameters(missing_votes)
}

/// No two honest replicas hold certificates of different blocks of one view.
pub(crate) fn certified_once() -> Box<dyn Invariant> {
    invariant::unique("two-phase-certified-once", |state: &TwoPhase| {
        let Ballot { view, block } = *state.votes.highest().statement();
        Some((view, block))
    })
}

impl TwoPhase {
    fn new(start: &ReplicaStart<'_>, missing_votes: u128) -> Result<Self, String> {
        let me = start.participant();
        let quorum = Quorum::two_thirds(me.validators().clone()).lowered_by(missing_votes);
        let genesis = Ballot { view: 0, block: me.genesis() };
        let lock = QuorumCertificate::unsigned(genesis);
        let (blocks, safety) = BlockTree::open(start, TIMERS, Payload { view: 0, justify: lock.clone() })?;
        let safety = safety.unwrap_or(Safety { voted: 0, proposed: 0, lock });
        let votes = Votes::new(me.clone(), quorum.clone(), "vote", genesis).with_highest(safety.lock.clone());
        let pacemaker = Pacemaker::new(me.clone(), quorum, VIEW, Duration::from_secs(3));
        Ok(Self { me, blocks, votes, pacemaker, safety })
    }

    fn handle(&mut self, event: &Event, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        self.votes.handle(event)?;
        self.pacemaker.handle(event, &mut self.votes, out)?;
        let Some(proposal) = self.blocks.handle(event, &self.safety, out)? else { return Ok(()) };
        let Payload { view, justify } = &proposal.payload;
        let parent = justify.statement();
        if proposal.author != self.me.leader(*view).1 || proposal.parent != parent.block || *view <= parent.view {
            return Err(proposal.rejected("not by its view's leader, or not on the block of its certificate"));
        }
        self.votes.learn(justify)?;
        self.blocks.admit(proposal, out)
    }

    /// The lock is the highest certificate, which begins the next view.
    fn lock(&mut self, out: &mut Vec<Effect>) {
        self.safety.lock = self.votes.highest().clone();
        let Ballot { view, block } = *self.safety.lock.statement();
        self.pacemaker.advance(self.safety.voted.max(view + 1), out);
        self.blocks.fetch(block, out);
    }

    /// Two certificates in consecutive views commit the block of the first.
    fn commit(&mut self, out: &mut Vec<Effect>) {
        let certified = self.safety.lock.statement().block;
        let link = |block: &Proposal<Payload>| (*block.payload.justify.statement(), block.payload.view);
        let two_in_a_row = self.blocks.branch(certified).map(link).find(|(first, second)| first.view + 1 == *second);
        if let Some((first, _)) = two_in_a_row {
            self.blocks.commit(first.block, &self.safety, out);
        }
    }

    /// It votes once per view, for a block on its lock.
    fn vote(&mut self, out: &mut Vec<Effect>) {
        let (view, lock) = (self.pacemaker.view(), *self.safety.lock.statement());
        let is_votable = |payload: &Payload| payload.view == view && *payload.justify.statement() == lock;
        let proposal = self.blocks.children(lock.block).find(|block| is_votable(&block.payload)).map(|block| block.id);
        if let Some(block) = proposal.filter(|_| self.safety.voted < view) {
            self.safety.voted = view;
            let after = self.blocks.persist_with(block, &self.safety, out);
            self.votes.cast(Ballot { view, block }, after, out);
        }
    }

    /// It proposes once per view that it leads, on its lock.
    fn propose(&mut self, out: &mut Vec<Effect>) {
        let (view, justify) = (self.pacemaker.view(), self.safety.lock.clone());
        let (parent, is_due) = (justify.statement().block, self.safety.proposed < view);
        if is_due && self.me.is_leader(view) && self.blocks.plan(parent, &Payload { view, justify }, out) {
            self.safety.proposed = view;
        }
    }
}

impl Protocol for TwoPhase {
    fn step(&mut self, event: Event, out: &mut Vec<Effect>) {
        if let Err(rejection) = self.handle(&event, out) {
            out.push(Effect::Reject(rejection));
        }
        self.lock(out);
        self.commit(out);
        self.vote(out);
        self.propose(out);
    }

    fn encode(&self, out: &mut Encoder) {
        self.blocks.encode(out);
        self.votes.encode(out);
        self.pacemaker.encode(out);
        out.value(&self.safety);
    }

    fn head(&self) -> BlockId {
        self.blocks.root()
    }

    fn finality(&self) -> Finality {
        self.blocks.finality()
    }

    fn validators(&self) -> ValidatorSet {
        self.me.validators().clone()
    }

    fn status(&self) -> Option<RoundStatus> {
        Some(self.pacemaker.status())
    }
}
