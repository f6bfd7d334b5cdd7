//! Finality proof: votes with a final checkpoint as source, verifiable with the validators of the target's epoch.

use std::collections::BTreeSet;

use super::{Checkpoint, Electorate, Vote};
use crate::{
    consensus::{Authenticator, Encoder, ValidatorSet, encoding::Decoder},
    primitives::{Address, Bytes},
};

/// Votes of two thirds of the stake with the final checkpoint as source and one of the next two as target.
///
/// Encoding: the two checkpoints, then the votes, each with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FinalityProof {
    /// Checkpoint that is final.
    pub finalized: Checkpoint,
    /// Checkpoint that the votes justify.
    pub target: Checkpoint,
    /// The votes.
    pub votes: Vec<Vote>,
}

impl FinalityProof {
    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        let Self { finalized, target, votes } = self;
        let mut out = Encoder::new();
        finalized.encode(&mut out);
        target.encode(&mut out);
        out.list(votes.iter(), |out, vote| vote.encode(out));
        out.into_bytes().into()
    }

    /// Decodes the canonical encoding; `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Decoder::new(bytes);
        let (finalized, target) = (Checkpoint::decode(&mut bytes)?, Checkpoint::decode(&mut bytes)?);
        let proof = Self { finalized, target, votes: bytes.list(Vote::decode)? };
        bytes.is_empty().then_some(proof)
    }

    /// Whether two thirds of `validators`, those of the target's epoch, signed; in a change two thirds of each of the two sets. It
    /// does not prove that `finalized` was justified before.
    pub fn is_proven_by(&self, validators: &Electorate, authenticator: &Authenticator) -> bool {
        let distance = self.target.epoch.checked_sub(self.finalized.epoch);
        let links = |vote: &&Vote| vote.data.source == self.finalized && vote.data.target == self.target;
        let signers = self.votes.iter().filter(links).filter_map(|vote| vote.signer(authenticator).ok());
        let signers: BTreeSet<Address> = signers.collect();
        let has_signed = |set: &ValidatorSet| {
            let weight: u128 = signers.iter().map(|signer| u128::from(set.weight_of(signer))).sum();
            3 * weight >= 2 * set.total_weight()
        };
        matches!(distance, Some(1 | 2)) && validators.quorum_sets().all(has_signed)
    }
}
