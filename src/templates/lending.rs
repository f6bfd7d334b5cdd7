//! `lending`: a market that lends one token against one collateral, with Aave v3's functions, events, errors, interest and liquidations.
//!
//! Suppliers of `token` own a part of what is there and lent, which grows by the liquidity index; who borrows it owes by the variable borrow
//! index. Collateral earns nothing and is lent to nobody, and a supply of the token is no collateral. Whose collateral, at the liquidation
//! threshold, is worth less than the debt (a health factor below one) may be liquidated by anybody: up to half of the debt, or all of it
//! at 0.95 and below, for its worth of collateral and the bonus.
//!
//! The market is Aave's pool with two reserves: `supply`, `withdraw`, `borrow`, `repay` and `liquidationCall` take the asset's address, and
//! revert with the strings of Aave's `Errors`, which are numbers. Views are those of Aave's pool, data provider, oracle and interest rate
//! strategy. What is otherwise than in Aave v3.0:
//!
//! - There are no tokens for supplies and debts: the market keeps them itself. There is no stable rate, no delegation of credit and no
//!   flash loan, and all collateral is used as such.
//! - Rounding is in the market's favour: supplies and health factors are rounded down, debts up, the borrowers' index grows by a ray more,
//!   and the suppliers' rate is rounded down. Aave rounds half up. A new debt has to be covered with what rounding adds. The borrowers'
//!   rate is Aave's to the last digit.
//! - Cash is what came in by calls and did not go out (virtual accounting, Aave 3.1): a donation changes no rate and is nobody's.
//! - Where a liquidation leaves a debt without collateral, the debt becomes the deficit (Aave 3.3), which `getReserveDeficit` tells. It
//!   bears no interest, and whoever supplied may give that up for it (`eliminateReserveDeficit`). As long as there is one, not all suppliers
//!   can be paid.
//! - A price older than `maxPriceAge`, of the future or not positive is refused, and with it what depends on a price: borrowing, taking out
//!   collateral while in debt, liquidations. Supplying, repaying, and taking out what no debt binds ask for no price.
//! - What more is lent than there is fails with `LendingInsufficientLiquidity`; a guard refuses calls from within calls.
//!
//! `oracle` is the collateral's Chainlink feed (AggregatorV3Interface). Without `tokenOracle` its answers are in the token; with it both are in
//! one currency, such as US dollars, and have the same decimals. Both tokens have to move as many units as they are asked to: those that
//! take fees or change balances are not for this market.
//!
//! The owner is the treasury, which gets the reserve factor's part of the interest (`mintToTreasury`), and has no other power.
//!
//! | slot | what |
//! |---|---|
//! | 0 | liquidity index, liquidity rate (128 bits each) |
//! | 1 | variable borrow index, variable borrow rate |
//! | 2 | supplies and debts of all, at an index of one |
//! | 3 | cash; the treasury's part that it is not credited with, at an index of one |
//! | 4 | deficit; moment of the last update (40 bits) |
//! | 5, 6, 7 | `mapping(address => uint256)` supplies and debts, at an index of one; collateral |
//! | 8 | collateral of all |
//! | 9 | owner |
//! | [`IMMUTABLES`] | what Solidity would put into the code: token (160 bits), its decimals (8), reserve factor, optimal usage, base rate, slopes (16 each) |
//! | [`IMMUTABLES`] + 1 | collateral (160 bits), its decimals (8), loan-to-value, liquidation threshold, bonus above 100 % (16 each) |
//! | [`IMMUTABLES`] + 2 | the collateral's feed (160 bits), decimals of the feeds (8), greatest age of a price (32) |
//! | [`IMMUTABLES`] + 3 | the token's feed; zero without one |
//! | [`REENTRANCY_GUARD`](super::common::reentrancy_guard::REENTRANCY_GUARD) | 1, and 2 while a guarded function runs |

