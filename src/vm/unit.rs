//! Units of constructor parameters: how a value that is written for people becomes the contract's number.

use std::borrow::Cow;

use alloy_primitives::U256;
use serde::{Serialize, Serializer};
use serde_json::{Number, Value, json};

use crate::primitives::{DurationUnits, parse_amount, parse_duration_secs, parse_percent};

/// Unit of a parameter that is an unsigned integer.
///
/// ```
/// use chainbox::vm::{ParameterNote, Unit};
/// let fee = ParameterNote::of("fee", "Fee of a swap.").with_unit(Unit::BASIS_POINTS).with_default("0.3");
/// let supply = ParameterNote::of("totalSupply", "Supply.").with_unit("the smallest unit");
/// # let _ = (fee, supply);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// A unit in words, such as `wei`; a value is the contract's number.
    Named(&'static str),
    /// Per cent: a value is `"2.5"`, `"2.5%"` or 2.5, and the contract's number is 10^`decimals` times that. A value with more
    /// decimal places is refused.
    Percent {
        /// Decimal places of a value.
        decimals: u8,
    },
    /// Time: a value is a number of seconds, or `"30d"` with one of s, h, d; the contract's number is seconds.
    Duration,
    /// A moment: a value is a number of seconds since the Unix epoch, or that in a string.
    Timestamp,
    /// Time in blocks: a value is a number of blocks, as a number or in a string; where the time of a block is known also a duration, such
    /// as `"3d"`, which is divided by it and rounded up.
    Blocks,
    /// Time of vesting: as [`Unit::Duration`], and `"12m"` is 12 months of 30 days.
    VestingDuration,
}

impl Unit {
    /// Per cent, of which the contract counts hundredths.
    pub const BASIS_POINTS: Self = Self::Percent { decimals: 2 };

    /// Returns the unit of a value in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Named(name) => name,
            Self::Percent { .. } => "per cent",
            Self::Timestamp => "seconds since the Unix epoch",
            Self::Duration | Self::VestingDuration => "seconds",
            Self::Blocks => "blocks",
        }
    }

    /// Returns the contract's number for a value; `None` for a value that is none of this unit.
    ///
    /// A named unit has no form of its own: it is read by the parameter's type.
    pub(super) fn parse(self, value: &Value, block_time_secs: Option<u64>) -> Option<U256> {
        let text = match value {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Number(number) => Cow::Owned(number_text(number)),
            _ => return None,
        };
        let secs = |units| parse_amount(&text).or_else(|| parse_duration_secs(&text, units).map(U256::from));
        match self {
            Self::Named(_) => None,
            Self::Percent { decimals } => parse_percent(&text, decimals),
            Self::Blocks => parse_amount(&text).or_else(|| {
                let secs = parse_duration_secs(&text, DurationUnits::COMMON)?;
                Some(U256::from(secs.div_ceil(block_time_secs?)))
            }),
            Self::Timestamp => parse_amount(&text),
            Self::Duration => secs(DurationUnits::COMMON),
            Self::VestingDuration => secs(DurationUnits::VESTING),
        }
    }

    /// Returns what a value is, in words; `None` for a named unit.
    pub(super) fn expected(self, is_block_time_known: bool) -> Option<String> {
        match self {
            Self::Named(_) => None,
            Self::Percent { decimals: 0 } => Some("a whole percentage, such as 4 or \"4%\"".to_owned()),
            Self::Percent { decimals } => {
                Some(format!("a percentage with at most {decimals} decimal places, such as 2.5 or \"2.5%\""))
            }
            Self::Timestamp => Some("a number of seconds since the Unix epoch".to_owned()),
            Self::Blocks if is_block_time_known => {
                Some("a number of blocks, such as 7200, or a time with s, h or d, such as \"3d\"".to_owned())
            }
            Self::Blocks => Some("a number of blocks, such as 7200".to_owned()),
            Self::Duration => Some("a number of seconds, or one with s, h or d, such as \"30d\"".to_owned()),
            Self::VestingDuration => {
                Some("a number of seconds, or one with s, h, d or m (30 days), such as \"12m\"".to_owned())
            }
        }
    }

    /// Returns the JSON Schema of a value; `None` for a named unit. It says nothing of the decimal places of a percentage that is a number,
    /// for which JSON Schema has no exact word.
    pub(super) fn json_schema(self) -> Option<Value> {
        let (pattern, number) = match self {
            Self::Named(_) => return None,
            Self::Percent { decimals: 0 } => (r"^[0-9]+(\.0+)?%?$".to_owned(), "integer"),
            Self::Percent { decimals } => (format!(r"^[0-9]+(\.[0-9]{{1,{decimals}}}0*)?%?$"), "number"),
            Self::Timestamp => ("^[0-9]+$".to_owned(), "integer"),
            Self::Blocks | Self::Duration => ("^[0-9]+[shd]?$".to_owned(), "integer"),
            Self::VestingDuration => ("^[0-9]+[shdm]?$".to_owned(), "integer"),
        };
        Some(json!({ "anyOf": [{ "type": "string", "pattern": pattern }, { "type": number, "minimum": 0 }] }))
    }
}

