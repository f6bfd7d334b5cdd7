//! Event subscriptions: a bounded queue for each subscriber, which never blocks the writer.
//!
//! [`HeadFollower`](super::HeadFollower) has no queue and misses no block; this one has every kind of event, in order.

use core::fmt;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::sync::{mpsc, watch};

use super::{Mining, NodeView};
use crate::{
    chain::{ExecutedBlock, LoadSummary},
    primitives::Transaction,
};

/// Most events in a subscriber's queue; a subscriber that falls further behind is dropped, a lossy one loses the newest events.
pub const SUBSCRIBER_EVENTS_MAX: usize = 4_096;

/// A change of the node that subscribers receive.
#[derive(Clone)]
#[non_exhaustive]
pub enum NodeEvent {
    /// A transaction entered the pool.
    Pending(Arc<Transaction>),
    /// The head moved.
    Head {
        /// Blocks that left the canonical chain, newest first; empty when the chain only grew.
        removed: Arc<[ExecutedBlock]>,
        /// Blocks that joined it, oldest first.
        added: Arc<[ExecutedBlock]>,
        /// The node after the move.
        view: Arc<NodeView>,
    },
    /// The safe or the finalized block moved; follows on the [`NodeEvent::Head`] that moved it. A revert, a reset or a loaded dump
    /// may move both back.
    Finalized {
        /// The newest block that is safe by the protocol's rules.
        safe: ExecutedBlock,
        /// The newest block that is final by the protocol's rules.
        finalized: ExecutedBlock,
    },
    /// A dump was loaded; follows on the [`NodeEvent::Head`] of its head.
    Loaded {
        /// Content of the dump, with the number of impersonated transactions in its blocks.
        summary: LoadSummary,
    },
    /// The mining mode was set, possibly to the one in force; interval mining then starts a new interval.
    MiningChanged {
        /// The mode from now on.
        mining: Mining,
    },
}

/// A line, however many blocks moved: the first and the last of them.
impl fmt::Debug for NodeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending(transaction) => f
                .debug_struct("Pending")
                .field("hash", &transaction.hash())
                .field("from", &transaction.sender())
                .field("nonce", &transaction.nonce())
                .finish(),
            Self::Head { removed, added, view } => f
                .debug_struct("Head")
                .field("removed", &BlocksText(removed))
                .field("added", &BlocksText(added))
                .field("head", &BlockText(view.head()))
                .finish(),
            Self::Finalized { safe, finalized } => f
                .debug_struct("Finalized")
                .field("safe", &BlockText(safe))
                .field("finalized", &BlockText(finalized))
                .finish(),
            Self::Loaded { summary } => f.debug_struct("Loaded").field("summary", summary).finish(),
            Self::MiningChanged { mining } => f.debug_struct("MiningChanged").field("mining", mining).finish(),
        }
    }
}

/// Height and hash of a block.
struct BlockText<'a>(&'a ExecutedBlock);

impl fmt::Debug for BlockText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.height(), self.0.hash())
    }
}

/// Number of blocks, the first and the last of them.
struct BlocksText<'a>(&'a [ExecutedBlock]);

impl fmt::Debug for BlocksText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("none"),
            [only] => write!(f, "1 block: {:?}", BlockText(only)),
            [first, .., last] => {
                write!(f, "{} blocks: {:?} to {:?}", self.0.len(), BlockText(first), BlockText(last))
            }
        }
    }
}

/// Why a subscription has no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// The subscriber read too slowly and was dropped.
    #[error("subscription dropped: more than {max} events were waiting; subscribe again and read faster")]
    Lagged {
        /// Most events in the queue.
        max: usize,
    },
    /// The node was dropped.
    #[error("subscription ended: the node was dropped")]
    Closed,
    /// The queue is empty.
    #[error("no event is waiting")]
    Empty,
}

/// The receiving end of a subscription. Dropping it ends the subscription.
///
/// ```
/// use chainbox::node::{Node, NodeEvent};
/// let node = Node::new();
/// let mut events = node.subscribe();
/// node.mine(1)?;
/// assert!(matches!(events.try_next()?, NodeEvent::Head { added, .. } if added.len() == 1));
/// assert!(matches!(events.try_next()?, NodeEvent::Finalized { finalized, .. } if finalized.height().get() == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Subscription {
    receiver: mpsc::Receiver<NodeEvent>,
    has_lagged: Arc<AtomicBool>,
    /// Events lost since [`Subscription::take_lost`]; zero unless lossy.
    lost: Arc<AtomicU64>,
}

