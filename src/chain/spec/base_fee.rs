//! Base fee of a chain, and its JSON.

use serde::{Deserialize, Serialize};

use crate::chain::base_fee::BaseFeeParams;

/// Base fee of a chain: EIP-1559, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseFee {
    /// Headers have no base fee and the author gets the whole gas price. JSON: `"off"`.
    Off,
    /// EIP-1559: the base fee follows gas usage and is burned. JSON: an object; missing fields have EIP-1559's values.
    Dynamic(BaseFeeParams),
}

impl BaseFee {
    /// Returns the parameters; `None` when off.
    pub const fn params(&self) -> Option<BaseFeeParams> {
        match self {
            Self::Off => None,
            Self::Dynamic(params) => Some(*params),
        }
    }
}

impl Default for BaseFee {
    fn default() -> Self {
        Self::Dynamic(BaseFeeParams::default())
    }
}

/// JSON of [`BaseFee`]: `"off"` or the parameters.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BaseFeeJson {
    Keyword(String),
    Params(BaseFeeParams),
}

impl Serialize for BaseFee {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::Dynamic(params) => params.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BaseFee {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "expected \"off\" or {\"initial\", \"elasticityMultiplier\", \"changeDenominator\", \"floor\"}";
        match BaseFeeJson::deserialize(deserializer) {
            Ok(BaseFeeJson::Keyword(keyword)) if keyword == "off" => Ok(Self::Off),
            Ok(BaseFeeJson::Params(params)) => Ok(Self::Dynamic(params)),
            Ok(BaseFeeJson::Keyword(_)) | Err(_) => Err(serde::de::Error::custom(format_args!("baseFee: {expected}"))),
        }
    }
}
