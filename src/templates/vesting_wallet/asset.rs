//! What a wallet holds: ether, a token, or tokens of an id.

use super::{interface as sol, state::WALLET};
use crate::{
    templates::common::{
        address::send_value,
        nft::{Nft, TokenType},
        safe_erc20,
    },
    vm::contract::*,
};

/// Ether, an ERC-20 token, or one id of an ERC-1155 token.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asset {
    Ether,
    Token(Address),
    MultiToken(Address, U256),
}

impl Asset {
    /// Returns what the wallet has.
    pub(super) fn balance(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let wallet = host.address();
        match self {
            Self::Ether => host.balance(&wallet),
            Self::Token(token) => safe_erc20::balance_of(host, token, wallet),
            Self::MultiToken(token, id) => of_id(token, id).balance(host, wallet),
        }
    }

    /// Returns what the wallet has released.
    pub(super) fn released(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        match self {
            Self::Ether => WALLET.released.get(host),
            Self::Token(token) => WALLET.erc20_released.get(host, token),
            Self::MultiToken(token, id) => WALLET.erc1155_released.at(host, token)?.get(host, id),
        }
    }

    /// Notes that so much is released, and emits the event.
    pub(super) fn note_released(self, host: &mut Host<'_>, amount: U256) -> Result<(), Stop> {
        match self {
            Self::Ether => {
                WALLET.released.add(host, amount)?;
                host.emit(&sol::EtherReleased { amount })
            }
            Self::Token(token) => {
                WALLET.erc20_released.at(host, token)?.add(host, amount)?;
                host.emit(&sol::ERC20Released { token, amount })
            }
            Self::MultiToken(token, id) => {
                WALLET.erc1155_released.at(host, token)?.at(host, id)?.add(host, amount)?;
                host.emit(&sol::ERC1155Released { token, id, amount })
            }
        }
    }

    /// Returns whether it was revoked.
    pub(super) fn is_revoked(self, host: &mut Host<'_>) -> Result<bool, Stop> {
        match self {
            Self::Ether => WALLET.revoked.get(host),
            Self::Token(token) => WALLET.erc20_revoked.get(host, token),
            Self::MultiToken(token, id) => WALLET.erc1155_revoked.at(host, token)?.get(host, id),
        }
    }

    /// Notes that it is revoked and so much goes back, and emits the event.
    pub(super) fn note_revoked(self, host: &mut Host<'_>, amount: U256) -> Result<(), Stop> {
        match self {
            Self::Ether => {
                WALLET.revoked.overwrite(host, true)?;
                host.emit(&sol::EtherRevoked { amount })
            }
            Self::Token(token) => {
                WALLET.erc20_revoked.at(host, token)?.overwrite(host, true)?;
                host.emit(&sol::ERC20Revoked { token, amount })
            }
            Self::MultiToken(token, id) => {
                WALLET.erc1155_revoked.at(host, token)?.at(host, id)?.overwrite(host, true)?;
                host.emit(&sol::ERC1155Revoked { token, id, amount })
            }
        }
    }

    /// Sends so much from the wallet.
    pub(super) fn send(self, host: &mut Host<'_>, to: Address, amount: U256) -> Result<(), Stop> {
        match self {
            Self::Ether => send_value(host, to, amount),
            Self::Token(token) => safe_erc20::safe_transfer(host, token, to, amount),
            Self::MultiToken(token, id) => {
                let wallet = host.address();
                of_id(token, id).transfer(host, wallet, to, amount)
            }
        }
    }

    /// Returns the token; the zero address for ether.
    pub(super) const fn token(self) -> Address {
        match self {
            Self::Ether => Address::ZERO,
            Self::Token(token) | Self::MultiToken(token, _) => token,
        }
    }
}

const fn of_id(token: Address, id: U256) -> Nft {
    Nft { collection: token, token_id: id, token_type: TokenType::Erc1155 }
}
