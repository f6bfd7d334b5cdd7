//! The views of a protocol with one leader a view, and their change by timeouts.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Participant, Votes};
use crate::{
    consensus::{
        ConsensusMessage, Deadline, Effect, Encoder, Event, OwnMessage, Quorum, QuorumCertificate, Rejection,
        RoundRole, RoundStatus, Statement, TimerId, Vote,
    },
    primitives::Address,
};

/// How many times a timeout doubles at most.
const DOUBLINGS_MAX: u32 = 3;

/// A vote to enter a view without a certificate of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NewView {
    /// The view to enter.
    pub view: u64,
}

impl Statement for NewView {
    const DOMAIN: &'static str = "new-view";
}

/// Keeps the replicas in one view (the pacemaker of HotStuff, section 4.4).
///
/// A view ends by progress ([`Pacemaker::advance`]), or by votes of a quorum to enter a later one. A replica votes so when its timer
/// fires, again each time it fires, and when so many others do that one of them is honest; the timeout doubles each time, up to eight times
/// its length, until there is progress. With its vote it sends its highest certificate, for the next leader: a message has the label
/// [`Pacemaker::LABEL`] and a [`Vote`] with a [`QuorumCertificate`].
///
/// Views order proposals; they are no promise, and need not be durable.
#[derive(Clone, Debug)]
pub struct Pacemaker {
    participant: Participant,
    quorum: Quorum,
    timer: TimerId,
    timeout_nanos: u64,
    view: u64,
    /// Timeouts since the last progress, up to the bound of doublings.
    timeouts: u32,
    /// The newest view that each validator voted to enter.
    wanted: BTreeMap<Address, u64>,
}

impl Pacemaker {
    /// Label of its messages.
    pub const LABEL: &'static str = "new-view";
    /// It joined others in their votes for a later view.
    pub const JOINED: &'static str = "pacemaker/joined";
    /// A timer fired.
    pub const TIMED_OUT: &'static str = "pacemaker/timed-out";

    /// Returns a pacemaker in view 0, that votes for the next one `timeout` after its view began. It uses the timer alone.
    pub fn new(participant: Participant, quorum: Quorum, timer: TimerId, timeout: Duration) -> Self {
        let timeout_nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        Self { participant, quorum, timer, timeout_nanos, view: 0, timeouts: 0, wanted: BTreeMap::new() }
    }

    /// Returns the current view.
    pub const fn view(&self) -> u64 {
        self.view
    }

    /// Enters a view by progress, unless it is in that or a later one: at the start, and when the view before has a certificate.
    pub fn advance(&mut self, view: u64, effects: &mut Vec<Effect>) {
        if view > self.view {
            (self.view, self.timeouts) = (view, 0);
            self.arm(effects);
        }
    }

    /// Handles an event that is of views: its timer, or a message with its label, whose certificate `votes` learns. Ignores others.
    ///
    /// # Errors
    /// [`Rejection`] of a message that is no valid vote with a valid certificate.
    pub fn handle<S: Statement>(
        &mut self,
        event: &Event,
        votes: &mut Votes<S>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        match event {
            Event::Timer(timer) if *timer == self.timer => {
                effects.push(Effect::Mark(Self::TIMED_OUT));
                self.timeouts = (self.timeouts + 1).min(DOUBLINGS_MAX);
                self.arm(effects);
                self.want(self.own_wanted().max(self.view.saturating_add(1)), votes.highest(), effects);
            }
            Event::Message { message: ConsensusMessage::Own(message), .. } if message.label() == Self::LABEL => {
                let (vote, highest): (Vote<NewView>, QuorumCertificate<S>) = message.read()?;
                let signer = self.participant.verify(&vote)?;
                votes.learn(&highest)?;
                let wanted = self.wanted.entry(signer).or_default();
                *wanted = vote.statement().view.max(*wanted);
            }
            _ => return Ok(()),
        }
        self.follow(votes.highest(), effects);
        Ok(())
    }

    /// Returns view and role, for [`Protocol::status`](crate::consensus::Protocol::status).
    pub fn status(&self) -> RoundStatus {
        let (leader, _) = self.participant.leader(self.view);
        let role = match self.participant.is_leader(self.view) {
            true => RoundRole::Leader,
            false if self.timeouts > 0 => RoundRole::Seeking,
            false => RoundRole::Follower,
        };
        RoundStatus { round: self.view, role, leader: Some(leader) }
    }

