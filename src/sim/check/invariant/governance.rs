//! Proposals go by their votes and take effect once.

use std::collections::BTreeMap;

use super::{Invariant, Violation, adopted::Adopted, honest};
use crate::{
    chain::{Chain, ExecutedBlock, SystemViewError},
    primitives::{Address, B256},
    sim::network::{Network, step::SimStep},
    system::{
        ParameterUpdate,
        governance::{
            FINAL_PER_BLOCK, GOVERNANCE_ADDRESS, ProposalAction, ProposalRecord, ProposalState, Tally, VoteOption,
        },
        modules::ModuleRecord,
    },
};

/// Blocks whose proposals are remembered.
const KNOWN_MAX: usize = 64;

/// On a chain with governance, each block that an honest replica adopts, beside its parent:
///
/// - changes proposals by the table of their states alone: an open one ends in the first block that is not before its end (some wait, where too
///   many end in one block), by what its votes say; one that has ended stays as it is, and terms never change (`governance-transitions`);
/// - has in each tally the sum of the votes that the validators of genesis and the candidates cast, each within the voter's weight, all of them
///   within all weight (`governance-tallies`);
/// - schedules parameters and changes modules by the proposals that it executes, by all of them and by nothing else, where they belong to
///   the governance (`governance-executed-once`).
///
/// That replicas agree on it at a height follows from their states' roots.
#[derive(Clone, Debug, Default)]
pub struct ProposalsDecided {
    adopted: Adopted,
    known: BTreeMap<(u64, B256), Vec<ProposalRecord>>,
    executed: u64,
}

impl ProposalsDecided {
    /// Returns the number of executed proposals that were checked.
    pub const fn executed(&self) -> u64 {
        self.executed
    }

    fn records(&mut self, chain: &Chain, block: &ExecutedBlock) -> Result<Vec<ProposalRecord>, SystemViewError> {
        let key = (block.height().get(), block.hash());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let records = chain.proposals(block, 1, u64::MAX)?;
        self.known.insert(key, records.clone());
        if self.known.len() > KNOWN_MAX {
            self.known.pop_first();
        }
        Ok(records)
    }

    /// Returns the invariant that a block violates, and how.
    fn check(
        &mut self,
        (chain, voters): (&Chain, &[Address]),
        (parent, block): (&ExecutedBlock, &ExecutedBlock),
    ) -> Result<Option<(&'static str, String)>, SystemViewError> {
        let (before, after) = (self.records(chain, parent)?, self.records(chain, block)?);
        if let Some(wrong) = wrong_transition(&before, &after, block) {
            return Ok(Some(("governance-transitions", wrong)));
        }
        for (place, record) in after.iter().enumerate() {
            let is_new = before.get(place).is_none_or(|earlier| earlier.tally != record.tally);
            if is_new && let Some(wrong) = wrong_tally(chain, block, record, voters)? {
                return Ok(Some(("governance-tallies", format!("proposal {}: {wrong}", record.id))));
            }
        }
        let now: Vec<_> = ended(&before, &after).filter(|record| record.state == ProposalState::Executed).collect();
        self.executed += now.len() as u64;
        Ok(wrong_effect(chain, (parent, block), &now)?.map(|wrong| ("governance-executed-once", wrong)))
    }
}

impl Invariant for ProposalsDecided {
    fn name(&self) -> &'static str {
        "governance-transitions"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["governance-transitions", "governance-tallies", "governance-executed-once"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let chain = replica.chain();
        if !chain.has_governance() {
            return Ok(());
        }
        let unread =
            |error: String| Violation::new("governance-transitions", network, format!("{}: {error}", replica.id()));
        let blocks = self.adopted.new_of(replica).map_err(|error| unread(error.to_string()))?;
        let voters: Vec<Address> = network.replicas().iter().filter_map(|one| one.address()).collect();
        for (parent, block) in blocks {
            let violation = |name, wrong| {
                let detail = format!("{} at height {}: {wrong}", replica.id(), block.height());
                Violation::new(name, network, detail)
            };
            match self.check((chain, &voters), (&parent, &block)) {
                Ok(None) => {}
                Ok(Some((name, wrong))) => return Err(violation(name, wrong)),
                Err(error) => return Err(violation(self.name(), format!("proposals can't be read: {error}"))),
            }
        }
        Ok(())
    }
}

