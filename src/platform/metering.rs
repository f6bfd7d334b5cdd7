//! What workspaces use, counted as they use it: requests, bytes, and gas of their chains' blocks.
//!
//! Requests and bytes are added up in memory and written every few seconds by [`Metering::flush`], many in one unit of work: a process that
//! dies loses those since the last flush, and no write that was accepted depends on them. Gas is read from the chains' own sums, which
//! are in the batches of their blocks; a flush counts what was added since the last one and notes how far it came in the same unit, so
//! that no gas is lost or counted twice. Transactions that the service signs are counted in the unit of work that signs them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    PlatformError,
    blockchain::Blockchain,
    blockchains::Hosted,
    context::Context,
    plan::{Plan, Usage, period, period_ends_in_secs},
    records::{Owner, RecordError, Unit, WorkspaceId},
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

/// What a workspace used in a period.
#[derive(Clone, Copy, Debug)]
struct Metered {
    /// What the store has.
    kept: Amounts,
    /// What the store does not have yet.
    pending: Amounts,
    plan: Plan,
}

/// What workspaces used since the last flush, and their plans as they were then.
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
        self.metered(workspace, |metered, now_ms| {
            let used = metered.kept.plus(metered.pending);
            let resets_in_secs = period_ends_in_secs(now_ms);
            let over = |usage, limit| Err(OverQuota { usage, limit, resets_in_secs });
            if used.requests >= metered.plan.requests_max {
                return over(Usage::Requests, metered.plan.requests_max);
            }
            if used.bytes >= metered.plan.bytes_max {
                return over(Usage::Bytes, metered.plan.bytes_max);
            }
            metered.pending = metered.pending.plus(Amounts { requests: 1, bytes: 0 });
            Ok(())
        })
    }

    /// Counts bytes of a request's body and its response's.
    pub fn count_bytes(&self, workspace: &WorkspaceId, bytes: u64) {
        self.metered(workspace, |metered, _| {
            metered.pending = metered.pending.plus(Amounts { requests: 0, bytes });
        });
    }

    /// Returns what is counted and not written yet.
    pub(super) fn pending(&self, workspace: &WorkspaceId, usage: Usage) -> u64 {
        let now_ms = self.context.records.clock().now_ms();
        let pending = self.meter.workspaces().get(&(workspace.clone(), period(now_ms))).map(|metered| metered.pending);
        let pending = pending.unwrap_or_default();
        match usage {
            Usage::Requests => pending.requests,
            Usage::Bytes => pending.bytes,
            Usage::Transactions | Usage::Gas => 0,
        }
    }

    fn metered<R>(&self, workspace: &WorkspaceId, change: impl FnOnce(&mut Metered, u64) -> R) -> R {
        let now_ms = self.context.records.clock().now_ms();
        let mut workspaces = self.meter.workspaces();
        let metered = workspaces
            .entry((workspace.clone(), period(now_ms)))
            .or_insert_with(|| self.read(&Owner::from(workspace), period(now_ms)));
        change(metered, now_ms)
    }

    /// Reads what the store has. A request is not refused because the store fails: what it needs of it will fail by itself.
    fn read(&self, owner: &Owner, period: u64) -> Metered {
        let kept = |usage: Usage| self.context.records.counter(owner, &usage.counter_of(period)).unwrap_or_default();
        let plan = self.context.stored_plan(owner).unwrap_or(Plan::UNLIMITED);
        let kept = Amounts { requests: kept(Usage::Requests), bytes: kept(Usage::Bytes) };
        Metered { kept, pending: Amounts::default(), plan }
    }

    /// Writes what was counted since the last flush. To be called every few seconds, and at the end of the process.
    ///
    /// # Errors
    /// [`PlatformError`] of the records; what was counted waits for the next flush.
    pub fn flush(&self) -> Result<(), PlatformError> {
        let _flushing = self.meter.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        self.flush_gas()?;
        let counted: Vec<((WorkspaceId, u64), Amounts)> =
            self.meter.workspaces().iter().map(|(key, metered)| (key.clone(), metered.pending)).collect();
        self.context.records.unit(|unit| {
            for ((workspace, period), pending) in &counted {
                let owner = Owner::from(workspace);
                for (usage, amount) in [(Usage::Requests, pending.requests), (Usage::Bytes, pending.bytes)] {
                    if amount > 0 {
                        unit.add(&owner, &usage.counter_of(*period), amount)?;
                    }
                }
            }
            Ok::<_, RecordError>(())
        })?;
        let mut workspaces = self.meter.workspaces();
        for (key, written) in counted {
            if let Some(metered) = workspaces.get_mut(&key) {
                metered.pending = metered.pending.minus(written);
                metered.kept = metered.kept.plus(written);
            }
        }
        // The others are read again when they are next used, with their plans as they are then.
        workspaces.retain(|_, metered| metered.pending != Amounts::default());
        Ok(())
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

/// Counts the gas that a chain used since it was last counted; returns how much of it is counted now. Gas that a reorganisation takes back
/// stays counted, and is not counted again.
fn count_gas(unit: &mut Unit<'_>, chain: &Blockchain, total: u64) -> Result<u64, RecordError> {
    let (owner, mark) = (chain.owner(), format!("usage-gas-of:{}", chain.id()));
    let counted = unit.counter(owner, &mark)?;
    let added = total.saturating_sub(counted);
    if added > 0 {
        unit.add(owner, &mark, added)?;
        unit.add(owner, &Usage::Gas.counter_of(period(unit.now_ms())), added)?;
    }
    Ok(counted.max(total))
}
