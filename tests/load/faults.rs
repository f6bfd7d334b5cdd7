//! Faults of a server in the same process: a store that fails, and a clock that panics.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use chainbox::{
    node::Clock,
    primitives::Timestamp,
    store::testing::{FailingStore, WriteFault},
};
use tokio::time::{Instant, sleep};

use crate::{
    client::{MARK, Run},
    draws::Draws,
};

/// Seconds since 1970 at the beginning of every run.
const START: u64 = 1_800_000_000;

/// A clock that goes on, and panics while it is broken. Whatever needs the time panics with it.
#[derive(Debug)]
pub(crate) struct BrittleClock {
    begun: Instant,
    is_broken: AtomicBool,
    panics: AtomicU64,
}

impl BrittleClock {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), is_broken: AtomicBool::new(false), panics: AtomicU64::new(0) }
    }

    /// Panics so far.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}

impl Clock for BrittleClock {
    fn now(&self) -> Timestamp {
        if self.is_broken.load(Ordering::Relaxed) {
            self.panics.fetch_add(1, Ordering::Relaxed);
            panic!("the clock panics {MARK}");
        }
        Timestamp::from_secs(START + self.begun.elapsed().as_secs())
    }
}

/// Keeps panics that are meant out of the output.
pub(crate) fn silence_meant_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload_as_str().is_some_and(|text| text.contains(MARK)) {
            usual(panic);
        }
    }));
}

/// Injects faults until the run is over, and then ends them all.
pub(crate) async fn inject(run: &Run, store: Arc<FailingStore>, clock: Arc<BrittleClock>) {
    let mut draws = Draws::new(run.seed, u64::MAX);
    while !run.is_over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(20 + draws.below(150))).await;
        match draws.below(4) {
            0 | 1 => store.fail(WriteFault::only(1 + draws.below(5))),
            2 => {
                store.fail(WriteFault::after(draws.below(3)).disk_full());
                sleep(Duration::from_millis(10 + draws.below(60))).await;
                store.recover();
            }
            _ => {
                clock.is_broken.store(true, Ordering::Relaxed);
                sleep(Duration::from_millis(2 + draws.below(20))).await;
                clock.is_broken.store(false, Ordering::Relaxed);
            }
        }
    }
    store.recover();
}
