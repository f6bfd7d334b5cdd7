//! The bound of the gas of calls that change nothing, as geth's `--rpc.gascap`.

use alloy_primitives::U256;

use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, NodeView, QueryError},
    primitives::Gas,
};

/// Returns a request with at most `max` gas, however much it asks for; without a bound as it is. One that names no gas and pays for it has as
/// much as its sender can pay beside the value, up to the bound.
///
/// # Errors
/// [`QueryError`] where the balance of a sender that pays can't be read.
pub(crate) fn capped(
    view: &NodeView,
    request: CallRequest,
    (at, overrides): (BlockRef, &StateOverrides),
    max: Option<Gas>,
) -> Result<CallRequest, QueryError> {
    let Some(max) = max else { return Ok(request) };
    let max_fee = request.max_fee_per_gas.or(request.gas_price).unwrap_or(0);
    if let Some(gas) = request.gas {
        return Ok(request.with_gas(gas.min(max)));
    }
    if max_fee == 0 {
        return Ok(request.with_gas(max));
    }
    let sender = request.sender();
    let balance = match overrides.get(&sender).and_then(|change| change.balance) {
        Some(balance) => balance,
        None => view.balance(sender, at)?,
    };
    // Who can't pay the value is told so, whatever the gas.
    let Some(left) = balance.checked_sub(request.value) else { return Ok(request) };
    let payable = Gas::new(left.checked_div(U256::from(max_fee)).unwrap_or(U256::MAX).saturating_to());
    Ok(request.with_gas(payable.min(max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chain::AccountOverride, node::Node, templates::Erc721Params, vm::HaltReason};

    #[test]
    fn a_request_has_what_it_asks_for_up_to_the_bound() {
        let node = Node::new();
        let (view, from) = (node.view(), node.accounts()[0]);
        let asked = CallRequest::call(from, vec![]).with_from(from);
        let max = Gas::new(100_000);
        let gas = |request: &CallRequest, overrides: &StateOverrides, max: Option<Gas>| {
            capped(&view, request.clone(), (BlockRef::Latest, overrides), max).unwrap().gas.map(Gas::get)
        };
        let none = StateOverrides::default();
        for (request, expected) in [
            (asked.clone(), 100_000),
            (asked.clone().with_gas(Gas::new(99_999)), 99_999),
            (asked.clone().with_gas(Gas::new(100_000)), 100_000),
            (asked.clone().with_gas(Gas::new(100_001)), 100_000),
            (asked.clone().with_gas(Gas::new(u64::MAX)), 100_000),
            (asked.clone().with_fees(1, 0), 100_000),
        ] {
            assert_eq!(gas(&request, &none, Some(max)), Some(expected), "{request:?}");
            assert_eq!(gas(&request, &none, None), request.gas.map(Gas::get), "without a bound");
        }
        // A sender that pays has no more than it can pay for.
        let mut poor = StateOverrides::default();
        poor.insert(from, AccountOverride { balance: Some(U256::from(250_010)), ..AccountOverride::default() });
        let paying = asked.with_fees(5, 0);
        assert_eq!(gas(&paying, &poor, Some(max)), Some(50_002));
        assert_eq!(gas(&paying.clone().with_value(U256::from(10)), &poor, Some(max)), Some(50_000));
        assert_eq!(gas(&paying.with_value(U256::from(250_011)), &poor, Some(max)), None, "it is refused as before");
    }

    /// The bound is below the block's: what runs without end stops there, and an estimate says how much it may have.
    #[test]
    fn what_runs_without_end_stops_at_the_bound() {
        let node = Node::new();
        let (view, from, none) = (node.view(), node.accounts()[0], StateOverrides::default());
        let mut endless = Erc721Params::new("Art", "ART", "", from);
        endless.distribution = vec![(from, u64::MAX)];
        let request = CallRequest::create(endless.init_code());
        let max = Gas::new(1_000_000);
        assert!(max < view.pool_context().gas_limit);
        let bounded = capped(&view, request, (BlockRef::Latest, &none), Some(max)).unwrap();
        let outcome = view.call(&bounded, BlockRef::Latest, &none, None).unwrap();
        assert_eq!((outcome.halt(), outcome.gas_used), (Some(HaltReason::OutOfGas), max));
        let estimate = view.estimate_gas(&bounded, BlockRef::Latest, &none).unwrap_err();
        assert_eq!(estimate.to_string(), "gas required exceeds allowance (1000000)");
    }
}
