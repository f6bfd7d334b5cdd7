//! The chain's parameters that a block puts in force, carried in front of the protocol's payload.
//!
//! | bytes | meaning |
//! |---|---|
//! | `0xff` | no payload of a protocol begins with it unless it is wrapped itself: it is no first byte of canonical RLP |
//! | length, 1 byte | of what follows, 0 for no change |
//! | [`ParameterUpdates::to_bytes`] | the values in force from this block on |
//! | the rest | the protocol's payload |
//!
//! `extraData` commits to all of it, so that who follows headers learns the values with the header that they begin to judge.

use alloy_primitives::Bytes;

use crate::system::ParameterUpdates;

const MARK: u8 = 0xff;

/// Returns `payload` with the parameters in front; as it is when there are none.
pub(in crate::chain) fn with_parameters(updates: &ParameterUpdates, payload: Bytes) -> Bytes {
    if updates.is_empty() && payload.first() != Some(&MARK) {
        return payload;
    }
    let changes = updates.to_bytes();
    // There are ten parameters, of 17 bytes each.
    [&[MARK, changes.len() as u8], changes.as_slice(), payload.as_ref()].concat().into()
}

/// Returns the parameters in front of a payload and the protocol's part; bytes of any other form are the protocol's.
pub fn split_parameters(payload: &Bytes) -> (ParameterUpdates, Bytes) {
    read(payload).unwrap_or_else(|| (ParameterUpdates::NONE, payload.clone()))
}

fn read(payload: &Bytes) -> Option<(ParameterUpdates, Bytes)> {
    let (&[MARK, length], rest) = payload.split_first_chunk()? else { return None };
    let changes = rest.get(..usize::from(length))?;
    let own = payload.slice(2 + changes.len()..);
    let updates = ParameterUpdates::from_bytes(changes)?;
    let is_needed = !updates.is_empty() || own.first() == Some(&MARK);
    is_needed.then_some((updates, own))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::{ParameterUpdate, parameters::Parameter};

    fn updates() -> impl Strategy<Value = ParameterUpdates> {
        let update = (0..Parameter::ALL.len(), any::<u128>())
            .prop_map(|(index, value)| ParameterUpdate { parameter: Parameter::ALL[index], value });
        proptest::collection::vec(update, 0..12).prop_map(ParameterUpdates::new)
    }

    fn payload() -> impl Strategy<Value = Bytes> {
        let first = prop_oneof![Just(Vec::new()), Just(vec![MARK]), Just(vec![MARK, 0]), Just(vec![0xc3])];
        let rest = proptest::collection::vec(any::<u8>(), 0..40);
        (first, rest).prop_map(|(first, rest)| [first, rest].concat().into())
    }

    proptest! {
        #[test]
        fn both_parts_come_back(updates in updates(), payload in payload()) {
            let whole = with_parameters(&updates, payload.clone());
            prop_assert_eq!(split_parameters(&whole), (updates, payload));
        }

        #[test]
        fn one_whole_has_one_reading(whole in payload()) {
            let (updates, payload) = split_parameters(&whole);
            if payload != whole {
                prop_assert_eq!(with_parameters(&updates, payload), whole);
            }
        }
    }

    #[test]
    fn a_payload_without_parameters_is_as_it_is() {
        for payload in [Bytes::new(), Bytes::from_static(&[0xc3, 1, 2, 3])] {
            assert_eq!(with_parameters(&ParameterUpdates::NONE, payload.clone()), payload);
        }
    }
}
