//! The keys of a chain: its treasury's mnemonic and its validators' private keys, drawn by the service and kept in the vault.

use alloy_primitives::B256;
use zeroize::Zeroizing;

use crate::{
    platform::{
        PlatformError,
        entropy::Entropy,
        records::{Owner, Records, Unit},
        vault::{Purpose, Vault},
    },
    primitives::{KeyPair, Wallet},
};

/// Bytes of a private key.
const KEY_BYTES: usize = 32;

/// Keys of a chain. They are overwritten when they are dropped.
pub(in crate::platform) struct ChainKeys {
    /// What the treasury's mnemonic is made of (BIP-39).
    treasury: Zeroizing<[u8; 16]>,
    /// The validators' private keys, one after the other.
    validators: Zeroizing<Vec<u8>>,
}

impl ChainKeys {
    /// Draws the keys of a chain with `validators` validators.
    pub(in crate::platform) fn draw(entropy: &dyn Entropy, validators: usize) -> Result<Self, PlatformError> {
        let mut treasury = Zeroizing::new([0; 16]);
        entropy.fill(&mut *treasury)?;
        let mut keys = Zeroizing::new(vec![0; validators.saturating_mul(KEY_BYTES)]);
        for key in keys.chunks_exact_mut(KEY_BYTES) {
            entropy.fill(key)?;
            // One draw in 2^128 is no key of secp256k1.
            while KeyPair::from_bytes(&B256::from_slice(key)).is_err() {
                entropy.fill(key)?;
            }
        }
        Ok(Self { treasury, validators: keys })
    }

    /// Keeps the keys in the vault.
    pub(in crate::platform) fn seal(
        &self,
        vault: &Vault,
        unit: &mut Unit<'_>,
        owner: &Owner,
        chain: &str,
    ) -> Result<(), PlatformError> {
        vault.seal(unit, owner, &treasury_id(chain), Purpose::ChainTreasury, &*self.treasury)?;
        Ok(vault.seal(unit, owner, &validators_id(chain), Purpose::ChainValidators, &self.validators)?)
    }

    /// Opens the keys of a chain.
    pub(in crate::platform) fn open(
        vault: &Vault,
        records: &Records,
        owner: &Owner,
        chain: &str,
    ) -> Result<Self, PlatformError> {
        let opened = vault.open(records, owner, &treasury_id(chain), Purpose::ChainTreasury)?;
        let wrong = || PlatformError::internal(format!("the keys of blockchain {chain} have another length"));
        let mut treasury = Zeroizing::new([0; 16]);
        (opened.bytes().len() == treasury.len()).then(|| treasury.copy_from_slice(opened.bytes())).ok_or_else(wrong)?;
        let opened = vault.open(records, owner, &validators_id(chain), Purpose::ChainValidators)?;
        let validators = Zeroizing::new(opened.bytes().to_vec());
        if validators.is_empty() || validators.len() % KEY_BYTES != 0 {
            return Err(wrong());
        }
        Ok(Self { treasury, validators })
    }

    /// Deletes the keys of a chain.
    pub(in crate::platform) fn discard(
        vault: &Vault,
        unit: &mut Unit<'_>,
        owner: &Owner,
        chain: &str,
    ) -> Result<(), PlatformError> {
        vault.discard(unit, owner, &treasury_id(chain))?;
        Ok(vault.discard(unit, owner, &validators_id(chain))?)
    }

    /// Returns the treasury's mnemonic.
    pub(super) fn mnemonic(&self) -> Result<Zeroizing<String>, PlatformError> {
        let wallet = Wallet::from_entropy(&self.treasury).map_err(PlatformError::internal)?;
        Ok(Zeroizing::new(wallet.phrase().to_owned()))
    }

    /// Returns the validators' key pairs.
    pub(super) fn validators(&self) -> Result<Vec<KeyPair>, PlatformError> {
        let pairs = self.validators.chunks_exact(KEY_BYTES).map(|key| KeyPair::from_bytes(&B256::from_slice(key)));
        pairs.collect::<Result<_, _>>().map_err(PlatformError::internal)
    }
}

fn treasury_id(chain: &str) -> String {
    format!("{chain}-treasury")
}

fn validators_id(chain: &str) -> String {
    format!("{chain}-validators")
}
