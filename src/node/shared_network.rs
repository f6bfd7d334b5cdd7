//! A network whose replicas are nodes: each reads and sends as a client of that replica would, while a test lets the network run.

use core::{
    fmt,
    ops::{Deref, DerefMut},
    time::Duration,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard, atomic::AtomicU64},
};

use arc_swap::ArcSwap;

use super::{
    BuildError, EngineError, ManualClock, Mining, Node, NodeEvent, SendError,
    ancestors::Ancestors,
    head_switches::HeadSwitches,
    held_lock::HeldLock,
    real_time::pacing::{Pacing, panic_message},
    replica_view::ReplicaView,
    subscription::Subscribers,
    view::Settings,
    writer::{NodeInner, Writer, blocks_missing_from},
};
use crate::{
    chain::{Chain, ReadError},
    consensus::ReplicaId,
    primitives::{Address, B256, DEFAULT_MNEMONIC, KeyPair, SenderRecovery},
    sim::{Network, NetworkError, UnknownReplica},
};

/// Longest virtual time for which a node of a shared network lets the network run until a transaction is in a block.
pub const MINED_WITHIN_MAX: Duration = Duration::from_secs(60);

/// A [`Network`] that a test drives, with a [`Node`] for each of its replicas; made by [`Network::share`].
///
/// A node has what its replica has: its chain, its pool, its view of finality. It sends through that replica, and its subscribers
/// get the replica's moves of the head, reorganisations among them, one event for each, and [`NodeEvent::Pending`] for what the node
/// itself sends. It shows the network as it was when
/// [`LockedNetwork`] was last dropped; so faults are injected, and blocks are made, by [`SharedNetwork::lock`].
///
/// [`Node::transfer`], [`Node::deploy`] and a [`Contract`](super::Contract)'s transactions let the network run until that replica
/// has them in a block; [`Node::send_request`] only sends, and [`Node::pass_time`] only lets the network run. What a development node
/// does to its own chain (mining, time travel, interventions, snapshots, reorgs, dumps) is refused with
/// [`EngineError::SharedNetwork`], or has no effect where it can't fail ([`Node::increase_time`]).
///
/// ```
/// use std::time::Duration;
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig, ReplicaId},
///     node::BlockRef,
///     primitives::U256,
///     sim::Network,
/// };
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default()));
/// let network = network.with_validators(4).with_dev_accounts(2).build()?.share()?;
/// let (near, cut_off) = (network.node(ReplicaId::new(0))?, network.node(ReplicaId::new(3))?);
/// let (alice, bob) = (near.accounts()[0], near.accounts()[1]);
/// let before = near.view().balance(bob, BlockRef::Latest)?;
///
/// network.lock().isolate(ReplicaId::new(3))?;
/// near.transfer(alice, bob, U256::from(5))?;
/// assert_eq!(near.view().balance(bob, BlockRef::Latest)?, before + U256::from(5));
/// assert_eq!(cut_off.view().balance(bob, BlockRef::Latest)?, before, "the replica does not know of it");
///
/// network.lock().heal()?;
/// network.lock().run_for(Duration::from_secs(20))?;
/// assert_eq!(cut_off.view().balance(bob, BlockRef::Latest)?, before + U256::from(5));
/// # Ok(())
/// # }
/// ```
pub struct SharedNetwork {
    writer: Arc<HeldLock<Writer>>,
    nodes: Vec<Node>,
}

impl Network {
    /// Makes a node of every replica. See [`SharedNetwork`].
    ///
    /// # Errors
    /// [`BuildError::OwnProtocol`] for a protocol of one's own, which no node has; [`BuildError::Engine`] when a replica's state can't be
    /// read.
    pub fn share(mut self) -> Result<SharedNetwork, BuildError> {
        let protocol = self.config().name();
        let consensus = self.config().kind().ok_or(BuildError::OwnProtocol { protocol })?;
        self.log_heads();
        let settings = Settings { mining: Mining::Manual, ..Settings::default() };
        let clock = Arc::new(ManualClock::new(self.timestamp()));
        let replicas: Vec<ReplicaId> = self.replicas().iter().map(|replica| replica.id()).collect();
        let keys = self.keys();
        let (accounts, validators, seed) = (keys.accounts.clone(), keys.validators.clone(), keys.seed);
        let registry = self.primary().chain().registry().as_ref().clone();
        let writer = Arc::new(HeldLock::new(Writer::new(self, settings, Ancestors::new(Some(0)))));

        let mut guard = writer.lock();
        guard.network_clock = Arc::clone(&clock);
        let mut nodes = Vec::with_capacity(replicas.len());
        for replica in replicas {
            let clock: Arc<dyn super::Clock> = clock.clone();
            let view = guard.view(replica, Arc::clone(&clock)).map_err(EngineError::from)?;
            let inner = Arc::new(NodeInner {
                writer: Arc::clone(&writer),
                shared: Some(replica),
                view: ArcSwap::from_pointee(view),
                subscribers: Subscribers::default(),
                clock,
                consensus,
                seed,
                validators: validators.clone(),
                accounts: accounts.iter().map(KeyPair::address).collect(),
                keys: accounts.clone(),
                mnemonic: DEFAULT_MNEMONIC.to_owned(),
                registry: registry.clone(),
                recovery: SenderRecovery::new(),
                panics: AtomicU64::new(0),
            });
            guard.nodes.push(Arc::downgrade(&inner));
            nodes.push(Node { inner });
        }
        drop(guard);
        Ok(SharedNetwork { writer, nodes })
    }
}

