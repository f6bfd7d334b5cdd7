//! The state that all handles of one node share: the writer behind its lock, and what readers see.

use core::time::Duration;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;

use super::{
    Clock, EngineError, ManualClock, MineError, Mining, NodeEvent, NodeView, SendError, SnapshotId,
    ancestors::Ancestors, clock::BlockTime, head_switches::HeadSwitches, held_lock::HeldLock,
    real_time::pacing::Pacing, replica_view::ReplicaView, snapshot::Snapshot, subscription::Subscribers,
    view::Settings,
};
use crate::{
    chain::{Chain, ExecutedBlock, Pool, ReadError},
    consensus::{ConsensusKind, ReplicaId},
    primitives::{Address, KeyPair, SenderRecovery, Transaction},
    sim::{BlockOrder, Network, ValidatorKeys},
    vm::TemplateRegistry,
};

/// What the handles of one [`Node`](super::Node) share.
#[derive(Debug)]
pub(super) struct NodeInner {
    pub(super) writer: Arc<HeldLock<Writer>>,
    /// The replica of a shared network that the node shows; `None` for a development node, which has its network for itself.
    pub(super) shared: Option<ReplicaId>,
    pub(super) view: ArcSwap<NodeView>,
    pub(super) subscribers: Subscribers,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) consensus: ConsensusKind,
    pub(super) keys: Vec<KeyPair>,
    /// Keys of the validators, those that are not given drawn from the seed.
    pub(super) validators: ValidatorKeys,
    pub(super) seed: u64,
    pub(super) accounts: Vec<Address>,
    pub(super) mnemonic: String,
    pub(super) registry: TemplateRegistry,
    pub(super) recovery: SenderRecovery,
    /// Number of panics in commands.
    pub(super) panics: AtomicU64,
}

impl NodeInner {
    /// The replica that the node shows.
    pub(super) fn replica(&self) -> ReplicaId {
        self.shared.unwrap_or_default()
    }

    /// Checks that the node has its network for itself.
    pub(super) const fn check_own_network(&self) -> Result<(), EngineError> {
        match self.shared {
            Some(_) => Err(EngineError::SharedNetwork),
            None => Ok(()),
        }
    }

    pub(super) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn key_of(&self, address: Address) -> Option<&KeyPair> {
        let index = self.accounts.iter().position(|account| *account == address)?;
        self.keys.get(index)
    }
}

/// The mutable state of a node, changed under its lock alone.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) network: Network,
    pub(super) settings: Settings,
    pub(super) switches: HeadSwitches,
    /// Events of the command under way, published when it succeeds.
    pub(super) events: Vec<NodeEvent>,
    /// The network of a failed command, by which the store is taken back; `None` once it is.
    pub(super) stray: Option<Network>,
    /// The heads that a reorg goes back to.
    pub(super) ancestors: Ancestors,
    pub(super) snapshots: BTreeMap<SnapshotId, Snapshot>,
    pub(super) snapshots_taken: u64,
    /// The nodes of a shared network, and the clock that shows its time; none of a development node.
    pub(super) nodes: Vec<Weak<NodeInner>>,
    pub(super) network_clock: Arc<ManualClock>,
    /// The pace of a shared network in real time.
    pub(super) pacing: Option<Pacing>,
    /// Why every command is refused; `None` while they are taken.
    pub(super) halted: Option<Arc<str>>,
    /// The network as built, for [`Node::reset`](super::Node::reset).
    pub(super) initial: Network,
    /// The block time as built, likewise.
    pub(super) initial_time: BlockTime,
}

