//! Rules of governance: proposals and votes, in the chain's own governance contract.
//!
//! A proposal is what the contract has; the service keeps nothing of it but the configuration of a module that it enables. Its id names the
//! transaction that made it, so that it is known before a block has it.

mod canceling;
mod id;
mod listing;
mod open;
mod parameters;
mod shape;
mod spec;
mod voting;

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use alloy_sol_types::SolEvent;
use serde_json::{Map, Value};

pub(super) use self::open::{OpenProposal, open_proposals};
pub use self::{
    id::ProposalId,
    shape::{Proposal, ProposalStatus},
    spec::ProposalSpec,
    voting::{Vote, VoteSpec},
};
use super::{
    PlatformError,
    blockchain::Blockchain,
    blockchains::{Blockchains, Outgoing, signed_call},
    context::audit,
    modules::{ModuleKind, ModuleSpec, Modules, VERSION as MODULES_VERSION, proposed::ProposedModule},
    principal::Principal,
    records::Unit,
    validators::{Validators, quorum},
};
use crate::{
    chain::{CallRequest, LogFilter, SystemViewError},
    node::{Located, QueryError},
    primitives::Height,
    system::governance::{GOVERNANCE_ADDRESS, ProposalAction, interface as sol},
};

/// Proposals that one transaction makes and the service tells apart.
const OF_ONE_TRANSACTION_MAX: usize = 256;

/// Rules of proposals and votes.
#[derive(Clone, Copy, Debug)]
pub struct Proposals<'a> {
    pub(super) chains: Blockchains<'a>,
}

impl Proposals<'_> {
    /// Submits a proposal, by the default sender or the one that it names, or by a transaction that somebody else has signed, under
    /// the id of the request ([`Blockchains::send_as`]).
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] on a chain without governance, for a proposer without weight, for a module that could not be enabled
    /// with its configuration after the vote or could not be disabled, for a second one about a module while another is open, for one that
    /// disables a module whose token that of an open one may work with or the other way round, for one about a validator that would cost the
    /// protocol its quorum, by itself or with those that are open, and for what the contract refuses, such as a proposal that could not be
    /// executed; as [`Blockchains::writable`].
    pub fn submit(
        &self,
        principal: &Principal,
        request: &str,
        spec: &ProposalSpec,
    ) -> Result<ProposalId, PlatformError> {
        let chain = self.governed(principal, &spec.blockchain_id)?;
        let make = || {
            let outgoing: Outgoing = match &spec.signed_transaction {
                Some(raw) => {
                    let transaction = signed_call(raw, GOVERNANCE_ADDRESS, &spec::SELECTORS)?;
                    if let Some((_, action)) = spec::read_call(transaction.input()) {
                        // Of a configuration it has the hash alone.
                        self.check(principal, &chain, &action, None)?;
                    }
                    transaction.into()
                }
                None => {
                    self.check(principal, &chain, &spec.action, spec.module_config.as_ref())?;
                    let request = CallRequest { from: spec.from, ..spec.call() };
                    self.with_sender(principal, &chain, request)?.into()
                }
            };
            Ok((outgoing, ()))
        };
        let sent = self.chains.send_made(principal, (&chain, request), make, |unit, ()| {
            keep_config(unit, &chain, spec)?;
            audit(unit, principal, "governance.propose", format!("blockchain {}", chain.id()))
        })?;
        Ok(ProposalId::new(chain.id(), sent.value.hash))
    }

    /// Returns a proposal, which may wait in the pool, and its chain.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; as [`Blockchains::readable`], and those of reading.
    pub fn get(&self, principal: &Principal, id: &ProposalId) -> Result<(Arc<Blockchain>, Proposal), PlatformError> {
        let not_found = || PlatformError::not_found("proposal", &id.text());
        let chain = self.chains.readable(principal, &id.blockchain_id).map_err(|cause| match cause {
            PlatformError::NotFound { .. } => not_found(),
            other => other,
        })?;
        if !chain.node().view().chain().has_governance() {
            return Err(not_found());
        }
        let view = chain.node().view();
        let found = match view.transaction(id.transaction).map_err(PlatformError::from_query)? {
            None => None,
            Some(Located::Pooled(transaction)) => Proposal::pending(id.clone(), &transaction),
            Some(Located::Mined { block, index }) => {
                let receipt = block.receipts().get(index as usize);
                let logs = receipt.into_iter().flat_map(|receipt| receipt.logs());
                let made = logs.filter(|log| log.address == GOVERNANCE_ADDRESS).filter_map(|log| made(log.topics()));
                match made.take(OF_ONE_TRANSACTION_MAX).nth(id.place) {
                    None => None,
                    Some(number) => {
                        let record = view.chain().proposal(view.head(), number).map_err(unreadable)?;
                        record.map(|record| Proposal::of(id.clone(), record))
                    }
                }
            }
        };
        drop(view);
        Ok((chain, found.ok_or_else(not_found)?))
    }

    /// Refuses what the contract would take and the chain could not bear.
    fn check(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        action: &ProposalAction,
        module_config: Option<&Map<String, Value>>,
    ) -> Result<(), PlatformError> {
        match action {
            ProposalAction::ValidatorAdd { validator, weight } => {
                Validators { chains: self.chains }.check_proposed(chain, *validator, *weight)
            }
            ProposalAction::ValidatorRemove { validator } => quorum::check_without(chain, *validator),
            ProposalAction::ModuleEnable { name, version, .. } => {
                let kind = ModuleKind::from_name(name).ok_or_else(|| {
                    let names = ModuleKind::ALL.map(ModuleKind::name).join(", ");
                    PlatformError::field("changes.module", format!("one of {names}"), name.clone())
                })?;
                if *version != MODULES_VERSION {
                    let expected = format!("{MODULES_VERSION}, the version of this build's modules");
                    return Err(PlatformError::field("changes.version", expected, version.to_string()));
                }
                kind.check_in_this_build()?;
                if let Some(config) = module_config.cloned() {
                    let spec = ModuleSpec { blockchain_id: chain.id().to_owned(), kind, config };
                    Modules { blockchains: self.chains }.check_proposed(principal, chain, &spec)?;
                }
                self.check_alone(chain, name)?;
                self.check_needs(chain, action, module_config)
            }
            ProposalAction::ModuleDisable { name } => {
                Modules { blockchains: self.chains }.check_proposed_end(principal, chain, name)?;
                self.check_alone(chain, name)?;
                self.check_needs(chain, action, None)
            }
            _ => Ok(()),
        }
    }

    /// Returns a chain with governance that takes transactions of the principal.
    fn governed(&self, principal: &Principal, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        let chain = self.chains.writable(principal, id)?;
        check_governance(&chain)?;
        Ok(chain)
    }

    /// Fills in the sender.
    fn with_sender(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        request: CallRequest,
    ) -> Result<CallRequest, PlatformError> {
        let wallets = super::wallet::Wallets { context: self.chains.context };
        let sender = request.from.map_or_else(|| wallets.default_sender(principal, chain), Ok)?;
        Ok(request.with_from(sender))
    }
}

