//! The timer of interval mining: the only place where a node depends on wall time.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::eth::rpc::EthRpc;
use crate::node::Mining;

/// Mines blocks at the interval of the mining mode, in each mode that has one. Never returns.
pub async fn drive(rpc: EthRpc) {
    loop {
        match rpc.node().mining() {
            Mining::Interval(interval) if !interval.is_zero() => mine_every(&rpc, interval).await,
            _ => rpc.mining_changed().await,
        }
    }
}

/// Mines a block per interval until the mining mode changes.
async fn mine_every(rpc: &EthRpc, interval: Duration) {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
    // After the machine slept, the blocks of that time are not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = rpc.mining_changed() => return,
        }
        let node = rpc.node().clone();
        // When a block fails, its transactions stay in the pool: the next tick tries again.
        let _ = tokio::task::spawn_blocking(move || node.mine(1)).await;
    }
}
