//! Fixed-point arithmetic of Aave v3: rays (27 decimals), percentages in hundredths, and interest over time.
//!
//! [`ray_mul`], [`ray_div`], [`percent_mul`], [`percent_div`], [`linear_interest`] and [`compounded_interest`] are Aave's WadRayMath,
//! PercentageMath and MathUtils to the last digit: they round half up. What decides who owes and owns how much rounds one way, in favour of the
//! market, and takes a [`Rounding`]: [`scale_down`] and [`scale_up`].

use alloy_primitives::uint;

use crate::vm::{contract::*, math::overflow};

/// One, in rays: 10^27.
pub const RAY: U256 = uint!(1_000_000_000_000_000_000_000_000_000_U256);

/// One, in wads: 10^18.
pub const WAD: U256 = uint!(1_000_000_000_000_000_000_U256);

/// A whole, in hundredths of a percent.
pub const PERCENTAGE_FACTOR: U256 = uint!(10_000_U256);

/// Rays in a hundredth of a percent.
pub const RAYS_OF_BASIS_POINT: U256 = uint!(100_000_000_000_000_000_000_000_U256);

/// Seconds of a year of 365 days.
pub const SECONDS_PER_YEAR: U256 = uint!(31_536_000_U256);

/// Returns `a * b` in rays, rounded half up (`WadRayMath.rayMul`).
///
/// # Errors
/// A revert without data when the product has more than 256 bits.
pub fn ray_mul(a: U256, b: U256) -> Result<U256, Stop> {
    multiply_half_up(a, b, RAY)
}

/// Returns `a / b` in rays, rounded half up (`WadRayMath.rayDiv`).
///
/// # Errors
/// A revert without data when `b` is zero or the product with a ray has more than 256 bits.
pub fn ray_div(a: U256, b: U256) -> Result<U256, Stop> {
    divide_half_up(a, b, RAY)
}

/// Returns `a / b` in wads, rounded half up (`WadRayMath.wadDiv`).
///
/// # Errors
/// As [`ray_div`].
pub fn wad_div(a: U256, b: U256) -> Result<U256, Stop> {
    divide_half_up(a, b, WAD)
}

/// Returns a percentage of `value`, rounded half up (`PercentageMath.percentMul`).
///
/// # Errors
/// As [`ray_mul`].
pub fn percent_mul(value: U256, percentage: U256) -> Result<U256, Stop> {
    multiply_half_up(value, percentage, PERCENTAGE_FACTOR)
}

/// Returns that of which `value` is a percentage, rounded half up (`PercentageMath.percentDiv`).
///
/// # Errors
/// As [`ray_div`].
pub fn percent_div(value: U256, percentage: U256) -> Result<U256, Stop> {
    divide_half_up(value, percentage, PERCENTAGE_FACTOR)
}

fn multiply_half_up(a: U256, b: U256, one: U256) -> Result<U256, Stop> {
    let product = a.checked_mul(b).and_then(|product| product.checked_add(one >> 1_u32));
    product.map(|product| product / one).ok_or_else(empty_revert)
}

fn divide_half_up(a: U256, b: U256, one: U256) -> Result<U256, Stop> {
    let product = a.checked_mul(one).and_then(|product| product.checked_add(b >> 1_u32));
    product.and_then(|product| product.checked_div(b)).ok_or_else(empty_revert)
}

/// Returns the factor by which an amount grows with simple interest at a yearly rate, in rays (`MathUtils.calculateLinearInterest`).
///
/// # Errors
/// `Panic(0x11)` on overflow.
pub fn linear_interest(rate: U256, seconds: u64) -> Result<U256, Stop> {
    let earned = CheckedMath::mul(rate, U256::from(seconds))? / SECONDS_PER_YEAR;
    CheckedMath::add(RAY, earned)
}

/// Returns the factor by which an amount grows with interest at a yearly rate, compounded each second, in rays
/// (`MathUtils.calculateCompoundedInterest`): the first terms of the binomial series, slightly below the true value.
///
/// # Errors
/// `Panic(0x11)` on overflow; a revert without data where [`ray_mul`] overflows.
pub fn compounded_interest(rate: U256, seconds: u64) -> Result<U256, Stop> {
    if seconds == 0 {
        return Ok(RAY);
    }
    let times = |a: U256, b: U256| CheckedMath::mul(a, b);
    let (exponent, less_one) = (U256::from(seconds), U256::from(seconds - 1));
    let less_two = U256::from(seconds.saturating_sub(2));
    let square = ray_mul(rate, rate)? / (SECONDS_PER_YEAR * SECONDS_PER_YEAR);
    let cube = ray_mul(square, rate)? / SECONDS_PER_YEAR;
    let second = times(times(exponent, less_one)?, square)? / U256::from(2);
    let third = times(times(times(exponent, less_one)?, less_two)?, cube)? / U256::from(6);
    let first = times(rate, exponent)? / SECONDS_PER_YEAR;
    [first, second, third].into_iter().try_fold(RAY, CheckedMath::add)
}

