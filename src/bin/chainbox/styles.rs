//! Styles of what is printed.

use anstyle::{AnsiColor, Style};

/// Style of headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// Style of success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Style of secondary text.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Style of what deserves a look.
#[cfg(feature = "server")]
pub(crate) const NOTICE: Style = AnsiColor::Yellow.on_default();
/// Style of errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
