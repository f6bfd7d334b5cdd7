//! Two branches from a common head, in every order in which four producers learn of blocks and produce, within bounds.
//!
//! A step is "a producer hears what it has to and makes a block on one of the branches", by the production code:
//! [`Irreversibility::extend`], [`ForkChoiceKey`], [`SafetyState`]. The reductions, none of which loses a behaviour on two branches:
//!
//! - Any slots may be missed, so that any order of producers is possible, and slots are left out. Ties of the fork choice beyond
//!   length go either way.
//! - To extend a branch, a producer has to know all of it; of the other branch it knows what it knew. To know less never keeps it
//!   from a later choice, and it may learn the rest when it makes use of it.
//! - Producers with the same part in a state are interchangeable, and so are the branches. Heights count from the common head.
//! - A crash loses at most what is not durable: the blocks outside the head's branch. [`Mutation::DposPromiseForgotten`] also loses
//!   what the producer confirmed and implied.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::super::*;
use crate::{
    consensus::{BlockId, model_check::assert_states, mutation},
    primitives::{B256, Height},
};

const PRODUCERS: usize = 4;

/// The rule under test, and the bounds of the exploration.
#[derive(Clone, Copy, Debug)]
struct Setting {
    finality: FinalityRule,
    mutation: Option<Mutation>,
    /// Whether the last producer makes any block that the header rules allow, on either branch.
    has_byzantine: bool,
    /// Whether producers follow the fork choice, by what they know; else they extend any branch at any time.
    has_fork_choice: bool,
    /// Crashes of producers.
    crashes: u8,
    /// Most blocks of the shorter and of the longer branch.
    lengths: (u64, u64),
    /// Most blocks of both.
    blocks: u64,
    /// Blocks of [`KNOWN_WAY`] that are made before.
    prefix: usize,
}

/// Producer and branch of each block on a way of honest producers to two irreversible blocks, by the rule of
/// [`Mutation::DposImpliedForEver`]: 8 blocks on the first branch and 11 on the second.
const KNOWN_WAY: [(usize, usize); 19] = {
    let ([p, u, s, t], [a, b]) = ([0, 1, 2, 3], [0, 1]);
    [
        (u, b),
        (s, a),
        (t, a),
        (p, a),
        (s, b),
        (p, a),
        (s, b),
        (s, b),
        (s, b),
        (t, b),
        (s, a),
        (t, b),
        (s, a),
        (u, b),
        (p, b),
        (u, b),
        (s, b),
        (t, a),
        (t, a),
    ]
};

impl Setting {
    const LOCKED: Self = Self {
        finality: FinalityRule::Locked,
        mutation: None,
        has_byzantine: false,
        has_fork_choice: true,
        crashes: 0,
        lengths: (8, 8),
        blocks: 16,
        prefix: 0,
    };
}

/// A branch, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct BranchKey(u32);

/// What a producer knows of a branch: the fork choice's values at the newest block that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Tip {
    prepared: u8,
    irreversible: u8,
    height: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Producer {
    confirmed: u8,
    lock: u8,
    known: [Tip; 2],
    /// The branch of its last irreversible block, if that is above the common head, plus one.
    finalized: u8,
    /// The branch of the block that it implied last, plus one: a part of the rule of [`Mutation::DposImpliedForEver`] alone.
    lock_branch: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    branches: [BranchKey; 2],
    producers: [Producer; PRODUCERS],
    crashes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// Makes a block on a branch; the Byzantine producer chooses how much it confirms.
    Produce {
        place: usize,
        branch: usize,
        confirmed: Option<u16>,
    },
    Crash {
        place: usize,
    },
}

#[derive(Default)]
struct Tables {
    branches: Vec<Arc<Irreversibility>>,
    keys: HashMap<Irreversibility, BranchKey>,
    extended: HashMap<(BranchKey, usize, u16), BranchKey>,
    permuted: HashMap<(BranchKey, [usize; PRODUCERS]), BranchKey>,
}

