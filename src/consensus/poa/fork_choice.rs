//! Which of two blocks is the better head: total difficulty with the ties of EIP-3436.

use core::cmp::{Ordering, Reverse};

use crate::{
    consensus::{
        BlockId,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

/// What a block competes with.
///
/// EIP-3436 in its current text: most total difficulty, then lowest number, then *largest* `(number - index) % N`
/// (an earlier draft said smallest), then lowest hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Sum of the difficulties of the branch.
    pub total_difficulty: u128,
    /// The block.
    pub block: BlockId,
    /// How many blocks ago it was its author's turn, in the set that its parent left.
    pub blocks_since_turn: u64,
}

impl Standing {
    /// Whether this block should be the head in place of `current`.
    pub fn beats(&self, current: &Self) -> bool {
        self.cmp(current) == Ordering::Greater
    }

    fn rank(&self) -> (u128, Reverse<Height>, u64, Reverse<B256>) {
        let is_longest = mutation::active(Mutation::PoaLongestWins);
        let weight = if is_longest { self.block.height.get().into() } else { self.total_difficulty };
        (weight, Reverse(self.block.height), self.blocks_since_turn, Reverse(self.block.hash))
    }
}

/// Better blocks are greater.
impl Ord for Standing {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Standing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(total_difficulty: u128, height: u64, blocks_since_turn: u64, hash: u8) -> Standing {
        let block = BlockId { height: Height::new(height), hash: B256::repeat_byte(hash) };
        Standing { total_difficulty, block, blocks_since_turn }
    }

    #[test]
    fn each_rule_decides_only_what_the_earlier_ones_leave_open() {
        let current = standing(10, 5, 3, 0x50);
        for (name, better) in [
            ("heavier, though longer", standing(11, 9, 0, 0xff)),
            ("shorter, though in turn lately", standing(10, 4, 0, 0xff)),
            ("turn longer ago, though a higher hash", standing(10, 5, 4, 0xff)),
            ("lower hash", standing(10, 5, 3, 0x4f)),
        ] {
            assert!(better.beats(&current) && !current.beats(&better), "{name}");
        }
        assert!(!current.beats(&current));
    }
}
