//! Calls, estimates, traces and access lists over an ERC-20.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::*;
use crate::{
    chain::tests::fixture::*,
    primitives::TransactionRequest,
    templates::{Erc20Params, erc20::interface::Erc20Token},
    vm::CallTracer,
};

const BOB: Address = Address::repeat_byte(0xb0);

fn no_overrides() -> StateOverrides {
    StateOverrides::new()
}

/// A chain with a token whose whole supply, 1,000, belongs to the first account.
fn with_token() -> (Chain, Address) {
    let mut chain = chain();
    let owner = key(0).address();
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(1_000), owner).init_code();
    let request =
        TransactionRequest { to: None, input: init_code, gas_limit: Gas::new(3_000_000), ..request(0, BOB, 0) };
    extend(&mut chain, vec![Arc::new(request.sign(&key(0)).unwrap())]);
    let receipt = &chain.head().receipts()[0];
    assert!(receipt.is_success());
    let address = receipt.contract_address.unwrap();
    (chain, address)
}

fn token_transfer(token: Address, value: u64) -> CallRequest {
    let input = Erc20Token::transferCall { to: BOB, value: U256::from(value) }.abi_encode().into();
    CallRequest { from: Some(key(0).address()), to: Some(token), input, ..Default::default() }
}

#[test]
fn a_call_returns_output_and_commits_nothing() {
    let (chain, token) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let (outcome, changes) = chain.call_with_changes(&context, &token_transfer(token, 5), &no_overrides()).unwrap();
    assert!(outcome.is_success() && outcome.logs.len() == 1, "{}", outcome.describe());
    assert_eq!(changes.accounts[&token].storage.len(), 2, "two balances change");
    let balance = Erc20Token::balanceOfCall { account: BOB }.abi_encode().into();
    let request = CallRequest { to: Some(token), input: balance, ..Default::default() };
    let outcome = chain.call(&context, &request, &no_overrides(), None).unwrap();
    assert_eq!(U256::from_be_slice(outcome.success_output().unwrap()), U256::ZERO);
}

#[test]
fn an_estimate_is_enough_and_little_more() {
    let (mut chain, token) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let plain = CallRequest { from: Some(key(0).address()), to: Some(BOB), value: U256::from(1), ..Default::default() };
    assert_eq!(chain.estimate_gas(&context, &plain, &no_overrides()).unwrap(), Gas::new(21_000));
    let call = token_transfer(token, 5);
    let estimate = chain.estimate_gas(&context, &call, &no_overrides()).unwrap();
    let used = chain.call(&context, &call, &no_overrides(), None).unwrap().gas_used;
    assert!(estimate >= used && estimate.get() <= used.get() + used.get() / 16, "{estimate} for {used}");
    let input = call.input.clone();
    let request = TransactionRequest { input, gas_limit: estimate, ..request(1, token, 0) };
    extend(&mut chain, vec![Arc::new(request.sign(&key(0)).unwrap())]);
    assert!(chain.head().receipts()[0].is_success());
}

#[test]
fn failures_have_data_and_messages() {
    let (chain, token) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let error = chain.estimate_gas(&context, &token_transfer(token, 1_001), &no_overrides()).unwrap_err();
    let EstimateError::Failed(outcome) = error else { panic!("{error}") };
    let error = outcome.revert_data().unwrap();
    assert!(error.len() > 4, "a custom error with its arguments");
    assert!(outcome.describe().starts_with("execution reverted"));
    let poor = CallRequest { from: Some(BOB), to: Some(token), value: U256::from(1), ..Default::default() };
    let words = chain.call(&context, &poor, &no_overrides(), None).unwrap_err().to_string();
    assert!(words.starts_with("insufficient funds for gas * price + value"), "{words}");
    let starved = CallRequest { gas: Some(Gas::new(20_000)), ..token_transfer(token, 1) };
    let words = chain.call(&context, &starved, &no_overrides(), None).unwrap_err().to_string();
    assert!(words.starts_with("intrinsic gas too low"), "{words}");
    let (limit, to) = (49_152, None);
    let creation = |size: usize| CallRequest { from: Some(BOB), to, input: vec![1; size].into(), ..Default::default() };
    let run = |size| chain.call(&context, &creation(size), &no_overrides(), None);
    assert!(run(limit).is_ok_and(|outcome| !outcome.is_success()), "it is no template");
    let words = run(limit + 1).unwrap_err().to_string();
    assert!(words.contains("49152"), "{words}");
}

#[test]
fn overrides_hold_for_one_call() {
    let (chain, token) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let rich = AccountOverride { balance: Some(U256::from(9)), nonce: Some(4), ..Default::default() };
    let overrides = StateOverrides::from([(BOB, rich)]);
    let request = CallRequest { from: Some(BOB), to: Some(Address::ZERO), value: U256::from(9), ..Default::default() };
    assert!(chain.call(&context, &request, &overrides, None).unwrap().is_success());
    assert!(chain.call(&context, &request, &no_overrides(), None).is_err());
    // Without its storage the token has no balances.
    let empty = AccountOverride { state: Some(Default::default()), ..Default::default() };
    let outcome =
        chain.call(&context, &token_transfer(token, 1), &StateOverrides::from([(token, empty.clone())]), None);
    assert!(!outcome.unwrap().is_success());
    let both = StateOverrides::from([(token, AccountOverride { state_diff: Some(Default::default()), ..empty })]);
    assert!(matches!(chain.call(&context, &request, &both, None), Err(CallError::Override { .. })));
}

