//! What the frames of a message share, and how one frame starts another.

use super::{BlockContext, FrameResult, Inspector, Message, Stop};
use crate::state::{Journal, StateError};

/// Runs frames. [`Host`](super::Host) starts the frames of its calls through it, without knowledge of code and templates.
pub(super) trait FrameRunner {
    /// Runs one frame `depth` frames below the outermost.
    fn run(&self, env: &mut Env<'_>, message: &Message<'_>, depth: u32, is_static: bool) -> FrameResult;
}

/// What all frames of one message share.
pub(super) struct Env<'h> {
    pub(super) journal: &'h mut Journal,
    pub(super) block: &'h BlockContext,
    pub(super) frames: &'h dyn FrameRunner,
    pub(super) inspector: Option<&'h mut (dyn Inspector + 'h)>,
    /// Why the state could not be read; then nothing has an outcome any more.
    pub(super) unreadable: &'h mut Option<StateError>,
}

impl Env<'_> {
    /// Returns the same for a frame inside this one.
    pub(super) fn reborrow(&mut self) -> Env<'_> {
        let inspector = self.inspector.as_mut().map(|inspector| &mut **inspector as &mut dyn Inspector);
        Env { journal: self.journal, block: self.block, frames: self.frames, inspector, unreadable: self.unreadable }
    }

    /// Uses the journal, keeping its failure.
    pub(super) fn read<'s, T: 's>(
        &'s mut self,
        with: impl FnOnce(&'s mut Journal) -> Result<T, StateError>,
    ) -> Result<T, Stop> {
        with(self.journal).map_err(|error| {
            *self.unreadable = Some(error);
            Stop::StateUnreadable
        })
    }
}
