//! The consensus payload of a Raft block: its term and log index, and a membership change.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use super::{Assignment, Change, Role};
use crate::{
    consensus::ReplicaId,
    primitives::{Address, B256, Bytes},
};

/// The consensus payload; its keccak is in `extraData`.
///
/// Encoding: RLP of `[term, index, change, assignments, next]`: change 0 (none), 1 (simple), 2 (enter joint), 3 (enter
/// joint, leave by itself) or 4 (leave joint); each assignment `[replica, address, role]` with role 0 (removed), 1
/// (voter) or 2 (learner); the hash of the voters after this block, or no bytes when it changes none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payload {
    /// The term of the leader that built it.
    pub term: u64,
    /// The block's entry in the log.
    pub index: u64,
    /// Membership change, in effect once the block is applied.
    pub change: Option<Change>,
    /// [`ValidatorSet::hash`](crate::consensus::ValidatorSet::hash) of the voters after this block, when it changes them.
    pub next_voters: Option<B256>,
}

/// Invalid encoding of a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Not the expected RLP.
    #[error("invalid raft payload: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// Valid RLP, but not the canonical encoding.
    #[error("invalid raft payload: not in canonical form")]
    NotCanonical,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Fields {
    term: u64,
    index: u64,
    change: u8,
    assignments: Vec<AssignmentFields>,
    next_voters: Bytes,
}

#[derive(RlpEncodable, RlpDecodable)]
struct AssignmentFields {
    replica: u32,
    address: Address,
    role: u8,
}

impl Payload {
    /// Creates a payload of a change alone, for encoding outside of blocks.
    pub(crate) const fn of_change(change: Change) -> Self {
        Self { term: 0, index: 0, change: Some(change), next_voters: None }
    }

    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        let (change, assignments) = match &self.change {
            None => (0, &[][..]),
            Some(Change::Simple(assignments)) => (1, assignments.as_slice()),
            Some(Change::EnterJoint { assignments, auto_leave }) => (2 + u8::from(*auto_leave), assignments.as_slice()),
            Some(Change::LeaveJoint) => (4, &[][..]),
        };
        let assignments = assignments.iter().map(AssignmentFields::from).collect();
        let next_voters = self.next_voters.map(|hash| Bytes::copy_from_slice(hash.as_slice())).unwrap_or_default();
        alloy_rlp::encode(Fields { term: self.term, index: self.index, change, assignments, next_voters }).into()
    }

    /// Decodes the canonical encoding.
    ///
    /// # Errors
    /// [`PayloadError`] for any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        if let Some((term, index)) = decode_plain(bytes) {
            return Ok(Self { term, index, change: None, next_voters: None });
        }
        let fields = Fields::decode(&mut &*bytes)?;
        let assignments = fields.assignments.iter().map(Assignment::from).collect();
        let change = match fields.change {
            1 => Some(Change::Simple(assignments)),
            2 | 3 => Some(Change::EnterJoint { assignments, auto_leave: fields.change == 3 }),
            4 => Some(Change::LeaveJoint),
            _ => None,
        };
        let next_voters = B256::try_from(fields.next_voters.as_ref()).ok();
        let payload = Self { term: fields.term, index: fields.index, change, next_voters };
        if payload.encoded().as_ref() == bytes { Ok(payload) } else { Err(PayloadError::NotCanonical) }
    }
}

/// Decodes term and index of a canonical payload without a change, as almost all are; `None` for any other bytes.
fn decode_plain(bytes: &[u8]) -> Option<(u64, u64)> {
    // The list's length, two numbers, then zero, an empty list and an empty string.
    let (&[length], numbers) = bytes.split_first_chunk::<1>()?;
    let mut numbers = numbers.strip_suffix(&[0x80, 0xc0, 0x80])?;
    if usize::from(length) != 0xc0 + bytes.len() - 1 || bytes.len() > 56 {
        return None;
    }
    let (term, index) = (u64::decode(&mut numbers).ok()?, u64::decode(&mut numbers).ok()?);
    numbers.is_empty().then_some((term, index))
}

impl From<&Assignment> for AssignmentFields {
    fn from(assignment: &Assignment) -> Self {
        let role = match assignment.role {
            Role::Removed => 0,
            Role::Voter => 1,
            Role::Learner => 2,
        };
        Self { replica: assignment.replica.get(), address: assignment.address, role }
    }
}

impl From<&AssignmentFields> for Assignment {
    fn from(fields: &AssignmentFields) -> Self {
        let role = match fields.role {
            1 => Role::Voter,
            2 => Role::Learner,
            _ => Role::Removed,
        };
        Self { replica: ReplicaId::new(fields.replica), address: fields.address, role }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes() -> impl Strategy<Value = Change> {
        let role = prop_oneof![Just(Role::Voter), Just(Role::Learner), Just(Role::Removed)];
        let assignment = (any::<u32>(), any::<[u8; 20]>(), role).prop_map(|(replica, address, role)| Assignment {
            replica: ReplicaId::new(replica),
            address: Address::new(address),
            role,
        });
        let assignments = proptest::collection::vec(assignment, 0..4);
        prop_oneof![
            assignments.clone().prop_map(Change::Simple),
            (assignments, any::<bool>())
                .prop_map(|(assignments, auto_leave)| Change::EnterJoint { assignments, auto_leave }),
            Just(Change::LeaveJoint),
        ]
    }

    proptest! {
        #[test]
        fn every_payload_round_trips(
            term in any::<u64>(),
            index in any::<u64>(),
            change in proptest::option::of(changes()),
            next in proptest::option::of(any::<[u8; 32]>()),
        ) {
            let payload = Payload { term, index, change, next_voters: next.map(B256::new) };
            prop_assert_eq!(Payload::decode(&payload.encoded()), Ok(payload));
        }

        #[test]
        fn a_plain_payload_is_read_at_once_and_a_damaged_one_as_any_other(
            term in any::<u64>(),
            index in 0_u64..300,
            at in 0_usize..24,
            byte in any::<u8>(),
        ) {
            let plain = Payload { term, index, change: None, next_voters: None };
            let mut bytes = plain.encoded().to_vec();
            prop_assert_eq!(decode_plain(&bytes), Some((term, index)));
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(payload) = Payload::decode(&bytes) {
                prop_assert_eq!(payload.encoded(), bytes);
            }
        }

        #[test]
        fn what_decodes_is_canonical(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(payload) = Payload::decode(&bytes) {
                prop_assert_eq!(payload.encoded(), bytes);
            }
        }
    }
}