struct TwoBranches {
    setting: Setting,
    tables: Mutex<Tables>,
}

impl Tables {
    fn key(&mut self, branch: Irreversibility) -> BranchKey {
        let next = BranchKey(self.branches.len() as u32);
        let key = *self.keys.entry(branch.clone()).or_insert(next);
        if key == next {
            self.branches.push(Arc::new(branch));
        }
        key
    }
}

const fn small(height: Height) -> u8 {
    height.get() as u8
}

impl Tip {
    fn of(branch: &Irreversibility) -> Self {
        let [prepared, irreversible, height] = [branch.prepared(), branch.irreversible(), branch.height()].map(small);
        Self { prepared, irreversible, height }
    }

    /// Ties beyond length are left open.
    fn key(self, rule: FinalityRule) -> ForkChoiceKey {
        let [prepared, irreversible, height] =
            [self.prepared, self.irreversible, self.height].map(|height| Height::new(height.into()));
        let prepared = Prepared { version: 0, height: prepared };
        ForkChoiceKey { rule, prepared, irreversible, block: BlockId { height, hash: B256::ZERO }, slot: 0 }
    }
}

impl Producer {
    fn safety_state(&self) -> SafetyState {
        let lock = Prepared { version: 0, height: Height::new(self.lock.into()) };
        SafetyState { slot: 0, began: None, confirmed: Height::new(self.confirmed.into()), lock }
    }

    /// The lock of [`Mutation::DposImpliedForEver`]; see `Dpos::is_locked_to_a_block`.
    fn is_locked_to_a_block(&self, branch: usize, progress: &Irreversibility) -> bool {
        let is_elsewhere = self.lock > 0 && self.lock_branch != branch as u8 + 1;
        is_elsewhere && small(progress.prepared()) <= self.confirmed
    }
}

impl TwoBranches {
    fn new(setting: Setting) -> Self {
        Self { setting, tables: Mutex::default() }
    }

    /// The checker runs on other threads than the test.
    fn with_mutation<T>(&self, body: impl FnOnce() -> T) -> T {
        match self.setting.mutation {
            Some(mutation) => mutation::with(mutation, body),
            None => body(),
        }
    }

    fn branch(&self, key: BranchKey) -> Arc<Irreversibility> {
        self.tables.lock().unwrap().branches[key.0 as usize].clone()
    }

    fn branches(&self, state: &State) -> [Arc<Irreversibility>; 2] {
        state.branches.map(|key| self.branch(key))
    }

    fn extended(&self, key: BranchKey, place: usize, confirmed: u16) -> BranchKey {
        if let Some(known) = self.tables.lock().unwrap().extended.get(&(key, place, confirmed)) {
            return *known;
        }
        let branch = self.branch(key);
        let next = self.with_mutation(|| branch.extend(place, confirmed, None)).expect("a valid range");
        let mut tables = self.tables.lock().unwrap();
        let next = tables.key(next);
        tables.extended.insert((key, place, confirmed), next);
        next
    }

    fn is_byzantine(&self, place: usize) -> bool {
        self.setting.has_byzantine && place == PRODUCERS - 1
    }

    fn beats(&self, one: Tip, other: Tip) -> bool {
        let rule = self.setting.finality;
        self.with_mutation(|| one.key(rule).beats(&other.key(rule)))
    }

    /// Whether the producer would have the tip of this branch for its head.
    fn follows(&self, state: &State, tips: &[Tip; 2], place: usize, branch: usize) -> bool {
        if !self.setting.has_fork_choice {
            return true;
        }
        let producer = &state.producers[place];
        let has_final = producer.finalized == 0 || producer.finalized == branch as u8 + 1;
        has_final && !self.beats(producer.known[1 - branch], tips[branch])
    }

