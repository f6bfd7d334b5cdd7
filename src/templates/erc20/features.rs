//! What a token is made with at its creation: decimals, the cap, optional functions. A call to a function that is left out reverts
//! without data, as to a contract that has no such function.

use super::{
    Erc20Features, IMMUTABLES,
    interface::{self as sol, Erc20Token},
};
use crate::vm::contract::*;

storage! {
    /// What Solidity would put into the code.
    pub(super) contract TokenImmutables layout at IMMUTABLES {
        pub(super) settings: Slot<Settings>,
        pub(super) cap: Slot<U256>,
    }
}

record! {
    /// Decimals, and the optional functions.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) decimals: u8,
        /// Bits of [`Feature`].
        features: u8,
    }
}

pub(super) const FIXED: TokenImmutables = TokenImmutables::STATE;

/// An optional part of a token, by its bit in [`Settings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Feature {
    Mintable = 1,
    Burnable = 1 << 1,
    Pausable = 1 << 2,
    Votes = 1 << 3,
    FlashMint = 1 << 4,
}

impl Settings {
    pub(super) fn new(decimals: u8, features: Erc20Features) -> Self {
        use Feature::*;
        let Erc20Features { mintable, burnable, pausable, votes, flash_mint } = features;
        let chosen =
            [(mintable, Mintable), (burnable, Burnable), (pausable, Pausable), (votes, Votes), (flash_mint, FlashMint)];
        let features = chosen.into_iter().filter(|(is_on, _)| *is_on).fold(0, |set, (_, feature)| set | feature as u8);
        Self { decimals, features }
    }

    pub(super) const fn has(self, feature: Feature) -> bool {
        self.features & feature as u8 != 0
    }
}

impl From<Erc20Token::Features> for Erc20Features {
    fn from(features: Erc20Token::Features) -> Self {
        let Erc20Token::Features { mintable, burnable, pausable, votes, flashMint } = features;
        Self { mintable, burnable, pausable, votes, flash_mint: flashMint }
    }
}

impl From<Erc20Features> for Erc20Token::Features {
    fn from(features: Erc20Features) -> Self {
        let Erc20Features { mintable, burnable, pausable, votes, flash_mint } = features;
        Self { mintable, burnable, pausable, votes, flashMint: flash_mint }
    }
}

/// Returns the feature to which a function belongs; `None` for one that every token has.
pub(super) const fn feature_of(function: [u8; 4]) -> Option<Feature> {
    Some(match function {
        sol::mintCall::SELECTOR | sol::MINTER_ROLECall::SELECTOR => Feature::Mintable,
        sol::burnCall::SELECTOR | sol::burnFromCall::SELECTOR => Feature::Burnable,
        sol::pauseCall::SELECTOR
        | sol::unpauseCall::SELECTOR
        | sol::pausedCall::SELECTOR
        | sol::PAUSER_ROLECall::SELECTOR => Feature::Pausable,
        sol::clockCall::SELECTOR
        | sol::CLOCK_MODECall::SELECTOR
        | sol::getVotesCall::SELECTOR
        | sol::getPastVotesCall::SELECTOR
        | sol::getPastTotalSupplyCall::SELECTOR
        | sol::delegatesCall::SELECTOR
        | sol::delegateCall::SELECTOR
        | sol::delegateBySigCall::SELECTOR
        | sol::numCheckpointsCall::SELECTOR
        | sol::checkpointsCall::SELECTOR => Feature::Votes,
        sol::maxFlashLoanCall::SELECTOR | sol::flashFeeCall::SELECTOR | sol::flashLoanCall::SELECTOR => {
            Feature::FlashMint
        }
        _ => return None,
    })
}

/// Refuses a function that the token was made without.
pub(super) fn require_feature_of(host: &mut Host<'_>, function: [u8; 4]) -> Result<(), Stop> {
    match feature_of(function) {
        Some(feature) if !FIXED.settings.get(host)?.has(feature) => Err(empty_revert()),
        _ => Ok(()),
    }
}
