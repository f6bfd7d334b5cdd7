//! secp256k1 key pairs.

use core::fmt;

use alloy_primitives::{Address, B256, Signature, U256, keccak256};
use k256::ecdsa::SigningKey;

use super::signature::address_of;

/// A private key and the address that it controls.
///
/// ```
/// use chainbox::primitives::{KeyPair, keccak256, recover_signer};
/// let key = KeyPair::from_seed(1, "alice");
/// let signature = key.sign_hash(keccak256("hello"));
/// assert_eq!(recover_signer(keccak256("hello"), &signature)?, key.address());
/// # Ok::<(), chainbox::primitives::SignatureError>(())
/// ```
#[derive(Clone)]
pub struct KeyPair {
    secret: SigningKey,
    address: Address,
}

/// Error for a private key outside the range of secp256k1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid private key: expected 32 bytes between 1 and the order of secp256k1 less one")]
pub struct KeyError;

impl KeyPair {
    /// Returns the key pair of a private key of 32 big-endian bytes.
    ///
    /// # Errors
    /// [`KeyError`] for zero or a value not below the order of the group.
    pub fn from_bytes(secret: &B256) -> Result<Self, KeyError> {
        SigningKey::from_slice(secret.as_slice()).map(Self::from_signing_key).map_err(|_| KeyError)
    }

    /// Derives a key from `seed` and the purpose `label`; equal arguments give equal keys.
    pub fn from_seed(seed: u64, label: &str) -> Self {
        let mut candidate = keccak256([seed.to_be_bytes().as_slice(), label.as_bytes()].concat());
        loop {
            match Self::from_bytes(&candidate) {
                Ok(pair) => return pair,
                Err(KeyError) => candidate = keccak256(candidate),
            }
        }
    }

    pub(super) fn from_signing_key(secret: SigningKey) -> Self {
        let address = address_of(secret.verifying_key());
        Self { secret, address }
    }

    /// Returns the address that this key controls.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Returns the private key as 32 big-endian bytes. Keep them out of logs.
    pub fn secret_bytes(&self) -> B256 {
        B256::from_slice(&self.secret.to_bytes())
    }

    /// Signs a 32-byte hash: deterministic (RFC 6979), with low `s` (EIP-2).
    pub fn sign_hash(&self, hash: B256) -> Signature {
        let (signature, recovery) = self.secret.sign_prehash_recoverable(hash.as_slice());
        let (r, s) = signature.split_bytes();
        Signature::new(U256::from_be_slice(&r), U256::from_be_slice(&s), recovery.is_y_odd())
    }
}

/// Shows the address only.
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("address", &self.address).finish_non_exhaustive()
    }
}

impl PartialEq for KeyPair {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl Eq for KeyPair {}

#[cfg(test)]
mod tests {
    use alloy_primitives::{address, b256};

    use super::*;

    #[test]
    fn a_known_key_has_its_known_address() {
        let secret = b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
        let pair = KeyPair::from_bytes(&secret).unwrap();
        assert_eq!(pair.address(), address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
        assert_eq!(pair.secret_bytes(), secret);
    }

    #[test]
    fn debug_never_shows_the_secret() {
        let pair = KeyPair::from_seed(1, "a");
        assert!(!format!("{pair:?}").contains(&alloy_primitives::hex::encode(pair.secret_bytes())));
    }

    #[test]
    fn zero_and_the_order_are_no_keys() {
        assert_eq!(KeyPair::from_bytes(&B256::ZERO), Err(KeyError));
        assert_eq!(KeyPair::from_bytes(&B256::repeat_byte(0xff)), Err(KeyError));
    }
}
