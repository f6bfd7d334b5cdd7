//! The embeddable node: a development chain that a test links, or that a server serves to Ethereum clients.
//!
//! A [`Node`] is a handle, cheap to clone, `Send` and `Sync`. Changes go through one writer behind a lock (a
//! [`Network`](crate::sim::Network) without faults); reads use an immutable [`NodeView`] and never wait for the writer. A node has
//! no threads, no runtime and no clock of its own, so it works in a plain `#[test]`, in a `tokio` test and behind a server alike.
//!
//! ```
//! use chainbox::{node::{BlockRef, Node}, primitives::U256};
//! let node = Node::new();
//! let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
//! let mined = node.transfer(alice, bob, U256::from(5))?;
//! assert_eq!(mined.block().height().get(), 1);
//! # Ok::<(), chainbox::node::ContractError>(())
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod ancestors;
mod builder;
mod bulk;
mod cheats;
mod clock;
mod command;
mod compose;
mod contract;
mod contract_error;
mod deployed;
mod dump;
mod error;
mod full_disk;
mod halt;
mod head_cursor;
mod head_switches;
mod held_lock;
mod mined;
mod mining;
mod mining_mode;
mod real_time;
mod reorg;
mod replica_view;
mod send;
mod shared_network;
mod simulate;
mod snapshot;
mod subscription;
#[cfg(feature = "server")]
mod subscription_stream;
pub mod testing;
mod validators;
mod view;
mod writer;

use core::{
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
};
use std::sync::{Arc, MutexGuard, atomic::Ordering};

use self::writer::{NodeInner, Writer};
use crate::{
    consensus::ConsensusKind,
    primitives::{Address, B256, KeyPair, Signature},
    vm::TemplateRegistry,
};

pub use ancestors::REORG_DEPTH_MAX;
pub use builder::{Database, NodeBuilder};
pub use bulk::{BulkError, MinedBulk};
pub use clock::{Clock, ClockOffset, ManualClock};
pub use compose::{COMPONENTS_MAX, Component, ComponentKind, ComposeError, Dapp, DappDeployer, DappPlan};
pub use contract::Contract;
pub use contract_error::ContractError;
pub use deployed::Deployed;
pub use dump::{Dump, DumpOrigin};
pub use error::{
    BuildError, EngineError, EstimateError, InterventionError, LoadError, MineError, QueryError, ReorgError, SendError,
    SimulateError, TimeError,
};
pub use full_disk::FullDisk;
pub use head_cursor::{HeadChanges, HeadCursor, HeadCursorError, HeadFollower};
pub use head_switches::{HEAD_SWITCHES_MAX, REMOVED_BYTES_MAX};
pub use mined::MinedTransaction;
pub use mining::BLOCKS_PER_CALL_MAX;
pub use mining_mode::{MINING_INTERVAL_SECS_MAX, Mining};
pub use real_time::{
    NetworkPool, PacedError, PacedNetwork,
    clock::{MachineClock, RealTimeClock},
    pool::{PoolCounters, ShutdownError},
};
pub use send::Submission;
pub use shared_network::{LockedNetwork, MINED_WITHIN_MAX, SharedNetwork};
pub use snapshot::SnapshotId;
pub use subscription::{NodeEvent, SUBSCRIBER_EVENTS_MAX, Subscription, SubscriptionError};
pub use view::{BlockRef, Located, NodeView};

/// A handle to a running node. Clones share the node.
#[derive(Clone)]
pub struct Node {
    inner: Arc<NodeInner>,
}

impl Node {
    /// Returns a builder with every default.
    pub fn builder() -> NodeBuilder {
        NodeBuilder::new()
    }

    /// Builds a development node with every default: one proof-of-authority validator, ten funded accounts, in memory, a block for
    /// each transaction, a clock that stands still.
    ///
    /// # Panics
    /// Never: the defaults are consistent.
    #[allow(clippy::new_without_default, reason = "a node has identity: two of them are two chains")]
    pub fn new() -> Self {
        Self::builder().build().unwrap_or_else(|error| unreachable!("the default options are consistent: {error}"))
    }

    /// The present view. Takes no lock.
    pub fn view(&self) -> Arc<NodeView> {
        self.inner.view.load_full()
    }

    /// Subscribes to all events from now on.
    pub fn subscribe(&self) -> Subscription {
        self.subscribe_to(|_| true)
    }

    /// Subscribes to the events from now on for which `filter` returns true; others take no place in the queue.
    pub fn subscribe_to(&self, filter: fn(&NodeEvent) -> bool) -> Subscription {
        self.inner.subscribers.subscribe(filter)
    }

    /// As [`Node::subscribe_to`], with a queue of at most `events_max` events (at least 1) that loses the newest events when it is
    /// full; [`Subscription::take_lost`] counts them.
    pub fn subscribe_lossy(&self, filter: fn(&NodeEvent) -> bool, events_max: usize) -> Subscription {
        self.inner.subscribers.subscribe_lossy(filter, events_max)
    }

    /// Follows the canonical chain from its present head on, without a queue: a slow follower misses no block.
    pub fn follow_heads(&self) -> HeadFollower {
        HeadFollower::new(self.clone(), self.inner.subscribers.watch_heads())
    }

    /// Accounts whose keys the node holds, in the order of derivation.
    pub fn accounts(&self) -> &[Address] {
        &self.inner.accounts
    }

    /// The keys of [`Node::accounts`].
    pub fn keys(&self) -> &[KeyPair] {
        &self.inner.keys
    }

    /// The mnemonic phrase that the accounts are derived from.
    pub fn mnemonic(&self) -> &str {
        &self.inner.mnemonic
    }

    /// The chain's consensus protocol.
    pub fn consensus(&self) -> ConsensusKind {
        self.inner.consensus
    }

    /// Number of validators at genesis.
    pub fn validator_count(&self) -> usize {
        self.view().chain().spec().validators.len()
    }

    /// The chain's contract templates.
    pub fn templates(&self) -> &TemplateRegistry {
        &self.inner.registry
    }

    /// Signs a hash with an account's key; `None` when the node does not hold it.
    pub fn sign(&self, address: Address, hash: B256) -> Option<Signature> {
        self.inner.key_of(address).map(|key| key.sign_hash(hash))
    }

    /// Number of panics in this node's commands since it was built. Each is a bug, and was undone.
    pub fn panic_count(&self) -> u64 {
        self.inner.panics.load(Ordering::Relaxed)
    }

    fn write(&self) -> MutexGuard<'_, Writer> {
        self.inner.writer.lock()
    }
}

/// A command that panics is undone, so that a node is whole after any panic.
impl UnwindSafe for Node {}
impl RefUnwindSafe for Node {}

/// A line, of the present view; waits for no lock and shows no key.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("consensus", &self.inner.consensus)
            .field("accounts", &self.inner.accounts.len())
            .field("view", &self.view())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