    /// Writes the state.
    pub fn encode(&self, out: &mut Encoder) {
        out.u64(self.view);
        out.u32(self.timeouts);
        out.list(self.wanted.iter(), |out, (signer, view)| {
            out.address(signer);
            out.u64(*view);
        });
    }

    fn arm(&self, effects: &mut Vec<Effect>) {
        let nanos = self.timeout_nanos.saturating_mul(1 << self.timeouts);
        effects.push(Effect::ArmTimer { timer: self.timer, deadline: Deadline::After { nanos } });
    }

    fn want<S: Statement>(&mut self, view: u64, highest: &QuorumCertificate<S>, effects: &mut Vec<Effect>) {
        let Some((vote, address)) = self.participant.vote(NewView { view }).zip(self.participant.address()) else {
            return;
        };
        self.wanted.insert(address, view);
        effects.push(Effect::broadcast(OwnMessage::of(Self::LABEL, &(vote, highest)), None));
    }

    /// Wants what an honest validator wants, and enters what a quorum wants.
    fn follow<S: Statement>(&mut self, highest: &QuorumCertificate<S>, effects: &mut Vec<Effect>) {
        let joined = self.highest_wanted_by(|weight| self.quorum.is_blocked_by(weight));
        if self.participant.address().is_some() && joined > self.own_wanted().max(self.view) {
            effects.push(Effect::Mark(Self::JOINED));
            self.want(joined, highest, effects);
        }
        let entered = self.highest_wanted_by(|weight| self.quorum.is_reached_by(weight));
        if entered > self.view {
            self.view = entered;
            self.arm(effects);
        }
    }

    fn own_wanted(&self) -> u64 {
        self.participant.address().and_then(|own| self.wanted.get(&own).copied()).unwrap_or_default()
    }

    /// Returns the highest view that validators of a weight that is enough want to have reached.
    fn highest_wanted_by(&self, is_enough: impl Fn(u128) -> bool) -> u64 {
        let mut wanted: Vec<_> = self.wanted.iter().map(|(signer, view)| (*view, signer)).collect();
        wanted.sort_unstable_by(|one, other| other.cmp(one));
        let mut weight = 0;
        let reached = wanted.into_iter().find(|(_, signer)| {
            weight += u128::from(self.quorum.validators().weight_of(signer));
            is_enough(weight)
        });
        reached.map_or(0, |(view, _)| view)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::participant::tests::{key, participant},
        *,
    };
    use crate::consensus::{Authenticator, ReplicaId, VoteError, common::vote::tests::Round};

    const TIMER: TimerId = TimerId::new(2);
    const GENESIS: QuorumCertificate<Round> = QuorumCertificate::unsigned(Round(0));

    fn quorum() -> Quorum {
        Quorum::two_thirds(participant(0).validators().clone())
    }

    fn votes(replica: u64) -> Votes<Round> {
        Votes::new(participant(replica), quorum(), "vote", Round(0))
    }

    /// A pacemaker in view 1, with its votes.
    fn pacemaker(replica: u64) -> (Pacemaker, Votes<Round>) {
        let mut pacemaker = Pacemaker::new(participant(replica), quorum(), TIMER, Duration::from_secs(3));
        pacemaker.advance(1, &mut Vec::new());
        (pacemaker, votes(replica))
    }

    fn message(replica: u64, view: u64, highest: &QuorumCertificate<Round>) -> Event {
        let vote = Vote::sign(NewView { view }, &Authenticator::symbolic(1).signer(&key(replica)));
        let message = OwnMessage::of(Pacemaker::LABEL, &(vote, highest)).into();
        Event::Message { from: ReplicaId::new(0), message }
    }

    /// Handles an event; returns the views that were voted for, and the waits that the timer was armed with, in seconds.
    fn handle((pacemaker, votes): &mut (Pacemaker, Votes<Round>), event: &Event) -> (Vec<u64>, Vec<u64>) {
        let mut effects = Vec::new();
        pacemaker.handle(event, votes, &mut effects).unwrap();
        seen(effects)
    }

