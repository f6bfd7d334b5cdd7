//! The pending block: the one that would be mined now.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::NodeView;
use crate::{
    chain::{BlockAttributes, BlockExecutionError, ExecutedBlock, Pool, SimulatedBlock},
    node::QueryError,
    primitives::Timestamp,
};

/// The pending block of a head, a pool and interventions; built when it is first asked for, and again for another timestamp. Where the
/// pool has only grown since an earlier view built it, it continues that one.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingBlock {
    /// Shared by the views that differ in settings alone. A reader waits here for another that builds; the writer never does.
    place: Arc<Mutex<Place>>,
}

#[derive(Debug, Default)]
struct Place {
    built: Option<SimulatedBlock>,
    earlier: Option<Earlier>,
}

/// The pending block of an earlier pool on the same head, with the same interventions.
#[derive(Clone, Debug)]
struct Earlier {
    block: SimulatedBlock,
    pool: Pool,
}

impl PendingBlock {
    /// The pending block of a view that differs from that of `self`, whose pool is `pool`, in the pool alone.
    pub(super) fn followed(&self, pool: &Pool) -> Self {
        let place = match self.place.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // A reader builds it.
            Err(TryLockError::WouldBlock) => None,
        };
        let earlier = place.and_then(|place| match &place.built {
            Some(block) => Some(Earlier { block: block.clone(), pool: pool.clone() }),
            None => place.earlier.clone(),
        });
        Self { place: Arc::new(Mutex::new(Place { built: None, earlier })) }
    }

    fn at(
        &self,
        timestamp: Timestamp,
        build: impl FnOnce(Option<Earlier>) -> Result<SimulatedBlock, BlockExecutionError>,
    ) -> Result<SimulatedBlock, BlockExecutionError> {
        let mut place = self.lock();
        match &place.built {
            Some(known) if known.timestamp() == timestamp => Ok(known.clone()),
            _ => {
                let earlier = place.earlier.take().filter(|earlier| earlier.block.timestamp() == timestamp);
                Ok(place.built.insert(build(earlier)?).clone())
            }
        }
    }

    /// A reader that panicked while it built left the place as it was, or without the earlier block.
    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.pending().map(|pending| pending.block().clone())
    }

    /// The pending block and the state after it.
    pub(in crate::node) fn pending(&self) -> Result<SimulatedBlock, QueryError> {
        let parent = self.chain.head().block().timestamp();
        let timestamp = self.settings.next_timestamp(&*self.clock, parent).max(self.next.timestamp);
        let built = self.pending.at(timestamp, |earlier| {
            let continued = earlier.and_then(|Earlier { block, pool }| {
                let appended = self.pool.appended_since(&pool, block.tip_min())?;
                Some(block.continued(appended))
            });
            continued.unwrap_or_else(|| {
                let attributes = BlockAttributes { timestamp, ..self.next.clone() };
                self.chain.simulate_block(&attributes, &mut self.pool.best(self.next_base_fee()))
            })
        });
        Ok(built?)
    }
}
