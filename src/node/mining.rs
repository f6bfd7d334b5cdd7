//! Making blocks, and time travel.

use core::{ops::ControlFlow, time::Duration};

use super::{ClockOffset, MineError, Mining, Node, NodeEvent, TimeError, writer::Writer};
use crate::{chain::ExecutedBlock, primitives::Timestamp};

/// Most blocks that one call of [`Node::mine`] makes.
pub const BLOCKS_PER_CALL_MAX: u64 = 1_000_000;

/// Making blocks.
impl Node {
    /// Makes `count` blocks of the ready transactions, and returns the last one: the new head, or the present one for no blocks.
    ///
    /// ```
    /// use chainbox::node::Node;
    /// let node = Node::new();
    /// assert_eq!(node.mine(3)?.height().get(), 3);
    /// # Ok::<(), chainbox::node::MineError>(())
    /// ```
    ///
    /// # Errors
    /// [`MineError::TooMany`] over [`BLOCKS_PER_CALL_MAX`]; [`MineError`] when a block can't be made: those before it stay.
    pub fn mine(&self, count: u64) -> Result<ExecutedBlock, MineError> {
        self.mine_spaced(count, None)
    }

    /// As [`Node::mine`], with `spacing`, in whole seconds, between one block's time and the next; where a longer interval is set
    /// ([`Node::set_block_timestamp_interval`]), with that one.
    ///
    /// # Errors
    /// As [`Node::mine`].
    pub fn mine_spaced(&self, count: u64, spacing: Option<Duration>) -> Result<ExecutedBlock, MineError> {
        let mut last = None;
        self.mine_each(count, spacing, |block| {
            last = Some(block.clone());
            ControlFlow::Continue(())
        })?;
        Ok(last.unwrap_or_else(|| self.view().head().clone()))
    }

    /// As [`Node::mine_spaced`], and shows each block to `visit`, which may stop. Returns the number of blocks made.
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
            let spacing = spacing.filter(|_| made > 0).unwrap_or_default();
            let block = writer.mine_block(&self.inner, spacing).map_err(|cause| cause.after(made, count))?;
            if visit(&block).is_break() {
                return Ok(made.saturating_add(1));
            }
        }
        Ok(count)
    }

    /// The mining mode; [`Mining::Manual`] of a node of a [`SharedNetwork`](super::SharedNetwork), which makes its blocks itself.
    pub fn mining(&self) -> Mining {
        self.view().mining()
    }

    /// Sets the mining mode; ready transactions are mined when it becomes [`Mining::EachTransaction`]. Subscribers get
    /// [`NodeEvent::MiningChanged`], which also drives a server's timer.
    ///
    /// # Errors
    /// [`MineError`] when that block can't be made; the mode is changed all the same.
    pub fn set_mining(&self, mining: Mining) -> Result<(), MineError> {
        self.inner.check_own_network()?;
        let mut writer = self.write();
        writer.set(&self.inner, |settings| settings.mining = mining);
        self.inner.subscribers.send(&NodeEvent::MiningChanged { mining });
        writer.automine(&self.inner)
    }
}

/// Time travel. Block timestamps are whole seconds: a fraction of a second in a [`Duration`] is dropped.
impl Node {
    /// The clock's time with the offset of time travel: the timestamp that a block made now gets, unless one is set for it, or an
    /// interval, or the head's is not earlier.
    pub fn now(&self) -> Timestamp {
        self.view().now()
    }

    /// Advances time by `duration` without making a block: the next one is at least so much later than the head. Returns the new
    /// offset from the clock.
    ///
    /// ```
    /// use std::time::Duration;
    /// use chainbox::node::Node;
    /// let node = Node::new();
    /// let before = node.mine(20)?.timestamp();
    /// node.increase_time(Duration::from_secs(60));
    /// assert_eq!(node.mine(1)?.timestamp().as_secs(), before.as_secs() + 60);
    /// # Ok::<(), chainbox::node::MineError>(())
    /// ```
    pub fn increase_time(&self, duration: Duration) -> ClockOffset {
        let mut writer = self.write();
        if self.inner.shared.is_some() {
            return writer.settings.time.offset();
        }
        let head = head_time(&writer);
        writer.set(&self.inner, |settings| {
            settings.time.increase(head, duration);
            settings.time.offset()
        })
    }

