//! The votes of all validators, until a quorum has voted for one statement.

use std::collections::BTreeMap;

use super::Participant;
use crate::{
    consensus::{
        ConsensusMessage, Effect, Encoder, Event, OwnMessage, Quorum, QuorumCertificate, Rejection, Statement, Ticket,
        Vote, VoteError,
    },
    primitives::{Address, Bytes},
};

/// Statements for which the votes of one validator are kept: the greatest ones.
const STATEMENTS_MAX: usize = 8;

/// Collects votes into certificates, casts this replica's own, and keeps the highest certificate, which may be of others.
///
/// An own vote is sent, and counted here, only once the records that forbid another one are durable: a certificate with a vote that a
/// crash undoes would prove nothing. Of each validator the votes for the 8 greatest statements are kept.
#[derive(Clone, Debug)]
pub struct Votes<S> {
    participant: Participant,
    quorum: Quorum,
    label: &'static str,
    /// Certified without votes, for all.
    genesis: S,
    highest: QuorumCertificate<S>,
    /// By statement and validator.
    cast: BTreeMap<S, BTreeMap<Address, Bytes>>,
    /// Own votes whose records are not durable, by ticket.
    own: BTreeMap<Ticket, Vote<S>>,
}

impl<S: Statement> Votes<S> {
    /// Returns a collector without votes. `label` is that of the messages in which votes are sent; `genesis` is what needs no votes, lower
    /// than all statements that do.
    pub fn new(participant: Participant, quorum: Quorum, label: &'static str, genesis: S) -> Self {
        let highest = QuorumCertificate::unsigned(genesis.clone());
        Self { participant, quorum, label, genesis, highest, cast: BTreeMap::new(), own: BTreeMap::new() }
    }

    /// Returns the collector with the highest certificate of before a restart, which this replica verified then.
    #[must_use]
    pub fn with_highest(mut self, highest: QuorumCertificate<S>) -> Self {
        self.highest = highest;
        self
    }

    /// Returns the certificate with the greatest statement: without votes for genesis, while there is no other.
    pub const fn highest(&self) -> &QuorumCertificate<S> {
        &self.highest
    }

    /// Returns the certificate of a statement for which the votes of a quorum are here.
    pub fn certificate(&self, statement: &S) -> Option<QuorumCertificate<S>> {
        let votes = self.cast.get(statement)?;
        let is_complete = self.quorum.is_reached_by(self.quorum.weight_of(votes.keys()));
        is_complete.then(|| QuorumCertificate::of(statement.clone(), votes.clone()))
    }

    /// Votes: sends the vote to all once `after` is durable, and counts it then. An observer does nothing.
    pub fn cast(&mut self, statement: S, after: Ticket, effects: &mut Vec<Effect>) {
        let Some(vote) = self.participant.vote(statement) else { return };
        effects.push(Effect::broadcast(OwnMessage::of(self.label, &vote), Some(after)));
        self.own.insert(after, vote);
    }

    /// Handles an event that is of votes: a message with their label, or a durable write that an own vote waited for. Ignores others.
    ///
    /// # Errors
    /// [`Rejection`] of a message that is no valid vote; nothing has changed then.
    pub fn handle(&mut self, event: &Event) -> Result<(), Rejection> {
        match event {
            Event::Message { message: ConsensusMessage::Own(message), .. } if message.label() == self.label => {
                Ok(self.add(message.read()?)?)
            }
            Event::Persisted(ticket) => {
                let waiting = self.own.split_off(&Ticket::new(ticket.get().saturating_add(1)));
                let durable = core::mem::replace(&mut self.own, waiting);
                Ok(durable.into_values().try_for_each(|vote| self.add(vote))?)
            }
            _ => Ok(()),
        }
    }

    /// Verifies and counts a vote.
    ///
    /// # Errors
    /// [`VoteError::Signature`], [`VoteError::Stranger`]; nothing has changed then.
    pub fn add(&mut self, vote: Vote<S>) -> Result<(), VoteError> {
        let signer = self.participant.verify(&vote)?;
        let statement = vote.statement().clone();
        self.cast.entry(statement.clone()).or_default().insert(signer, vote.into_signature());
        if statement > *self.highest.statement() {
            self.highest = self.certificate(&statement).unwrap_or_else(|| self.highest.clone());
        }
        self.forget_lowest(signer);
        Ok(())
    }

    /// Verifies a certificate of others, and keeps it if it is the highest.
    ///
    /// # Errors
    /// As [`QuorumCertificate::verify`]; nothing has changed then.
    pub fn learn(&mut self, certificate: &QuorumCertificate<S>) -> Result<(), VoteError> {
        if *certificate.statement() != self.genesis {
            self.participant.verify_certificate(certificate, &self.quorum)?;
        }
        if certificate.statement() > self.highest.statement() {
            self.highest = certificate.clone();
        }
        Ok(())
    }

    /// Writes the state, without signatures: they are fixed by statement and signer.
    pub fn encode(&self, out: &mut Encoder) {
        out.value(self.highest.statement());
        out.list(self.cast.iter(), |out, (statement, votes)| {
            out.value(statement);
            out.list(votes.keys(), |out, signer| out.address(signer));
        });
        out.list(self.own.iter(), |out, (ticket, vote)| {
            out.u64(ticket.get());
            out.value(vote.statement());
        });
    }

