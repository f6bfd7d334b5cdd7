//! Changes of records: each is brief, and they exclude one another. So they wait in one queue, which a thread empties: under load nobody is
//! woken for each of them, which would take longer than the change.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};
use tracing::Span;

use super::{
    clock::{MonotonicClock, Ticks as _},
    queue_error::QueueError,
};

/// Time after which a change that waits is taken by one more thread: the one before it is not so brief.
const HELPED_AFTER: Duration = Duration::from_millis(10);

/// The changes that wait. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    queue: Arc<Mutex<Queue>>,
    threads_max: usize,
    waiting_max: usize,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Threads that empty it.
    threads: usize,
}

struct Waiting {
    since: MonotonicClock,
    change: Box<dyn FnOnce() + Send>,
}

impl core::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Waiting").field("since", &self.since).finish_non_exhaustive()
    }
}

impl Changes {
    /// A queue with bounds on who empties it and how many wait in it.
    pub(super) fn new(threads_max: usize, waiting_max: usize) -> Self {
        Self { queue: Arc::default(), threads_max, waiting_max }
    }

    /// Returns whether no change waits or is made by a thread of the queue.
    pub(super) fn is_idle(&self) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.threads == 0
    }

    /// Makes a change after those before it. A caller that leaves while it waits takes the change along.
    ///
    /// # Errors
    /// [`QueueError::Full`], [`QueueError::Stopping`]. A panic of the change goes on in the caller.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        runtime: &Handle,
        change: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, QueueError> {
        let (sender, mut made) = oneshot::channel();
        let span = Span::current();
        let change = move || {
            if sender.is_closed() {
                return;
            }
            let _span = span.entered();
            let _ = sender.send(catch_unwind(AssertUnwindSafe(change)));
        };
        self.push(runtime, Box::new(change))?;
        let made = loop {
            match tokio::time::timeout(HELPED_AFTER, &mut made).await {
                Ok(made) => break made,
                Err(_) => self.help(runtime),
            }
        };
        match made {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(QueueError::Stopping),
        }
    }

    fn push(&self, runtime: &Handle, change: Box<dyn FnOnce() + Send>) -> Result<(), QueueError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.waiting.len() >= self.waiting_max {
            return Err(QueueError::Full { max: self.waiting_max });
        }
        queue.waiting.push_back(Waiting { since: MonotonicClock::default(), change });
        if queue.threads == 0 {
            self.start(queue, runtime);
        }
        Ok(())
    }

    /// Starts one more thread where the first that waits does so for long.
    fn help(&self, runtime: &Handle) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waits_long = queue.waiting.front().is_some_and(|first| first.since.elapsed() >= HELPED_AFTER);
        if waits_long && queue.threads < self.threads_max {
            self.start(queue, runtime);
        }
    }

    fn start(&self, mut queue: MutexGuard<'_, Queue>, runtime: &Handle) {
        queue.threads = queue.threads.saturating_add(1);
        // A runtime that stops drops the thread at once, which takes the lock.
        drop(queue);
        let thread = Emptying { queue: Arc::clone(&self.queue), has_left: false };
        runtime.spawn_blocking(move || thread.run());
    }
}

/// A thread that empties the queue, or is about to.
struct Emptying {
    queue: Arc<Mutex<Queue>>,
    has_left: bool,
}

impl Emptying {
    fn run(mut self) {
        while let Some(change) = self.next() {
            change();
        }
    }

    /// Takes the next change, or leaves.
    fn next(&mut self) -> Option<Box<dyn FnOnce() + Send>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.threads = queue.threads.saturating_sub(1);
            self.has_left = true;
        }
        next.map(|waiting| waiting.change)
    }
}

/// A runtime that stops runs no thread that is about to begin: nobody makes the changes that wait, and their callers are told.
impl Drop for Emptying {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.threads = queue.threads.saturating_sub(1);
        if queue.threads == 0 {
            queue.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Begins a change that lasts until the returned sender is dropped.
    async fn occupy(changes: &Changes) -> mpsc::Sender<()> {
        let (release, released) = mpsc::channel::<()>();
        let (started, has_started) = oneshot::channel();
        let changes = changes.clone();
        tokio::spawn(async move {
            let change = move || {
                started.send(()).unwrap();
                let _ = released.recv();
            };
            changes.make(&Handle::current(), change).await.unwrap();
        });
        has_started.await.unwrap();
        release
    }

    /// Puts a change into the queue.
    async fn begin<T: Send + 'static>(
        changes: &Changes,
        change: impl FnOnce() -> T + Send + 'static,
    ) -> tokio::task::JoinHandle<Result<T, QueueError>> {
        let (changes, runtime) = (changes.clone(), Handle::current());
        let mut made = Box::pin(async move { changes.make(&runtime, change).await });
        let is_waiting = std::future::poll_fn(|cx| std::task::Poll::Ready(made.as_mut().poll(cx).is_pending()));
        assert!(is_waiting.await);
        tokio::spawn(made)
    }

    #[tokio::test]
    async fn changes_are_made_in_the_order_of_arrival_and_a_panic_is_its_callers() {
        let changes = Changes::new(1, 100);
        let release = occupy(&changes).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = Vec::new();
        for number in 0..20 {
            let order = Arc::clone(&order);
            let change = move || {
                assert!(number != 7, "as asked");
                order.lock().unwrap().push(number);
            };
            all.push(begin(&changes, change).await);
        }
        assert!(!changes.is_idle());
        drop(release);
        for (number, one) in all.into_iter().enumerate() {
            assert_eq!(one.await.is_err_and(|cause| cause.is_panic()), number == 7);
        }
        let want: Vec<i32> = (0..20).filter(|number| *number != 7).collect();
        assert_eq!(*order.lock().unwrap(), want);
        while !changes.is_idle() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_full_queue_is_an_error_and_who_leaves_takes_the_change_along() {
        let changes = Changes::new(1, 2);
        let release = occupy(&changes).await;
        let (made, was_made) = mpsc::channel();
        let leaves = begin(&changes, move || made.send(()).unwrap()).await;
        let stays = begin(&changes, || 7).await;
        assert_eq!(changes.make(&Handle::current(), || 8).await, Err(QueueError::Full { max: 2 }));
        leaves.abort();
        assert!(leaves.await.unwrap_err().is_cancelled());
        drop(release);
        assert_eq!(stays.await.unwrap(), Ok(7));
        assert!(was_made.recv().is_err(), "its caller had left");
    }

    #[tokio::test]
    async fn another_thread_helps_where_one_takes_long_up_to_the_bound() {
        let changes = Changes::new(2, 100);
        let first = occupy(&changes).await;
        assert_eq!(changes.make(&Handle::current(), || 1).await, Ok(1), "though the first one is not done");
        let second = occupy(&changes).await;
        let waits = begin(&changes, || 2).await;
        tokio::time::sleep(5 * HELPED_AFTER).await;
        assert_eq!((changes.queue.lock().unwrap().threads, waits.is_finished()), (2, false));
        drop((first, second));
        assert_eq!(waits.await.unwrap(), Ok(2));
    }

    #[test]
    fn a_runtime_that_stops_tells_those_who_wait() {
        let changes = Changes::new(1, 100);
        let stopped = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = stopped.handle().clone();
        stopped.shutdown_background();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        assert_eq!(runtime.block_on(changes.make(&handle, || 7)), Err(QueueError::Stopping));
        assert!(changes.is_idle());
        assert_eq!(runtime.block_on(changes.make(runtime.handle(), || 7)), Ok(7));
    }
}
