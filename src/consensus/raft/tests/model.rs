//! Model check of Raft's own step function: three replicas, two terms, two elections, a log of up to five entries
//! (three of them blocks), one crash at any moment, also between two writes, every order and loss of a bounded number of
//! messages in flight; without and with changes of the members.
//!
//! Two abstractions keep the exploration small, and both allow more than Raft does. Time is not modelled: an election timeout and a
//! lease may expire at any moment. And with [`Bounds::is_brief`] a pre-vote is always won (it only ever prevents
//! an election) and heartbeats are lost (any message may be).
//!
//! Replicas that start alike are symmetric: of two runs that differ by their names alone, one is explored ([`Names`]).

mod history;

use core::{hash, time::Duration};
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use stateright::{Checker, HasDiscoveries, Model, Property};

use self::history::{Findings, Histories, PastKey};
use super::{
    super::production::BuildState,
    super::*,
    cluster::{address, id, key},
};
use crate::{
    chain::Block,
    consensus::{
        Records,
        model_check::{EnvelopeKey, Input, Replica, ReplicaKey, Setup, TransitionTable, assert_states, post, take},
        mutation::Mutation,
        testing::Content,
    },
    primitives::{B256, Bytes, Header, maps::LookupMap},
};

const REPLICAS: usize = 3;

/// Bounds of the exploration.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The highest term.
    terms: u64,
    /// Candidacies.
    campaigns: u8,
    /// Blocks built.
    blocks: u8,
    crashes: u8,
    /// Messages in flight at one time; when there are more, any of them is lost.
    wire: usize,
    /// Without pre-votes and heartbeats.
    is_brief: bool,
    plan: Plan,
}

const BRIEF: Bounds =
    Bounds { terms: 2, campaigns: 2, blocks: 2, crashes: 1, wire: 2, is_brief: true, plan: Plan::SameMembers };

/// The voters at first, and what the blocks change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// All three, and nothing changes.
    SameMembers,
    /// Replica 0; block 1 adds replica 1, block 2 replica 2.
    AddOneByOne,
    /// All three; block 1 removes replica 2, block 2 replica 1.
    RemoveOneByOne,
    /// All three; block 1 removes replicas 1 and 2 through a joint configuration, which block 2 leaves.
    LeaveThroughJoint,
    /// Replicas 0 and 1; block 1 replaces replica 1 by 2 through a joint configuration, which block 2 leaves.
    SwapThroughJoint,
}

impl Plan {
    fn first_voters(self) -> usize {
        match self {
            Self::SameMembers | Self::RemoveOneByOne | Self::LeaveThroughJoint => 3,
            Self::AddOneByOne => 1,
            Self::SwapThroughJoint => 2,
        }
    }

    /// The change in the block at `height`; leaving a joint configuration needs no command.
    fn change_at(self, height: u64) -> Option<Change> {
        let assign = |number, role| Assignment { replica: id(number), address: address(number), role };
        let joint = |assignments| Some(Change::EnterJoint { assignments, auto_leave: true });
        match (self, height) {
            (Self::AddOneByOne, 1 | 2) => Some(Change::Simple(vec![assign(height as usize, Role::Voter)])),
            (Self::RemoveOneByOne, 1 | 2) => Some(Change::Simple(vec![assign(3 - height as usize, Role::Removed)])),
            (Self::LeaveThroughJoint, 1) => joint(vec![assign(1, Role::Removed), assign(2, Role::Removed)]),
            (Self::SwapThroughJoint, 1) => joint(vec![assign(1, Role::Removed), assign(2, Role::Voter)]),
            _ => None,
        }
    }
}

struct ThreeReplicas {
    authenticator: Authenticator,
    config: RaftConfig,
    genesis: (BlockId, Timestamp),
    members: Membership,
    is_brief: bool,
    plan: Plan,
}

/// The part of a replica's state that the properties read.
#[derive(Debug)]
struct View {
    term: u64,
    is_leader: bool,
    is_candidate: bool,
    log: Vec<Option<Slot>>,
    committed: usize,
    /// The durable log.
    durable: Vec<Option<Slot>>,
    wants_block: bool,
}

/// An entry's term and block.
type Slot = (u64, Option<B256>);

impl ThreeReplicas {
    fn new(Bounds { is_brief, plan, .. }: Bounds) -> Self {
        let genesis = Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new());
        Self {
            authenticator: Authenticator::symbolic(7),
            config: RaftConfig { inflight_max: 1, ..RaftConfig::default().with_period(Duration::ZERO) },
            genesis: (BlockId::of(&genesis), genesis.timestamp()),
            members: Membership::new((0..plan.first_voters()).map(|number| (id(number), address(number))), []),
            is_brief,
            plan,
        }
    }
}

