//! The seam to consensus: who may make which header, and who earns its fees.

use core::fmt::Debug;
use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bytes, U256};

use super::{block::Block, intervention::Intervention};
use crate::{
    primitives::{Gas, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates},
};

/// The fields of a new block that its maker chooses; everything else follows from the parent and from execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockAttributes {
    /// Its time; never below the parent's.
    pub timestamp: Timestamp,
    /// The header's `miner`: who earns the fees, unless [`HeaderRules::author`] says otherwise.
    pub beneficiary: Address,
    /// The header's difficulty, as the protocol sets it.
    pub difficulty: U256,
    /// The header's `mixHash`, which contracts read as `prevRandao`.
    pub mix_hash: B256,
    /// The header's nonce, as the protocol sets it.
    pub nonce: B64,
    /// Consensus data kept beside the block; when not empty, `extraData` becomes its keccak.
    pub payload: Bytes,
    /// `extraData` of a block without payload; at most 32 bytes.
    pub extra_data: Bytes,
    /// Gas limit to move towards (at most 1/1024 a block, Yellow Paper 4.3.4); `None` keeps the parent's.
    pub gas_limit: Option<Gas>,
    /// Changes by hand, in order; refused unless genesis allows them.
    pub interventions: Vec<Intervention>,
}

/// Why a protocol refuses a block or can't judge it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// A header or payload field is not what the protocol demands.
    #[error("{field} is {got}, the protocol demands {want}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What the block says.
        got: String,
        /// What it would have to say.
        want: String,
    },
    /// The seal is missing or not by somebody who may make this block.
    #[error("seal refused: {reason}")]
    Seal {
        /// Why.
        reason: String,
    },
    /// Something that the judgement needs is not here yet; judge again later.
    #[error("can't be judged yet: {reason}")]
    Pending {
        /// What is missing.
        reason: String,
    },
}

/// Looks up the headers of a block's ancestors. Object-safe, and stays so.
pub trait Ancestors: Debug {
    /// The block with this hash, when it is known and not pruned.
    fn block(&self, hash: B256) -> Option<Arc<Block>>;

    /// What executing that block changed in the set of validators; nothing for an unknown one.
    fn updates(&self, hash: B256) -> ValidatorUpdates {
        let _ = hash;
        ValidatorUpdates::NONE
    }
}

/// A protocol's rules for headers, judged without its live state. Object-safe, and stays so.
///
/// The chain itself judges everything that execution decides: number, gas, roots, bloom, base fee. An implementation judges
/// the rest: difficulty, mix hash, nonce, payload, timing and seal.
pub trait HeaderRules: Debug + Send + Sync {
    /// Judges `block`, whose parent is `parent`.
    ///
    /// Must answer the same for the same block on every machine.
    ///
    /// # Errors
    /// [`RuleError`] when the protocol refuses the block.
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError>;

    /// Calls to system contracts that the execution of a block begins with; by default none.
    ///
    /// On a chain with stake whose protocol makes none, the chain itself makes one: the author is the proposer, nobody was
    /// absent (see [`begin_block`](crate::system::staking::begin_block)).
    ///
    /// They follow from the context alone: whoever builds the block and whoever checks it make the same.
    ///
    /// # Errors
    /// [`RuleError`] when the payload can't be read; the block is then invalid.
    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        let _ = context;
        Ok(Vec::new())
    }

    /// Who earns the fees of a block with this header; by default its beneficiary.
    fn author(&self, header: &Header) -> Address {
        header.beneficiary
    }
}

/// Takes every header: for chains whose blocks are scripted by hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyHeader;

impl HeaderRules for AnyHeader {
    fn verify(&self, _block: &Block, _parent: &Header, _ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise of object safety.
    const _: fn(&dyn HeaderRules, &dyn Ancestors) = |_, _| {};
}
