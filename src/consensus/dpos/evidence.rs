//! Evidence that two blocks of a producer contradict each other: headers alone prove it, whatever their branches are.

use alloy_rlp::{RlpDecodable, RlpEncodable};
use serde::{Deserialize, Serialize};

use super::{Confirmation, Conflict, DposConfig};
use crate::{
    consensus::{Authenticator, Purpose, SealError},
    primitives::{Address, B256, Bytes, Header, Height, Timestamp},
};

/// Largest number of pieces of evidence in a block.
pub const EVIDENCE_PER_BLOCK_MAX: usize = 4;
/// Age up to which evidence counts, in slots of the length in force, when stake is not locked for longer.
pub const EVIDENCE_SLOTS_MAX: u64 = 8_192;

/// Two headers that contradict each other, with seals of one producer, in ascending order of hash: they are of one slot, confirm a
/// common height, or the lower one implies a higher prepared height ([`Conflict`]). A producer that keeps to the rules never makes
/// such blocks; when two conflicting blocks are irreversible, more than a third of the producers have.
///
/// Serialised as `{first: {header, seal}, second: {header, seal}}`, headers in RLP, and read in either order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, RlpEncodable, RlpDecodable, Serialize, Deserialize)]
#[serde(try_from = "Serialised", into = "Serialised")]
pub struct ConflictingBlocks {
    /// Header with the lower hash.
    pub first: Header,
    /// Seal of `first`.
    pub first_seal: Bytes,
    /// Header with the higher hash.
    pub second: Header,
    /// Seal of `second`.
    pub second_seal: Bytes,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Serialised {
    first: SerialisedHeader,
    second: SerialisedHeader,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerialisedHeader {
    /// RLP of the header.
    header: Bytes,
    seal: Bytes,
}

impl From<ConflictingBlocks> for Serialised {
    fn from(proof: ConflictingBlocks) -> Self {
        let ConflictingBlocks { first, first_seal, second, second_seal } = proof;
        let of = |header: &Header, seal| SerialisedHeader { header: alloy_rlp::encode(header).into(), seal };
        Self { first: of(&first, first_seal), second: of(&second, second_seal) }
    }
}

impl TryFrom<Serialised> for ConflictingBlocks {
    type Error = String;

    fn try_from(serialised: Serialised) -> Result<Self, String> {
        let read = |name, SerialisedHeader { header, seal }: SerialisedHeader| {
            let found = alloy_rlp::decode_exact(header)
                .map_err(|cause| format!("{name}.header is no RLP of a header: {cause}"))?;
            Ok::<_, String>((found, seal))
        };
        Ok(Self::new(read("first", serialised.first)?, read("second", serialised.second)?))
    }
}

/// Evidence that proves no new offence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The headers are the same or not in ascending order of hash.
    #[error("the headers of evidence are the same or not in ascending order of hash")]
    Order,
    /// The headers do not contradict each other.
    #[error("the headers of evidence are of different slots, and their votes do not contradict each other")]
    NoConflict,
    /// The newer header's slot is after the block that reports it, or too old.
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
    /// The offender is no candidate, and was no producer for as long as evidence counts.
    #[error("{offender} is no candidate for election, and was no producer for as long as evidence counts")]
    Unaccountable {
        /// Author of the headers.
        offender: Address,
    },
    /// The infraction is reported on this branch already.
    #[error("the infraction of {offender} in slot {slot} is reported already")]
    AlreadyReported {
        /// The offender.
        offender: Address,
        /// Slot of the offence.
        slot: u64,
    },
    /// There is as much evidence against the offender as is kept, and no irreversible block reports it yet.
    #[error("{max} pieces of evidence against {offender} wait to be reported: give it again when they are")]
    Waiting {
        /// The offender.
        offender: Address,
        /// Pieces that are kept.
        max: usize,
    },
    /// A seal does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// An infraction that evidence proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Infraction {
    /// Slot of the newer block: its beginning in seconds, the same on every branch; on demand, its height.
    pub slot: u64,
    /// Producer of both blocks.
    pub offender: Address,
    /// Height of the higher block.
    pub height: Height,
}

/// Returns the age of evidence that counts, in seconds, or in heights on demand: at least [`EVIDENCE_SLOTS_MAX`], and no less than stake is
/// locked.
pub(super) fn evidence_age(config: &DposConfig) -> u64 {
    EVIDENCE_SLOTS_MAX.saturating_mul(config.period.max(1)).max(config.evidence.secs)
}

impl ConflictingBlocks {
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

    /// Returns the infraction that it proves to a block at the slot and time of `at`.
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
        self.conflict(config).ok_or(EvidenceError::NoConflict)?;
        let slot = self.slot(config, at).ok_or(EvidenceError::Age)?;
        let first = authenticator.author(Purpose::Block, first, &self.first_seal)?;
        let second = authenticator.author(Purpose::Block, second, &self.second_seal)?;
        if first != second {
            return Err(EvidenceError::Offender { first, second });
        }
        let height = Height::new(self.first.number.max(self.second.number));
        Ok(Infraction { slot, offender: first, height })
    }

    /// Returns the contradiction between the two headers. What a producer implies binds it only where there are locks.
    pub fn conflict(&self, config: &DposConfig) -> Option<Conflict> {
        let is_same_slot = if config.period == 0 {
            self.first.number == self.second.number
        } else {
            self.first.timestamp == self.second.timestamp
        };
        if is_same_slot {
            return Some(Conflict::SameSlot);
        }
        let vote = |header: &Header| Some((Height::new(header.number), Confirmation::of_header(header).ok()??));
        let conflict = Confirmation::conflict(vote(&self.first)?, vote(&self.second)?)?;
        (conflict != Conflict::ImpliedLess || config.finality.is_locked()).then_some(conflict)
    }

    /// Returns what identifies the slot of the newer header, if a block at the slot and time of `at` may report it.
    fn slot(&self, config: &DposConfig, at: (u64, Timestamp)) -> Option<u64> {
        let id = |header: &Header| config.slot_id(header.number, Timestamp::from_secs(header.timestamp));
        let of_evidence = id(&self.first).max(id(&self.second));
        let age = config.slot_id(at.0, at.1).checked_sub(of_evidence)?;
        (age <= evidence_age(config)).then_some(of_evidence)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_is_read_in_either_order_and_names_what_is_no_header() {
        let sealed = |extra: u8| {
            let header = Header { extra_data: vec![extra].into(), ..Header::default() };
            (header, Bytes::from(vec![extra; 65]))
        };
        let proof = ConflictingBlocks::new(sealed(1), sealed(2));
        let shown = serde_json::to_value(&proof).unwrap();
        assert_eq!(serde_json::from_value::<ConflictingBlocks>(shown.clone()).unwrap(), proof);
        let mut swapped = json!({ "first": shown["second"], "second": shown["first"] });
        assert_eq!(serde_json::from_value::<ConflictingBlocks>(swapped.clone()).unwrap(), proof);
        swapped["second"]["header"] = "0x01".into();
        let refused = serde_json::from_value::<ConflictingBlocks>(swapped).unwrap_err().to_string();
        assert!(refused.contains("second.header is no RLP of a header"), "{refused}");
    }
}
