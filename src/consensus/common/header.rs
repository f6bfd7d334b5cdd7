//! Checks of the header fields that all protocols treat alike: parent, time, unused fields, `extraData` and beneficiary.

use super::{
    id::BlockId,
    signing::{Authenticator, Purpose, SealError},
};
use crate::{
    chain::{Block, Intervention, RuleError, predictable_mix_hash, split_parameters},
    consensus::SealedHeader,
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp, U256},
    system::ParameterUpdates,
};

/// A standard header field that breaks a rule common to all protocols.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderFieldError {
    /// The header does not extend the block that it is verified against.
    #[error("header at height {got_height} has parent {got}; expected a child of {want}")]
    Parent {
        /// Parent hash in the header.
        got: B256,
        /// Height of the header.
        got_height: Height,
        /// Block that the header has to extend.
        want: BlockId,
    },
    /// The timestamp is below the parent's plus the period.
    #[error("timestamp is {got}; expected at least {want}")]
    Timestamp {
        /// Timestamp in the header.
        got: Timestamp,
        /// Earliest timestamp allowed.
        want: Timestamp,
    },
    /// A field that the protocol does not use is not zero.
    #[error("{field} is not zero; the protocol does not use it")]
    NotZero {
        /// Name of the field, as in JSON-RPC.
        field: &'static str,
    },
    /// Parameters of the chain change where the protocol takes none over.
    #[error(
        "the block at height {height} changes {parameters}; the protocol takes parameters over at its boundaries only"
    )]
    NoBoundary {
        /// Height of the header.
        height: Height,
        /// The parameters that it would put in force.
        parameters: ParameterUpdates,
    },
    /// `mixHash` is neither zero, as before Paris, nor the predictable one, nor the one that an intervention of the block sets.
    #[error("mixHash is {got}; expected zero before Paris, from then on {want}")]
    MixHash {
        /// `mixHash` in the header.
        got: B256,
        /// The predictable mix of parent and height, or the one that an intervention sets.
        want: B256,
    },
    /// `extraData` does not commit to the payload.
    #[error("extraData is {got}; expected {want}, the keccak-256 of the payload, empty without a payload")]
    ExtraData {
        /// `extraData` in the header.
        got: Bytes,
        /// `extraData` that commits to the payload.
        want: Bytes,
    },
    /// The fees go to another account than the block's author.
    #[error("beneficiary is {got}; expected the block's author {author}")]
    Beneficiary {
        /// Beneficiary in the header.
        got: Address,
        /// Author of the block, by its seal.
        author: Address,
    },
}

impl From<HeaderFieldError> for RuleError {
    fn from(error: HeaderFieldError) -> Self {
        let (field, got, want) = match error {
            HeaderFieldError::Parent { got, want, .. } => ("parentHash", got.to_string(), want.to_string()),
            HeaderFieldError::Timestamp { got, want } => ("timestamp", got.to_string(), format!("at least {want}")),
            HeaderFieldError::NoBoundary { parameters, .. } => {
                ("payload", parameters.to_string(), "no change of parameters".to_owned())
            }
            HeaderFieldError::NotZero { field } => (field, "not zero".to_owned(), "zero".to_owned()),
            HeaderFieldError::MixHash { got, want } => ("mixHash", got.to_string(), want.to_string()),
            HeaderFieldError::ExtraData { got, want } => ("extraData", got.to_string(), want.to_string()),
            HeaderFieldError::Beneficiary { got, author } => ("miner", got.to_string(), author.to_string()),
        };
        Self::Field { field, got, want }
    }
}

/// A header field that some protocols do not use and keep at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::consensus) enum UnusedField {
    Difficulty,
    Nonce,
}

/// A header to verify, with the payload and the seal that are stored beside it.
#[derive(Clone, Debug)]
pub struct UnverifiedHeader<'a> {
    /// Hash of the header.
    pub hash: B256,
    /// Standard header.
    pub header: &'a Header,
    /// The protocol's payload, to which `extraData` commits.
    pub payload: Bytes,
    /// Parameters of the chain that change with the block, to which `extraData` commits too.
    pub parameters: ParameterUpdates,
    /// Both, as they are stored.
    whole_payload: &'a Bytes,
    /// Seal over the hash, in the protocol's encoding.
    pub seal: &'a Bytes,
    /// Whether `extraData` is the payload's keccak, or empty as the payload.
    commits_to_payload: bool,
    /// `mixHash` that an intervention of the block sets; `None` without one, and for a header without its block.
    mix_hash_set: Option<B256>,
    /// The block; `None` for a header without it.
    block: Option<&'a Block>,
}

