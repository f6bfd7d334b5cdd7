//! What the properties ask of an exploration's states: of the replicas as they are, and of what was led and committed before.

use std::{collections::BTreeSet, sync::Arc};

use super::{REPLICAS, Slot, Table, View, has};
use crate::{
    consensus::model_check::{Interned, ReplicaKey},
    primitives::maps::LookupMap,
};

/// A history, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PastKey(u32);

/// The history that the properties read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Past {
    /// The leader of each term.
    leaders: Vec<Option<u8>>,
    /// The committed entries, with the term of their commitment.
    committed: Vec<(Slot, u64)>,
    two_leaders: bool,
    two_commits: bool,
}

impl Past {
    /// Records a leader and the committed entries.
    fn remember(&mut self, replica: usize, view: &View) {
        if view.is_leader {
            let term = view.term as usize;
            if self.leaders.len() <= term {
                self.leaders.resize(term + 1, None);
            }
            let first = *self.leaders[term].get_or_insert(replica as u8);
            self.two_leaders |= first != replica as u8;
        }
        for (place, slot) in view.log.iter().take(view.committed).enumerate() {
            let Some(slot) = slot else { continue };
            match self.committed.get(place) {
                Some((first, _)) => self.two_commits |= first != slot,
                None => self.committed.push((*slot, view.term)),
            }
        }
    }

    /// Whether a leader has what was committed in earlier terms.
    fn is_complete_at(&self, leader: &View) -> bool {
        let earlier = self.committed.iter().enumerate().filter(|(_, (_, by))| *by < leader.term);
        earlier.into_iter().all(|(place, (slot, _))| has(&leader.log, place, slot))
    }

    /// Whether a majority of the disks have what is committed.
    fn is_durable_in(&self, views: &[Arc<View>]) -> bool {
        self.committed.iter().enumerate().all(|(place, (slot, _))| {
            views.iter().filter(|view| has(&view.durable, place, slot)).count() * 2 > REPLICAS
        })
    }

    /// The committed blocks' terms.
    fn blocks(&self) -> impl Iterator<Item = u64> {
        self.committed.iter().filter(|((_, block), _)| block.is_some()).map(|((term, _), _)| *term)
    }
}

/// What the properties ask of the replicas and their history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Findings {
    pub(super) highest_term: u64,
    pub(super) is_election_safe: bool,
    pub(super) is_state_machine_safe: bool,
    pub(super) are_logs_matching: bool,
    pub(super) are_leaders_complete: bool,
    pub(super) is_committed_durable: bool,
    /// Entries of two terms are committed.
    pub(super) terms_commit: bool,
    /// Blocks of two terms are committed.
    pub(super) blocks_of_terms_commit: bool,
    pub(super) two_blocks_commit: bool,
    pub(super) is_tail_replaced: bool,
}

impl Findings {
    fn of(views: &[Arc<View>; REPLICAS], past: &Past) -> Self {
        let [first, second, third] = views;
        let pairs = [(first, second), (first, third), (second, third)];
        let are_two = |terms: BTreeSet<_>| terms.len() >= 2;
        Self {
            highest_term: first.term.max(second.term).max(third.term),
            is_election_safe: !past.two_leaders,
            is_state_machine_safe: !past.two_commits,
            are_logs_matching: pairs.iter().all(|(one, other)| is_matching(&one.log, &other.log)),
            are_leaders_complete: views.iter().filter(|view| view.is_leader).all(|leader| past.is_complete_at(leader)),
            is_committed_durable: past.is_durable_in(views),
            terms_commit: are_two(past.committed.iter().map(|((term, _), _)| *term).collect()),
            blocks_of_terms_commit: are_two(past.blocks().collect()),
            two_blocks_commit: past.blocks().count() >= 2,
            is_tail_replaced: pairs
                .iter()
                .any(|(one, other)| known_of_both(&one.log, &other.log).any(|(one, other)| one != other)),
        }
    }
}

/// The places that are known of two logs.
fn known_of_both(one: &[Option<Slot>], other: &[Option<Slot>]) -> impl Iterator<Item = (Slot, Slot)> {
    one.iter().zip(other).filter_map(|(one, other)| Some(((*one)?, (*other)?)))
}

/// Whether two logs are equal up to the last entry of an equal term.
fn is_matching(one: &[Option<Slot>], other: &[Option<Slot>]) -> bool {
    let common: Vec<_> = known_of_both(one, other).collect();
    let agreed = common.iter().rposition(|(one, other)| one.0 == other.0);
    agreed.is_none_or(|place| common[..=place].iter().all(|(one, other)| one == other))
}

/// All histories of the exploration so far, and what was found of them: states with other messages in flight have it in common.
pub(super) struct Histories {
    all: Interned<Past, Past>,
    /// The history after a replica came into a state.
    later: LookupMap<(PastKey, ReplicaKey), PastKey>,
    findings: LookupMap<([ReplicaKey; REPLICAS], PastKey), Findings>,
}

impl Histories {
    pub(super) fn new() -> Self {
        Self { all: Interned::new(), later: LookupMap::default(), findings: LookupMap::default() }
    }

    /// Nobody led, and nothing is committed.
    pub(super) fn first(&mut self) -> PastKey {
        self.key(Past::default())
    }

    /// The history after a replica came into the state of `key`.
    pub(super) fn later(&mut self, table: &Table, past: PastKey, replica: usize, key: ReplicaKey) -> PastKey {
        if let Some(known) = self.later.get(&(past, key)) {
            return *known;
        }
        let mut next = self.all.get(past.0).clone();
        next.remember(replica, &table.view(key));
        let next = self.key(next);
        self.later.insert((past, key), next);
        next
    }

    pub(super) fn findings(&mut self, table: &Table, replicas: [ReplicaKey; REPLICAS], past: PastKey) -> Findings {
        let Self { all, findings, .. } = self;
        let find = || Findings::of(&table.views(replicas), all.get(past.0));
        *findings.entry((replicas, past)).or_insert_with(find)
    }

    fn key(&mut self, past: Past) -> PastKey {
        PastKey(self.all.number(past.clone(), || past))
    }
}
