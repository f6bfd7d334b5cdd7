//! A row of empty blocks as one line: rewritten in place on a terminal, from time to time elsewhere.

use std::{io::Write, time::Duration};

use tokio::time::Instant;

use super::screen::{Line, Screen};
use crate::styles::FAINT;

/// Least time between two lines of one row, on a terminal: so often it is read.
const TERMINAL_PAUSE: Duration = Duration::from_millis(50);
/// The same where every line stays, as in a file.
const FILE_PAUSE: Duration = Duration::from_secs(10);

/// The newest blocks, if they are empty.
#[derive(Debug)]
pub(super) struct EmptyBlocks {
    is_terminal: bool,
    row: Option<Row>,
    shown: Option<Instant>,
}

/// Heights of a row of empty blocks.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// First height that is not in a line that stays.
    from: u64,
    to: u64,
    /// Whether the present line tells of all of them.
    is_shown: bool,
}

impl EmptyBlocks {
    pub(super) const fn new(is_terminal: bool) -> Self {
        Self { is_terminal, row: None, shown: None }
    }

    /// Adds an empty block, and shows the row unless it was shown just now.
    pub(super) fn add(&mut self, height: u64, screen: &mut Screen<impl Write>) {
        match &mut self.row {
            Some(row) if row.to.checked_add(1) == Some(height) => (row.to, row.is_shown) = (height, false),
            _ => {
                self.end(screen);
                self.row = Some(Row { from: height, to: height, is_shown: false });
            }
        }
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.show(screen);
        }
    }

    /// The time at which the row is to be shown; `None` when it is.
    pub(super) fn due(&self) -> Option<Instant> {
        self.row.filter(|row| !row.is_shown)?;
        let pause = if self.is_terminal { TERMINAL_PAUSE } else { FILE_PAUSE };
        Some(self.shown.map_or_else(Instant::now, |shown| shown + pause))
    }

    /// Shows the row.
    pub(super) fn show(&mut self, screen: &mut Screen<impl Write>) {
        let Some(row) = &mut self.row else { return };
        self.shown = Some(Instant::now());
        row.is_shown = true;
        let line = row.line();
        if self.is_terminal {
            screen.status(&line);
        } else {
            screen.line(&line);
            row.from = row.to.saturating_add(1);
        }
    }

    /// Ends the row with a line that stays.
    pub(super) fn end(&mut self, screen: &mut Screen<impl Write>) {
        if let Some(row) = self.row.take().filter(|row| row.from <= row.to) {
            screen.line(&row.line());
        }
    }
}

impl Row {
    fn line(&self) -> Line {
        let Self { from, to, .. } = self;
        let text = if from == to { format!("block {to}: empty") } else { format!("blocks {from} to {to}: empty") };
        Line::styled(FAINT, &text)
    }
}
