//! How a validator took part in an epoch: the block that carries its vote, and whether the vote's head was right.

use crate::consensus::{Encoder, encoding::Decoder};

/// A validator's vote for an epoch's checkpoint, as a branch has it: none, or where the branch includes it.
///
/// It has what the flags of Altair (`ParticipationFlags`) are computed from at the end of the epoch, and the block whose proposer
/// earns a part. Two bytes, as the state of every block has one for each validator of two epochs: bit 15 is set for a right head, the
/// others are 0 without a vote, else one more than the slots from the start of the voted epoch to the block, at most 512.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Participation(u16);

const RIGHT_HEAD: u16 = 1 << 15;

impl Participation {
    /// A vote in the block of this slot, counted from the start of the epoch that it is for.
    pub(super) fn included(slots: u64, is_head_right: bool) -> Self {
        let slots = u16::try_from(slots).unwrap_or(u16::MAX).min(RIGHT_HEAD - 2);
        Self((slots + 1) | if is_head_right { RIGHT_HEAD } else { 0 })
    }

    /// Whether the branch includes a vote.
    pub(super) const fn has_voted(self) -> bool {
        self.0 != 0
    }

    /// Returns the slot of the block that includes the vote, counted from the start of the epoch that it is for.
    pub(super) fn slots(self) -> Option<u64> {
        (self.0 & !RIGHT_HEAD).checked_sub(1).map(u64::from)
    }

    /// Whether the vote's head is the parent of the block that includes it.
    pub(super) const fn is_head_right(self) -> bool {
        self.0 & RIGHT_HEAD != 0
    }

    pub(super) fn encode(self, out: &mut Encoder) {
        out.u8((self.0 >> 8) as u8);
        out.u8(self.0 as u8);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let word = u16::from_be_bytes([bytes.u8()?, bytes.u8()?]);
        (word != RIGHT_HEAD).then_some(Self(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_has_its_block_and_head_and_one_encoding() {
        assert_eq!((Participation::default().has_voted(), Participation::default().slots()), (false, None));
        for (slots, is_head_right) in [(0, false), (1, true), (511, false), (512, true)] {
            let vote = Participation::included(slots, is_head_right);
            assert_eq!((vote.slots(), vote.is_head_right(), vote.has_voted()), (Some(slots), is_head_right, true));
            let mut out = Encoder::new();
            vote.encode(&mut out);
            assert_eq!(Participation::decode(&mut Decoder::new(out.as_bytes())), Some(vote));
        }
        assert_eq!(Participation::decode(&mut Decoder::new(&[0x80, 0])), None, "a right head of no vote");
    }
}
