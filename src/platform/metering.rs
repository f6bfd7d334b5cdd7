//! What workspaces use, counted as they use it: requests, bytes, and gas of their chains' blocks.
//!
//! Requests and bytes are counted in memory, within what was reserved for them: the store's counter is raised by a block of uses before the
//! first of them is counted, so that a process that dies has counted at most a block too many, and none too few. A clean end gives back
//! what was not used of the block. Reads so write once in many requests. Gas is read from the chains' own sums, which are in the batches of
//! their blocks; a flush counts what was added since the last one and notes how far it came in the same unit, so that no gas is lost or
//! counted twice. That of a chain that is stopped or deleted is counted in the unit that records it, and again when it stands still.
//! Transactions that the service signs are counted in the unit of work that signs them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    PlatformError,
    blockchains::Hosted,
    context::Context,
    gas_count::count_gas,
    plan::{Plan, Usage, period, period_ends_in_secs},
    records::{Owner, RecordError, WorkspaceId},
};

/// A quota of a plan that is used up until the period ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workspace's plan allows {limit} {} in 30 days, which are used up: wait for the next period or change the plan", usage.name())]
pub struct OverQuota {
    /// What was counted.
    pub usage: Usage,
    /// How much of it the plan allows.
    pub limit: u64,
    /// Time until the period ends, in seconds.
    pub resets_in_secs: u64,
}

/// Requests and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amounts {
    requests: u64,
    bytes: u64,
}

impl Amounts {
    const fn plus(self, other: Self) -> Self {
        let (requests, bytes) = (self.requests.saturating_add(other.requests), self.bytes.saturating_add(other.bytes));
        Self { requests, bytes }
    }

    const fn minus(self, other: Self) -> Self {
        let (requests, bytes) = (self.requests.saturating_sub(other.requests), self.bytes.saturating_sub(other.bytes));
        Self { requests, bytes }
    }
}

/// Requests that are reserved at once, at most.
const REQUESTS_BLOCK_MAX: u64 = 1_000;
/// Bytes that are reserved at once, at most.
const BYTES_BLOCK_MAX: u64 = 16 << 20;
/// Part of a plan that is reserved at once, at most: one in so many. What a process that dies has counted too much is no more than that.
const BLOCKS_IN_PLAN: u64 = 1_000;

/// What a workspace used in a period.
#[derive(Clone, Copy, Debug)]
struct Metered {
    /// What it used.
    used: Amounts,
    /// What the store's counters have: as much, or more.
    reserved: Amounts,
    plan: Plan,
    /// Whether nothing was counted since the last flush.
    is_idle: bool,
}

impl Metered {
    /// Returns what is to be added to the store's counters for what was used: nothing while it was reserved, else a block beyond it.
    fn short(&self) -> Amounts {
        let short = |used: u64, reserved: u64, max: u64, most: u64| match used.saturating_sub(reserved) {
            0 => 0,
            short => short.saturating_add((max / BLOCKS_IN_PLAN).clamp(1, most).saturating_sub(1)),
        };
        Amounts {
            requests: short(self.used.requests, self.reserved.requests, self.plan.requests_max, REQUESTS_BLOCK_MAX),
            bytes: short(self.used.bytes, self.reserved.bytes, self.plan.bytes_max, BYTES_BLOCK_MAX),
        }
    }
}

/// What workspaces use, and their plans as they were at the last flush.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// By workspace and period.
    workspaces: Mutex<BTreeMap<(WorkspaceId, u64), Metered>>,
    /// Gas of each chain that is counted.
    gas: Mutex<BTreeMap<String, u64>>,
    flushing: Mutex<()>,
}

impl Meter {
    /// A poisoned lock guards nothing half-done: amounts are changed in one step.
    fn workspaces(&self) -> MutexGuard<'_, BTreeMap<(WorkspaceId, u64), Metered>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counting what workspaces use.
#[derive(Clone, Copy, Debug)]
pub struct Metering<'a> {
    pub(super) context: &'a Context,
    pub(super) meter: &'a Meter,
    pub(super) hosted: &'a Hosted,
}