/// Keeps the configuration of a module that a proposal of the service enables, of which the chain gets the hash alone.
fn keep_config(unit: &mut Unit<'_>, chain: &Blockchain, spec: &ProposalSpec) -> Result<(), PlatformError> {
    let (None, Some(config)) = (&spec.signed_transaction, &spec.module_config) else { return Ok(()) };
    let ProposalAction::ModuleEnable { name, .. } = &spec.action else { return Ok(()) };
    ModuleKind::from_name(name).map_or(Ok(()), |kind| ProposedModule::keep(unit, chain, kind, config))
}

/// Returns the id of a proposal that the chain has, by its number and the height of its block: by the transaction there.
fn id_of(chain: &Blockchain, (number, height): (u64, Height)) -> Result<Option<ProposalId>, PlatformError> {
    let view = chain.node().view();
    let filter = LogFilter {
        from: height,
        to: height,
        addresses: vec![GOVERNANCE_ADDRESS],
        topics: vec![vec![sol::ProposalCreated::SIGNATURE_HASH]],
    };
    let logs = match view.logs(&filter, OF_ONE_TRANSACTION_MAX) {
        Ok(logs) => logs,
        // A block that was forgotten names no transaction any more.
        Err(QueryError::Pruned { .. }) => return Ok(None),
        Err(cause) => return Err(PlatformError::from_query(cause)),
    };
    let is_it = |topics: &[B256]| made(topics) == Some(number);
    let Some(found) = logs.iter().find(|found| is_it(found.log.topics())) else { return Ok(None) };
    let hash = found.transaction_hash;
    let of_one = logs.iter().filter(|other| other.transaction_hash == hash);
    let place = of_one.take_while(|other| !is_it(other.log.topics())).count();
    Ok(Some(ProposalId { place, ..ProposalId::new(chain.id(), hash) }))
}

/// Returns the number of the proposal that a log with these topics tells of.
fn made(topics: &[B256]) -> Option<u64> {
    let [event, number, ..] = topics else { return None };
    (*event == sol::ProposalCreated::SIGNATURE_HASH).then(|| U256::from_be_bytes(number.0).saturating_to())
}

fn check_governance(chain: &Blockchain) -> Result<(), PlatformError> {
    if chain.node().view().chain().has_governance() {
        return Ok(());
    }
    let message =
        format!("blockchain {} was made without a governance contract: nobody proposes or votes there", chain.id());
    Err(PlatformError::Conflict { message })
}

fn unreadable(cause: SystemViewError) -> PlatformError {
    PlatformError::from_query(QueryError::from(cause))
}
