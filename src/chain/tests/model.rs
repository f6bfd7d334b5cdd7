//! Random histories of a chain, in memory and durable, against a model with a list of blocks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy_primitives::{Address, B256, U256};
use proptest::{collection::vec, prelude::*};

use super::{fixture::*, reopening::on};
use crate::{
    chain::{Chain, HeadError, Intervention, ReadError},
    primitives::{Height, Transaction},
    store::testing::MemoryDisk,
};

const BOB: Address = Address::repeat_byte(0xb0);
const CAROL: Address = Address::repeat_byte(0xca);

#[derive(Clone, Debug)]
enum Step {
    /// Builds a block with `transfers` transfers on a known block; makes it the head if `adopt`.
    Block { parent: usize, transfers: u64, adopt: bool },
    /// Makes a known block the head.
    Head(usize),
    /// Finalizes the head's ancestor this many blocks below it.
    Finalize(u64),
    /// Sets Carol's balance by an intervention.
    Set(u64),
    /// Takes a snapshot.
    Snapshot,
    /// Restores the last snapshot.
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0_usize..100, 0_u64..4, any::<bool>())
            .prop_map(|(parent, transfers, adopt)| Step::Block { parent, transfers, adopt }),
        3 => Just(Step::Block { parent: usize::MAX, transfers: 2, adopt: true }),
        2 => (0_usize..100).prop_map(Step::Head),
        1 => (0_u64..4).prop_map(Step::Finalize),
        1 => (1_u64..1_000).prop_map(Step::Set),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Restore),
    ]
}

/// A block of the model.
#[derive(Clone, Debug)]
struct Known {
    hash: B256,
    /// Index of its parent in the list; genesis is its own.
    parent: usize,
    height: u64,
    /// Transfers to Bob up to and including the block: his balance and the sender's nonce.
    transfers: u64,
    carol: u64,
    transactions: Vec<Arc<Transaction>>,
}

#[derive(Clone, Debug)]
struct Heads {
    head: usize,
    finalized: usize,
    /// Carol's balance set by the pending interventions.
    carol: Option<u64>,
    waiting: Vec<u64>,
}

#[derive(Debug)]
struct Model {
    blocks: Vec<Known>,
    heads: Heads,
    snapshot: Option<(Chain, Heads)>,
    /// Blocks that were finalized, also before a snapshot was restored.
    ever_finalized: Vec<usize>,
    /// Canonical blocks that a restored snapshot took back.
    taken_back: BTreeSet<usize>,
    stamp: u64,
}

impl Model {
    fn new(chain: &Chain) -> Self {
        let hash = chain.genesis().hash();
        let genesis = Known { hash, parent: 0, height: 0, transfers: 0, carol: 0, transactions: Vec::new() };
        let heads = Heads { head: 0, finalized: 0, carol: None, waiting: Vec::new() };
        Self {
            blocks: vec![genesis],
            heads,
            snapshot: None,
            ever_finalized: Vec::new(),
            taken_back: BTreeSet::new(),
            stamp: 1,
        }
    }

    /// The path from genesis to `at`.
    fn path(&self, mut at: usize) -> Vec<usize> {
        let mut path = vec![at];
        while at != 0 {
            at = self.blocks[at].parent;
            path.push(at);
        }
        path.reverse();
        path
    }

    fn extends_finalized(&self, at: usize) -> bool {
        self.path(at).contains(&self.heads.finalized)
    }

    /// Returns whether a block on another branch was ever final, so that blocks below this one may be deleted.
    fn was_passed_over(&self, at: usize) -> bool {
        let path = self.path(at);
        self.ever_finalized.iter().any(|finalized| !path.contains(finalized) && !self.path(*finalized).contains(&at))
    }

    fn run(&mut self, chain: &mut Chain, step: &Step) {
        match step {
            Step::Block { parent, transfers, adopt } => self.block(chain, *parent, *transfers, *adopt),
            Step::Head(at) => self.head(chain, at % self.blocks.len()),
            Step::Finalize(below) => {
                let path = self.path(self.heads.head);
                let at = path[path.len().saturating_sub(1 + *below as usize)];
                let forward = self.blocks[at].height >= self.blocks[self.heads.finalized].height;
                let answer = chain.set_finality(self.blocks[at].hash, self.blocks[at].hash);
                assert_eq!(answer.is_ok(), forward, "{answer:?}");
                if forward {
                    self.heads.finalized = at;
                    self.ever_finalized.push(at);
                }
            }
            Step::Set(balance) => {
                chain.intervene(Intervention::Balance { address: CAROL, balance: U256::from(*balance) }).unwrap();
                self.heads.carol = Some(*balance);
                self.heads.waiting.push(*balance);
            }
            Step::Snapshot => self.snapshot = Some((chain.clone(), self.heads.clone())),
            Step::Restore => {
                if let Some((snapshot, heads)) = self.snapshot.take() {
                    chain.restore(&snapshot).unwrap();
                    let kept = self.path(heads.head);
                    self.taken_back.extend(self.path(self.heads.head).into_iter().filter(|at| !kept.contains(at)));
                    self.heads = heads;
                }
            }
        }
    }

