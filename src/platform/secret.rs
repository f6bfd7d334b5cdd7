//! The process's secret: identifiers and keys are drawn from it, hashes of keys are keyed by it.

use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use alloy_primitives::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// 32 secret bytes and a counter of what was drawn.
pub struct Secret {
    bytes: [u8; 32],
    drawn: AtomicU64,
}

impl Secret {
    /// Takes 32 bytes of good randomness.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self { bytes, drawn: AtomicU64::new(0) }
    }

    /// A new identifier: `prefix_` and 16 hex digits.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", hex::encode(&self.draw(b"id")[..8]))
    }

    /// 32 new bytes that nobody without the secret can tell.
    pub(super) fn draw(&self, purpose: &[u8]) -> [u8; 32] {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        self.hash(&[b"draw/", purpose, &count.to_be_bytes()].concat())
    }

    /// HMAC-SHA256 (RFC 2104) of `message` under the secret.
    pub(super) fn hash(&self, message: &[u8]) -> [u8; 32] {
        // RFC 2104 takes keys of every length: the constructor cannot fail on one of 32 bytes.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.bytes) else { return [0; 32] };
        mac.update(message);
        mac.finalize().into_bytes().into()
    }
}

/// Shows nothing.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_and_debug_is_silent() {
        let secret = Secret::new([7; 32]);
        assert_ne!(secret.id("bc"), secret.id("bc"));
        assert_ne!(secret.hash(b"a"), [0; 32]);
        assert_eq!(format!("{secret:?}"), "Secret { .. }");
    }
}
