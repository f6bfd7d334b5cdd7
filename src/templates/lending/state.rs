//! The market's variables.

use alloy_primitives::aliases::U40;

use super::{
    IMMUTABLES,
    math::{RAYS_OF_BASIS_POINT, unit},
    rates::RateStrategy,
};
use crate::{
    templates::common::{Ownable, ReentrancyGuard},
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract LendingStorage {
        pub(super) reserve: Slot<Reserve>,
        /// What suppliers own of the token, at an index of one.
        pub(super) supplies: Mapping<Address, U256>,
        /// What borrowers owe of the token, at an index of one.
        pub(super) debts: Mapping<Address, U256>,
        /// What borrowers put in of the collateral.
        pub(super) collaterals: Mapping<Address, U256>,
        pub(super) total_collateral: Slot<U256>,
        pub(super) ownable: Ownable,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract LendingImmutables layout at IMMUTABLES {
        pub(super) token: Slot<TokenTerms>,
        pub(super) collateral: Slot<CollateralTerms>,
        pub(super) oracle: Slot<OracleTerms>,
        pub(super) token_oracle: Slot<Address>,
    }
}

record! {
    /// The token's side of the market: indexes and rates in rays, rates a year, the rest in the token's smallest unit.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Reserve {
        pub(super) liquidity_index: u128,
        pub(super) liquidity_rate: u128,
        pub(super) variable_borrow_index: u128,
        pub(super) variable_borrow_rate: u128,
        /// What suppliers own, at an index of one, without the treasury's part.
        pub(super) scaled_supply: u128,
        /// What borrowers owe, at an index of one.
        pub(super) scaled_debt: u128,
        /// What is not lent.
        pub(super) cash: u128,
        /// The treasury's part, at an index of one, before the owner is credited with it.
        pub(super) accrued_to_treasury: u128,
        /// Debts written off and not covered.
        pub(super) deficit: u128,
        /// Moment to which the indexes are, in seconds since the Unix epoch.
        pub(super) last_update: U40,
    }
}

record! {
    /// The token, and the rates at which it is lent, in hundredths of a percent.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct TokenTerms {
        pub(super) asset: Address,
        pub(super) decimals: u8,
        pub(super) reserve_factor: u16,
        pub(super) optimal_usage_ratio: u16,
        pub(super) base_variable_borrow_rate: u16,
        pub(super) variable_rate_slope1: u16,
        pub(super) variable_rate_slope2: u16,
    }
}

record! {
    /// The collateral, and how far it covers debts, in hundredths of a percent.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct CollateralTerms {
        pub(super) asset: Address,
        pub(super) decimals: u8,
        pub(super) ltv: u16,
        pub(super) liquidation_threshold: u16,
        /// Above 100 %: what a liquidator gets for a whole.
        pub(super) liquidation_bonus: u16,
    }
}

record! {
    /// The collateral's feed.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct OracleTerms {
        pub(super) feed: Address,
        /// Of both feeds.
        pub(super) decimals: u8,
        /// In seconds.
        pub(super) max_price_age: u32,
    }
}

pub(super) const LENDING: LendingStorage = LendingStorage::STATE;
pub(super) const FIXED: LendingImmutables = LendingImmutables::STATE;
pub(super) const GUARD: ReentrancyGuard = ReentrancyGuard::STATE;

impl TokenTerms {
    pub(super) fn strategy(&self) -> RateStrategy {
        let rays = |basis_points: u16| U256::from(basis_points) * RAYS_OF_BASIS_POINT;
        RateStrategy {
            optimal_usage_ratio: rays(self.optimal_usage_ratio),
            base_variable_borrow_rate: rays(self.base_variable_borrow_rate),
            variable_rate_slope1: rays(self.variable_rate_slope1),
            variable_rate_slope2: rays(self.variable_rate_slope2),
        }
    }

    /// Returns the smallest units of a whole token.
    pub(super) fn unit(&self) -> Result<U256, Stop> {
        unit(self.decimals)
    }
}

impl CollateralTerms {
    /// Returns the smallest units of a whole token.
    pub(super) fn unit(&self) -> Result<U256, Stop> {
        unit(self.decimals)
    }
}

/// An asset of the market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asset {
    Token,
    Collateral,
}

impl Asset {
    /// Returns what an address is.
    ///
    /// # Errors
    /// `ASSET_NOT_LISTED`; [`Stop`].
    pub(super) fn of(host: &mut Host<'_>, address: Address) -> Result<Self, Stop> {
        if FIXED.token.get(host)?.asset == address {
            return Ok(Self::Token);
        }
        let is_collateral = FIXED.collateral.get(host)?.asset == address;
        super::errors::check(is_collateral, super::errors::ASSET_NOT_LISTED)?;
        Ok(Self::Collateral)
    }
}
