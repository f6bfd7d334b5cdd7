//! Finality, whose meaning differs between protocols.

use super::id::BlockId;
use crate::primitives::Height;

/// The sense in which a block is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinalityKind {
    /// A quorum certificate (PBFT).
    Certificate,
    /// Committed in the replicated log (Raft: against crashes only).
    LogCommit,
    /// Last irreversible block (delegated proof of stake).
    Irreversible,
    /// A finalised checkpoint (proof of stake).
    Checkpoint,
    /// Depth below distinct signers (proof of authority): advice, never a claim of safety.
    Depth,
}

/// The blocks behind the tags `safe` and `finalized`.
///
/// | protocol | `safe` | `finalized` |
/// |---|---|---|
/// | PBFT, Raft | the head | the head |
/// | delegated proof of stake | the last irreversible block | the same |
/// | proof of stake | the last justified checkpoint | the last finalised checkpoint |
/// | proof of authority | the newest block below those of more than half of the signers: advice | the same |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Finality {
    /// Block that is not expected to be reverted.
    pub safe: BlockId,
    /// Block that is never reverted, in the sense of `kind`.
    pub finalized: BlockId,
    /// Height up to which this replica reverts no block; below `finalized` where finality is advice.
    pub irreversible: Height,
    /// Sense in which it is final.
    pub kind: FinalityKind,
}

impl Finality {
    /// Returns the finality in which everything up to `block` is safe, final and irreversible.
    pub const fn both(block: BlockId, kind: FinalityKind) -> Self {
        Self { safe: block, finalized: block, irreversible: block.height, kind }
    }
}
