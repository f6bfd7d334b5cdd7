//! Event subscriptions: a bounded queue for each subscriber, which never blocks the writer.

use core::fmt;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::mpsc;

use super::{Mining, NodeView};
use crate::{chain::ExecutedBlock, primitives::Transaction};

/// Most events in a subscriber's queue; a subscriber that falls further behind is dropped.
pub const SUBSCRIBER_EVENTS_MAX: usize = 4_096;

/// A change of the node that subscribers receive.
#[derive(Clone, Debug)]
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
    /// The mining mode was set, possibly to the one in force; interval mining then starts a new interval.
    MiningChanged {
        /// The mode from now on.
        mining: Mining,
    },
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
}

impl Subscription {
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
pub(super) struct Subscribers(Mutex<Vec<Subscriber>>);

struct Subscriber {
    sender: mpsc::Sender<NodeEvent>,
    /// Events that it receives.
    filter: fn(&NodeEvent) -> bool,
    has_lagged: Arc<AtomicBool>,
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("has_lagged", &self.has_lagged).finish_non_exhaustive()
    }
}

impl Subscribers {
    /// Adds a subscriber to the events from now on for which `filter` returns true.
    pub(super) fn subscribe(&self, filter: fn(&NodeEvent) -> bool) -> Subscription {
        let (sender, receiver) = mpsc::channel(SUBSCRIBER_EVENTS_MAX);
        let has_lagged = Arc::new(AtomicBool::new(false));
        let subscriber = Subscriber { sender, filter, has_lagged: Arc::clone(&has_lagged) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(subscriber);
        Subscription { receiver, has_lagged }
    }

    /// Queues an event for every subscriber, and drops those whose queue is full or whose receiver is gone.
    pub(super) fn send(&self, event: &NodeEvent) {
        let mut subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| {
            if !(subscriber.filter)(event) {
                return !subscriber.sender.is_closed();
            }
            match subscriber.sender.try_send(event.clone()) {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Closed(_)) => false,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    subscriber.has_lagged.store(true, Ordering::Release);
                    false
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
        assert_eq!(subscribers.0.lock().unwrap().len(), 1);
        subscribers.send(&event());
        assert_eq!(subscribers.0.lock().unwrap().len(), 0);
        for _ in 0..SUBSCRIBER_EVENTS_MAX {
            slow.try_next().unwrap();
        }
        assert_eq!(slow.try_next().unwrap_err(), SubscriptionError::Lagged { max: SUBSCRIBER_EVENTS_MAX });
    }

    #[test]
    fn a_dropped_subscription_is_removed_and_a_dropped_node_closes() {
        let subscribers = Subscribers::default();
        drop(subscribers.subscribe(|_| true));
        drop(subscribers.subscribe(|_| false));
        let mut other = subscribers.subscribe(|_| true);
        subscribers.send(&event());
        assert_eq!(subscribers.0.lock().unwrap().len(), 1);
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
