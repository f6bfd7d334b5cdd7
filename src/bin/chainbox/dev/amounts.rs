//! Amounts and times as people read them.

use chainbox::{
    primitives::{Timestamp, U256},
    server,
};

/// Decimals of the native token.
const ETHER_DECIMALS: u8 = 18;
/// Decimals of a gwei in the smallest unit.
const GWEI_DECIMALS: u8 = 9;

/// Returns an amount of the smallest unit in tokens, such as `1.5 ETH`.
pub(crate) fn ether(amount: U256) -> String {
    format!("{} ETH", decimal(amount, ETHER_DECIMALS))
}

/// Returns an amount in tokens, or in the smallest unit where it is less than a millionth of a token.
pub(crate) fn value(amount: U256) -> String {
    if amount.is_zero() || amount >= U256::from(1_000_000_000_000_u64) {
        ether(amount)
    } else {
        format!("{amount} wei")
    }
}

/// Returns a price of gas, such as `0.875 gwei`.
pub(crate) fn gwei(per_gas: u64) -> String {
    format!("{} gwei", decimal(U256::from(per_gas), GWEI_DECIMALS))
}

/// Returns a time as a date, such as `2025-01-01T00:00:00Z`.
pub(crate) fn date(time: Timestamp) -> String {
    server::date(time)
}

/// Returns a count with its noun, such as `1 block` or `2 blocks`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns `amount` / 10^`decimals` without closing zeros.
fn decimal(amount: U256, decimals: u8) -> String {
    let unit = U256::from(10).pow(U256::from(decimals));
    let (whole, rest) = (amount / unit, amount % unit);
    if rest.is_zero() {
        return whole.to_string();
    }
    let rest = rest.to_string();
    let digits = format!("{rest:0>width$}", width = usize::from(decimals));
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_no_closing_zeros_and_lose_no_digit() {
        let ether_unit = U256::from(10).pow(U256::from(18));
        for (amount, text) in [
            (U256::ZERO, "0 ETH"),
            (U256::from(1), "1 wei"),
            (U256::from(999_999_999_999_u64), "999999999999 wei"),
            (U256::from(1_000_000_000_000_u64), "0.000001 ETH"),
            (ether_unit, "1 ETH"),
            (ether_unit * U256::from(3) / U256::from(2), "1.5 ETH"),
            (ether_unit * U256::from(10_000) - U256::from(1), "9999.999999999999999999 ETH"),
        ] {
            assert_eq!(value(amount), text);
        }
        assert_eq!(
            (gwei(875_000_000).as_str(), gwei(1_000_000_000).as_str(), gwei(7).as_str()),
            ("0.875 gwei", "1 gwei", "0.000000007 gwei")
        );
    }
}