    /// Makes a block with the vote that the safety state allows.
    fn produce(&self, state: &mut State, place: usize, branch: usize) {
        let progress = self.branch(state.branches[branch]);
        let producer = &mut state.producers[place];
        let safety_state = producer.safety_state();
        let is_old = self.setting.mutation == Some(Mutation::DposImpliedForEver);
        let vote = if is_old && producer.is_locked_to_a_block(branch, &progress) {
            None
        } else {
            self.with_mutation(|| safety_state.vote(place, &progress, 0)).ok()
        };
        let after = safety_state.after(0, None, progress.height().next(), vote);
        (producer.confirmed, producer.lock) = (small(after.confirmed), small(after.lock.height));
        if let Some(vote) = vote.filter(|_| is_old) {
            producer.lock = small(vote.implied.height);
            producer.lock_branch = if producer.lock > 0 { branch as u8 + 1 } else { 0 };
        }
        let next = self.extended(state.branches[branch], place, vote.map_or(0, |vote| vote.confirmed));
        state.branches[branch] = next;
        let tip = Tip::of(&self.branch(next));
        if !self.setting.has_fork_choice {
            return;
        }
        let producer = &mut state.producers[place];
        producer.known[branch] = tip;
        if tip.irreversible > 0 {
            producer.finalized = branch as u8 + 1;
        }
    }

    /// Returns the state with interchangeable producers and branches in one order.
    fn canonical(&self, mut state: State) -> State {
        let mut branches = self.branches(&state);
        let rank = |branch: &Irreversibility| (branch.height(), branch.prepared(), branch.irreversible());
        if rank(&branches[0]) < rank(&branches[1]) {
            branches.swap(0, 1);
            state.branches.swap(0, 1);
            for producer in &mut state.producers {
                producer.known.swap(0, 1);
                for branch in [&mut producer.finalized, &mut producer.lock_branch] {
                    *branch = [0, 2, 1][usize::from(*branch)];
                }
            }
        }
        let honest = PRODUCERS - usize::from(self.setting.has_byzantine);
        let mut order = [0, 1, 2, 3];
        let part = |branch: &Irreversibility, place: usize| {
            let Confirmer { last, since, vote } = branch.confirmers()[place];
            (last, since, vote.map(|vote| (vote.from, vote.to)))
        };
        order[..honest].sort_by_cached_key(|place| {
            (state.producers[*place], part(&branches[0], *place), part(&branches[1], *place))
        });
        if order == [0, 1, 2, 3] {
            return state;
        }
        state.producers = order.map(|place| state.producers[place]);
        state.branches = state.branches.map(|key| self.permuted(key, order));
        state
    }

    fn permuted(&self, key: BranchKey, order: [usize; PRODUCERS]) -> BranchKey {
        let mut tables = self.tables.lock().unwrap();
        if let Some(known) = tables.permuted.get(&(key, order)) {
            return *known;
        }
        let permuted = tables.branches[key.0 as usize].permuted(&order);
        let permuted = tables.key(permuted);
        tables.permuted.insert((key, order), permuted);
        permuted
    }

    /// Whether something new becomes irreversible once everybody hears everything and the honest take turns.
    fn settles(&self, state: &State) -> bool {
        let mut state = state.clone();
        let start = self.branches(&state).map(|branch| branch.height()).into_iter().max();
        for turn in 0..8 * PRODUCERS {
            let place = turn % PRODUCERS;
            if self.is_byzantine(place) {
                continue;
            }
            let tips = self.branches(&state).map(|branch| Tip::of(&branch));
            state.producers[place].known = tips;
            // A tie goes one way for all.
            let branch = match state.producers[place].finalized {
                0 => usize::from(self.beats(tips[1], tips[0])),
                finalized => usize::from(finalized) - 1,
            };
            self.produce(&mut state, place, branch);
        }
        self.branches(&state).iter().any(|branch| Some(branch.irreversible()) > start)
    }
}

