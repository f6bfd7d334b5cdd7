//! Where calls run. No thread that serves connections waits for a chain: a chain's commands wait in its own bounded queue for their
//! turn, in the order of arrival, and run on threads that all chains share, as long reads do. Of the turns for long reads one chain has half at
//! most: its further ones wait among themselves, so that they are in nobody else's way.
//!
//! Short work runs on the connection's own thread while another one is free to serve, which saves a change of thread for each
//! transaction. What waits for the network has threads of its own ([`outbound_turns`]).

mod outbound_turns;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinError,
};

pub(crate) use self::outbound_turns::OutboundBusy;
use self::outbound_turns::{OutboundTurn, OutboundTurns};
use super::{
    changes::Changes,
    limits::{
        COMMAND_WAIT_MAX, COMMANDS_WAITING_MAX, OUTBOUND_MAX, OUTBOUND_PER_WORKSPACE_MAX, READS_PER_CORE,
        READS_WAITING_MAX,
    },
    queue_error::QueueError,
};

/// Whether the caller of long work has left. Cheap to clone and to ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Cancels when it is dropped, as the future of a caller that left is.
struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// How long work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// At most a block's execution.
    Short,
    /// More than that: its cost depends on what the caller asks for.
    Long,
}

/// The threads of a server: bounds how much short work runs on those that serve connections, how many long reads run at all, and how much
/// work waits for the network.
#[derive(Clone, Debug)]
pub(crate) struct Workers {
    /// Threads that serve connections and may work themselves: all but one.
    serving: Arc<Semaphore>,
    reads: Arc<Waiting>,
    /// Turns of `reads` that one chain may have.
    reads_of_chain: usize,
    changes: Changes,
    outbound: OutboundTurns,
}

impl Default for Workers {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers());
        let reads = cores.saturating_mul(READS_PER_CORE);
        Self {
            serving: Arc::new(Semaphore::new(threads.saturating_sub(1))),
            reads: Arc::new(Waiting::new(reads, READS_WAITING_MAX, COMMAND_WAIT_MAX)),
            reads_of_chain: reads.div_ceil(2),
            changes: Changes::new(reads, COMMANDS_WAITING_MAX),
            outbound: OutboundTurns::new(OUTBOUND_MAX, OUTBOUND_PER_WORKSPACE_MAX),
        }
    }
}

impl Workers {
    /// Runs a read, which takes an immutable view and no lock.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        length: Length,
        read: impl FnOnce(&Cancellation) -> T + Send + 'static,
    ) -> Result<T, QueueError> {
        let Ok(runtime) = Handle::try_current() else { return Ok(read(&Cancellation::default())) };
        if length == Length::Short
            && let Ok(_serving) = self.serving.try_acquire()
        {
            return Ok(read(&Cancellation::default()));
        }
        let turn = self.reads.turn().await?;
        run_blocking(&runtime, turn, read).await
    }

    /// The turns of one chain's long reads.
    fn reads_of_one_chain(&self) -> Waiting {
        Waiting::new(self.reads_of_chain, self.reads.waiting_max, self.reads.wait_max)
    }

    /// Makes a brief change of records: alone on the connection's own thread, else after those that wait.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, QueueError> {
        let Ok(runtime) = Handle::try_current() else { return Ok(change()) };
        if self.changes.is_idle()
            && let Ok(_serving) = self.serving.try_acquire()
        {
            return Ok(change());
        }
        self.changes.make(&runtime, change).await
    }

    /// Takes a turn for work of a workspace that waits for the network. Nobody queues for one.
    pub(crate) fn outbound_turn(&self, workspace: &str) -> Result<OutboundTurn, OutboundBusy> {
        self.outbound.take(workspace)
    }
}

/// Runs work that waits for the network, on a thread that nothing else waits for. The turn is given back when it has ended, whether or not
/// its caller still waits.
pub(crate) async fn run_outbound<T: Send + 'static>(
    turn: OutboundTurn,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, QueueError> {
    let Ok(runtime) = Handle::try_current() else { return Ok(work()) };
    run_blocking(&runtime, turn, |_| work()).await
}

