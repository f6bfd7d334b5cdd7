//! The keys of a chain: the seed of its draws and its validators' private keys, drawn by the service and kept in the vault.
//!
//! After those of the validators of genesis come standby keys, of validators that join later: each gets one.

use alloy_primitives::B256;
use zeroize::Zeroizing;

use crate::{
    platform::{
        PlatformError,
        entropy::Entropy,
        records::{Owner, Records, Unit},
        vault::{Purpose, Vault},
    },
    primitives::KeyPair,
};

/// Bytes of a private key.
const KEY_BYTES: usize = 32;
/// Bytes of the seed, before the keys.
const SEED_BYTES: usize = 8;

/// Standby keys of a chain with a block time.
pub(in crate::platform) const STANDBY_KEYS: usize = 8;

/// Keys of a chain. They are overwritten when they are dropped.
pub(in crate::platform) struct ChainKeys {
    /// The seed, big-endian, then the validators' private keys, one after the other.
    secret: Zeroizing<Vec<u8>>,
}

impl ChainKeys {
    /// Draws the keys of a chain with `validators` validators, standby ones among them.
    pub(in crate::platform) fn draw(entropy: &dyn Entropy, validators: usize) -> Result<Self, PlatformError> {
        let mut secret = Zeroizing::new(vec![0; validators.saturating_mul(KEY_BYTES).saturating_add(SEED_BYTES)]);
        let (seed, keys) = secret.split_at_mut(SEED_BYTES);
        while seed.iter().all(|byte| *byte == 0) {
            entropy.fill(seed)?;
        }
        keys.chunks_exact_mut(KEY_BYTES).try_for_each(|key| draw_key(entropy, key))?;
        Ok(Self { secret })
    }

    /// Keeps the keys in the vault.
    pub(in crate::platform) fn seal(
        &self,
        vault: &Vault,
        unit: &mut Unit<'_>,
        owner: &Owner,
        chain: &str,
    ) -> Result<(), PlatformError> {
        Ok(vault.seal(unit, owner, &secret_id(chain), Purpose::ChainValidators, &self.secret)?)
    }

    /// Opens the keys of a chain.
    pub(in crate::platform) fn open(
        vault: &Vault,
        records: &Records,
        owner: &Owner,
        chain: &str,
    ) -> Result<Self, PlatformError> {
        let opened = vault.open(records, owner, &secret_id(chain), Purpose::ChainValidators)?;
        let mut secret = Zeroizing::new(opened.bytes().to_vec());
        if !secret.is_empty() && secret.len().is_multiple_of(KEY_BYTES) {
            // Kept by an earlier version, whose chains all had the seed 0.
            secret = Zeroizing::new([&[0; SEED_BYTES], opened.bytes()].concat());
        }
        if secret.len() % KEY_BYTES != SEED_BYTES || secret.len() < KEY_BYTES {
            return Err(PlatformError::internal(format!("the keys of blockchain {chain} have another length")));
        }
        Ok(Self { secret })
    }

    /// Deletes the keys of a chain.
    pub(in crate::platform) fn discard(
        vault: &Vault,
        unit: &mut Unit<'_>,
        owner: &Owner,
        chain: &str,
    ) -> Result<(), PlatformError> {
        // Chains of earlier versions have a treasury beside them.
        vault.discard(unit, owner, &format!("{chain}-treasury"))?;
        Ok(vault.discard(unit, owner, &secret_id(chain))?)
    }

    /// Returns the seed of the chain's draws.
    pub(in crate::platform) fn seed(&self) -> u64 {
        self.secret.first_chunk().map_or(0, |seed| u64::from_be_bytes(*seed))
    }

    /// Returns the validators' key pairs, and then the standby ones.
    pub(in crate::platform) fn validators(&self) -> Result<Vec<KeyPair>, PlatformError> {
        let keys = self.secret.get(SEED_BYTES..).unwrap_or_default().chunks_exact(KEY_BYTES);
        let pairs = keys.map(|key| KeyPair::from_bytes(&B256::from_slice(key)));
        pairs.collect::<Result<_, _>>().map_err(PlatformError::internal)
    }
}

/// Draws a private key.
pub(in crate::platform) fn draw_key(entropy: &dyn Entropy, key: &mut [u8]) -> Result<(), PlatformError> {
    entropy.fill(key)?;
    // One draw in 2^128 is no key of secp256k1.
    while KeyPair::from_bytes(&B256::from_slice(key)).is_err() {
        entropy.fill(key)?;
    }
    Ok(())
}

fn secret_id(chain: &str) -> String {
    format!("{chain}-validators")
}
