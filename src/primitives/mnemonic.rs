//! Accounts of a mnemonic phrase (BIP-39), derived along Ethereum's path (BIP-44).

use bip39::{Language, Mnemonic};

use super::KeyPair;

/// The mnemonic of development nodes (Hardhat, Anvil), whose accounts are publicly known.
pub const DEFAULT_MNEMONIC: &str = "test test test test test test test test test test test junk";

/// A BIP-39 mnemonic whose accounts can be derived.
#[derive(Clone)]
pub struct Wallet {
    mnemonic: Mnemonic,
    phrase: String,
}

/// Error of reading a mnemonic or deriving an account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MnemonicError {
    /// The text is not a BIP-39 mnemonic.
    #[error("invalid mnemonic: {reason}; expected 12, 15, 18, 21 or 24 English BIP-39 words with a valid checksum")]
    Phrase {
        /// The BIP-39 parser's message.
        reason: String,
    },
    /// The index cannot be derived.
    #[error("account {index} cannot be derived: {reason}")]
    Index {
        /// Index of the account.
        index: u32,
        /// The derivation's message.
        reason: String,
    },
}

impl Wallet {
    /// Parses an English mnemonic; any white space separates words.
    ///
    /// # Errors
    /// [`MnemonicError::Phrase`] for unknown words, a wrong count or a wrong checksum.
    pub fn from_phrase(phrase: &str) -> Result<Self, MnemonicError> {
        let mnemonic = Mnemonic::parse_in(Language::English, phrase)
            .map_err(|error| MnemonicError::Phrase { reason: error.to_string() })?;
        Ok(Self { phrase: mnemonic.to_string(), mnemonic })
    }

    /// Returns the mnemonic, one space between words.
    pub fn phrase(&self) -> &str {
        &self.phrase
    }

    /// Returns the key at `m/44'/60'/0'/0/index`.
    ///
    /// # Errors
    /// [`MnemonicError::Index`] for an index of 2^31 or more.
    ///
    /// ```
    /// use chainbox::primitives::{DEFAULT_MNEMONIC, Wallet, address};
    /// let first = Wallet::from_phrase(DEFAULT_MNEMONIC)?.key(0)?;
    /// assert_eq!(first.address(), address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
    /// # Ok::<(), chainbox::primitives::MnemonicError>(())
    /// ```
    pub fn key(&self, index: u32) -> Result<KeyPair, MnemonicError> {
        self.keys(index, 1).map(|mut keys| keys.remove(0))
    }

    /// Returns the `count` keys from index `first` on. Their parent key is derived once, and not at all for no keys.
    ///
    /// # Errors
    /// [`MnemonicError::Index`] for an index of 2^31 or more.
    pub fn keys(&self, first: u32, count: u32) -> Result<Vec<KeyPair>, MnemonicError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let failed = |index, error: bip32::Error| MnemonicError::Index { index, reason: error.to_string() };
        let path = "m/44'/60'/0'/0".parse().map_err(|error| failed(first, error))?;
        // BIP-39 makes this slow on purpose: 2048 rounds of HMAC-SHA512.
        let seed = self.mnemonic.to_seed_normalized("");
        let parent = bip32::ExtendedPrivateKey::<k256::ecdsa::SigningKey>::derive_from_path(&seed, &path)
            .map_err(|error| failed(first, error))?;
        (first..first.saturating_add(count))
            .map(|index| {
                let number = bip32::ChildNumber::new(index, false).map_err(|error| failed(index, error))?;
                let child = parent.derive_child(number).map_err(|error| failed(index, error))?;
                Ok(KeyPair::from_signing_key(child.private_key().clone()))
            })
            .collect()
    }
}

/// Hides the phrase.
impl core::fmt::Debug for Wallet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wallet").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::*;

    #[test]
    fn the_default_accounts_are_the_known_ones() {
        let keys = Wallet::from_phrase(DEFAULT_MNEMONIC).unwrap().keys(0, 3).unwrap();
        assert_eq!(keys[1].address(), address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
        assert_eq!(keys[2].address(), address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"));
    }

    #[test]
    fn a_bad_checksum_is_reported() {
        let error = Wallet::from_phrase("test test test test test test test test test test test test").unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
        assert!(Wallet::from_phrase("hello world").is_err());
    }

    /// BIP-39's own English test vectors (Trezor's list), passphrase left empty.
    #[test]
    fn all_zero_entropy_vector() {
        let phrase = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
        let wallet = Wallet::from_phrase(phrase).unwrap();
        assert_eq!(wallet.key(0).unwrap().address(), address!("9858EfFD232B4033E47d90003D41EC34EcaEda94"));
    }

    #[test]
    fn hardened_indices_are_refused() {
        let wallet = Wallet::from_phrase(DEFAULT_MNEMONIC).unwrap();
        assert!(matches!(wallet.key(1 << 31), Err(MnemonicError::Index { index, .. }) if index == 1 << 31));
    }
}
