//! A second implementation of EIP-225, from headers and payloads alone: signers, open votes, the heaviest branch. Signers change by votes or,
//! where the validators' contract is, by what it changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Invariant, Violation, honest};
use crate::{
    chain::Block,
    consensus::{
        AnyProtocol, ConsensusConfig, Purpose, ReplicaId,
        poa::{Payload, PoaConfig},
    },
    primitives::{Address, B256, U256},
    sim::network::{Network, replica::Replica, step::SimStep},
};

/// Heads follow the rules of Clique, whatever the votes changed: seals of signers (`poa-seal`), the signer limit
/// (`poa-signer-limit`), difficulties (`poa-difficulty`), the period (`poa-period`), signers and open votes as their rules
/// leave them (`poa-votes`); and a running replica leaves its head for a heavier one only (`poa-heaviest`).
#[derive(Clone, Debug, Default)]
pub(super) struct CliqueReferenceMatch {
    /// State after each block.
    known: BTreeMap<B256, Arc<ReferenceState>>,
    /// Restarts and head of each replica at its last step.
    seen: BTreeMap<ReplicaId, (u64, B256)>,
}

/// State after a block, in the simplest representation.
#[derive(Clone, Debug)]
struct ReferenceState {
    height: u64,
    time: u64,
    weight: U256,
    signers: BTreeSet<Address>,
    /// Authors of the last blocks, oldest first: as many as may bar a signer when one joins.
    authors: Vec<Address>,
    /// Open votes: voter, target, and whether to add or remove it.
    votes: BTreeMap<(Address, Address), bool>,
}

impl Invariant for CliqueReferenceMatch {
    fn name(&self) -> &'static str {
        "poa-votes"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["poa-votes", "poa-seal", "poa-signer-limit", "poa-difficulty", "poa-period", "poa-heaviest"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let (AnyProtocol::Poa(poa), ConsensusConfig::Poa(config)) = (replica.protocol(), network.config()) else {
            return Ok(());
        };
        let now = (replica.counters().restarts, replica.head().hash);
        let before = self.seen.insert(replica.id(), now);
        if before == Some(now) {
            return Ok(());
        }
        let broken = |name, detail: String| Err(Violation::new(name, network, format!("{}: {detail}", replica.id())));
        let head = match self.retell(network, replica, config) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(()),
            Err((name, detail)) => return broken(name, detail),
        };
        let own = poa.snapshot();
        if !own.signers().addresses().eq(head.signers.iter().copied()) {
            let detail = format!("signers after block {} are not {:?}", head.height, head.signers);
            return broken(self.name(), detail);
        }
        let open = own.votes().iter().map(|open| ((open.signer, open.vote.target), open.vote.authorize));
        if open.collect::<BTreeMap<_, _>>() != head.votes {
            let detail = format!("open votes after block {} are not {:?}", head.height, head.votes);
            return broken(self.name(), detail);
        }
        let left = before.filter(|(restarts, _)| *restarts == now.0).and_then(|(_, hash)| self.known.get(&hash));
        match left {
            Some(left) if left.weight > head.weight => {
                broken("poa-heaviest", format!("left a head of weight {} for one of {}", left.weight, head.weight))
            }
            _ => Ok(()),
        }
    }
}

impl CliqueReferenceMatch {
    /// Returns the state after the replica's head; `None` when its chain does not reach back to a known block.
    fn retell(
        &mut self,
        network: &Network,
        replica: &Replica,
        config: &PoaConfig,
    ) -> Result<Option<Arc<ReferenceState>>, (&'static str, String)> {
        let mut waiting = Vec::new();
        let mut hash = replica.head().hash;
        let mut last = loop {
            if let Some(known) = self.known.get(&hash) {
                break known.clone();
            }
            let Ok(entry) = replica.chain().block(hash) else { return Ok(None) };
            let block = entry.block().clone();
            if block.height().get() == 0 {
                break Arc::new(ReferenceState {
                    height: 0,
                    time: block.timestamp().as_secs(),
                    weight: U256::ZERO,
                    signers: network.genesis_validators().addresses().collect(),
                    authors: Vec::new(),
                    votes: BTreeMap::new(),
                });
            }
            hash = block.parent_hash();
            waiting.push(block);
        };
        for block in waiting.iter().rev() {
            let author = network.authenticator().author(Purpose::Block, block.hash(), block.seal());
            if author != Ok(block.header().beneficiary) {
                return Err(("poa-seal", format!("block {} is not sealed by its author", block.height())));
            }
            last = Arc::new(last.after(block, config)?);
            self.known.insert(block.hash(), last.clone());
        }
        Ok(Some(last))
    }
}

impl ReferenceState {
    fn after(&self, block: &Block, config: &PoaConfig) -> Result<Self, (&'static str, String)> {
        let (height, author) = (block.height().get(), block.header().beneficiary);
        let count = self.signers.len();
        let Some(index) = self.signers.iter().position(|signer| *signer == author) else {
            return Err(("poa-seal", format!("block {height} is of {author}, who is no signer")));
        };
        if self.authors.iter().rev().take(count / 2).any(|earlier| *earlier == author) {
            return Err(("poa-signer-limit", format!("{author} signs block {height} and one of {} before", count / 2)));
        }
        let want = U256::from(if height % count as u64 == index as u64 { 2 } else { 1 });
        let got = block.header().difficulty;
        if got != want {
            return Err(("poa-difficulty", format!("block {height} has difficulty {got} in place of {want}")));
        }
        let time = block.timestamp().as_secs();
        if time < self.time + config.period {
            return Err(("poa-period", format!("block {height} at {time} follows one at {}", self.time)));
        }
        let mut next = Self { height, time, weight: self.weight + want, ..self.clone() };
        next.authors.push(author);
        if height.is_multiple_of(config.epoch) {
            next.votes.clear();
        }
        let Ok(payload) = Payload::decode(block.protocol_payload()) else {
            return Err(("poa-votes", format!("payload of block {height} does not decode")));
        };
        if let Some(vote) = payload.vote {
            next.cast(author, vote.target, vote.authorize);
        }
        for change in &payload.changes {
            match change.weight {
                0 => next.signers.remove(&change.address),
                _ => next.signers.insert(change.address),
            };
        }
        // Where many join at once, signatures from before the limit of the earlier set bar nobody.
        let forgotten = next.authors.len().saturating_sub(next.signers.len() / 2 + 1);
        next.authors.drain(..forgotten);
        Ok(next)
    }

    /// Applies one vote, and the change that it completes.
    fn cast(&mut self, voter: Address, target: Address, authorize: bool) {
        self.votes.remove(&(voter, target));
        if self.signers.contains(&target) == authorize {
            return;
        }
        self.votes.insert((voter, target), authorize);
        let votes = self.votes.keys().filter(|(_, about)| *about == target).count();
        if votes * 2 <= self.signers.len() {
            return;
        }
        self.votes.retain(|(_, about), _| *about != target);
        if authorize {
            self.signers.insert(target);
        } else {
            self.signers.remove(&target);
            self.votes.retain(|(by, _), _| *by != target);
        }
    }
}
