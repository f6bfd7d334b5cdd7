//! Values in configurations of modules: percentages, numbers of blocks, tokens.

use alloy_primitives::{Address, U256};
use serde_json::Value;

use super::SUPPLY;
use crate::{
    platform::{Fields, fields::TextOrObject, modules::ModuleKind},
    primitives::{DurationUnits, parse_amount, parse_duration_secs, parse_percent},
};

/// Bytes of the name of an ERC-20 contract, which an EIP-712 domain has in one word.
const NAME_BYTES_MAX: usize = 31;
/// Most tokens that the votes of an ERC-20 contract can count: 2^208 - 1.
const VOTES_MAX: U256 = U256::from_limbs([u64::MAX, u64::MAX, u64::MAX, 0xffff]);
/// Digits of that number.
const SUPPLY_DIGITS_MAX: usize = 63;

/// A percentage with at most two decimals.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::platform::modules) struct Percent(u64);

impl Percent {
    pub(super) const fn whole(percent: u64) -> Self {
        Self(percent.saturating_mul(100))
    }

    /// Hundredths of a percent.
    pub(super) const fn hundredths(&self) -> u64 {
        self.0
    }

    /// As templates take it, such as `2.5`.
    pub(in crate::platform::modules) fn text(&self) -> String {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => whole.to_string(),
            (whole, part) => format!("{whole}.{part:02}"),
        }
    }
}

/// Reads a percentage in a string or a number, within whole bounds.
pub(super) fn percent(fields: &mut Fields, name: &str, min: u64, max: u64) -> Option<Percent> {
    let expected = format!("a percentage from {min} to {max} with at most two decimals, as in \"2.5\" or \"2.5%\"");
    fields.read_with(name, &expected, |value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        let hundredths: u64 = parse_percent(&text, 2)?.try_into().ok()?;
        (min * 100..=max * 100).contains(&hundredths).then_some(Percent(hundredths))
    })
}

/// Reads a text of at most so many bytes.
pub(super) fn text_within(fields: &mut Fields, name: &str, bytes: usize) -> Option<String> {
    let expected = format!("a non-empty string of at most {bytes} bytes");
    fields.read_with(name, &expected, |value| {
        value.as_str().filter(|text| !text.trim().is_empty() && text.len() <= bytes).map(str::to_owned)
    })
}

/// A time in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform::modules) enum BlockSpan {
    /// That many.
    Blocks(u64),
    /// As many as come in that many seconds, rounded up.
    Secs(u64),
}

impl BlockSpan {
    /// Reads a number of blocks, at least `min`, or a duration.
    pub(super) fn read(fields: &mut Fields, name: &str, min: u64) -> Option<Self> {
        let expected = format!("a number of blocks from {min} on, or a duration as in 1d");
        fields.read_with(name, &expected, |value| match value {
            Value::Number(number) => {
                number.as_u64().filter(|it| (min..=u64::from(u32::MAX)).contains(it)).map(Self::Blocks)
            }
            Value::String(text) if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) => {
                text.parse().ok().filter(|it| (min..=u64::from(u32::MAX)).contains(it)).map(Self::Blocks)
            }
            Value::String(text) => {
                let secs = parse_duration_secs(text, DurationUnits::INTERVAL)?;
                (secs >= min && secs <= u64::from(u32::MAX)).then_some(Self::Secs(secs))
            }
            _ => None,
        })
    }

    /// Returns how many blocks; `None` for a duration on a chain whose blocks come on demand.
    pub(in crate::platform::modules) fn blocks(self, block_time_secs: Option<u64>) -> Option<u64> {
        match self {
            Self::Blocks(count) => Some(count),
            Self::Secs(secs) => block_time_secs.filter(|time| *time > 0).map(|time| secs.div_ceil(time)),
        }
    }
}

/// A token that a module works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::platform::modules) enum TokenChoice {
    /// One that the module makes.
    Own {
        name: String,
        symbol: String,
        /// In the smallest unit.
        supply: U256,
    },
    /// One that is there.
    At(Address),
    /// That of another module.
    Of(ModuleKind),
}

/// A token with the default supply.
pub(super) fn own_token(name: &str, symbol: &str) -> TokenChoice {
    TokenChoice::Own { name: name.to_owned(), symbol: symbol.to_owned(), supply: SUPPLY }
}

/// Reads a token: an address, the name of a module of `others`, or what a new one is made with.
pub(super) fn token(fields: &mut Fields, name: &str, others: &[ModuleKind]) -> Option<TokenChoice> {
    let names: Vec<&str> = others.iter().map(|kind| kind.name()).collect();
    let of_module =
        if names.is_empty() { String::new() } else { format!(", the name of a module ({})", names.join(", ")) };
    let expected = format!("an address (0x and 40 hex digits){of_module}, or an object with name and symbol");
    match fields.text_or_object(name, &expected)? {
        TextOrObject::Text(text) => {
            let module = others.iter().copied().find(|kind| kind.name() == text).map(TokenChoice::Of);
            let address = || text.parse().ok().filter(|_| text.starts_with("0x")).map(TokenChoice::At);
            let found = module.or_else(address);
            if found.is_none() {
                fields.refuse(name, expected, text);
            }
            found
        }
        TextOrObject::Object(mut object) => {
            let named = text_within(&mut object, "name", NAME_BYTES_MAX);
            let symbol = text_within(&mut object, "symbol", 64);
            let named = object.require("name", "a name of at most 31 bytes", named);
            let symbol = object.require("symbol", "a symbol", symbol);
            let supply = supply(&mut object).unwrap_or(SUPPLY);
            fields.absorb(object);
            Some(TokenChoice::Own { name: named?, symbol: symbol?, supply })
        }
    }
}

/// Reads the supply of a token that a module makes, which has votes.
fn supply(token: &mut Fields) -> Option<U256> {
    let expected = format!(
        "a decimal integer string in the smallest unit, of at most {SUPPLY_DIGITS_MAX} digits and at most 2^208 - 1, which is what the \
         token's votes can count"
    );
    token.read_with("totalSupply", &expected, |value| {
        let text = value.as_str().filter(|text| text.len() <= SUPPLY_DIGITS_MAX)?;
        parse_amount(text).filter(|supply| *supply <= VOTES_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_supply_is_that_of_votes_and_its_digits_are_counted() {
        assert_eq!(VOTES_MAX, (U256::from(1) << 208) - U256::from(1));
        assert_eq!(VOTES_MAX.to_string().len(), SUPPLY_DIGITS_MAX);
    }
}
