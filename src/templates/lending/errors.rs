//! The revert strings of Aave v3 (`Errors.sol`): numbers, which its users look up.

use crate::vm::{abi::revert_with, contract::Stop};

/// The address is not a contract, or has not the functions that it should have.
pub(super) const NOT_CONTRACT: &str = "9";
/// The asset is listed already: collateral and token are one.
pub(super) const RESERVE_ALREADY_ADDED: &str = "14";
/// The loan-to-value is above the threshold, or a liquidation at the threshold could not be paid with its bonus.
pub(super) const INVALID_RESERVE_PARAMS: &str = "20";
/// The amount is worth no unit to be credited.
pub(super) const INVALID_MINT_AMOUNT: &str = "24";
/// The amount is worth no unit of debt.
pub(super) const INVALID_BURN_AMOUNT: &str = "25";
/// The amount is zero.
pub(super) const INVALID_AMOUNT: &str = "26";
/// The asset is not lent.
pub(super) const BORROWING_NOT_ENABLED: &str = "30";
/// There is no stable rate.
pub(super) const STABLE_BORROWING_NOT_ENABLED: &str = "31";
/// The user has less than is to be withdrawn.
pub(super) const NOT_ENOUGH_AVAILABLE_USER_BALANCE: &str = "32";
/// The rate is neither stable (1) nor variable (2).
pub(super) const INVALID_INTEREST_RATE_MODE_SELECTED: &str = "33";
/// The user has no collateral.
pub(super) const COLLATERAL_BALANCE_IS_ZERO: &str = "34";
/// The health factor is or would be below one.
pub(super) const HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD: &str = "35";
/// The collateral is worth less than the loan-to-value asks for.
pub(super) const COLLATERAL_CANNOT_COVER_NEW_BORROW: &str = "36";
/// The user has no debt of this kind.
pub(super) const NO_DEBT_OF_SELECTED_TYPE: &str = "39";
/// Somebody else's debt is repaid by an amount, not whole.
pub(super) const NO_EXPLICIT_AMOUNT_TO_REPAY_ON_BEHALF: &str = "40";
/// The health factor is not below one.
pub(super) const HEALTH_FACTOR_NOT_BELOW_THRESHOLD: &str = "45";
/// The user has no such collateral.
pub(super) const COLLATERAL_CANNOT_BE_LIQUIDATED: &str = "46";
/// The asset is not lent to the user.
pub(super) const SPECIFIED_CURRENCY_NOT_BORROWED_BY_USER: &str = "47";
/// The loan-to-value is zero.
pub(super) const LTV_VALIDATION_FAILED: &str = "57";
/// A token has no decimals, or more than the market computes with.
pub(super) const INVALID_DECIMALS: &str = "66";
/// The reserve factor is above 100 %.
pub(super) const INVALID_RESERVE_FACTOR: &str = "67";
/// The zero address stands for nothing here.
pub(super) const ZERO_ADDRESS_NOT_VALID: &str = "77";
/// Nobody borrows in another's name: there is no delegation of credit.
pub(super) const OPERATION_NOT_SUPPORTED: &str = "80";
/// The asset is neither the token nor the collateral.
pub(super) const ASSET_NOT_LISTED: &str = "82";
/// The optimal usage is zero or above 100 %.
pub(super) const INVALID_OPTIMAL_USAGE_RATIO: &str = "83";

/// Reverts with `reason` unless `condition` holds.
pub(super) fn check(condition: bool, reason: &str) -> Result<(), Stop> {
    if condition { Ok(()) } else { Err(revert_with(reason)) }
}
