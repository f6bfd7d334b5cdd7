//! Health of the service, by probes whose results are kept in the store.

use core::sync::atomic::{AtomicU64, Ordering};

use super::records::{Owner, RecordError, Records};
use crate::store::StoreError;

/// Counter of all probes.
const PROBES: &str = "probes";
/// Counter of those that found every part healthy.
const PASSED: &str = "probes-passed";

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

/// Probes whose result the store did not take yet: they failed.
#[derive(Debug, Default)]
pub(super) struct Probes {
    unwritten: AtomicU64,
}

impl Probes {
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
    use std::sync::Arc;

    use super::*;
    use crate::{
        node::ManualClock,
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
}
