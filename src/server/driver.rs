//! The timer of interval mining: the only place where real time passes for a node.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::eth::rpc::EthRpc;
use crate::node::Mining;

/// Mines when an interval block is due, for as long as it is polled.
pub async fn drive(rpc: EthRpc) {
    loop {
        match rpc.node().mining() {
            Mining::Interval(interval) if !interval.is_zero() => mine_every(&rpc, interval).await,
            _ => rpc.mining_changed().await,
        }
    }
}

/// Mines a block an interval until the mode changes.
async fn mine_every(rpc: &EthRpc, interval: Duration) {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
    // A machine that slept does not owe the blocks of that time.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = rpc.mining_changed() => return,
        }
        let node = rpc.node().clone();
        // A block that could not be made leaves its transactions in the pool: the next tick tries again.
        let _ = tokio::task::spawn_blocking(move || node.mine(1)).await;
    }
}
