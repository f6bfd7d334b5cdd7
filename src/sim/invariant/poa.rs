//! What must hold of proof of authority's chains (EIP-225), told anew from headers and seals.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::{Machine, ReplicaId},
    primitives::{Address, B256, U256},
    sim::{Network, Step},
};

/// Every block of a chain is sealed by a signer, none of whom signs twice among `floor(N/2) + 1` blocks in a row, and its
/// difficulty is that of the signer's turn. Heads are checked while the signers stay those of genesis.
#[derive(Clone, Debug, Default)]
pub struct SignersTakeTurns {
    seen: BTreeMap<ReplicaId, B256>,
}

impl Invariant for SignersTakeTurns {
    fn name(&self) -> &'static str {
        "poa-signer-limit"
    }

    fn on_step(&mut self, network: &Network, step: &Step) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let Machine::Poa(poa) = replica.machine() else { return Ok(()) };
        let head = replica.head();
        let signers = network.genesis_validators();
        if self.seen.insert(replica.id(), head.hash) == Some(head.hash) || poa.snapshot().signers() != signers {
            return Ok(());
        }
        let limit = signers.len() / 2 + 1;
        let mut authors: Vec<Address> = Vec::new();
        let mut hash = head.hash;
        while authors.len() < limit {
            let Ok(block) = replica.chain().block(hash) else { break };
            let block = block.block();
            if block.height().get() == 0 {
                break;
            }
            let Ok(author) = network.authenticator().author(hash, block.seal()) else {
                let detail = format!("{} has block {} with a seal of nobody", replica.id(), block.height());
                return Err(Violation::new("poa-seal", network, detail));
            };
            let Some(index) = signers.index_of(&author) else {
                let detail = format!("{} has block {} of {author}, who is no signer", replica.id(), block.height());
                return Err(Violation::new("poa-seal", network, detail));
            };
            if authors.contains(&author) {
                let detail = format!(
                    "{} has block {} of {author}, who signs twice among {limit} blocks up to {head}",
                    replica.id(),
                    block.height()
                );
                return Err(Violation::new(self.name(), network, detail));
            }
            let is_in_turn = block.height().get() % signers.len() as u64 == index as u64;
            let (got, want) = (block.header().difficulty, U256::from(if is_in_turn { 2 } else { 1 }));
            if got != want {
                let detail = format!(
                    "{} has block {} of {author} with difficulty {got} in place of {want}",
                    replica.id(),
                    block.height()
                );
                return Err(Violation::new("poa-difficulty", network, detail));
            }
            authors.push(author);
            hash = block.parent_hash();
        }
        Ok(())
    }
}

/// An honest signer seals at most one block of a height.
#[derive(Clone, Debug, Default)]
pub struct SealsOnce {
    sealed: BTreeMap<(u64, Address), B256>,
    seen: BTreeMap<ReplicaId, B256>,
}

impl Invariant for SealsOnce {
    fn name(&self) -> &'static str {
        "poa-seals-once"
    }

    fn on_step(&mut self, network: &Network, step: &Step) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let head = replica.head();
        if self.seen.insert(replica.id(), head.hash) == Some(head.hash) {
            return Ok(());
        }
        let block = replica.chain().head().block();
        let author = block.header().beneficiary;
        let owner = network.replicas().iter().find(|replica| replica.address() == Some(author));
        if owner.is_none_or(|owner| !network.is_honest(owner.id())) {
            return Ok(());
        }
        let first = *self.sealed.entry((head.height.get(), author)).or_insert(head.hash);
        if first == head.hash {
            return Ok(());
        }
        let detail = format!("honest {author} sealed {first} and {} at height {}", head.hash, head.height);
        Err(Violation::new(self.name(), network, detail))
    }
}
