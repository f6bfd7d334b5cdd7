//! What a token is beside its contract.

use serde::{Deserialize, Serialize};

use crate::templates::{Erc20, Erc721, Erc1155, Erc4626};

/// Standard of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TokenStandard {
    /// Fungible (EIP-20).
    Erc20,
    /// Non-fungible (EIP-721).
    Erc721,
    /// Several tokens in one contract (EIP-1155).
    Erc1155,
    /// A vault whose shares are a token (EIP-4626).
    Erc4626,
}

impl TokenStandard {
    /// Name of the standard, as `ERC20`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Erc20 => "ERC20",
            Self::Erc721 => "ERC721",
            Self::Erc1155 => "ERC1155",
            Self::Erc4626 => "ERC4626",
        }
    }

    /// Name of the template of its contracts.
    pub const fn template(self) -> &'static str {
        match self {
            Self::Erc20 => Erc20::NAME,
            Self::Erc721 => Erc721::NAME,
            Self::Erc1155 => Erc1155::NAME,
            Self::Erc4626 => Erc4626::NAME,
        }
    }
}

/// What a token is beside its contract. An ERC-1155 contract has no name and no symbol: these are the service's labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenDetails {
    /// Its standard.
    pub standard: TokenStandard,
    /// Its name.
    pub name: String,
    /// Its symbol.
    pub symbol: String,
}
