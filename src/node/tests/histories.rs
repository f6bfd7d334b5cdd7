//! Random histories of a node over a database: all that the chain, a database opened again and a view say can be read.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use proptest::{prelude::*, test_runner::RngSeed};

use super::fixture::{node_of, protocols};
use crate::{
    chain::{CallRequest, Retention},
    consensus::ConsensusKind,
    node::{BlockRef, Database, Dump, Mining, Node, NodeView, QueryError, SnapshotId},
    primitives::{Address, B256, Height, U256},
    state::StateView,
    store::testing::{FailingStore, MemoryDisk, WriteFault},
};

#[derive(Clone, Debug)]
enum Step {
    Mine(u64),
    Transfer(u64),
    SetBalance(u8, u64),
    Snapshot,
    Revert(prop::sample::Index),
    Dump,
    Load(prop::sample::Index),
    Reset,
    /// Replaces the newest blocks; the transfer is in the first new one.
    Reorg(u64, u64),
    Rollback(u64),
    Reopen,
    /// Goes on with an empty database, into which the last dump is loaded.
    Begin,
    /// Takes a view, and the state of each of its blocks.
    TakeView,
    DropView(prop::sample::Index),
}

/// A step, and the number of its write that the store refuses, from 1.
type FaultyStep = (Step, Option<u64>);

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => (1..4_u64).prop_map(Step::Mine),
        2 => (1..9_u64).prop_map(Step::Transfer),
        2 => (0..3_u8, 1..99_u64).prop_map(|(byte, balance)| Step::SetBalance(0x20 + byte, balance)),
        2 => Just(Step::Snapshot),
        2 => index().prop_map(Step::Revert),
        2 => Just(Step::Dump),
        3 => index().prop_map(Step::Load),
        1 => Just(Step::Reset),
        2 => (1..6_u64, 1..9_u64).prop_map(|(depth, value)| Step::Reorg(depth, value)),
        1 => (1..6_u64).prop_map(Step::Rollback),
        1 => Just(Step::Reopen),
        2 => Just(Step::Begin),
        2 => Just(Step::TakeView),
        1 => index().prop_map(Step::DropView),
    ]
}

/// A state's accounts: address, balance, nonce.
type Accounts = Vec<(Address, U256, u64)>;

fn accounts(state: &dyn StateView) -> Accounts {
    let mut found = Vec::new();
    let visited = state.for_each_account(&mut |address, account| {
        found.push((address, account.balance, account.nonce));
        ControlFlow::Continue(())
    });
    visited.unwrap_or_else(|error| panic!("a state that was opened can't be read: {error:?}"));
    found
}

/// The canonical blocks, the lowest first, with the accounts after those whose state is there.
type Contents = Vec<(B256, Option<Accounts>)>;

fn contents(view: &NodeView) -> Contents {
    let oldest = view.chain().oldest_block().get();
    let heights = (0..1).chain(oldest.max(1)..=view.head().height().get());
    let content = |height| content_at(view, BlockRef::Number(Height::new(height)));
    heights.map(|height| content(height).unwrap_or_else(|| panic!("block {height} is gone"))).collect()
}

/// Returns a block and the accounts after it; `None` without the block.
fn content_at(view: &NodeView, id: BlockRef) -> Option<(B256, Option<Accounts>)> {
    let block = match view.block(id) {
        Ok(block) => block,
        Err(QueryError::Pruned { .. } | QueryError::UnknownBlock { .. }) => return None,
        Err(error) => panic!("{id:?}: {error:?}"),
    };
    let state = match view.state(id) {
        Ok(state) => state,
        Err(QueryError::Pruned { .. }) => return Some((block.hash(), None)),
        Err(error) => panic!("{id:?}: {error:?}"),
    };
    assert_eq!(state.commit().root, block.block().header().state_root);
    Some((block.hash(), Some(accounts(&*state))))
}

/// A view, what it showed when it was taken, and the states opened then.
struct Held {
    view: Arc<NodeView>,
    contents: Contents,
    newest: Accounts,
    states: Vec<(Arc<dyn StateView>, Accounts)>,
}

impl Held {
    fn take(view: Arc<NodeView>) -> Self {
        let contents = contents(&view);
        let ids = contents.iter().map(|(hash, _)| BlockRef::Hash(*hash)).chain([BlockRef::Latest, BlockRef::Pending]);
        let states = ids.filter_map(|id| view.state(id).ok());
        let states = states.map(|state| (state.clone(), accounts(&*state))).collect();
        let newest = accounts(&*view.state(BlockRef::Latest).unwrap());
        Self { view, contents, newest, states }
    }

