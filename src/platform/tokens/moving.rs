//! Giving tokens to somebody else: the call that does so, by standard.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::details::TokenStandard;
use crate::{
    platform::{FieldError, PlatformError},
    templates::{erc20::interface as erc20, erc721::interface as erc721, erc1155::interface as erc1155},
};

/// Tokens that are to go to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenMove {
    /// Who gets them.
    pub to: Address,
    /// How many, in the smallest unit; an ERC-721 token is one.
    pub amount: Option<U256>,
    /// Id of the token; a fungible one has none.
    pub token_id: Option<U256>,
}

impl TokenMove {
    /// Returns the data of the call by which `from` gives the tokens. To a contract an ERC-721 token and an ERC-1155 one go only if it takes
    /// them (`safeTransferFrom`).
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of `amount` and `tokenId`: what the standard needs and lacks, and what it can't have.
    pub fn call(&self, standard: TokenStandard, from: Address) -> Result<Vec<u8>, PlatformError> {
        let Self { to, amount, token_id } = *self;
        let has_ids = matches!(standard, TokenStandard::Erc721 | TokenStandard::Erc1155);
        let has_amounts = standard != TokenStandard::Erc721;
        let mut fields = Vec::new();
        for (path, is_there, is_known) in
            [("amount", amount.is_some(), has_amounts), ("tokenId", token_id.is_some(), has_ids)]
        {
            if is_there != is_known {
                let name = standard.name();
                let (expected, got) = match is_known {
                    true => (format!("a decimal integer, which a transfer of {name} needs"), "nothing"),
                    false => (format!("no value: a transfer of {name} has no {path}"), "a value"),
                };
                fields.push(FieldError { path: path.to_owned(), expected, got: got.to_owned() });
            }
        }
        if !fields.is_empty() {
            return Err(PlatformError::Validation { fields });
        }
        let (value, id) = (amount.unwrap_or_default(), token_id.unwrap_or_default());
        Ok(match standard {
            TokenStandard::Erc20 | TokenStandard::Erc4626 => erc20::transferCall { to, value }.abi_encode(),
            TokenStandard::Erc721 => erc721::safeTransferFrom_0Call { from, to, tokenId: id }.abi_encode(),
            TokenStandard::Erc1155 => {
                erc1155::safeTransferFromCall { from, to, id, value, data: Bytes::new() }.abi_encode()
            }
        })
    }
}
