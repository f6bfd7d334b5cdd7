//! Tests of the rules of workspaces, members, invitations and API keys.

mod api_keys;
mod callers;
mod default_network;
mod deletion;
mod formats;
mod invitations;
mod plans;
mod reach;
mod roles;
mod sent_invitations;

use core::{num::NonZeroUsize, time::Duration};
use std::sync::Arc;

use serde_json::json;

use crate::{
    node::{ManualClock, Node},
    platform::{
        ApiKey, ApiKeySpec, Blockchain, BlockchainSpec, ClientRegistration, DEFAULT_BLOCKCHAIN_ID,
        DEFAULT_WORKSPACE_ID, INVITATIONS_MAX, Invitation, Member, Plans, Platform, PlatformError, Principal, Role,
        Scope, Subject, User, Webhook, Workspace,
        records::{AuditLine, Index, OutboxEntry, Owner, PageRequest, Record, SortKey, Unit, WorkspaceId},
        vault::SealedSecret,
        workspace::SentInvitations,
    },
    primitives::Timestamp,
    store::{KeyValue, MemoryStore, Order, suite},
};

const DAY: Duration = Duration::from_secs(86_400);

struct World {
    clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    platform: Platform,
}

impl World {
    fn new() -> Self {
        Self::inviting(INVITATIONS_MAX)
    }

    /// A platform with a bound on invitations.
    fn inviting(invitations_max: u64) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let store = Arc::new(MemoryStore::new());
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let kept: Arc<dyn KeyValue> = store.clone();
        let mut small = Plans::default().named(Plans::DEFAULT).unwrap();
        small.blockchains_max = 1;
        let builder = Platform::builder(clock.clone()).with_store(kept).with_workspaces_max(10);
        let builder = builder.with_invitations_max(invitations_max);
        let platform = builder.with_plans(Plans::default().with("small", small)).open(chain).unwrap();
        Self { clock, store, platform }
    }

    fn unit<T>(&self, work: impl FnOnce(&mut Unit<'_>) -> Result<T, PlatformError>) -> Result<T, PlatformError> {
        self.platform.unit(work)
    }

    fn user(&self, name: &str) -> String {
        self.unit(|unit| self.platform.workspaces().add_user(unit, &format!("{name}@example.org")))
            .unwrap()
            .id()
            .to_owned()
    }

    /// A workspace and its owner.
    fn workspace(&self) -> Principal {
        let user = self.user("owner");
        let stored =
            self.unit(|unit| self.platform.workspaces().create(unit, &user, Workspace::named("team"))).unwrap();
        let id = stored.owner().workspace().unwrap();
        self.platform.workspaces().principal(&user, id).unwrap().unwrap()
    }

    /// A user as a principal of the workspace of another, as it is now.
    fn principal(&self, user: &str, other: &Principal) -> Principal {
        self.platform.workspaces().principal(user, other.workspace()).unwrap().unwrap()
    }

    /// A new member of a workspace, by invitation.
    fn member(&self, owner: &Principal, name: &str, role: Role) -> (String, Principal) {
        let members = self.platform.workspaces().members();
        let (_, token) = self.unit(|unit| members.invite(unit, owner, &format!("{name}@example.org"), role)).unwrap();
        let user = self.user(name);
        assert_eq!(self.unit(|unit| members.accept(unit, &user, token.text())).unwrap(), *owner.workspace());
        let principal = self.principal(&user, owner);
        (user, principal)
    }

    fn key(&self, principal: &Principal, scopes: &[Scope]) -> (String, String) {
        let spec = ApiKeySpec { name: "ci".to_owned(), scopes: scopes.iter().copied().collect(), lifetime_ms: None };
        let (value, stored) = self.unit(|unit| self.platform.api_keys().create(unit, principal, spec)).unwrap();
        (value.text().to_owned(), stored.id().to_owned())
    }

    fn authenticated(&self, value: &str) -> Option<Principal> {
        self.platform.api_keys().authenticate(value).unwrap()
    }
}

/// The words of a refusal, by kind.
fn refused<T>(result: Result<T, PlatformError>) -> &'static str {
    match result.err().expect("must be refused") {
        PlatformError::Forbidden { .. } | PlatformError::MissingScope { .. } => "forbidden",
        PlatformError::Conflict { .. } => "conflict",
        PlatformError::NotFound { .. } => "not found",
        PlatformError::Validation { .. } => "invalid",
        PlatformError::TooManyAttempts { .. } => "too many",
        other => panic!("{other}"),
    }
}

fn owner_id(owner: &Principal) -> &str {
    match owner.subject() {
        Subject::User(id) => id,
        other => panic!("{other}"),
    }
}
