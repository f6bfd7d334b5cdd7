//! Arithmetic as Solidity has it outside `unchecked`: an overflow reverts with `Panic(0x11)`, a division by zero with `Panic(0x12)`.
//!
//! [`mul_div`] and [`downcast`] are OpenZeppelin's `Math.mulDiv` and `SafeCast`.

use alloy_primitives::{U256, U512, Uint};

use super::{
    Stop,
    abi::{self, PANIC_DIVISION_BY_ZERO, PANIC_OVERFLOW},
};

pub use errors::SafeCastOverflowedUintDowncast;

/// The errors of OpenZeppelin's `SafeCast`.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
mod errors {
    alloy_sol_types::sol! {
        /// A value does not fit into an unsigned integer of so many bits.
        #[derive(Debug, PartialEq, Eq)]
        error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value);
    }
}

/// Returns the revert of an overflow: `Panic(0x11)`.
pub fn overflow() -> Stop {
    abi::panic(PANIC_OVERFLOW)
}

/// Returns the revert of a division by zero: `Panic(0x12)`.
pub fn division_by_zero() -> Stop {
    abi::panic(PANIC_DIVISION_BY_ZERO)
}

/// Solidity's checked operators on unsigned integers: `a + b` is `a.add(b)?`.
pub trait CheckedMath: Copy {
    /// Returns `self + other`.
    ///
    /// # Errors
    /// `Panic(0x11)` on overflow.
    fn add(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self - other`.
    ///
    /// # Errors
    /// `Panic(0x11)` when `other` is larger.
    fn sub(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self * other`.
    ///
    /// # Errors
    /// `Panic(0x11)` on overflow.
    fn mul(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self / other`, rounded down.
    ///
    /// # Errors
    /// `Panic(0x12)` when `other` is zero.
    fn div(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self % other`.
    ///
    /// # Errors
    /// `Panic(0x12)` when `other` is zero.
    fn rem(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self ** exponent`.
    ///
    /// # Errors
    /// `Panic(0x11)` on overflow.
    fn power(self, exponent: u32) -> Result<Self, Stop>;
}

impl<const BITS: usize, const LIMBS: usize> CheckedMath for Uint<BITS, LIMBS> {
    fn add(self, other: Self) -> Result<Self, Stop> {
        self.checked_add(other).ok_or_else(overflow)
    }

    fn sub(self, other: Self) -> Result<Self, Stop> {
        self.checked_sub(other).ok_or_else(overflow)
    }

    fn mul(self, other: Self) -> Result<Self, Stop> {
        self.checked_mul(other).ok_or_else(overflow)
    }

    fn div(self, other: Self) -> Result<Self, Stop> {
        self.checked_div(other).ok_or_else(division_by_zero)
    }

    fn rem(self, other: Self) -> Result<Self, Stop> {
        self.checked_rem(other).ok_or_else(division_by_zero)
    }

    fn power(self, exponent: u32) -> Result<Self, Stop> {
        // By squaring: the exponent itself may be too large for a small integer.
        let (mut result, mut base, mut left) = (Self::ONE, self, exponent);
        while left > 0 {
            if left & 1 == 1 {
                result = result.mul(base)?;
            }
            left >>= 1;
            if left > 0 {
                base = base.mul(base)?;
            }
        }
        Ok(result)
    }
}

/// Implements the operators for an integer type of Rust.
macro_rules! checked_math {
    ($($int:ty),*) => { $(
        impl CheckedMath for $int {
            fn add(self, other: Self) -> Result<Self, Stop> {
                self.checked_add(other).ok_or_else(overflow)
            }

            fn sub(self, other: Self) -> Result<Self, Stop> {
                self.checked_sub(other).ok_or_else(overflow)
            }

            fn mul(self, other: Self) -> Result<Self, Stop> {
                self.checked_mul(other).ok_or_else(overflow)
            }

            fn div(self, other: Self) -> Result<Self, Stop> {
                self.checked_div(other).ok_or_else(division_by_zero)
            }

            fn rem(self, other: Self) -> Result<Self, Stop> {
                self.checked_rem(other).ok_or_else(division_by_zero)
            }

            fn power(self, exponent: u32) -> Result<Self, Stop> {
                self.checked_pow(exponent).ok_or_else(overflow)
            }
        }
    )* };
}

checked_math!(u8, u16, u32, u64, u128);

/// Direction in which a division is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards zero.
    Floor,
    /// Away from zero.
    Ceil,
}

/// Returns `a * b / divisor`; the product has 512 bits. OpenZeppelin's `Math.mulDiv`.
///
/// ```
/// use chainbox::{primitives::U256, vm::math::{Rounding, mul_div}};
/// let (a, b, c) = (U256::MAX, U256::from(3), U256::from(4));
/// assert_eq!(mul_div(a, b, c, Rounding::Floor)? + U256::from(1), mul_div(a, b, c, Rounding::Ceil)?);
/// # Ok::<(), chainbox::vm::Stop>(())
/// ```
///
/// # Errors
/// `Panic(0x12)` when `divisor` is zero, `Panic(0x11)` when the result has more than 256 bits.
pub fn mul_div(a: U256, b: U256, divisor: U256, rounding: Rounding) -> Result<U256, Stop> {
    if divisor.is_zero() {
        return Err(division_by_zero());
    }
    checked_mul_div(a, b, divisor, rounding).ok_or_else(overflow)
}

/// As [`mul_div`]; `None` when `divisor` is zero or the result has more than 256 bits.
pub fn checked_mul_div(a: U256, b: U256, divisor: U256, rounding: Rounding) -> Option<U256> {
    if divisor.is_zero() {
        return None;
    }
    let (quotient, is_exact) = match a.checked_mul(b) {
        Some(product) => {
            let (quotient, rest) = product.div_rem(divisor);
            (quotient, rest.is_zero())
        }
        None => {
            let product: U512 = a.widening_mul(b);
            let (quotient, rest) = product.div_rem(U512::from(divisor));
            let (low, high) = quotient.as_limbs().split_at(4);
            if high.iter().any(|limb| *limb != 0) {
                return None;
            }
            (U256::from_limbs_slice(low), rest.is_zero())
        }
    };
    if rounding == Rounding::Ceil && !is_exact { quotient.checked_add(U256::ONE) } else { Some(quotient) }
}

/// Returns `value` in fewer bits. OpenZeppelin's `SafeCast.toUint`.
///
/// # Errors
/// [`SafeCastOverflowedUintDowncast`] when it does not fit.
pub fn downcast<const BITS: usize, const LIMBS: usize>(value: U256) -> Result<Uint<BITS, LIMBS>, Stop> {
    const { assert!(BITS < 256, "a cast to more bits is no downcast") };
    Uint::checked_from_limbs_slice(value.as_limbs()).ok_or_else(|| {
        // Fewer than 256 bits: they fit into a byte.
        abi::revert(&SafeCastOverflowedUintDowncast { bits: BITS as u8, value })
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::aliases::{U48, U208};
    use alloy_sol_types::SolError;
    use proptest::prelude::*;

    use super::*;

    fn big() -> impl Strategy<Value = U256> {
        let limbs = proptest::array::uniform4(prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]);
        limbs.prop_map(U256::from_limbs)
    }

    proptest! {
        /// Against 512-bit arithmetic.
        #[test]
        fn products_are_divided_exactly(a in big(), b in big(), divisor in big()) {
            let (wide_a, wide_b) = (U512::from(a), U512::from(b));
            for rounding in [Rounding::Floor, Rounding::Ceil] {
                let got = mul_div(a, b, divisor, rounding);
                if divisor.is_zero() {
                    prop_assert_eq!(got, Err(division_by_zero()));
                    continue;
                }
                let (quotient, rest) = (wide_a * wide_b).div_rem(U512::from(divisor));
                let up = rounding == Rounding::Ceil && !rest.is_zero();
                let want = quotient + U512::from(u8::from(up));
                let want = if want.bit_len() > 256 { Err(overflow()) } else { Ok(U256::from(want)) };
                prop_assert_eq!(got.clone(), want);
                prop_assert_eq!(checked_mul_div(a, b, divisor, rounding), got.ok());
            }
        }

        /// Against arithmetic in a type that is large enough.
        #[test]
        fn operators_panic_where_soliditys_do(a: u32, b: u32) {
            let (wide_a, wide_b) = (i128::from(a), i128::from(b));
            let fits = |number: i128| u32::try_from(number).map_err(|_| overflow());
            prop_assert_eq!(a.add(b), fits(wide_a + wide_b));
            prop_assert_eq!(a.sub(b), fits(wide_a - wide_b));
            prop_assert_eq!(a.mul(b), fits(wide_a * wide_b));
            let wide = |result: Option<i128>| result.map_or(Err(division_by_zero()), fits);
            prop_assert_eq!(a.div(b), wide(wide_a.checked_div(wide_b)));
            prop_assert_eq!(a.rem(b), wide(wide_a.checked_rem(wide_b)));
            let (wide_a, wide_b) = (U256::from(a) << 224_usize, U256::from(b) << 224_usize);
            let widened = |result: Result<u32, Stop>| result.map(|number| U256::from(number) << 224_usize);
            prop_assert_eq!(wide_a.add(wide_b), widened(a.add(b)));
            prop_assert_eq!(wide_a.sub(wide_b), widened(a.sub(b)));
        }

        #[test]
        fn powers_are_repeated_products(base in 0_u64..40, exponent in 0_u32..60) {
            let want = (0..exponent).try_fold(1_u64, |product, _| product.mul(base));
            prop_assert_eq!(base.power(exponent), want.clone());
            let want = (0..exponent).try_fold(U48::ONE, |product, _| product.mul(U48::from(base)));
            prop_assert_eq!(U48::from(base).power(exponent), want);
        }
    }

    #[test]
    fn a_value_is_cast_down_or_refused_with_its_bits() {
        let largest = (U256::ONE << 208_usize) - U256::ONE;
        assert_eq!(downcast::<208, 4>(largest), Ok(U208::MAX));
        let Err(Stop::Revert(data)) = downcast::<208, 4>(largest + U256::ONE) else { panic!("must be refused") };
        let error = SafeCastOverflowedUintDowncast { bits: 208, value: largest + U256::ONE };
        assert_eq!(data, error.abi_encode());
        assert_eq!(data[..4], [0x6d, 0xfc, 0xc6, 0x50]);
        assert_eq!(downcast::<48, 1>(U256::from(7)), Ok(U48::from(7)));
    }
}