impl<'a> From<&'a Block> for UnverifiedHeader<'a> {
    /// Converts a block, whose commitment to its payload needs no hashing here.
    fn from(block: &'a Block) -> Self {
        let (header, payload) = (block.header(), block.payload());
        let commits_to_payload =
            if payload.is_empty() { header.extra_data.is_empty() } else { block.commits_to_payload() };
        let mix_hash_set = block.interventions().iter().rev().find_map(|intervention| match intervention {
            Intervention::PrevRandao { mix_hash } => Some(*mix_hash),
            _ => None,
        });
        Self {
            hash: block.hash(),
            header,
            payload: block.protocol_payload().clone(),
            parameters: block.parameters().clone(),
            whole_payload: payload,
            seal: block.seal(),
            commits_to_payload,
            mix_hash_set,
            block: Some(block),
        }
    }
}

impl<'a> From<&'a SealedHeader> for UnverifiedHeader<'a> {
    fn from(SealedHeader { header, payload, seal }: &'a SealedHeader) -> Self {
        let commits_to_payload = header.extra_data == extra_data_of(payload);
        let (parameters, own) = split_parameters(payload);
        Self {
            hash: header.hash_slow(),
            header,
            payload: own,
            parameters,
            whole_payload: payload,
            seal,
            commits_to_payload,
            mix_hash_set: None,
            block: None,
        }
    }
}

impl UnverifiedHeader<'_> {
    /// Returns the height and the hash.
    pub const fn id(&self) -> BlockId {
        BlockId { height: Height::new(self.header.number), hash: self.hash }
    }

    /// Returns the timestamp in the header.
    pub const fn timestamp(&self) -> Timestamp {
        Timestamp::from_secs(self.header.timestamp)
    }

    /// Returns the author by a seal that is a signature over the hash.
    ///
    /// # Errors
    /// [`SealError`] for a seal that does not verify.
    pub fn author(&self, authenticator: &Authenticator) -> Result<Address, SealError> {
        authenticator.author(Purpose::Block, self.hash, self.seal)
    }

    /// Checks that the header extends `parent`.
    pub(in crate::consensus) fn check_parent(&self, parent: BlockId) -> Result<(), HeaderFieldError> {
        let (got, got_height) = (self.header.parent_hash, self.id().height);
        if got == parent.hash && got_height == parent.height.next() {
            Ok(())
        } else {
            Err(HeaderFieldError::Parent { got, got_height, want: parent })
        }
    }

    /// Checks that the timestamp is `earliest` or later.
    pub(in crate::consensus) fn check_timestamp(&self, earliest: Timestamp) -> Result<(), HeaderFieldError> {
        let (got, want) = (self.timestamp(), earliest);
        if got >= want { Ok(()) } else { Err(HeaderFieldError::Timestamp { got, want }) }
    }

    /// Checks that fields which the protocol does not use are zero, in the order given.
    pub(in crate::consensus) fn check_unused(&self, fields: &[UnusedField]) -> Result<(), HeaderFieldError> {
        for field in fields {
            let (field, is_zero) = match field {
                UnusedField::Difficulty => ("difficulty", self.header.difficulty == U256::ZERO),
                UnusedField::Nonce => ("nonce", self.header.nonce == B64::ZERO),
            };
            if !is_zero {
                return Err(HeaderFieldError::NotZero { field });
            }
        }
        Ok(())
    }

    /// Checks that the header changes no parameters of the chain, unless it is where the protocol takes them over. Which ones are due
    /// only the chain knows, by executing it.
    pub(in crate::consensus) fn check_boundary(&self, is_boundary: bool) -> Result<(), HeaderFieldError> {
        if is_boundary || self.parameters.is_empty() {
            return Ok(());
        }
        Err(HeaderFieldError::NoBoundary { height: self.id().height, parameters: self.parameters.clone() })
    }

    /// Checks `mixHash` of a protocol without randomness, as far as header and interventions tell: the chain, which knows its fork,
    /// checks which of zero and the predictable mix it has to be. A light verifier, which sees no interventions, refuses a header
    /// whose mix one of them sets.
    pub(in crate::consensus) fn check_mix_hash(&self) -> Result<(), HeaderFieldError> {
        let got = self.header.mix_hash;
        let predictable = || predictable_mix_hash(self.header.parent_hash, self.id().height);
        let is_valid = match (self.mix_hash_set, self.block) {
            (Some(set), _) => got == set,
            (None, Some(block)) => got == B256::ZERO || block.has_predictable_mix_hash(),
            (None, None) => got == B256::ZERO || got == predictable(),
        };
        if is_valid {
            return Ok(());
        }
        Err(HeaderFieldError::MixHash { got, want: self.mix_hash_set.unwrap_or_else(predictable) })
    }

    /// Returns whether there is a payload, of the protocol or of the chain's parameters.
    pub(in crate::consensus) fn has_payload(&self) -> bool {
        !self.whole_payload.is_empty()
    }

    /// Checks that `extraData` commits to the payload.
    pub(in crate::consensus) fn check_extra_data(&self) -> Result<(), HeaderFieldError> {
        if self.commits_to_payload {
            return Ok(());
        }
        let (got, want) = (self.header.extra_data.clone(), extra_data_of(self.whole_payload));
        Err(HeaderFieldError::ExtraData { got, want })
    }

    /// Checks that the block's author earns its fees.
    pub(in crate::consensus) fn check_beneficiary(&self, author: Address) -> Result<(), HeaderFieldError> {
        let got = self.header.beneficiary;
        if got == author { Ok(()) } else { Err(HeaderFieldError::Beneficiary { got, author }) }
    }
}