    fn seen(effects: Vec<Effect>) -> (Vec<u64>, Vec<u64>) {
        let (mut views, mut waits) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Send { message: ConsensusMessage::Own(message), after: None, .. } => {
                    assert_eq!(message.label(), Pacemaker::LABEL);
                    let (vote, _): (Vote<NewView>, QuorumCertificate<Round>) = message.read().unwrap();
                    views.push(vote.statement().view);
                }
                Effect::ArmTimer { timer: TIMER, deadline: Deadline::After { nanos } } => {
                    waits.push(nanos / 1_000_000_000);
                }
                Effect::Mark(_) => {}
                other => panic!("{other:?}"),
            }
        }
        (views, waits)
    }

    #[test]
    fn progress_enters_later_views_and_resets_the_timeout() {
        let mut replica = pacemaker(0);
        let mut waits = Vec::new();
        for _ in 0..5 {
            let (views, wait) = handle(&mut replica, &Event::Timer(TIMER));
            assert_eq!(views, [2], "again, while nobody follows");
            waits.extend(wait);
        }
        assert_eq!(waits, [6, 12, 24, 24, 24]);
        assert_eq!(handle(&mut replica, &Event::Timer(TimerId::new(9))), (vec![], vec![]), "the timer of another");
        let (pacemaker, mut effects) = (&mut replica.0, Vec::new());
        assert_eq!(pacemaker.status().role, RoundRole::Seeking);
        pacemaker.advance(7, &mut effects);
        pacemaker.advance(7, &mut effects);
        pacemaker.advance(6, &mut effects);
        assert_eq!((pacemaker.view(), seen(effects)), (7, (vec![], vec![3])), "once");
        let leader = Some(ReplicaId::new(3));
        assert_eq!(pacemaker.status(), RoundStatus { round: 7, role: RoundRole::Follower, leader });
    }

    #[test]
    fn a_quorum_enters_a_view_and_one_honest_validator_is_joined() {
        let mut replica = pacemaker(0);
        assert_eq!(handle(&mut replica, &message(1, 9, &GENESIS)), (vec![], vec![]), "one may lie");
        // It joins in the lower of the two, and the three are a quorum.
        assert_eq!(handle(&mut replica, &message(2, 4, &GENESIS)), (vec![4], vec![3]));
        assert_eq!((replica.0.view(), replica.0.status().role), (4, RoundRole::Leader));
        assert_eq!(handle(&mut replica, &message(3, 2, &GENESIS)), (vec![], vec![]), "an old view");
    }

    #[test]
    fn the_highest_certificate_is_learned_and_sent_on() {
        let (mut replica, mut others) = (pacemaker(0), votes(1));
        for signer in 1..4 {
            others.add(Vote::sign(Round(5), &Authenticator::symbolic(1).signer(&key(signer)))).unwrap();
        }
        handle(&mut replica, &message(1, 2, others.highest()));
        assert_eq!(replica.1.highest(), others.highest());
        let (pacemaker, votes) = &mut replica;
        let mut effects = Vec::new();
        pacemaker.handle(&Event::Timer(TIMER), votes, &mut effects).unwrap();
        let sent = effects.into_iter().find_map(|effect| match effect {
            Effect::Send { message: ConsensusMessage::Own(message), .. } => Some(message),
            _ => None,
        });
        let (_, highest): (Vote<NewView>, QuorumCertificate<Round>) = sent.unwrap().read().unwrap();
        assert_eq!(&highest, others.highest());
    }

    #[test]
    fn observers_follow_and_invalid_messages_change_nothing() {
        let mut observer = pacemaker(4);
        assert_eq!(handle(&mut observer, &Event::Timer(TIMER)), (vec![], vec![6]), "it has no vote");
        for replica in 1..4 {
            handle(&mut observer, &message(replica, 3, &GENESIS));
        }
        let (mut pacemaker, mut votes) = observer;
        assert_eq!(pacemaker.view(), 3);
        let encoding = |pacemaker: &Pacemaker| {
            let mut out = Encoder::new();
            pacemaker.encode(&mut out);
            out.into_bytes()
        };
        let before = encoding(&pacemaker);
        let unsigned = QuorumCertificate::unsigned(Round(1));
        let other = OwnMessage::of(Pacemaker::LABEL, &1_u8).into();
        for (name, event) in [
            ("stranger", message(4, 8, &GENESIS)),
            ("certificate", message(1, 8, &unsigned)),
            ("malformed", Event::Message { from: ReplicaId::new(0), message: other }),
        ] {
            let mut effects = Vec::new();
            let error = pacemaker.handle(&event, &mut votes, &mut effects).expect_err(name);
            let want = matches!(
                (name, error),
                ("stranger", Rejection::Vote(VoteError::Stranger { .. }))
                    | ("certificate", Rejection::Vote(VoteError::Weight { .. }))
                    | ("malformed", Rejection::Decode(_))
            );
            assert!(want && effects.is_empty() && encoding(&pacemaker) == before, "{name}");
        }
    }
}
