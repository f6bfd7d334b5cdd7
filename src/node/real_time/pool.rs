//! The pool: threads, and a heap of what wants to run and when.
//!
//! At most one idle thread sleeps until the first entry is due, the others until they are needed. What runs is in no heap, so that it
//! runs on one thread at a time.

use core::{cmp::Reverse, fmt, num::NonZeroUsize, time::Duration};
use std::{
    collections::{BTreeMap, BinaryHeap},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use super::clock::RealTimeClock;

/// Longest sleep: how late a clock that jumped is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// Pause until something that was locked is tried again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// What a pool lets run.
pub(super) trait Hosted: Send + Sync {
    /// Runs up to `now`.
    fn advance(&self, now: Duration) -> Advanced;
}

/// The outcome of [`Hosted::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advanced {
    /// It wants to run at this time next, if at all.
    Until(Option<Duration>),
    /// Somebody has locked it.
    Busy,
    /// It will not run any more.
    Failed,
}

/// Number of something on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostedId(u64);

/// Threads that did not end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{threads} threads of the pool are still at a network after {} s; they end by themselves", within.as_secs_f64())]
pub struct ShutdownError {
    /// Number of threads.
    pub threads: usize,
    /// Time that they had.
    pub within: Duration,
}

/// What a pool has and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PoolCounters {
    /// Networks, failed ones among them.
    pub networks: usize,
    /// Networks that failed.
    pub failed: usize,
    /// Times that a network ran.
    pub runs: u64,
}

/// The threads.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn RealTimeClock>,
    queue: Mutex<Queue>,
    /// Something is due earlier than before, or the pool stops.
    wakes: Condvar,
    /// A thread has ended, or something has run.
    ended: Condvar,
}

#[derive(Default)]
struct Queue {
    /// By time; entries that are no longer their owner's are void.
    due: BinaryHeap<Reverse<(Duration, HostedId)>>,
    hosted: BTreeMap<HostedId, Entry>,
    next_id: u64,
    /// Whether a thread sleeps until the first entry is due.
    has_sleeper: bool,
    is_stopping: bool,
    threads: usize,
    failed: usize,
    runs: u64,
}

/// Shows sizes alone.
impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hosted, threads) = (self.hosted.len(), self.threads);
        f.debug_struct("Queue").field("hosted", &hosted).field("threads", &threads).finish_non_exhaustive()
    }
}

struct Entry {
    hosted: Arc<dyn Hosted>,
    /// Time of its entry in the heap.
    wake: Option<Duration>,
    is_running: bool,
}

/// The place of something on a pool, as it knows it itself. The pool ends without it.
#[derive(Clone, Debug)]
pub(in crate::node) struct Host {
    id: HostedId,
    pool: Weak<Shared>,
}

impl Host {
    pub(super) const fn id(&self) -> HostedId {
        self.id
    }

    /// Returns the pool's time; `None` once it stops.
    pub(super) fn now(&self) -> Option<Duration> {
        let pool = self.pool.upgrade().filter(|pool| !pool.queue().is_stopping)?;
        Some(pool.clock.now())
    }

    /// Runs it no later than `at`.
    pub(super) fn wake_at(&self, at: Duration) {
        if let Some(pool) = self.pool.upgrade() {
            pool.wake_at(self.id, at);
        }
    }
}

impl Pool {
    pub(super) fn start(threads: NonZeroUsize, clock: Arc<dyn RealTimeClock>) -> io::Result<Self> {
        let (queue, wakes, ended) = (Mutex::default(), Condvar::new(), Condvar::new());
        let pool = Self { shared: Arc::new(Shared { clock, queue, wakes, ended }) };
        for number in 0..threads.get() {
            let shared = Arc::clone(&pool.shared);
            shared.count_thread(true);
            let thread = thread::Builder::new().name(format!("chainbox-net-{number}"));
            if let Err(error) = thread.spawn(move || shared.work()) {
                pool.shared.count_thread(false);
                // Those that have started end.
                pool.shared.stop();
                return Err(error);
            }
        }
        Ok(pool)
    }

    pub(super) fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    pub(super) fn clock(&self) -> Arc<dyn RealTimeClock> {
        Arc::clone(&self.shared.clock)
    }

    /// Returns a new place.
    pub(super) fn host(&self) -> Host {
        let mut queue = self.shared.queue();
        let id = HostedId(queue.next_id);
        queue.next_id = queue.next_id.saturating_add(1);
        Host { id, pool: Arc::downgrade(&self.shared) }
    }

    /// Runs something at its place, from now on.
    pub(super) fn insert(&self, id: HostedId, hosted: Arc<dyn Hosted>) {
        self.shared.queue().hosted.insert(id, Entry { hosted, wake: None, is_running: false });
        self.shared.wake_at(id, Duration::ZERO);
    }

