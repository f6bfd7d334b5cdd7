//! Deploying contracts: the record with the signed transaction first, then the transaction.
//!
//! A refused transaction takes the record back; it stays counted, for the service has signed it.

use super::{Blockchains, calls::check_signed};
use crate::platform::{
    PlatformError,
    blockchain::Blockchain,
    context::audit,
    dapps::record::DappRecord,
    deployment::{DeploymentRecord, DeploymentSpec, Sending},
    plan::{Usage, check_use, count_use},
    principal::Principal,
    records::{Collection, Stored, Unit},
    sent::TransactionRecord,
    wallet::Wallets,
};

impl<'a> Blockchains<'a> {
    /// Deploys a contract from a template, or by a signed transaction, and keeps the record.
    ///
    /// # Errors
    /// As [`Blockchains::writable`]; [`PlatformError`] for a sender that the service can't sign for, too little balance, a reverting
    /// constructor, also of a signed transaction, a chain without `smart-contracts`, a failing [`Entropy`](crate::platform::Entropy), a
    /// full plan.
    pub fn deploy(
        &self,
        principal: &Principal,
        spec: DeploymentSpec,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let id = self.context.id("dep")?;
        self.deploy_as(principal, &id, spec)
    }

    /// As [`Blockchains::deploy`], under an id that was drawn for the request. With that of a deployment of the workspace it sends its
    /// transaction if no block has it, and returns it.
    ///
    /// # Errors
    /// As [`Blockchains::deploy`].
    pub fn deploy_as(
        &self,
        principal: &Principal,
        id: &str,
        spec: DeploymentSpec,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let chain = self.writable(principal, &spec.blockchain_id)?;
        if let Some(known) = self.deployments().get(&principal.owner(), id)? {
            self.send_or_take_back(&chain, &known)?;
            return Ok(known);
        }
        if !chain.node().view().chain().spec().deployments {
            let message = format!("blockchain {} was made without the feature smart-contracts", chain.id());
            return Err(PlatformError::Conflict { message });
        }
        self.settle::<DeploymentRecord>(&chain)?;
        self.check_quota_of_transactions(principal)?;
        let wallets = Wallets { context: self.context };
        let token = spec.token.clone();
        // From the nonce to the pool: nobody else signs for the same account here meanwhile.
        let (stored, _turn) = match spec.sending(&wallets, principal, &chain)? {
            Sending::Signed(transaction, template) => {
                if let Some(expected) =
                    token.as_ref().map(|token| token.standard.template()).filter(|it| *it != template)
                {
                    let expected = format!("a transaction that creates a contract of the template {expected}");
                    return Err(PlatformError::field("signedTransaction", expected, format!("one of {template}")));
                }
                check_signed(&chain, &transaction)?;
                let record = DeploymentRecord::of_transaction(chain.id(), template, "{}".to_owned(), &transaction);
                let record = DeploymentRecord { token, ..record };
                (self.keep(principal, id, |_| Ok(record))?, None)
            }
            Sending::Request(request, template, params) => {
                let turn = self.turn_of(request.from.unwrap_or_default());
                let unsigned = wallets.prepare(principal, &chain, *request)?;
                let stored = self.keep(principal, id, |unit| {
                    let transaction = wallets.sign(unit, principal, &chain, unsigned)?;
                    let record = DeploymentRecord::of_transaction(chain.id(), template, params, &transaction);
                    Ok(DeploymentRecord { token, ..record })
                })?;
                (stored, Some(turn))
            }
        };
        self.send_or_take_back(&chain, &stored)?;
        Ok(stored)
    }

    /// Writes the record of a deployment, and counts it.
    fn keep(
        &self,
        principal: &Principal,
        id: &str,
        record: impl FnOnce(&mut Unit<'_>) -> Result<DeploymentRecord, PlatformError>,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let owner = principal.owner();
        self.context.records.unit(|unit| {
            check_use(unit, &owner, Usage::Transactions, self.context.plan(unit, &owner)?.transactions_max)?;
            let record = record(unit)?;
            let stored = unit.insert(&owner, id, record)?;
            count_use(unit, &owner, Usage::Transactions)?;
            audit(unit, principal, "contract.deploy", format!("deployment {id}"))?;
            Ok(stored)
        })
    }

    /// A full plan is told before anything is simulated.
    pub(in crate::platform) fn check_quota_of_transactions(&self, principal: &Principal) -> Result<(), PlatformError> {
        let owner = principal.owner();
        self.context.records.unit(|unit| {
            check_use(unit, &owner, Usage::Transactions, self.context.plan(unit, &owner)?.transactions_max)
        })
    }

    /// Sends the transactions that no block and no pool has: of deployments, of dApps, and of other requests.
    pub(super) fn send_unsettled(&self, chain: &Blockchain) -> Result<(), PlatformError> {
        if chain.node().is_halted() {
            return Ok(());
        }
        self.send_unsettled_of::<DeploymentRecord>(chain)?;
        self.send_unsettled_of::<DappRecord>(chain)?;
        self.send_unsettled_of::<TransactionRecord>(chain)
    }

    /// As [`Blockchains::send_unsettled`], of all chains in memory, at boot. What fails is tried again when the chain is next brought up.
    pub(in crate::platform) fn send_all_unsettled(&self) {
        for chain in self.hosted.all_open() {
            let _ = self.send_unsettled(&chain);
        }
    }

    /// The deployments, for reading.
    pub fn deployments(&self) -> Collection<'a, DeploymentRecord> {
        self.context.records.of()
    }
}