    /// Sets the time to `timestamp`; it advances with the clock.
    ///
    /// # Errors
    /// [`TimeError::BeforeParent`] when the head's timestamp is later; [`TimeError::Engine`] when the clock panics.
    pub fn set_time(&self, timestamp: Timestamp) -> Result<(), TimeError> {
        self.inner.check_own_network()?;
        let mut writer = self.write();
        let parent = head_time(&writer);
        if timestamp < parent {
            return Err(TimeError::BeforeParent { asked: timestamp, parent });
        }
        writer.change_settings(&self.inner, |settings| {
            settings.time.set_now(&*self.inner.clock, timestamp);
            Ok(())
        })
    }

    /// Sets the next block's timestamp; time continues from it.
    ///
    /// # Errors
    /// [`TimeError::BeforeParent`] when the head's timestamp is later; [`TimeError::EqualsParent`] when it is the same, unless the node
    /// was built with [`NodeBuilder::with_equal_timestamps`](super::NodeBuilder::with_equal_timestamps).
    pub fn set_next_block_timestamp(&self, timestamp: Timestamp) -> Result<(), TimeError> {
        self.inner.check_own_network()?;
        let mut writer = self.write();
        let parent = head_time(&writer);
        writer.change_settings(&self.inner, |settings| settings.time.set_next(timestamp, parent, settings.timestamps))
    }

    /// Sets a fixed interval between block timestamps in place of the clock, in whole seconds; `None` returns to the clock. Time travel
    /// makes one interval longer.
    pub fn set_block_timestamp_interval(&self, interval: Option<Duration>) {
        if self.inner.shared.is_none() {
            self.write().set(&self.inner, |settings| settings.time.set_interval(interval));
        }
    }

    /// Advances time by `duration`, and returns the head after it. With [`Mining::Interval`] every block that falls due is made at its
    /// own time, as a command of its own. A node of a [`SharedNetwork`](super::SharedNetwork) lets the network run.
    ///
    /// # Errors
    /// [`MineError::TooMany`] when more than [`BLOCKS_PER_CALL_MAX`] blocks fall due. [`MineError`] when one can't be made,
    /// [`MineError::Partial`] when some were made before it: time has then passed up to the last one that was made.
    pub fn pass_time(&self, duration: Duration) -> Result<ExecutedBlock, MineError> {
        if self.inner.shared.is_some() {
            self.check_own_time()?;
            self.run_network(|network| network.run_for(duration)).map_err(MineError::from_network)?;
            return Ok(self.view().head().clone());
        }
        let mut writer = self.write();
        let interval = match writer.settings.mining {
            Mining::Interval(interval) => interval,
            Mining::EachTransaction | Mining::Manual => Duration::ZERO,
        };
        let asked = duration.as_nanos().checked_div(interval.as_nanos()).unwrap_or(0);
        let asked = u64::try_from(asked).unwrap_or(u64::MAX);
        if asked > BLOCKS_PER_CALL_MAX {
            return Err(MineError::TooMany { asked, max: BLOCKS_PER_CALL_MAX });
        }
        let mut passed = Duration::ZERO;
        for made in 0..asked {
            let due = passed.saturating_add(interval);
            let step = whole_seconds_between(passed, due);
            writer.mine_block(&self.inner, step).map_err(|cause| cause.after(made, asked))?;
            passed = due;
        }
        let head = head_time(&writer);
        writer.set(&self.inner, |settings| settings.time.increase(head, whole_seconds_between(passed, duration)));
        Ok(writer.chain().head().clone())
    }
}

/// Returns the whole seconds from one elapsed time to a later one: of ten steps of half a second, every other one is a second.
fn whole_seconds_between(from: Duration, to: Duration) -> Duration {
    Duration::from_secs(to.as_secs().saturating_sub(from.as_secs()))
}

fn head_time(writer: &Writer) -> Timestamp {
    writer.chain().head().block().timestamp()
}
