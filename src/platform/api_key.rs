//! API keys: `cbx_`, 48 random hex digits, 8 digits of checksum. Only a keyed hash of a key is kept.

use core::fmt;

use alloy_primitives::hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{
    Secret,
    entropy::{Entropy, EntropyError, random_bytes},
};

const PREFIX: &str = "cbx_";
const RANDOM_BYTES: usize = 24;
const RANDOM_DIGITS: usize = 2 * RANDOM_BYTES;
const CHECKSUM_BYTES: usize = 4;

/// Permission that an API key carries.
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

    /// Returns the scope with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The authenticated sender of a request, with its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    name: String,
    scopes: Vec<Scope>,
}

impl Caller {
    /// Label of the caller's API key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the caller has `scope` or [`Scope::Admin`].
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// A kept API key: label, scopes, last four digits and keyed hash, but not the key itself.
#[derive(Clone)]
pub struct ApiKey {
    name: String,
    scopes: Vec<Scope>,
    last_four: String,
    hash: [u8; 32],
}

impl ApiKey {
    /// Generates a key; returns its value and what is kept of it.
    pub(super) fn generate(
        entropy: &dyn Entropy,
        secret: &Secret,
        name: &str,
        scopes: &[Scope],
    ) -> Result<(String, Self), EntropyError> {
        let random = hex::encode(random_bytes::<RANDOM_BYTES>(entropy)?);
        let value = format!("{PREFIX}{random}{}", checksum(&random));
        let last_four = value[value.len() - 4..].to_owned();
        let kept =
            Self { name: name.to_owned(), scopes: scopes.to_vec(), last_four, hash: secret.hash(value.as_bytes()) };
        Ok((value, kept))
    }

    /// Label of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the key with all but its prefix and last four digits left out.
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

/// Returns the caller whose key is `value`. Every kept key is compared in constant time.
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

/// Whether prefix, length and checksum are right, which rejects mistyped keys without a comparison.
fn is_well_formed(value: &str) -> bool {
    value
        .strip_prefix(PREFIX)
        .filter(|digits| digits.len() == RANDOM_DIGITS + 2 * CHECKSUM_BYTES && digits.is_ascii())
        .is_some_and(|digits| checksum(&digits[..RANDOM_DIGITS]) == digits[RANDOM_DIGITS..])
}

fn checksum(random: &str) -> String {
    hex::encode(&Sha256::digest(random.as_bytes())[..CHECKSUM_BYTES])
}

#[cfg(test)]
mod tests {
    use super::{super::entropy::testing::CountingEntropy, *};

    #[test]
    fn a_kept_key_is_recognised_and_another_is_not() {
        let (secret, entropy) = (Secret::new([1; 32]), CountingEntropy::default());
        let (value, key) = ApiKey::generate(&entropy, &secret, "ci", &[Scope::BlockchainRead]).unwrap();
        let (other, _) = ApiKey::generate(&entropy, &secret, "other", &[Scope::Admin]).unwrap();
        let caller = find(&secret, core::slice::from_ref(&key), &value).unwrap();
        assert!(caller.may(Scope::BlockchainRead) && !caller.may(Scope::BlockchainWrite));
        assert_eq!(find(&secret, core::slice::from_ref(&key), &other), None);
        assert_eq!(find(&Secret::new([1; 32]), core::slice::from_ref(&key), &value), Some(caller));
        assert_eq!(find(&Secret::new([2; 32]), &[key], &value), None, "a hash under another secret");
    }

    #[test]
    fn a_mistyped_key_fails_its_checksum() {
        let (value, _) = ApiKey::generate(&CountingEntropy::default(), &Secret::new([1; 32]), "ci", &[]).unwrap();
        assert!(is_well_formed(&value));
        let flipped = if value.as_bytes()[10] == b'0' { "1" } else { "0" };
        let mistyped = format!("{}{flipped}{}", &value[..10], &value[11..]);
        assert!(!is_well_formed(&mistyped) && !is_well_formed("cbx_") && !is_well_formed(""));
    }

    #[test]
    fn neither_key_nor_hash_is_in_debug_output() {
        let secret = Secret::new([1; 32]);
        let (value, key) = ApiKey::generate(&CountingEntropy::starting_at(5), &secret, "ci", &[]).unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey { name: \"ci\", scopes: [], .. }");
        assert!(!format!("{key:?}").contains(&value[4..]));
    }

    #[test]
    fn scopes_have_their_names() {
        for scope in Scope::ALL {
            assert_eq!(Scope::from_name(scope.name()), Some(scope));
        }
    }
}
