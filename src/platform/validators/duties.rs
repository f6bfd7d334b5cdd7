//! What one validator had to do for the newest blocks, and what it missed, as the blocks say it.
//!
//! | protocol | duties | missed |
//! |---|---|---|
//! | proof of authority | the blocks of its turn (EIP-225) | those that another sealed |
//! | delegated proof of stake | the blocks that it sealed, and its empty slots | the blocks that report an empty slot of it |
//! | proof of stake | the blocks that it sealed, and its votes that are missing | the blocks that report it as absent; no empty slots |
//! | PBFT | a commit of each block | the blocks that report it as absent |
//! | Raft | none: blocks say nothing of followers | none |
//!
//! Empty slots of proof of stake are nobody's here. No block names their proposer, which is drawn from the seed and the stakes in force in
//! the epoch of the slot. Blocks have the seed, and of the stakes only what changes them. Replicas keep the stakes of the epochs since the
//! final checkpoint, which are fewer than the window has; the older ones follow from all headers since genesis, which a pruned chain has
//! no more. A validator that stays down misses its votes, too, and they count.
//!
//! Turns and committees are those of the present validators, so that the count goes back to their newest change, and over 100 blocks at
//! most.

use alloy_primitives::Address;

use crate::{
    chain::Block,
    consensus::{ConsensusKind, dpos, pbft, poa, pos},
    node::{BlockRef, NodeView, QueryError},
    platform::{PlatformError, blockchain::metrics::WINDOW_BLOCKS},
    primitives::Height,
};

/// Duties of a validator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidatorDuties {
    /// Blocks that were looked at, the newest ones.
    pub blocks: u64,
    /// Blocks of them that it sealed.
    pub sealed: u64,
    /// What it had to do.
    pub duties: u64,
    /// What it missed of that.
    pub missed: u64,
}

impl ValidatorDuties {
    /// Part of its duties that it did, in percent; `None` without any.
    pub fn uptime(&self) -> Option<f64> {
        (self.duties > 0).then(|| 100.0 * self.duties.saturating_sub(self.missed) as f64 / self.duties as f64)
    }
}

/// What a block says of a validator.
struct Report {
    has_duty: bool,
    is_missed: bool,
    /// Whether the validators are others from the next block on.
    changes: bool,
}

/// Measures the validator with a key on the newest blocks. `keys` are those of the present validators, ascending.
pub(super) fn measure(
    view: &NodeView,
    kind: ConsensusKind,
    keys: &[Address],
    key: Address,
) -> Result<ValidatorDuties, PlatformError> {
    let mut found = ValidatorDuties::default();
    let head = view.head().height().get();
    for height in (1..=head).rev().take(usize::try_from(WINDOW_BLOCKS).unwrap_or(usize::MAX)) {
        let block = match view.block(BlockRef::Number(Height::new(height))) {
            Ok(block) => block,
            Err(QueryError::Pruned { .. }) => break,
            Err(cause) => return Err(PlatformError::from_query(cause)),
        };
        let block = block.block();
        let report = report(kind, keys, key, block);
        if report.changes {
            break;
        }
        found.blocks += 1;
        found.sealed += u64::from(block.header().beneficiary == key);
        found.duties += u64::from(report.has_duty);
        found.missed += u64::from(report.is_missed);
    }
    Ok(found)
}

fn report(kind: ConsensusKind, keys: &[Address], key: Address, block: &Block) -> Report {
    let (payload, is_own) = (block.protocol_payload(), block.header().beneficiary == key);
    let counted = |absent: &[Address], is_member: bool, changes: bool| {
        let is_missed = absent.contains(&key);
        Report { has_duty: is_missed || is_member, is_missed, changes }
    };
    match kind {
        ConsensusKind::Poa => {
            let payload = poa::Payload::decode(payload).unwrap_or_default();
            let turn = block.height().get().checked_rem(keys.len() as u64).unwrap_or_default();
            let has_duty = usize::try_from(turn).ok().and_then(|turn| keys.get(turn)) == Some(&key);
            Report { has_duty, is_missed: has_duty && !is_own, changes: payload.next_signers.is_some() }
        }
        ConsensusKind::Pos => {
            let absent = pos::Payload::decode(payload).map(|payload| payload.absent).unwrap_or_default();
            counted(&absent, is_own, false)
        }
        ConsensusKind::Dpos => {
            let absent = dpos::Payload::decode(payload).map(|payload| payload.absent).unwrap_or_default();
            counted(&absent, is_own, false)
        }
        ConsensusKind::Pbft => {
            let payload = pbft::Payload::decode(payload).unwrap_or_default();
            counted(&payload.absent, keys.contains(&key), payload.successor.is_some())
        }
        ConsensusKind::Raft => Report { has_duty: false, is_missed: false, changes: false },
    }
}
