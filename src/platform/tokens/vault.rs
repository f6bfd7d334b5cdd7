//! A vault that is made with a token of its own to hold: before the token is sent, both are known to pass.

use alloy_primitives::{Address, U256};

use super::{Tokens, spec::TokenSpec};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, SimulateError},
    platform::{
        Blockchain, FieldError, PlatformError,
        deployment::{DeploymentSpec, Sending},
        plan::{Usage, check_use, used},
        principal::Principal,
        wallet::Wallets,
    },
    primitives::Gas,
    vm::{DeploymentContext, Descriptor},
};

/// Transactions that make a vault and its token.
const TRANSACTIONS: u64 = 2;
/// A deployment's gas limit is at most one part in so many above the smallest.
const MARGIN_DIVISOR: u64 = 64;

impl Tokens<'_> {
    /// Checks that a vault can be made after a token of its own: two transactions of the plan are left, both deployments succeed on the
    /// pending block, and the sender can pay both.
    ///
    /// # Errors
    /// [`PlatformError`] as the deployments would be refused.
    pub(super) fn check_with_asset(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        spec: &TokenSpec,
    ) -> Result<(), PlatformError> {
        self.check_transactions_left(principal)?;
        let wallets = Wallets { context: self.blockchains.context };
        let Sending::Request(asset, ..) = spec.asset_deployment().sending(&wallets, principal, chain)? else {
            return Ok(());
        };
        let (from, view) = (asset.from.unwrap_or_default(), chain.node().view());
        let nonce = view.nonce(from, BlockRef::Pending).map_err(PlatformError::from_query)?;
        let vault = creation(chain, from, spec.clone().deployment(Some(from.create(nonce))))?;
        let requests = [*asset, vault];
        let simulated = view.simulate(&requests, BlockRef::Pending, &StateOverrides::new()).map_err(failed)?;
        let mut required = U256::ZERO;
        for (request, simulation) in requests.into_iter().zip(simulated) {
            let Some(gas) = simulation.gas_estimate else {
                let message = format!("the deployment would fail: {}", simulation.outcome.describe());
                return Err(PlatformError::Conflict { message });
            };
            required = required.saturating_add(cost(chain, request, gas)?);
        }
        let available = view.balance(from, BlockRef::Pending).map_err(PlatformError::from_query)?;
        if available < required {
            return Err(PlatformError::InsufficientBalance { required, available });
        }
        Ok(())
    }

    fn check_transactions_left(&self, principal: &Principal) -> Result<(), PlatformError> {
        let (owner, context) = (principal.owner(), self.blockchains.context);
        context.records.unit(|unit| {
            let max = context.plan(unit, &owner)?.transactions_max;
            check_use(unit, &owner, Usage::Transactions, max)?;
            let has = used(unit, &owner, Usage::Transactions)?;
            if has.saturating_add(TRANSACTIONS) <= max {
                return Ok(());
            }
            let message = format!(
                "the workspace's plan allows {max} transactions in 30 days, and it has {has}: a vault with a token of its own takes \
                 {TRANSACTIONS}; name an asset or change the plan"
            );
            Err(PlatformError::Conflict { message })
        })
    }
}

/// The call that creates a contract from a template.
fn creation(chain: &Blockchain, from: Address, spec: DeploymentSpec) -> Result<CallRequest, PlatformError> {
    let DeploymentSpec { template, params, .. } = spec;
    let unknown = || PlatformError::Conflict { message: format!("the chain has no template {template}") };
    let found = chain.node().templates().by_name(&template).ok_or_else(unknown)?;
    let input = Descriptor::of(&**found).encode(&params, DeploymentContext::new(from)).map_err(|errors| {
        let fields = errors.into_iter().map(|error| FieldError {
            path: format!("params.{}", error.path),
            expected: error.expected,
            got: error.got,
        });
        PlatformError::Validation { fields: fields.collect() }
    })?;
    Ok(CallRequest::create(input).with_from(from))
}

/// What a sender must have for a transaction with this gas, by the fees that the node fills in.
fn cost(chain: &Blockchain, request: CallRequest, gas: Gas) -> Result<U256, PlatformError> {
    let limit = gas.get().saturating_add(gas.get() / MARGIN_DIVISOR);
    let request = CallRequest { gas: Some(Gas::new(limit)), ..request };
    let unsigned = chain.node().unsigned(request).map_err(PlatformError::from_send)?;
    let price = unsigned.gas_price.unwrap_or(unsigned.max_fee_per_gas);
    Ok(U256::from(limit).saturating_mul(U256::from(price)))
}

fn failed(cause: SimulateError) -> PlatformError {
    match cause {
        SimulateError::Query(cause) | SimulateError::Operation { source: cause, .. } => {
            PlatformError::from_query(cause)
        }
        other => PlatformError::internal(other),
    }
}
