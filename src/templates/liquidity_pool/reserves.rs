//! The reserves, and what prices accumulate between two updates.

use alloy_primitives::aliases::U112;

use super::interface as sol;
use crate::vm::contract::*;

/// Bits of a price after the point.
const PRICE_BITS: usize = 112;

record! {
    /// The balances that the pool has accounted for, and when.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Reserves {
        pub(super) reserve0: U112,
        pub(super) reserve1: U112,
        /// Seconds since the Unix epoch, modulo 2^32.
        pub(super) block_timestamp_last: u32,
    }
}

impl Reserves {
    /// Returns both as words.
    pub(super) fn words(self) -> (U256, U256) {
        (U256::from(self.reserve0), U256::from(self.reserve1))
    }

    /// Returns the values of `getReserves`.
    pub(super) fn as_returned(self) -> sol::getReservesReturn {
        sol::getReservesReturn {
            _reserve0: self.reserve0,
            _reserve1: self.reserve1,
            _blockTimestampLast: self.block_timestamp_last,
        }
    }

    /// Returns what each token's price in the other grew by until `timestamp`, in 2^-112 times seconds; `None` in the same block and for
    /// an empty pool.
    pub(super) fn price_growth(self, timestamp: u32) -> Option<(U256, U256)> {
        let elapsed = timestamp.wrapping_sub(self.block_timestamp_last);
        let (reserve0, reserve1) = self.words();
        if elapsed == 0 || reserve0.is_zero() || reserve1.is_zero() {
            return None;
        }
        // 224 bits times 32 bits fit.
        let growth = |other: U256, own: U256| ((other << PRICE_BITS) / own).wrapping_mul(U256::from(elapsed));
        Some((growth(reserve1, reserve0), growth(reserve0, reserve1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserves(reserve0: u64, reserve1: u64, block_timestamp_last: u32) -> Reserves {
        Reserves { reserve0: U112::from(reserve0), reserve1: U112::from(reserve1), block_timestamp_last }
    }

    #[test]
    fn prices_grow_by_the_second_and_time_wraps() {
        let one = U256::ONE << PRICE_BITS;
        let want = Some((one * U256::from(8), one / U256::from(4) * U256::from(2)));
        assert_eq!(reserves(100, 400, 10).price_growth(12), want);
        assert_eq!(reserves(100, 400, u32::MAX).price_growth(1), want);
        assert_eq!(reserves(100, 400, 12).price_growth(12), None);
        assert_eq!(reserves(0, 400, 10).price_growth(12), None);
        assert_eq!(reserves(400, 0, 10).price_growth(12), None);
        let extreme = Reserves { reserve0: U112::from(1), reserve1: U112::MAX, block_timestamp_last: 1 };
        let (price, _) = extreme.price_growth(0).unwrap();
        assert_eq!(price, (U256::from(U112::MAX) << PRICE_BITS) * U256::from(u32::MAX), "2^224 times 2^32 fit");
    }
}
