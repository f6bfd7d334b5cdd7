//! Progress bars on a terminal; none without one.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use chainbox::sim::Network;
use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar of a run of unknown length.
pub(crate) fn spinner(is_quiet: bool) -> ProgressBar {
    if is_quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Shows the progress of the network.
pub(crate) fn show(bar: &ProgressBar, network: &Network) {
    let (height, steps) = (network.lowest_height(), network.steps());
    bar.set_message(format!("{} of virtual time, lowest head at height {height}, {steps} steps", network.now()));
}

/// Returns a progress bar of seeds.
pub(crate) fn seeds(count: u64, is_quiet: bool) -> ProgressBar {
    if is_quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count);
    let template = "{bar:32} {pos}/{len} seeds  {per_sec}  {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Returns the wall-clock time, to measure the speed of a run.
#[allow(clippy::disallowed_methods, reason = "no run depends on it")]
pub(crate) fn wall_clock() -> Instant {
    Instant::now()
}
