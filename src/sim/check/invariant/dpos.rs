//! Invariants of chains with elected producers, computed independently from headers and payloads.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Invariant, Violation, honest};
use crate::{
    chain::Block,
    consensus::{
        AnyProtocol, BlockId, ConsensusConfig,
        dpos::{Confirmation, Dpos, FinalityRule, HeaderContext, Payload, Prepared},
    },
    primitives::{Address, B256, Height},
    sim::network::{Network, replica::Replica, step::SimStep},
};

/// No honest producer confirms a height twice on whatever branches (`dpos-confirms-once`), makes two blocks in one slot
/// (`dpos-one-block-a-slot`), or implies a lower prepared height than before (`dpos-lock-kept`).
#[derive(Clone, Debug, Default)]
pub struct ConfirmationsConsistent {
    seen: BTreeSet<B256>,
    words: BTreeMap<Address, Confirmations>,
}

/// Confirmations of a producer.
#[derive(Clone, Debug, Default)]
struct Confirmations {
    confirmed: BTreeSet<u64>,
    /// Blocks by the start of their slot.
    made: BTreeMap<u64, B256>,
    /// What it implied, by the height of its block.
    implied: BTreeMap<u64, Prepared>,
}

/// Blocks are made by the owners of their slots (`dpos-slot-owner`), schedules come into force when the block that proposed them
/// is irreversible (`dpos-schedule-due`), heights are prepared by `2n/3 + 1` confirmations (`dpos-prepared-by-quorum`) and irreversible
/// by as many votes (`dpos-irreversible-by-two-thirds`; not by the classic rule, under which votes need no run of confirmations).
#[derive(Clone, Debug, Default)]
pub struct Schedules {
    seen: BTreeSet<B256>,
}

impl Invariant for ConfirmationsConsistent {
    fn name(&self) -> &'static str {
        "dpos-confirms-once"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["dpos-confirms-once", "dpos-one-block-a-slot", "dpos-lock-kept"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((replica, _)) = producer_of(network, step) else { return Ok(()) };
        // It may not have sent its own newest block yet.
        let head = replica.chain().head().block();
        if Some(head.header().beneficiary) == replica.address() {
            return Ok(());
        }
        for block in unseen(replica, &mut self.seen) {
            let author = block.header().beneficiary;
            if !is_honest_author(network, author) {
                continue;
            }
            self.check(network, &block)?;
        }
        Ok(())
    }
}

impl ConfirmationsConsistent {
    /// Excludes a block from the check.
    #[cfg(test)]
    pub(crate) fn overlook(&mut self, block: B256) {
        self.seen.insert(block);
    }

    fn check(&mut self, network: &Network, block: &Block) -> Result<(), Violation> {
        let (author, top) = (block.header().beneficiary, block.height().get());
        let word = self.words.entry(author).or_default();
        let is_on_demand = network.config().period().is_zero();
        let at = if is_on_demand { top } else { block.timestamp().as_secs() };
        let other = word.made.insert(at, block.hash());
        if let Some(other) = other.filter(|other| *other != block.hash()) {
            let detail = format!("honest {author} made blocks {other} and {} in one slot, at {at}", block.hash());
            return Err(Violation::new("dpos-one-block-a-slot", network, detail));
        }
        let Ok(Some(vote)) = Confirmation::of_header(block.header()) else { return Ok(()) };
        for height in vote.first(block.height()).get()..=top {
            if !word.confirmed.insert(height) {
                let detail = format!("honest {author} confirms height {height} for the second time with block {top}");
                return Err(Violation::new(self.name(), network, detail));
            }
        }
        let has_lock =
            matches!(network.config(), ConsensusConfig::Dpos(config) if config.finality() == FinalityRule::Locked);
        word.implied.insert(top, vote.implied);
        // Branches may arrive in another order than they were made.
        let before = word.implied.range(..top).next_back().filter(|(_, before)| **before > vote.implied);
        let after = word.implied.range(top + 1..).next().filter(|(_, after)| **after < vote.implied);
        if let Some((other, implied)) = before.or(after).filter(|_| has_lock) {
            let detail = format!(
                "honest {author} implies {:?} with block {top} and {implied:?} with block {other}",
                vote.implied
            );
            return Err(Violation::new("dpos-lock-kept", network, detail));
        }
        Ok(())
    }
}

impl Invariant for Schedules {
    fn name(&self) -> &'static str {
        "dpos-slot-owner"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["dpos-slot-owner", "dpos-schedule-due", "dpos-prepared-by-quorum", "dpos-irreversible-by-two-thirds"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((replica, dpos)) = producer_of(network, step) else { return Ok(()) };
        let ConsensusConfig::Dpos(config) = network.config() else { return Ok(()) };
        for block in unseen(replica, &mut self.seen) {
            let id = BlockId::of(&block);
            let (Some(before), Some(after)) = (dpos.context_of(&BlockId::parent_of(&block)), dpos.context_of(&id))
            else {
                continue;
            };
            let schedule = before.state.active();
            let owner = schedule.producers().members()[schedule.producer_at(after.slot, config)].address;
            let author = block.header().beneficiary;
            if author != owner {
                let detail = format!("{} took {id} of {author} in slot {} of {owner}", replica.id(), after.slot);
                return Err(Violation::new(self.name(), network, detail));
            }
            if let Some((invariant, detail)) = broken(replica, &block, before, after) {
                return Err(Violation::new(invariant, network, format!("{} has {id}: {detail}", replica.id())));
            }
        }
        Ok(())
    }
}

