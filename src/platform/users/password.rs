//! Passwords, and the hashes that are kept of them: argon2id (RFC 9106).

use core::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::platform::{PlatformError, entropy::Entropy};

/// Characters of a new password: NIST SP 800-63B-4, 3.1.1.2 asks for 15 where it is the only factor, or 8 beside another; this is between.
const CHARACTERS_MIN: usize = 12;
const CHARACTERS_MAX: usize = 256;

/// A password as it was typed. It is overwritten when it is dropped.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Takes a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Checks that it may be chosen for an address of e-mail.
    pub(super) fn check(&self, email: &str) -> Result<(), PlatformError> {
        let expected = format!("{CHARACTERS_MIN} to {CHARACTERS_MAX} characters that are not the address of e-mail");
        let characters = self.0.chars().count();
        if !(CHARACTERS_MIN..=CHARACTERS_MAX).contains(&characters) {
            return Err(PlatformError::field("password", expected, format!("{characters} characters")));
        }
        if self.0.to_lowercase() == email {
            return Err(PlatformError::field("password", expected, "the address"));
        }
        Ok(())
    }
}

/// What hashing a password costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub iterations: u32,
    /// Lanes, which are filled one after the other.
    pub lanes: u32,
}

/// The first of OWASP's recommendations with less than 20 MiB (Password Storage Cheat Sheet, "Argon2id").
impl Default for PasswordCost {
    fn default() -> Self {
        Self { memory_kib: 19_456, iterations: 2, lanes: 1 }
    }
}

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// The hash of a password with its salt and cost.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct PasswordHash {
    cost: PasswordCost,
    salt: [u8; SALT_BYTES],
    hash: [u8; HASH_BYTES],
}

impl PasswordHash {
    /// Hashes a password. It takes tens of milliseconds: never in a unit of work.
    pub(super) fn of(entropy: &dyn Entropy, cost: PasswordCost, password: &Password) -> Result<Self, PlatformError> {
        let mut salt = [0; SALT_BYTES];
        entropy.fill(&mut salt)?;
        Ok(Self { cost, salt, hash: hash(cost, &salt, password)? })
    }

    /// The hash of no password: compared with it, each costs as much as with one that is kept.
    pub(super) const fn of_nobody(cost: PasswordCost) -> Self {
        Self { cost, salt: [0; SALT_BYTES], hash: [0; HASH_BYTES] }
    }

    /// Returns whether it is the hash of a password. It takes as long as [`PasswordHash::of`].
    pub(super) fn matches(&self, password: &Password) -> Result<bool, PlatformError> {
        Ok(hash(self.cost, &self.salt, password)?.ct_eq(&self.hash).into())
    }
}

/// Leaves salt and hash out.
impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash").field("cost", &self.cost).finish_non_exhaustive()
    }
}

fn hash(cost: PasswordCost, salt: &[u8; SALT_BYTES], password: &Password) -> Result<[u8; HASH_BYTES], PlatformError> {
    let params = Params::new(cost.memory_kib, cost.iterations, cost.lanes, Some(HASH_BYTES));
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.map_err(PlatformError::internal)?);
    let mut hash = [0; HASH_BYTES];
    argon2.hash_password_into(password.0.as_bytes(), salt, &mut hash).map_err(PlatformError::internal)?;
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::entropy::testing::CountingEntropy;

    const CHEAP: PasswordCost = PasswordCost { memory_kib: 8, iterations: 1, lanes: 1 };

    #[test]
    fn a_hash_matches_its_password_alone() {
        let (entropy, password) = (CountingEntropy::default(), Password::new("correct horse battery"));
        let first = PasswordHash::of(&entropy, CHEAP, &password).unwrap();
        let second = PasswordHash::of(&entropy, CHEAP, &password).unwrap();
        assert!(first.hash != second.hash, "each has a salt of its own");
        assert!(first.matches(&password).unwrap() && !first.matches(&Password::new("correct horse")).unwrap());
        assert!(!PasswordHash::of_nobody(CHEAP).matches(&password).unwrap());
        assert!(!format!("{first:?}").contains("hash:"));
        let broken = PasswordCost { memory_kib: 1, ..CHEAP };
        assert!(PasswordHash::of(&entropy, broken, &password).is_err());
    }

    #[test]
    fn the_default_cost_is_owasps() {
        let cost = PasswordCost::default();
        assert_eq!((cost.memory_kib, cost.iterations, cost.lanes), (19 * 1024, 2, 1));
        let password = Password::new("correct horse battery");
        assert!(PasswordHash::of(&CountingEntropy::default(), cost, &password).unwrap().matches(&password).unwrap());
    }

    #[test]
    fn new_passwords_have_a_length() {
        for (password, allowed) in [
            ("x".repeat(11), false),
            ("x".repeat(12), true),
            ("é".repeat(256), true),
            ("é".repeat(257), false),
            ("Someone@Example.org".to_owned(), false),
        ] {
            assert_eq!(Password::new(password).check("someone@example.org").is_ok(), allowed);
        }
    }
}
