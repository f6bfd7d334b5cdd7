//! Reorganising a node's chain: the newest blocks leave it, and others take their place.

use std::sync::Arc;

use super::{MineError, Node, ReorgError, SendError, Submission, send::Prepared, writer::Writer};
use crate::{
    chain::{Chain, ExecutedBlock},
    consensus::ReplicaId,
    primitives::{B256, Height, Transaction},
    sim::BlockOrder,
};

/// A transaction of the new branch: its place among those given, and itself.
type Planned = (usize, Prepared);

/// What a reorg goes back to.
struct Rewound {
    /// The chain before.
    before: Chain,
    /// The block that left the chain first, the oldest.
    oldest: ExecutedBlock,
    /// What waited in the pool.
    waiting: Vec<Arc<Transaction>>,
}

/// Reorganisations, as those that a client of a real network sees.
impl Node {
    /// Replaces the newest `depth` blocks by as many others, and returns the new head. Each transaction is given with the block that
    /// it is in, from 0 for the oldest; a block without any is empty.
    ///
    /// Subscribers get one [`NodeEvent::Head`](super::NodeEvent::Head) with the blocks removed and those added, logs of the removed
    /// ones are removed logs to a server's clients. Transactions of the removed blocks are gone unless given again; those that wait in
    /// the pool stay. So do interventions before the oldest removed block; later ones are gone. Time does not go back: the first new
    /// block is at least a second after the block that it replaces, so that it is another one with the same transactions, too.
    /// Final blocks are removed as well: one validator's are final at once.
    ///
    /// ```
    /// use chainbox::{chain::CallRequest, node::Node, primitives::U256};
    /// let node = Node::new();
    /// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    /// let paid = node.transfer(alice, bob, U256::from(5))?;
    /// node.mine(1)?;
    ///
    /// // The payment is gone, and another one is in the second new block.
    /// let request = CallRequest::call(bob, vec![]).with_from(alice).with_value(U256::from(7));
    /// let head = node.reorg(2, [(request.into(), 1)])?;
    /// assert_eq!((head.height().get(), head.transactions().len()), (2, 1));
    /// assert!(node.receipt(paid.transaction().hash())?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReorgError::TooDeep`] beyond [`REORG_DEPTH_MAX`](super::REORG_DEPTH_MAX), genesis, or the first block since the node was
    /// built; [`ReorgError::Transaction`] and [`ReorgError::LeftOut`] for a transaction that is not in its block.
    pub fn reorg(
        &self,
        depth: u64,
        transactions: impl IntoIterator<Item = (Submission, u64)>,
    ) -> Result<ExecutedBlock, ReorgError> {
        let mut plan = self.planned(depth, transactions.into_iter().collect())?;
        let mut writer = self.write();
        if depth == 0 {
            return Ok(writer.chain().head().clone());
        }
        writer.command(&self.inner, |writer| {
            let rewound = writer.rewind(depth)?;
            let mut ancestors = Vec::new();
            for block in 0..depth {
                ancestors.push(writer.network.earlier_head());
                let planned: Vec<Planned> = plan.extract_if(.., |(_, of)| *of == block).map(|(one, _)| one).collect();
                self.make_block(writer, &rewound, &planned)?;
            }
            writer.finish_reorg(self, rewound)?;
            ancestors.into_iter().for_each(|head| writer.ancestors.push(head));
            Ok(writer.chain().head().clone())
        })
    }

    /// Removes the newest `depth` blocks, and returns the new head. All else is as with [`Node::reorg`].
    ///
    /// ```
    /// use chainbox::node::Node;
    /// let node = Node::new();
    /// node.mine(3)?;
    /// assert_eq!(node.rollback(2)?.height().get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Node::reorg`].
    pub fn rollback(&self, depth: u64) -> Result<ExecutedBlock, ReorgError> {
        let mut writer = self.write();
        if depth > 0 {
            writer.command(&self.inner, |writer| {
                let rewound = writer.rewind(depth)?;
                writer.finish_reorg(self, rewound)
            })?;
        }
        Ok(writer.chain().head().clone())
    }

