//! Billing plans: how much of each resource a workspace may have, and what it used.

use std::collections::BTreeMap;

use super::{
    PlatformError,
    records::{Owner, RecordError, Unit},
};

/// Length of a billing period, in milliseconds: 30 days, counted from the Unix epoch.
const PERIOD_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The quotas of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Blockchains of a workspace.
    pub blockchains_max: u64,
    /// API keys of a workspace that are not revoked.
    pub api_keys_max: u64,
    /// Members of a workspace, open invitations included.
    pub members_max: u64,
    /// Transactions that the service signs for a workspace in a period of 30 days.
    pub transactions_max: u64,
}

impl Plan {
    /// Without quotas.
    pub const UNLIMITED: Self =
        Self { blockchains_max: u64::MAX, api_keys_max: u64::MAX, members_max: u64::MAX, transactions_max: u64::MAX };
}

/// What is counted for a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Transactions that the service signed.
    Transactions,
}

impl Usage {
    /// Everything that is counted.
    pub const ALL: [Self; 1] = [Self::Transactions];

    /// Name in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
        }
    }

    /// How much of it a plan allows in a period; `None` without a bound.
    pub(super) fn limit(self, plan: &Plan) -> Option<u64> {
        let limit = match self {
            Self::Transactions => plan.transactions_max,
        };
        (limit != u64::MAX).then_some(limit)
    }

    /// Name of the counter of the period in which `now_ms` lies.
    fn counter(self, now_ms: u64) -> String {
        format!("usage:{}:{}", self.name(), now_ms / PERIOD_MS)
    }
}

/// The configured plans by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plans(BTreeMap<String, Plan>);

impl Plans {
    /// Name of the plan of a workspace that names none.
    pub const DEFAULT: &'static str = "free";
    /// Name of the plan without quotas, which always exists.
    pub const UNLIMITED: &'static str = "unlimited";

    /// Adds a plan, or replaces the one with this name.
    #[must_use]
    pub fn with(mut self, name: &str, plan: Plan) -> Self {
        self.0.insert(name.to_owned(), plan);
        self
    }

    /// Names of the plans.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the plan with this name.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of the field `settings.billingPlan`.
    pub fn named(&self, name: &str) -> Result<Plan, PlatformError> {
        self.0.get(name).copied().ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            PlatformError::field("settings.billingPlan", format!("one of {}", names.join(", ")), name)
        })
    }
}

impl Default for Plans {
    fn default() -> Self {
        let free = Plan { blockchains_max: 3, api_keys_max: 10, members_max: 5, transactions_max: 10_000 };
        let team = Plan { blockchains_max: 20, api_keys_max: 100, members_max: 50, transactions_max: 1_000_000 };
        Self(BTreeMap::new()).with(Self::DEFAULT, free).with("team", team).with(Self::UNLIMITED, Plan::UNLIMITED)
    }
}

/// Checks that one more of a resource is within the quota.
///
/// # Errors
/// [`PlatformError::Conflict`] with the quota.
pub(super) fn check_quota(resource: &str, has: u64, max: u64) -> Result<(), PlatformError> {
    if has < max {
        return Ok(());
    }
    let message =
        format!("the workspace's plan allows {max} {resource}, and it has {has}: remove one or change the plan");
    Err(PlatformError::Conflict { message })
}

/// Returns what an owner used in the present period.
///
/// # Errors
/// [`RecordError`] of reading.
pub(super) fn used(unit: &Unit<'_>, owner: &Owner, usage: Usage) -> Result<u64, RecordError> {
    unit.counter(owner, &usage.counter(unit.now_ms()))
}

/// Checks that one more use is within the quota.
///
/// # Errors
/// [`PlatformError::Conflict`] with the quota; those of reading.
pub(super) fn check_use(unit: &Unit<'_>, owner: &Owner, usage: Usage, max: u64) -> Result<(), PlatformError> {
    let Usage::Transactions = usage;
    check_quota("transactions in 30 days", used(unit, owner, usage)?, max)
}

/// Counts one more use.
///
/// # Errors
/// [`RecordError`] of reading.
pub(super) fn count_use(unit: &mut Unit<'_>, owner: &Owner, usage: Usage) -> Result<(), RecordError> {
    unit.add(owner, &usage.counter(unit.now_ms()), 1).map(drop)
}