/// The commands and the long reads of one chain. Clones share the queues.
#[derive(Clone, Debug)]
pub(crate) struct CommandQueue {
    turns: Arc<Waiting>,
    /// The chain's part of the turns for long reads.
    reads: Arc<Waiting>,
    workers: Workers,
}

impl CommandQueue {
    pub(crate) fn new(workers: Workers) -> Self {
        Self::with_bounds(workers, COMMANDS_WAITING_MAX, COMMAND_WAIT_MAX)
    }

    fn with_bounds(workers: Workers, waiting_max: usize, wait_max: Duration) -> Self {
        let reads = Arc::new(workers.reads_of_one_chain());
        Self { turns: Arc::new(Waiting::new(1, waiting_max, wait_max)), reads, workers }
    }

    /// Runs a read of the chain. A long one waits for a turn of the chain's own before it waits for one of all chains.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        length: Length,
        read: impl FnOnce(&Cancellation) -> T + Send + 'static,
    ) -> Result<T, QueueError> {
        let Ok(runtime) = Handle::try_current() else { return Ok(read(&Cancellation::default())) };
        if length == Length::Short
            && let Ok(_serving) = self.workers.serving.try_acquire()
        {
            return Ok(read(&Cancellation::default()));
        }
        let turns = self.read_turns().await?;
        run_blocking(&runtime, turns, read).await
    }

    /// Takes a turn for long reads of the chain and one of all chains. Waiting for both takes no longer than for one.
    async fn read_turns(&self) -> Result<[OwnedSemaphorePermit; 2], QueueError> {
        if let Some(of_chain) = self.reads.free_turn()
            && let Some(of_all) = self.workers.reads.free_turn()
        {
            return Ok([of_chain, of_all]);
        }
        let both = async {
            let of_chain = self.reads.turn().await?;
            Ok::<_, QueueError>([of_chain, self.workers.reads.turn().await?])
        };
        let waited = self.reads.wait_max;
        tokio::time::timeout(waited, both).await.unwrap_or(Err(QueueError::TimedOut { waited }))
    }

    /// Runs a command after those before it. A caller that leaves while it waits takes the command along; one that leaves later
    /// cancels long work, which stops between two of its whole slices.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        length: Length,
        command: impl FnOnce(&Cancellation) -> T + Send + 'static,
    ) -> Result<T, QueueError> {
        let Ok(runtime) = Handle::try_current() else { return Ok(command(&Cancellation::default())) };
        let turn = self.turns.turn().await?;
        if length == Length::Short
            && let Ok(_serving) = self.workers.serving.try_acquire()
        {
            return Ok(command(&Cancellation::default()));
        }
        run_blocking(&runtime, turn, command).await
    }
}

/// Runs work on one of the runtime's blocking threads; a panic goes on in the caller.
async fn run_blocking<T: Send + 'static>(
    runtime: &Handle,
    turn: impl Send + 'static,
    work: impl FnOnce(&Cancellation) -> T + Send + 'static,
) -> Result<T, QueueError> {
    let caller = CancelOnDrop(Cancellation::default());
    let cancellation = caller.0.clone();
    let span = tracing::Span::current();
    let done = runtime.spawn_blocking(move || {
        let _span = span.entered();
        // The next one's turn comes when the work has ended, whether or not its caller still waits.
        let _turn = turn;
        work(&cancellation)
    });
    match done.await.map_err(JoinError::try_into_panic) {
        Ok(result) => Ok(result),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(QueueError::Stopping),
    }
}

/// Turns that are given in the order of arrival, with a bound on those who wait.
#[derive(Debug)]
struct Waiting {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    waiting_max: usize,
    wait_max: Duration,
}

