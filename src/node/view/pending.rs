//! The pending block: the one that would be mined now.

use std::sync::{Arc, Mutex, PoisonError};

use super::NodeView;
use crate::{
    chain::{BlockAttributes, BlockExecutionError, ExecutedBlock, SimulatedBlock},
    node::QueryError,
    primitives::Timestamp,
};

/// The pending block of a head, a pool and interventions; built when it is first asked for, and again for another timestamp.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingBlock {
    /// Shared by the views that differ in settings alone. A reader waits here for another that builds; the writer never does.
    built: Arc<Mutex<Option<SimulatedBlock>>>,
}

impl PendingBlock {
    fn at(
        &self,
        timestamp: Timestamp,
        build: impl FnOnce() -> Result<SimulatedBlock, BlockExecutionError>,
    ) -> Result<SimulatedBlock, BlockExecutionError> {
        // A reader that panicked while it built left the place as it was.
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        match &*built {
            Some(known) if known.block.block().timestamp() == timestamp => Ok(known.clone()),
            _ => Ok(built.insert(build()?).clone()),
        }
    }
}

impl NodeView {
    /// The block that would be mined now, unsealed: the ready transactions on top of the head and of the interventions since, at the
    /// time that a block made now gets. Its hash is not the one it will have.
    ///
    /// It is executed when it is first asked for and kept with the view; the chain does not contain it.
    ///
    /// ```
    /// use chainbox::{chain::CallRequest, node::{BlockRef, Mining, Node}, primitives::ether};
    /// let node = Node::builder().with_mining(Mining::Manual).build()?;
    /// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    /// node.send_request(CallRequest::call(bob, vec![]).with_from(alice).with_value(ether(1)))?;
    /// assert_eq!(node.view().pending_block()?.receipts().len(), 1);
    /// assert_eq!(node.view().balance(bob, BlockRef::Pending)?, ether(10_001));
    /// assert_eq!(node.view().balance(bob, BlockRef::Latest)?, ether(10_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the state can't be read, [`QueryError::InvalidBlock`] when no valid block can be made.
    pub fn pending_block(&self) -> Result<ExecutedBlock, QueryError> {
        self.pending().map(|pending| pending.block)
    }

    /// The pending block and the state after it.
    pub(in crate::node) fn pending(&self) -> Result<SimulatedBlock, QueryError> {
        let parent = self.chain.head().block().timestamp();
        let timestamp = self.settings.time.next_timestamp(&*self.clock, parent).max(self.next.timestamp);
        let built = self.pending.at(timestamp, || {
            let attributes = BlockAttributes { timestamp, ..self.next.clone() };
            self.chain.simulate_block(&attributes, &mut self.pool.best(self.next_base_fee()))
        });
        Ok(built?)
    }
}
