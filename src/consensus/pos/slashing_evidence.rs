//! Slashable offences with their proof, and the accountable validators when finality broke.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Proposal, Vote, VoteData, slot_times::SlotTimes};
use crate::{
    consensus::{Authenticator, Encoder, SealError, encoding::Decoder},
    primitives::{Address, B256, Height, keccak256},
};

/// Evidence of a slashable offence: two conflicting signed messages of one validator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SlashingEvidence {
    /// Two votes for one target epoch, or one that surrounds the other.
    Votes {
        /// Lesser vote in their order, so that an offence has one form.
        first: Vote,
        /// Greater vote.
        second: Vote,
    },
    /// Two blocks for one slot.
    Proposals {
        /// Lesser proposal in their order.
        first: Proposal,
        /// Greater proposal.
        second: Proposal,
    },
}

/// The rule that an offence breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SlashingCondition {
    /// Two votes for one target epoch.
    DoubleVote,
    /// A vote whose source epoch is lower and whose target epoch is higher than another's.
    SurroundVote,
    /// Two blocks for one slot.
    DoubleProposal,
}

/// Evidence that proves no offence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlashingEvidenceError {
    /// A signature does not verify.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// The messages have different signers.
    #[error("signed by {first} and {second}")]
    Signers {
        /// Signer of the first message.
        first: Address,
        /// Signer of the second message.
        second: Address,
    },
    /// The messages do not conflict.
    #[error("the two do not conflict")]
    NoConflict,
    /// The messages are not in ascending order.
    #[error("not in canonical order")]
    Order,
}

impl SlashingEvidence {
    /// Returns the offence of two votes, if they conflict.
    pub fn of_votes(one: &Vote, other: &Vote) -> Option<Self> {
        let (first, second) = if one <= other { (one, other) } else { (other, one) };
        one.data.conflicts(&other.data).then(|| Self::Votes { first: first.clone(), second: second.clone() })
    }

    /// Returns the offence of two proposals, if they conflict.
    pub fn of_proposals(one: &Proposal, other: &Proposal) -> Option<Self> {
        let (first, second) = if one <= other { (one, other) } else { (other, one) };
        let conflict = one.slot == other.slot && one.block != other.block;
        conflict.then(|| Self::Proposals { first: first.clone(), second: second.clone() })
    }

    /// Returns the votes that prove it; none for two proposals.
    pub fn votes(&self) -> Vec<Vote> {
        match self {
            Self::Votes { first, second } => vec![first.clone(), second.clone()],
            Self::Proposals { .. } => Vec::new(),
        }
    }

    /// Returns the rule that the offence breaks.
    pub const fn condition(&self) -> SlashingCondition {
        match self {
            Self::Proposals { .. } => SlashingCondition::DoubleProposal,
            Self::Votes { first, second } if first.data.target.epoch == second.data.target.epoch => {
                SlashingCondition::DoubleVote
            }
            Self::Votes { .. } => SlashingCondition::SurroundVote,
        }
    }

    /// Returns the slot of the later message.
    pub fn slot(&self) -> u64 {
        match self {
            Self::Votes { first, second } => first.data.slot.max(second.data.slot),
            Self::Proposals { first, .. } => first.slot,
        }
    }

    /// Returns the height of the offence, by the signed messages. A block's height is at most its slot.
    pub(super) fn height(&self) -> Height {
        let height = match self {
            Self::Votes { first, second } => first.data.head.height.max(second.data.head.height),
            Self::Proposals { first, second } => first.block.height.max(second.block.height),
        };
        height.min(Height::new(self.slot()))
    }

    /// Returns the age of the offence in blocks and in seconds, at a height and a slot.
    pub(super) fn age(&self, times: &SlotTimes, height: Height, slot: u64) -> (u64, u64) {
        (height.get().saturating_sub(self.height().get()), times.secs_between(self.slot(), slot))
    }

    /// Returns the offender.
    ///
    /// # Errors
    /// [`SlashingEvidenceError`] when the signatures prove no offence.
    pub fn offender(&self, authenticator: &Authenticator) -> Result<Address, SlashingEvidenceError> {
        let (first, second, conflict, is_ordered) = match self {
            Self::Votes { first, second } => (
                first.signer(authenticator)?,
                second.signer(authenticator)?,
                first.data.conflicts(&second.data),
                first < second,
            ),
            Self::Proposals { first, second } => (
                first.signer(authenticator)?,
                second.signer(authenticator)?,
                first.slot == second.slot && first.block != second.block,
                first < second,
            ),
        };
        if first != second {
            return Err(SlashingEvidenceError::Signers { first, second });
        }
        if !conflict {
            return Err(SlashingEvidenceError::NoConflict);
        }
        if is_ordered { Ok(first) } else { Err(SlashingEvidenceError::Order) }
    }

    /// Returns the identifier of the evidence: keccak of its encoding.
    pub fn id(&self) -> B256 {
        let mut out = Encoder::new();
        self.encode(&mut out);
        keccak256(out.as_bytes())
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Votes { first, second } => {
                out.u8(1);
                first.encode(out);
                second.encode(out);
            }
            Self::Proposals { first, second } => {
                out.u8(2);
                first.encode(out);
                second.encode(out);
            }
        }
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        match bytes.u8()? {
            1 => Some(Self::Votes { first: Vote::decode(bytes)?, second: Vote::decode(bytes)? }),
            2 => Some(Self::Proposals { first: Proposal::decode(bytes)?, second: Proposal::decode(bytes)? }),
            _ => None,
        }
    }
}