/// Returns the proposals that ended in the block between these records.
fn ended<'a>(before: &'a [ProposalRecord], after: &'a [ProposalRecord]) -> impl Iterator<Item = &'a ProposalRecord> {
    before.iter().zip(after).filter(|(was, is)| was.state != is.state).map(|(_, is)| is)
}

fn wrong_transition(before: &[ProposalRecord], after: &[ProposalRecord], block: &ExecutedBlock) -> Option<String> {
    let (height, time) = (block.height(), block.block().timestamp());
    if !(1..).zip(after).all(|(id, record)| record.id == id) || after.len() < before.len() {
        return Some(format!("{} proposals after {}", after.len(), before.len()));
    }
    let counted = ended(before, after).filter(|record| record.state != ProposalState::Canceled).count();
    let is_full = counted >= FINAL_PER_BLOCK as usize;
    for (was, is) in before.iter().zip(after) {
        let id = is.id;
        let terms = |record: &ProposalRecord| {
            let ProposalRecord { proposer, action, height, submitted_at, ends_at, rules, total_weight, .. } =
                record.clone();
            (proposer, action, height, submitted_at, ends_at, rules, total_weight)
        };
        if terms(was) != terms(is) {
            return Some(format!("the terms of proposal {id} changed"));
        }
        let wrong = match (was.state, is.state) {
            (ProposalState::Active, ProposalState::Active) => is.ends_at <= time && !is_full,
            (ProposalState::Active, ProposalState::Canceled) => was.tally != Tally::default(),
            (ProposalState::Active, state) => {
                is.ends_at > time
                    || is.tally != was.tally
                    || outcome(is) != decided(state)
                    || is.finalized.map(|(at, _)| at) != Some(height)
            }
            (earlier, later) => earlier != later || was.tally != is.tally || was.finalized != is.finalized,
        };
        if wrong {
            let (from, to, ends, tally) = (was.state, is.state, is.ends_at, is.tally);
            return Some(format!(
                "proposal {id} goes from {from:?} to {to:?} at {time}; it ends at {ends}, with {tally:?}"
            ));
        }
    }
    let is_begun = |record: &ProposalRecord| {
        record.height == height && matches!(record.state, ProposalState::Active | ProposalState::Canceled)
    };
    let wrong = after[before.len()..].iter().find(|record| !is_begun(record))?;
    Some(format!("proposal {} begins as {:?}, of height {}", wrong.id, wrong.state, wrong.height))
}

/// Whether a state follows from a passed vote; `None` for one that follows from none.
const fn decided(state: ProposalState) -> Option<ProposalState> {
    match state {
        ProposalState::Executed | ProposalState::Failed => Some(ProposalState::Passed),
        ProposalState::Rejected | ProposalState::Vetoed | ProposalState::Expired => Some(state),
        _ => None,
    }
}

/// Returns what the votes say, by fractions (docs/governance.md).
fn outcome(record: &ProposalRecord) -> Option<ProposalState> {
    let Tally { yes, abstain, no, veto } = record.tally;
    let [yes, abstain, no, veto] = [yes, abstain, no, veto].map(|weight| weight.saturating_mul(1_000));
    let voted = (yes + abstain + no + veto) / 1_000;
    let rules = record.rules;
    let part = |whole: u128, permille: u16| whole.saturating_mul(permille.into());
    Some(if voted * 1_000 < part(record.total_weight, rules.quorum_permille) {
        ProposalState::Expired
    } else if veto > part(voted, rules.veto_permille) {
        ProposalState::Vetoed
    } else if yes > part(voted - abstain / 1_000, rules.threshold_permille) {
        ProposalState::Passed
    } else {
        ProposalState::Rejected
    })
}