impl Subscription {
    /// Returns the number of events lost since the last call, because the queue was full. Only a subscription of
    /// [`Node::subscribe_lossy`](super::Node::subscribe_lossy) loses events.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::AcqRel)
    }

    /// Waits for the next event; from any async runtime.
    ///
    /// # Errors
    /// [`SubscriptionError::Lagged`] once, after the queued events; [`SubscriptionError::Closed`].
    pub async fn next(&mut self) -> Result<NodeEvent, SubscriptionError> {
        self.receiver.recv().await.ok_or_else(|| self.end())
    }

    /// Waits for the next event on a thread outside async runtimes.
    ///
    /// # Errors
    /// As [`Subscription::next`].
    ///
    /// # Panics
    /// Inside an async runtime, which it would block.
    pub fn blocking_next(&mut self) -> Result<NodeEvent, SubscriptionError> {
        self.receiver.blocking_recv().ok_or_else(|| self.end())
    }

    /// Returns the next event if one is queued.
    ///
    /// # Errors
    /// [`SubscriptionError::Empty`], and as [`Subscription::next`].
    pub fn try_next(&mut self) -> Result<NodeEvent, SubscriptionError> {
        self.receiver.try_recv().map_err(|error| match error {
            mpsc::error::TryRecvError::Empty => SubscriptionError::Empty,
            mpsc::error::TryRecvError::Disconnected => self.end(),
        })
    }

    /// Polls for the next event, for those who combine it with other events; see [`Subscription::next`].
    #[cfg(feature = "server")]
    pub(super) fn poll_event(&mut self, cx: &mut core::task::Context<'_>) -> core::task::Poll<Option<NodeEvent>> {
        self.receiver.poll_recv(cx)
    }

    /// Whether the subscriber was dropped because it read too slowly; says so once.
    #[cfg(feature = "server")]
    pub(super) fn take_lagged(&self) -> bool {
        self.has_lagged.swap(false, Ordering::AcqRel)
    }

    fn end(&self) -> SubscriptionError {
        if self.has_lagged.load(Ordering::Acquire) {
            SubscriptionError::Lagged { max: SUBSCRIBER_EVENTS_MAX }
        } else {
            SubscriptionError::Closed
        }
    }
}

/// The sending ends of all subscriptions.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    queues: Mutex<Vec<Subscriber>>,
    /// Number of published heads, for those who follow the chain without a queue.
    heads: watch::Sender<u64>,
}

struct Subscriber {
    sender: mpsc::Sender<NodeEvent>,
    /// Events that it receives.
    filter: fn(&NodeEvent) -> bool,
    on_overflow: Overflow,
}

/// Consequence of a full queue.
#[derive(Debug)]
enum Overflow {
    /// The subscriber is dropped, and told.
    Drop(Arc<AtomicBool>),
    /// The event is lost, and counted.
    Lose(Arc<AtomicU64>),
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("on_overflow", &self.on_overflow).finish_non_exhaustive()
    }
}

impl Subscribers {
    /// Adds a subscriber to the events from now on for which `filter` returns true. It is dropped when its queue is full.
    pub(super) fn subscribe(&self, filter: fn(&NodeEvent) -> bool) -> Subscription {
        let has_lagged = Arc::new(AtomicBool::new(false));
        let receiver = self.add(filter, SUBSCRIBER_EVENTS_MAX, Overflow::Drop(Arc::clone(&has_lagged)));
        Subscription { receiver, has_lagged, lost: Arc::default() }
    }

    /// As [`Subscribers::subscribe`], with a queue of `events_max` events that loses and counts those past it.
    pub(super) fn subscribe_lossy(&self, filter: fn(&NodeEvent) -> bool, events_max: usize) -> Subscription {
        let lost = Arc::new(AtomicU64::new(0));
        let receiver = self.add(filter, events_max.max(1), Overflow::Lose(Arc::clone(&lost)));
        Subscription { receiver, has_lagged: Arc::default(), lost }
    }

