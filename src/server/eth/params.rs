//! Reading positional parameters; errors state the expected and the received value.

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rpc_types_eth::{BlockOverrides, TransactionRequest, state::StateOverride};
use jsonrpsee::types::Params;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    platform::Subject,
    server::{
        commands::Cancellation,
        jsonrpc::errors::{INTERNAL_ERROR, RpcError, error, invalid_params},
    },
};

/// Characters of an invalid value that an error repeats.
const SHOWN_MAX: usize = 100;

/// The parameters of one call, split but not yet parsed.
#[derive(Debug)]
pub(crate) struct Args<'a> {
    values: Vec<&'a RawValue>,
    cancellation: Cancellation,
    caller: Option<&'a Subject>,
}

/// A type of parameters.
pub(crate) trait Argument: DeserializeOwned {
    /// Description of valid values, for error messages.
    const EXPECTED: &'static str;
}

impl<'a> Args<'a> {
    /// Splits the parameters. More than `args_max` are an error.
    pub(crate) fn read(params: &'a Params<'_>, args_max: usize) -> Result<Self, RpcError> {
        let text = params.as_str().unwrap_or("[]").trim();
        if text == "null" {
            return Ok(Self::of(Vec::new()));
        }
        let values: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|_| invalid_params(format!("invalid params: expected an array, got {}", shorten(text))))?;
        if values.len() > args_max {
            return Err(invalid_params(format!("too many arguments, want at most {args_max}, got {}", values.len())));
        }
        Ok(Self::of(values))
    }

    fn of(values: Vec<&'a RawValue>) -> Self {
        Self { values, cancellation: Cancellation::default(), caller: None }
    }

    /// Sets whose credentials came with the call.
    pub(crate) fn with_caller(self, caller: Option<&'a Subject>) -> Self {
        Self { caller, ..self }
    }

    /// Whose credentials came with the call; `None` where it needs none.
    pub(crate) const fn caller(&self) -> Option<&'a Subject> {
        self.caller
    }

    /// Sets by what long work learns that its caller has left.
    pub(crate) fn with_cancellation(mut self, cancellation: Option<&Cancellation>) -> Self {
        self.cancellation = cancellation.cloned().unwrap_or_default();
        self
    }

    /// Fails when the caller has left: nobody reads the result of long work any more.
    pub(crate) fn check_cancelled(&self) -> Result<(), RpcError> {
        if self.is_cancelled() { Err(error(INTERNAL_ERROR, "cancelled: the caller has left")) } else { Ok(()) }
    }

    /// Whether the caller has left.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Returns the parameter at `index`, which is required.
    pub(crate) fn required<T: Argument>(&self, index: usize, name: &str) -> Result<T, RpcError> {
        self.optional(index, name)?.ok_or_else(|| {
            invalid_params(format!("missing value for required argument {index} ({name}): expected {}", T::EXPECTED))
        })
    }

    /// Returns the parameter at `index`, or `None` when it is absent or `null`.
    pub(crate) fn optional<T: Argument>(&self, index: usize, name: &str) -> Result<Option<T>, RpcError> {
        let Some(value) = self.values.get(index).map(|value| value.get()).filter(|text| *text != "null") else {
            return Ok(None);
        };
        serde_json::from_str(value).map(Some).map_err(|_| {
            invalid_params(format!(
                "invalid argument {index} ({name}): expected {}, got {}",
                T::EXPECTED,
                shorten(value)
            ))
        })
    }

    /// Returns the block parameter at `index`; `latest` when absent.
    pub(crate) fn block(&self, index: usize) -> Result<BlockId, RpcError> {
        Ok(self.optional(index, "block")?.unwrap_or_default())
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A number that fits 64 bits: a JSON number, `0x` hex, or a decimal string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantity(pub(crate) u64);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        let number = match Form::deserialize(deserializer)? {
            Form::Number(number) => Some(number),
            Form::Text(text) => match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            },
        };
        number.map(Self).ok_or_else(|| serde::de::Error::custom("not a 64-bit number"))
    }
}

impl Argument for Address {
    const EXPECTED: &'static str = "an address (0x and 40 hex digits)";
}

impl Argument for B256 {
    const EXPECTED: &'static str = "32 bytes (0x and 64 hex digits)";
}

impl Argument for U256 {
    const EXPECTED: &'static str = "a number of at most 256 bits (0x and hex digits)";
}

impl Argument for Bytes {
    const EXPECTED: &'static str = "bytes (0x and an even number of hex digits)";
}

impl Argument for Quantity {
    const EXPECTED: &'static str = "a number of at most 64 bits (0x and hex digits, or a JSON number)";
}

impl Argument for bool {
    const EXPECTED: &'static str = "true or false";
}

impl Argument for String {
    const EXPECTED: &'static str = "a string";
}

impl Argument for BlockId {
    const EXPECTED: &'static str =
        "a block number in hex, \"latest\", \"pending\", \"earliest\", \"safe\", \"finalized\", or a block hash";
}

impl Argument for TransactionRequest {
    const EXPECTED: &'static str = "a transaction object (from, to, value, data, gas, nonce, fees in hex)";
}

impl Argument for StateOverride {
    const EXPECTED: &'static str = "a state override (address to balance, nonce, code, state or stateDiff)";
}

impl Argument for BlockOverrides {
    const EXPECTED: &'static str = "block overrides (number, time, gasLimit, coinbase, random, baseFee)";
}

impl Argument for Vec<U256> {
    const EXPECTED: &'static str = "an array of storage slots (0x and hex digits)";
}

impl Argument for Vec<f64> {
    const EXPECTED: &'static str = "an array of percentiles between 0 and 100, rising";
}

impl Argument for serde_json::Value {
    const EXPECTED: &'static str = "a JSON value";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, read: impl Fn(&Args<'_>) -> Result<(), RpcError>) -> String {
        let params = Params::new(Some(text));
        Args::read(&params, 3).and_then(|args| read(&args)).unwrap_err().message().to_owned()
    }

    #[test]
    fn errors_state_the_expected_and_the_received_value() {
        let address = |args: &Args<'_>| args.required::<Address>(0, "address").map(drop);
        assert_eq!(
            message("[\"0x12\"]", address),
            "invalid argument 0 (address): expected an address (0x and 40 hex digits), got \"0x12\""
        );
        assert_eq!(
            message("[]", address),
            "missing value for required argument 0 (address): expected an address (0x and 40 hex digits)"
        );
        assert_eq!(message("{\"a\":1}", address), "invalid params: expected an array, got {\"a\":1}");
        assert_eq!(message("[1,2,3,4]", address), "too many arguments, want at most 3, got 4");
    }

    #[test]
    fn quantities_have_three_forms() {
        for text in ["[255]", "[\"0xff\"]", "[\"255\"]"] {
            let params = Params::new(Some(text));
            let args = Args::read(&params, 1).unwrap();
            assert_eq!(args.required::<Quantity>(0, "n").unwrap(), Quantity(255), "{text}");
        }
    }

    #[test]
    fn absent_and_null_parameters_are_none() {
        for params in [Params::new(None), Params::new(Some("null")), Params::new(Some("[null]"))] {
            assert_eq!(Args::read(&params, 1).unwrap().optional::<bool>(0, "flag").unwrap(), None);
        }
    }
}
