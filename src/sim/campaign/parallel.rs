//! Seeds on several threads.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use super::{
    Campaign,
    two_phase::{RunReport, run_seed},
};

/// Runs a campaign's missing seeds on so many threads and hands each report on, on the calling thread, as it comes. Every
/// report is the one that a single thread would have given; their order is not. Stops at the first error of `sink`.
///
/// # Errors
/// The sink's.
pub fn run_parallel<E>(
    campaign: &Campaign,
    done: &BTreeSet<u64>,
    threads: usize,
    mut sink: impl FnMut(RunReport) -> Result<(), E>,
) -> Result<(), E> {
    let seeds: Mutex<_> = Mutex::new(campaign.remaining(done));
    let failed = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(threads.max(1) * 2);
        for _ in 0..threads.max(1) {
            let (send, seeds, failed) = (send.clone(), &seeds, &failed);
            scope.spawn(move || {
                while failed.load(Ordering::Relaxed) == 0 {
                    let next = seeds.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(seed) = next else { return };
                    if send.send(run_seed(&campaign.setup, seed)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let outcome = receive.iter().try_for_each(&mut sink);
        failed.store(usize::from(outcome.is_err()), Ordering::Relaxed);
        drop(receive);
        outcome
    })
}
