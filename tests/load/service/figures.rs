//! Times of responses, and of processors.

use std::{fmt, time::Duration};

/// Unit of the times in `/proc/PID/stat` (`USER_HZ`), in milliseconds.
const TICK_MS: u64 = 10;

/// Times of the responses to one class of requests, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Times(Vec<u32>);

impl Times {
    pub(super) fn push(&mut self, time: Duration) {
        self.0.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    pub(super) fn summary(mut self) -> Summary {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        let at = |place: usize| Duration::from_micros(self.0.get(place).copied().map_or(0, u64::from));
        let percentile = |percent: usize| at((self.0.len() * percent / 100).min(last));
        Summary { number: self.0.len(), p50: percentile(50), p99: percentile(99), max: at(last) }
    }
}

/// Number of the responses, percentiles and maximum of their times; zero where there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) number: usize,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

/// A time in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Millis(pub(super) Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}", self.0.as_secs_f64() * 1_000.0)
    }
}

/// Returns the processor time that a process has taken, of all its threads; `None` where the system has no `/proc`.
pub(super) fn processor_time(process: &str) -> Option<Duration> {
    ticks(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
        .map(|ticks| Duration::from_millis(ticks * TICK_MS))
}

/// Returns user and system time: fields 14 and 15 (`proc_pid_stat(5)`). The second field, a name in brackets, may have spaces.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map_while(|field| field.parse::<u64>().ok());
    Some(times.next()? + times.next()?)
}

#[test]
fn percentiles_are_of_all_times() {
    let mut times = Times::default();
    (101..=200).for_each(|micros| times.push(Duration::from_micros(micros)));
    let mut others = Times::default();
    (1..=100).rev().for_each(|micros| others.push(Duration::from_micros(micros)));
    times.append(others);
    let [p50, p99, max] = [101, 199, 200].map(Duration::from_micros);
    assert_eq!(times.summary(), Summary { number: 200, p50, p99, max });
    let zero = Duration::ZERO;
    assert_eq!(Times::default().summary(), Summary { number: 0, p50: zero, p99: zero, max: zero });
}

#[test]
fn processor_time_is_read_behind_any_name() {
    let stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 900 0 0 0 120 34 5 6 20 0 4 0 100 1 2";
    assert_eq!(ticks(stat), Some(154));
    assert_eq!(ticks("7 (a) S 1 7"), None);
}
