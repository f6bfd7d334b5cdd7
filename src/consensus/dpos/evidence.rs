//! Proof that a producer made two blocks in one slot.

use alloy_rlp::{RlpDecodable, RlpEncodable};

use super::DposConfig;
use crate::{
    consensus::{Authenticator, SealError},
    primitives::{Address, B256, Bytes, Header, Height, Timestamp},
};

/// Pieces of evidence in one block.
pub const EVIDENCE_PER_BLOCK_MAX: usize = 4;
/// Slots after which evidence is too old to be told.
pub const EVIDENCE_SLOTS_MAX: u64 = 8_192;

/// Two headers of one slot with the seals of one producer; the one of the lower hash first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, RlpEncodable, RlpDecodable)]
pub struct DoubleProduction {
    /// One header.
    pub first: Header,
    /// Its author's seal.
    pub first_seal: Bytes,
    /// Another header of the same time (on demand: of the same height).
    pub second: Header,
    /// Its author's seal.
    pub second_seal: Bytes,
}

/// Why it proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// One header twice, or not in the order of their hashes.
    #[error("the headers of evidence are not two in ascending order of hash")]
    Order,
    /// The headers belong to two slots.
    #[error("the headers of evidence are of two slots")]
    Slots,
    /// The slot is later than the block that tells it, or too long ago.
    #[error("the evidence is not of the last {EVIDENCE_SLOTS_MAX} slots")]
    Age,
    /// Two producers sealed them, or somebody who is none.
    #[error("{first} and {second} sealed the headers of evidence; expected one and the same producer")]
    Offender {
        /// Who sealed the first.
        first: Address,
        /// Who sealed the second.
        second: Address,
    },
    /// It was told before.
    #[error("double production of {offender} in slot {slot} was told before")]
    Told {
        /// Who.
        offender: Address,
        /// When.
        slot: u64,
    },
    /// A seal names nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// What a piece of evidence proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offence {
    /// In which slot.
    pub slot: u64,
    /// Whose.
    pub offender: Address,
    /// Height of the higher one of both blocks.
    pub height: Height,
}

impl DoubleProduction {
    /// Evidence from two sealed headers, in either order.
    pub fn new(one: (Header, Bytes), other: (Header, Bytes)) -> Self {
        let is_ordered = one.0.hash_slow() < other.0.hash_slow();
        let ((first, first_seal), (second, second_seal)) = if is_ordered { (one, other) } else { (other, one) };
        Self { first, first_seal, second, second_seal }
    }

    /// The hashes of both headers.
    pub fn hashes(&self) -> (B256, B256) {
        (self.first.hash_slow(), self.second.hash_slow())
    }

    /// What it proves in the eyes of a block at `slot` and `time`, when it proves anything.
    ///
    /// # Errors
    /// [`EvidenceError`].
    pub fn check(
        &self,
        config: &DposConfig,
        at: (u64, Timestamp),
        authenticator: &Authenticator,
    ) -> Result<Offence, EvidenceError> {
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
        let first = authenticator.author(first, &self.first_seal)?;
        let second = authenticator.author(second, &self.second_seal)?;
        if first != second {
            return Err(EvidenceError::Offender { first, second });
        }
        let height = Height::new(self.first.number.max(self.second.number));
        Ok(Offence { slot, offender: first, height })
    }

    /// On demand a block's slot is its height; otherwise slots are counted back from the block that tells it.
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
        let is_recent = of_evidence <= slot && slot - of_evidence <= EVIDENCE_SLOTS_MAX;
        is_recent.then_some(of_evidence)
    }
}