/// Returns the shortest text of a number: 33.4 is "33.4", so that it is read exactly, and 5.0 is the integer 5, as in JSON Schema.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

impl From<&'static str> for Unit {
    fn from(name: &'static str) -> Self {
        Self::Named(name)
    }
}

/// Its name.
impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_read_alike() {
        let read = |unit: Unit, value: Value| unit.parse(&value, None).map(|number| number.to::<u64>());
        for value in [json!("2.5"), json!("2.5%"), json!(2.5), json!("2.50")] {
            assert_eq!(read(Unit::BASIS_POINTS, value), Some(250));
        }
        assert_eq!(read(Unit::BASIS_POINTS, json!(33.4)), Some(3_340));
        assert_eq!(read(Unit::BASIS_POINTS, json!(100)), Some(10_000));
        assert_eq!(read(Unit::Percent { decimals: 0 }, json!("4%")), Some(4));
        for value in [json!("30d"), json!("720h"), json!(2_592_000), json!("2592000")] {
            assert_eq!(read(Unit::Duration, value), Some(2_592_000));
        }
        assert_eq!(read(Unit::VestingDuration, json!("12m")), Some(360 * 86_400));
        assert_eq!(
            (read(Unit::Duration, json!(5.0)), read(Unit::Percent { decimals: 0 }, json!(4.0))),
            (Some(5), Some(4))
        );
        for value in [json!(1_700_000_000), json!("1700000000")] {
            assert_eq!(read(Unit::Timestamp, value), Some(1_700_000_000));
        }
        assert_eq!((read(Unit::Blocks, json!(7_200)), read(Unit::Blocks, json!("7200"))), (Some(7_200), Some(7_200)));
    }

    #[test]
    fn what_is_no_value_of_the_unit_is_refused() {
        for value in [json!("2.555"), json!(2.555), json!(-1), json!(1e-7), json!(true), json!(["1"]), json!("1e1")] {
            assert_eq!(Unit::BASIS_POINTS.parse(&value, None), None, "{value}");
        }
        for value in [json!("5m"), json!("5w"), json!(5.5), json!(-5), json!("P30D"), json!("PT1H"), json!({})] {
            assert_eq!(Unit::Duration.parse(&value, None), None, "{value}");
        }
        for value in [json!("1d"), json!("7200s"), json!(1.5), json!(-1)] {
            assert_eq!(Unit::Blocks.parse(&value, None), None, "{value}");
        }
        assert_eq!(Unit::Percent { decimals: 0 }.parse(&json!(2.5), None), None);
        for value in [json!("1d"), json!(1.5), json!("2026-01-01")] {
            assert_eq!(Unit::Timestamp.parse(&value, None), None, "{value}");
        }
    }
}
