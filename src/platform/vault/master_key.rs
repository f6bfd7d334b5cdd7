//! The master key: 32 bytes, written as 64 hex digits in a file or an environment variable.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use alloy_primitives::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{MasterKeyId, VaultError};
use crate::platform::entropy::Entropy;

/// What an id is made of: the HMAC of this text under the key, which tells nothing of the key.
const ID_TEXT: &[u8] = b"chainbox master key id";

/// The key that wraps all data keys. It is overwritten when it is dropped.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct MasterKey {
    bytes: Zeroizing<[u8; 32]>,
    id: MasterKeyId,
}

impl MasterKey {
    /// Takes 32 secret bytes.
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        let mut id = [0; 8];
        // RFC 2104 takes keys of every length: the constructor cannot fail on one of 32 bytes.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&*bytes) {
            mac.update(ID_TEXT);
            id.copy_from_slice(&mac.finalize().into_bytes()[..8]);
        }
        Self { bytes, id: MasterKeyId::from_bytes(id) }
    }

    /// Draws a new key.
    ///
    /// # Errors
    /// [`VaultError::Entropy`].
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, VaultError> {
        let mut bytes = Zeroizing::new([0; 32]);
        entropy.fill(&mut *bytes)?;
        Ok(Self::new(bytes))
    }

    /// Reads 64 hex digits; `place` names where they are from.
    ///
    /// # Errors
    /// [`VaultError::MasterKey`], which repeats none of the text.
    pub fn from_hex(text: &str, place: &str) -> Result<Self, VaultError> {
        let mut bytes = Zeroizing::new([0; 32]);
        let digits = text.trim();
        let decoded = hex::decode_to_slice(digits.strip_prefix("0x").unwrap_or(digits), &mut *bytes);
        let reason = || format!("expected 64 hex digits, got {} characters that are not", digits.chars().count());
        decoded.map_err(|_| VaultError::MasterKey { place: place.to_owned(), reason: reason() })?;
        Ok(Self::new(bytes))
    }

    /// Reads a key from an environment variable; `None` when it is not set.
    ///
    /// # Errors
    /// [`VaultError::MasterKey`].
    pub fn from_env(name: &str) -> Result<Option<Self>, VaultError> {
        match std::env::var(name) {
            Ok(text) => Self::from_hex(&Zeroizing::new(text), &format!("${name}")).map(Some),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(VaultError::MasterKey { place: format!("${name}"), reason: "it is no text".to_owned() })
            }
        }
    }

    /// Reads a key from a file.
    ///
    /// # Errors
    /// [`VaultError::MasterKey`].
    pub fn from_file(path: &Path) -> Result<Self, VaultError> {
        let text = fs::read_to_string(path).map_err(|cause| unusable(path, &cause))?;
        Self::from_hex(&Zeroizing::new(text), &path.display().to_string())
    }

    /// Reads a key from a file, which is first made with a new key when there is none; only its owner can read it then.
    ///
    /// # Errors
    /// [`VaultError::MasterKey`], [`VaultError::Entropy`].
    pub fn from_file_or_new(path: &Path, entropy: &dyn Entropy) -> Result<Self, VaultError> {
        if path.exists() {
            return Self::from_file(path);
        }
        let key = Self::generate(entropy)?;
        let text = Zeroizing::new(hex::encode(key.bytes.as_slice()));
        write_new(path, text.as_bytes()).map_err(|cause| unusable(path, &cause))?;
        Ok(key)
    }

    /// Public name of the key.
    pub const fn id(&self) -> MasterKeyId {
        self.id
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

fn unusable(path: &Path, cause: &io::Error) -> VaultError {
    VaultError::MasterKey { place: path.display().to_string(), reason: cause.to_string() }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.write_all(b"\n")?;
    // Secrets that are under a key that a crash lost are lost too.
    file.sync_all()
}
