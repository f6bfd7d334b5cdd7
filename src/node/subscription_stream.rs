//! A subscription as a `Stream`.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::Stream;

use super::{NodeEvent, SUBSCRIBER_EVENTS_MAX, Subscription, SubscriptionError};

/// The node's events; with the feature `server`. It ends when the node is dropped, and after
/// [`SubscriptionError::Lagged`] when the subscriber read too slowly.
///
/// ```
/// use chainbox::node::{Node, NodeEvent};
/// use futures_util::StreamExt as _;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let node = Node::new();
/// let heads = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
/// node.mine(3)?;
/// let first_two: Vec<_> = heads.take(2).collect().await;
/// assert!(first_two.iter().all(Result::is_ok));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(docsrs, doc(cfg(feature = "server")))]
impl Stream for Subscription {
    type Item = Result<NodeEvent, SubscriptionError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(cx).map(|event| match event {
            Some(event) => Some(Ok(event)),
            None => self.take_lagged().then_some(Err(SubscriptionError::Lagged { max: SUBSCRIBER_EVENTS_MAX })),
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, StreamExt};

    use super::*;
    use crate::node::{Mining, Node};

    #[test]
    fn a_stream_ends_with_its_node_or_after_it_lagged() {
        let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
        let (mut slow, mut other) = (node.subscribe(), node.subscribe());
        assert!(StreamExt::next(&mut slow).now_or_never().is_none(), "no event yet");
        // Setting the mode is an event, also where it is the one in force.
        for _ in 0..=SUBSCRIBER_EVENTS_MAX {
            node.set_mining(Mining::Manual).unwrap();
            StreamExt::next(&mut other).now_or_never().unwrap().unwrap().unwrap();
        }
        let events: Vec<_> = slow.collect().now_or_never().expect("the stream has ended");
        assert_eq!(events.len(), SUBSCRIBER_EVENTS_MAX + 1);
        assert!(matches!(events.last(), Some(Err(SubscriptionError::Lagged { .. }))));
        drop(node);
        assert!(StreamExt::next(&mut other).now_or_never().expect("the stream has ended").is_none());
    }
}