/// Returns the validators with conflicting votes among those of two branches (accountable safety of Casper FFG).
///
/// When two conflicting checkpoints are final, each by the votes of two thirds, the result has at least a third of the stake
/// (Buterin and Griffith, "Casper the Friendly Finality Gadget", theorem 1). Votes whose signature does not verify are skipped.
pub fn offenders<'a>(
    votes_a: impl IntoIterator<Item = &'a Vote>,
    votes_b: impl IntoIterator<Item = &'a Vote>,
    authenticator: &Authenticator,
) -> BTreeSet<Address> {
    let mut by_signer: BTreeMap<Address, BTreeSet<VoteData>> = BTreeMap::new();
    for vote in votes_a.into_iter().chain(votes_b) {
        if let Ok(signer) = vote.signer(authenticator) {
            by_signer.entry(signer).or_default().insert(vote.data);
        }
    }
    let is_guilty = |votes: &BTreeSet<VoteData>| votes.iter().any(|one| votes.iter().any(|other| one.conflicts(other)));
    by_signer.into_iter().filter(|(_, votes)| is_guilty(votes)).map(|(signer, _)| signer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consensus::{BlockId, Signer, pos::Checkpoint},
        primitives::{Height, KeyPair},
    };

    fn data(source: u64, target: u64, byte: u8) -> VoteData {
        let block = BlockId { height: Height::new(target), hash: B256::repeat_byte(byte) };
        let checkpoint = |epoch| Checkpoint { epoch, block };
        VoteData { slot: target * 4, head: block, source: checkpoint(source), target: checkpoint(target) }
    }

    fn signers(authenticator: &Authenticator, count: u64) -> Vec<Signer> {
        (0..count).map(|index| authenticator.signer(&KeyPair::from_seed(index, "pos"))).collect()
    }

    #[test]
    fn proofs_name_the_offender_and_forgeries_nobody() {
        let authenticator = Authenticator::symbolic(3);
        let signers = signers(&authenticator, 2);
        let vote = |source, target, byte, who: usize| Vote::signed(data(source, target, byte), &signers[who]);
        let double = SlashingEvidence::of_votes(&vote(1, 2, 1, 0), &vote(1, 2, 2, 0)).unwrap();
        assert_eq!(
            (double.condition(), double.offender(&authenticator)),
            (SlashingCondition::DoubleVote, Ok(signers[0].address()))
        );
        let surround = SlashingEvidence::of_votes(&vote(1, 4, 1, 1), &vote(2, 3, 2, 1)).unwrap();
        assert_eq!(surround.condition(), SlashingCondition::SurroundVote);
        assert_eq!(surround, SlashingEvidence::of_votes(&vote(2, 3, 2, 1), &vote(1, 4, 1, 1)).unwrap(), "one form");
        let id = |byte| BlockId { height: Height::new(9), hash: B256::repeat_byte(byte) };
        let proposals = [1, 2].map(|byte| Proposal::signed(9, id(byte), &signers[0]));
        let twice = SlashingEvidence::of_proposals(&proposals[0], &proposals[1]).unwrap();
        assert_eq!(
            (twice.condition(), twice.offender(&authenticator)),
            (SlashingCondition::DoubleProposal, Ok(signers[0].address()))
        );
        assert_eq!(SlashingEvidence::of_proposals(&proposals[0], &proposals[0]), None);
        assert_eq!(SlashingEvidence::of_votes(&vote(1, 2, 1, 0), &vote(2, 3, 1, 0)), None);

        let (first, second) = (vote(1, 2, 1, 0), vote(1, 2, 2, 1));
        let framed = SlashingEvidence::of_votes(&first, &second).unwrap();
        assert!(matches!(framed.offender(&authenticator), Err(SlashingEvidenceError::Signers { .. })));
        let harmless = SlashingEvidence::Votes { first: vote(1, 2, 1, 0), second: vote(2, 3, 1, 0) };
        assert_eq!(harmless.offender(&authenticator), Err(SlashingEvidenceError::NoConflict));
        let SlashingEvidence::Votes { first, second } = double else { panic!("votes") };
        let turned = SlashingEvidence::Votes { first: second, second: first };
        assert_eq!(turned.offender(&authenticator), Err(SlashingEvidenceError::Order));
    }

    #[test]
    fn the_guilty_are_found_in_the_votes_of_two_branches() {
        let authenticator = Authenticator::symbolic(3);
        let signers = signers(&authenticator, 4);
        let votes = |who: &[usize], byte| -> Vec<Vote> {
            let chain = |who: &usize| {
                (1..3).map(|epoch| Vote::signed(data(epoch, epoch + 1, byte), &signers[*who])).collect::<Vec<_>>()
            };
            who.iter().flat_map(chain).collect()
        };
        let (left, right) = (votes(&[0, 1, 2], 1), votes(&[1, 2, 3], 2));
        let guilty = offenders(&left, &right, &authenticator);
        assert_eq!(guilty, [1, 2].map(|who: usize| signers[who].address()).into());
        assert!(offenders(&left, &left, &authenticator).is_empty());
    }
}
