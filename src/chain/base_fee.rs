//! The base fee of the next block (EIP-1559).

use serde::{Deserialize, Serialize};

use crate::primitives::Gas;

/// Parameters of the base fee; EIP-1559's constants by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BaseFeeParams {
    /// Base fee of the genesis block, in the smallest unit per unit of gas.
    pub initial: u64,
    /// Gas limit divided by gas target, from 1 on (`ELASTICITY_MULTIPLIER`).
    pub elasticity_multiplier: u64,
    /// Divisor of the largest change per block, from 1 on (`BASE_FEE_MAX_CHANGE_DENOMINATOR`).
    pub change_denominator: u64,
    /// The least base fee, at most the initial one; 0 in EIP-1559.
    #[serde(skip_serializing_if = "is_zero")]
    pub floor: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(floor: &u64) -> bool {
    *floor == 0
}

impl Default for BaseFeeParams {
    fn default() -> Self {
        Self { initial: 1_000_000_000, elasticity_multiplier: 2, change_denominator: 8, floor: 0 }
    }
}

/// Returns the base fee of the child of a block that used `gas_used` of `gas_limit` at `base_fee` (EIP-1559,
/// `validate_block`), from the floor to `u64::MAX`.
pub fn next_base_fee(params: BaseFeeParams, gas_used: Gas, gas_limit: Gas, base_fee: u64) -> u64 {
    let (gas_used, target) = (gas_used.get(), gas_limit.get() / params.elasticity_multiplier.max(1));
    if target == 0 || gas_used == target {
        return base_fee.max(params.floor);
    }
    let change = |distance: u64| {
        let change = u128::from(base_fee) * u128::from(distance) / u128::from(target);
        u64::try_from(change / u128::from(params.change_denominator.max(1))).unwrap_or(u64::MAX)
    };
    let next = if gas_used > target {
        base_fee.saturating_add(change(gas_used - target).max(1))
    } else {
        base_fee.saturating_sub(change(target - gas_used))
    };
    next.max(params.floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(base fee, gas limit, gas used, next)`: geth's `TestCalcBaseFee` and further points of the EIP's formula.
    const VECTORS: [(u64, u64, u64, u64); 9] = [
        (1_000_000_000, 20_000_000, 10_000_000, 1_000_000_000),
        (1_000_000_000, 20_000_000, 9_000_000, 987_500_000),
        (1_000_000_000, 20_000_000, 11_000_000, 1_012_500_000),
        (1_000_000_000, 20_000_000, 20_000_000, 1_125_000_000),
        (1_000_000_000, 20_000_000, 0, 875_000_000),
        (1, 20_000_000, 10_000_001, 2),
        (1, 20_000_000, 0, 1),
        (0, 20_000_000, 20_000_000, 1),
        (u64::MAX, 20_000_000, 20_000_000, u64::MAX),
    ];

    #[test]
    fn vectors() {
        for (base_fee, limit, used, next) in VECTORS {
            assert_eq!(
                next_base_fee(BaseFeeParams::default(), Gas::new(used), Gas::new(limit), base_fee),
                next,
                "{base_fee} {used}/{limit}"
            );
        }
    }

    #[test]
    fn it_never_falls_below_the_floor() {
        let params = BaseFeeParams { floor: 900, ..BaseFeeParams::default() };
        let next = |used, base_fee| next_base_fee(params, Gas::new(used), Gas::new(20_000_000), base_fee);
        assert_eq!([next(0, 1_000), next(10_000_000, 10), next(20_000_000, 100)], [900; 3]);
        assert_eq!(next(20_000_000, 1_000), 1_125);
    }

    #[test]
    fn agrees_with_the_format_crate() {
        let ours = BaseFeeParams::default();
        let theirs = alloy_eips::eip1559::BaseFeeParams::ethereum();
        for base_fee in [0, 1, 7, 8, 1_000, 1_000_000_007, 5_000_000_000_000] {
            for used in [0, 1, 14_999_999, 15_000_000, 15_000_001, 29_999_999, 30_000_000] {
                let expected = theirs.next_block_base_fee(used, 30_000_000, base_fee);
                let got = next_base_fee(ours, Gas::new(used), Gas::new(30_000_000), base_fee);
                assert_eq!(got, expected, "{base_fee} {used}");
            }
        }
    }
}