impl Waiting {
    fn new(turns: usize, waiting_max: usize, wait_max: Duration) -> Self {
        Self { turns: Arc::new(Semaphore::new(turns)), waiting: AtomicUsize::new(0), waiting_max, wait_max }
    }

    /// Returns a turn, if one is free and nobody waits for it.
    fn free_turn(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.clone().try_acquire_owned().ok()
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, QueueError> {
        if let Some(turn) = self.free_turn() {
            return Ok(turn);
        }
        let _place = Place::take(self)?;
        match tokio::time::timeout(self.wait_max, self.turns.clone().acquire_owned()).await {
            Ok(turn) => turn.map_err(|_| QueueError::Stopping),
            Err(_) => Err(QueueError::TimedOut { waited: self.wait_max }),
        }
    }
}

/// One of the places to wait, given back when it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a Waiting) -> Result<Self, QueueError> {
        let place = Self(&waiting.waiting);
        let before = waiting.waiting.fetch_add(1, Ordering::Relaxed);
        if before < waiting.waiting_max { Ok(place) } else { Err(QueueError::Full { max: waiting.waiting_max }) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    fn queue(waiting_max: usize, wait_max: Duration) -> CommandQueue {
        CommandQueue::with_bounds(Workers::default(), waiting_max, wait_max)
    }

    /// Occupies the queue until the returned sender is dropped.
    async fn occupy(queue: &CommandQueue) -> mpsc::Sender<()> {
        let (release, released) = mpsc::channel::<()>();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let queue = queue.clone();
        tokio::spawn(async move {
            let work = move |_: &Cancellation| {
                started.send(()).unwrap();
                let _ = released.recv();
            };
            queue.run(Length::Long, work).await.unwrap();
        });
        has_started.await.unwrap();
        release
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn commands_run_one_after_another_in_the_order_of_arrival() {
        let queue = queue(100, COMMAND_WAIT_MAX);
        let release = occupy(&queue).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = Vec::new();
        for number in 0..20_usize {
            let order = order.clone();
            let length = if number % 2 == 0 { Length::Long } else { Length::Short };
            let waiting = queue.clone();
            let mut command =
                Box::pin(async move { waiting.run(length, move |_| order.lock().unwrap().push(number)).await });
            // Its first poll puts it into the queue.
            let is_waiting = std::future::poll_fn(|cx| std::task::Poll::Ready(command.as_mut().poll(cx).is_pending()));
            assert!(is_waiting.await);
            all.push(tokio::spawn(command));
        }
        drop(release);
        for one in all {
            one.await.unwrap().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_full_queue_and_a_long_wait_are_errors() {
        let queue = queue(1, Duration::from_millis(50));
        let release = occupy(&queue).await;
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.run(Length::Short, |_| ()).await }
        });
        while queue.turns.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.run(Length::Short, |_| ()).await, Err(QueueError::Full { max: 1 }));
        let waited = Duration::from_millis(50);
        assert_eq!(waiting.await.unwrap(), Err(QueueError::TimedOut { waited }));
        drop(release);
        while queue.run(Length::Short, |_| ()).await.is_err() {}
        assert_eq!(queue.turns.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_caller_that_leaves_cancels_and_one_that_waits_takes_its_command_along() {
        let queue = queue(10, COMMAND_WAIT_MAX);
        let (seen, was_cancelled) = mpsc::channel();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let running = tokio::spawn({
            let queue = queue.clone();
            async move {
                let work = move |cancellation: &Cancellation| {
                    started.send(()).unwrap();
                    while !cancellation.is_cancelled() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    seen.send(()).unwrap();
                };
                queue.run(Length::Long, work).await
            }
        });
        has_started.await.unwrap();
        let ran = Arc::new(AtomicBool::new(false));
        let waiting = tokio::spawn({
            let (queue, ran) = (queue.clone(), ran.clone());
            async move { queue.run(Length::Short, move |_| ran.store(true, Ordering::Relaxed)).await }
        });
        while queue.turns.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        waiting.abort();
        running.abort();
        was_cancelled.recv_timeout(Duration::from_secs(10)).unwrap();
        queue.run(Length::Short, |_| ()).await.unwrap();
        assert!(!ran.load(Ordering::Relaxed), "its caller had left");
    }

    #[tokio::test]
    async fn a_panic_is_the_callers_and_the_next_command_runs() {
        let queue = queue(10, COMMAND_WAIT_MAX);
        let panicking = queue.clone();
        let outcome = tokio::spawn(async move { panicking.run(Length::Long, |_| panic!("as asked")).await }).await;
        assert!(outcome.unwrap_err().is_panic());
        assert_eq!(queue.run(Length::Long, |_| 7).await, Ok(7));
    }

    /// Begins a long read that goes on until the returned sender is dropped; returns when it runs.
    async fn read_on(queue: &CommandQueue) -> mpsc::Sender<()> {
        let (release, released) = mpsc::channel::<()>();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let queue = queue.clone();
        tokio::spawn(async move {
            let work = move |_: &Cancellation| {
                started.send(()).unwrap();
                let _ = released.recv();
            };
            queue.read(Length::Long, work).await.unwrap();
        });
        has_started.await.unwrap();
        release
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_chain_has_half_of_the_turns_for_long_reads() {
        let (wait_max, reads) = (Duration::from_millis(200), 3);
        let workers =
            Workers { reads: Arc::new(Waiting::new(reads, 10, wait_max)), reads_of_chain: 2, ..Workers::default() };
        let [busy, other] = [(); 2].map(|()| CommandQueue::new(workers.clone()));
        let held = [read_on(&busy).await, read_on(&busy).await];
        // Its next one waits for its own, with a turn of all chains left; that one is the other chain's.
        let timed_out = Err(QueueError::TimedOut { waited: wait_max });
        assert_eq!(busy.read(Length::Long, |_| ()).await, timed_out);
        assert_eq!(other.read(Length::Long, |_| 7).await, Ok(7));
        // Those that wait for the chain's own have none of the places to wait for all chains' turns.
        let mut waiting = Vec::new();
        for _ in 0..10 {
            let busy = busy.clone();
            let mut read = Box::pin(async move { busy.read(Length::Long, |_| ()).await });
            // Its first poll puts it into the queue.
            let is_waiting = std::future::poll_fn(|cx| std::task::Poll::Ready(read.as_mut().poll(cx).is_pending()));
            assert!(is_waiting.await);
            waiting.push(read);
        }
        assert_eq!(busy.read(Length::Long, |_| ()).await, Err(QueueError::Full { max: 10 }));
        assert_eq!(other.read(Length::Long, |_| 7).await, Ok(7));
        drop(held);
        for one in waiting {
            assert!(matches!(one.await, Ok(()) | Err(QueueError::TimedOut { .. })));
        }
        // All turns are given back. Both chains together have no more than there are.
        let held = [read_on(&busy).await, read_on(&busy).await, read_on(&other).await];
        assert_eq!(other.read(Length::Long, |_| ()).await, timed_out, "there is none left");
        drop(held);
        while other.read(Length::Long, |_| ()).await.is_err() {}
    }

    /// One of the chains can't have them all, on however many cores.
    #[test]
    fn a_turn_for_long_reads_is_left_to_other_chains() {
        let workers = Workers::default();
        let reads = workers.reads.turns.available_permits();
        assert!((1..reads).contains(&workers.reads_of_chain), "{} of {reads}", workers.reads_of_chain);
    }

    #[test]
    fn without_a_runtime_work_runs_at_once() {
        let queue = queue(0, Duration::ZERO);
        let result = futures_util::FutureExt::now_or_never(queue.run(Length::Long, |_| 7));
        assert_eq!(result, Some(Ok(7)));
        let result = futures_util::FutureExt::now_or_never(queue.read(Length::Long, |_| 7));
        assert_eq!(result, Some(Ok(7)));
    }
}