#[test]
fn a_mined_transaction_is_traced_as_it_ran() {
    let (mut chain, token) = with_token();
    let call = |nonce, value| {
        let input = token_transfer(token, value).input;
        let request = TransactionRequest { input, gas_limit: Gas::new(100_000), ..request(nonce, token, 0) };
        Arc::new(request.sign(&key(0)).unwrap())
    };
    // Alone the second would succeed; after the first the balance is too small.
    let (first, second) = (call(1, 600), call(2, 600));
    extend(&mut chain, vec![first.clone(), second.clone()]);
    for (transaction, index) in [(first, 0), (second, 1)] {
        let mut tracer = CallTracer::new();
        let outcome = chain.trace_transaction(transaction.hash(), &mut tracer).unwrap();
        let receipt = &chain.head().receipts()[index];
        assert_eq!((outcome.is_success(), outcome.gas_used), (receipt.is_success(), receipt.gas_used));
        assert_eq!(outcome.is_success(), index == 0);
        assert_eq!(tracer.into_trace().unwrap().to, token);
    }
    let unknown = chain.trace_transaction(B256::ZERO, &mut CallTracer::new()).unwrap_err();
    assert!(matches!(unknown, TraceError::UnknownTransaction { .. }));
}

#[test]
fn an_access_list_names_what_is_touched() {
    let (chain, token) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let request = token_transfer(token, 1);
    let (list, outcome) = chain.access_list(&context, &request).unwrap();
    assert!(outcome.is_success());
    assert_eq!(list.0.len(), 1);
    assert_eq!(list.0[0].address, token);
    assert!(list.0[0].storage_keys.len() >= 2, "two balances: {list:?}");
    let listed = CallRequest { access_list: Some(list), ..request };
    assert!(chain.call(&context, &listed, &no_overrides(), None).unwrap().is_success());
}

#[test]
fn a_price_is_paid_and_shown() {
    let (chain, _) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let request = CallRequest {
        from: Some(key(0).address()),
        to: Some(BOB),
        gas: Some(Gas::new(21_000)),
        max_fee_per_gas: Some(1),
        ..Default::default()
    };
    let words = chain.call(&context, &request, &no_overrides(), None).unwrap_err().to_string();
    assert!(words.starts_with("max fee per gas less than block base fee"), "{words}");
    let paying = CallRequest { max_fee_per_gas: Some(10_000_000_000), ..request };
    let (_, changes) = chain.call_with_changes(&context, &paying, &no_overrides()).unwrap();
    let before = context.state.account(&key(0).address()).unwrap().unwrap().balance;
    let after = changes.accounts[&key(0).address()].info.unwrap().balance;
    assert_eq!(before - after, U256::from(21_000_u64 * context.block.base_fee));
}

/// geth's `gasestimator.Estimate`: the value first, then what is left for gas.
#[test]
fn an_estimate_with_fees_names_a_value_that_the_balance_does_not_cover() {
    let (chain, _) = with_token();
    let context = chain.call_context(chain.head()).unwrap();
    let balance = context.state.account(&key(0).address()).unwrap().unwrap().balance;
    let (fee, base_fee) = (10_000_000_000_u64, U256::from(context.block.base_fee));
    assert!(U256::from(fee) > base_fee);
    let estimate = |value: U256, max_fee_per_gas| {
        let from = Some(key(0).address());
        let request = CallRequest { from, to: Some(BOB), value, max_fee_per_gas, ..Default::default() };
        let estimated = chain.estimate_gas(&context, &request, &no_overrides());
        let called = chain.call(&context, &request, &no_overrides(), None).map(drop);
        (estimated.map_err(|error| error.to_string()), called.map_err(|error| error.to_string()))
    };
    let fee_cap = Some(u128::from(fee));
    for value in [balance, balance + U256::from(1), U256::MAX] {
        let words = estimate(value, fee_cap).0.unwrap_err();
        assert!(words.starts_with("insufficient funds for transfer: address"), "{words}");
    }
    let words = estimate(balance + U256::from(1), fee_cap).1.unwrap_err();
    assert!(words.starts_with("insufficient funds for gas * price + value: address"), "{words}");
    let left = U256::from(20_999_u64 * fee);
    assert_eq!(estimate(balance - left, fee_cap).0.unwrap_err(), "gas required exceeds allowance (20999)");
    assert_eq!(estimate(balance - left - U256::from(fee), fee_cap).0, Ok(Gas::new(21_000)));
    assert_eq!(estimate(balance, None).0, Ok(Gas::new(21_000)), "gas is free");
    let words = estimate(balance + U256::from(1), None).0.unwrap_err();
    assert!(words.starts_with("insufficient funds for gas * price + value: address"), "{words}");
}