mod account;
mod errors;
pub mod interface;
mod liquidation;
pub mod math;
mod oracle;
mod pool;
pub mod rates;
mod reserve;
mod setup;
mod state;
#[cfg(test)]
mod tests;
mod views;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    interface::Lending::{self as sol, LendingCalls as Calls},
    state::{FIXED, GUARD, LENDING},
};
use super::common::{ReentrancyGuard, erc165::supports};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.lending.immutables`.
pub const IMMUTABLES: U256 = uint!(0x3a494e2fb343d0de05e5a1fd8874cb4b18d5e5977f3bf6467d37e27d6ff9e7c2_U256);

/// Constructor parameters of the template; percentages are in hundredths of a percent, rates a year.
///
/// Encoded as Solidity's `(address token, address collateral, address oracle, address tokenOracle, uint16 ltv, uint16 liquidationThreshold,
/// uint16 liquidationBonus, uint16 reserveFactor, uint16 optimalUsageRatio, uint16 baseVariableBorrowRate, uint16 variableRateSlope1, uint16
/// variableRateSlope2, uint32 maxPriceAge, address owner)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::LendingParams};
/// let [usd, eth, feed, treasury] = [1, 2, 3, 4].map(Address::repeat_byte);
/// let params = LendingParams { ltv: 5_000, ..LendingParams::new(usd, eth, feed, treasury) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 17, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LendingParams {
    /// The token that is lent.
    pub token: Address,
    /// The token that borrowers put in.
    pub collateral: Address,
    /// Feed of the collateral's price.
    pub oracle: Address,
    /// Feed of the token's price in the same currency; `None` when the collateral's is in the token.
    pub token_oracle: Option<Address>,
    /// Part of the collateral's worth that may be borrowed.
    pub ltv: u16,
    /// Part of the collateral's worth above which a debt is liquidated.
    pub liquidation_threshold: u16,
    /// What a liquidator gets on top of the worth of what he pays.
    pub liquidation_bonus: u16,
    /// Part of the interest that goes to the treasury.
    pub reserve_factor: u16,
    /// Lent part of the supply up to which the rate rises by the first slope.
    pub optimal_usage_ratio: u16,
    /// Rate of a market without debt.
    pub base_variable_borrow_rate: u16,
    /// Rise of the rate up to the optimal usage.
    pub variable_rate_slope1: u16,
    /// Rise of the rate from the optimal usage to a whole one.
    pub variable_rate_slope2: u16,
    /// Age above which a price is refused, in seconds.
    pub max_price_age_secs: u32,
    /// The treasury.
    pub owner: Address,
}

impl LendingParams {
    /// Creates parameters with the defaults of a deployment by name.
    pub const fn new(token: Address, collateral: Address, oracle: Address, owner: Address) -> Self {
        Self {
            token,
            collateral,
            oracle,
            token_oracle: None,
            ltv: 7_500,
            liquidation_threshold: 8_000,
            liquidation_bonus: 500,
            reserve_factor: 1_000,
            optimal_usage_ratio: 8_000,
            base_variable_borrow_rate: 0,
            variable_rate_slope1: 400,
            variable_rate_slope2: 7_500,
            max_price_age_secs: 24 * 60 * 60,
            owner,
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            token: self.token,
            collateral: self.collateral,
            oracle: self.oracle,
            tokenOracle: self.token_oracle.unwrap_or_default(),
            ltv: self.ltv,
            liquidationThreshold: self.liquidation_threshold,
            liquidationBonus: self.liquidation_bonus,
            reserveFactor: self.reserve_factor,
            optimalUsageRatio: self.optimal_usage_ratio,
            baseVariableBorrowRate: self.base_variable_borrow_rate,
            variableRateSlope1: self.variable_rate_slope1,
            variableRateSlope2: self.variable_rate_slope2,
            maxPriceAge: self.max_price_age_secs,
            owner: self.owner,
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Lending::ID).init_code(&self.encode())
    }
}

/// The template `lending`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Lending;

impl Lending {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(17, 1);
    /// Name of the template.
    pub const NAME: &'static str = "lending";
}

