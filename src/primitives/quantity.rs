//! Quantities in texts, read exactly and strictly: whole numbers, percentages, durations. No sign, no exponent, no space.

use alloy_primitives::U256;

/// Parses a decimal integer in the smallest unit. `None` for a sign, fraction, exponent, space, hex, or more than 256 bits.
///
/// ```
/// use chainbox::primitives::{U256, parse_amount};
/// assert_eq!(parse_amount("1000"), Some(U256::from(1000)));
/// assert_eq!(parse_amount("1e3"), None);
/// ```
pub fn parse_amount(text: &str) -> Option<U256> {
    is_digits(text).then(|| U256::from_str_radix(text, 10).ok()).flatten()
}

/// Parses a percentage, with or without the sign `%`, into parts of a per cent: 10^`decimals` of them. `None` where it is no whole number
/// of them, so that nothing is rounded.
///
/// ```
/// use chainbox::primitives::{U256, parse_percent};
/// assert_eq!(parse_percent("2.5%", 2), Some(U256::from(250)));
/// assert_eq!(parse_percent("2.555", 2), None);
/// ```
pub fn parse_percent(text: &str, decimals: u8) -> Option<U256> {
    parse_decimal(text.strip_suffix('%').unwrap_or(text), decimals)
}

/// Parses a decimal number into parts of one: 10^`decimals` of them. `None` where it is no whole number of them.
///
/// ```
/// use chainbox::primitives::{U256, parse_decimal};
/// assert_eq!(parse_decimal("1.5", 3), Some(U256::from(1_500)));
/// assert_eq!(parse_decimal("1.", 3), None);
/// ```
pub fn parse_decimal(text: &str, decimals: u8) -> Option<U256> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !is_digits(fraction) {
        return None;
    }
    let places = usize::from(decimals);
    let fraction = fraction.trim_end_matches('0');
    let fraction = (fraction.len() <= places).then(|| format!("{fraction:0<places$}"))?;
    let scale = U256::from(10).checked_pow(U256::from(decimals))?;
    let parts = if fraction.is_empty() { U256::ZERO } else { parse_amount(&fraction)? };
    parse_amount(whole)?.checked_mul(scale)?.checked_add(parts)
}

/// What the letters after the number of a duration mean, which depends on the field: `m` is a minute in one and a month in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationUnits(&'static [(char, u64)]);

impl DurationUnits {
    /// `s`, `h` and `d`; `m` is refused, as it may be a minute or a month.
    pub const COMMON: Self = Self(&[('s', 1), ('h', 3_600), ('d', 86_400)]);
    /// Of intervals and granularities: `s`, `m` for a minute, `h` and `d`.
    pub const INTERVAL: Self = Self(&[('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)]);
    /// Of vesting: `s`, `h`, `d`, and `m` for a month of 30 days.
    pub const VESTING: Self = Self(&[('s', 1), ('h', 3_600), ('d', 86_400), ('m', 30 * 86_400)]);
}

/// Parses a whole number and a letter of `units`, as in `30d`, into seconds. `None` for anything else, and for 2^64 s or more.
///
/// ```
/// use chainbox::primitives::{DurationUnits, parse_duration_secs};
/// assert_eq!(parse_duration_secs("2m", DurationUnits::INTERVAL), Some(120));
/// assert_eq!(parse_duration_secs("2m", DurationUnits::VESTING), Some(60 * 86_400));
/// assert_eq!(parse_duration_secs("2m", DurationUnits::COMMON), None);
/// ```
pub fn parse_duration_secs(text: &str, DurationUnits(units): DurationUnits) -> Option<u64> {
    let (letter, secs) = units.iter().find(|(letter, _)| text.ends_with(*letter))?;
    let digits = text.strip_suffix(*letter)?;
    if is_digits(digits) { digits.parse::<u64>().ok()?.checked_mul(*secs) } else { None }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_plain_integers_are_amounts() {
        assert_eq!(parse_amount("0"), Some(U256::ZERO));
        for text in ["", "-1", "+1", "1.5", "1e18", "0x10", " 1", "1_000", &"9".repeat(79)] {
            assert_eq!(parse_amount(text), None, "{text}");
        }
    }

    #[test]
    fn percentages_are_exact() {
        for (text, decimals, parts) in [
            ("33", 2, 3_300),
            ("33.4%", 2, 3_340),
            ("0", 0, 0),
            ("2.50", 1, 25),
            ("4.0%", 0, 4),
            ("0.01", 2, 1),
            ("250", 2, 25_000),
        ] {
            assert_eq!(parse_percent(text, decimals), Some(U256::from(parts)), "{text}");
        }
        let long = format!("{}%", U256::MAX);
        for text in
            ["", "%", "2.", ".5", "2.5.1", "-1", "+1", "1e1", "1e-7", "2.555", "2,5", "5 %", "5%%", " 5", "0x5", &long]
        {
            assert_eq!(parse_percent(text, 2), None, "{text}");
        }
        assert_eq!(parse_percent("2.5", 0), None);
        assert_eq!(parse_percent("1", 255), None);
    }

    #[test]
    fn durations_have_a_unit_of_their_field() {
        for (text, interval, vesting) in
            [("5s", 5, 5), ("2m", 120, 5_184_000), ("1h", 3_600, 3_600), ("30d", 2_592_000, 2_592_000)]
        {
            assert_eq!(parse_duration_secs(text, DurationUnits::INTERVAL), Some(interval), "{text}");
            assert_eq!(parse_duration_secs(text, DurationUnits::VESTING), Some(vesting), "{text}");
        }
        assert_eq!(parse_duration_secs("30d", DurationUnits::COMMON), Some(2_592_000));
        assert_eq!(parse_duration_secs("0s", DurationUnits::COMMON), Some(0));
        for text in [
            "",
            "s",
            "5",
            "-5s",
            "+5s",
            "1.5s",
            "5w",
            "5M",
            "5\u{e9}",
            "5 d",
            "99999999999999999999d",
            "213503982334602d",
        ] {
            for units in [DurationUnits::COMMON, DurationUnits::INTERVAL, DurationUnits::VESTING] {
                assert_eq!(parse_duration_secs(text, units), None, "{text}");
            }
        }
        assert_eq!(parse_duration_secs("5m", DurationUnits::COMMON), None);
    }

    proptest! {
        /// A percentage written with all its decimals is read as the number of its parts.
        #[test]
        fn percentages_come_back(parts in any::<u64>(), decimals in 1_u8..=9, has_sign: bool) {
            let scale = 10_u64.pow(decimals.into());
            let (whole, fraction, width) = (parts / scale, parts % scale, usize::from(decimals));
            let text = format!("{whole}.{fraction:0width$}{}", if has_sign { "%" } else { "" });
            prop_assert_eq!(parse_percent(&text, decimals), Some(U256::from(parts)));
        }
    }
}