    fn block(&mut self, chain: &mut Chain, parent: usize, transfers: u64, adopt: bool) {
        let at = if parent == usize::MAX { self.heads.head } else { parent % self.blocks.len() };
        let parent = self.blocks[at].clone();
        if !chain.contains(parent.hash) {
            return;
        }
        let transactions: Vec<_> = (0..transfers).map(|n| transfer(0, parent.transfers + n, BOB, 1)).collect();
        self.stamp += 1;
        let built = build_on(chain, parent.hash, self.stamp, transactions.clone());
        assert!(built.left_out.is_empty(), "{:?}", built.left_out);
        let carol = self.heads.carol.filter(|_| at == self.heads.head).unwrap_or(parent.carol);
        chain.insert(Arc::new(built.block.clone())).unwrap();
        self.blocks.push(Known {
            hash: built.block.hash(),
            parent: at,
            height: parent.height + 1,
            transfers: parent.transfers + transfers,
            carol,
            transactions,
        });
        if adopt {
            self.head(chain, self.blocks.len() - 1);
        }
    }

    fn head(&mut self, chain: &mut Chain, at: usize) {
        let known = chain.contains(self.blocks[at].hash);
        let answer = chain.set_head(self.blocks[at].hash);
        match answer {
            Ok(change) => {
                assert!(known && self.extends_finalized(at));
                assert_eq!(change.new.hash(), self.blocks[at].hash);
                for recorded in change.applied.iter().flat_map(|block| block.block().interventions()) {
                    let first = self.heads.waiting.first().map(|balance| U256::from(*balance));
                    if first.is_some_and(|balance| *recorded == Intervention::Balance { address: CAROL, balance }) {
                        self.heads.waiting.remove(0);
                    }
                }
                self.heads.head = at;
                self.heads.carol = self.heads.waiting.last().copied();
            }
            // What a block is built on may be deleted from the store once another branch is final, also when that is taken back, or
            // once a restored snapshot has taken it back.
            Err(HeadError::Read(ReadError::UnknownBlock { .. })) => {
                let is_on_taken_back = self.path(at).iter().any(|block| self.taken_back.contains(block));
                assert!(!known || self.was_passed_over(at) || is_on_taken_back);
            }
            Err(HeadError::BelowFinality { .. }) => assert!(!self.extends_finalized(at)),
            Err(other) => panic!("{other}"),
        }
    }

    fn check(&self, chain: &Chain) {
        let path = self.path(self.heads.head);
        assert_eq!(chain.head().hash(), self.blocks[self.heads.head].hash);
        assert_eq!(chain.finalized().hash(), self.blocks[self.heads.finalized].hash);
        let mut canonical = BTreeMap::new();
        for at in &path {
            let known = &self.blocks[*at];
            let block = chain.block_at(Height::new(known.height)).unwrap();
            assert_eq!(block.hash(), known.hash);
            assert_eq!(balance(chain, &block, BOB), U256::from(known.transfers));
            assert_eq!(balance(chain, &block, CAROL), U256::from(known.carol));
            canonical.extend((0_u32..).zip(&known.transactions).map(|(index, t)| (t.hash(), (known.hash, index))));
        }
        let above = Height::new(path.len() as u64);
        assert!(matches!(chain.block_at(above), Err(ReadError::UnknownHeight { .. })));
        for transaction in self.blocks.iter().flat_map(|known| &known.transactions) {
            let found = chain.transaction(transaction.hash()).unwrap();
            let place = found.map(|found| (found.block.hash(), found.index));
            assert_eq!(place, canonical.get(&transaction.hash()).copied());
        }
        let newest = chain.latest_state().unwrap().account(&CAROL).unwrap().unwrap_or_default().balance;
        let carol = self.heads.carol.unwrap_or(self.blocks[self.heads.head].carol);
        assert_eq!(newest, U256::from(carol));
        assert_eq!(chain.pending_interventions().count(), self.heads.waiting.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_chain_in_memory_agrees(steps in vec(step(), 1..30)) {
        let mut chain = chain();
        let mut model = Model::new(&chain);
        for step in &steps {
            model.run(&mut chain, step);
            model.check(&chain);
        }
    }

    #[test]
    fn a_durable_chain_agrees_before_and_after_reopening(steps in vec(step(), 1..20)) {
        let disk = Arc::new(MemoryDisk::new());
        let mut chain = on(disk.clone()).open().unwrap();
        let mut model = Model::new(&chain);
        for step in &steps {
            model.run(&mut chain, step);
            model.check(&chain);
            model.check(&on(disk.crashed()).open().unwrap());
        }
    }
}