impl Template for Lending {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Lends a token against a collateral, as Aave"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        let percentage = |name, description, default: &str| {
            ParameterNote::of(name, description).with_unit(Unit::BASIS_POINTS).with_default(default)
        };
        vec![
            ParameterNote::of("token", "The ERC-20 token that is lent."),
            ParameterNote::of("collateral", "The ERC-20 token that borrowers put in."),
            ParameterNote::of("oracle", "Chainlink feed of the collateral's price, such as a price-feed."),
            ParameterNote::of(
                "tokenOracle",
                "Feed of the token's price in the same currency; the zero address when the collateral's is in the token.",
            )
            .with_default(Address::ZERO.to_string()),
            percentage("ltv", "Part of the collateral's worth that may be borrowed.", "75"),
            percentage("liquidationThreshold", "Part of the collateral's worth above which a debt is liquidated.", "80"),
            percentage("liquidationBonus", "What a liquidator gets on top of the worth of what he pays.", "5"),
            percentage("reserveFactor", "Part of the interest that goes to the owner.", "10"),
            percentage("optimalUsageRatio", "Lent part of the supply up to which the rate rises by the first slope.", "80"),
            percentage("baseVariableBorrowRate", "Rate a year of a market without debt.", "0"),
            percentage("variableRateSlope1", "Rise of the rate up to the optimal usage.", "4"),
            percentage("variableRateSlope2", "Rise of the rate from the optimal usage to a whole one.", "75"),
            ParameterNote::of("maxPriceAge", "Age above which a price is refused.")
                .with_unit(Unit::Duration)
                .with_default("1d"),
            ParameterNote::of("owner", "The treasury: account that gets the reserve factor's part.").with_default_deployer(),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::LendingStorage>().and::<state::LendingImmutables>().and::<ReentrancyGuard>()
    }

    fn gas_table(&self) -> &str {
        include_str!("lending/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        setup::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::supply(call) => call.returns(GUARD.non_reentrant(host, |host| pool::supply(host, &call))?),
            Calls::withdraw(call) => call.returns(GUARD.non_reentrant(host, |host| pool::withdraw(host, &call))?),
            Calls::borrow(call) => call.returns(GUARD.non_reentrant(host, |host| pool::borrow(host, &call))?),
            Calls::repay(call) => call.returns(GUARD.non_reentrant(host, |host| pool::repay(host, &call))?),
            Calls::liquidationCall(call) => call.returns(GUARD.non_reentrant(host, |host| liquidation::liquidation_call(host, &call))?),
            Calls::mintToTreasury(call) => call.returns(GUARD.non_reentrant(host, |host| liquidation::mint_to_treasury(host, &call.assets))?),
            Calls::eliminateReserveDeficit(call) => call.returns(GUARD.non_reentrant(host, |host| liquidation::eliminate_reserve_deficit(host, call.asset, call.amount))?),
            Calls::getUserAccountData(call) => call.returns(account::user_account_data(host, call.user)?),
            Calls::getReservesList(call) => call.returns(views::reserves_list(host)?),
            Calls::getReserveNormalizedIncome(call) => call.returns(views::normalized_income(host, call.asset)?),
            Calls::getReserveNormalizedVariableDebt(call) => call.returns(views::normalized_variable_debt(host, call.asset)?),
            Calls::getReserveDeficit(call) => call.returns(views::deficit(host, call.asset)?),
            Calls::getVirtualUnderlyingBalance(call) => call.returns(views::virtual_underlying_balance(host, call.asset)?),
            Calls::getReserveData(call) => call.returns(views::reserve_data(host, call.asset)?),
            Calls::getUserReserveData(call) => call.returns(views::user_reserve_data(host, call.asset, call.user)?),
            Calls::getReserveConfigurationData(call) => call.returns(views::configuration_data(host, call.asset)?),
            Calls::getAssetPrice(call) => call.returns(views::asset_price(host, call.asset)?),
            Calls::getSourceOfAsset(call) => call.returns(views::source_of_asset(host, call.asset)?),
            Calls::maxPriceAge(call) => call.returns(views::max_price_age(host)?),
            Calls::OPTIMAL_USAGE_RATIO(call) => call.returns(FIXED.token.get(host)?.strategy().optimal_usage_ratio),
            Calls::getBaseVariableBorrowRate(call) => call.returns(FIXED.token.get(host)?.strategy().base_variable_borrow_rate),
            Calls::getVariableRateSlope1(call) => call.returns(FIXED.token.get(host)?.strategy().variable_rate_slope1),
            Calls::getVariableRateSlope2(call) => call.returns(FIXED.token.get(host)?.strategy().variable_rate_slope2),
            Calls::getMaxVariableBorrowRate(call) => call.returns(views::max_variable_borrow_rate(host)?),
            Calls::owner(call) => call.returns(LENDING.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(LENDING.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(LENDING.ownable.renounce_ownership(host)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
