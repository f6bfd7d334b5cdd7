//! State shared by the frames of a message, and the trait by which one frame starts another.

use super::{BlockContext, FrameResult, Inspector, Message, Stop};
use crate::state::{Journal, StateError};

/// Runs frames. [`Host`](super::Host) starts the frames of its calls through it and knows neither code nor templates.
pub(super) trait FrameRunner {
    /// Runs one frame `depth` frames below the outermost.
    fn run(&self, env: &mut Env<'_>, message: &Message<'_>, depth: u32, is_static: bool) -> FrameResult;
}

/// State shared by all frames of one message.
pub(super) struct Env<'h> {
    pub(super) journal: &'h mut Journal,
    pub(super) block: &'h BlockContext,
    pub(super) frames: &'h dyn FrameRunner,
    pub(super) inspector: Option<&'h mut (dyn Inspector + 'h)>,
    /// Error of reading the state; once it is set, no frame has an outcome.
    pub(super) unreadable: &'h mut Option<StateError>,
}

impl Env<'_> {
    /// Returns the environment of a frame started by this one.
    pub(super) fn reborrow(&mut self) -> Env<'_> {
        let inspector = self.inspector.as_mut().map(|inspector| &mut **inspector as &mut dyn Inspector);
        Env { journal: self.journal, block: self.block, frames: self.frames, inspector, unreadable: self.unreadable }
    }

    /// Uses the journal and keeps its error.
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
