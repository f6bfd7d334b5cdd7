//! Making blocks, and time travel.

use core::{ops::ControlFlow, time::Duration};

use super::{ClockOffset, MineError, Mining, Node, NodeEvent, TimeError, writer::Writer};
use crate::{chain::ExecutedBlock, primitives::Timestamp};

/// Most blocks that one call of [`Node::mine`] makes.
pub const BLOCKS_PER_CALL_MAX: u64 = 1_000_000;

/// Suspends automatic mining while it lives, so that transactions share a block; dropping the last one mines what is ready.
#[derive(Debug)]
pub struct MiningHold {
    node: Node,
}

impl Drop for MiningHold {
    fn drop(&mut self) {
        let mut writer = self.node.write();
        writer.holds -= 1;
        // Transactions of a block that can't be made stay in the pool, for the next block.
        let _ = writer.automine(&self.node.inner);
    }
}

/// Making blocks.
impl Node {
    /// Makes `count` blocks of the ready transactions, and returns them, oldest first.
    ///
    /// # Errors
    /// [`MineError::TooMany`] over [`BLOCKS_PER_CALL_MAX`]; [`MineError`] when a block can't be made: those before it stay.
    pub fn mine(&self, count: u64) -> Result<Vec<ExecutedBlock>, MineError> {
        self.mine_spaced(count, None)
    }

    /// As [`Node::mine`], with `spacing`, in whole seconds, between one block's time and the next.
    ///
    /// # Errors
    /// As [`Node::mine`].
    pub fn mine_spaced(&self, count: u64, spacing: Option<Duration>) -> Result<Vec<ExecutedBlock>, MineError> {
        let mut blocks = Vec::new();
        self.mine_each(count, spacing, |block| {
            blocks.push(block.clone());
            ControlFlow::Continue(())
        })?;
        Ok(blocks)
    }

    /// As [`Node::mine_spaced`], keeps no block and shows each to `visit`, which may stop. Returns the number of blocks made.
    ///
    /// Every block is a command of its own: readers see it at once, and it stays when a later one fails. Other commands wait.
    ///
    /// # Errors
    /// As [`Node::mine`]; [`MineError::Partial`] when some blocks were made before the error.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use chainbox::node::Node;
    /// let node = Node::new();
    /// let made = node.mine_each(1_000, None, |block| match block.height().get() {
    ///     10 => ControlFlow::Break(()),
    ///     _ => ControlFlow::Continue(()),
    /// })?;
    /// assert_eq!(made, 10);
    /// # Ok::<(), chainbox::node::MineError>(())
    /// ```
    pub fn mine_each(
        &self,
        count: u64,
        spacing: Option<Duration>,
        mut visit: impl FnMut(&ExecutedBlock) -> ControlFlow<()>,
    ) -> Result<u64, MineError> {
        if count > BLOCKS_PER_CALL_MAX {
            return Err(MineError::TooMany { asked: count, max: BLOCKS_PER_CALL_MAX });
        }
        let mut writer = self.write();
        for made in 0..count {
            if let Some(spacing) = spacing.filter(|_| made > 0) {
                writer.increase_time(&self.inner, spacing);
            }
            let block = writer.mine_block(&self.inner).map_err(|cause| match made {
                0 => cause,
                _ => MineError::Partial { made, asked: count, cause: Box::new(cause) },
            })?;
            if visit(&block).is_break() {
                return Ok(made.saturating_add(1));
            }
        }
        Ok(count)
    }

    /// The mining mode.
    pub fn mining(&self) -> Mining {
        self.view().mining()
    }

    /// Sets the mining mode; ready transactions are mined when it becomes [`Mining::EachTransaction`]. Subscribers get
    /// [`NodeEvent::MiningChanged`], which also drives a server's timer.
    ///
    /// # Errors
    /// [`MineError`] when that block can't be made; the mode is changed all the same.
    pub fn set_mining(&self, mining: Mining) -> Result<(), MineError> {
        let mut writer = self.write();
        writer.settings.mining = mining;
        writer.publish_settings(&self.inner);
        self.inner.subscribers.send(&NodeEvent::MiningChanged { mining });
        writer.automine(&self.inner)
    }

    /// Suspends automatic mining until the returned value is dropped.
    pub fn hold_mining(&self) -> MiningHold {
        self.write().holds += 1;
        MiningHold { node: self.clone() }
    }
}

/// Time travel. Block timestamps are whole seconds: a fraction of a second in a [`Duration`] is dropped.
impl Node {
    /// The clock's time with the offset of time travel: the timestamp that a block made now gets, unless one is set for it.
    pub fn now(&self) -> Timestamp {
        self.view().now()
    }

    /// Advances time by `duration` without making a block. Returns the new offset from the clock.
    pub fn increase_time(&self, duration: Duration) -> ClockOffset {
        self.write().increase_time(&self.inner, duration)
    }

    /// Sets the time to `timestamp`; it advances with the clock.
    ///
    /// # Errors
    /// [`TimeError::BeforeParent`] when the head's timestamp is later.
    pub fn set_time(&self, timestamp: Timestamp) -> Result<(), TimeError> {
        let mut writer = self.write();
        let parent = head_time(&writer);
        if timestamp < parent {
            return Err(TimeError::BeforeParent { asked: timestamp, parent });
        }
        writer.settings.time.set_now(&*self.inner.clock, timestamp);
        writer.publish_settings(&self.inner);
        Ok(())
    }

    /// Sets the next block's timestamp; time continues from it.
    ///
    /// # Errors
    /// [`TimeError::BeforeParent`] when the head's timestamp is later.
    pub fn set_next_block_timestamp(&self, timestamp: Timestamp) -> Result<(), TimeError> {
        let mut writer = self.write();
        let parent = head_time(&writer);
        writer.settings.time.set_next(timestamp, parent)?;
        writer.publish_settings(&self.inner);
        Ok(())
    }

    /// Sets a fixed interval between block timestamps in place of the clock; `None` returns to the clock.
    pub fn set_block_timestamp_interval(&self, interval: Option<Duration>) {
        let mut writer = self.write();
        writer.settings.time.set_interval(interval);
        writer.publish_settings(&self.inner);
    }

    /// Advances time by `duration`. With [`Mining::Interval`] every block that falls due is made at its own time.
    ///
    /// # Errors
    /// [`MineError`] when a block can't be made; time has then passed up to it.
    pub fn pass_time(&self, duration: Duration) -> Result<Vec<ExecutedBlock>, MineError> {
        let mut writer = self.write();
        let mut blocks = Vec::new();
        let mut left = duration;
        if let Mining::Interval(interval) = writer.settings.mining
            && !interval.is_zero()
        {
            while left >= interval {
                writer.increase_time(&self.inner, interval);
                left -= interval;
                blocks.push(writer.mine_block(&self.inner)?);
            }
        }
        writer.increase_time(&self.inner, left);
        Ok(blocks)
    }
}

fn head_time(writer: &Writer) -> Timestamp {
    writer.chain().head().block().timestamp()
}
