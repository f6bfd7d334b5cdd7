//! Deploying the components of a dApp: the record with the signed transaction first, then the transaction.

use alloy_primitives::{Address, Bytes, U256};

use super::{
    Dapps,
    record::{DappDeployment, DappRecord},
    spec::DappSpec,
};
use crate::{
    node::{Component, DappDeployer, DappPlan},
    platform::{
        Blockchain, PlatformError,
        context::audit,
        plan::{Usage, check_use, count_use},
        principal::Principal,
        records::{Stored, Unit},
        wallet::Wallets,
    },
    primitives::Transaction,
    templates::BATCH_ADDRESS,
};

/// The transaction that deploys a dApp, for its sender to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedDapp {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Sender of the transaction.
    pub from: Address,
    /// Its nonce.
    pub nonce: u64,
    /// Contract that it calls.
    pub to: Address,
    /// Its call data.
    pub data: Bytes,
    /// Kind and future address of each component.
    pub components: Vec<(&'static str, Address)>,
}

impl Dapps<'_> {
    /// Plans the transaction that deploys a dApp's components, for an account that the service need not be able to sign for. Nothing is
    /// kept, and nothing sent.
    ///
    /// # Errors
    /// As [`Dapps::create`]; [`PlatformError::Validation`] of `from` without one, and of `components` without any.
    pub fn plan(&self, principal: &Principal, spec: &DappSpec) -> Result<PlannedDapp, PlatformError> {
        let components = spec.components()?;
        let Some(from) = spec.from else {
            return Err(PlatformError::field("from", "the account that signs the transaction", "nothing"));
        };
        if components.is_empty() {
            return Err(PlatformError::field("components", "at least one component, or a template", "none"));
        }
        let chain = self.chain_of(principal, spec)?;
        let plan = planned(&chain, spec, DappDeployer::new(from), &components)?;
        let request = plan.request();
        let kinds = components.iter().map(|component| component.kind.name());
        Ok(PlannedDapp {
            blockchain_id: chain.id().to_owned(),
            from,
            nonce: request.nonce.unwrap_or_default(),
            to: BATCH_ADDRESS,
            data: request.input,
            components: kinds.zip(plan.components().iter().copied()).collect(),
        })
    }

    /// Keeps and sends the transaction of a dApp's components. `record` makes the record from it and the components' addresses.
    pub(super) fn compose(
        &self,
        principal: &Principal,
        id: &str,
        chain: &Blockchain,
        (spec, components): (&DappSpec, &[Component]),
        record: impl FnOnce(DappDeployment, &[Address]) -> DappRecord,
    ) -> Result<Stored<DappRecord>, PlatformError> {
        if !chain.node().view().chain().spec().deployments {
            let message = format!("blockchain {} was made without the feature smart-contracts", chain.id());
            return Err(PlatformError::Conflict { message });
        }
        self.blockchains.settle::<DappRecord>(chain)?;
        // A full plan is told before anything is simulated.
        self.blockchains.check_quota_of_transactions(principal)?;
        let wallets = Wallets { context: self.blockchains.context };
        if let Some(raw) = &spec.signed_transaction {
            let (transaction, plan) = signed(chain, spec, raw, components)?;
            let addresses = plan.components();
            let stored = self.keep(principal, id, |_| Ok(record(DappDeployment::new(&transaction), addresses)))?;
            self.blockchains.send_or_take_back(chain, &stored)?;
            return Ok(stored);
        }
        let from = match spec.from {
            Some(from) if wallets.can_sign(principal, chain, from)? => from,
            Some(from) => {
                let expected = "a wallet of the workspace, for which this service can sign";
                return Err(PlatformError::field("from", expected, from.to_string()));
            }
            None => wallets.default_sender(principal, chain)?,
        };
        // From the nonce to the pool: nobody else signs for the same account here meanwhile.
        let _turn = self.blockchains.turn_of(from);
        let plan = planned(chain, spec, DappDeployer::new(from), components)?;
        let unsigned = wallets.prepare(principal, chain, plan.request())?;
        let stored = self.keep(principal, id, |unit| {
            let transaction = wallets.sign(unit, principal, chain, unsigned)?;
            Ok(record(DappDeployment::new(&transaction), plan.components()))
        })?;
        self.blockchains.send_or_take_back(chain, &stored)?;
        Ok(stored)
    }

    /// Writes the record of a dApp with a transaction, and counts that.
    fn keep(
        &self,
        principal: &Principal,
        id: &str,
        record: impl FnOnce(&mut Unit<'_>) -> Result<DappRecord, PlatformError>,
    ) -> Result<Stored<DappRecord>, PlatformError> {
        let (owner, context) = (principal.owner(), self.blockchains.context);
        context.records.unit(|unit| {
            check_use(unit, &owner, Usage::Transactions, context.plan(unit, &owner)?.transactions_max)?;
            let record = DappRecord { changed_at_ms: unit.now_ms(), ..record(unit)? };
            let stored = unit.insert(&owner, id, record)?;
            count_use(unit, &owner, Usage::Transactions)?;
            audit(unit, principal, "dapp.create", format!("dapp {id}"))?;
            Ok(stored)
        })
    }
}

/// Plans the transaction, and tries it.
fn planned(
    chain: &Blockchain,
    spec: &DappSpec,
    deployer: DappDeployer,
    components: &[Component],
) -> Result<DappPlan, PlatformError> {
    let plan = plan_of(chain, spec, deployer, components)?;
    chain.node().check_dapp(&plan).map_err(|error| spec.refused(error))?;
    Ok(plan)
}

fn plan_of(
    chain: &Blockchain,
    spec: &DappSpec,
    deployer: DappDeployer,
    components: &[Component],
) -> Result<DappPlan, PlatformError> {
    let block_time = chain.block_time_secs().map_err(PlatformError::from_query)?;
    let deployer = block_time.map_or(deployer, |secs| deployer.with_block_time(secs));
    chain.node().plan_dapp(deployer, components).map_err(|error| spec.refused(error))
}

/// Reads the transaction that somebody else has signed: it must be the planned one of its sender and nonce. It is tried, unless the chain has
/// it already.
fn signed(
    chain: &Blockchain,
    spec: &DappSpec,
    raw: &Bytes,
    components: &[Component],
) -> Result<(Transaction, DappPlan), PlatformError> {
    let wrong = |expected: &str, got: String| PlatformError::field("signedTransaction", expected, got);
    let transaction = Transaction::decode(raw)
        .map_err(|cause| wrong("a signed transaction that deploys the dApp (EIP-2718)", cause.to_string()))?;
    let deployer = DappDeployer::new(transaction.sender()).with_nonce(transaction.nonce());
    let plan = plan_of(chain, spec, deployer, components)?;
    if transaction.to() != Some(BATCH_ADDRESS) || transaction.value() != U256::ZERO {
        let got = transaction.to().map_or_else(|| "a creation".to_owned(), |to| format!("a call of {to}"));
        return Err(wrong(&format!("a call of {BATCH_ADDRESS} without value"), got));
    }
    if *transaction.input() != plan.request().input {
        let expected = "the call data that the plan of this body gives for the transaction's sender and nonce";
        return Err(wrong(expected, format!("other data, of {} bytes", transaction.input().len())));
    }
    let known = chain.node().view().transaction(transaction.hash()).map_err(PlatformError::from_query)?;
    if known.is_none() {
        chain.node().check_dapp(&plan).map_err(|error| spec.refused(error))?;
    }
    Ok((transaction, plan))
}
