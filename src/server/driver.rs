//! The timer of interval mining: the only place where a node depends on wall time.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::node::{Mining, Node, NodeEvent, Subscription, SubscriptionError};

/// Longest interval that is waited for.
const INTERVAL_MAX: Duration = Duration::from_secs(365 * 86_400);

/// Mines blocks at the interval of the mining mode, in each mode that has one. Never returns.
pub async fn drive(node: Node) {
    let mut changes = subscribe(&node);
    loop {
        match node.mining() {
            Mining::Interval(interval) if !interval.is_zero() => mine_every(&node, interval, &mut changes).await,
            _ => mining_changed(&node, &mut changes).await,
        }
    }
}

/// Mines a block per interval until the mining mode changes.
async fn mine_every(node: &Node, interval: Duration, changes: &mut Subscription) {
    let mut ticks = tokio::time::interval_at(first_tick(interval), interval);
    // After the machine slept, the blocks of that time are not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = mining_changed(node, changes) => return,
        }
        let node = node.clone();
        // When a block fails, its transactions stay in the pool: the next tick tries again.
        let _ = tokio::task::spawn_blocking(move || node.mine(1)).await;
    }
}

/// The end of the first interval, at most a year from now: the clock can't tell a later time than its own end.
fn first_tick(interval: Duration) -> tokio::time::Instant {
    let now = tokio::time::Instant::now();
    now.checked_add(interval.min(INTERVAL_MAX)).unwrap_or(now)
}

/// Waits until the mining mode is set.
async fn mining_changed(node: &Node, changes: &mut Subscription) {
    if let Err(SubscriptionError::Lagged { .. }) = changes.next().await {
        *changes = subscribe(node);
    }
}

fn subscribe(node: &Node) -> Subscription {
    node.subscribe_to(|event| matches!(event, NodeEvent::MiningChanged { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_mode_set_on_the_node_itself_restarts_the_timer() {
        let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
        let mut blocks = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
        let timer = tokio::spawn(drive(node.clone()));
        for seconds in [3_600, 7_200] {
            tokio::task::yield_now().await;
            node.set_mining(Mining::Interval(Duration::from_secs(seconds))).unwrap();
        }
        tokio::task::yield_now().await;
        assert_eq!(blocks.try_next().unwrap_err(), SubscriptionError::Empty);
        node.set_mining(Mining::Interval(Duration::from_millis(10))).unwrap();
        for _ in 0..3 {
            tokio::time::timeout(Duration::from_secs(60), blocks.next()).await.expect("a block is due").unwrap();
        }
        timer.abort();
    }
}
