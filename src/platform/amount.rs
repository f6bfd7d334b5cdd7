//! Parsing of amounts and durations in request bodies.

use alloy_primitives::U256;

/// Parses a decimal integer in the smallest unit. `None` for a sign, fraction, exponent, space, hex, or more than 256 bits.
///
/// ```
/// use chainbox::{platform::parse_amount, primitives::U256};
/// assert_eq!(parse_amount("1000"), Some(U256::from(1000)));
/// assert_eq!(parse_amount("1e3"), None);
/// ```
pub fn parse_amount(text: &str) -> Option<U256> {
    let is_decimal = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    is_decimal.then(|| U256::from_str_radix(text, 10).ok()).flatten()
}

/// Parses `<N>s`, `<N>m` (minutes), `<N>h` or `<N>d` into seconds. `None` for anything else, and for zero.
pub fn parse_duration_secs(text: &str) -> Option<u64> {
    let unit_at = text.len().checked_sub(1)?;
    let unit_secs = match text.as_bytes()[unit_at] {
        b's' => 1,
        b'm' => 60,
        b'h' => 3_600,
        b'd' => 86_400,
        _ => return None,
    };
    let digits = &text[..unit_at];
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit_secs).filter(|secs| *secs > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_integers_are_amounts() {
        assert_eq!(parse_amount("0"), Some(U256::ZERO));
        for text in ["", "-1", "+1", "1.5", "1e18", "0x10", " 1", "1_000", &"9".repeat(79)] {
            assert_eq!(parse_amount(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, secs) in [("5s", 5), ("2m", 120), ("1h", 3_600), ("30d", 2_592_000)] {
            assert_eq!(parse_duration_secs(text), Some(secs), "{text}");
        }
        for text in ["", "s", "5", "0s", "-5s", "1.5s", "5w", "5\u{e9}", "99999999999999999999d"] {
            assert_eq!(parse_duration_secs(text), None, "{text}");
        }
    }
}
