//! Logs of blocks in the form of the RPC, made once for all filters and subscriptions.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::B256;
use alloy_rpc_types_eth::Log as RpcLog;

use super::convert;
use crate::chain::ExecutedBlock;

/// Blocks whose logs are kept.
const BLOCKS_MAX: usize = 256;
/// Logs kept of all blocks but the newest.
const LOGS_MAX: usize = 65_536;

/// The logs of the blocks asked for last.
#[derive(Debug, Default)]
pub(super) struct SharedLogs(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    blocks: VecDeque<(B256, Arc<[RpcLog]>)>,
    /// Logs in `blocks`.
    count: usize,
}

impl SharedLogs {
    /// Returns all logs of `block`, as logs that are not removed.
    pub(super) fn of_block(&self, block: &ExecutedBlock) -> Arc<[RpcLog]> {
        let hash = block.hash();
        // Whoever waits for the lock most likely wants the same block.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, logs)) = kept.blocks.iter().rev().find(|(known, _)| *known == hash) {
            return Arc::clone(logs);
        }
        let logs: Arc<[RpcLog]> =
            (0..block.receipts().len()).filter_map(|index| convert::logs(block, index)).flatten().collect();
        kept.count = kept.count.saturating_add(logs.len());
        kept.blocks.push_back((hash, Arc::clone(&logs)));
        while kept.blocks.len() > BLOCKS_MAX || kept.count > LOGS_MAX && kept.blocks.len() > 1 {
            if let Some((_, evicted)) = kept.blocks.pop_front() {
                kept.count = kept.count.saturating_sub(evicted.len());
            }
        }
        logs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{node::Node, primitives::U256, templates::Erc20Params};

    #[test]
    fn logs_are_made_once_and_kept_up_to_the_bound() {
        let node = Node::new();
        let owner = node.accounts()[0];
        node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code()).unwrap();
        let first = node.view().head().clone();
        let shared = SharedLogs::default();
        let logs = shared.of_block(&first);
        assert!(!logs.is_empty());
        assert!(Arc::ptr_eq(&logs, &shared.of_block(&first)));
        let others = node.mine_all(BLOCKS_MAX as u64);
        for block in &others[..BLOCKS_MAX - 1] {
            shared.of_block(block);
        }
        assert!(Arc::ptr_eq(&logs, &shared.of_block(&first)), "at the bound");
        shared.of_block(&others[BLOCKS_MAX - 1]);
        assert!(!Arc::ptr_eq(&logs, &shared.of_block(&first)), "one past it");
    }
}
