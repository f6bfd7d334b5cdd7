//! The vote of a block: the heights that it confirms and the prepared height that it implies, in its header's `nonce`.
//!
//! Two votes of one producer can be compared without their branches, so that two sealed headers are evidence.

use super::Schedule;
use crate::primitives::{B64, Header, Height};

/// Most heights that one block confirms; 12 bits of the nonce.
pub const CONFIRMED_MAX: u16 = (1 << CONFIRMED_BITS) - 1;
/// Highest version of a schedule; 24 bits of the nonce. No other producers are elected after it.
pub const VERSION_MAX: u64 = (1 << VERSION_BITS) - 1;
/// Largest distance of a block from the height that it implies; 28 bits of the nonce, eight years of slots of a second. A block
/// whose branch has prepared nothing for longer confirms nothing.
pub const IMPLIED_BELOW_MAX: u64 = (1 << BELOW_BITS) - 1;

const CONFIRMED_BITS: u32 = 12;
const VERSION_BITS: u32 = 24;
const BELOW_BITS: u32 = 28;

/// A prepared height under a schedule. A later schedule comes before a greater height, as a later term comes before a longer
/// log in Raft: the counts of a schedule start anew, at the block that proposed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prepared {
    /// Version of the schedule whose producers confirmed it.
    pub version: u64,
    /// The height.
    pub height: Height,
}

/// The vote of a block that confirms something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Confirmation {
    /// Number of the newest heights of the branch that the block confirms, itself included: 1 to [`CONFIRMED_MAX`].
    pub confirmed: u16,
    /// What is prepared at the block's parent.
    pub implied: Prepared,
}

/// The contradiction between two blocks of one producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Conflict {
    /// They are in one slot.
    SameSlot,
    /// They confirm a common height.
    ConfirmedTwice,
    /// The lower one implies a higher prepared height.
    ImpliedLess,
}

impl Confirmation {
    /// Returns the nonce of a header at `height`: from the highest bit on, the number of heights confirmed (12 bits), the version
    /// of the schedule (24 bits), and the distance down to the implied height (28 bits). `None` for what has no room.
    pub fn nonce(&self, height: Height) -> Option<B64> {
        let Self { confirmed, implied } = *self;
        let below = height.get().checked_sub(implied.height.get())?;
        let fits = (1..=CONFIRMED_MAX).contains(&confirmed)
            && implied.version <= VERSION_MAX
            && (1..=IMPLIED_BELOW_MAX).contains(&below)
            && u64::from(confirmed) <= height.get();
        let bits = u64::from(confirmed) << (VERSION_BITS + BELOW_BITS) | implied.version << BELOW_BITS | below;
        fits.then(|| B64::new(bits.to_be_bytes()))
    }

    /// Returns the vote of a header; `Ok(None)` for a nonce of zero, of a block that confirms nothing.
    ///
    /// # Errors
    /// The nonce, when no block of this height has it.
    pub fn of_header(header: &Header) -> Result<Option<Self>, B64> {
        if header.nonce == B64::ZERO {
            return Ok(None);
        }
        let bits = u64::from_be_bytes(header.nonce.0);
        let part = |from: u32, length: u32| bits >> from & ((1 << length) - 1);
        let confirmed = part(VERSION_BITS + BELOW_BITS, CONFIRMED_BITS) as u16;
        let implied = header.number.checked_sub(part(0, BELOW_BITS)).map(Height::new);
        let vote = implied.map(|height| {
            let implied = Prepared { version: part(BELOW_BITS, VERSION_BITS), height };
            Self { confirmed, implied }
        });
        let vote = vote.filter(|vote| vote.nonce(Height::new(header.number)) == Some(header.nonce));
        vote.map(Some).ok_or(header.nonce)
    }

    /// Returns the lowest height that a block at `height` confirms.
    pub const fn first(&self, height: Height) -> Height {
        Height::new(height.get().saturating_sub(self.confirmed as u64).saturating_add(1))
    }

    /// Returns how the votes of two different blocks of one producer contradict each other, each with its block's height.
    pub fn conflict(one: (Height, Self), other: (Height, Self)) -> Option<Conflict> {
        let (low, high) = if one.0 <= other.0 { (one, other) } else { (other, one) };
        if high.1.first(high.0) <= low.0 {
            Some(Conflict::ConfirmedTwice)
        } else if low.1.implied > high.1.implied {
            Some(Conflict::ImpliedLess)
        } else {
            None
        }
    }
}

