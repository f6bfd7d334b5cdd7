//! The key of the hashes under which API keys and invitations are kept.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{
    records::Records,
    vault::{Purpose, Vault, VaultError},
};

/// 32 secret bytes that key the hashes of tokens. Kept hashes can be checked only under the secret they were made with.
pub(super) struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    /// Takes 32 secret bytes.
    #[cfg(test)]
    pub(super) fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns the secret of a store, which its vault keeps: drawn at the first opening, the same at every later one.
    ///
    /// # Errors
    /// [`VaultError`].
    pub(super) fn of_store(records: &Records, vault: &Vault) -> Result<Self, VaultError> {
        vault.own_secret(records, Purpose::TokenHashes).map(Self)
    }

    /// Returns the HMAC-SHA256 (RFC 2104) of `message` under the secret.
    pub(super) fn hash(&self, message: &[u8]) -> [u8; 32] {
        // RFC 2104 takes keys of every length: the constructor cannot fail on one of 32 bytes.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&*self.0) else { return [0; 32] };
        mac.update(message);
        mac.finalize().into_bytes().into()
    }
}

/// Leaves the bytes out.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_depend_on_the_secret_and_the_message() {
        let secret = Secret::new([7; 32]);
        assert_eq!(secret.hash(b"a"), Secret::new([7; 32]).hash(b"a"));
        assert_ne!(secret.hash(b"a"), secret.hash(b"b"));
        assert_ne!(secret.hash(b"a"), Secret::new([8; 32]).hash(b"a"));
    }

    #[test]
    fn debug_output_has_no_bytes() {
        assert_eq!(format!("{:?}", Secret::new([7; 32])), "Secret { .. }");
    }
}
