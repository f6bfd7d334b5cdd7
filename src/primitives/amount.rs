//! Amounts in JSON: read from a decimal string, a 0x string or a whole number, written as decimal strings.

use core::fmt;

use alloy_primitives::U256;
use serde::{Deserializer, Serializer, de};

const EXPECTED: &str =
    "an amount in the smallest unit: a whole number, or a string like \"1000000000000000000\" or \"0xde0b6b3a7640000\"";

/// Serializes a `U256` for `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(amount: &U256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

/// Deserializes a `U256` for `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    deserializer.deserialize_any(AmountVisitor)
}

/// Parses a decimal or 0x string.
pub(crate) fn parse(text: &str) -> Option<U256> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = digits.map_or((text, 10), |digits| (digits, 16));
    let clean = !digits.is_empty() && digits.bytes().all(|byte| char::from(byte).is_digit(radix));
    clean.then(|| U256::from_str_radix(digits, u64::from(radix)).ok()).flatten()
}

struct AmountVisitor;

impl de::Visitor<'_> for AmountVisitor {
    type Value = U256;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<U256, E> {
        Ok(U256::from(number))
    }

    /// TOML's integers are signed.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<U256, E> {
        let number = u64::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
        Ok(U256::from(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<U256, E> {
        parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

/// The same representation for a `u64`.
pub(crate) mod small {
    use super::{AmountVisitor, Deserializer, Serializer, U256, de};

    pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(*number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let amount: U256 = deserializer.deserialize_any(AmountVisitor)?;
        u64::try_from(amount).map_err(|_| de::Error::custom(format_args!("{amount} is above 2^64 - 1")))
    }
}

/// The same representation for the slots and values of a storage map.
pub(crate) mod slots {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::{Deserializer, Serializer, U256, de, parse};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Amount(#[serde(with = "super")] U256);

    pub(crate) fn serialize<S: Serializer>(slots: &BTreeMap<U256, U256>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(slots.iter().map(|(slot, value)| (format!("{slot:#066x}"), format!("{value:#066x}"))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<U256, U256>, D::Error> {
        let read = BTreeMap::<String, Amount>::deserialize(deserializer)?;
        let pairs = read.into_iter().map(|(slot, value)| {
            let slot =
                parse(&slot).ok_or_else(|| de::Error::custom(format_args!("storage slot {slot:?} is not a number")))?;
            Ok((slot, value.0))
        });
        pairs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_both_bases_and_nothing_else() {
        for (text, value) in [("0", 0), ("15", 15), ("0xf", 15), ("0XF", 15)] {
            assert_eq!(parse(text), Some(U256::from(value)), "{text}");
        }
        for text in ["", "0x", "-1", "+1", "1.5", "1e3", "0x1_0", "ten", " 1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&format!("0x1{}", "0".repeat(64))), None);
    }
}
