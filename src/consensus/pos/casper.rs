//! Casper FFG: justification and finalization of checkpoints.
//!
//! The rules are those of Ethereum's consensus specifications (phase 0, "Justification and finalization", there
//! `weigh_justification_and_finalization`): a checkpoint is justified by votes of two thirds of the stake
//! (`3 * target >= 2 * total`), and final by one of four patterns of justified epochs. While a change of the validators is not final,
//! two thirds of those before and of those after it have to vote (`SetChange`).

use serde::{Deserialize, Serialize};

use crate::consensus::{
    BlockId, Encoder,
    encoding::Decoder,
    mutation::{self, Mutation},
};

/// The block in the first slot of an epoch, or the newest before it when that slot is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Epoch that begins with the checkpoint.
    pub epoch: u64,
    /// The block.
    pub block: BlockId,
}

impl Checkpoint {
    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self { epoch, block } = self;
        out.u64(*epoch);
        block.encode(out);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self { epoch: bytes.u64()?, block: BlockId::decode(bytes)? })
    }
}

/// Weight of the votes among one set of validators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Weight of those that voted, in gwei.
    pub weight: u128,
    /// Weight of all, in gwei.
    pub total: u128,
}

impl Tally {
    /// Whether the votes are at least two thirds of the stake, in integer arithmetic.
    pub fn is_supermajority(&self) -> bool {
        if mutation::active(Mutation::PosJustifiesAtHalf) {
            return self.weight.saturating_mul(2) > self.total;
        }
        self.total > 0 && self.weight.saturating_mul(3) >= self.total.saturating_mul(2)
    }
}

/// Votes for an epoch's checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turnout {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Votes for it as target among the validators in force.
    pub tally: Tally,
    /// The same among the validators before a change that is not final.
    pub rear: Option<Tally>,
}

impl Turnout {
    /// Whether the votes are at least two thirds of the stake, in a change of both sets.
    pub fn is_supermajority(&self) -> bool {
        self.tally.is_supermajority() && self.rear.is_none_or(|rear| rear.is_supermajority())
    }
}

/// Justified and final checkpoints of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Casper {
    /// Whether each of the last four ended epochs is justified, newest first (`justification_bits`).
    pub bits: [bool; 4],
    /// Source that votes for the previous epoch must have.
    pub previous_justified: Checkpoint,
    /// Newest justified checkpoint: the source that votes for the current epoch must have.
    pub justified: Checkpoint,
    /// Newest final checkpoint.
    pub finalized: Checkpoint,
}

impl Casper {
    /// Returns the checkpoints at genesis, whose block is justified and final as the checkpoint of epoch 0.
    pub fn genesis(block: BlockId) -> Self {
        let checkpoint = Checkpoint { epoch: 0, block };
        Self { bits: [false; 4], previous_justified: checkpoint, justified: checkpoint, finalized: checkpoint }
    }