impl Model for TwoBranches {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let common = Irreversibility::new(self.setting.finality, Height::GENESIS, PRODUCERS);
        let key = self.tables.lock().unwrap().key(common);
        let producers = [Producer::default(); PRODUCERS];
        let mut state = State { branches: [key; 2], producers, crashes: self.setting.crashes };
        for (place, branch) in &KNOWN_WAY[..self.setting.prefix] {
            let tips = self.branches(&state).map(|branch| Tip::of(&branch));
            assert!(self.follows(&state, &tips, *place, *branch), "{place} leaves branch {branch}");
            self.produce(&mut state, *place, *branch);
        }
        vec![self.canonical(state)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let branches = self.branches(state);
        let tips = [0, 1].map(|branch| Tip::of(&branches[branch]));
        for place in 0..PRODUCERS {
            for (branch, progress) in branches.iter().enumerate() {
                if self.is_byzantine(place) {
                    let most = progress.confirmable(place, Height::GENESIS);
                    let all = (0..=most).map(Some);
                    actions.extend(all.map(|confirmed| Action::Produce { place, branch, confirmed }));
                } else if self.follows(state, &tips, place, branch) {
                    actions.push(Action::Produce { place, branch, confirmed: None });
                }
            }
            if state.crashes > 0 && state.producers[place].known.iter().all(|tip| tip.height > 0) {
                actions.push(Action::Crash { place });
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Produce { place, branch, confirmed: Some(confirmed) } => {
                state.branches[branch] = self.extended(state.branches[branch], place, confirmed);
            }
            Action::Produce { place, branch, confirmed: None } => self.produce(&mut state, place, branch),
            Action::Crash { place } => {
                let producer = &mut state.producers[place];
                let is_first_worse = self.beats(producer.known[1], producer.known[0]);
                producer.known[usize::from(!is_first_worse)] = Tip::default();
                if self.setting.mutation == Some(Mutation::DposPromiseForgotten) {
                    (producer.confirmed, producer.lock) = (0, 0);
                }
                state.crashes -= 1;
            }
        }
        Some(self.canonical(state))
    }

    fn within_boundary(&self, state: &State) -> bool {
        let [one, other] = self.branches(state).map(|branch| branch.height().get());
        let Setting { lengths, blocks, .. } = self.setting;
        one.min(other) <= lengths.0 && one.max(other) <= lengths.1 && one + other <= blocks
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("agreement", |model: &Self, state: &State| {
                model.branches(state).iter().any(|branch| branch.irreversible() == Height::GENESIS)
            }),
            Property::always(
                "nothing as high is prepared beside an irreversible block",
                |model: &Self, state: &State| {
                    let [one, other] = model.branches(state);
                    let is_alone = |final_one: &Irreversibility, other: &Irreversibility| {
                        final_one.irreversible() == Height::GENESIS || other.prepared() < final_one.irreversible()
                    };
                    model.setting.finality == FinalityRule::Classic || is_alone(&one, &other) && is_alone(&other, &one)
                },
            ),
            Property::always(
                "everybody who hears everything makes more irreversible",
                |model: &Self, state: &State| {
                    // A part of the states, drawn by their content.
                    let draw =
                        state.producers.iter().fold(state.branches[0].0 ^ state.branches[1].0, |sum, producer| {
                            sum.wrapping_mul(31).wrapping_add(u32::from(producer.confirmed))
                        });
                    draw % 16 != 0 || model.settles(state)
                },
            ),
            Property::sometimes("both branches prepare something", |model: &Self, state: &State| {
                model.branches(state).iter().all(|branch| branch.prepared() > Height::GENESIS)
            }),
        ]
    }
}

const ALWAYS: [&str; 3] = [
    "agreement",
    "nothing as high is prepared beside an irreversible block",
    "everybody who hears everything makes more irreversible",
];

