//! A replica's part in a protocol of one's own, constant in a run.

use std::sync::Arc;

use super::ReplicaStart;
use crate::{
    chain::Block,
    consensus::{
        Authenticator, BlockId, Purpose, Quorum, QuorumCertificate, ReplicaId, SealError, Signer, Statement,
        ValidatorSet, Vote, VoteError,
    },
    primitives::Address,
};

/// A replica's part in the agreement, constant in a run: its key, the validators, their replicas and the verifier of their
/// signatures. Cloning is O(1).
#[derive(Clone, Debug)]
pub struct Participant {
    genesis: BlockId,
    validators: ValidatorSet,
    addresses: Arc<[Address]>,
    authenticator: Authenticator,
    /// The own key, if it is a validator's.
    signer: Option<Signer>,
}

impl ReplicaStart<'_> {
    /// Returns what the replica is in the agreement.
    pub fn participant(&self) -> Participant {
        Participant {
            genesis: BlockId::of(self.genesis),
            validators: self.validators.clone(),
            addresses: self.addresses.into(),
            authenticator: self.authenticator.clone(),
            signer: self.signer.filter(|signer| self.validators.contains(&signer.address())).cloned(),
        }
    }
}

impl Participant {
    /// Returns the genesis block.
    pub const fn genesis(&self) -> BlockId {
        self.genesis
    }

    /// Returns the validators.
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Returns its address; `None` for an observer.
    pub fn address(&self) -> Option<Address> {
        self.signer.as_ref().map(Signer::address)
    }

    /// Returns the leader of a view, with its replica: validators take turns by the numbers of their replicas.
    pub fn leader(&self, view: u64) -> (ReplicaId, Address) {
        let index = view % (self.addresses.len() as u64).max(1);
        let address = self.addresses.get(index as usize).copied().unwrap_or_default();
        (ReplicaId::new(index as u32), address)
    }

    /// Returns whether it leads a view.
    pub fn is_leader(&self, view: u64) -> bool {
        self.address() == Some(self.leader(view).1)
    }

    /// Returns a replica to ask, another one for each `attempt`, and none twice before all were asked: never itself, unless it is the
    /// only one.
    pub fn peer(&self, attempt: u64) -> ReplicaId {
        let peers = self.addresses.iter().enumerate().filter(|(_, address)| Some(**address) != self.address());
        let count = peers.clone().count().max(1) as u64;
        let index = peers.map(|(index, _)| index).nth((attempt % count) as usize).unwrap_or_default();
        ReplicaId::new(index as u32)
    }

    /// Returns its vote; `None` for an observer.
    pub fn vote<S: Statement>(&self, statement: S) -> Option<Vote<S>> {
        self.signer.as_ref().map(|signer| Vote::sign(statement, signer))
    }

    /// Verifies that a validator voted, and returns its address.
    ///
    /// # Errors
    /// As [`Vote::verify`].
    pub fn verify<S: Statement>(&self, vote: &Vote<S>) -> Result<Address, VoteError> {
        vote.verify(&self.validators, &self.authenticator)
    }

    /// Verifies a certificate.
    ///
    /// # Errors
    /// As [`QuorumCertificate::verify`].
    pub fn verify_certificate<S: Statement>(
        &self,
        certificate: &QuorumCertificate<S>,
        quorum: &Quorum,
    ) -> Result<(), VoteError> {
        certificate.verify(quorum, &self.authenticator)
    }

    /// Returns the block with its signature as the seal; `None` for an observer.
    pub fn seal(&self, block: &Block) -> Option<Arc<Block>> {
        let signer = self.signer.as_ref()?;
        Some(Arc::new(block.clone().with_seal(signer.sign(Purpose::Block, block.hash()))))
    }

    /// Recovers who signed a block.
    ///
    /// # Errors
    /// [`SealError`] for a seal that is malformed or has no author. An author need not be a validator.
    pub fn author(&self, block: &Block) -> Result<Address, SealError> {
        self.authenticator.author(Purpose::Block, block.hash(), block.seal())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        consensus::{Records, common::vote::tests::Round},
        primitives::{Bytes, Header, KeyPair},
    };

    pub(in crate::consensus::own) fn block(header: Header, payload: Bytes) -> Block {
        let extra_data = Block::extra_data_of(&payload).unwrap_or_default();
        Block::new(Header { extra_data, ..header }, Vec::new(), payload, Vec::new())
    }

    pub(in crate::consensus::own) fn genesis() -> Block {
        Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new())
    }

    pub(in crate::consensus::own) fn key(replica: u64) -> KeyPair {
        KeyPair::from_seed(replica, "validator")
    }

    /// Calls `f` with the start of a replica among four; those from 4 on are observers.
    pub(in crate::consensus::own) fn with_start<R>(
        replica: u64,
        records: &Records,
        f: impl FnOnce(ReplicaStart<'_>) -> R,
    ) -> R {
        let (genesis, authenticator) = (genesis(), Authenticator::symbolic(1));
        let addresses: Vec<_> = (0..4).map(|replica| key(replica).address()).collect();
        let validators = ValidatorSet::equal(addresses.iter().copied()).unwrap();
        let signer = authenticator.signer(&key(replica));
        f(ReplicaStart {
            genesis: &genesis,
            validators: &validators,
            addresses: &addresses,
            authenticator: &authenticator,
            signer: Some(&signer),
            records,
        })
    }

    pub(in crate::consensus::own) fn participant(replica: u64) -> Participant {
        with_start(replica, &Records::new(), |start| start.participant())
    }

    #[test]
    fn leaders_and_peers_take_turns() {
        let replica = participant(1);
        assert_eq!([0, 1, 5, 7].map(|view| replica.leader(view).0.get()), [0, 1, 1, 3]);
        assert_eq!(replica.leader(2).1, key(2).address());
        assert!(replica.is_leader(5) && !replica.is_leader(4));
        assert_eq!([0, 1, 2, 3].map(|attempt| replica.peer(attempt).get()), [0, 2, 3, 0], "never itself");
    }

    #[test]
    fn votes_and_seals_are_verified_and_observers_make_none() {
        let [one, other, observer] = [0, 1, 4].map(participant);
        let vote = one.vote(Round(1)).unwrap();
        assert_eq!(other.verify(&vote), Ok(key(0).address()));
        let sealed = one.seal(&genesis()).unwrap();
        assert_eq!(other.author(&sealed), Ok(key(0).address()));
        assert!(matches!(other.author(&genesis()), Err(SealError::Length { got: 0, .. })));
        assert!(observer.vote(Round(1)).is_none() && observer.seal(&genesis()).is_none());
        assert_eq!((observer.address(), observer.is_leader(0)), (None, false));
        assert_eq!(observer.verify(&vote), Ok(key(0).address()));
        assert_eq!(one.genesis(), BlockId::of(&genesis()));
    }
}