    /// Returns the checkpoints after the epoch of `current` ends; `previous` is the one before it.
    ///
    /// Nothing changes after the first two epochs, as in the specifications.
    #[must_use]
    pub fn after_epoch(&self, previous: &Turnout, current: &Turnout) -> Self {
        let epoch = current.checkpoint.epoch;
        if epoch <= 1 {
            return *self;
        }
        let (old_previous, old_current) = (self.previous_justified, self.justified);
        let mut next = *self;
        next.previous_justified = old_current;
        next.bits = [false, self.bits[0], self.bits[1], self.bits[2]];
        if previous.is_supermajority() {
            next.justified = previous.checkpoint;
            next.bits[1] = true;
        }
        if current.is_supermajority() {
            next.justified = current.checkpoint;
            next.bits[0] = true;
        }
        let all = |from: usize, to: usize| next.bits[from..to].iter().all(|justified| *justified);
        // 234: the second, third and fourth newest epochs, the second with the fourth as source.
        if all(1, 4) && old_previous.epoch + 3 == epoch {
            next.finalized = old_previous;
        }
        // 23: the second and third, the second with the third as source.
        if all(1, 3) && old_previous.epoch + 2 == epoch {
            next.finalized = old_previous;
        }
        // 123: the first, second and third, the first with the third as source.
        if all(0, 3) && old_current.epoch + 2 == epoch {
            next.finalized = old_current;
        }
        // 12: the first and second, the first with the second as source.
        let ignores_source = mutation::active(Mutation::PosFinalizesWithoutSource);
        if all(0, 2) && (old_current.epoch + 1 == epoch || ignores_source) {
            next.finalized = if ignores_source { previous.checkpoint } else { old_current };
        }
        next
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { bits, previous_justified, justified, finalized } = self;
        bits.iter().for_each(|bit| out.bool(*bit));
        [previous_justified, justified, finalized].iter().for_each(|checkpoint| checkpoint.encode(out));
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            bits: [bytes.bool()?, bytes.bool()?, bytes.bool()?, bytes.bool()?],
            previous_justified: Checkpoint::decode(bytes)?,
            justified: Checkpoint::decode(bytes)?,
            finalized: Checkpoint::decode(bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{B256, Height};

    fn checkpoint(epoch: u64) -> Checkpoint {
        let block = BlockId { height: Height::new(epoch * 4), hash: B256::repeat_byte(epoch as u8 + 1) };
        Checkpoint { epoch, block }
    }

    fn turnout(epoch: u64, weight: u128) -> Turnout {
        Turnout { checkpoint: checkpoint(epoch), tally: Tally { weight, total: 3 }, rear: None }
    }

    fn casper(bits: [u8; 4], previous: u64, justified: u64, finalized: u64) -> Casper {
        Casper {
            bits: bits.map(|bit| bit == 1),
            previous_justified: checkpoint(previous),
            justified: checkpoint(justified),
            finalized: checkpoint(finalized),
        }
    }

    #[test]
    fn two_thirds_exactly_justify_and_a_unit_less_does_not() {
        let turnout = |weight, total| Turnout { checkpoint: checkpoint(5), tally: Tally { weight, total }, rear: None };
        for (weight, total, want) in [(2, 3, true), (1, 3, false), (66, 100, false), (67, 100, true), (0, 0, false)] {
            assert_eq!(turnout(weight, total).is_supermajority(), want, "{weight} of {total}");
        }
        let largest = turnout(u128::MAX, u128::MAX);
        assert!(largest.is_supermajority(), "clamps and does not wrap");
        for (weight, want) in [(66, false), (67, true)] {
            let rear = Some(Tally { weight, total: 100 });
            assert_eq!(Turnout { rear, ..largest }.is_supermajority(), want, "{weight} of 100 before a change");
        }
    }

    /// Each row: bits before, previous and current justified epochs, epoch that ends, votes for it and for the one
    /// before, justified and final epochs after.
    #[test]
    fn the_four_rules_finalise_what_they_name_and_nothing_else() {
        for (name, bits, previous, justified, epoch, votes, want_justified, want_final) in [
            ("234", [0, 1, 1, 0], 5, 6, 8, (3, 0), 7, 5),
            ("234, the second not justified", [0, 1, 1, 0], 5, 6, 8, (0, 0), 6, 0),
            ("234, the fourth not justified", [0, 1, 0, 0], 5, 6, 8, (3, 0), 7, 0),
            ("234, its source is older", [0, 1, 1, 0], 4, 6, 8, (3, 0), 7, 0),
            ("234 by votes of the epoch before", [1, 1, 1, 0], 5, 7, 8, (0, 0), 7, 5),
            ("23", [0, 1, 0, 0], 6, 6, 8, (3, 0), 7, 6),
            ("23, the third not justified", [0, 0, 0, 0], 6, 6, 8, (3, 0), 7, 0),
            ("23, its source is older", [0, 1, 0, 0], 4, 6, 8, (3, 0), 7, 0),
            ("123", [0, 1, 0, 0], 4, 6, 8, (3, 3), 8, 6),
            ("123, the third not justified", [1, 0, 0, 0], 4, 6, 8, (3, 3), 8, 0),
            ("123, its source is older", [0, 1, 0, 0], 3, 4, 8, (3, 3), 8, 0),
            ("12", [1, 0, 0, 0], 6, 7, 8, (0, 3), 8, 7),
            ("12, the second not justified", [0, 1, 0, 0], 6, 6, 8, (0, 3), 8, 0),
            ("12, its source is older", [1, 0, 0, 0], 4, 5, 8, (0, 3), 8, 0),
            ("12 goes further than 23", [1, 1, 0, 0], 6, 7, 8, (3, 3), 8, 7),
        ] {
            let before = casper(bits, previous, justified, 0);
            let after = before.after_epoch(&turnout(epoch - 1, votes.0), &turnout(epoch, votes.1));
            let got = (after.justified.epoch, after.finalized.epoch);
            assert_eq!(got, (want_justified, want_final), "{name}");
            assert_eq!(after.previous_justified, before.justified, "{name}");
        }
    }

    #[test]
    fn an_epoch_of_full_votes_after_another_is_final_with_a_lag_of_two() {
        let mut casper = Casper::genesis(checkpoint(0).block);
        for epoch in 0..2 {
            casper = casper.after_epoch(&turnout(epoch.max(1) - 1, 3), &turnout(epoch, 3));
            assert_eq!((casper.justified.epoch, casper.finalized.epoch), (0, 0));
        }
        for epoch in 2..9_u64 {
            casper = casper.after_epoch(&turnout(epoch - 1, 3), &turnout(epoch, 3));
            assert_eq!(casper.justified, checkpoint(epoch));
            assert_eq!(casper.finalized.epoch, if epoch == 2 { 0 } else { epoch - 1 });
        }
    }

    #[test]
    fn an_encoding_round_trips() {
        let casper = casper([1, 0, 1, 0], 5, 6, 4);
        let mut out = Encoder::new();
        casper.encode(&mut out);
        assert_eq!(Casper::decode(&mut Decoder::new(out.as_bytes())), Some(casper));
        assert_eq!(Casper::decode(&mut Decoder::new(&out.as_bytes()[1..])), None);
    }
}
