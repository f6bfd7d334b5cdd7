//! OpenZeppelin 2's `SafeMath`, of contracts of Solidity before 0.8: operators that revert with its strings.

use crate::vm::{abi::revert_with, contract::*};

/// The operators.
pub trait SafeMath: Sized {
    /// Returns `self + other`.
    ///
    /// # Errors
    /// `SafeMath: addition overflow`.
    fn safe_add(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self - other`.
    ///
    /// # Errors
    /// `SafeMath: subtraction overflow`.
    fn safe_sub(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self * other`.
    ///
    /// # Errors
    /// `SafeMath: multiplication overflow`.
    fn safe_mul(self, other: Self) -> Result<Self, Stop>;

    /// Returns `self / other`, rounded down.
    ///
    /// # Errors
    /// `SafeMath: division by zero`.
    fn safe_div(self, other: Self) -> Result<Self, Stop>;
}

impl SafeMath for U256 {
    fn safe_add(self, other: Self) -> Result<Self, Stop> {
        self.checked_add(other).ok_or_else(|| revert_with("SafeMath: addition overflow"))
    }

    fn safe_sub(self, other: Self) -> Result<Self, Stop> {
        self.checked_sub(other).ok_or_else(|| revert_with("SafeMath: subtraction overflow"))
    }

    fn safe_mul(self, other: Self) -> Result<Self, Stop> {
        self.checked_mul(other).ok_or_else(|| revert_with("SafeMath: multiplication overflow"))
    }

    fn safe_div(self, other: Self) -> Result<Self, Stop> {
        self.checked_div(other).ok_or_else(|| revert_with("SafeMath: division by zero"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_exact_up_to_their_bounds_and_refuse_past_them() {
        let (one, two, max) = (U256::ONE, U256::from(2), U256::MAX);
        let refused = |reason: &str| Err(revert_with(reason));
        assert_eq!((max - one).safe_add(one), Ok(max));
        assert_eq!(max.safe_add(one), refused("SafeMath: addition overflow"));
        assert_eq!(one.safe_sub(one), Ok(U256::ZERO));
        assert_eq!(one.safe_sub(two), refused("SafeMath: subtraction overflow"));
        assert_eq!((max / two).safe_mul(two), Ok(max - one));
        assert_eq!((max / two + one).safe_mul(two), refused("SafeMath: multiplication overflow"));
        assert_eq!(U256::from(7).safe_div(two), Ok(U256::from(3)));
        assert_eq!(one.safe_div(U256::ZERO), refused("SafeMath: division by zero"));
    }
}