fn extra_data_of(payload: &Bytes) -> Bytes {
    Block::extra_data_of(payload).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: BlockId = BlockId { height: Height::new(4), hash: B256::repeat_byte(4) };

    fn sealed(change: impl FnOnce(&mut Header)) -> SealedHeader {
        let payload = Bytes::from_static(&[7]);
        let mut header = Header {
            number: 5,
            parent_hash: PARENT.hash,
            timestamp: 30,
            beneficiary: Address::repeat_byte(1),
            extra_data: Block::extra_data_of(&payload).unwrap(),
            ..Header::default()
        };
        change(&mut header);
        SealedHeader { header, payload, seal: Bytes::new() }
    }

    fn check(header: UnverifiedHeader<'_>) -> Result<(), HeaderFieldError> {
        header.check_parent(PARENT)?;
        header.check_timestamp(Timestamp::from_secs(30))?;
        header.check_unused(&[UnusedField::Difficulty, UnusedField::Nonce])?;
        header.check_mix_hash()?;
        header.check_extra_data()?;
        header.check_beneficiary(Address::repeat_byte(1))
    }

    #[test]
    fn each_field_is_checked_and_named() {
        assert_eq!(check((&sealed(|_| ())).into()), Ok(()));
        for (field, bad) in [
            ("parentHash", sealed(|header| header.parent_hash = B256::ZERO)),
            ("parentHash", sealed(|header| header.number = 6)),
            ("timestamp", sealed(|header| header.timestamp = 29)),
            ("difficulty", sealed(|header| header.difficulty = U256::from(1))),
            ("mixHash", sealed(|header| header.mix_hash = B256::repeat_byte(1))),
            ("nonce", sealed(|header| header.nonce = B64::repeat_byte(1))),
            ("extraData", sealed(|header| header.extra_data = Bytes::new())),
            ("miner", sealed(|header| header.beneficiary = Address::ZERO)),
        ] {
            let error = check((&bad).into()).unwrap_err();
            assert!(matches!(RuleError::from(error), RuleError::Field { field: got, .. } if got == field), "{field}");
        }
    }

    #[test]
    fn the_mix_hash_is_zero_or_predictable_or_set_by_an_intervention() {
        let predictable = predictable_mix_hash(PARENT.hash, Height::new(5));
        let set = B256::repeat_byte(9);
        let block = |mix_hash, interventions| {
            let header = Header { mix_hash, ..sealed(|_| ()).header };
            Block::new(header, Vec::new(), Bytes::from_static(&[7]), interventions)
        };
        let by_intervention = || vec![Intervention::PrevRandao { mix_hash: set }];
        for (name, block, is_valid) in [
            ("zero", block(B256::ZERO, Vec::new()), true),
            ("predictable", block(predictable, Vec::new()), true),
            ("of another block", block(predictable_mix_hash(PARENT.hash, Height::new(6)), Vec::new()), false),
            ("set", block(set, by_intervention()), true),
            ("not the one set", block(predictable, by_intervention()), false),
            ("zero, though one is set", block(B256::ZERO, by_intervention()), false),
        ] {
            assert_eq!(check((&block).into()).is_ok(), is_valid, "{name}");
        }
        let unseen = SealedHeader::from(&block(set, by_intervention()));
        assert_eq!(check((&unseen).into()), Err(HeaderFieldError::MixHash { got: set, want: predictable }));
    }

    #[test]
    fn extra_data_is_empty_without_a_payload() {
        for (name, extra_data, is_valid) in [("empty", Bytes::new(), true), ("free text", vec![1].into(), false)] {
            let header = Header { extra_data, ..Header::default() };
            let block = Block::new(header, Vec::new(), Bytes::new(), Vec::new());
            let sealed = SealedHeader::from(&block);
            for header in [UnverifiedHeader::from(&block), UnverifiedHeader::from(&sealed)] {
                assert_eq!(header.check_extra_data().is_ok(), is_valid, "{name}");
            }
        }
    }
}