/// Whether another schedule may follow this one.
pub(super) const fn may_be_succeeded(schedule: &Schedule) -> bool {
    schedule.version() < VERSION_MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vote(confirmed: u16, version: u64, implied: u64) -> Confirmation {
        Confirmation { confirmed, implied: Prepared { version, height: Height::new(implied) } }
    }

    fn header(number: u64, nonce: B64) -> Header {
        Header { number, nonce, ..Header::default() }
    }

    proptest! {
        #[test]
        fn every_vote_round_trips(number in 1_u64..1 << 40, confirmed in 1..=CONFIRMED_MAX, version in 0..=VERSION_MAX,
                                  below in 1..=IMPLIED_BELOW_MAX) {
            let want = vote(confirmed, version, number.saturating_sub(below));
            match want.nonce(Height::new(number)) {
                Some(nonce) => prop_assert_eq!(Confirmation::of_header(&header(number, nonce)), Ok(Some(want))),
                None => prop_assert!(u64::from(confirmed) > number),
            }
        }

        #[test]
        fn what_decodes_is_canonical(number in 0_u64..5_000, bits in any::<u64>()) {
            let nonce = B64::new(bits.to_be_bytes());
            if let Ok(Some(vote)) = Confirmation::of_header(&header(number, nonce)) {
                prop_assert_eq!(vote.nonce(Height::new(number)), Some(nonce));
            }
        }
    }

    #[test]
    fn what_has_no_room_is_no_vote() {
        let at = Height::new(1 << 30);
        for (name, vote, height) in [
            ("nothing confirmed", vote(0, 0, 9), Height::new(10)),
            ("too much confirmed", vote(CONFIRMED_MAX + 1, 0, (1 << 30) - 1), at),
            ("more heights than there are", vote(11, 0, 9), Height::new(10)),
            ("version", vote(1, VERSION_MAX + 1, (1 << 30) - 1), at),
            ("too deep", vote(1, 0, (1 << 30) - IMPLIED_BELOW_MAX - 1), at),
            ("itself", vote(1, 0, 10), Height::new(10)),
            ("above itself", vote(1, 0, 11), Height::new(10)),
        ] {
            assert_eq!(vote.nonce(height), None, "{name}");
        }
        let most = vote(CONFIRMED_MAX, VERSION_MAX, (1 << 30) - IMPLIED_BELOW_MAX);
        assert_eq!(most.nonce(at), Some(B64::repeat_byte(0xff)));
        assert_eq!(Confirmation::of_header(&header(5, B64::ZERO)), Ok(None));
        assert_eq!(Confirmation::of_header(&header(5, B64::repeat_byte(0xff))), Err(B64::repeat_byte(0xff)));
    }

    #[test]
    fn votes_conflict_by_common_heights_and_by_a_lower_height_implied_later() {
        let at = |height, vote| (Height::new(height), vote);
        let earlier = at(20, vote(4, 3, 15));
        for (name, other, want) in [
            ("the next range", at(24, vote(4, 3, 15)), None),
            ("one common height", at(24, vote(5, 3, 18)), Some(Conflict::ConfirmedTwice)),
            ("the same height", at(20, vote(1, 3, 18)), Some(Conflict::ConfirmedTwice)),
            ("a range below", at(16, vote(2, 3, 12)), None),
            ("a lower implied height", at(24, vote(4, 3, 14)), Some(Conflict::ImpliedLess)),
            ("a lower height of a later schedule", at(24, vote(4, 4, 14)), None),
            ("a higher height of an earlier schedule", at(24, vote(4, 2, 20)), Some(Conflict::ImpliedLess)),
            ("a higher one below", at(16, vote(2, 3, 15)), None),
            ("a higher schedule below", at(16, vote(2, 4, 12)), Some(Conflict::ImpliedLess)),
        ] {
            assert_eq!(Confirmation::conflict(earlier, other), want, "{name}");
            assert_eq!(Confirmation::conflict(other, earlier), want, "{name}, in the other order");
        }
    }
}