/// The log from its first entry on; of what is compacted, only the last is known.
fn slots(raft: &Raft) -> Vec<Option<Slot>> {
    let base = raft.compacted_index();
    let slot = |index| match raft.entry(index) {
        Some(entry) => Some((entry.term, entry.block.as_ref().map(|block| block.hash()))),
        None if index == base => Some((raft.log.term(base)?, Some(raft.log.block_at_or_below(base).hash))),
        None => None,
    };
    (1..=raft.last_index()).map(slot).collect()
}

/// Whether a log has this slot at this place, as far as it is known.
fn has(log: &[Option<Slot>], place: usize, slot: &Slot) -> bool {
    log.get(place).is_some_and(|own| own.is_none_or(|own| own == *slot))
}

impl Setup for ThreeReplicas {
    const CRASHES: bool = true;
    const BUILDS_AT_ONCE: bool = false;
    type Protocol = Raft;
    type View = View;

    fn count(&self) -> u32 {
        REPLICAS as u32
    }

    fn is_stepped(&self, _number: u32) -> bool {
        true
    }

    fn recover(&self, number: u32, records: &Records) -> Raft {
        let signer = Some(self.authenticator.signer(&key(number as usize)));
        let (config, members) = (self.config.clone(), self.members.clone());
        Raft::recover(config, self.genesis, members, records, self.authenticator.clone(), signer).unwrap()
    }

    /// Every write is complete between two inputs, so that only a build's ticket can be pending.
    fn normalize(&self, replica: &mut Replica<Raft>) {
        let raft = &mut replica.protocol;
        assert_eq!(raft.log.newest_write(), None);
        let zero = Ticket::default();
        if let Some(request) = &mut replica.wanted {
            request.ticket = zero;
        }
        match &mut raft.state {
            ServerState::Candidate { own, .. } => *own = zero,
            ServerState::Leader(Leader { build_state: BuildState::Building(ticket), .. }) => *ticket = zero,
            _ => {}
        }
        // A lease may expire at any moment: a request that it refuses counts as lost.
        if !raft.is_leader() {
            raft.election_timeout = ElectionTimeout::Randomized;
        }
        raft.next_ticket = Ticket::new(1);
    }

    fn view(&self, replica: &Replica<Raft>) -> View {
        let raft = &replica.protocol;
        View {
            term: raft.term,
            is_leader: raft.is_leader(),
            is_candidate: matches!(raft.state, ServerState::Candidate { .. }),
            log: slots(raft),
            committed: raft.committed_index() as usize,
            durable: slots(&self.recover(replica.number, &replica.records)),
            wants_block: replica.wanted.is_some(),
        }
    }

    fn is_lost(&self, content: &Content) -> bool {
        let Content::Message(ConsensusMessage::Raft(RaftMessage { body, .. })) = content else { return false };
        self.is_brief && matches!(body, Body::Heartbeat { .. } | Body::RequestVote { pre: true, .. })
    }

    fn commands_before_build(&self, replica: &Replica<Raft>) -> Vec<Event> {
        let change = self.plan.change_at(replica.protocol.head().height.get() + 1);
        change.map(|change| Event::Admin(Admin::ChangeMembers(change))).into_iter().collect()
    }

    /// The election timeout expires; with [`Bounds::is_brief`] the pre-votes of the other voters arrive too.
    fn act(&self, replica: &Replica<Raft>) -> Vec<Event> {
        let (raft, timer) = (&replica.protocol, Event::Timer(ELECTION_TIMER));
        if !self.is_brief {
            return vec![timer];
        }
        let vote = RaftMessage { term: raft.term + 1, body: Body::Vote { pre: true, granted: true } };
        let others = raft.membership().members().into_iter().filter(|other| other.get() != replica.number);
        let votes = others.map(|from| Event::Message { from, message: ConsensusMessage::Raft(vote.clone()) });
        core::iter::once(timer).chain(votes).collect()
    }

