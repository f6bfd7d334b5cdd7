//! Flash loans of new tokens without a fee (ERC-3156): OpenZeppelin's `ERC20FlashMint`.

use alloy_primitives::b256;

use super::{
    interface::{self as sol, flashLoanCall},
    state::TOKEN,
    token::{burn_tokens, mint_to, spend_allowance},
};
use crate::vm::contract::*;

/// What a borrower returns: keccak of `ERC3156FlashBorrower.onFlashLoan`.
const RETURN_VALUE: B256 = b256!("439148f0bbc682ca079e46d6e2c2f0c1e3b820f1a291b069d8882abf8cf18dd9");

/// Fee of every loan.
const FEE: U256 = U256::ZERO;

alloy_sol_types::sol! {
    interface IERC3156FlashBorrower {
        function onFlashLoan(address initiator, address token, uint256 amount, uint256 fee, bytes calldata data) external returns (bytes32);
    }
}

/// The cap is not asked: a loan above it reverts.
pub(super) fn max_flash_loan(host: &mut Host<'_>, token: Address) -> Result<U256, Stop> {
    if token == host.address() { Ok(U256::MAX - TOKEN.total_supply.get(host)?) } else { Ok(U256::ZERO) }
}

pub(super) fn flash_fee(host: &Host<'_>, token: Address) -> Result<U256, Stop> {
    require(token == host.address(), sol::ERC3156UnsupportedToken { token })?;
    Ok(FEE)
}

pub(super) fn flash_loan(host: &mut Host<'_>, call: &flashLoanCall) -> Result<bool, Stop> {
    let flashLoanCall { receiver, token, value, ref data } = *call;
    let max_loan = max_flash_loan(host, token)?;
    require(value <= max_loan, sol::ERC3156ExceededMaxLoan { maxLoan: max_loan })?;
    let fee = flash_fee(host, token)?;
    mint_to(host, receiver, value)?;
    let initiator = host.caller();
    let loan = IERC3156FlashBorrower::onFlashLoanCall { initiator, token, amount: value, fee, data: data.clone() };
    let answer = host.call(receiver, U256::ZERO, &loan.abi_encode())?.or_revert()?;
    let answer = B256::abi_decode_validate(&answer).map_err(|_| empty_revert())?;
    require(answer == RETURN_VALUE, sol::ERC3156InvalidReceiver { receiver })?;
    let lender = host.address();
    spend_allowance(host, receiver, lender, value)?;
    burn_tokens(host, receiver, value)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn the_answer_and_the_selector_are_the_standards() {
        assert_eq!(keccak256("ERC3156FlashBorrower.onFlashLoan"), RETURN_VALUE);
        assert_eq!(IERC3156FlashBorrower::onFlashLoanCall::SELECTOR, [0x23, 0xe3, 0x0c, 0x8b]);
    }
}