    /// The transactions with their blocks, signatures checked.
    fn planned(&self, depth: u64, transactions: Vec<(Submission, u64)>) -> Result<Vec<(Planned, u64)>, ReorgError> {
        let outside = transactions.iter().position(|(_, block)| *block >= depth);
        if let Some((index, block)) = outside.and_then(|index| Some((index, transactions.get(index)?.1))) {
            return Err(ReorgError::BlockIndex { index, block, depth });
        }
        let (submissions, blocks): (Vec<_>, Vec<_>) = transactions.into_iter().unzip();
        Ok(self.prepare(submissions).into_iter().enumerate().zip(blocks).collect())
    }

    /// Makes the next block of the new branch.
    fn make_block(&self, writer: &mut Writer, rewound: &Rewound, planned: &[Planned]) -> Result<(), ReorgError> {
        let mut view = self.view();
        let mut hashes: Vec<B256> = Vec::with_capacity(planned.len());
        for (index, prepared) in planned {
            let sent = self.submit(writer, &mut view, prepared);
            hashes.push(sent.map_err(|source| ReorgError::Transaction { index: *index, source })?);
        }
        let head = writer.chain().head();
        let mut timestamp = writer.settings.next_timestamp(&*self.inner.clock, head.timestamp());
        if head.hash() == rewound.oldest.parent_hash() {
            timestamp = timestamp.max(rewound.oldest.timestamp().saturating_add_secs(1));
        }
        let order = BlockOrder::new().with_timestamp(timestamp);
        let produced = writer.network.produce_block(&order).map_err(MineError::from_network)?;
        writer.settings.time.on_block(&*self.inner.clock, timestamp);
        let is_in = |hash: &B256| produced.block.transactions().iter().any(|transaction| transaction.hash() == *hash);
        match hashes.into_iter().find(|hash| !is_in(hash)) {
            None => Ok(()),
            Some(hash) => {
                let reason = produced.left_out.iter().find(|(transaction, _)| transaction.hash() == hash);
                let reason = reason.map_or_else(
                    || "its nonce, its fee or the block's gas limit does not allow it".to_owned(),
                    |(_, reason)| reason.to_string(),
                );
                Err(ReorgError::LeftOut { hash, height: produced.block.height(), reason })
            }
        }
    }
}

impl Writer {
    /// Goes back by `depth` blocks, at least 1, to an empty pool.
    fn rewind(&mut self, depth: u64) -> Result<Rewound, ReorgError> {
        let before = self.chain().clone();
        let too_deep = |max| ReorgError::TooDeep { asked: depth, max };
        let height = before.head().height().get().checked_sub(depth).map(Height::new);
        let earlier = height.and_then(|height| self.ancestors.at(&before, height)).cloned();
        let (Some(height), Some(earlier)) = (height, earlier) else {
            return Err(too_deep(self.ancestors.depth(&before)));
        };
        let oldest = before.block_at(height.next())?;
        let waiting = self.pool().content().into_iter().map(|pooled| pooled.transaction).collect();
        self.network.rewind(&earlier).map_err(MineError::from_network)?;
        self.network.drop_all_transactions();
        Ok(Rewound { before, oldest, waiting })
    }

    /// Returns what waited to the pool, and publishes the move of the head.
    fn finish_reorg(&mut self, node: &Node, rewound: Rewound) -> Result<(), ReorgError> {
        for transaction in rewound.waiting {
            let added = self.network.submit(transaction, ReplicaId::new(0)).map_err(SendError::from_network);
            match added {
                // What the new branch has made invalid is gone.
                Ok(_) | Err(SendError::Pool(_)) => {}
                Err(source) => return Err(MineError::from_send(source).into()),
            }
        }
        self.publish_switch(&node.inner, &rewound.before)?;
        Ok(())
    }
}
