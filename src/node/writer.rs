//! The one writer, and what it shares with readers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use arc_swap::ArcSwap;

use super::{
    Clock, MineError, Mining, NodeError, NodeEvent, NodeView, SendError, SnapshotId, clock::BlockTime,
    snapshot::Snapshot, subscription::Listeners,
};
use crate::{
    chain::{Candidates as _, Chain, ChainError, ExecutedBlock, Pool},
    consensus::{ConsensusKind, ReplicaId},
    primitives::{Address, KeyPair, SenderRecovery, Transaction},
    sim::{BlockOrder, Network},
    vm::TemplateRegistry,
};

/// Everything behind a [`Node`](super::Node).
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) writer: Mutex<Writer>,
    pub(super) view: ArcSwap<NodeView>,
    pub(super) listeners: Listeners,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) consensus: ConsensusKind,
    pub(super) keys: Vec<KeyPair>,
    /// Where the validators' keys come from.
    pub(super) seed: u64,
    pub(super) accounts: Vec<Address>,
    pub(super) mnemonic: String,
    pub(super) registry: TemplateRegistry,
    pub(super) recovery: SenderRecovery,
}

impl Shared {
    pub(super) fn key_of(&self, address: Address) -> Option<&KeyPair> {
        let index = self.accounts.iter().position(|account| *account == address)?;
        self.keys.get(index)
    }
}

/// What only the writer touches.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) network: Network,
    pub(super) time: BlockTime,
    pub(super) mining: Mining,
    /// How many callers have asked that mining waits.
    pub(super) holds: usize,
    pub(super) impersonated: BTreeSet<Address>,
    pub(super) impersonates_all: bool,
    pub(super) snapshots: BTreeMap<SnapshotId, Snapshot>,
    pub(super) snapshots_taken: u64,
    /// The network as it began, for a reset.
    pub(super) beginning: Network,
}

impl Writer {
    pub(super) fn new(network: Network, mining: Mining) -> Self {
        Self {
            beginning: network.clone(),
            network,
            time: BlockTime::default(),
            mining,
            holds: 0,
            impersonated: BTreeSet::new(),
            impersonates_all: false,
            snapshots: BTreeMap::new(),
            snapshots_taken: 0,
        }
    }

    pub(super) fn chain(&self) -> &Chain {
        self.network.primary().chain()
    }

    pub(super) fn pool(&self) -> &Pool {
        self.network.primary().pool()
    }

    /// The picture that readers get.
    pub(super) fn view(&self) -> Result<NodeView, ChainError> {
        let chain = self.chain().clone();
        let context = chain.pool_context()?;
        Ok(NodeView::new(chain, self.pool().clone(), context))
    }

    /// Shows readers the newest picture.
    pub(super) fn publish(&self, shared: &Shared) -> Result<Arc<NodeView>, ChainError> {
        let view = Arc::new(self.view()?);
        shared.view.store(Arc::clone(&view));
        Ok(view)
    }

    /// Puts one transaction into the pool and tells of it.
    pub(super) fn submit(&mut self, shared: &Shared, transaction: Arc<Transaction>) -> Result<(), SendError> {
        self.network.submit(Arc::clone(&transaction), ReplicaId::new(0))?;
        shared.listeners.tell(&NodeEvent::Pending(transaction));
        Ok(())
    }

    /// Makes one block of what is ready and tells of it.
    pub(super) fn mine_one(&mut self, shared: &Shared) -> Result<ExecutedBlock, MineError> {
        let parent = self.chain().head().block().timestamp();
        let timestamp = self.time.next_timestamp(&*shared.clock, parent);
        let order = BlockOrder { timestamp: Some(timestamp), ..BlockOrder::default() };
        let produced = self.network.produce_block(&order)?;
        self.time.block_made(&*shared.clock, timestamp);
        self.tell_head(shared, &[], core::slice::from_ref(&produced.block))?;
        Ok(produced.block)
    }

    /// Makes blocks until nothing that is ready is left; the pool is looked at anew after every block.
    pub(super) fn mine_ready(&mut self, shared: &Shared) -> Result<(), MineError> {
        while self.has_ready()? {
            if self.mine_one(shared)?.block().transactions().is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// After the pool changed: mines when the mode says so, and shows readers the result.
    pub(super) fn settle(&mut self, shared: &Shared) -> Result<(), MineError> {
        let mined =
            if self.mining == Mining::EachTransaction && self.holds == 0 { self.mine_ready(shared) } else { Ok(()) };
        self.publish(shared).map_err(MineError::from)?;
        mined
    }

    /// Shows readers a moved head and tells of it.
    pub(super) fn tell_head(
        &self,
        shared: &Shared,
        removed: &[ExecutedBlock],
        added: &[ExecutedBlock],
    ) -> Result<(), ChainError> {
        let view = self.publish(shared)?;
        shared.listeners.tell(&NodeEvent::Head { removed: removed.into(), added: added.into(), view });
        Ok(())
    }

    /// Goes over to another state of the network, telling which blocks left the canonical chain and which joined it.
    pub(super) fn go_over_to(&mut self, shared: &Shared, network: &Network) -> Result<(), NodeError> {
        let before = self.chain().clone();
        self.network.restore(network)?;
        let removed = blocks_missing_from(&before, self.chain())?;
        let mut added = blocks_missing_from(self.chain(), &before)?;
        added.reverse();
        self.tell_head(shared, &removed, &added)?;
        Ok(())
    }

    fn has_ready(&self) -> Result<bool, MineError> {
        let base_fee = self.chain().next_base_fee().unwrap_or_default();
        Ok(self.pool().best(base_fee).next().is_some())
    }
}

/// Canonical blocks of `chain` that are not canonical in `other`, newest first.
fn blocks_missing_from(chain: &Chain, other: &Chain) -> Result<Vec<ExecutedBlock>, ChainError> {
    let mut missing = Vec::new();
    let mut block = chain.head().clone();
    while !other.is_canonical(block.hash()) {
        let parent = chain.block(block.block().parent_hash())?;
        missing.push(core::mem::replace(&mut block, parent));
    }
    Ok(missing)
}