    /// Checks that the view shows the same still, but for what a retention `is_pruning`.
    fn check(&self, is_pruning: bool) {
        for (state, expected) in &self.states {
            assert_eq!(accounts(&**state), *expected);
        }
        assert_eq!(accounts(&*self.view.state(BlockRef::Latest).unwrap()), self.newest);
        let first = self.view.head().height().get() + 1 - (self.contents.len() as u64 - 1);
        for (height, (hash, expected)) in (first - 1..).zip(&self.contents) {
            let height = if *hash == self.view.genesis_hash() { 0 } else { height };
            for id in [BlockRef::Number(Height::new(height)), BlockRef::Hash(*hash)] {
                match content_at(&self.view, id) {
                    Some((found, content)) => {
                        assert_eq!(found, *hash, "{id:?}");
                        assert!(content == *expected || is_pruning && content.is_none(), "{id:?}: another state");
                    }
                    None => assert!(is_pruning, "{id:?} is gone"),
                }
            }
        }
    }
}

struct History {
    chain: (ConsensusKind, u32),
    retention: Option<Retention>,
    disk: Arc<MemoryDisk>,
    store: Arc<FailingStore>,
    node: Node,
    snapshots: Vec<SnapshotId>,
    dumps: Vec<Dump>,
    held: Vec<Held>,
    /// What the node showed after the last step.
    known: BTreeMap<B256, Accounts>,
}

impl History {
    fn new(chain: (ConsensusKind, u32), retention: Option<Retention>) -> Self {
        let disk = Arc::new(MemoryDisk::new());
        let store = Arc::new(FailingStore::new(disk.clone()));
        let node = open(chain, retention, Database::Store(store.clone()));
        let (snapshots, dumps, held, known) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { chain, retention, disk, store, node, snapshots, dumps, held, known }
    }

    fn run(&mut self, (step, fault): &FaultyStep) {
        let before = self.node.view().head().hash();
        if let Some(number) = fault {
            self.store.fail(WriteFault::only(*number).disk_full());
        }
        let outcome = self.carry_out(step);
        self.store.recover();
        if let Err(error) = outcome {
            let is_fault = fault.is_some() && error.contains("the disk is full");
            // No further than the node's own blocks since it was opened or a dump began another branch.
            let is_too_deep = matches!(step, Step::Reorg(..) | Step::Rollback(_)) && error.contains("is too deep");
            assert!(is_fault || is_too_deep, "{step:?}: {error}");
            if !matches!(step, Step::Mine(_) | Step::Begin) {
                assert_eq!(self.node.view().head().hash(), before, "{step:?} failed and left a block");
            }
        }
        self.check();
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), String> {
        fn text<T, E: core::fmt::Display>(result: Result<T, E>) -> Result<(), String> {
            result.map(drop).map_err(|error| error.to_string())
        }
        let node = &self.node;
        match step {
            Step::Mine(count) => text(node.mine(*count)),
            Step::Transfer(value) => {
                let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
                text(node.transfer(alice, bob, U256::from(*value)))
            }
            Step::SetBalance(byte, balance) => {
                text(node.set_balance(Address::repeat_byte(*byte), U256::from(*balance)))
            }
            Step::Snapshot => {
                self.snapshots.push(node.snapshot());
                Ok(())
            }
            Step::Revert(index) if !self.snapshots.is_empty() => {
                let at = index.index(self.snapshots.len());
                text(node.revert(self.snapshots[at]))?;
                self.snapshots.truncate(at);
                Ok(())
            }
            Step::Dump => {
                self.dumps.push(node.dump().unwrap());
                Ok(())
            }
            Step::Load(index) if !self.dumps.is_empty() => {
                text(node.load(index.get(&self.dumps)))?;
                self.snapshots.clear();
                Ok(())
            }
            Step::Reorg(depth, value) => {
                let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
                let request = CallRequest::call(bob, vec![]).with_from(alice).with_value(U256::from(*value));
                text(node.reorg(*depth, [(request.into(), 0)]))
            }
            Step::Rollback(depth) => text(node.rollback(*depth)),
            Step::Reset => {
                text(node.reset())?;
                self.snapshots.clear();
                Ok(())
            }
            Step::Reopen => {
                self.reopen();
                Ok(())
            }
            Step::Begin => {
                self.disk = Arc::new(MemoryDisk::new());
                self.known.clear();
                self.reopen();
                self.dumps.last().map_or(Ok(()), |dump| text(self.node.load(dump)))
            }
            Step::TakeView => {
                self.held.push(Held::take(node.view()));
                Ok(())
            }
            Step::DropView(index) if !self.held.is_empty() => {
                self.held.swap_remove(index.index(self.held.len()));
                Ok(())
            }
            Step::Revert(_) | Step::Load(_) | Step::DropView(_) => Ok(()),
        }
    }

