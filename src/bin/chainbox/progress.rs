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

/// Time between two lines of progress without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of a campaign: a bar on a terminal, elsewhere a line now and then.
pub(crate) struct Seeds {
    bar: ProgressBar,
    has_lines: bool,
    total: u64,
    done: u64,
    findings: u64,
    started: Instant,
    last_line: Instant,
}

impl Seeds {
    /// Begins the progress of `total` seeds.
    pub(crate) fn new(total: u64, is_quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if is_quiet || !is_terminal { ProgressBar::hidden() } else { ProgressBar::new(total) };
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}") {
            bar.set_style(style);
        }
        let now = wall_clock();
        Self { bar, has_lines: !is_quiet && !is_terminal, total, done: 0, findings: 0, started: now, last_line: now }
    }

    /// Counts a seed.
    pub(crate) fn advance(&mut self, is_finding: bool) {
        self.done += 1;
        self.findings += u64::from(is_finding);
        self.bar.inc(1);
        if self.has_lines && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = wall_clock();
            anstream::eprintln!("{}", self.line());
        } else if !self.bar.is_hidden() {
            self.bar.set_message(self.line());
        }
    }

    /// Ends it; returns the number of seeds and their speed.
    pub(crate) fn finish(self) -> String {
        self.bar.finish_and_clear();
        let secs = self.started.elapsed().as_secs_f64();
        format!("{} seeds in {secs:.1} s: {}", self.done, rate(self.done, secs))
    }

    fn line(&self) -> String {
        let secs = self.started.elapsed().as_secs_f64();
        let left = (self.total - self.done) as f64 * secs / (self.done as f64).max(1.0);
        let findings = match self.findings {
            1 => "1 finding".to_owned(),
            count => format!("{count} findings"),
        };
        format!("{} of {} seeds, {}, {findings}, {} left", self.done, self.total, rate(self.done, secs), span(left))
    }
}

/// Formats seeds a second, rounded: with a digit after the point below ten.
fn rate(seeds: u64, secs: f64) -> String {
    let rate = seeds as f64 / secs.max(1e-3);
    if rate < 10.0 { format!("{rate:.1} seeds/s") } else { format!("{rate:.0} seeds/s") }
}

/// Formats a duration in its greatest unit.
fn span(secs: f64) -> String {
    match secs {
        below if below < 100.0 => format!("{below:.0} s"),
        below if below < 100.0 * 60.0 => format!("{:.0} min", below / 60.0),
        secs => format!("{:.1} h", secs / 3_600.0),
    }
}

/// Returns the wall-clock time, to measure the speed of a run.
#[allow(clippy::disallowed_methods, reason = "no run depends on it")]
pub(crate) fn wall_clock() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_and_spans_are_rounded() {
        assert_eq!([rate(717, 9.9), rate(3, 2.0), rate(0, 0.0)], ["72 seeds/s", "1.5 seeds/s", "0.0 seeds/s"]);
        assert_eq!([span(41.4), span(130.0), span(20_000.0)], ["41 s", "2 min", "5.6 h"]);
        let mut seeds = Seeds::new(10, true);
        seeds.advance(true);
        let line = seeds.line();
        assert!(line.starts_with("1 of 10 seeds, ") && line.contains(", 1 finding, "), "{line}");
    }
}