impl SharedNetwork {
    /// Returns the node of a replica.
    ///
    /// # Errors
    /// [`UnknownReplica`].
    pub fn node(&self, replica: ReplicaId) -> Result<Node, UnknownReplica> {
        let count = self.nodes.len();
        self.nodes.get(replica.index()).cloned().ok_or(UnknownReplica { replica, count })
    }

    /// Returns the nodes of all replicas, by number.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the funded accounts of [`NetworkBuilder::with_dev_accounts`](crate::sim::NetworkBuilder::with_dev_accounts), whose
    /// keys the nodes hold.
    pub fn accounts(&self) -> &[Address] {
        self.nodes.first().map_or(&[], Node::accounts)
    }

    /// Locks the network: to let it run, to inject faults, to read what nodes don't have. The nodes show the changes once the lock is
    /// dropped, so that one call (`network.lock().run_for(..)?`) is seen by the next line.
    ///
    /// # Panics
    /// When this thread has locked it already; so does every method of a node that sends or changes something.
    pub fn lock(&self) -> LockedNetwork<'_> {
        let mut writer = self.writer.hold();
        // Who locks a network that has failed may still look at it.
        let _ = writer.advance_to_present();
        LockedNetwork { writer, lock: &self.writer }
    }

    pub(super) fn writer(&self) -> &HeldLock<Writer> {
        &self.writer
    }
}

impl fmt::Debug for SharedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedNetwork").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// The network of a [`SharedNetwork`], locked. Dropping it shows the nodes' readers what has changed; where a replica's state can't
/// be read, its node stays as it was.
pub struct LockedNetwork<'a> {
    writer: MutexGuard<'a, Writer>,
    lock: &'a HeldLock<Writer>,
}

impl Deref for LockedNetwork<'_> {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.writer.network
    }
}

impl DerefMut for LockedNetwork<'_> {
    fn deref_mut(&mut self) -> &mut Network {
        &mut self.writer.network
    }
}

impl fmt::Debug for LockedNetwork<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedNetwork").field("progress", &self.progress()).finish_non_exhaustive()
    }
}

impl Drop for LockedNetwork<'_> {
    fn drop(&mut self) {
        self.lock.let_go();
        if !std::thread::panicking() {
            self.writer.publish_nodes();
            self.writer.wake_host();
        }
    }
}

impl Node {
    /// Lets the shared network run, and publishes what has changed also where that fails.
    pub(super) fn run_network<R>(&self, run: impl FnOnce(&mut Network) -> R) -> R {
        let mut writer = self.write();
        let result = run(&mut writer.network);
        writer.publish_nodes();
        result
    }

    /// On a shared network, lets it run until this node's replica has the transaction in a block, for at most [`MINED_WITHIN_MAX`]; in
    /// real time, waits so long.
    pub(super) fn run_until_mined(&self, hash: B256) -> Result<(), SendError> {
        let Some(replica) = self.inner.shared else { return Ok(()) };
        let (is_paced, waiters) = {
            let writer = self.write();
            (writer.pacing.is_some(), writer.pacing.as_ref().and_then(Pacing::waiters))
        };
        if is_paced {
            if let Some(waiters) = waiters {
                // A chain that can't be read fails the query that follows.
                waiters.wait(MINED_WITHIN_MAX, || self.receipt(hash).map_or(true, |found| found.is_some()));
            }
            return Ok(());
        }
        let is_mined = |network: &Network| {
            let replica = network.replica(replica);
            // A chain that can't be read fails the query that follows.
            replica.is_ok_and(|replica| replica.chain().transaction(hash).map_or(true, |found| found.is_some()))
        };
        match self.run_network(|network| network.run_until(MINED_WITHIN_MAX, is_mined)) {
            Ok(()) | Err(NetworkError::TimedOut { .. } | NetworkError::Stalled { .. }) => Ok(()),
            Err(error) => Err(SendError::from_network(error)),
        }
    }
}