/// Explores all states, checks the properties and returns the number of states.
fn explore(setting: Setting) -> usize {
    let checker = TwoBranches::new(setting).checker().spawn_bfs().join();
    let unique = checker.unique_state_count();
    println!("dpos, {setting:?}: all {unique} states explored");
    assert!(checker.is_done());
    for name in ALWAYS {
        if let Some(path) = checker.discovery(name) {
            panic!("{name}: {:?}", path.into_actions());
        }
    }
    checker.assert_any_discovery("both branches prepare something");
    unique
}

/// Returns the number of blocks of the shortest way to two irreversible blocks, on which a crash is a step too.
fn shortest_disagreement(setting: Setting) -> usize {
    let names = ["agreement"].into_iter().collect();
    let checker = TwoBranches::new(setting).checker().finish_when(HasDiscoveries::AnyOf(names)).spawn_bfs().join();
    let path = checker.discovery("agreement").expect("a disagreement").into_actions();
    println!("dpos, {setting:?}: two irreversible blocks after {} states: {path:?}", checker.unique_state_count());
    setting.prefix + path.iter().filter(|action| matches!(action, Action::Produce { .. })).count()
}

/// As long as the known way to two irreversible blocks, of which the first `prefix` blocks are made before.
const fn along_the_known_way(prefix: usize) -> Setting {
    Setting { lengths: (8, 11), blocks: 19, prefix, ..Setting::LOCKED }
}

/// Blocks of the known way, blocks in all after which EOSIO's rule disagrees from there, and states of as many by the locked rule.
const CLASSIC_DISAGREES: [(usize, usize, usize); 2] = [(7, 14, 43_826), (10, 16, 9_900)];

/// Two crashes, in bounds in which agreement fails once a crash also loses what the producer confirmed and implied.
const TWO_CRASHES: Setting = Setting { crashes: 2, lengths: (7, 10), blocks: 17, ..along_the_known_way(11) };

#[test]
fn every_order_of_eleven_blocks() {
    assert_states(explore(Setting { lengths: (6, 6), blocks: 11, ..Setting::LOCKED }), 32_598);
}

#[test]
fn every_order_of_ten_blocks_with_a_crash() {
    assert_states(explore(Setting { lengths: (5, 5), blocks: 10, crashes: 1, ..Setting::LOCKED }), 27_800);
}

/// Though nothing but watermarks and locks keeps producers from a branch.
#[test]
fn every_order_of_ten_blocks_without_a_fork_choice() {
    assert_states(explore(Setting { lengths: (5, 5), blocks: 10, has_fork_choice: false, ..Setting::LOCKED }), 20_015);
}

#[test]
fn every_order_of_eight_blocks_with_a_byzantine_producer() {
    assert_states(explore(Setting { lengths: (4, 4), blocks: 8, has_byzantine: true, ..Setting::LOCKED }), 46_916);
}

#[test]
fn every_order_of_eight_blocks_after_eleven_of_the_known_way() {
    assert_states(explore(along_the_known_way(11)), 21_996);
}

#[test]
fn every_order_of_eight_blocks_with_a_crash_after_eleven_of_the_known_way() {
    assert_states(explore(Setting { crashes: 1, ..along_the_known_way(11) }), 97_970);
}

#[test]
fn every_order_of_six_blocks_with_two_crashes_after_eleven_of_the_known_way() {
    assert_states(explore(TWO_CRASHES), 27_775);
}

/// As many blocks as [`the_classic_rule_disagrees`] needs, in every order.
#[test]
fn the_locked_rule_agrees_where_the_classic_rule_disagrees() {
    for (prefix, blocks, states) in CLASSIC_DISAGREES {
        assert_states(explore(Setting { blocks: blocks as u64, ..along_the_known_way(prefix) }), states);
    }
}

#[test]
fn implied_heights_that_count_for_ever_disagree_after_the_known_way() {
    let setting = Setting { mutation: Some(Mutation::DposImpliedForEver), ..along_the_known_way(11) };
    assert!(shortest_disagreement(setting) <= KNOWN_WAY.len());
}

