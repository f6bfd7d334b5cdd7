//! API keys: `cbx_`, 48 random hex digits, 8 checksum digits; kept as a keyed hash only.

use core::fmt;

use alloy_primitives::hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Secret;

const PREFIX: &str = "cbx_";
const RANDOM_DIGITS: usize = 48;
const CHECKSUM_DIGITS: usize = 8;

/// What a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Everything.
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

    /// The scope's name, as the service spells it.
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

    /// The scope of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// Who calls, and what the caller may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    name: String,
    scopes: Vec<Scope>,
}

impl Caller {
    /// The key's label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether `scope`, or [`Scope::Admin`], is among the caller's.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// What is kept of a key: its label, scopes, last four digits and keyed hash.
#[derive(Clone)]
pub struct ApiKey {
    name: String,
    scopes: Vec<Scope>,
    last_four: String,
    hash: [u8; 32],
}

impl ApiKey {
    /// A new key's value, and what is kept of it.
    pub(super) fn draw(secret: &Secret, name: &str, scopes: &[Scope]) -> (String, Self) {
        let random = hex::encode(&secret.draw(b"api key")[..RANDOM_DIGITS / 2]);
        let value = format!("{PREFIX}{random}{}", checksum(&random));
        let last_four = value[value.len() - 4..].to_owned();
        let kept =
            Self { name: name.to_owned(), scopes: scopes.to_vec(), last_four, hash: secret.hash(value.as_bytes()) };
        (value, kept)
    }

    /// The label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How a list shows the key: its prefix and last four digits.
    pub fn masked(&self) -> String {
        format!("{PREFIX}...{}", self.last_four)
    }
}

/// Leaves the hash out.
impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("name", &self.name).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// The caller whose key `value` is. Time does not tell which key came close.
pub(super) fn find(secret: &Secret, keys: &[ApiKey], value: &str) -> Option<Caller> {
    if !is_well_formed(value) {
        return None;
    }
    let hash = secret.hash(value.as_bytes());
    let mut found = None;
    for key in keys {
        if bool::from(key.hash.ct_eq(&hash)) {
            found = Some(key);
        }
    }
    found.map(|key| Caller { name: key.name.clone(), scopes: key.scopes.clone() })
}

/// Prefix, length and checksum are right: a typing error is told from a wrong key without a look at the keys.
fn is_well_formed(value: &str) -> bool {
    value
        .strip_prefix(PREFIX)
        .filter(|digits| digits.len() == RANDOM_DIGITS + CHECKSUM_DIGITS && digits.is_ascii())
        .is_some_and(|digits| checksum(&digits[..RANDOM_DIGITS]) == digits[RANDOM_DIGITS..])
}

fn checksum(random: &str) -> String {
    hex::encode(&Sha256::digest(random.as_bytes())[..CHECKSUM_DIGITS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_again_and_another_is_not() {
        let secret = Secret::new([1; 32]);
        let (value, key) = ApiKey::draw(&secret, "ci", &[Scope::BlockchainRead]);
        let (other, _) = ApiKey::draw(&secret, "other", &[Scope::Admin]);
        let caller = find(&secret, core::slice::from_ref(&key), &value).unwrap();
        assert!(caller.may(Scope::BlockchainRead) && !caller.may(Scope::BlockchainWrite));
        assert_eq!(find(&secret, &[key], &other), None);
    }

    #[test]
    fn a_mistyped_key_fails_its_checksum() {
        let (value, _) = ApiKey::draw(&Secret::new([1; 32]), "ci", &[]);
        assert!(is_well_formed(&value));
        let flipped = if value.as_bytes()[10] == b'0' { "1" } else { "0" };
        let mistyped = format!("{}{flipped}{}", &value[..10], &value[11..]);
        assert!(!is_well_formed(&mistyped) && !is_well_formed("cbx_") && !is_well_formed(""));
    }

    #[test]
    fn scopes_have_their_names() {
        for scope in Scope::ALL {
            assert_eq!(Scope::from_name(scope.name()), Some(scope));
        }
    }
}