impl Metering<'_> {
    /// Counts a request of a workspace.
    ///
    /// # Errors
    /// [`OverQuota`] for one more request than the plan allows, and when its bytes are used up. A change of the plan is seen at the next
    /// flush.
    pub fn count_request(&self, workspace: &WorkspaceId) -> Result<(), OverQuota> {
        self.count_requests(workspace, 1)
    }

    /// Counts so many requests of a workspace at once: all of them, or none.
    ///
    /// # Errors
    /// As [`Metering::count_request`], where the plan does not allow all of them.
    pub fn count_requests(&self, workspace: &WorkspaceId, requests: u64) -> Result<(), OverQuota> {
        self.count(workspace, |metered, now_ms| {
            let resets_in_secs = period_ends_in_secs(now_ms);
            let over = |usage, limit| Err(OverQuota { usage, limit, resets_in_secs });
            if metered.used.requests.saturating_add(requests) > metered.plan.requests_max {
                return over(Usage::Requests, metered.plan.requests_max);
            }
            if metered.used.bytes >= metered.plan.bytes_max {
                return over(Usage::Bytes, metered.plan.bytes_max);
            }
            metered.used = metered.used.plus(Amounts { requests, bytes: 0 });
            Ok(())
        })
    }

    /// Counts so many requests of a workspace, also those that its plan does not allow any more.
    pub fn count_past_plan(&self, workspace: &WorkspaceId, requests: u64) {
        self.count(workspace, |metered, _| {
            metered.used = metered.used.plus(Amounts { requests, bytes: 0 });
        });
    }

    /// Counts bytes of a request's body and its response's.
    pub fn count_bytes(&self, workspace: &WorkspaceId, bytes: u64) {
        self.count(workspace, |metered, _| {
            metered.used = metered.used.plus(Amounts { requests: 0, bytes });
        });
    }

    /// Returns what is counted in memory of requests or bytes; `None` where the store's counter says it all.
    pub(super) fn used(&self, workspace: &WorkspaceId, usage: Usage) -> Option<u64> {
        let now_ms = self.context.records.clock().now_ms();
        let used = self.meter.workspaces().get(&(workspace.clone(), period(now_ms))).map(|metered| metered.used)?;
        match usage {
            Usage::Requests => Some(used.requests),
            Usage::Bytes => Some(used.bytes),
            Usage::Transactions | Usage::Gas => None,
        }
    }

    fn count<R>(&self, workspace: &WorkspaceId, change: impl FnOnce(&mut Metered, u64) -> R) -> R {
        let now_ms = self.context.records.clock().now_ms();
        let key = (workspace.clone(), period(now_ms));
        let (result, short) = {
            let mut workspaces = self.meter.workspaces();
            let metered =
                workspaces.entry(key.clone()).or_insert_with(|| self.read(&Owner::from(workspace), period(now_ms)));
            metered.is_idle = false;
            (change(metered, now_ms), metered.short())
        };
        if short != Amounts::default() {
            // A request is not refused because the store fails: what was used is reserved with what is used next, or by the next flush.
            let _ = self.reserve(&key, short);
        }
        result
    }

    /// Reads what the store has. A request is not refused because the store fails: what it needs of it will fail by itself.
    fn read(&self, owner: &Owner, period: u64) -> Metered {
        let kept = |usage: Usage| self.context.records.counter(owner, &usage.counter_of(period)).unwrap_or_default();
        let plan = self.context.stored_plan(owner).unwrap_or(Plan::UNLIMITED);
        let kept = Amounts { requests: kept(Usage::Requests), bytes: kept(Usage::Bytes) };
        Metered { used: kept, reserved: kept, plan, is_idle: false }
    }

    /// Adds to the store's counters what was used beyond them, and a block for what will be. The workspaces' lock is not held meanwhile: a
    /// unit of work may ask for what they used.
    fn reserve(&self, (workspace, period): &(WorkspaceId, u64), short: Amounts) -> Result<(), RecordError> {
        let owner = Owner::from(workspace);
        self.context.records.unit(|unit| {
            for (usage, amount) in [(Usage::Requests, short.requests), (Usage::Bytes, short.bytes)] {
                if amount > 0 {
                    unit.add(&owner, &usage.counter_of(*period), amount)?;
                }
            }
            Ok::<_, RecordError>(())
        })?;
        if let Some(metered) = self.meter.workspaces().get_mut(&(workspace.clone(), *period)) {
            metered.reserved = metered.reserved.plus(short);
        }
        Ok(())
    }

    /// Counts the gas of blocks, reserves what the store could not take before, reads the plans anew, and forgets workspaces that used nothing
    /// since the last flush. To be called every few seconds.
    ///
    /// # Errors
    /// [`PlatformError`] of the records; what was counted waits for the next flush.
    pub fn flush(&self) -> Result<(), PlatformError> {
        self.settle(false)
    }

    /// As [`Metering::flush`], and gives back all that was reserved and not used. To be called at the end of the process.
    ///
    /// # Errors
    /// As [`Metering::flush`].
    pub fn close(&self) -> Result<(), PlatformError> {
        self.settle(true)
    }

    fn settle(&self, is_end: bool) -> Result<(), PlatformError> {
        let _flushing = self.meter.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        self.flush_gas()?;
        let counted: Vec<((WorkspaceId, u64), Metered)> =
            self.meter.workspaces().iter().map(|(key, metered)| (key.clone(), *metered)).collect();
        for (key, metered) in counted {
            let short = metered.short();
            if short != Amounts::default() {
                self.reserve(&key, short)?;
            }
            if metered.is_idle || is_end {
                self.give_back(&key)?;
            } else {
                let plan = self.context.stored_plan(&Owner::from(&key.0));
                if let (Ok(plan), Some(metered)) = (plan, self.meter.workspaces().get_mut(&key)) {
                    (metered.plan, metered.is_idle) = (plan, true);
                }
            }
        }
        Ok(())
    }

    /// Takes a workspace out of memory, and off the store's counters what it did not use of them. What is counted for it meanwhile starts from
    /// the counters as they were before, and is set right when it is itself taken out.
    fn give_back(&self, (workspace, period): &(WorkspaceId, u64)) -> Result<(), PlatformError> {
        let key = (workspace.clone(), *period);
        let Some(metered) = self.meter.workspaces().remove(&key) else { return Ok(()) };
        let (unused, owner) = (metered.reserved.minus(metered.used), Owner::from(workspace));
        if unused == Amounts::default() {
            return Ok(());
        }
        let given = self.context.records.unit(|unit| {
            for (usage, amount) in [(Usage::Requests, unused.requests), (Usage::Bytes, unused.bytes)] {
                if amount > 0 {
                    unit.subtract(&owner, &usage.counter_of(*period), amount)?;
                }
            }
            Ok::<_, RecordError>(())
        });
        if given.is_err() {
            // It is tried again, unless the workspace came back with what the store has.
            self.meter.workspaces().entry(key).or_insert(metered);
        }
        Ok(given?)
    }

    fn flush_gas(&self) -> Result<(), PlatformError> {
        for chain in self.hosted.all_open() {
            // A chain that can't be read has failed, and says so where it is read.
            let Ok(total) = chain.gas_used() else { continue };
            let counted = self.gas_marks().get(chain.id()).copied();
            if counted.is_some_and(|counted| total <= counted) {
                continue;
            }
            let counted = self.context.records.unit(|unit| count_gas(unit, &chain, total))?;
            self.gas_marks().insert(chain.id().to_owned(), counted);
        }
        Ok(())
    }

    fn gas_marks(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.meter.gas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
