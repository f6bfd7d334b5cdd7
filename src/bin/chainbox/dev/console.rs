//! The console: what happens on the chain, in lines that fit the terminal.
//!
//! A thread of its own writes it, from bounded queues that the node never waits for: a slow terminal loses lines and says how many
//! blocks it lost. Reasons of failures come from where the transaction was executed; nothing is executed for the console.

mod describe;
mod empty_blocks;
mod names;
mod screen;

use std::{
    io::{self, IsTerminal as _, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use chainbox::{
    node::{Node, NodeEvent, NodeView, Subscription},
    platform::{Mail, PublicUrl},
    server::{MonitoredCall, RpcMonitor},
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use zeroize::Zeroizing;

use self::{
    empty_blocks::EmptyBlocks,
    names::Names,
    screen::{INDENT, Line, Screen},
};
use crate::styles::FAINT;

/// Moves of the head and loaded dumps in the console's queue; those past it are counted and not printed.
const QUEUE_MAX: usize = 1_024;
/// Observed calls in the console's queue.
const CALLS_MAX: usize = 1_024;
/// Mails in the console's queue; those past it are in the mailbox alone.
const MAILS_MAX: usize = 64;
/// Longest time for which the end of the process waits for a terminal.
const FINISH_MAX: Duration = Duration::from_secs(1);

/// A console that has begun to listen and prints nothing yet.
#[derive(Debug)]
pub(crate) struct Console {
    sources: Sources,
    monitor: Arc<QueueingMonitor>,
    names: Names,
    mails: mpsc::Sender<ShownMail>,
}

/// A console that prints.
#[derive(Debug)]
pub(crate) struct RunningConsole {
    stop: oneshot::Sender<Vec<String>>,
    thread: JoinHandle<()>,
}

/// What is shown of a mail that a development service would send. The link lets its reader in, and is for the screen alone.
pub(crate) struct ShownMail {
    to: String,
    subject: String,
    link: Option<Zeroizing<String>>,
}

impl ShownMail {
    /// Takes recipient, subject and the first link to the service from a mail.
    pub(crate) fn of(mail: &Mail, url: &PublicUrl) -> Self {
        let is_link = |line: &&str| line.strip_prefix(url.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let link = mail.body.lines().find(is_link).map(|link| Zeroizing::new(link.to_owned()));
        Self { to: mail.to.clone(), subject: mail.subject.clone(), link }
    }
}

/// What the console listens to.
#[derive(Debug)]
struct Sources {
    heads: Subscription,
    calls: mpsc::Receiver<Call>,
    lost_calls: Arc<AtomicU64>,
    mails: mpsc::Receiver<ShownMail>,
}

/// An observed call of Ethereum JSON-RPC, for the console's thread.
#[derive(Debug)]
struct Call {
    method: String,
    params: Vec<Value>,
    result: Result<Value, String>,
    view: Arc<NodeView>,
}

/// Queues the calls that the server observes.
#[derive(Debug)]
struct QueueingMonitor {
    calls: mpsc::Sender<Call>,
    lost: Arc<AtomicU64>,
}

impl RpcMonitor for QueueingMonitor {
    fn on_call(&self, call: &MonitoredCall<'_>) {
        let Ok(place) = self.calls.try_reserve() else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        place.send(Call {
            method: call.method.to_owned(),
            params: serde_json::from_str(call.params).unwrap_or_default(),
            result: call.result.cloned().map_err(str::to_owned),
            view: Arc::clone(call.view),
        });
    }
}

impl Console {
    /// Listens to a node from now on.
    pub(crate) fn new(node: &Node) -> Self {
        let heads =
            node.subscribe_lossy(|event| matches!(event, NodeEvent::Head { .. } | NodeEvent::Loaded { .. }), QUEUE_MAX);
        let (sender, calls) = mpsc::channel(CALLS_MAX);
        let lost_calls = Arc::<AtomicU64>::default();
        let monitor = Arc::new(QueueingMonitor { calls: sender, lost: Arc::clone(&lost_calls) });
        let (mails, received) = mpsc::channel(MAILS_MAX);
        let sources = Sources { heads, calls, lost_calls, mails: received };
        Self { sources, monitor, names: Names::new(node), mails }
    }

    /// Returns what tells the console of calls.
    pub(crate) fn monitor(&self) -> Arc<dyn RpcMonitor> {
        Arc::<QueueingMonitor>::clone(&self.monitor)
    }

    /// Returns what takes the mails that are to be shown.
    pub(crate) fn mails(&self) -> mpsc::Sender<ShownMail> {
        self.mails.clone()
    }

    /// Starts the thread that prints `banner`, and then what happens.
    ///
    /// # Errors
    /// No thread could be started.
    pub(crate) fn start(self, banner: String) -> io::Result<RunningConsole> {
        let Self { sources, names, .. } = self;
        let is_terminal = io::stdout().is_terminal();
        let output = anstream::AutoStream::auto(io::stdout());
        let screen = Screen::new(output, if is_terminal { screen::terminal_width } else { || None });
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = thread::Builder::new().name("console".to_owned()).spawn(move || {
            let mut printer = Printer::new(screen, names);
            printer.screen.text(&banner);
            // A closed output ends it.
            let _ = runtime.block_on(printer.follow(sources, stopped));
        })?;
        Ok(RunningConsole { stop, thread })
    }
}

impl RunningConsole {
    /// Prints what is queued and then `lines`, unless the terminal takes too long.
    pub(crate) fn finish(self, lines: Vec<String>) {
        let _ = self.stop.send(lines);
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !self.thread.is_finished() && waited < FINISH_MAX {
            thread::sleep(step);
            waited += step;
        }
    }
}

/// Turns events into lines.
struct Printer<W> {
    screen: Screen<W>,
    names: Names,
    empty: EmptyBlocks,
}

impl<W: Write> Printer<W> {
    fn new(screen: Screen<W>, names: Names) -> Self {
        Self { empty: EmptyBlocks::new(screen.is_terminal()), screen, names }
    }

    /// Prints until `stopped` has lines, which come last, or until the node is dropped.
    async fn follow(&mut self, mut sources: Sources, mut stopped: oneshot::Receiver<Vec<String>>) -> io::Result<()> {
        self.screen.flush()?;
        loop {
            let due = self.empty.due();
            let pause = async { tokio::time::sleep_until(due.unwrap_or_else(tokio::time::Instant::now)).await };
            // What came first is printed first, as far as two queues tell; the end comes when both are empty.
            tokio::select! {
                biased;
                Some(call) = sources.calls.recv() => self.call(call),
                Some(mail) = sources.mails.recv() => self.mail(&mail),
                event = sources.heads.next() => match event {
                    Ok(event) => self.event(event)?,
                    Err(_) => break,
                },
                () = pause, if due.is_some() => self.empty.show(&mut self.screen),
                lines = &mut stopped => {
                    self.empty.end(&mut self.screen);
                    lines.iter().flatten().for_each(|line| self.screen.line(&Line::plain(line)));
                    break;
                }
            }
            self.print_losses(&sources);
            self.screen.flush()?;
        }
        self.empty.end(&mut self.screen);
        self.screen.flush()
    }

    fn event(&mut self, event: NodeEvent) -> io::Result<()> {
        match event {
            NodeEvent::Head { removed, added, view, .. } => {
                if let Some(line) = describe::switch(&removed, &added) {
                    self.print(&line);
                }
                for block in added.iter() {
                    if block.block().transactions().is_empty() {
                        self.empty.add(block.height().get(), &mut self.screen);
                        continue;
                    }
                    self.empty.end(&mut self.screen);
                    for index in 0..block.block().transactions().len() {
                        describe::transaction(&mut self.names, &view, block, index, &mut self.screen);
                        self.screen.flush_when_long()?;
                    }
                }
            }
            NodeEvent::Loaded { summary } => {
                self.print(&Line::plain(&format!("loaded a dump: {}", crate::dev::banner::describe_load(&summary))));
            }
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, call: Call) {
        self.empty.end(&mut self.screen);
        describe::call(&mut self.names, &call, &mut self.screen);
    }

    /// The link is in a line of its own, which is not broken: it is to be copied.
    fn mail(&mut self, mail: &ShownMail) {
        self.print(&Line::plain(&format!("mail to {}: {}", mail.to, mail.subject)));
        if let Some(link) = &mail.link {
            self.screen.text(&format!("{INDENT}{}\n", **link));
        }
    }

    fn print(&mut self, line: &Line) {
        self.empty.end(&mut self.screen);
        self.screen.line(line);
    }

    fn print_losses(&mut self, sources: &Sources) {
        let (heads, calls) = (sources.heads.take_lost(), sources.lost_calls.swap(0, Ordering::Relaxed));
        for (lost, what) in [(heads, "changes of the head"), (calls, "calls")] {
            if lost > 0 {
                let text = format!("({lost} {what} are not printed: the console is too slow)");
                self.print(&Line::styled(FAINT, &text));
            }
        }
    }
}

#[cfg(test)]
mod tests;
