//! News of the chain for those who listen, without ever holding up the engine.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::mpsc;

use super::NodeView;
use crate::{chain::ExecutedBlock, primitives::Transaction};

/// News that may wait for one listener; one that falls further behind is dropped.
pub const NEWS_WAITING_MAX: usize = 4_096;

/// What a listener is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeEvent {
    /// The pool took a transaction.
    Pending(Arc<Transaction>),
    /// The head moved.
    Head {
        /// Blocks that left the canonical chain, newest first; empty when the chain only grew.
        removed: Arc<[ExecutedBlock]>,
        /// Blocks that joined it, oldest first.
        added: Arc<[ExecutedBlock]>,
        /// The chain as it is now.
        view: Arc<NodeView>,
    },
}

/// Why there is no more news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// The listener was too slow.
    #[error("subscription dropped: more than {max} events were waiting; subscribe again and read faster")]
    Lagged {
        /// How many may wait.
        max: usize,
    },
    /// The node is gone.
    #[error("subscription ended: the node was dropped")]
    Closed,
    /// Nothing has happened since the last look.
    #[error("no event is waiting")]
    Empty,
}

/// A listener's end. Dropping it ends the subscription.
///
/// ```
/// use chainbox::node::{Node, NodeEvent};
/// let node = Node::new();
/// let mut news = node.subscribe();
/// node.mine(1)?;
/// assert!(matches!(news.try_next()?, NodeEvent::Head { added, .. } if added.len() == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Subscription {
    receiver: mpsc::Receiver<NodeEvent>,
    lagged: Arc<AtomicBool>,
}

impl Subscription {
    /// Waits for the next event; from any async runtime.
    ///
    /// # Errors
    /// [`SubscriptionError::Lagged`] once, after the events that still fitted; [`SubscriptionError::Closed`].
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

    /// The next event, if one is waiting.
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
        if self.lagged.load(Ordering::Acquire) {
            SubscriptionError::Lagged { max: NEWS_WAITING_MAX }
        } else {
            SubscriptionError::Closed
        }
    }
}

/// The node's end of all subscriptions.
#[derive(Debug, Default)]
pub(super) struct Listeners(Mutex<Vec<Listener>>);

#[derive(Debug)]
struct Listener {
    sender: mpsc::Sender<NodeEvent>,
    lagged: Arc<AtomicBool>,
}

impl Listeners {
    /// A new subscription; it is told of everything from now on.
    pub(super) fn subscribe(&self) -> Subscription {
        let (sender, receiver) = mpsc::channel(NEWS_WAITING_MAX);
        let lagged = Arc::new(AtomicBool::new(false));
        let listener = Listener { sender, lagged: Arc::clone(&lagged) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
        Subscription { receiver, lagged }
    }

    /// Tells everyone, dropping those who are gone or too slow.
    pub(super) fn tell(&self, event: &NodeEvent) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| match listener.sender.try_send(event.clone()) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) => {
                listener.lagged.store(true, Ordering::Release);
                false
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
    fn a_listener_at_the_bound_stays_and_one_past_it_is_dropped_with_the_reason() {
        let listeners = Listeners::default();
        let mut slow = listeners.subscribe();
        for _ in 0..NEWS_WAITING_MAX {
            listeners.tell(&event());
        }
        assert_eq!(listeners.0.lock().unwrap().len(), 1);
        listeners.tell(&event());
        assert_eq!(listeners.0.lock().unwrap().len(), 0);
        for _ in 0..NEWS_WAITING_MAX {
            slow.try_next().unwrap();
        }
        assert_eq!(slow.try_next().unwrap_err(), SubscriptionError::Lagged { max: NEWS_WAITING_MAX });
    }

    #[test]
    fn a_dropped_listener_is_forgotten_and_a_dropped_node_closes() {
        let listeners = Listeners::default();
        drop(listeners.subscribe());
        let mut other = listeners.subscribe();
        listeners.tell(&event());
        assert_eq!(listeners.0.lock().unwrap().len(), 1);
        drop(listeners);
        assert!(other.try_next().is_ok());
        assert_eq!(other.try_next().unwrap_err(), SubscriptionError::Closed);
    }
}