/// Returns how many units at an index of one are worth `amount` at `index`, in rays.
///
/// # Errors
/// `Panic(0x11)` on overflow.
pub fn scale_down(amount: U256, index: U256, rounding: Rounding) -> Result<U256, Stop> {
    mul_div(amount, RAY, index, rounding)
}

/// Returns what `scaled` units at an index of one are worth at `index`, in rays.
///
/// # Errors
/// `Panic(0x11)` on overflow.
pub fn scale_up(scaled: U256, index: U256, rounding: Rounding) -> Result<U256, Stop> {
    mul_div(scaled, index, RAY, rounding)
}

/// Returns 10 to the power of a token's or feed's decimals.
///
/// # Errors
/// `Panic(0x11)` on overflow.
pub fn unit(decimals: u8) -> Result<U256, Stop> {
    U256::from(10).checked_pow(U256::from(decimals)).ok_or_else(overflow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ray(thousandths: u64) -> U256 {
        RAY / U256::from(1_000) * U256::from(thousandths)
    }

    #[test]
    fn halves_are_rounded_up() {
        let half = RAY / U256::from(2);
        for (a, b, want) in [(RAY, half, half), (U256::ONE, half, U256::ONE), (U256::ONE, half - U256::ONE, U256::ZERO)]
        {
            assert_eq!(ray_mul(a, b), Ok(want));
        }
        assert_eq!(ray_div(U256::ONE, RAY * U256::from(2)), Ok(U256::ONE));
        assert_eq!(ray_div(U256::ONE, RAY * U256::from(2) + U256::ONE), Ok(U256::ZERO));
        assert_eq!(ray_div(U256::ONE, RAY * U256::from(3)), Ok(U256::ZERO));
        assert_eq!(percent_mul(U256::from(5), U256::from(1_000)), Ok(U256::ONE));
        assert_eq!(percent_mul(U256::from(4), U256::from(1_000)), Ok(U256::ZERO));
        assert_eq!(percent_div(U256::from(1), U256::from(5_000)), Ok(U256::from(2)));
        for refused in [ray_mul(U256::MAX, RAY), ray_div(U256::ONE, U256::ZERO), ray_div(U256::MAX, RAY)] {
            assert_eq!(refused, Err(empty_revert()));
        }
    }

    /// Values of Aave's whitepaper: 10 % a year, compounded each second, is 10.517 %.
    #[test]
    fn interest_over_a_year_is_that_of_the_series() {
        let year = SECONDS_PER_YEAR.to::<u64>();
        assert_eq!(linear_interest(ray(100), year), Ok(ray(1_100)));
        let compounded = compounded_interest(ray(100), year).unwrap();
        // 1 + 0.1 + 0.1^2/2 + 0.1^3/6, less what is cut off of the powers of a second's rate.
        let series = RAY + ray(100) + ray(5) + RAY / U256::from(6_000);
        assert!(compounded < series && series - compounded < RAY / U256::from(100_000), "{compounded}");
        assert_eq!(compounded_interest(ray(100), 0), Ok(RAY));
        assert_eq!(compounded_interest(ray(100), 1), Ok(RAY + ray(100) / SECONDS_PER_YEAR));
    }

    proptest! {
        /// Of two that start together, the one who pays compounded interest never has less than who earns simple interest.
        #[test]
        fn compounded_interest_is_not_below_linear(rate in 0_u64..20_000, seconds in 0_u64..1_000_000_000) {
            let rate = ray(rate);
            prop_assert!(compounded_interest(rate, seconds).unwrap() >= linear_interest(rate, seconds).unwrap());
        }

        /// Who puts in and takes out an amount at one index gains nothing.
        #[test]
        fn a_round_trip_gains_nothing(amount: u64, index in 1_000_u64..1_000_000) {
            let (amount, index) = (U256::from(amount), ray(index) + U256::from(7));
            let owned = scale_up(scale_down(amount, index, Rounding::Floor).unwrap(), index, Rounding::Floor).unwrap();
            let owed = scale_up(scale_down(amount, index, Rounding::Ceil).unwrap(), index, Rounding::Ceil).unwrap();
            prop_assert!(owned <= amount && amount <= owed);
        }
    }
}
