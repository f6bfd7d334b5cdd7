//! The embeddable node: a chain that a test links, or that a server puts on the network.
//!
//! A [`Node`] is a handle, cheap to clone, `Send` and `Sync`. Underneath is one writer (a
//! [`Network`](crate::sim::Network) without faults); readers take an immutable [`NodeView`] and never wait for it. It has no
//! threads, no runtime and no clock of its own, so it works in a plain `#[test]`, in a `tokio` test and behind a server alike.
//!
//! ```
//! use chainbox::{node::{BlockRef, Node}, primitives::U256};
//! let node = Node::new();
//! let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
//! let mined = node.transfer(alice, bob, U256::from(5))?;
//! assert_eq!(mined.block().height().get(), 1);
//! # Ok::<(), chainbox::node::ContractError>(())
//! ```

mod builder;
mod cheats;
mod clock;
mod contract;
mod dump;
mod error;
mod mining;
mod send;
mod simulate;
mod snapshot;
mod subscription;
pub mod testing;
mod validators;
mod view;
mod writer;

use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};

use self::writer::{Shared, Writer};
use crate::{
    consensus::ConsensusKind,
    primitives::{Address, B256, KeyPair, Signature},
    vm::TemplateRegistry,
};

pub use builder::{Database, NodeBuilder};
pub use clock::{Clock, ManualClock};
pub use contract::{Contract, ContractError, Mined};
pub use dump::Dump;
pub use error::{MineError, NodeError, QueryError, SendError, TimeError};
pub use mining::{BLOCKS_AT_ONCE_MAX, Mining, MiningHold};
pub use snapshot::SnapshotId;
pub use subscription::{NEWS_WAITING_MAX, NodeEvent, Subscription, SubscriptionError};
pub use view::{BlockRef, Located, NodeView};

/// A handle to a running node. Clones are the same node.
#[derive(Clone, Debug)]
pub struct Node {
    shared: Arc<Shared>,
}

impl Node {
    /// Starts to build a node.
    pub fn builder() -> NodeBuilder {
        NodeBuilder::new()
    }

    /// A development node with every default: one proof-of-authority validator, ten funded accounts, in memory, a
    /// block a transaction, a clock that stands still.
    ///
    /// # Panics
    /// Never: the defaults fit together.
    #[allow(clippy::new_without_default, reason = "a node is a running thing, not a value")]
    pub fn new() -> Self {
        Self::builder().build().unwrap_or_else(|error| unreachable!("the default options are a node: {error}"))
    }

    /// The chain and the pool as they are now. Never waits.
    pub fn view(&self) -> Arc<NodeView> {
        self.shared.view.load_full()
    }

    /// Tells of everything from now on.
    pub fn subscribe(&self) -> Subscription {
        self.shared.listeners.subscribe()
    }

    /// Accounts whose keys the node holds, in the order of their derivation.
    pub fn accounts(&self) -> &[Address] {
        &self.shared.accounts
    }

    /// The keys of [`Node::accounts`].
    pub fn keys(&self) -> &[KeyPair] {
        &self.shared.keys
    }

    /// The phrase that the accounts come from.
    pub fn mnemonic(&self) -> &str {
        &self.shared.mnemonic
    }

    /// Which protocol the chain runs.
    pub fn consensus(&self) -> ConsensusKind {
        self.shared.consensus
    }

    /// How many validators the chain began with.
    pub fn validator_count(&self) -> usize {
        self.view().chain().spec().validators.len()
    }

    /// The contract templates that this chain knows.
    pub fn templates(&self) -> &TemplateRegistry {
        &self.shared.registry
    }

    /// Signs a hash with an account's key; `None` when the node does not hold it.
    pub fn sign(&self, address: Address, hash: B256) -> Option<Signature> {
        self.shared.key_of(address).map(|key| key.sign_hash(hash))
    }

    /// Whether the writer is at work, so that whoever wants to change the node would have to wait.
    ///
    /// For a server that must not let its few threads wait; the answer may be out of date at once.
    pub fn is_busy(&self) -> bool {
        matches!(self.shared.writer.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn write(&self) -> MutexGuard<'_, Writer> {
        self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
