//! The timer of interval mining: the only place where a node depends on wall time.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use tokio::time::{Instant, MissedTickBehavior};

use super::{commands::Length, eth::rpc::EthRpc};
use crate::node::{Mining, Node, NodeEvent, Subscription, SubscriptionError};

/// Pause before the timer starts again after a panic.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Mines blocks at the interval of the mining mode, in each mode that has one, in turn with the chain's other commands. Never
/// returns. A panic is counted, and the timer starts again after a second.
pub async fn drive(rpc: EthRpc) {
    loop {
        let driven = AssertUnwindSafe(drive_until_panic(&rpc)).catch_unwind().await;
        let Err(_) = driven else { return };
        rpc.counters().count_panic();
        tokio::time::sleep(RESTART_DELAY).await;
    }
}

async fn drive_until_panic(rpc: &EthRpc) {
    let node = rpc.node();
    let mut changes = subscribe(node);
    loop {
        match node.mining() {
            Mining::Interval(interval) if !interval.is_zero() => {
                mine_every(rpc, interval, &mut changes).await;
            }
            _ => mining_changed(node, &mut changes).await,
        }
    }
}

/// Mines a block per interval until the mining mode changes.
async fn mine_every(rpc: &EthRpc, interval: Duration, changes: &mut Subscription) {
    let node = rpc.node();
    // An instant past the end of the clock never comes.
    let Some(first) = Instant::now().checked_add(interval) else { return mining_changed(node, changes).await };
    let mut ticks = tokio::time::interval_at(first, interval);
    // After the machine slept, the blocks of that time are not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = mining_changed(node, changes) => return,
        }
        let node = node.clone();
        // When a block fails, its transactions stay in the pool: the next tick tries again.
        let _ = rpc.commands().run(Length::Long, move |_| drop(node.mine(1))).await;
    }
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
        let timer = tokio::spawn(drive(EthRpc::new(node.clone())));
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

    #[tokio::test]
    async fn an_interval_past_the_clocks_end_makes_no_block_and_the_next_one_does() {
        let node = Node::builder().with_mining(Mining::Interval(Duration::MAX)).build().unwrap();
        let rpc = EthRpc::new(node.clone());
        let timer = tokio::spawn(drive(rpc.clone()));
        tokio::task::yield_now().await;
        let mut blocks = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
        node.set_mining(Mining::Interval(Duration::from_millis(10))).unwrap();
        tokio::time::timeout(Duration::from_secs(60), blocks.next()).await.expect("a block is due").unwrap();
        assert_eq!(rpc.counters().panics(), 0);
        timer.abort();
    }
}
