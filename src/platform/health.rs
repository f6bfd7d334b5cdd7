//! Health of the service, by probes whose results are kept in the store.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::records::{Owner, RecordError, Records};
use crate::store::StoreError;

/// Counter of all probes.
const PROBES: &str = "probes";
/// Counter of those that found every part healthy.
const PASSED: &str = "probes-passed";
/// Time for which the result of a probe is shown before another is made, in milliseconds.
const SHOWN_MS: u64 = 1_000;

/// Health of the service at a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    /// The store takes writes, or could if its disk had room.
    pub is_database_healthy: bool,
    /// No chain has failed, and those with a block time make blocks.
    pub is_blockchain_healthy: bool,
    /// The disk has room.
    pub is_storage_healthy: bool,
    /// Part of all probes that found every part healthy, in percent.
    pub uptime_percent: f64,
}

impl Health {
    /// Returns whether every part is healthy.
    pub const fn is_operational(&self) -> bool {
        self.is_database_healthy && self.is_blockchain_healthy && self.is_storage_healthy
    }
}

/// What is known of probes in memory.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Probes whose result the store did not take yet: they failed.
    unwritten: AtomicU64,
    /// The result of the newest probe, and the time at which it ended, in milliseconds since the Unix epoch.
    newest: Mutex<Option<(u64, Health)>>,
}

impl Probes {
    /// A poisoned lock guards nothing half-done: the result is replaced in one step.
    fn newest(&self) -> MutexGuard<'_, Option<(u64, Health)>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Probes by `probe`, and keeps the result to be shown.
    pub(super) fn renew(&self, records: &Records, probe: impl FnOnce() -> Health) -> Health {
        let health = probe();
        *self.newest() = Some((records.clock().now_ms(), health));
        health
    }

    /// Returns the result of the newest probe while it is to be shown, else that of a probe by `probe`. One caller probes at a time, and the
    /// others wait for its result.
    pub(super) fn newest_or(&self, records: &Records, probe: impl FnOnce() -> Health) -> Health {
        let mut newest = self.newest();
        let now_ms = records.clock().now_ms();
        // One from before the clock was set back is not shown.
        let is_shown = |ended_ms: u64| now_ms.checked_sub(ended_ms).is_some_and(|age_ms| age_ms < SHOWN_MS);
        if let Some((_, health)) = newest.filter(|(ended_ms, _)| is_shown(*ended_ms)) {
            return health;
        }
        let health = probe();
        *newest = Some((records.clock().now_ms(), health));
        health
    }

    /// Probes the store by writing the result of the probe.
    pub(super) fn run(&self, records: &Records, is_blockchain_healthy: bool) -> Health {
        let failed = self.unwritten.load(Ordering::Relaxed);
        let written = records.unit(|unit| {
            let all = unit.add(&Owner::Service, PROBES, failed.saturating_add(1))?;
            let passed = unit.add(&Owner::Service, PASSED, u64::from(is_blockchain_healthy))?;
            Ok::<_, RecordError>((all, passed))
        });
        let mut health =
            Health { is_database_healthy: true, is_blockchain_healthy, is_storage_healthy: true, uptime_percent: 0.0 };
        let (all, passed) = match written {
            Ok(counts) => {
                self.unwritten.fetch_sub(failed, Ordering::Relaxed);
                counts
            }
            Err(cause) => {
                match cause {
                    RecordError::Store(StoreError::Full { .. }) => health.is_storage_healthy = false,
                    _ => health.is_database_healthy = false,
                }
                let failed = self.unwritten.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                let kept = |name| records.counter(&Owner::Service, name).unwrap_or_default();
                (kept(PROBES).saturating_add(failed), kept(PASSED))
            }
        };
        health.uptime_percent = passed as f64 * 100.0 / all.max(1) as f64;
        health
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::Arc;

    use super::*;
    use crate::{
        node::ManualClock,
        platform::{Platform, vault::MasterKey},
        primitives::Timestamp,
        store::{
            MemoryStore,
            testing::{FailingStore, WriteFault},
        },
    };

    #[test]
    fn the_uptime_is_the_part_of_passed_probes_and_survives() {
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let records = Records::open(store.clone(), clock.clone()).unwrap();
        let probes = Probes::default();
        let health = probes.run(&records, true);
        assert!(health.is_operational());
        assert_eq!(health.uptime_percent, 100.0);
        assert_eq!(probes.run(&records, false).uptime_percent, 50.0);
        store.fail(WriteFault::after(0));
        let health = probes.run(&records, true);
        assert!(!health.is_database_healthy && !health.is_operational());
        assert_eq!(health.uptime_percent, 100.0 / 3.0);
        store.recover();
        let records = Records::open(store.clone(), clock).unwrap();
        let health = Probes::default().run(&records, true);
        assert_eq!(
            health.uptime_percent,
            200.0 / 3.0,
            "a failed probe that was never written is lost with the process"
        );
        assert_eq!(probes.run(&records, true).uptime_percent, 60.0, "one that was not is counted");
    }

    #[test]
    fn the_newest_probe_is_shown_for_a_second_and_showing_it_counts_nothing() {
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let builder = Platform::builder(clock.clone()).with_store(store.clone());
        let platform = builder.open_with(None, MasterKey::new([7; 32].into()), Vec::new()).unwrap();
        let healthy = platform.health();
        assert!(healthy.is_operational());
        let writes = store.writes();
        store.fail(WriteFault::after(0));
        clock.advance(Duration::from_millis(999));
        assert_eq!((platform.health(), store.writes()), (healthy, writes));
        clock.advance(Duration::from_millis(1));
        let degraded = platform.health();
        assert_eq!((degraded.is_database_healthy, degraded.uptime_percent), (false, 50.0));
        store.recover();
        assert_eq!(platform.health(), degraded);
        // Periodic work probes however new the result is.
        let recovered = platform.probe();
        assert_eq!((recovered.is_operational(), recovered.uptime_percent), (true, 200.0 / 3.0));
        assert_eq!(platform.health(), recovered);
    }
}