fn wrong_tally(
    chain: &Chain,
    block: &ExecutedBlock,
    record: &ProposalRecord,
    voters: &[Address],
) -> Result<Option<String>, SystemViewError> {
    let mut sum = Tally::default();
    for voter in voters {
        let Some(vote) = chain.vote_of(block, record.id, *voter)? else { continue };
        let power = chain.voting_power(block, record.id, *voter)?;
        if vote.weight > power || vote.weight == 0 {
            return Ok(Some(format!("{voter} voted with {} of {power}", vote.weight)));
        }
        *sum.of(vote.option) += vote.weight;
    }
    let (tally, total) = (record.tally, record.total_weight);
    let wrong = sum != tally || VoteOption::ALL.into_iter().map(|option| *sum.of(option)).sum::<u128>() > total;
    Ok(wrong.then(|| format!("its tally is {tally:?} of {total}, its votes are {sum:?}")))
}

/// Returns what a block scheduled or switched otherwise than by the proposals that it executed.
fn wrong_effect(
    chain: &Chain,
    (parent, block): (&ExecutedBlock, &ExecutedBlock),
    executed: &[&ProposalRecord],
) -> Result<Option<String>, SystemViewError> {
    let spec = chain.spec();
    if spec.parameters.is_some_and(|section| section.owner == GOVERNANCE_ADDRESS) {
        let wanted: Vec<ParameterUpdate> = executed
            .iter()
            .filter_map(|record| match &record.action {
                ProposalAction::ParameterChange(updates) => Some(updates),
                _ => None,
            })
            .flat_map(|updates| updates.iter().copied())
            .collect();
        let (waited, waits) = (&parent.updates().parameters, &block.updates().parameters);
        let taken = block.block().parameters();
        for update in waits.iter() {
            let stays = taken.is_empty() && waited.iter().any(|earlier| earlier == update);
            if !stays && !wanted.contains(update) {
                return Ok(Some(format!("{update:?} waits, which no proposal of this block has")));
            }
        }
        for update in &wanted {
            // A later proposal of the same block may have replaced it.
            let is_there =
                waits.iter().any(|waiting| waiting.parameter == update.parameter && wanted.contains(waiting));
            if !is_there {
                return Ok(Some(format!("{update:?} is executed and does not wait")));
            }
        }
    }
    if spec.modules.as_ref().is_some_and(|section| section.authority == GOVERNANCE_ADDRESS) {
        let mut want: Vec<ModuleRecord> = chain.modules(parent)?;
        for record in executed {
            switch(&mut want, record, block);
        }
        let got = chain.modules(block)?;
        if got != want {
            return Ok(Some(format!("modules are {got:?}; by the proposals they would be {want:?}")));
        }
    }
    Ok(None)
}

/// Does to modules what an executed proposal does.
fn switch(modules: &mut Vec<ModuleRecord>, record: &ProposalRecord, block: &ExecutedBlock) {
    let since = block.height();
    match &record.action {
        ProposalAction::ModuleEnable { name, version, config_hash } => {
            let enabled = ModuleRecord {
                name: name.clone(),
                version: *version,
                config_hash: *config_hash,
                is_enabled: true,
                since,
            };
            match modules.iter_mut().find(|module| module.name == *name) {
                Some(module) if (ModuleRecord { since: module.since, ..enabled.clone() }) == *module => {}
                Some(module) => *module = enabled,
                None => modules.push(enabled),
            }
        }
        ProposalAction::ModuleDisable { name } => {
            if let Some(module) = modules.iter_mut().find(|module| module.name == *name && module.is_enabled) {
                (module.is_enabled, module.since) = (false, since);
            }
        }
        _ => {}
    }
}
