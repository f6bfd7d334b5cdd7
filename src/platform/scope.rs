//! Scopes: what credentials permit, and what a role caps.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Permission that credentials carry (the service specification, "Authentication"). The order is part of stored records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Read workspace data.
    WorkspaceRead,
    /// Create and modify workspaces.
    WorkspaceWrite,
    /// Query blockchain data.
    BlockchainRead,
    /// Deploy and manage blockchains.
    BlockchainWrite,
    /// Deploy contracts and send transactions.
    BlockchainDeploy,
    /// View validators.
    ValidatorRead,
    /// Manage validators.
    ValidatorWrite,
    /// View proposals.
    GovernanceRead,
    /// Create proposals and vote.
    GovernanceWrite,
    /// Every operation.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 10] = [
        Self::WorkspaceRead,
        Self::WorkspaceWrite,
        Self::BlockchainRead,
        Self::BlockchainWrite,
        Self::BlockchainDeploy,
        Self::ValidatorRead,
        Self::ValidatorWrite,
        Self::GovernanceRead,
        Self::GovernanceWrite,
        Self::Admin,
    ];

    /// Returns the name of the scope in the service, such as `blockchain:read`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WorkspaceRead => "workspace:read",
            Self::WorkspaceWrite => "workspace:write",
            Self::BlockchainRead => "blockchain:read",
            Self::BlockchainWrite => "blockchain:write",
            Self::BlockchainDeploy => "blockchain:deploy",
            Self::ValidatorRead => "validator:read",
            Self::ValidatorWrite => "validator:write",
            Self::GovernanceRead => "governance:read",
            Self::GovernanceWrite => "governance:write",
            Self::Admin => "admin",
        }
    }

    /// Returns what it permits, in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::WorkspaceRead => "read workspace data",
            Self::WorkspaceWrite => "create and modify workspaces",
            Self::BlockchainRead => "query blockchain data",
            Self::BlockchainWrite => "deploy and manage blockchains",
            Self::BlockchainDeploy => "deploy smart contracts and send transactions",
            Self::ValidatorRead => "view validators",
            Self::ValidatorWrite => "manage validators",
            Self::GovernanceRead => "view governance proposals",
            Self::GovernanceWrite => "create and vote on proposals",
            Self::Admin => "full administrative access",
        }
    }

    /// Returns the scope with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A set of scopes. [`Scope::Admin`] stands for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScopeSet(BTreeSet<Scope>);

impl ScopeSet {
    /// Returns whether the set permits what needs `scope`.
    pub fn allows(&self, scope: Scope) -> bool {
        self.0.contains(&scope) || self.0.contains(&Scope::Admin)
    }

    /// Returns what both sets permit.
    #[must_use]
    pub fn capped_by(&self, cap: &Self) -> Self {
        Scope::ALL.into_iter().filter(|scope| self.allows(*scope) && cap.allows(*scope)).collect()
    }

    /// Returns the scopes of this set that `other` does not permit.
    pub fn beyond(&self, other: &Self) -> Vec<Scope> {
        self.0.iter().copied().filter(|scope| !other.allows(*scope)).collect()
    }

    /// Returns the scopes in their order.
    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    /// Returns whether the set permits nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Scope> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

/// What a member of a workspace may do in it. The order, from the least to the most, is part of stored records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Runs chains and contracts, and votes.
    Developer,
    /// Does everything but what is an owner's: making and removing owners, changing the plan, deleting the workspace.
    Admin,
    /// Does everything. A workspace always has one.
    Owner,
}

impl Role {
    /// Every role, from the most to the least.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Admin, Self::Developer, Self::Viewer];

    /// Returns the name of the role in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Developer => "developer",
            Self::Viewer => "viewer",
        }
    }

    /// Returns the role with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Returns the scopes that the role caps those of its members' credentials to: the table in `docs/platform.md`.
    pub fn cap(self) -> ScopeSet {
        use Scope::*;
        let scopes: &[Scope] = match self {
            Self::Owner | Self::Admin => &[Admin],
            Self::Developer => &[
                WorkspaceRead,
                BlockchainRead,
                BlockchainWrite,
                BlockchainDeploy,
                ValidatorRead,
                ValidatorWrite,
                GovernanceRead,
                GovernanceWrite,
            ],
            Self::Viewer => &[WorkspaceRead, BlockchainRead, ValidatorRead, GovernanceRead],
        };
        scopes.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_and_roles_have_their_names() {
        assert!(Scope::ALL.into_iter().all(|scope| Scope::from_name(scope.name()) == Some(scope)));
        assert!(Role::ALL.into_iter().all(|role| Role::from_name(role.name()) == Some(role)));
        assert_eq!((Scope::from_name("blockchain"), Role::from_name("Owner")), (None, None));
    }

    #[test]
    fn a_lower_role_never_permits_more() {
        for pair in Role::ALL.windows(2) {
            assert!(pair[0] > pair[1]);
            assert!(pair[1].cap().beyond(&pair[0].cap()).is_empty(), "{:?} against {:?}", pair[1], pair[0]);
        }
        let admin_key: ScopeSet = [Scope::Admin].into_iter().collect();
        assert_eq!(admin_key.capped_by(&Role::Viewer.cap()), Role::Viewer.cap());
        assert!(Scope::ALL.into_iter().all(|scope| admin_key.capped_by(&Role::Owner.cap()).allows(scope)));
        assert!(!Role::Developer.cap().allows(Scope::WorkspaceWrite));
    }
}
