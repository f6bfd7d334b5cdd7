//! Projects whose contracts the caller's own transaction makes, on a chain that is there: what is to be signed, and what was signed.

use alloy_primitives::Bytes;

use super::{
    Project, Projects,
    making::{is_refusal, planned, unplanned},
    spec::{ProjectChain, ProjectSpec},
};
use crate::{
    chain::CallRequest,
    node::BlockRef,
    platform::{
        Blockchain, Outgoing, PlatformError, context::audit, contract_call::signed_call, contract_plan::PlacedContract,
        principal::Principal, records::Stored, scope::Scope,
    },
    primitives::{Address, Transaction},
    templates::BATCH_ADDRESS,
};

impl Projects<'_> {
    /// Plans the transaction that makes a project's contracts on a chain that is there, for an account that the service need not be able to
    /// sign for. Returns it without fees and gas limit, and the places of the contracts. Nothing is kept, and nothing sent.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`] without that for deploying; [`PlatformError::Validation`], also for a new chain and for a template
    /// without contracts; [`PlatformError::Conflict`] on a chain that can't have the contracts.
    pub fn plan(
        &self,
        principal: &Principal,
        spec: &ProjectSpec,
        from: Address,
    ) -> Result<(CallRequest, Vec<PlacedContract>), PlatformError> {
        principal.require(Scope::BlockchainDeploy)?;
        let fields = spec.check();
        if !fields.is_empty() {
            return Err(PlatformError::Validation { fields });
        }
        let ProjectChain::Known(id) = spec.chain() else {
            let expected =
                "the id of a blockchain that is there: nobody signs for a new one, whose chain id is not known before";
            let got = spec.blockchain.as_deref().unwrap_or("nothing");
            return Err(PlatformError::field("config.blockchain", expected, got));
        };
        let contracts = spec.contracts();
        if contracts.is_empty() {
            return Err(PlatformError::field("template", "a template with contracts", spec.template().name));
        }
        self.check_chain(principal, &id, spec)?;
        let chain = self.blockchains.writable(principal, &id)?;
        let nonce = next_nonce(&chain, from)?;
        let (request, placed) = planned(&chain, &contracts, from, nonce)?;
        Ok((request.with_from(from).with_nonce(nonce), placed))
    }

    /// Makes a project on a chain that is there, by a transaction that somebody else has signed: its record and the transaction are one
    /// batch, so that nobody else ever makes the contracts.
    pub(super) fn create_signed(
        &self,
        principal: &Principal,
        (id, chain): (&str, &str),
        spec: &ProjectSpec,
        raw: &Bytes,
    ) -> Result<Stored<Project>, PlatformError> {
        let chain = self.blockchains.writable(principal, chain)?;
        // From the nonce to the pool: of two requests with one transaction the second finds its nonce used.
        let _turn = self.blockchains.turn_of(signed_call(raw, BATCH_ADDRESS)?.sender());
        let sent_as = self.blockchains.context.id("tx")?;
        let make = || {
            let (transaction, contracts) = read(&chain, spec, raw)?;
            let hash = Some(transaction.hash());
            let unplanned = unplanned(spec, chain.id(), None);
            let project = Project { contracts, transaction: hash, is_unplanned: false, ..unplanned };
            Ok((Outgoing::from(transaction), project))
        };
        let sent = self.blockchains.send_made(principal, (&*chain, sent_as.as_str()), make, |unit, project| {
            unit.insert(&principal.owner(), id, project)?;
            audit(unit, principal, "project.create", format!("project {id}"))?;
            audit(unit, principal, "project.deploy", format!("project {id}"))
        });
        sent.inspect_err(|cause| {
            if is_refusal(cause)
                && let Ok(stored) = self.require(principal, id)
            {
                // What can't be undone now is told by the state of the project.
                let _ = self.undo(principal, &stored);
            }
        })?;
        self.require(principal, id)
    }
}

/// Reads the transaction that somebody else has signed: it must be the planned one of its sender and of the sender's next nonce.
fn read(
    chain: &Blockchain,
    spec: &ProjectSpec,
    raw: &Bytes,
) -> Result<(Transaction, Vec<PlacedContract>), PlatformError> {
    let wrong = |expected: String, got: String| PlatformError::field("signedTransaction", expected, got);
    let transaction = signed_call(raw, BATCH_ADDRESS)?;
    let (sender, nonce) = (transaction.sender(), transaction.nonce());
    let next = next_nonce(chain, sender)?;
    if nonce != next {
        return Err(wrong(format!("a transaction with the nonce {next}, the next of {sender}"), nonce.to_string()));
    }
    let (request, placed) = planned(chain, &spec.contracts(), sender, nonce)?;
    if *transaction.input() != request.input || transaction.value() != request.value {
        let expected =
            "the call data that the plan of this body gives for the transaction's sender and nonce, without value";
        let got = format!("{} bytes of call data and the value {}", transaction.input().len(), transaction.value());
        return Err(wrong(expected.to_owned(), got));
    }
    Ok((transaction, placed))
}

/// The nonce after all that an account has in blocks and in the pool.
fn next_nonce(chain: &Blockchain, account: Address) -> Result<u64, PlatformError> {
    chain.node().view().nonce(account, BlockRef::Pending).map_err(PlatformError::from_query)
}
