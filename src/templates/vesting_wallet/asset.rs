//! What a wallet holds: ether or a token.

use super::{interface as sol, state::WALLET};
use crate::{
    templates::common::{address::send_value, safe_erc20},
    vm::contract::*,
};

/// Ether or a token.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asset {
    Ether,
    Token(Address),
}

impl Asset {
    /// Returns what the wallet has.
    pub(super) fn balance(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let wallet = host.address();
        match self {
            Self::Ether => host.balance(&wallet),
            Self::Token(token) => safe_erc20::balance_of(host, token, wallet),
        }
    }

    /// Returns what the wallet has released.
    pub(super) fn released(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        match self {
            Self::Ether => WALLET.released.get(host),
            Self::Token(token) => WALLET.erc20_released.get(host, token),
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
        }
    }

    /// Returns whether it was revoked.
    pub(super) fn is_revoked(self, host: &mut Host<'_>) -> Result<bool, Stop> {
        match self {
            Self::Ether => WALLET.revoked.get(host),
            Self::Token(token) => WALLET.erc20_revoked.get(host, token),
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
        }
    }

    /// Sends so much from the wallet.
    pub(super) fn send(self, host: &mut Host<'_>, to: Address, amount: U256) -> Result<(), Stop> {
        match self {
            Self::Ether => send_value(host, to, amount),
            Self::Token(token) => safe_erc20::safe_transfer(host, token, to, amount),
        }
    }

    /// Returns the token; the zero address for ether.
    pub(super) const fn token(self) -> Address {
        match self {
            Self::Ether => Address::ZERO,
            Self::Token(token) => token,
        }
    }
}
