//! The interface to consensus: header rules, fee recipient and system calls of a protocol.

use core::{any::Any, fmt::Debug};
use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bytes, U256};

use super::{block::Block, intervention::Intervention};
use crate::{
    primitives::{Gas, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates},
};

/// The fields of a new block that its builder chooses; all others follow from the parent and from execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BlockAttributes {
    /// Time of the block; at least the parent's.
    pub timestamp: Timestamp,
    /// The header's `miner`: the fee recipient, unless [`HeaderRules::author`] gives another.
    pub beneficiary: Address,
    /// The header's difficulty, defined by the protocol.
    pub difficulty: U256,
    /// The header's `mixHash`, which contracts read as `prevRandao`; where it is zero, blocks from Paris on have the
    /// [predictable one](super::predictable_mix_hash). See [`MixHashSource`].
    pub mix_hash: B256,
    /// The header's nonce, defined by the protocol.
    pub nonce: B64,
    /// Consensus data stored beside the block; when not empty, `extraData` is its keccak.
    pub payload: Bytes,
    /// `extraData` of a block without a payload, at most 32 bytes.
    pub extra_data: Bytes,
    /// Target gas limit, approached by less than 1/1024 per block (Yellow Paper, 4.3.4); `None` keeps the parent's.
    pub gas_limit: Option<Gas>,
    /// Interventions recorded by the block, in order; invalid unless genesis allows them.
    pub interventions: Vec<Intervention>,
}

impl BlockAttributes {
    /// Returns the attributes of a block at `timestamp`, with the defaults of all other fields.
    pub fn new(timestamp: Timestamp) -> Self {
        Self { timestamp, ..Self::default() }
    }

    /// Sets the header's `miner`.
    #[must_use]
    pub fn with_beneficiary(self, beneficiary: Address) -> Self {
        Self { beneficiary, ..self }
    }

    /// Sets the header's difficulty.
    #[must_use]
    pub fn with_difficulty(self, difficulty: U256) -> Self {
        Self { difficulty, ..self }
    }

    /// Sets the header's `mixHash`.
    #[must_use]
    pub fn with_mix_hash(self, mix_hash: B256) -> Self {
        Self { mix_hash, ..self }
    }

    /// Sets the header's nonce.
    #[must_use]
    pub fn with_nonce(self, nonce: B64) -> Self {
        Self { nonce, ..self }
    }

    /// Sets the consensus payload.
    #[must_use]
    pub fn with_payload(self, payload: impl Into<Bytes>) -> Self {
        Self { payload: payload.into(), ..self }
    }

    /// Sets `extraData` of a block without a payload.
    #[must_use]
    pub fn with_extra_data(self, extra_data: impl Into<Bytes>) -> Self {
        Self { extra_data: extra_data.into(), ..self }
    }

    /// Sets the target gas limit.
    #[must_use]
    pub fn with_gas_limit(self, gas_limit: Gas) -> Self {
        Self { gas_limit: Some(gas_limit), ..self }
    }

    /// Sets the interventions that the block records.
    #[must_use]
    pub fn with_interventions(self, interventions: Vec<Intervention>) -> Self {
        Self { interventions, ..self }
    }
}

/// Who decides a block's `mixHash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixHashSource {
    /// The chain: the [predictable one](super::predictable_mix_hash) from Paris on, before it zero; or an intervention.
    Chain,
    /// The protocol, whose [`HeaderRules::verify`] verifies it.
    Protocol,
    /// Whoever builds the block, as in scripted chains; the chain gives the predictable one where they leave it zero.
    Builder,
}

/// A block that a protocol's rules reject or can't verify yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// A header or payload field is not the one that the protocol requires.
    #[error("{field} is {got}, the protocol requires {want}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// The block's value.
        got: String,
        /// The required value.
        want: String,
    },
    /// The seal is missing, malformed or by another signer than the block's producer.
    #[error("seal refused: {reason}")]
    Seal {
        /// The fault of the seal.
        reason: String,
    },
    /// Data that verification needs is missing; verify again once it is there.
    #[error("can't be judged yet: {reason}")]
    Pending {
        /// The missing data.
        reason: String,
    },
}

/// Lookup of a block's ancestors. Object-safe, and stays so.
pub trait Ancestors: Debug {
    /// Returns the block with this hash; `None` when it is unknown or pruned.
    fn block(&self, hash: B256) -> Option<Arc<Block>>;

    /// Returns the changes of the validator set made by executing the block; none for an unknown block.
    fn updates(&self, hash: B256) -> ValidatorUpdates {
        let _ = hash;
        ValidatorUpdates::NONE
    }
}

/// A protocol's rules for headers, independent of its running state. Object-safe, and stays so.
///
/// The chain verifies the fields that execution and the fork decide: number, gas, roots, bloom, base fee, mix hash unless it is
/// the protocol's. An implementation verifies the others: difficulty, nonce, payload, timing and seal.
pub trait HeaderRules: Any + Debug + Send + Sync {
    /// Verifies `block`, whose parent is `parent`. Must be deterministic: the same result for the same block on every node.
    ///
    /// # Errors
    /// [`RuleError`] when the block is invalid or can't be verified yet.
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError>;

    /// Returns the calls to system contracts that the execution of a block begins with; by default none.
    ///
    /// On a chain with stake whose protocol returns none, the chain makes one: the author is the proposer and no validator was
    /// absent (see [`begin_block`](crate::system::staking::begin_block)).
    ///
    /// Must depend on `context` only, so that building and verifying a block make the same calls.
    ///
    /// # Errors
    /// [`RuleError`] when the payload can't be read; the block is then invalid.
    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        let _ = context;
        Ok(Vec::new())
    }

    /// Returns the fee recipient of a block with this header; by default its beneficiary.
    fn author(&self, header: &Header) -> Address {
        header.beneficiary
    }

    /// Returns whether a child of `parent` with the height, time and parent hash of `header`, whose other fields may be unset, and this
    /// payload puts the scheduled parameters of the chain in force; by default each block does.
    ///
    /// # Errors
    /// [`RuleError::Pending`] while ancestors that the answer depends on are missing.
    fn is_parameter_boundary(
        &self,
        header: &Header,
        payload: &Bytes,
        parent: &Header,
        ancestors: &dyn Ancestors,
    ) -> Result<bool, RuleError> {
        let _ = (header, payload, parent, ancestors);
        Ok(true)
    }

    /// Returns who decides `mixHash`; by default the chain.
    fn mix_hash_source(&self) -> MixHashSource {
        MixHashSource::Chain
    }
}

/// Accepts every header: for scripted chains without a protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyHeader;

impl HeaderRules for AnyHeader {
    fn verify(&self, _block: &Block, _parent: &Header, _ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        Ok(())
    }

    fn mix_hash_source(&self) -> MixHashSource {
        MixHashSource::Builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The traits are object-safe.
    const _: fn(&dyn HeaderRules, &dyn Ancestors) = |_, _| {};
}