impl Writer {
    pub(super) fn new(network: Network, settings: Settings, ancestors: Ancestors) -> Self {
        Self {
            initial: network.clone(),
            initial_time: settings.time,
            network,
            settings,
            switches: HeadSwitches::default(),
            events: Vec::new(),
            stray: None,
            ancestors,
            nodes: Vec::new(),
            network_clock: Arc::default(),
            pacing: None,
            halted: None,
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

    /// The view of a replica's present state.
    pub(super) fn view(&self, replica: ReplicaId, clock: Arc<dyn Clock>) -> Result<NodeView, ReadError> {
        let replica = self.network.replica(replica).unwrap_or(self.network.primary());
        let (settings, switches) = (self.settings.clone(), self.switches.clone());
        ReplicaView { network: &self.network, replica, settings, switches, clock }.now()
    }

    /// Replaces the readers' view by one of the present state.
    pub(super) fn publish(&self, inner: &NodeInner) -> Result<Arc<NodeView>, ReadError> {
        let before = inner.view.load();
        let view = self.view(inner.replica(), Arc::clone(&inner.clock))?.following(&before);
        let view = Arc::new(match inner.shared {
            // The nodes of one network have switches of their own.
            Some(_) => view.with_switches(before.switches().clone()),
            None => view,
        });
        inner.view.store(Arc::clone(&view));
        Ok(view)
    }

    /// Replaces the settings in the readers' view, after a change of these alone.
    pub(super) fn publish_settings(&self, inner: &NodeInner) {
        inner.view.store(Arc::new(inner.view.load().with_settings(self.settings.clone())));
    }

    /// Replaces the pool in the readers' view, after a change of it alone.
    pub(super) fn publish_pool(&self, inner: &NodeInner) {
        let Ok(replica) = self.network.replica(inner.replica()) else { return };
        inner.view.store(Arc::new(inner.view.load().with_pool(replica.pool().clone())));
    }

    /// Adds a transaction to the pool.
    ///
    /// An impersonated sender must be impersonated at this moment.
    pub(super) fn submit(&mut self, inner: &NodeInner, transaction: Arc<Transaction>) -> Result<(), SendError> {
        let address = transaction.sender();
        if transaction.is_impersonated() && !self.settings.impersonates(address) {
            return Err(SendError::UnknownAccount { address });
        }
        if transaction.chain_id().is_none() {
            return Err(SendError::Unprotected { chain_id: self.chain().spec().chain_id });
        }
        let submitted = self.network.submit(Arc::clone(&transaction), inner.replica());
        submitted.map_err(SendError::from_network)?;
        self.events.push(NodeEvent::Pending(transaction));
        Ok(())
    }

    /// Sends a transaction: adds it to the pool, and mines where the mode is [`Mining::EachTransaction`]. It is in the pool only if
    /// the first block could be made.
    pub(super) fn send(&mut self, inner: &NodeInner, transaction: Arc<Transaction>) -> Result<(), SendError> {
        let is_done = self.shared_command(inner, |writer| {
            writer.submit(inner, transaction)?;
            let is_done = writer.mine_step(inner)?;
            if is_done {
                writer.publish(inner).map_err(MineError::from)?;
            }
            Ok::<_, SendError>(is_done)
        })?;
        if !is_done {
            self.mine_ready(inner)?;
        }
        Ok(())
    }

    /// Lets `spacing` pass and makes one block of the ready transactions, as a command of its own: without a block, no time passes.
    pub(super) fn mine_block(&mut self, inner: &NodeInner, spacing: Duration) -> Result<ExecutedBlock, MineError> {
        self.command(inner, |writer| {
            let head = writer.chain().head().timestamp();
            writer.settings.time.increase(head, spacing);
            writer.mine_one(inner)
        })
    }

    /// Makes one block of the ready transactions and publishes it.
    fn mine_one(&mut self, inner: &NodeInner) -> Result<ExecutedBlock, MineError> {
        let parent = self.chain().head().block().timestamp();
        let timestamp = self.settings.next_timestamp(&*inner.clock, parent);
        let order = BlockOrder::new().with_timestamp(timestamp);
        let produced = self.network.produce_block(&order).map_err(MineError::from_network)?;
        self.settings.time.on_block(&*inner.clock, timestamp);
        self.publish_head(inner, &[], core::slice::from_ref(&produced.block))?;
        Ok(produced.block)
    }

    /// Makes a block where the mode is [`Mining::EachTransaction`] and a transaction is ready; returns whether nothing is left to
    /// do.
    fn mine_step(&mut self, inner: &NodeInner) -> Result<bool, MineError> {
        if !self.has_block_to_make() {
            return Ok(true);
        }
        Ok(self.mine_one(inner)?.block().transactions().is_empty())
    }

    /// Makes blocks, each a command of its own, until no transaction is ready; the pool is read again after every block.
    fn mine_ready(&mut self, inner: &NodeInner) -> Result<(), MineError> {
        while self.has_block_to_make() {
            if self.command(inner, |writer| writer.mine_step(inner))? {
                break;
            }
        }
        Ok(())
    }

    fn has_block_to_make(&self) -> bool {
        self.settings.mining == Mining::EachTransaction && self.pool().has_ready()
    }

    /// After a change of the pool or the mining mode: mines where the mode is [`Mining::EachTransaction`], then publishes.
    pub(super) fn automine(&mut self, inner: &NodeInner) -> Result<(), MineError> {
        let mined = self.mine_ready(inner);
        self.publish(inner)?;
        mined
    }

    /// Publishes a moved head; subscribers are notified of it and of moved finality when the command succeeds.
    pub(super) fn publish_head(
        &mut self,
        inner: &NodeInner,
        removed: &[ExecutedBlock],
        added: &[ExecutedBlock],
    ) -> Result<(), ReadError> {
        let before = inner.view.load_full();
        let view = self.publish(inner)?;
        let (safe, finalized) = (view.safe().clone(), view.finalized().clone());
        self.events.push(NodeEvent::Head { removed: removed.into(), added: added.into(), view });
        if safe.hash() != before.safe().hash() || finalized.hash() != before.finalized().hash() {
            self.events.push(NodeEvent::Finalized { safe, finalized });
        }
        Ok(())
    }

    /// Replaces the network by an earlier clone of it and the block time by `time`; subscribers get the blocks that left the
    /// canonical chain and those that joined it. Nothing is changed where the store fails.
    pub(super) fn switch_to(
        &mut self,
        inner: &NodeInner,
        network: &Network,
        time: BlockTime,
    ) -> Result<(), EngineError> {
        let before = self.chain().clone();
        self.network.restore(network).map_err(EngineError::from_network)?;
        self.settings.time = time;
        self.publish_switch(inner, &before)?;
        Ok(())
    }

    /// Publishes the move of the head from that of `before`, which need not be an ancestor.
    pub(super) fn publish_switch(&mut self, inner: &NodeInner, before: &Chain) -> Result<(), ReadError> {
        let removed = blocks_missing_from(before, self.chain())?;
        let mut added = blocks_missing_from(self.chain(), before)?;
        added.reverse();
        self.switches.record_to(self.network.primary().chain(), &removed);
        self.publish_head(inner, &removed, &added)
    }
}

/// Canonical blocks of `chain` that are not canonical in `other`, newest first.
pub(super) fn blocks_missing_from(chain: &Chain, other: &Chain) -> Result<Vec<ExecutedBlock>, ReadError> {
    let mut missing = Vec::new();
    let mut block = chain.head().clone();
    while !other.is_canonical(block.hash()) {
        let parent = match chain.block(block.block().parent_hash()) {
            // Pruned: what is left of the branch ends here.
            Err(ReadError::UnknownBlock { .. }) => {
                missing.push(block);
                break;
            }
            parent => parent?,
        };
        missing.push(core::mem::replace(&mut block, parent));
    }
    Ok(missing)
}
