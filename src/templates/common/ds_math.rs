//! Arithmetic of contracts of Solidity before 0.8: DappHub's `ds-math`, which reverts with its strings, and what the compiler itself
//! refuses with INVALID.

use crate::vm::{HaltReason, abi::revert_with, contract::*};

/// Compute units of a square root.
const SQRT_UNITS: u64 = 200;

/// Returns the end of a frame by INVALID, which consumes its gas: a failed `assert`, a zero divisor, an index past the end.
pub const fn invalid() -> Stop {
    Stop::Halt(HaltReason::InvalidOpcode)
}

/// `assert(condition)`.
///
/// # Errors
/// [`invalid`] unless `condition` holds.
pub fn assert_holds(condition: bool) -> Result<(), Stop> {
    if condition { Ok(()) } else { Err(invalid()) }
}

/// `require(condition, reason)`.
///
/// # Errors
/// A revert with `reason` unless `condition` holds; after an empty one solc leaves a word of zeros.
pub fn require_that(condition: bool, reason: &str) -> Result<(), Stop> {
    if condition {
        return Ok(());
    }
    match revert_with(reason) {
        Stop::Revert(data) if reason.is_empty() => Err(Stop::Revert([data.as_ref(), &[0; 32]].concat().into())),
        refusal => Err(refusal),
    }
}

/// The operators of `ds-math`'s SafeMath, and the plain division.
pub trait DsMath: Sized {
    /// Returns `self + other`.
    ///
    /// # Errors
    /// `ds-math-add-overflow`.
    fn ds_add(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self - other`.
    ///
    /// # Errors
    /// `ds-math-sub-underflow`.
    fn ds_sub(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self * other`.
    ///
    /// # Errors
    /// `ds-math-mul-overflow`.
    fn ds_mul(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self / other`, rounded down.
    ///
    /// # Errors
    /// [`invalid`] when `other` is zero.
    fn plain_div(self, other: Self) -> Result<Self, Stop>;
}

impl DsMath for U256 {
    fn ds_add(self, other: Self) -> Result<Self, Stop> {
        self.checked_add(other).ok_or_else(|| revert_with("ds-math-add-overflow"))
    }

    fn ds_sub(self, other: Self) -> Result<Self, Stop> {
        self.checked_sub(other).ok_or_else(|| revert_with("ds-math-sub-underflow"))
    }

    fn ds_mul(self, other: Self) -> Result<Self, Stop> {
        self.checked_mul(other).ok_or_else(|| revert_with("ds-math-mul-overflow"))
    }

    fn plain_div(self, other: Self) -> Result<Self, Stop> {
        self.checked_div(other).ok_or_else(invalid)
    }
}

/// Returns the square root, rounded down.
///
/// # Errors
/// [`Stop`]: out of gas.
pub fn sqrt(host: &mut Host<'_>, value: U256) -> Result<U256, Stop> {
    host.compute(SQRT_UNITS)?;
    Ok(root(value))
}

/// Newton's method from a power of two above the root, from which it only falls.
fn root(value: U256) -> U256 {
    if value.is_zero() {
        return value;
    }
    let mut root = U256::ONE << value.bit_len().div_ceil(2);
    loop {
        // Both are below 2^129.
        let next = (value / root).wrapping_add(root) >> 1;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U512;
    use proptest::prelude::*;

    use super::*;

    fn word() -> impl Strategy<Value = U256> {
        let limb = prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()];
        proptest::array::uniform4(limb).prop_map(U256::from_limbs)
    }

    proptest! {
        #[test]
        fn a_root_is_the_largest_number_whose_square_fits(value in word(), shift in 0_usize..256) {
            for value in [value, value >> shift] {
                let (value, root) = (U512::from(value), U512::from(root(value)));
                prop_assert!(root * root <= value);
                prop_assert!((root + U512::from(1)) * (root + U512::from(1)) > value);
            }
        }

        #[test]
        fn squares_have_exact_roots(side: u128) {
            let side = U256::from(side);
            prop_assert_eq!(root(side * side), side);
        }

        #[test]
        fn overflows_have_the_strings_of_ds_math(a in word(), b in word()) {
            let (wide_a, wide_b) = (U512::from(a), U512::from(b));
            let fits = |wide: U512, reason: &str| {
                if wide > U512::from(U256::MAX) { Err(revert_with(reason)) } else { Ok(U256::from(wide)) }
            };
            prop_assert_eq!(a.ds_add(b), fits(wide_a + wide_b, "ds-math-add-overflow"));
            prop_assert_eq!(a.ds_mul(b), fits(wide_a * wide_b, "ds-math-mul-overflow"));
            let difference = if a < b { Err(revert_with("ds-math-sub-underflow")) } else { Ok(a - b) };
            prop_assert_eq!(a.ds_sub(b), difference);
            let quotient = if b.is_zero() { Err(invalid()) } else { Ok(a / b) };
            prop_assert_eq!(a.plain_div(b), quotient);
        }
    }
}
