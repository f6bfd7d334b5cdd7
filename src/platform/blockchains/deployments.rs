//! Deploying contracts: the record with the signed transaction first, then the transaction.
//!
//! A crash between leaves a record whose transaction is sent again when the chain is next brought up, and so is one that was in the pool
//! alone when the process ended. A refused transaction takes the record back; it stays counted, for the service has signed it.

use core::num::NonZeroUsize;

use super::Blockchains;
use crate::{
    node::{Located, SendError},
    platform::{
        PlatformError,
        blockchain::Blockchain,
        context::audit,
        deployment::{DeploymentRecord, DeploymentSpec, Sending},
        plan::{Usage, check_use, count_use},
        principal::Principal,
        records::{Collection, PageRequest, RecordError, Stored, Unit},
        wallet::Wallets,
    },
    primitives::Transaction,
};

/// Deployments whose transactions are looked for at once.
const SETTLED_AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

impl<'a> Blockchains<'a> {
    /// Reads the body of a request to deploy, whose parameters are those of the template's constructor by name, for any template
    /// of the chain.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn read_deployment(
        &self,
        principal: &Principal,
        body: serde_json::Value,
    ) -> Result<DeploymentSpec, PlatformError> {
        DeploymentSpec::read(body, |id| self.readable(principal, id).unwrap_or_else(|_| self.hosted.default.clone()))
    }

    /// Deploys a contract from a template, or by a signed transaction, and keeps the record.
    ///
    /// # Errors
    /// As [`Blockchains::writable`]; [`PlatformError`] for a sender that the service can't sign for, too little balance, a reverting
    /// constructor, a chain without `smart-contracts`, a failing [`Entropy`](crate::platform::Entropy), a full plan.
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
        let _ = self.settle(&chain)?;
        self.check_quota_of_transactions(principal)?;
        let wallets = Wallets { context: self.context };
        // From the nonce to the pool: nobody else signs for the same account here meanwhile.
        let (stored, _turn) = match spec.sending(&wallets, principal, &chain)? {
            Sending::Signed(transaction, template) => {
                let record = DeploymentRecord::of_transaction(chain.id(), template, "{}".to_owned(), &transaction);
                (self.keep(principal, id, |_| Ok(record))?, None)
            }
            Sending::Request(request, template, params) => {
                let turn = self.turn_of(request.from.unwrap_or_default());
                let unsigned = wallets.prepare(principal, &chain, *request)?;
                let stored = self.keep(principal, id, |unit| {
                    let transaction = wallets.sign(unit, principal, &chain, unsigned)?;
                    Ok(DeploymentRecord::of_transaction(chain.id(), template, params, &transaction))
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
    fn check_quota_of_transactions(&self, principal: &Principal) -> Result<(), PlatformError> {
        let owner = principal.owner();
        self.context.records.unit(|unit| {
            check_use(unit, &owner, Usage::Transactions, self.context.plan(unit, &owner)?.transactions_max)
        })
    }

    /// Sends the transaction of a kept deployment; takes the record back when the chain refuses it.
    fn send_or_take_back(&self, chain: &Blockchain, stored: &Stored<DeploymentRecord>) -> Result<(), PlatformError> {
        let Some(raw) = &stored.value.transaction else { return Ok(()) };
        let known = chain.node().view().transaction(stored.value.transaction_hash);
        if known.map_err(PlatformError::from_query)?.is_some() {
            return Ok(());
        }
        let sent = Transaction::decode(raw).map_err(SendError::from).and_then(|decoded| chain.node().send(decoded));
        let Err(refused) = sent else { return Ok(()) };
        self.context.records.unit(|unit| {
            let present = unit.of::<DeploymentRecord>().get(stored.owner(), stored.id())?;
            present.map_or(Ok::<_, PlatformError>(()), |present| Ok(unit.delete(&present)?))
        })?;
        Err(PlatformError::from_send(refused))
    }

    /// Notes which of a chain's oldest unsettled deployments are in blocks, so that nobody looks for them again; returns whether it noted
    /// any.
    fn settle(&self, chain: &Blockchain) -> Result<bool, PlatformError> {
        let view = chain.node().view();
        let group = DeploymentRecord::on_chain(chain.id());
        let request = PageRequest::first(SETTLED_AT_ONCE);
        let open = self.deployments().page(&DeploymentRecord::UNSETTLED, chain.owner(), &group, &request)?;
        let mut mined = Vec::new();
        for deployment in open.items {
            let found = view.transaction(deployment.value.transaction_hash).map_err(PlatformError::from_query)?;
            if matches!(found, Some(Located::Mined { .. })) {
                mined.push(deployment);
            }
        }
        if mined.is_empty() {
            return Ok(false);
        }
        self.context.records.unit(|unit| {
            for mut deployment in mined {
                deployment.value.is_settled = true;
                // One that was deleted or settled meanwhile has nothing left to do.
                match unit.replace(&deployment) {
                    Ok(_) | Err(RecordError::Missing { .. } | RecordError::Stale { .. }) => {}
                    Err(cause) => return Err(cause),
                }
            }
            Ok::<_, RecordError>(())
        })?;
        Ok(true)
    }

    /// Sends the transactions of deployments that no block and no pool has, the oldest first.
    pub(super) fn send_unsettled(&self, chain: &Blockchain) -> Result<(), PlatformError> {
        if chain.node().is_halted() {
            return Ok(());
        }
        while self.settle(chain)? {}
        let mut waiting = Vec::new();
        let group = DeploymentRecord::on_chain(chain.id());
        self.deployments().for_each(&DeploymentRecord::UNSETTLED, chain.owner(), &group, |deployment| {
            waiting.push(deployment);
            Ok::<_, RecordError>(())
        })?;
        for deployment in waiting {
            // A refused one is gone; who asked for it finds it so.
            match self.send_or_take_back(chain, &deployment) {
                Ok(()) | Err(PlatformError::Conflict { .. } | PlatformError::InsufficientBalance { .. }) => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
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