/// Returns the rule that a block of a replica's chain violates.
fn broken(
    replica: &Replica,
    block: &Block,
    before: &HeaderContext,
    after: &HeaderContext,
) -> Option<(&'static str, String)> {
    let (old, new) = (before.state.progress(), after.state.progress());
    let producers = before.state.active().producers().len();
    let payload = Payload::decode(block.protocol_payload()).ok()?;
    if payload.activates.is_some() {
        let proposed_at = before.state.pending().map_or(block.height(), |pending| pending.proposed_at);
        if new.irreversible() < proposed_at {
            let detail =
                format!("it activates what was proposed at {proposed_at}, irreversible is {}", new.irreversible());
            return Some(("dpos-schedule-due", detail));
        }
    }
    if new.prepared() > old.prepared() && payload.activates.is_none() {
        let confirmers = confirmers(replica, block, new.prepared(), before).len();
        if confirmers <= producers * 2 / 3 {
            let detail = format!("{confirmers} of {producers} producers prepared height {}", new.prepared());
            return Some(("dpos-prepared-by-quorum", detail));
        }
    }
    let has_runs = new.rule() == FinalityRule::Locked;
    if new.irreversible() > old.irreversible() && payload.activates.is_none() && has_runs {
        let votes = voters(replica, block, new.irreversible(), before).len();
        let needed = producers - producers.saturating_sub(1) / 3;
        if votes < needed {
            let detail = format!("{votes} of {producers} producers voted for height {}", new.irreversible());
            return Some(("dpos-irreversible-by-two-thirds", detail));
        }
    }
    None
}

/// Returns the producers of the schedule whose newest votes, in blocks from `block` down, include `height`.
fn voters(replica: &Replica, block: &Block, height: Height, link: &HeaderContext) -> BTreeSet<Address> {
    let (producers, version) = (link.state.active().producers(), link.state.active().version());
    // By author the ranges, newest first, and what the block implies.
    let mut ranges: BTreeMap<Address, Vec<(Height, Height, Prepared)>> = BTreeMap::new();
    let mut next = Some(Arc::new(block.clone()));
    while let Some(block) = next.filter(|block| block.height() >= height) {
        if let Ok(Some(vote)) = Confirmation::of_header(block.header()) {
            let range = (vote.first(block.height()), block.height(), vote.implied);
            ranges.entry(block.header().beneficiary).or_default().push(range);
        }
        next = replica.chain().block(block.parent_hash()).ok().map(|executed| executed.block().clone());
    }
    let votes_for_it = |ranges: &[(Height, Height, Prepared)]| {
        for (place, (first, _, implied)) in ranges.iter().enumerate() {
            let mut since = *first;
            for (first, top, _) in &ranges[place + 1..] {
                if top.next() < since {
                    break;
                }
                since = *first;
            }
            let is_vote = implied.version == version && implied.height >= since.max(height);
            if is_vote || since <= height {
                return is_vote && since <= height;
            }
        }
        false
    };
    let voters = ranges.into_iter().filter(|(author, ranges)| producers.contains(author) && votes_for_it(ranges));
    voters.map(|(author, _)| author).collect()
}

/// Returns the producers of the schedule whose blocks, from `block` down, confirm `height`.
fn confirmers(replica: &Replica, block: &Block, height: Height, link: &HeaderContext) -> BTreeSet<Address> {
    let mut found = BTreeSet::new();
    let mut next = Some(Arc::new(block.clone()));
    while let Some(block) = next.filter(|block| block.height() >= height) {
        let vote = Confirmation::of_header(block.header()).ok().flatten();
        let author = block.header().beneficiary;
        if vote.is_some_and(|vote| vote.first(block.height()) <= height)
            && link.state.active().producers().contains(&author)
        {
            found.insert(author);
        }
        next = replica.chain().block(block.parent_hash()).ok().map(|executed| executed.block().clone());
    }
    found
}

fn producer_of<'a>(network: &'a Network, step: &SimStep) -> Option<(&'a Replica, &'a Dpos)> {
    let replica = honest(network, step)?;
    let AnyProtocol::Dpos(dpos) = replica.protocol() else { return None };
    Some((replica, dpos))
}

fn is_honest_author(network: &Network, author: Address) -> bool {
    let named = network.replicas().iter().find(|replica| replica.address() == Some(author));
    named.is_some_and(|named| network.is_honest(named.id()))
}

/// Returns the blocks of a replica's chain that no replica had before, oldest first.
fn unseen(replica: &Replica, seen: &mut BTreeSet<B256>) -> Vec<Arc<Block>> {
    let mut new = Vec::new();
    let mut block = replica.chain().head().block().clone();
    while block.height() > Height::GENESIS && seen.insert(block.hash()) {
        let parent = block.parent_hash();
        new.push(block);
        let Ok(executed) = replica.chain().block(parent) else { break };
        block = executed.block().clone();
    }
    new.reverse();
    new
}
