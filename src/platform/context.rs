//! What the rules of all resources work on: records, randomness, vault, plans.

use std::sync::Arc;

use super::{
    OsEntropy, PlatformError, Secret,
    entropy::{Entropy, EntropyError, random_id},
    plan::{Plan, Plans, Usage, check_quota, period},
    principal::Principal,
    records::{AuditLine, Owner, Records, Unit},
    users::PasswordCost,
    vault::{MasterKey, Vault},
    workspace::Workspace,
};

/// Workspaces that a user is a member of, when it makes another, by default.
pub const WORKSPACES_MAX: u64 = 100;
/// Invitations that a workspace, and a user, send within an hour, by default.
pub const INVITATIONS_MAX: u64 = 100;

/// Records, randomness, vault and plans of a platform.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) records: Records,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) vault: Vault,
    /// Key of the hashes of API keys and invitations.
    pub(super) secret: Secret,
    pub(super) plans: Plans,
    /// Workspaces that a user is a member of, when it makes another.
    pub(super) workspaces_max: u64,
    /// Invitations that a workspace, and a user, send within an hour.
    pub(super) invitations_max: u64,
    pub(super) password_cost: PasswordCost,
}

impl Context {
    /// The context of a store that is not served, with defaults for what it does not have.
    pub(super) fn of_store(records: Records, master_key: MasterKey) -> Result<Self, PlatformError> {
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let vault = Vault::new(master_key, Arc::clone(&entropy));
        let secret = Secret::of_store(&records, &vault)?;
        let (plans, password_cost) = (Plans::default(), PasswordCost::default());
        let (workspaces_max, invitations_max) = (WORKSPACES_MAX, INVITATIONS_MAX);
        Ok(Self { records, entropy, vault, secret, plans, workspaces_max, invitations_max, password_cost })
    }

    pub(super) fn id(&self, prefix: &str) -> Result<String, EntropyError> {
        random_id(&*self.entropy, prefix)
    }

    /// Returns the plan of a workspace as the store has it, outside of a unit of work.
    pub(super) fn stored_plan(&self, owner: &Owner) -> Result<Plan, PlatformError> {
        let workspace = self.records.of::<Workspace>().require(owner, owner.as_str())?;
        self.plans.named(&workspace.value.billing_plan)
    }

    /// Checks that the gas of a workspace's plan is not used up, as far as it is counted.
    pub(super) fn check_gas(&self, owner: &Owner) -> Result<(), PlatformError> {
        let max = self.stored_plan(owner)?.gas_max;
        let counter = Usage::Gas.counter_of(period(self.records.clock().now_ms()));
        check_quota("gas in 30 days", self.records.counter(owner, &counter)?, max)
    }

    /// Returns the plan of a workspace. One whose plan is no longer configured is refused what is new.
    pub(super) fn plan(&self, unit: &Unit<'_>, owner: &Owner) -> Result<Plan, PlatformError> {
        let workspace = unit.of::<Workspace>().require(owner, owner.as_str())?;
        self.plans.named(&workspace.value.billing_plan)
    }
}

/// Adds a line to the audit log of a principal's workspace.
pub(super) fn audit(
    unit: &mut Unit<'_>,
    principal: &Principal,
    action: &str,
    target: String,
) -> Result<(), PlatformError> {
    let (subject, client) = (principal.subject().to_string(), principal.client());
    let line = AuditLine { subject, action: action.to_owned(), target, client };
    Ok(unit.audit(&principal.owner(), line)?)
}
