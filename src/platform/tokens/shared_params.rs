//! The parameters that tokens of all standards are described by, for the templates whose constructors take others.

use alloy_primitives::U256;
use serde_json::{Map, Value};

use super::{Tokens, details::TokenStandard, spec::rest_of_sender};
use crate::{
    platform::{FieldError, PlatformError},
    primitives::parse_amount,
};

impl Tokens<'_> {
    /// Returns the parameters of a template's constructor: of `erc721-nft` and `erc1155-multi` with `totalSupply` and `decimals` translated as
    /// those of a [`TokenSpec`](super::TokenSpec), so that the supply is the sender's, and of `erc1155-multi` without `name` and `symbol`,
    /// which no contract of it has. All else is left to the template.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with the parameters that such a token can't have.
    pub fn constructor_params(
        &self,
        template: &str,
        mut params: Map<String, Value>,
    ) -> Result<Map<String, Value>, PlatformError> {
        let others = [TokenStandard::Erc721, TokenStandard::Erc1155];
        let Some(standard) = others.into_iter().find(|standard| standard.template() == template) else {
            return Ok(params);
        };
        let mut fields = Vec::new();
        if standard == TokenStandard::Erc1155 {
            for name in ["name", "symbol"] {
                if let Some(got) = params.remove(name).filter(|label| !label.is_string()) {
                    fields.push(wrong(name, "a string", got.to_string()));
                }
            }
        }
        if let Some(decimals) = params.remove("decimals").filter(|decimals| amount(decimals) != Some(U256::ZERO)) {
            fields.push(wrong("decimals", "0: its tokens have no fractions", decimals.to_string()));
        }
        if let Some(supply) = params.remove("totalSupply") {
            match amount(&supply) {
                _ if params.contains_key("distribution") => {
                    let expected = "nothing beside distribution, which says who has how many";
                    fields.push(wrong("totalSupply", expected, supply.to_string()));
                }
                None => fields.push(wrong("totalSupply", "an integer from 0 on, in a string", supply.to_string())),
                Some(U256::ZERO) => {}
                Some(supply) => drop(params.insert("distribution".to_owned(), vec![rest_of_sender(supply)].into())),
            }
        }
        if fields.is_empty() { Ok(params) } else { Err(PlatformError::Validation { fields }) }
    }
}

/// Reads an integer, which may be in a string.
fn amount(value: &Value) -> Option<U256> {
    match value {
        Value::String(text) => parse_amount(text),
        Value::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    }
}

fn wrong(name: &str, expected: &str, got: String) -> FieldError {
    FieldError { path: format!("params.{name}"), expected: expected.to_owned(), got }
}
