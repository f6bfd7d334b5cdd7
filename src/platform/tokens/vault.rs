//! A vault that is made with a token of its own to hold: before the token is sent, both are known to pass. Should the chain change between
//! the two, what is left of them is said.

use alloy_primitives::{Address, U256};

use super::{Tokens, spec::TokenSpec};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, SimulateError},
    platform::{
        Blockchain, FieldError, PlatformError,
        deployment::{DeploymentRecord, DeploymentSpec, Sending},
        plan::{Usage, check_use, used},
        principal::Principal,
        records::Stored,
        transaction_outcome::TransactionState,
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
    /// Makes a vault without an asset, after a token of its own.
    ///
    /// # Errors
    /// As [`Tokens::create`].
    pub(super) fn create_with_asset(
        &self,
        principal: &Principal,
        id: &str,
        chain: &Blockchain,
        spec: TokenSpec,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let asset = self.create_asset(principal, id, chain, &spec)?;
        let address = asset.value.contract_address(chain)?;
        let is_known = self.blockchains.deployments().get(&principal.owner(), id)?.is_some();
        if !is_known && asset.value.outcome(chain)?.state == TransactionState::Failed {
            let message = format!(
                "the vault is not made, for its token {} has failed on the chain, and there is no contract at {address}: send the request \
                 anew, under another idempotency key",
                asset.id()
            );
            return Err(PlatformError::Conflict { message });
        }
        let vault = self.blockchains.deploy_as(principal, id, spec.deployment(Some(address)));
        vault.map_err(|cause| without_vault(cause, asset.id(), address))
    }

    /// Deploys the token that a vault without an asset holds.
    fn create_asset(
        &self,
        principal: &Principal,
        id: &str,
        chain: &Blockchain,
        spec: &TokenSpec,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let asset = format!("{id}_asset");
        let is_made = self.blockchains.deployments().get(&principal.owner(), &asset)?.is_some();
        // What a chain without contracts refuses, it refuses before it makes anything.
        if !is_made && chain.node().view().chain().spec().deployments {
            self.check_with_asset(principal, chain, spec)?;
        }
        self.blockchains.deploy_as(principal, &asset, spec.asset_deployment())
    }

    /// Checks that a vault can be made after a token of its own: two transactions of the plan are left, both deployments succeed on the
    /// pending block, and the sender can pay both.
    ///
    /// # Errors
    /// [`PlatformError`] as the deployments would be refused.
    fn check_with_asset(
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

/// Returns the refusal of a vault whose token is made: with the token, and how the vault is made with it.
fn without_vault(cause: PlatformError, id: &str, asset: Address) -> PlatformError {
    match cause {
        PlatformError::Conflict { .. }
        | PlatformError::InsufficientBalance { .. }
        | PlatformError::Validation { .. } => {
            let message = format!(
                "the vault is not made: {cause}; its token {id} is made, at {asset}, and stays: once nothing is in the way, send the request \
                 with it as asset"
            );
            PlatformError::Conflict { message }
        }
        other => other,
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