    fn reopen(&mut self) {
        self.held.clear();
        self.snapshots.clear();
        // The old one is gone before the new one is there.
        self.node = open(self.chain, self.retention, Database::Memory);
        self.store = Arc::new(FailingStore::new(self.disk.clone()));
        self.node = open(self.chain, self.retention, Database::Store(self.store.clone()));
    }

    fn check(&mut self) {
        let shown = contents(&self.node.view());
        let newest = shown.last().map(|(hash, state)| (*hash, state.is_some()));
        assert_eq!(newest, Some((self.node.view().head().hash(), true)), "the head has a state");
        for (hash, state) in &shown {
            let known = self.known.get(hash);
            assert!(self.retention.is_some() || state.is_some() || known.is_none(), "a state was lost");
            let is_same = known.is_none_or(|known| state.as_ref().is_none_or(|state| state == known));
            assert!(is_same, "a state has changed");
        }
        let again = open(self.chain, self.retention, Database::Store(self.disk.crashed()));
        let mut stored = contents(&again.view());
        if self.retention.is_some() {
            // The store has what is pruned only later.
            let shown: BTreeMap<_, _> = shown.iter().map(|(hash, state)| (hash, state)).collect();
            stored.retain(|(hash, _)| shown.contains_key(hash));
            stored.iter_mut().for_each(|(hash, state)| *state = state.take().filter(|_| shown[hash].is_some()));
        }
        assert_eq!(stored, shown, "the database has another chain");
        let latest = |node: &Node| accounts(&*node.view().state(BlockRef::Latest).unwrap());
        assert_eq!(latest(&again), latest(&self.node), "the database has other interventions");
        self.known = shown.into_iter().filter_map(|(hash, state)| Some((hash, state?))).collect();
        self.held.iter().for_each(|held| held.check(self.retention.is_some()));
    }
}

fn open(chain: (ConsensusKind, u32), retention: Option<Retention>, database: Database) -> Node {
    let builder = node_of(chain).with_accounts(3).with_database(database).with_mining(Mining::EachTransaction);
    let builder = match retention {
        Some(retention) => builder.with_retention(retention),
        None => builder,
    };
    builder.build().unwrap()
}

fn chain() -> impl Strategy<Value = (ConsensusKind, u32)> {
    let all: Vec<_> = protocols().collect();
    prop_oneof![3 => Just((ConsensusKind::Poa, 1)), 1 => prop::sample::select(all)]
}

/// The same histories at each run; `CHAINBOX_HISTORIES` is another seed.
fn config() -> ProptestConfig {
    let seed = std::env::var("CHAINBOX_HISTORIES").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    ProptestConfig { rng_seed: RngSeed::Fixed(seed), ..ProptestConfig::with_cases(40) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn all_that_is_claimed_can_be_read(chain in chain(), steps in prop::collection::vec(step(), 1..24)) {
        let mut history = History::new(chain, None);
        steps.into_iter().for_each(|step| history.run(&(step, None)));
    }

    #[test]
    fn all_that_is_claimed_can_be_read_after_failed_writes(
        chain in chain(),
        steps in prop::collection::vec((step(), prop::option::weighted(0.3, 1..4_u64)), 1..24),
    ) {
        let mut history = History::new(chain, None);
        steps.iter().for_each(|step| history.run(step));
    }

    #[test]
    fn all_that_is_claimed_can_be_read_with_a_retention_and_failed_writes(
        chain in chain(),
        (states, blocks) in (1..5_u64, 5..9_u64),
        steps in prop::collection::vec((step(), prop::option::weighted(0.2, 1..4_u64)), 1..30),
    ) {
        let mut history = History::new(chain, Some(Retention::new(Some(states), Some(blocks))));
        steps.iter().for_each(|step| history.run(step));
    }
}