    fn add(
        &self,
        filter: fn(&NodeEvent) -> bool,
        events_max: usize,
        on_overflow: Overflow,
    ) -> mpsc::Receiver<NodeEvent> {
        let (sender, receiver) = mpsc::channel(events_max);
        let subscriber = Subscriber { sender, filter, on_overflow };
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).push(subscriber);
        receiver
    }

    /// Returns a receiver of the number of published heads.
    pub(super) fn watch_heads(&self) -> watch::Receiver<u64> {
        self.heads.subscribe()
    }

    /// Queues an event for every subscriber, and drops those whose queue is full or whose receiver is gone.
    pub(super) fn send(&self, event: &NodeEvent) {
        if matches!(event, NodeEvent::Head { .. }) {
            self.heads.send_modify(|published| *published = published.wrapping_add(1));
        }
        let mut subscribers = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| {
            if !(subscriber.filter)(event) {
                return !subscriber.sender.is_closed();
            }
            match (subscriber.sender.try_reserve(), &subscriber.on_overflow) {
                (Ok(place), _) => {
                    place.send(event.clone());
                    true
                }
                (Err(mpsc::error::TrySendError::Closed(())), _) => false,
                (Err(mpsc::error::TrySendError::Full(())), Overflow::Drop(has_lagged)) => {
                    has_lagged.store(true, Ordering::Release);
                    false
                }
                (Err(mpsc::error::TrySendError::Full(())), Overflow::Lose(lost)) => {
                    lost.fetch_add(1, Ordering::AcqRel);
                    true
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Address, TransactionRequest};

    fn event() -> NodeEvent {
        let transaction = TransactionRequest { chain_id: Some(1), ..Default::default() }.impersonate(Address::ZERO);
        NodeEvent::Pending(Arc::new(transaction.unwrap()))
    }

    #[test]
    fn a_subscriber_at_the_bound_stays_and_one_past_it_is_dropped_with_the_reason() {
        let subscribers = Subscribers::default();
        let mut slow = subscribers.subscribe(|_| true);
        for _ in 0..SUBSCRIBER_EVENTS_MAX {
            subscribers.send(&event());
        }
        assert_eq!(subscribers.queues.lock().unwrap().len(), 1);
        subscribers.send(&event());
        assert_eq!(subscribers.queues.lock().unwrap().len(), 0);
        for _ in 0..SUBSCRIBER_EVENTS_MAX {
            slow.try_next().unwrap();
        }
        assert_eq!(slow.try_next().unwrap_err(), SubscriptionError::Lagged { max: SUBSCRIBER_EVENTS_MAX });
    }

    #[test]
    fn a_lossy_subscriber_counts_what_it_loses_and_stays() {
        let subscribers = Subscribers::default();
        let mut slow = subscribers.subscribe_lossy(|_| true, 2);
        for _ in 0..2 {
            subscribers.send(&event());
        }
        assert_eq!(slow.take_lost(), 0);
        for _ in 0..3 {
            subscribers.send(&event());
        }
        assert_eq!((slow.take_lost(), slow.take_lost()), (3, 0));
        for _ in 0..2 {
            slow.try_next().unwrap();
        }
        assert_eq!(slow.try_next().unwrap_err(), SubscriptionError::Empty);
        subscribers.send(&event());
        slow.try_next().unwrap();
    }

    #[test]
    fn a_dropped_subscription_is_removed_and_a_dropped_node_closes() {
        let subscribers = Subscribers::default();
        drop(subscribers.subscribe(|_| true));
        drop(subscribers.subscribe(|_| false));
        let mut other = subscribers.subscribe(|_| true);
        subscribers.send(&event());
        assert_eq!(subscribers.queues.lock().unwrap().len(), 1);
        drop(subscribers);
        assert!(other.try_next().is_ok());
        assert_eq!(other.try_next().unwrap_err(), SubscriptionError::Closed);
    }

    #[test]
    fn a_filter_keeps_other_events_out_of_the_queue() {
        let subscribers = Subscribers::default();
        let mut mining = subscribers.subscribe(|event| matches!(event, NodeEvent::MiningChanged { .. }));
        subscribers.send(&event());
        subscribers.send(&NodeEvent::MiningChanged { mining: Mining::Manual });
        assert!(matches!(mining.try_next(), Ok(NodeEvent::MiningChanged { mining: Mining::Manual })));
        assert_eq!(mining.try_next().unwrap_err(), SubscriptionError::Empty);
    }
}
