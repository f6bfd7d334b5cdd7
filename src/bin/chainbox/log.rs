//! The log: what the server tells of requests and failures, line by line on stderr.
//!
//! Lines are written by a thread of their own: a reader of stderr that is slow, or gone, never holds up a request. Lines that find no place
//! are lost, and counted.

use std::{
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use clap::{Args, ValueEnum};
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt::layer,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Lines that wait to be written.
const WAITING_MAX: usize = 8_192;
/// Time for which the end of the process waits for the last lines.
const FLUSH: Duration = Duration::from_secs(1);

/// Flags of the log.
#[derive(Args, Debug)]
pub(crate) struct LogOptions {
    /// Form of the log on stderr: a line of text or a JSON object for each event
    #[arg(long, env = "CHAINBOX_LOG_FORMAT", value_name = "FORM", default_value = "text", help_heading = "Log")]
    pub(crate) log: LogForm,
    /// Least level of what is logged: info has a line for each request, with its id, route, status and time
    #[arg(long, env = "CHAINBOX_LOG", value_name = "LEVEL", default_value = "warn", help_heading = "Log")]
    pub(crate) log_level: LogLevel,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    Text,
    Json,
}

/// Least level of what is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

impl LogLevel {
    const fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

/// Writes the last lines when it is dropped.
#[derive(Debug)]
pub(crate) struct Log {
    lines: Option<Lines>,
}

/// Starts the log. What other crates tell is logged from `warn` on.
pub(crate) fn start(options: &LogOptions) -> Log {
    if options.log_level == LogLevel::Off {
        return Log { lines: None };
    }
    let (sender, waiting) = sync_channel(WAITING_MAX);
    let lines = Lines { sender, lost: Arc::default() };
    let lost = Arc::clone(&lines.lost);
    if thread::Builder::new().name("chainbox-log".to_owned()).spawn(move || write_all(&waiting, &lost)).is_err() {
        return Log { lines: None };
    }
    let level = options.log_level.filter();
    let filter = Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("chainbox", level);
    let writer = lines.clone();
    let layer = layer().with_writer(move || writer.clone());
    let layer = match options.log {
        LogForm::Text => layer.with_ansi(false).boxed(),
        LogForm::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
    };
    // One that a test has set before stays.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
    Log { lines: Some(lines) }
}

impl Drop for Log {
    fn drop(&mut self) {
        let Some(lines) = &self.lines else { return };
        let (done, written) = sync_channel(1);
        if lines.sender.try_send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(FLUSH);
        }
    }
}

/// What the writing thread is told.
#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Where events put their lines.
#[derive(Clone, Debug)]
struct Lines {
    sender: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl io::Write for Lines {
    /// Takes a line, which comes in one call.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(Message::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(waiting: &Receiver<Message>, lost: &AtomicU64) {
    let mut stderr = io::stderr();
    while let Ok(message) = waiting.recv() {
        match message {
            Message::Line(line) => drop(stderr.write_all(&line)),
            Message::Flush(done) => drop(done.send(())),
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(stderr, "{lost} lines of the log were lost: they came faster than they could be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_place_are_counted_and_hold_up_nobody() {
        let (sender, waiting) = sync_channel(1);
        let mut lines = Lines { sender, lost: Arc::default() };
        for _ in 0..3 {
            assert_eq!(lines.write(b"line\n").unwrap(), 5);
        }
        assert_eq!(lines.lost.load(Ordering::Relaxed), 2);
        assert!(matches!(waiting.try_recv(), Ok(Message::Line(line)) if line == b"line\n"));
    }
}
