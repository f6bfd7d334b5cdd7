//! Gas estimation: a binary search for the smallest gas limit with which a message succeeds.

use super::{
    CallContext, CallError, CallOutcome, CallPurpose, CallRequest, EstimateError, StateOverrides,
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

/// Precision of a search for the smallest limit.
pub(super) const EXACT: u64 = u64::MAX;

impl Chain {
    /// Returns a gas limit with which the message succeeds as a transaction, at most 1/64 above the smallest: its sender must be allowed to
    /// send, and to deploy if it creates a contract.
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
        let mut journal = request::journal(context, overrides).map_err(CallError::from)?;
        let price = request.price(&context.block).map_err(CallError::from)?;
        check_value(&mut journal, request, &price)?;
        let gas_max = price.gas_limit(request, &mut journal, &context.block)?;
        let high = gas_max.get();
        let intrinsic = request.intrinsic(&context.block).gas_limit_min().get();
        if high > intrinsic && is_plain_transfer(&mut journal.clone(), request)? {
            let outcome = self.run_call(
                &mut journal.clone(),
                context,
                request,
                (Gas::new(intrinsic), CallPurpose::Transaction),
                None,
            )?;
            if outcome.is_success() {
                return Ok(Gas::new(intrinsic));
            }
        }
        let allowance = gas_max;
        if allowance.get() < intrinsic {
            return Err(EstimateError::Allowance { allowance });
        }
        let mut tried = journal.clone();
        let outcome = self.run_call(&mut tried, context, request, (gas_max, CallPurpose::Transaction), None)?;
        if outcome.halt() == Some(HaltReason::OutOfGas) {
            return Err(EstimateError::Allowance { allowance });
        }
        if !outcome.is_success() {
            return Err(EstimateError::Failed(outcome.into()));
        }
        let used = UsedGas::of(gas_max, &outcome, &tried);
        Ok(self.search_gas(&journal, context, request, used, PRECISION, &CallOutcome::is_success)?)
    }

    /// Returns the smallest gas limit with which a message has an outcome that `is_wanted`, or one above it by at most one part in
    /// `precision`. `used` is what it used when it had such an outcome.
    pub(super) fn search_gas(
        &self,
        journal: &Journal,
        context: &CallContext,
        request: &CallRequest,
        used: UsedGas,
        precision: u64,
        is_wanted: &dyn Fn(&CallOutcome) -> bool,
    ) -> Result<Gas, CallError> {
        let suffices = |gas: u64| -> Result<bool, CallError> {
            let outcome =
                self.run_call(&mut journal.clone(), context, request, (Gas::new(gas), CallPurpose::Transaction), None)?;
            Ok(is_wanted(&outcome))
        };
        let too_little = request.intrinsic(&context.block).gas_limit_min().get().saturating_sub(1);
        let low = used.after_refund.get().saturating_sub(1).max(too_little);
        // The gas spent before refunds, with the part withheld from calls (EIP-150), mostly suffices: try that first.
        let with_stipend = used.before_refund.get().saturating_add(GasSchedule::STANDARD.call_stipend);
        let first = with_stipend.saturating_mul(64) / 63;
        let found = bisect(low..used.limit.get(), first, precision, suffices)?;
        // Where a call inside burns what it gets, and the message goes on, less is used of less.
        if precision == EXACT && found == low + 1 && low > too_little && suffices(low)? {
            return Ok(Gas::new(bisect(too_little..low, low, precision, suffices)?));
        }
        Ok(Gas::new(found))
    }
}

/// Returns a number that `suffices`, between one that does not, the range's start, and one that does, its end; `first` is tried first. It is
/// at most one part in `precision` above another that does not.
fn bisect<E>(
    range: core::ops::Range<u64>,
    first: u64,
    precision: u64,
    suffices: impl Fn(u64) -> Result<bool, E>,
) -> Result<u64, E> {
    let (mut low, mut high) = (range.start, range.end);
    let mut next = first;
    while low + 1 < high && high - low > high / precision {
        if (low + 1..high).contains(&next) {
            if suffices(next)? { high = next } else { low = next }
        }
        // Most messages need little more than they use: try at most twice the lower bound.
        next = low.saturating_add((high - low) / 2).min(low.saturating_mul(2));
    }
    Ok(high)
}

/// Gas of a message that ran once.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsedGas {
    limit: Gas,
    before_refund: Gas,
    after_refund: Gas,
}

impl UsedGas {
    /// Returns the gas of a message that ran with this limit over `journal`.
    pub(super) fn of(limit: Gas, outcome: &CallOutcome, journal: &Journal) -> Self {
        let after_refund = outcome.gas_used;
        Self { limit, before_refund: after_refund.saturating_add(journal.refund()), after_refund }
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
