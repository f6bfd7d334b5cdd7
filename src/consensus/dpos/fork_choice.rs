//! Fork choice: the longest branch above the last irreversible block.

use core::cmp::{Ordering, Reverse};

use crate::{
    consensus::{
        BlockId,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

/// The key by which heads are compared; the greater one wins.
///
/// Only blocks above the last irreversible one compete. The branch with the higher irreversible height comes first, as in
/// EOSIO (`fork_database`), then the higher *proposed* height, the greater length, the earlier slot, the lower hash.
///
/// EOSIO does not compare proposed heights. With length alone two thirds of the producers may each imply a block, stop, and
/// restart with a longer branch without it; together they follow that branch, confirm it above their watermarks, and a
/// second block becomes irreversible that conflicts with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForkChoiceKey {
    /// Last irreversible height of its branch.
    pub irreversible: Height,
    /// Newest proposed height of its branch.
    pub proposed: Height,
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

    fn rank(&self) -> (Height, Height, Height, Reverse<u64>, Reverse<B256>) {
        let by_length = mutation::active(Mutation::DposLengthAlone) || mutation::active(Mutation::DposClassic);
        let proposed = if by_length { Height::default() } else { self.proposed };
        (self.irreversible, proposed, self.block.height, Reverse(self.slot), Reverse(self.block.hash))
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

    fn fork_choice_key(irreversible: u64, proposed: u64, height: u64, slot: u64, hash: u8) -> ForkChoiceKey {
        let block = BlockId { height: Height::new(height), hash: B256::repeat_byte(hash) };
        ForkChoiceKey { irreversible: Height::new(irreversible), proposed: Height::new(proposed), block, slot }
    }

    #[test]
    fn each_rule_decides_only_what_the_earlier_ones_leave_open() {
        let current = fork_choice_key(5, 7, 10, 20, 0x50);
        for (name, better) in [
            ("more is irreversible, though shorter", fork_choice_key(6, 7, 9, 20, 0xff)),
            ("more is proposed, though shorter", fork_choice_key(5, 8, 9, 20, 0xff)),
            ("longer, though later", fork_choice_key(5, 7, 11, 30, 0xff)),
            ("an earlier slot", fork_choice_key(5, 7, 10, 19, 0xff)),
            ("a lower hash", fork_choice_key(5, 7, 10, 20, 0x4f)),
        ] {
            assert!(better.beats(&current) && !current.beats(&better), "{name}");
        }
        assert!(!current.beats(&current));
    }
}
