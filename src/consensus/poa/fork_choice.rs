//! Fork choice: total difficulty with the tie-breaks of EIP-3436.

use core::cmp::{Ordering, Reverse};

use crate::{
    consensus::{
        BlockId, Encoder,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

/// The key by which heads are compared; the greater one wins.
///
/// EIP-3436 in its current text: most total difficulty, then lowest number, then *largest* `(number - index) % N`
/// (smallest in an earlier draft), then lowest hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForkChoiceKey {
    /// Sum of the difficulties of the branch up to the block.
    pub total_difficulty: u128,
    /// The block.
    pub block: BlockId,
    /// Blocks since its author's turn, in the signer set after its parent.
    pub blocks_since_turn: u64,
}

impl ForkChoiceKey {
    /// Whether this block should be the head in place of `current`.
    pub fn beats(&self, current: &Self) -> bool {
        self.cmp(current) == Ordering::Greater
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { total_difficulty, block, blocks_since_turn } = self;
        block.encode(out);
        out.u128(*total_difficulty);
        out.u64(*blocks_since_turn);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let block = BlockId::decode(bytes)?;
        Some(Self { total_difficulty: bytes.u128()?, block, blocks_since_turn: bytes.u64()? })
    }

    fn rank(&self) -> (u128, Reverse<Height>, u64, Reverse<B256>) {
        let is_longest = mutation::active(Mutation::PoaLongestWins);
        let weight = if is_longest { self.block.height.get().into() } else { self.total_difficulty };
        (weight, Reverse(self.block.height), self.blocks_since_turn, Reverse(self.block.hash))
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

    fn fork_choice_key(total_difficulty: u128, height: u64, blocks_since_turn: u64, hash: u8) -> ForkChoiceKey {
        let block = BlockId { height: Height::new(height), hash: B256::repeat_byte(hash) };
        ForkChoiceKey { total_difficulty, block, blocks_since_turn }
    }

    #[test]
    fn each_rule_decides_only_what_the_earlier_ones_leave_open() {
        let current = fork_choice_key(10, 5, 3, 0x50);
        for (name, better) in [
            ("heavier, though longer", fork_choice_key(11, 9, 0, 0xff)),
            ("shorter, though in turn lately", fork_choice_key(10, 4, 0, 0xff)),
            ("turn longer ago, though a higher hash", fork_choice_key(10, 5, 4, 0xff)),
            ("lower hash", fork_choice_key(10, 5, 3, 0x4f)),
        ] {
            assert!(better.beats(&current) && !current.beats(&better), "{name}");
        }
        assert!(!current.beats(&current));
    }
}
