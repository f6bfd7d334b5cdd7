//! What must hold of Raft at every moment (Ongaro and Ousterhout, figure 3).

use std::{collections::BTreeMap, sync::Arc};

use super::{Invariant, Violation, honest};
use crate::{
    consensus::{
        Machine, ReplicaId,
        raft::{Entry, Membership, Raft},
    },
    primitives::B256,
    sim::network::{Network, step::SimStep},
};

/// The Raft of the replica that a step was of.
fn stepped<'a>(network: &'a Network, step: &SimStep) -> Option<(ReplicaId, &'a Raft)> {
    let replica = honest(network, step)?;
    match replica.protocol() {
        Machine::Raft(raft) => Some((replica.id(), raft)),
        _ => None,
    }
}

/// At most one leader in a term.
#[derive(Clone, Debug, Default)]
pub struct ElectionSafety {
    leaders: BTreeMap<u64, ReplicaId>,
}

impl Invariant for ElectionSafety {
    fn name(&self) -> &'static str {
        "raft-election-safety"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((id, raft)) = stepped(network, step).filter(|(_, raft)| raft.is_leader()) else { return Ok(()) };
        match *self.leaders.entry(raft.term()).or_insert(id) {
            first if first != id => {
                let detail = format!("{first} and {id} both lead in term {}", raft.term());
                Err(Violation::new(self.name(), network, detail))
            }
            _ => Ok(()),
        }
    }
}

/// Logs that have an entry of one index and term have the same up to it.
#[derive(Clone, Debug, Default)]
pub struct LogMatching {
    /// For each index and term: the term of the entry before it, and its block.
    entries: BTreeMap<(u64, u64), (u64, Option<B256>)>,
    /// The terms of each replica's log as they were last seen, by index from 0.
    seen: BTreeMap<ReplicaId, Vec<u64>>,
}

impl Invariant for LogMatching {
    fn name(&self) -> &'static str {
        "raft-log-matching"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((id, raft)) = stepped(network, step) else { return Ok(()) };
        let seen = self.seen.entry(id).or_default();
        let (compacted, last) = (raft.compacted_index(), raft.last_index());
        seen.resize(last as usize + 1, 0);
        // What changed is at the end of the log: back to the first entry that was here before.
        for index in (compacted + 1..=last).rev() {
            let Some(Entry { term, block, .. }) = raft.entry(index) else { break };
            if seen[index as usize] == *term {
                break;
            }
            seen[index as usize] = *term;
            // Of the entry at the compacted end the term is not known here; zero stands for any.
            let before = raft.entry(index - 1).map_or(0, |entry| entry.term);
            let block = block.as_ref().map(|block| block.hash());
            let known = self.entries.entry((index, *term)).or_insert((before, block));
            if known.0 == 0 {
                known.0 = before;
            }
            if (before != 0 && known.0 != before) || known.1 != block {
                let detail = format!(
                    "{id} has entry {index} of term {term} after term {before} with block {block:?}; another log has it \
                     after term {} with block {:?}",
                    known.0, known.1
                );
                return Err(Violation::new(self.name(), network, detail));
            }
        }
        Ok(())
    }
}

/// What is committed is in the log of every later leader, is the same everywhere, and is durable on a majority.
#[derive(Clone, Debug, Default)]
pub struct CommittedEntriesPersist {
    /// By index from 1: the term of each committed entry, and the term in which it was committed, which is later when it came
    /// with an entry of a later leader. Only leaders of terms after that one must have it (Raft, section 5.4.3).
    committed: Vec<(u64, u64)>,
    /// The newest term in which each replica was seen to lead.
    led: BTreeMap<ReplicaId, u64>,
    seen: BTreeMap<ReplicaId, (u64, u64)>,
    /// The members that each replica counted by before its step.
    members: BTreeMap<ReplicaId, Arc<Membership>>,
}

impl Invariant for CommittedEntriesPersist {
    fn name(&self) -> &'static str {
        "raft-state-machine-safety"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["raft-state-machine-safety", "raft-committed-durable", "raft-leader-completeness"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((id, raft)) = stepped(network, step) else { return Ok(()) };
        let restarts = network.replica(id).map_or(0, |replica| replica.counters().restarts);
        let before = match self.seen.insert(id, (restarts, raft.committed_index())) {
            Some((life, committed)) if life == restarts => committed,
            _ => raft.compacted_index(),
        };
        let counted_by = self.members.insert(id, raft.head_link().membership.clone());
        for index in before + 1..=raft.committed_index() {
            let Some(entry) = raft.entry(index) else { continue };
            match self.committed.get(index as usize - 1) {
                Some((term, _)) if *term != entry.term => {
                    let detail = format!(
                        "{id} commits entry {index} of term {}, which is committed with term {term} elsewhere",
                        entry.term
                    );
                    return Err(Violation::new(self.name(), network, detail));
                }
                Some(_) => {}
                None if self.committed.len() as u64 + 1 == index => {
                    is_durable(network, counted_by.as_deref(), index, entry.term)
                        .map_err(|detail| Violation::new("raft-committed-durable", network, detail))?;
                    self.committed.push((entry.term, raft.term()));
                }
                None => {}
            }
        }
        if raft.is_leader() && self.led.insert(id, raft.term()) != Some(raft.term()) {
            return self
                .is_complete(id, raft)
                .map_err(|detail| Violation::new("raft-leader-completeness", network, detail));
        }
        Ok(())
    }
}

impl CommittedEntriesPersist {
    fn is_complete(&self, id: ReplicaId, raft: &Raft) -> Result<(), String> {
        for (index, (term, in_term)) in (1..).zip(&self.committed) {
            let has = raft.entry(index).map(|entry| entry.term);
            let is_here = index <= raft.compacted_index() || has == Some(*term);
            if *in_term < raft.term() && !is_here {
                return Err(format!(
                    "{id} leads in term {} without committed entry {index} of term {term}; it has {has:?}",
                    raft.term()
                ));
            }
        }
        Ok(())
    }
}

/// Whether a majority of the voters has an entry where no crash takes it. A change of the members is committed by those before it
/// and in force in the same step, and a new leader may not know yet that it is committed: `counted_by` are those that the
/// replica knew before its step, and who is a block behind still knows them too.
fn is_durable(network: &Network, counted_by: Option<&Membership>, index: u64, term: u64) -> Result<(), String> {
    let rafts: Vec<_> = network
        .replicas()
        .iter()
        .filter_map(|replica| match replica.protocol() {
            Machine::Raft(raft) => Some((replica.id(), raft.as_ref())),
            _ => None,
        })
        .collect();
    let height = |raft: &Raft| raft.head_link().block.height;
    let Some(newest) = rafts.iter().map(|(_, raft)| height(raft)).max() else { return Ok(()) };
    let recent = rafts.iter().filter(|(_, raft)| height(raft).next() >= newest).map(|(_, raft)| raft.membership());
    let recent = recent.chain(counted_by);
    let has = |raft: &Raft| {
        raft.durable_index() >= index
            && (index <= raft.compacted_index() || raft.entry(index).is_some_and(|entry| entry.term == term))
    };
    let mut wrong = None;
    for members in recent {
        let voters = members.incoming();
        let have = rafts.iter().filter(|(id, raft)| voters.contains(id) && has(raft)).count();
        if members.is_joint() || 2 * have > voters.len() {
            return Ok(());
        }
        wrong =
            Some(format!("entry {index} of term {term} is committed and durable on {have} of {} voters", voters.len()));
    }
    wrong.map_or(Ok(()), Err)
}
