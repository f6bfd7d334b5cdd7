//! A proof that a checkpoint is final, for those who know the validators: the votes that went from it to the next.

use super::{Checkpoint, Vote};
use crate::{
    consensus::{Authenticator, Encoder, ValidatorSet, encoding::Decoder},
    primitives::Bytes,
};

/// Votes of two thirds of the stake from one checkpoint, the final one, to one of the next two.
///
/// Encoding: the two checkpoints, then the votes, each with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FinalityProof {
    /// What is final.
    pub finalized: Checkpoint,
    /// What the votes justify.
    pub target: Checkpoint,
    /// The votes.
    pub votes: Vec<Vote>,
}

impl FinalityProof {
    /// The canonical bytes.
    pub fn encoded(&self) -> Bytes {
        let mut out = Encoder::new();
        self.finalized.encode(&mut out);
        self.target.encode(&mut out);
        out.list(self.votes.iter(), |out, vote| vote.encode(out));
        out.into_bytes().into()
    }

    /// Reads [`FinalityProof::encoded`]'s form; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Decoder::new(bytes);
        let (finalized, target) = (Checkpoint::decode(&mut bytes)?, Checkpoint::decode(&mut bytes)?);
        let proof = Self { finalized, target, votes: bytes.list(Vote::decode)? };
        bytes.is_empty().then_some(proof)
    }

    /// Whether two thirds of `validators`, those of the target's epoch, signed. That `finalized` was justified itself is
    /// shown by its own votes, in the same way.
    pub fn is_proven_by(&self, validators: &ValidatorSet, authenticator: &Authenticator) -> bool {
        let distance = self.target.epoch.checked_sub(self.finalized.epoch);
        let links = |vote: &&Vote| vote.data.source == self.finalized && vote.data.target == self.target;
        let signers = self.votes.iter().filter(links).filter_map(|vote| vote.signer(authenticator).ok());
        let places: std::collections::BTreeSet<_> = signers.filter_map(|signer| validators.index_of(&signer)).collect();
        let weight: u128 = places.iter().map(|place| u128::from(validators.members()[*place].weight)).sum();
        matches!(distance, Some(1 | 2)) && 3 * weight >= 2 * validators.total_weight()
    }
}
