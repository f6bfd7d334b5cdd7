//! The wallet's variables, and when assets vest.

use super::IMMUTABLES;
use crate::{templates::common::Ownable, vm::contract::*};

storage! {
    /// State variables, in solc's order.
    pub(super) contract WalletStorage {
        pub(super) ownable: Ownable,
        pub(super) released: Slot<U256>,
        pub(super) erc20_released: Mapping<Address, U256>,
        pub(super) revoked: Slot<bool>,
        pub(super) erc20_revoked: Mapping<Address, bool>,
        pub(super) erc1155_released: Mapping<Address, Mapping<U256, U256>>,
        pub(super) erc1155_revoked: Mapping<Address, Mapping<U256, bool>>,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract WalletImmutables layout at IMMUTABLES {
        pub(super) terms: Slot<Terms>,
        pub(super) revoker: Slot<Address>,
    }
}

record! {
    /// When assets vest, in seconds since the Unix epoch, and whether the revoker may stop that.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Terms {
        pub(super) start: u64,
        /// In seconds.
        pub(super) duration: u64,
        /// Moment before which nothing has vested, not before the start.
        pub(super) cliff: u64,
        pub(super) revocable: bool,
    }
}

pub(super) const WALLET: WalletStorage = WalletStorage::STATE;
pub(super) const FIXED: WalletImmutables = WalletImmutables::STATE;

impl Terms {
    pub(super) fn end(self) -> U256 {
        U256::from(u128::from(self.start) + u128::from(self.duration))
    }

    /// Returns how much of `allocation` has vested at a time (`_vestingSchedule`).
    pub(super) fn vested(self, allocation: U256, timestamp: u64) -> Result<U256, Stop> {
        if timestamp < self.cliff {
            Ok(U256::ZERO)
        } else if U256::from(timestamp) >= self.end() {
            Ok(allocation)
        } else {
            let elapsed = timestamp.sub(self.start)?;
            allocation.mul(U256::from(elapsed))?.div(U256::from(self.duration))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Nothing before the cliff, all at the end, never less than before, never above the straight line.
        #[test]
        fn what_has_vested_grows_along_a_line(
            start in 0_u64..1_000,
            (duration, cliff) in (0_u64..1_000).prop_flat_map(|duration| (Just(duration), 0..=duration)),
            allocation: u64,
            times in proptest::array::uniform2(0_u64..2_500),
        ) {
            let terms = Terms { start, duration, cliff: start + cliff, revocable: false };
            let vested = |time| terms.vested(U256::from(allocation), time).unwrap().to::<u64>();
            let (early, late) = (times[0].min(times[1]), times[0].max(times[1]));
            prop_assert!(vested(early) <= vested(late));
            for time in times {
                let want = match time {
                    _ if time < start + cliff => 0,
                    _ if time >= start + duration => allocation,
                    _ => (u128::from(allocation) * u128::from(time - start) / u128::from(duration)) as u64,
                };
                prop_assert_eq!(vested(time), want);
            }
        }
    }
}
