//! Evidence that a producer made two blocks in one slot.

use alloy_rlp::{RlpDecodable, RlpEncodable};

use super::DposConfig;
use crate::{
    consensus::{Authenticator, Purpose, SealError},
    primitives::{Address, B256, Bytes, Header, Height, Timestamp},
};

/// Largest number of pieces of evidence in a block.
pub const EVIDENCE_PER_BLOCK_MAX: usize = 4;
/// Age up to which evidence counts, in slots before the block that reports it, when stake is not locked for longer.
pub const EVIDENCE_SLOTS_MAX: u64 = 8_192;

/// Two headers of one slot with seals of one producer, in ascending order of hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, RlpEncodable, RlpDecodable)]
pub struct DoubleProduction {
    /// Header with the lower hash.
    pub first: Header,
    /// Seal of `first`.
    pub first_seal: Bytes,
    /// Header with the higher hash, of the same timestamp (on demand: of the same height).
    pub second: Header,
    /// Seal of `second`.
    pub second_seal: Bytes,
}

/// Evidence that proves no new offence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The headers are the same or not in ascending order of hash.
    #[error("the headers of evidence are the same or not in ascending order of hash")]
    Order,
    /// The headers are of different slots.
    #[error("the headers of evidence are of different slots")]
    Slots,
    /// The slot is after the block that reports it, or too old.
    #[error("the evidence is of a later slot than its block, or stake of that time is not locked any more")]
    Age,
    /// Different producers sealed the headers, or the author is not a producer.
    #[error("{first} and {second} sealed the headers of evidence; expected the same active producer")]
    Offender {
        /// Author of the first header.
        first: Address,
        /// Author of the second header.
        second: Address,
    },
    /// The offender has no stake that is locked.
    #[error("{offender} is no producer, and if it was one, it left so long ago that its stake is withdrawable")]
    Withdrawable {
        /// Author of the headers.
        offender: Address,
    },
    /// The offence is reported on this branch already.
    #[error("double production of {offender} in slot {slot} is reported already")]
    AlreadyReported {
        /// The offender.
        offender: Address,
        /// Slot of the offence.
        slot: u64,
    },
    /// A seal does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// A double production that evidence proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Infraction {
    /// Slot of both blocks.
    pub slot: u64,
    /// Producer of both blocks.
    pub offender: Address,
    /// Height of the higher block.
    pub height: Height,
}

/// Returns the age of evidence that counts, in slots: at least [`EVIDENCE_SLOTS_MAX`], and no less than stake is locked.
pub(super) fn evidence_slots(config: &DposConfig) -> u64 {
    EVIDENCE_SLOTS_MAX.max(config.evidence.secs / config.period.max(1))
}

impl DoubleProduction {
    /// Returns the evidence of two sealed headers, in either order.
    pub fn new(one: (Header, Bytes), other: (Header, Bytes)) -> Self {
        let is_ordered = one.0.hash_slow() < other.0.hash_slow();
        let ((first, first_seal), (second, second_seal)) = if is_ordered { (one, other) } else { (other, one) };
        Self { first, first_seal, second, second_seal }
    }

    /// Returns the hashes of both headers.
    pub fn hashes(&self) -> (B256, B256) {
        (self.first.hash_slow(), self.second.hash_slow())
    }

    /// Returns the offence that it proves to a block at the slot and time of `at`.
    ///
    /// # Errors
    /// [`EvidenceError`] when it proves none.
    pub fn check(
        &self,
        config: &DposConfig,
        at: (u64, Timestamp),
        authenticator: &Authenticator,
    ) -> Result<Infraction, EvidenceError> {
        let (first, second) = self.hashes();
        if first >= second {
            return Err(EvidenceError::Order);
        }
        let slot = self.slot(config, at).ok_or(EvidenceError::Age)?;
        let is_same = if config.period == 0 {
            self.first.number == self.second.number
        } else {
            self.first.timestamp == self.second.timestamp
        };
        if !is_same {
            return Err(EvidenceError::Slots);
        }
        let first = authenticator.author(Purpose::Block, first, &self.first_seal)?;
        let second = authenticator.author(Purpose::Block, second, &self.second_seal)?;
        if first != second {
            return Err(EvidenceError::Offender { first, second });
        }
        let height = Height::new(self.first.number.max(self.second.number));
        Ok(Infraction { slot, offender: first, height })
    }

    /// Returns the slot of the headers: on demand their height, otherwise counted back from the block that reports them.
    fn slot(&self, config: &DposConfig, (slot, time): (u64, Timestamp)) -> Option<u64> {
        let of_evidence = match config.period {
            0 => self.first.number,
            period => {
                let ago = time.as_secs().checked_sub(self.first.timestamp)?;
                if !ago.is_multiple_of(period) {
                    return None;
                }
                slot.checked_sub(ago / period)?
            }
        };
        let is_recent = of_evidence <= slot && slot - of_evidence <= evidence_slots(config);
        is_recent.then_some(of_evidence)
    }
}