impl Node {
    /// Checks that the network's time passes when it is let run, and not by itself.
    pub(super) fn check_own_time(&self) -> Result<(), EngineError> {
        if self.write().pacing.is_some() { Err(EngineError::PacedNetwork) } else { Ok(()) }
    }
}

/// Real time.
impl Writer {
    /// Lets a network on a pool run up to the present, before a command of which it is the time.
    pub(super) fn advance_to_present(&mut self) -> Result<(), EngineError> {
        match self.pacing.as_ref().and_then(Pacing::now) {
            Some(now) => self.advance_to(now),
            None => self.check_failure(),
        }
    }

    /// Lets a paced network run up to `now`, and shows its nodes what has changed.
    pub(super) fn advance_to(&mut self, now: Duration) -> Result<(), EngineError> {
        self.check_failure()?;
        if self.halted.is_some() {
            return Ok(());
        }
        let advanced = catch_unwind(AssertUnwindSafe(|| {
            let Some(pacing) = &mut self.pacing else { return Ok(()) };
            if pacing.advance(&mut self.network, now)? {
                self.publish_nodes();
            }
            Ok(())
        }));
        let advanced = advanced.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic))));
        advanced.map_err(|reason| {
            self.pacing.iter_mut().for_each(|pacing| pacing.fail(&reason));
            EngineError::NetworkFailed { reason }
        })
    }

    /// Checks that a network in real time has not failed.
    fn check_failure(&self) -> Result<(), EngineError> {
        match self.pacing.as_ref().and_then(Pacing::failure) {
            Some(reason) => Err(EngineError::NetworkFailed { reason: reason.to_string() }),
            None => Ok(()),
        }
    }

    pub(super) fn next_wake(&self) -> Option<Duration> {
        self.pacing.as_ref().filter(|_| self.halted.is_none())?.next_wake(&self.network)
    }

    /// Tells the pool when the network wants to run next.
    pub(super) fn wake_host(&self) {
        if let Some(pacing) = &self.pacing {
            pacing.wake_host(&self.network);
        }
    }
}

impl Writer {
    /// Shows every node of a shared network what its replica has become.
    pub(super) fn publish_nodes(&mut self) {
        self.network_clock.set(self.network.timestamp());
        for inner in self.nodes.clone().iter().filter_map(std::sync::Weak::upgrade) {
            let replica = inner.replica();
            let moves = self.network.take_head_log(replica);
            let now = self.network.replica(replica).map(|replica| replica.chain().clone());
            // A chain of an earlier moment that can't be read any more is skipped: the next one shows its blocks, too.
            for chain in moves.into_iter().chain(now) {
                let _ = self.publish_chain(&inner, chain);
            }
        }
        if let Some(pacing) = &self.pacing {
            pacing.notify_waiters();
        }
    }

    /// Shows a node's readers a chain of its replica; subscribers get the blocks that left the canonical chain and those that
    /// joined it.
    fn publish_chain(&self, inner: &NodeInner, chain: Chain) -> Result<(), ReadError> {
        let before = inner.view.load_full();
        let removed = blocks_missing_from(before.chain(), &chain)?;
        let mut added = blocks_missing_from(&chain, before.chain())?;
        added.reverse();
        let mut switches: HeadSwitches = before.switches().clone();
        switches.record_to(&chain, &removed);
        let replica = self.network.replica(inner.replica()).unwrap_or(self.network.primary());
        let (settings, clock) = (self.settings.clone(), Arc::clone(&inner.clock));
        let view = ReplicaView { network: &self.network, replica, settings, switches, clock };
        let view = Arc::new(view.of(chain)?.following(&before));
        inner.view.store(Arc::clone(&view));
        let (safe, finalized) = (view.safe().clone(), view.finalized().clone());
        if !(removed.is_empty() && added.is_empty()) {
            inner.subscribers.send(&NodeEvent::Head { removed: removed.into(), added: added.into(), view });
        }
        if safe.hash() != before.safe().hash() || finalized.hash() != before.finalized().hash() {
            inner.subscribers.send(&NodeEvent::Finalized { safe, finalized });
        }
        Ok(())
    }
}
