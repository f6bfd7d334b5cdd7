//! Values that are strings in JSON: amounts, addresses, durations; and those whose types an ABI says.

mod abi;

use std::borrow::Cow;

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, de::Error as _};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type, schema::SchemaType},
};

pub(super) use self::abi::{AbiEntry, AbiMembers, AbiValue, Metadata};
use crate::primitives::{DurationUnits, Gas, parse_amount, parse_duration_secs, parse_percent};

/// Declares a scalar's schema: a string of a pattern.
macro_rules! scalar_schema {
    ($type:ident, $pattern:expr, $description:expr, $example:expr) => {
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let schema = ObjectBuilder::new().schema_type(Type::String).pattern(Some($pattern));
                schema.description(Some($description)).examples([$example]).into()
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($type))
            }
        }
    };
}

/// An amount in the smallest unit: a decimal integer in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount(pub(super) U256);

scalar_schema!(
    Amount,
    "^[0-9]{1,77}$",
    "An amount in the smallest unit: a decimal integer of at most 77 digits in a string.",
    "1000000000000000000"
);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        let amount = parse_amount(&text).map(Self);
        amount.ok_or_else(|| D::Error::custom("a decimal integer string in the smallest unit"))
    }
}

/// An address: `0x` and 40 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HexAddress(pub(super) Address);

scalar_schema!(
    HexAddress,
    "^0x[0-9a-fA-F]{40}$",
    "An address: 0x and 40 hex digits.",
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
);

impl<'de> Deserialize<'de> for HexAddress {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("an address: 0x and 40 hex digits"))
    }
}

/// An amount in the smallest unit: a decimal integer in a string, or an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AmountOrInteger(pub(super) U256);

impl PartialSchema for AmountOrInteger {
    fn schema() -> RefOr<Schema> {
        let types = SchemaType::from_iter([Type::String, Type::Integer]);
        let schema = ObjectBuilder::new().schema_type(types).pattern(Some("^[0-9]{1,77}$")).minimum(Some(0));
        let description =
            "An amount in the smallest unit: a decimal integer of at most 77 digits in a string, or an integer.";
        schema.description(Some(description)).examples(["1000000000000000000"]).into()
    }
}

impl ToSchema for AmountOrInteger {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AmountOrInteger")
    }
}

impl<'de> Deserialize<'de> for AmountOrInteger {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("a decimal integer string in the smallest unit, or an integer");
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => parse_amount(&text).map(Self).ok_or_else(wrong),
            serde_json::Value::Number(number) => {
                number.as_u64().map(|amount| Self(U256::from(amount))).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

/// A percentage, from 0 to 100 with at most four decimals: a number, or a string with or without the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Percent {
    /// Millionths of the whole.
    pub(super) ppm: u32,
}

impl PartialSchema for Percent {
    fn schema() -> RefOr<Schema> {
        let types = SchemaType::from_iter([Type::String, Type::Number]);
        let schema = ObjectBuilder::new().schema_type(types).minimum(Some(0)).maximum(Some(100));
        let schema = schema.pattern(Some("^0{0,9}(100([.]0{1,9})?|[0-9]{1,2}([.][0-9]{1,4}0{0,9})?)%?$"));
        schema.description(Some("A percentage from 0 to 100, with at most four decimals.")).examples(["5"]).into()
    }
}

impl ToSchema for Percent {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Percent")
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("a percentage from 0 to 100 with at most four decimals");
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            _ => return Err(wrong()),
        };
        let parts = parse_percent(&text, 4).and_then(|parts| u32::try_from(parts).ok());
        parts.filter(|ppm| *ppm <= 1_000_000).map(|ppm| Self { ppm }).ok_or_else(wrong)
    }
}

/// A time between things: a whole number and `s`, `m` (minute), `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) secs: u64,
}

scalar_schema!(
    Interval,
    "^[0-9]{1,9}[smhd]$",
    "A time between things: a whole number and s, m (minute), h or d.",
    "5s"
);

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        let secs = parse_duration_secs(&text, DurationUnits::INTERVAL);
        secs.map(|secs| Self { secs }).ok_or_else(|| D::Error::custom("a number and one of s, m, h, d, as in 5s"))
    }
}

/// A lifetime: a whole number and `s`, `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lifetime {
    pub(super) secs: u64,
}

scalar_schema!(Lifetime, "^[0-9]{1,9}[shd]$", "A lifetime: a whole number and s, h or d, at most 3650d.", "90d");

impl<'de> Deserialize<'de> for Lifetime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        let secs = parse_duration_secs(&text, DurationUnits::COMMON);
        secs.map(|secs| Self { secs }).ok_or_else(|| D::Error::custom("a number and one of s, h, d, as in 90d"))
    }
}

/// A time until tokens have vested: a whole number and `s`, `h`, `d` or `m` (a month of 30 days).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VestingTime {
    pub(super) secs: u64,
}

scalar_schema!(
    VestingTime,
    "^[0-9]{1,9}[shdm]$",
    "A time in which tokens vest: a whole number and s, h, d or m (a month of 30 days).",
    "12m"
);

impl<'de> Deserialize<'de> for VestingTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        let secs = parse_duration_secs(&text, DurationUnits::VESTING);
        secs.map(|secs| Self { secs }).ok_or_else(|| D::Error::custom("a number and one of s, h, d, m, as in 12m"))
    }
}

/// Bytes: `0x` and hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HexBytes(pub(super) Bytes);

/// Characters of bytes in a body.
const HEX_LEN_MAX: usize = 262_146;

impl PartialSchema for HexBytes {
    fn schema() -> RefOr<Schema> {
        let schema = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^0x([0-9a-fA-F]{2})*$"));
        let schema = schema.max_length(Some(HEX_LEN_MAX)).examples(["0x02f8"]);
        schema.description(Some("Bytes: 0x and an even number of hex digits, at most 128 KiB.")).into()
    }
}

impl ToSchema for HexBytes {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("HexBytes")
    }
}

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("bytes: 0x and an even number of hex digits"))
    }
}

/// A gas limit of a transaction: a decimal integer in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GasLimit(pub(super) Gas);

scalar_schema!(
    GasLimit,
    "^(2[1-9][0-9]{3}|[3-9][0-9]{4}|[1-9][0-9]{5,11}|1000000000000)$",
    "Gas limit of a transaction, a decimal integer between 21000 and 1000000000000.",
    "3000000"
);

impl<'de> Deserialize<'de> for GasLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        let limit = text.parse().ok().filter(|limit| (21_000..=1_000_000_000_000).contains(limit));
        limit.map(|limit| Self(Gas::new(limit))).ok_or_else(|| D::Error::custom("between 21000 and 1000000000000"))
    }
}