    /// Forgets a validator's votes for all but the greatest statements.
    fn forget_lowest(&mut self, signer: Address) {
        let mut kept = 0;
        for votes in self.cast.values_mut().rev() {
            kept += usize::from(votes.contains_key(&signer));
            if kept > STATEMENTS_MAX {
                votes.remove(&signer);
            }
        }
        self.cast.retain(|_, votes| !votes.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::participant::tests::{key, participant},
        *,
    };
    use crate::consensus::{Authenticator, Recipients, ReplicaId, common::vote::tests::Round};

    fn votes(replica: u64) -> Votes<Round> {
        let participant = participant(replica);
        let quorum = Quorum::two_thirds(participant.validators().clone());
        Votes::new(participant, quorum, "vote", Round(0))
    }

    fn vote(replica: u64, round: u64) -> Vote<Round> {
        Vote::sign(Round(round), &Authenticator::symbolic(1).signer(&key(replica)))
    }

    #[test]
    fn a_quorum_makes_a_certificate() {
        let mut votes = votes(0);
        assert_eq!(votes.highest(), &QuorumCertificate::unsigned(Round(0)));
        for (replica, round) in [(1, 5), (1, 5), (2, 6), (2, 5)] {
            votes.add(vote(replica, round)).unwrap();
        }
        assert_eq!((votes.certificate(&Round(5)), votes.highest().statement()), (None, &Round(0)));
        votes.add(vote(3, 5)).unwrap();
        let certificate = votes.certificate(&Round(5)).expect("three of four");
        assert_eq!(votes.highest(), &certificate);
        let stranger = VoteError::Stranger { signer: key(4).address() };
        assert_eq!(votes.add(vote(4, 5)), Err(stranger));
        [1, 2, 3].into_iter().for_each(|replica| votes.add(vote(replica, 4)).unwrap());
        assert!(votes.certificate(&Round(4)).is_some());
        assert_eq!(votes.highest(), &certificate, "a lower one");
    }

    #[test]
    fn certificates_of_others_are_learned_if_they_are_valid_and_higher() {
        let (mut votes, mut other) = (votes(0), votes(1));
        [1, 2, 3].into_iter().for_each(|replica| other.add(vote(replica, 5)).unwrap());
        let genesis = QuorumCertificate::unsigned(Round(0));
        assert_eq!(votes.learn(other.highest()), Ok(()));
        assert_eq!(votes.highest(), other.highest());
        assert_eq!(votes.learn(&genesis), Ok(()), "it is known to all");
        assert_eq!(votes.highest(), other.highest());
        let none = VoteError::Weight { got: 0, want: 3 };
        assert_eq!(votes.learn(&QuorumCertificate::unsigned(Round(6))), Err(none));
        assert_eq!(votes.highest(), other.highest());
    }

    #[test]
    fn an_own_vote_counts_once_its_records_are_durable() {
        let (mut votes, mut effects) = (votes(0), Vec::new());
        let ticket = Ticket::new(4);
        votes.cast(Round(5), ticket, &mut effects);
        let [Effect::Send { to: Recipients::Others, message: ConsensusMessage::Own(message), after }] = &effects[..]
        else {
            panic!("{effects:?}")
        };
        assert_eq!((message.label(), *after, message.read()), ("vote", Some(ticket), Ok(vote(0, 5))));
        [1, 2].into_iter().for_each(|replica| votes.add(vote(replica, 5)).unwrap());
        votes.handle(&Event::Persisted(Ticket::new(3))).unwrap();
        assert_eq!(votes.certificate(&Round(5)), None, "an earlier write");
        votes.handle(&Event::Persisted(ticket)).unwrap();
        assert!(votes.certificate(&Round(5)).is_some() && votes.own.is_empty());
        let message = |label, replica| {
            let message = OwnMessage::of(label, &vote(replica, 5)).into();
            Event::Message { from: ReplicaId::new(3), message }
        };
        votes.handle(&message("other", 3)).unwrap();
        assert_eq!(votes.cast[&Round(5)].len(), 3, "not of its label");
        votes.handle(&message("vote", 3)).unwrap();
        assert_eq!(votes.cast[&Round(5)].len(), 4);
        assert!(matches!(votes.handle(&message("vote", 4)), Err(Rejection::Vote(VoteError::Stranger { .. }))));
        let malformed = Event::Message { from: ReplicaId::new(3), message: OwnMessage::of("vote", &1_u8).into() };
        assert!(matches!(votes.handle(&malformed), Err(Rejection::Decode(_))));
        let mut observer = self::votes(4);
        observer.cast(Round(5), ticket, &mut effects);
        assert_eq!(effects.len(), 1);
    }

    #[test]
    fn a_validator_fills_its_own_room_alone() {
        let (mut votes, max) = (votes(0), STATEMENTS_MAX as u64);
        votes.add(vote(1, 5)).unwrap();
        votes.add(vote(2, 5)).unwrap();
        (6..6 + max - 1).for_each(|round| votes.add(vote(1, round)).unwrap());
        assert_eq!(votes.cast[&Round(5)].len(), 2, "at its bound");
        votes.add(vote(1, 100)).unwrap();
        assert_eq!(votes.cast[&Round(5)].len(), 1, "past it, the lowest is forgotten");
        votes.add(vote(1, 1)).unwrap();
        assert!(!votes.cast.contains_key(&Round(1)), "and a lower one is not kept");
        let all: usize = votes.cast.values().map(BTreeMap::len).sum();
        assert_eq!(all, STATEMENTS_MAX + 1);
    }

    #[test]
    fn states_with_other_votes_have_other_encodings() {
        let encoding = |votes: &Votes<Round>| {
            let mut out = Encoder::new();
            votes.encode(&mut out);
            out.into_bytes()
        };
        let mut votes = votes(0);
        let empty = encoding(&votes);
        votes.add(vote(1, 5)).unwrap();
        let one = encoding(&votes);
        votes.cast(Round(5), Ticket::new(1), &mut Vec::new());
        assert!(empty != one && one != encoding(&votes));
    }
}
