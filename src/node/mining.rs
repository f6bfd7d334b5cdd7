//! When blocks are made, and what time they bear.

use core::time::Duration;

use super::{MineError, Node, TimeError, writer::Writer};
use crate::{chain::ExecutedBlock, primitives::Timestamp};

/// Most blocks that one call makes.
pub const BLOCKS_AT_ONCE_MAX: u64 = 1_000_000;

/// When the node makes a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mining {
    /// As soon as a transaction is ready.
    #[default]
    EachTransaction,
    /// Every so often, also an empty one. Time passes by [`Node::pass_time`], or a server's timer calls [`Node::mine`].
    Interval(Duration),
    /// Only when told by [`Node::mine`].
    Manual,
}

/// While it lives, transactions gather in the pool; dropping it mines them, together where one block holds them.
#[derive(Debug)]
pub struct MiningHold {
    node: Node,
}

impl Drop for MiningHold {
    fn drop(&mut self) {
        let mut writer = self.node.write();
        writer.holds -= 1;
        // A block that can't be made leaves its transactions in the pool; the next one tries again.
        let _ = writer.settle(&self.node.shared);
    }
}

/// Making blocks.
impl Node {
    /// Makes `count` blocks of what is ready, oldest first.
    ///
    /// # Errors
    /// [`MineError::TooMany`] over [`BLOCKS_AT_ONCE_MAX`]; [`MineError`] when a block can't be made: those before it stay.
    pub fn mine(&self, count: u64) -> Result<Vec<ExecutedBlock>, MineError> {
        self.mine_spaced(count, None)
    }

    /// As [`Node::mine`], with `seconds` between one block's time and the next.
    ///
    /// # Errors
    /// As [`Node::mine`].
    pub fn mine_spaced(&self, count: u64, seconds: Option<u64>) -> Result<Vec<ExecutedBlock>, MineError> {
        if count > BLOCKS_AT_ONCE_MAX {
            return Err(MineError::TooMany { asked: count, max: BLOCKS_AT_ONCE_MAX });
        }
        let mut writer = self.write();
        let mut blocks = Vec::new();
        for index in 0..count {
            if let Some(seconds) = seconds.filter(|_| index > 0) {
                writer.time.increase(seconds);
            }
            blocks.push(writer.mine_one(&self.shared)?);
        }
        Ok(blocks)
    }

    /// When blocks are made.
    pub fn mining(&self) -> Mining {
        self.write().mining
    }

    /// Changes when blocks are made; what is ready is mined when it becomes [`Mining::EachTransaction`].
    ///
    /// # Errors
    /// [`MineError`] when that block can't be made; the mode is changed all the same.
    pub fn set_mining(&self, mining: Mining) -> Result<(), MineError> {
        let mut writer = self.write();
        writer.mining = mining;
        writer.settle(&self.shared)
    }

    /// Lets transactions gather until the answer is dropped, so that they share a block.
    pub fn hold_mining(&self) -> MiningHold {
        self.write().holds += 1;
        MiningHold { node: self.clone() }
    }
}

/// Time.
impl Node {
    /// The time that a block made now would bear, were nothing set by hand.
    pub fn now(&self) -> Timestamp {
        self.write().time.now(&*self.shared.clock)
    }

    /// Moves time on by `seconds` without making a block; answers by how much time is now ahead of the clock, in seconds.
    pub fn increase_time(&self, seconds: u64) -> i64 {
        self.write().time.increase(seconds)
    }

    /// Makes the time `timestamp` from now on.
    ///
    /// # Errors
    /// [`TimeError::BeforeParent`] when the last block is later.
    pub fn set_time(&self, timestamp: Timestamp) -> Result<(), TimeError> {
        let mut writer = self.write();
        let parent = head_time(&writer);
        if timestamp < parent {
            return Err(TimeError::BeforeParent { asked: timestamp, parent });
        }
        writer.time.go_to(&*self.shared.clock, timestamp);
        Ok(())
    }

    /// Sets the next block's time; blocks after it go on from there.
    ///
    /// # Errors
    /// [`TimeError::BeforeParent`] when the last block is later.
    pub fn set_next_block_timestamp(&self, timestamp: Timestamp) -> Result<(), TimeError> {
        let mut writer = self.write();
        let parent = head_time(&writer);
        writer.time.set_next(timestamp, parent)
    }

    /// Puts a fixed number of seconds between blocks, whatever the clock says; `None` goes back to the clock.
    pub fn set_block_timestamp_interval(&self, seconds: Option<u64>) {
        self.write().time.set_interval(seconds);
    }

    /// Lets `duration` pass: time moves on, and with [`Mining::Interval`] every block that falls due is made at its own time.
    ///
    /// # Errors
    /// [`MineError`] when a block can't be made; time has then passed up to it.
    pub fn pass_time(&self, duration: Duration) -> Result<Vec<ExecutedBlock>, MineError> {
        let mut writer = self.write();
        let mut blocks = Vec::new();
        let mut left = duration;
        if let Mining::Interval(interval) = writer.mining
            && !interval.is_zero()
        {
            while left >= interval {
                writer.time.increase(interval.as_secs());
                left -= interval;
                blocks.push(writer.mine_one(&self.shared)?);
            }
        }
        writer.time.increase(left.as_secs());
        Ok(blocks)
    }
}

fn head_time(writer: &Writer) -> Timestamp {
    writer.chain().head().block().timestamp()
}
