//! Flash loans to borrowers of every kind.

use std::sync::Arc;

use alloy_json_abi::JsonAbi;

use super::*;
use crate::vm::{TemplateId as Id, abi};

/// A borrower that does what the first byte of the loan's data says.
#[derive(Debug)]
struct Borrower;

const ID: Id = Id::new(0x9000, 1);
const BORROWER: Address = Address::repeat_byte(0x77);

const REPAY: u8 = 0;
const KEEP: u8 = 1;
const ANSWER_WRONG: u8 = 2;
const ANSWER_NOTHING: u8 = 3;
const REVERT: u8 = 4;

impl Template for Borrower {
    fn id(&self) -> Id {
        ID
    }

    fn name(&self) -> &str {
        "borrower"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        type Loan = (Address, Address, U256, U256, Bytes);
        let (_, token, amount, fee, data) = Loan::abi_decode_params(&input[4..]).map_err(|_| empty_revert())?;
        assert!(fee.is_zero());
        match data[0] {
            REPAY => {
                host.call(token, U256::ZERO, &sol::approveCall { spender: token, value: amount }.abi_encode())?
                    .or_revert()?;
                Ok(keccak256("ERC3156FlashBorrower.onFlashLoan").abi_encode().into())
            }
            KEEP => Ok(keccak256("ERC3156FlashBorrower.onFlashLoan").abi_encode().into()),
            ANSWER_WRONG => Ok(B256::ZERO.abi_encode().into()),
            ANSWER_NOTHING => Ok(Bytes::new()),
            _ => Err(abi::revert_with("no")),
        }
    }
}

/// A token, and the borrower beside it.
fn with_borrower() -> Deployed {
    let mut token = deploy(&params());
    add_borrower(&mut token);
    token
}

pub(super) fn add_borrower(token: &mut Deployed) {
    token.registry.register(Arc::new(Borrower)).unwrap();
    token.journal.create_account(&BORROWER).unwrap();
    token.journal.set_code(&BORROWER, Marker(ID).to_bytes().into()).unwrap();
}

fn loan(token: &Deployed, receiver: Address, value: u64, does: u8) -> sol::flashLoanCall {
    sol::flashLoanCall { receiver, token: token.token, value: U256::from(value), data: vec![does].into() }
}

/// A loan that is paid back.
pub(super) fn good_loan(token: &Deployed) -> sol::flashLoanCall {
    loan(token, BORROWER, 7, REPAY)
}

#[test]
fn a_loan_is_made_and_destroyed_in_one_call() {
    let mut token = with_borrower();
    let call = loan(&token, BORROWER, 4_000, REPAY);
    let result = token.call(BOB, &call);
    assert!(sol::flashLoanCall::abi_decode_returns_validate(&result.output).unwrap());
    let zero = Address::ZERO;
    let value = U256::from(4_000);
    let want = [
        sol::Transfer { from: zero, to: BORROWER, value }.encode_log_data(),
        sol::Approval { owner: BORROWER, spender: token.token, value }.encode_log_data(),
        sol::Transfer { from: BORROWER, to: zero, value }.encode_log_data(),
    ];
    assert_eq!(token.journal.logs().iter().map(|log| log.data.clone()).collect::<Vec<_>>(), want);
    assert_eq!((token.balance(BORROWER), token.read(&sol::totalSupplyCall {})), (0, SUPPLY));
}

#[test]
fn loans_are_refused() {
    let mut token = with_borrower();
    let lender = token.token;
    let short = sol::ERC20InsufficientAllowance { spender: lender, allowance: U256::ZERO, needed: U256::from(5) };
    let call = loan(&token, BORROWER, 5, KEEP);
    token.fails(BOB, &call, &short);
    let call = loan(&token, BORROWER, 5, ANSWER_WRONG);
    token.fails(BOB, &call, &sol::ERC3156InvalidReceiver { receiver: BORROWER });
    let call = loan(&token, BORROWER, 5, REVERT);
    token.fails(BOB, &call, &alloy_sol_types::Revert::from("no"));
    for call in [loan(&token, BORROWER, 5, ANSWER_NOTHING), loan(&token, CAROL, 5, REPAY)] {
        let result = token.call(BOB, &call);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
    }
    let call = loan(&token, Address::ZERO, 5, REPAY);
    token.fails(BOB, &call, &sol::ERC20InvalidReceiver { receiver: Address::ZERO });
    let call = loan(&token, BORROWER, 4_001, REPAY);
    let exceeded = sol::ERC20ExceededCap { increasedSupply: U256::from(5_001), cap: U256::from(5_000) };
    token.fails(BOB, &call, &exceeded);
    let other = sol::flashLoanCall { token: BOB, ..loan(&token, BORROWER, 5, REPAY) };
    token.fails(BOB, &other, &sol::ERC3156ExceededMaxLoan { maxLoan: U256::ZERO });
    let nothing = sol::flashLoanCall { value: U256::ZERO, ..other };
    token.fails(BOB, &nothing, &sol::ERC3156UnsupportedToken { token: BOB });
    let max = U256::MAX - SUPPLY;
    let call = sol::flashLoanCall { value: max + U256::ONE, ..loan(&token, BORROWER, 0, REPAY) };
    token.fails(BOB, &call, &sol::ERC3156ExceededMaxLoan { maxLoan: max });
    token.ok(OWNER, &sol::pauseCall {});
    let call = loan(&token, BORROWER, 5, REPAY);
    token.fails(BOB, &call, &sol::EnforcedPause {});
}

#[test]
fn what_can_be_lent_and_for_what_fee() {
    let mut token = deploy(&params());
    let lender = token.token;
    assert_eq!(token.read(&sol::maxFlashLoanCall { token: lender }), U256::MAX - SUPPLY);
    assert_eq!(token.read(&sol::maxFlashLoanCall { token: BOB }), U256::ZERO);
    assert_eq!(token.read(&sol::flashFeeCall { token: lender, value: SUPPLY }), U256::ZERO);
    let fee = sol::flashFeeCall { token: BOB, value: SUPPLY };
    token.fails(BOB, &fee, &sol::ERC3156UnsupportedToken { token: BOB });
}
