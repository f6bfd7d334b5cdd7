//! The payload beside a header: the next committee, evidence, absent validators.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use super::{DoubleSigning, EvidenceError, HeaderError, double_signing::EVIDENCE_PER_BLOCK_MAX};
use crate::{
    consensus::{Validator, ValidatorSet},
    primitives::{Address, Bytes},
};

/// The consensus payload of a block; empty in most blocks.
///
/// Encoding: no bytes, or RLP of `[validators, evidence]`: the next committee as `[address, weight]` in ascending order of
/// address (empty: no change), evidence as `[kind, view, height, hash, signature, hash, signature]`. Where validators were absent,
/// their addresses follow as a third list, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Committee of the blocks after this one; `None` when it does not change.
    pub successor: Option<ValidatorSet>,
    /// Evidence against validators that are not convicted yet.
    pub evidence: Vec<DoubleSigning>,
    /// Validators whose commit for the parent did not arrive in time, on a chain that reports absences.
    pub absent: Vec<Address>,
}

#[derive(RlpEncodable, RlpDecodable)]
#[rlp(trailing)]
struct Fields {
    members: Vec<Member>,
    evidence: Vec<DoubleSigning>,
    absent: Option<Vec<Address>>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Member {
    address: Address,
    weight: u64,
}

impl Payload {
    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        if self.successor.is_none() && self.evidence.is_empty() && self.absent.is_empty() {
            return Bytes::new();
        }
        let members = self.successor.iter().flat_map(ValidatorSet::members);
        let members = members.map(|member| Member { address: member.address, weight: member.weight }).collect();
        let absent = (!self.absent.is_empty()).then(|| self.absent.clone());
        alloy_rlp::encode(Fields { members, evidence: self.evidence.clone(), absent }).into()
    }

    /// Decodes the canonical encoding.
    ///
    /// # Errors
    /// [`HeaderError::Payload`], and [`EvidenceError::TooMuch`] in [`HeaderError::Evidence`].
    pub fn decode(bytes: &Bytes) -> Result<Self, HeaderError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let malformed = || HeaderError::Payload { bytes: bytes.len() };
        let Fields { members, evidence, absent } = Fields::decode(&mut bytes.as_ref()).map_err(|_| malformed())?;
        if evidence.len() > EVIDENCE_PER_BLOCK_MAX {
            return Err(EvidenceError::TooMuch { got: evidence.len() }.into());
        }
        let members = members.into_iter().map(|Member { address, weight }| Validator { address, weight });
        let (successor, absent) = (ValidatorSet::new(members).ok(), absent.unwrap_or_default());
        let payload = Self { successor, evidence, absent };
        if payload.encoded() == *bytes { Ok(payload) } else { Err(malformed()) }
    }
}
