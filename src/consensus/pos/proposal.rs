//! Proposals: what a block's proposer signs.

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Authenticator, BlockId, Encoder, Purpose, SealError, Signer, encoding::Decoder},
    primitives::{Address, B256, Bytes, keccak256},
};

/// Length of a proposal's signed bytes.
const PROPOSAL_BYTES: usize = 4 + 21 + 8 + 40;

/// A block that was sealed for a slot. The block's seal is this signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Proposal {
    /// Slot of the block.
    pub slot: u64,
    /// The block.
    pub block: BlockId,
    /// The proposer's signature over [`proposal_hash`].
    pub signature: Bytes,
}

impl Proposal {
    /// Signs a block for a slot.
    pub fn signed(slot: u64, block: BlockId, signer: &Signer) -> Self {
        Self { slot, block, signature: signer.sign(Purpose::Message, proposal_hash(slot, &block)) }
    }

    /// Returns the signer.
    ///
    /// # Errors
    /// [`SealError`] when the signature does not verify.
    pub fn signer(&self, authenticator: &Authenticator) -> Result<Address, SealError> {
        proposer_of(authenticator, self.slot, &self.block, &self.signature)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { slot, block, signature } = self;
        out.u64(*slot);
        block.encode(out);
        out.bytes(signature);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            slot: bytes.u64()?,
            block: BlockId::decode(bytes)?,
            signature: Bytes::copy_from_slice(bytes.bytes()?),
        })
    }
}

/// Returns the hash that the proposer of `slot` signs to propose `block`. It covers the slot, so that two signatures prove a
/// double proposal without the blocks.
pub fn proposal_hash(slot: u64, block: &BlockId) -> B256 {
    keccak256(proposal_message(slot, block).as_bytes())
}

/// Returns the signer of a proposal. The authenticator caches the hash.
pub(super) fn proposer_of(
    authenticator: &Authenticator,
    slot: u64,
    block: &BlockId,
    signature: &[u8],
) -> Result<Address, SealError> {
    let hash = authenticator.keccak(proposal_message(slot, block).as_bytes());
    authenticator.author(Purpose::Message, hash, signature)
}

fn proposal_message(slot: u64, block: &BlockId) -> Encoder {
    let mut out = Encoder::with_capacity(PROPOSAL_BYTES);
    out.bytes(b"chainbox pos proposal");
    out.u64(slot);
    block.encode(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Height, KeyPair};

    #[test]
    fn a_signature_is_for_its_own_slot_only() {
        let authenticator = Authenticator::symbolic(1);
        let signer = authenticator.signer(&KeyPair::from_seed(1, "validator"));
        let block = BlockId { height: Height::new(2), hash: B256::repeat_byte(3) };
        let mut proposal = Proposal::signed(7, block, &signer);
        assert_eq!(proposal.signer(&authenticator), Ok(signer.address()));
        proposal.slot = 8;
        assert!(proposal.signer(&authenticator).is_err());
    }
}
