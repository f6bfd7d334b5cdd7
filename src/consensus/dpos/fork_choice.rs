//! Fork choice: the branch that has prepared most.

use core::cmp::{Ordering, Reverse};

use super::{FinalityRule, Prepared};
use crate::{
    consensus::{
        BlockId,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

/// The key by which heads are compared; the greater one wins. Only branches with the replica's last irreversible block compete.
///
/// The branch with the higher prepared height comes first, where a later schedule precedes a greater height; then the greater length,
/// the earlier slot, the lower hash. Every lock is on a height that some branch has prepared, so that all producers may confirm the
/// best branch. Irreversible heights are not compared: producers whose lock is above what the branch with the higher
/// irreversible height has prepared would follow that branch and never confirm it again.
///
/// By [`FinalityRule::Classic`] the higher irreversible height comes first, then the length, as in EOSIO (`fork_database`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForkChoiceKey {
    /// Rule by which blocks become irreversible.
    pub rule: FinalityRule,
    /// Prepared height of its branch.
    pub prepared: Prepared,
    /// Last irreversible height of its branch.
    pub irreversible: Height,
    /// The block, whose height is the branch's length.
    pub block: BlockId,
    /// Slot of the block.
    pub slot: u64,
}

impl ForkChoiceKey {
    /// Whether this block should be the head in place of `current`.
    pub fn beats(&self, current: &Self) -> bool {
        self.cmp(current) == Ordering::Greater
    }

    fn rank(&self) -> (Height, Prepared, Height, Reverse<u64>, Reverse<B256>) {
        let before = mutation::active(Mutation::DposImpliedForEver);
        let is_classic = self.rule == FinalityRule::Classic;
        let irreversible = if is_classic || before { self.irreversible } else { Height::GENESIS };
        let by_length = is_classic || mutation::active(Mutation::DposLengthAlone);
        let prepared = if by_length { Prepared::default() } else { self.prepared };
        (irreversible, prepared, self.block.height, Reverse(self.slot), Reverse(self.block.hash))
    }
}

/// Better blocks are greater.
impl Ord for ForkChoiceKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for ForkChoiceKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key by (version, prepared height), irreversible height, height, slot and hash.
    fn key(prepared: (u64, u64), irreversible: u64, height: u64, slot: u64, hash: u8) -> ForkChoiceKey {
        ForkChoiceKey {
            rule: FinalityRule::Locked,
            prepared: Prepared { version: prepared.0, height: Height::new(prepared.1) },
            irreversible: Height::new(irreversible),
            block: BlockId { height: Height::new(height), hash: B256::repeat_byte(hash) },
            slot,
        }
    }

    #[test]
    fn each_rule_decides_only_what_the_earlier_ones_leave_open() {
        let current = key((2, 7), 5, 10, 20, 0x50);
        for (name, better) in [
            ("a later schedule, though less is prepared", key((3, 6), 4, 9, 20, 0xff)),
            ("more is prepared, though less is irreversible and it is shorter", key((2, 8), 4, 9, 20, 0xff)),
            ("longer, though later", key((2, 7), 4, 11, 30, 0xff)),
            ("an earlier slot", key((2, 7), 5, 10, 19, 0xff)),
            ("a lower hash", key((2, 7), 5, 10, 20, 0x4f)),
        ] {
            assert!(better.beats(&current) && !current.beats(&better), "{name}");
        }
        assert!(!current.beats(&current));
    }

    #[test]
    fn the_classic_rule_compares_irreversible_heights_and_lengths() {
        let classic = |key| ForkChoiceKey { rule: FinalityRule::Classic, ..key };
        let current = classic(key((2, 7), 5, 10, 20, 0x50));
        for (name, better) in [
            ("more is irreversible, though shorter", key((2, 6), 6, 9, 30, 0xff)),
            ("longer, though less is prepared", key((1, 6), 5, 11, 30, 0xff)),
        ] {
            assert!(classic(better).beats(&current) && !current.beats(&classic(better)), "{name}");
        }
    }
}
