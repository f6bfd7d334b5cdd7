//! The payload beside a header: the next committee and evidence.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use super::{DoubleSigning, EvidenceError, HeaderError, double_signing::EVIDENCE_PER_BLOCK_MAX};
use crate::{
    consensus::{Validator, ValidatorSet},
    primitives::{Address, Bytes},
};

/// What a block says beside its header; nothing at all in most blocks.
///
/// Encoding: no bytes, or RLP of `[validators, evidence]`: the validators who take over as `[address, weight]` in ascending order of
/// address (empty: nobody), evidence as `[kind, view, height, hash, signature, hash, signature]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Who certifies the blocks after this one, where that changes.
    pub successor: Option<ValidatorSet>,
    /// Proof against validators of whom nothing was told before.
    pub evidence: Vec<DoubleSigning>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Fields {
    members: Vec<Member>,
    evidence: Vec<DoubleSigning>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Member {
    address: Address,
    weight: u64,
}

impl Payload {
    /// The canonical bytes.
    pub fn encoded(&self) -> Bytes {
        if self.successor.is_none() && self.evidence.is_empty() {
            return Bytes::new();
        }
        let members = self.successor.iter().flat_map(ValidatorSet::members);
        let members = members.map(|member| Member { address: member.address, weight: member.weight }).collect();
        alloy_rlp::encode(Fields { members, evidence: self.evidence.clone() }).into()
    }

    /// Reads [`Payload::encoded`]'s form and no other.
    ///
    /// # Errors
    /// [`HeaderError::Payload`], and [`EvidenceError::TooMuch`] in [`HeaderError::Evidence`].
    pub fn decode(bytes: &Bytes) -> Result<Self, HeaderError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let malformed = || HeaderError::Payload { bytes: bytes.len() };
        let Fields { members, evidence } = Fields::decode(&mut bytes.as_ref()).map_err(|_| malformed())?;
        if evidence.len() > EVIDENCE_PER_BLOCK_MAX {
            return Err(EvidenceError::TooMuch { got: evidence.len() }.into());
        }
        let members = members.into_iter().map(|Member { address, weight }| Validator { address, weight });
        let payload = Self { successor: ValidatorSet::new(members).ok(), evidence };
        if payload.encoded() == *bytes { Ok(payload) } else { Err(malformed()) }
    }
}
