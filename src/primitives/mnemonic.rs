//! Accounts of a mnemonic phrase (BIP-39), derived along Ethereum's path (BIP-44).

use std::sync::OnceLock;

use alloy_primitives::{B256, b256};
use bip39::{Language, Mnemonic};

use super::KeyPair;

/// The mnemonic of development nodes (Hardhat, Anvil), whose accounts are publicly known.
pub const DEFAULT_MNEMONIC: &str = "test test test test test test test test test test test junk";

/// The first ten private keys of [`DEFAULT_MNEMONIC`], so that a development node does not stretch it anew.
const DEFAULT_KEYS: [B256; 10] = [
    b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"),
    b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"),
    b256!("5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"),
    b256!("7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"),
    b256!("47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a"),
    b256!("8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba"),
    b256!("92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e"),
    b256!("4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356"),
    b256!("dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97"),
    b256!("2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"),
];

/// A BIP-39 mnemonic whose accounts can be derived.
#[derive(Clone)]
pub struct Wallet {
    mnemonic: Mnemonic,
    phrase: String,
    /// BIP-39's seed, once it is derived.
    seed: OnceLock<[u8; 64]>,
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
        Ok(Self { phrase: mnemonic.to_string(), mnemonic, seed: OnceLock::new() })
    }

    /// Makes the mnemonic of 12 words of 16 random bytes (BIP-39).
    ///
    /// # Errors
    /// None for 16 bytes; [`MnemonicError::Phrase`] is the parser's.
    pub fn from_entropy(entropy: &[u8; 16]) -> Result<Self, MnemonicError> {
        let mnemonic = Mnemonic::from_entropy_in(Language::English, entropy)
            .map_err(|error| MnemonicError::Phrase { reason: error.to_string() })?;
        Ok(Self { phrase: mnemonic.to_string(), mnemonic, seed: OnceLock::new() })
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
        match self.known_keys(first, count) {
            Some(keys) => {
                Ok(keys.iter().map(|key| KeyPair::from_bytes(key).expect("the constants are keys")).collect())
            }
            None => self.derived_keys(first, count),
        }
    }

    /// Returns the keys that need no derivation: none, or those of the default mnemonic.
    fn known_keys(&self, first: u32, count: u32) -> Option<&'static [B256]> {
        let (first, end) = (first as usize, (first as usize).checked_add(count as usize)?);
        if count == 0 {
            return Some(&[]);
        }
        (self.phrase == DEFAULT_MNEMONIC).then(|| DEFAULT_KEYS.get(first..end)).flatten()
    }

    fn derived_keys(&self, first: u32, count: u32) -> Result<Vec<KeyPair>, MnemonicError> {
        let failed = |index, error: bip32::Error| MnemonicError::Index { index, reason: error.to_string() };
        let path = "m/44'/60'/0'/0".parse().map_err(|error| failed(first, error))?;
        // BIP-39 makes this slow on purpose: 2048 rounds of HMAC-SHA512.
        let seed = self.seed.get_or_init(|| self.mnemonic.to_seed_normalized(""));
        let parent = bip32::ExtendedPrivateKey::<k256::ecdsa::SigningKey>::derive_from_path(seed, &path)
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
    fn the_constant_keys_are_those_of_the_default_mnemonic() {
        let wallet = Wallet::from_phrase(DEFAULT_MNEMONIC).unwrap();
        let addresses = |keys: Vec<KeyPair>| keys.iter().map(KeyPair::address).collect::<Vec<_>>();
        let derived = addresses(wallet.derived_keys(0, 10).unwrap());
        assert_eq!(addresses(wallet.keys(0, 10).unwrap()), derived);
        assert_eq!(addresses(wallet.keys(8, 4).unwrap())[..2], derived[8..], "across the end of the constants");
        assert_eq!(wallet.known_keys(0, 11), None);
        let other = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
        assert_eq!(Wallet::from_phrase(other).unwrap().known_keys(0, 1), None);
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
