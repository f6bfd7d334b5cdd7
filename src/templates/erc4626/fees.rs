//! Fees, in hundredths of a percent of assets, rounded up.

use crate::vm::{
    contract::*,
    math::{Rounding, mul_div},
};

/// Highest fee, in hundredths of a percent: as much as the assets without it.
pub const FEE_MAX: u16 = 10_000;

/// Hundredths of a percent in the whole.
const WHOLE: U256 = U256::from_limbs([10_000, 0, 0, 0]);

/// Returns the fee that comes on top of `assets`.
pub(super) fn on_top(assets: U256, fee: u16) -> Result<U256, Stop> {
    mul_div(assets, U256::from(fee), WHOLE, Rounding::Ceil)
}

/// Returns the fee that `assets` include.
pub(super) fn included(assets: U256, fee: u16) -> Result<U256, Stop> {
    mul_div(assets, U256::from(fee), WHOLE + U256::from(fee), Rounding::Ceil)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fees_are_rounded_up() {
        let rates = [(0, 0, 0), (1, 1, 1), (100, 10, 10), (5_000, 500, 334), (FEE_MAX, 1_000, 500)];
        for (fee, top, within) in rates {
            let assets = U256::from(1_000);
            assert_eq!(on_top(assets, fee), Ok(U256::from(top)), "{fee}");
            assert_eq!(included(assets, fee), Ok(U256::from(within)), "{fee}");
        }
    }

    proptest! {
        /// Whatever is asked as `assets` without fee, the fee in the whole is never more than the fee on top, so that the vault never
        /// pays out more fee than it took.
        #[test]
        fn the_fee_within_is_covered_by_the_fee_on_top(assets: u128, fee in 0..=FEE_MAX) {
            let assets = U256::from(assets);
            let top = on_top(assets, fee).unwrap();
            prop_assert!(included(assets + top, fee).unwrap() <= top);
            let within = included(assets, fee).unwrap();
            prop_assert!(within <= assets);
            prop_assert!(on_top(assets - within, fee).unwrap() <= within);
        }
    }
}