    /// Replies to a role that this replica no longer has: it never becomes a candidate of its own term again.
    fn is_dead(&self, view: &View, content: &Content) -> bool {
        let Content::Message(ConsensusMessage::Raft(RaftMessage { term, body })) = content else { return false };
        match body {
            Body::RequestVote { pre: false, .. } => *term < view.term,
            Body::Vote { pre: false, .. } => *term < view.term || (*term == view.term && !view.is_candidate),
            Body::Appended { .. } | Body::AppendRejected { .. } | Body::HeartbeatResponse { .. } => {
                *term < view.term || (*term == view.term && !view.is_candidate && !view.is_leader)
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    replicas: [ReplicaKey; REPLICAS],
    /// Envelopes in flight, in order.
    wire: Vec<EnvelopeKey>,
    spent: Spent,
    past: PastKey,
    /// Of the replicas and the past.
    findings: Findings,
}

/// Without the findings, which follow from the rest.
impl hash::Hash for State {
    fn hash<H: hash::Hasher>(&self, hasher: &mut H) {
        hash::Hash::hash(&(self.replicas, &self.wire, &self.spent, self.past), hasher);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Spent {
    campaigns: u8,
    blocks: u8,
    crashes: u8,
}

type Table = TransitionTable<ThreeReplicas>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Step {
        replica: usize,
        input: Input,
        /// It crashes when so many of its writes are durable.
        cut: Option<u8>,
    },
    /// Loss of a message beyond the bound on messages in flight.
    Lose(EnvelopeKey),
}

/// Which runs are explored of those that are equal but for the names of the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// All of them.
    All,
    /// Replica 0 is the first candidate. Where the members stay the same, the others are symmetric: the first replica that crashes is not
    /// replica 2, and where none does, the second candidate is not.
    InOrder,
}

impl Names {
    fn may_campaign(self, replica: usize, bounds: Bounds, spent: &Spent) -> bool {
        let is_told_apart = bounds.crashes > 0 || bounds.plan != Plan::SameMembers || spent.campaigns > 1;
        match self {
            Self::All => true,
            Self::InOrder if spent.campaigns == 0 => replica == 0,
            Self::InOrder => is_told_apart || replica != 2,
        }
    }

    fn may_crash(self, replica: usize, bounds: Bounds, spent: &Spent) -> bool {
        self == Self::All || bounds.plan != Plan::SameMembers || spent.crashes > 0 || replica != 2
    }
}

struct RaftModel {
    table: Table,
    bounds: Bounds,
    names: Names,
    histories: Mutex<Histories>,
}

impl RaftModel {
    fn new(bounds: Bounds, mutation: Option<Mutation>) -> Self {
        let table = TransitionTable::new(ThreeReplicas::new(bounds), mutation);
        Self { table, bounds, names: Names::InOrder, histories: Mutex::new(Histories::new()) }
    }

    fn histories(&self) -> MutexGuard<'_, Histories> {
        self.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for RaftModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let replicas = [0, 1, 2].map(|number| self.table.first(number));
        let mut histories = self.histories();
        let past = histories.first();
        let findings = histories.findings(&self.table, replicas, past);
        vec![State { replicas, wire: Vec::new(), spent: Spent::default(), past, findings }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let (bounds, names, spent) = (self.bounds, self.names, &state.spent);
        let may_crash = |replica| spent.crashes < bounds.crashes && names.may_crash(replica, bounds, spent);
        if state.wire.len() > bounds.wire {
            let mut wire = state.wire.clone();
            wire.dedup();
            return actions.extend(wire.into_iter().map(Action::Lose));
        }
        let mut add = |replica, input| {
            actions.push(Action::Step { replica, input, cut: None });
            if may_crash(replica) && input != Input::Restart {
                let key = state.replicas[replica];
                let cuts = (0..u8::MAX).map(Some).take_while(|cut| self.table.step_cut(key, input, *cut).is_some());
                actions.extend(cuts.map(|cut| Action::Step { replica, input, cut }));
            }
        };
        let mut last = None;
        for envelope in &state.wire {
            if last.replace(*envelope) != Some(*envelope) {
                add(self.table.envelope(*envelope).to.index(), Input::Deliver(*envelope));
            }
        }
        for (replica, view) in self.table.views(state.replicas).iter().enumerate() {
            let is_out = spent.campaigns == bounds.campaigns || !names.may_campaign(replica, bounds, spent);
            if !is_out && !view.is_leader && view.term < bounds.terms {
                add(replica, Input::Act);
            }
            if view.wants_block && spent.blocks < bounds.blocks {
                add(replica, Input::Build);
            }
            if may_crash(replica) {
                add(replica, Input::Restart);
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let (replica, input, cut) = match action {
            Action::Lose(envelope) => {
                let mut next = state.clone();
                take(&mut next.wire, envelope);
                return Some(next);
            }
            Action::Step { replica, input, cut } => (replica, input, cut),
        };
        let before = state.replicas[replica];
        let outcome = self.table.step_cut(before, input, cut)?;
        let mut next = state.clone();
        match input {
            Input::Deliver(envelope) => take(&mut next.wire, envelope),
            Input::Act => next.spent.campaigns += 1,
            Input::Build => next.spent.blocks += 1,
            Input::Timer(_) => {}
            Input::Restart => next.spent.crashes += 1,
        }
        next.spent.crashes += u8::from(cut.is_some());
        next.replicas[replica] = outcome.replica;
        post(&mut next.wire, &outcome.sent);
        self.table.forget_dead(&next.replicas, &mut next.wire);
        let mut histories = self.histories();
        next.past = histories.later(&self.table, state.past, replica, outcome.replica);
        next.findings = histories.findings(&self.table, next.replicas, next.past);
        drop(histories);
        (next.findings.highest_term <= self.bounds.terms && next != *state).then_some(next)
    }

    fn format_action(&self, action: &Action) -> String {
        match action {
            Action::Lose(envelope) => format!("lost: {:?}", self.table.envelope(*envelope)),
            Action::Step { replica, input, cut } => {
                let crash = cut.map(|writes| format!(", and crashes after {writes} writes")).unwrap_or_default();
                match input {
                    Input::Deliver(envelope) => format!("{replica} takes {:?}{crash}", self.table.envelope(*envelope)),
                    input => format!("{replica}: {input:?}{crash}"),
                }
            }
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("election safety", |_, state: &State| state.findings.is_election_safe),
            Property::always("state-machine safety", |_, state: &State| state.findings.is_state_machine_safe),
            Property::always("log matching", |_, state: &State| state.findings.are_logs_matching),
            Property::always("leader completeness", |_, state: &State| state.findings.are_leaders_complete),
            Property::always("committed is durable", |model: &Self, state: &State| {
                // With other members, what is a majority depends on the configuration: leader completeness has it then.
                model.bounds.plan != Plan::SameMembers || state.findings.is_committed_durable
            }),
            Property::sometimes("two terms commit", |_, state: &State| state.findings.terms_commit),
            Property::sometimes("a crash, and blocks of two terms in the chain", |_, state: &State| {
                state.spent.crashes > 0 && state.findings.blocks_of_terms_commit
            }),
            Property::sometimes(
                "a crash, and two changes of the members are committed",
                |model: &Self, state: &State| {
                    model.bounds.plan != Plan::SameMembers
                        && state.spent.crashes > 0
                        && state.findings.two_blocks_commit
                },
            ),
            Property::sometimes("a log's tail is replaced", |_, state: &State| state.findings.is_tail_replaced),
        ]
    }
}

/// Explores all states within `bounds`, checks the properties and returns the number of states.
fn explore(bounds: Bounds) -> usize {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let checker = RaftModel::new(bounds, None).checker().threads(threads).spawn_bfs().join();
    let (replicas, steps) = checker.model().table.sizes();
    let unique = checker.unique_state_count();
    println!(
        "raft, {bounds:?}: all {unique} states explored ({} reached, {} inputs deep) from {steps} steps between \
         {replicas} states of single replicas",
        checker.state_count(),
        checker.max_depth(),
    );
    assert!(checker.is_done());
    checker.assert_no_discovery("election safety");
    checker.assert_no_discovery("state-machine safety");
    checker.assert_no_discovery("log matching");
    checker.assert_no_discovery("leader completeness");
    checker.assert_no_discovery("committed is durable");
    checker.assert_any_discovery("two terms commit");
    if bounds.plan == Plan::SameMembers {
        checker.assert_any_discovery("a log's tail is replaced");
    } else {
        checker.assert_any_discovery("a crash, and two changes of the members are committed");
    }
    if bounds.crashes > 0 && bounds.blocks > 1 {
        checker.assert_any_discovery("a crash, and blocks of two terms in the chain");
    }
    unique
}

#[test]
fn two_elections_two_blocks_and_a_crash() {
    assert_states(explore(BRIEF), 1_433_113);
}

#[test]
fn three_messages_in_flight() {
    assert_states(explore(Bounds { crashes: 0, wire: 3, ..BRIEF }), 727_924);
}

/// Figure 8 needs a third leader.
#[test]
fn three_terms_and_a_crash() {
    assert_states(explore(Bounds { terms: 3, campaigns: 3, blocks: 0, ..BRIEF }), 715_453);
}

#[test]
fn pre_votes_and_heartbeats_and_a_crash() {
    assert_states(explore(Bounds { blocks: 0, is_brief: false, ..BRIEF }), 372_900);
}

/// Bounds of an exploration with changes of the members.
const fn changing(plan: Plan) -> Bounds {
    Bounds { blocks: 3, plan, ..BRIEF }
}

#[test]
fn voters_are_added_one_by_one() {
    assert_states(explore(changing(Plan::AddOneByOne)), 274_166);
}

#[test]
fn voters_are_removed_one_by_one() {
    assert_states(explore(changing(Plan::RemoveOneByOne)), 671_692);
}

#[test]
fn voters_leave_through_a_joint_configuration() {
    assert_states(explore(Bounds { wire: 1, ..changing(Plan::LeaveThroughJoint) }), 24_420);
}

#[test]
fn a_voter_is_replaced_through_a_joint_configuration() {
    assert_states(explore(changing(Plan::SwapThroughJoint)), 123_235);
}

/// What is left of a state without the replicas' names.
type Nameless = (Spent, usize, Vec<String>);

/// All states within the bounds, without names, and how many there are with them.
fn nameless(bounds: Bounds, names: Names) -> (BTreeSet<Nameless>, usize) {
    let model = RaftModel { names, ..RaftModel::new(bounds, None) };
    let (mut open, mut known) = (model.init_states(), LookupMap::default());
    while let Some(state) = open.pop() {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        if known.insert(state.clone(), ()).is_none() {
            open.extend(actions.into_iter().filter_map(|action| model.next_state(&state, action)));
        }
    }
    let terms = |log: &[Option<Slot>]| -> Vec<_> {
        log.iter().map(|slot| slot.map(|(term, block)| (term, block.is_some()))).collect()
    };
    let replica = |view: &View| {
        let View { term, is_leader, is_candidate, log, committed, durable, wants_block } = view;
        format!("{:?}", (term, is_leader, is_candidate, terms(log), committed, terms(durable), wants_block))
    };
    let of_state = |state: &State| {
        let mut replicas: Vec<_> = model.table.views(state.replicas).iter().map(|view| replica(view)).collect();
        replicas.sort();
        (state.spent.clone(), state.wire.len(), replicas)
    };
    (known.keys().map(of_state).collect(), known.len())
}

#[test]
fn names_in_order_leave_out_nothing_but_names() {
    for bounds in [Bounds { blocks: 0, wire: 1, ..BRIEF }, Bounds { crashes: 0, blocks: 1, wire: 1, ..BRIEF }] {
        let ((all, of_all), (in_order, of_order)) = (nameless(bounds, Names::All), nameless(bounds, Names::InOrder));
        println!("{of_all} states, {of_order} with names in order, {} without names", all.len());
        assert!(in_order == all, "{:?} are left out", all.difference(&in_order).next());
        assert!(of_order * 3 < of_all, "{of_order} of {of_all}");
    }
}

/// Explores until a property fails; prints the way there.
fn find(bounds: Bounds, mutation: Mutation, property: &'static str) {
    let model = RaftModel::new(bounds, Some(mutation));
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    println!("after {} states:", checker.unique_state_count());
    let found = checker.discovery(property).unwrap_or_else(|| panic!("{property} holds under {mutation:?}"));
    for action in found.into_actions() {
        println!("  {}", checker.model().format_action(&action));
    }
}

#[test]
fn a_replica_that_votes_twice_breaks_election_safety() {
    find(BRIEF, Mutation::RaftVotesTwice, "election safety");
}

#[test]
fn a_replica_that_forgets_its_commit_index_leads_without_committed_entries() {
    find(changing(Plan::RemoveOneByOne), Mutation::RaftForgetsCommit, "leader completeness");
    let joint = Bounds { wire: 1, ..changing(Plan::LeaveThroughJoint) };
    find(joint, Mutation::RaftForgetsCommit, "leader completeness");
}

/// Minutes, and several gigabytes of memory: `scripts/model-check`.
#[test]
#[ignore = "minutes: scripts/model-check"]
fn changes_of_members_within_larger_bounds() {
    for (plan, wire, crashes) in [
        (Plan::LeaveThroughJoint, 2, 1),
        (Plan::RemoveOneByOne, 2, 2),
        (Plan::AddOneByOne, 3, 1),
        (Plan::SwapThroughJoint, 3, 1),
    ] {
        explore(Bounds { wire, crashes, ..changing(plan) });
    }
}
