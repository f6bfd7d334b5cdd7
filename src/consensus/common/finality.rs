//! What "final" means, which is another thing for each protocol.

use super::event::BlockId;
use crate::primitives::Height;

/// Why a block is final.
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
    /// Not expected to be reverted.
    pub safe: BlockId,
    /// Never reverted, in the sense of `kind`.
    pub finalized: BlockId,
    /// Up to this height this replica never takes anything back; below `finalized` where finality is advice.
    pub irreversible: Height,
    /// In which sense.
    pub kind: FinalityKind,
}

impl Finality {
    /// Everything up to `block` is safe, final and never taken back.
    pub const fn both(block: BlockId, kind: FinalityKind) -> Self {
        Self { safe: block, finalized: block, irreversible: block.height, kind }
    }
}