    /// Takes something from the pool, once it has run to the end of its step.
    pub(super) fn remove(&self, id: HostedId) {
        let queue = self.shared.queue();
        let is_running = |queue: &mut Queue| queue.hosted.get(&id).is_some_and(|entry| entry.is_running);
        let mut queue = self.shared.ended.wait_while(queue, is_running).unwrap_or_else(PoisonError::into_inner);
        queue.hosted.remove(&id);
    }

    pub(super) fn counters(&self) -> PoolCounters {
        let queue = self.shared.queue();
        PoolCounters { networks: queue.hosted.len(), failed: queue.failed, runs: queue.runs }
    }

    pub(super) fn shutdown(&self, within: Duration) -> Result<(), ShutdownError> {
        self.shared.stop();
        let has_threads = |queue: &mut Queue| queue.threads > 0;
        let waited = self.shared.ended.wait_timeout_while(self.shared.queue(), within, has_threads);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.hosted.clear();
        queue.due.clear();
        match queue.threads {
            0 => Ok(()),
            threads => Err(ShutdownError { threads, within }),
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.queue().is_stopping = true;
        self.wakes.notify_all();
    }

    /// Runs what is due until the pool stops.
    fn work(&self) {
        while let Some((id, hosted)) = self.next() {
            let now = self.clock.now();
            // A panic is the network's own to note; here it costs no thread.
            let advanced = catch_unwind(AssertUnwindSafe(|| hosted.advance(now))).unwrap_or(Advanced::Failed);
            self.put_back(id, now, advanced);
        }
        self.count_thread(false);
        self.ended.notify_all();
    }

    fn count_thread(&self, begins: bool) {
        let mut queue = self.queue();
        queue.threads = if begins { queue.threads.saturating_add(1) } else { queue.threads.saturating_sub(1) };
    }

    /// Waits for something that is due; `None` once the pool stops.
    fn next(&self) -> Option<(HostedId, Arc<dyn Hosted>)> {
        let mut queue = self.queue();
        loop {
            if queue.is_stopping {
                return None;
            }
            let pause = queue.due.peek().map(|Reverse((at, _))| at.saturating_sub(self.clock.now()));
            if pause == Some(Duration::ZERO) {
                if let Some(next) = queue.take_first() {
                    queue.runs = queue.runs.saturating_add(1);
                    // Another thread sleeps, or runs what else is due.
                    self.wakes.notify_one();
                    return Some(next);
                }
                continue;
            }
            queue = match pause.filter(|_| !queue.has_sleeper) {
                None => self.wakes.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(pause) => {
                    queue.has_sleeper = true;
                    let slept = self.wakes.wait_timeout(queue, pause.min(SLEEP_MAX));
                    let (mut queue, _) = slept.unwrap_or_else(PoisonError::into_inner);
                    queue.has_sleeper = false;
                    queue
                }
            };
        }
    }

    /// Puts back what has run.
    fn put_back(&self, id: HostedId, now: Duration, advanced: Advanced) {
        let mut queue = self.queue();
        let is_failed = advanced == Advanced::Failed;
        if let Some(entry) = queue.hosted.get_mut(&id) {
            entry.is_running = false;
            // What was asked for meanwhile.
            let asked = entry.wake.take();
            let wants = match advanced {
                Advanced::Until(at) => at,
                Advanced::Busy => Some(now.saturating_add(BUSY_PAUSE)),
                Advanced::Failed => None,
            };
            if let Some(at) = [asked.filter(|_| !is_failed), wants].into_iter().flatten().min() {
                entry.wake = Some(at);
                queue.due.push(Reverse((at, id)));
            }
        }
        queue.failed = queue.failed.saturating_add(usize::from(is_failed));
        drop(queue);
        self.ended.notify_all();
    }

    fn wake_at(&self, id: HostedId, at: Duration) {
        let mut queue = self.queue();
        let first = queue.due.peek().map(|Reverse((first, _))| *first);
        let Some(entry) = queue.hosted.get_mut(&id) else { return };
        if entry.wake.is_some_and(|wake| wake <= at) {
            return;
        }
        entry.wake = Some(at);
        if !entry.is_running {
            queue.due.push(Reverse((at, id)));
            drop(queue);
            if first.is_none_or(|first| at < first) {
                self.wakes.notify_all();
            }
        }
    }
}

impl Queue {
    /// Takes the first of the heap, unless that entry is void.
    fn take_first(&mut self) -> Option<(HostedId, Arc<dyn Hosted>)> {
        let Reverse((at, id)) = self.due.pop()?;
        let entry = self.hosted.get_mut(&id).filter(|entry| !entry.is_running && entry.wake == Some(at))?;
        (entry.wake, entry.is_running) = (None, true);
        Some((id, Arc::clone(&entry.hosted)))
    }
}
