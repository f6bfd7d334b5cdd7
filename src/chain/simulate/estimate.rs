//! Gas estimation: a binary search for the smallest gas limit with which a message succeeds.

use super::{
    CallContext, CallError, CallRequest, EstimateError, StateOverrides,
    request::{self, Price},
};
use crate::{
    chain::{Chain, error::InvalidTransaction},
    primitives::Gas,
    state::{EMPTY_CODE_HASH, Journal},
    vm::{GasSchedule, HaltReason},
};

/// The search ends when the bounds differ by at most one part in this many.
const PRECISION: u64 = 64;

impl Chain {
    /// Returns a gas limit with which the message succeeds, at most 1/64 above the smallest.
    ///
    /// # Errors
    /// [`EstimateError::Call`] as [`Chain::call`]; [`EstimateError::Allowance`] when it needs more gas than it may have;
    /// [`EstimateError::Failed`] when it fails with any gas limit.
    pub fn estimate_gas(
        &self,
        context: &CallContext,
        request: &CallRequest,
        overrides: &StateOverrides,
    ) -> Result<Gas, EstimateError> {
        let mut journal = request::journal(context, overrides)?;
        let price = request.price(&context.block).map_err(CallError::from)?;
        check_value(&mut journal, request, &price)?;
        let gas_max = price.gas_limit(request, &mut journal, &context.block)?;
        let mut high = gas_max.get();
        let succeeds = |gas: u64| -> Result<bool, CallError> {
            let outcome = self.run_call(&mut journal.clone(), context, request, Gas::new(gas), None)?;
            Ok(outcome.is_success())
        };
        let intrinsic = request.intrinsic(&context.block).gas_limit_min().get();
        if high > intrinsic && is_plain_transfer(&mut journal.clone(), request)? && succeeds(intrinsic)? {
            return Ok(Gas::new(intrinsic));
        }
        let allowance = gas_max;
        if allowance.get() < intrinsic {
            return Err(EstimateError::Allowance { allowance });
        }
        let mut tried = journal.clone();
        let outcome = self.run_call(&mut tried, context, request, Gas::new(high), None)?;
        if outcome.halt() == Some(HaltReason::OutOfGas) {
            return Err(EstimateError::Allowance { allowance });
        }
        if !outcome.is_success() {
            return Err(EstimateError::Failed(outcome.into()));
        }
        let mut low = outcome.gas_used.get().max(intrinsic).saturating_sub(1);
        // The gas spent before refunds, with the part withheld from calls (EIP-150), mostly suffices: try that first.
        let spent = outcome.gas_used.get().saturating_add(tried.refund().get());
        let likely = spent.saturating_add(GasSchedule::STANDARD.call_stipend).saturating_mul(64) / 63;
        let mut next = likely;
        while low + 1 < high && high - low > high / PRECISION {
            if (low + 1..high).contains(&next) {
                if succeeds(next)? { high = next } else { low = next }
            }
            // Most messages need little more than they use: try at most twice the lower bound.
            next = low.saturating_add((high - low) / 2).min(low.saturating_mul(2));
        }
        Ok(Gas::new(high))
    }
}

/// Checks that a sender that pays for gas has something left for it beside the value (geth, `gasestimator.Estimate`). Without fees, running
/// the message tells.
fn check_value(journal: &mut Journal, request: &CallRequest, price: &Price) -> Result<(), CallError> {
    if price.is_free() {
        return Ok(());
    }
    let (address, want) = (request.sender(), request.value);
    let have = journal.balance(&address)?;
    if !want.is_zero() && want >= have {
        return Err(InvalidTransaction::InsufficientFundsForTransfer { address, have, want }.into());
    }
    Ok(())
}

/// Returns whether the message only sends value to an account without code.
fn is_plain_transfer(journal: &mut Journal, request: &CallRequest) -> Result<bool, CallError> {
    let Some(to) = request.to else { return Ok(false) };
    Ok(request.input.is_empty() && request.access_list.is_none() && journal.code_hash(&to)? == EMPTY_CODE_HASH)
}