#[test]
fn votes_across_gaps_disagree() {
    let setting = Setting { mutation: Some(Mutation::DposVotesAcrossGaps), ..along_the_known_way(11) };
    assert!(shortest_disagreement(setting) <= KNOWN_WAY.len());
}

/// EOSIO's rule, after the first blocks of the known way. It does not lead along all of that: its fork choice does not ask what is prepared.
#[test]
fn the_classic_rule_disagrees() {
    for (prefix, blocks, _) in CLASSIC_DISAGREES {
        let setting = Setting { finality: FinalityRule::Classic, ..along_the_known_way(prefix) };
        assert_eq!(shortest_disagreement(setting), blocks, "after {prefix}");
    }
}

#[test]
fn heights_confirmed_twice_disagree() {
    let mutation = Some(Mutation::DposConfirmsTwice);
    assert!(shortest_disagreement(Setting { mutation, lengths: (7, 7), blocks: 12, ..Setting::LOCKED }) <= 12);
}

/// One of four producers may forget what it confirmed and implied; two are more than a third.
#[test]
fn two_forgotten_safety_states_disagree() {
    let setting = Setting { mutation: Some(Mutation::DposPromiseForgotten), ..TWO_CRASHES };
    assert_eq!(shortest_disagreement(setting), 17);
    assert!(explore(Setting { crashes: 1, ..setting }) > 1_000);
}

/// Where a replica remembers all of its branches, the fork choice keeps it from those that have prepared less. Without it, three of
/// four make a block of the first branch irreversible, and then, without their locks, one of the second, which the fourth has made longer.
#[test]
fn ignored_locks_disagree_without_a_fork_choice() {
    let ([p, u, s, t], [a, b]) = ([0, 1, 2, 3], [0, 1]);
    let first = [s, t, p, p, s, t].map(|place| (place, a));
    let second = [u, u, u, u, u, u, p, s, u, p, s, u].map(|place| (place, b));
    for (mutation, want) in [(None, [1, 0]), (Some(Mutation::DposLockIgnored), [1, 7])] {
        let model = TwoBranches::new(Setting { mutation, has_fork_choice: false, ..Setting::LOCKED });
        let mut state = model.init_states().remove(0);
        for (place, branch) in first.into_iter().chain(second) {
            model.produce(&mut state, place, branch);
        }
        assert_eq!(model.branches(&state).map(|branch| branch.irreversible().get()), want, "{mutation:?}");
    }
}

/// Hours at most: `scripts/model-dpos`. The variables `SHORTER`, `LONGER`, `BLOCKS` and `PREFIX` set the bounds, `BYZANTINE`, `FREE`
/// and `CRASHES` the producers; with `FINALITY` `classic` it prints the shortest way to two irreversible blocks instead, by EOSIO's rule.
#[test]
#[ignore = "minutes to hours: scripts/model-dpos"]
fn larger_bounds() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let bound = |name: &str, default: u64| number(name).unwrap_or(default);
    let is_classic = std::env::var("FINALITY").is_ok_and(|rule| rule == "classic");
    let setting = Setting {
        finality: if is_classic { FinalityRule::Classic } else { FinalityRule::Locked },
        lengths: (bound("SHORTER", 8), bound("LONGER", 11)),
        blocks: bound("BLOCKS", 19),
        prefix: bound("PREFIX", 6) as usize,
        has_byzantine: bound("BYZANTINE", 0) > 0,
        has_fork_choice: bound("FREE", 0) == 0,
        crashes: bound("CRASHES", 0) as u8,
        ..Setting::LOCKED
    };
    match is_classic {
        true => println!("dpos, classic: two irreversible blocks after {} blocks", shortest_disagreement(setting)),
        false => drop(explore(setting)),
    }
}
