//! Billing plans: how much of each resource a workspace may have, and what it used.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    PlatformError,
    records::{Owner, RecordError, Unit},
};

/// Length of a billing period, in milliseconds: 30 days, counted from the Unix epoch.
const PERIOD_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The quotas of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Blockchains of a workspace.
    pub blockchains_max: u64,
    /// Validators of one blockchain: when it is made, and when one is added.
    pub validators_max: u64,
    /// OAuth clients of a workspace; at most 50, whatever the plan.
    pub oauth_clients_max: u64,
    /// API keys of a workspace that are neither revoked nor expired.
    pub api_keys_max: u64,
    /// Members of a workspace, open invitations included.
    pub members_max: u64,
    /// Transactions that the service signs for a workspace in a period of 30 days.
    pub transactions_max: u64,
    /// Requests with a workspace's credentials in a period.
    pub requests_max: u64,
    /// Bytes of the bodies of those requests and of their responses in a period.
    pub bytes_max: u64,
    /// Gas that the blocks of a workspace's blockchains use in a period.
    pub gas_max: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

impl Plan {
    /// Without quotas.
    pub const UNLIMITED: Self = Self {
        blockchains_max: u64::MAX,
        validators_max: u64::MAX,
        oauth_clients_max: u64::MAX,
        api_keys_max: u64::MAX,
        members_max: u64::MAX,
        transactions_max: u64::MAX,
        requests_max: u64::MAX,
        bytes_max: u64::MAX,
        gas_max: u64::MAX,
    };
}

impl Plan {
    /// Returns whether nothing is allowed that another plan does not allow.
    pub(super) const fn is_within(&self, other: &Self) -> bool {
        let Self {
            blockchains_max,
            validators_max,
            oauth_clients_max,
            api_keys_max,
            members_max,
            transactions_max,
            requests_max,
            bytes_max,
            gas_max,
        } = *self;
        blockchains_max <= other.blockchains_max
            && validators_max <= other.validators_max
            && oauth_clients_max <= other.oauth_clients_max
            && api_keys_max <= other.api_keys_max
            && members_max <= other.members_max
            && transactions_max <= other.transactions_max
            && requests_max <= other.requests_max
            && bytes_max <= other.bytes_max
            && gas_max <= other.gas_max
    }
}

/// What is counted for a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Requests with the workspace's credentials.
    Requests,
    /// Transactions that the service signed.
    Transactions,
    /// Gas that the blocks of the workspace's blockchains used.
    Gas,
    /// Bytes of the bodies of requests and responses.
    Bytes,
}

impl Usage {
    /// Everything that is counted.
    pub const ALL: [Self; 4] = [Self::Requests, Self::Transactions, Self::Gas, Self::Bytes];

    /// Name in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Transactions => "transactions",
            Self::Gas => "gas",
            Self::Bytes => "bytes",
        }
    }

    /// How much of it a plan allows in a period; `None` without a bound.
    pub(super) fn limit(self, plan: &Plan) -> Option<u64> {
        let limit = match self {
            Self::Requests => plan.requests_max,
            Self::Transactions => plan.transactions_max,
            Self::Gas => plan.gas_max,
            Self::Bytes => plan.bytes_max,
        };
        (limit != u64::MAX).then_some(limit)
    }

    /// Name of the counter of the period in which `now_ms` lies.
    fn counter(self, now_ms: u64) -> String {
        self.counter_of(period(now_ms))
    }

    /// Name of the counter of a period.
    pub(super) fn counter_of(self, period: u64) -> String {
        format!("usage:{}:{period}", self.name())
    }
}

/// Number of the period in which `now_ms` lies.
pub(super) const fn period(now_ms: u64) -> u64 {
    now_ms / PERIOD_MS
}

/// Seconds until the period of `now_ms` ends, rounded up.
pub(super) const fn period_ends_in_secs(now_ms: u64) -> u64 {
    (PERIOD_MS - now_ms % PERIOD_MS).div_ceil(1000)
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
        self.named_by("settings.billingPlan", name)
    }

    /// Returns the plan that a field of a body names.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of the field.
    pub(super) fn named_by(&self, field: &str, name: &str) -> Result<Plan, PlatformError> {
        self.0.get(name).copied().ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            PlatformError::field(field, format!("one of {}", names.join(", ")), name)
        })
    }
}

impl Default for Plans {
    fn default() -> Self {
        let free = Plan {
            blockchains_max: 3,
            validators_max: 21,
            oauth_clients_max: 50,
            api_keys_max: 10,
            members_max: 5,
            transactions_max: 10_000,
            requests_max: 1_000_000,
            bytes_max: 10 << 30,
            gas_max: 100_000_000_000,
        };
        let team = Plan {
            blockchains_max: 20,
            validators_max: 100,
            oauth_clients_max: 50,
            api_keys_max: 100,
            members_max: 50,
            transactions_max: 1_000_000,
            requests_max: 100_000_000,
            bytes_max: 1 << 40,
            gas_max: 10_000_000_000_000,
        };
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

/// Checks that a number that is asked for at once is within the quota.
///
/// # Errors
/// [`PlatformError::Conflict`] with the quota.
pub(super) fn check_number(resource: &str, asked: u64, max: u64) -> Result<(), PlatformError> {
    if asked <= max {
        return Ok(());
    }
    let message = format!(
        "the workspace's plan allows {max} {resource}, and {asked} are asked for: ask for fewer or change the plan"
    );
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
    check_quota(&format!("{} in 30 days", usage.name()), used(unit, owner, usage)?, max)
}

/// Counts one more use.
///
/// # Errors
/// [`RecordError`] of reading.
pub(super) fn count_use(unit: &mut Unit<'_>, owner: &Owner, usage: Usage) -> Result<(), RecordError> {
    unit.add(owner, &usage.counter(unit.now_ms()), 1).map(drop)
}
