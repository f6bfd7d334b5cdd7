//! The key vault: secrets in the store, encrypted under keys that are encrypted in turn (envelope encryption).
//!
//! Each secret has a data key of its own, drawn for it, under which it is encrypted by ChaCha20-Poly1305 (RFC 8439). The data key is
//! wrapped by the master key, by XChaCha20-Poly1305, whose nonces of 192 bits may be drawn at random for any number of secrets
//! (draft-irtf-cfrg-xchacha). Both name owner, id and purpose of the secret as associated data: a sealed secret that is moved to another
//! place, or asked for with another purpose, does not open.
//!
//! The master key is never in the store. After a change of it, [`Vault::rewrap`] wraps the data keys anew; the secrets stay as they are.
//! Keys and opened secrets are overwritten when they are dropped, and have no `Debug`.

mod envelope;
mod master_key;
mod master_key_id;
mod sealed;
#[cfg(test)]
mod tests;

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use zeroize::Zeroizing;

pub use self::{
    envelope::Opened,
    master_key::MasterKey,
    master_key_id::MasterKeyId,
    sealed::{Purpose, SealedSecret, VaultError},
};
use super::{
    entropy::Entropy,
    records::{Owner, PageRequest, RecordError, Records, SortKey, Stored, Unit},
};

/// Secrets whose data keys are wrapped anew in one unit of work.
const REWRAPPED_AT_ONCE: core::num::NonZeroUsize = core::num::NonZeroUsize::new(64).expect("not zero");

/// The vault over the platform's records.
pub struct Vault {
    entropy: Arc<dyn Entropy>,
    current: MasterKey,
    previous: BTreeMap<MasterKeyId, MasterKey>,
}

impl Vault {
    /// Creates the vault of a master key.
    pub const fn new(current: MasterKey, entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, current, previous: BTreeMap::new() }
    }

    /// Adds a former master key, so that what it wraps can be opened and wrapped anew.
    #[must_use]
    pub fn with_previous(mut self, key: MasterKey) -> Self {
        if key.id() != self.current.id() {
            self.previous.insert(key.id(), key);
        }
        self
    }

    /// Keeps a secret, in a unit of work.
    ///
    /// # Errors
    /// [`VaultError::Entropy`], [`VaultError::Record`]: the id is taken.
    pub fn seal(
        &self,
        unit: &mut Unit<'_>,
        owner: &Owner,
        id: &str,
        purpose: Purpose,
        secret: &[u8],
    ) -> Result<(), VaultError> {
        let sealed = envelope::seal(&*self.entropy, &self.current, owner, id, purpose, secret)?;
        unit.insert(owner, id, sealed)?;
        Ok(())
    }

    /// Deletes a secret, in a unit of work. One that is not there is no error.
    ///
    /// # Errors
    /// [`VaultError::Record`].
    pub fn discard(&self, unit: &mut Unit<'_>, owner: &Owner, id: &str) -> Result<(), VaultError> {
        let sealed = unit.of::<SealedSecret>().get(owner, id)?;
        sealed.map_or(Ok(()), |sealed| Ok(unit.delete(&sealed)?))
    }

    /// Opens a secret.
    ///
    /// # Errors
    /// [`VaultError::Missing`], [`VaultError::UnknownMasterKey`], [`VaultError::NotAuthentic`], [`VaultError::Record`].
    pub fn open(&self, records: &Records, owner: &Owner, id: &str, purpose: Purpose) -> Result<Opened, VaultError> {
        let missing = || VaultError::Missing { id: id.to_owned(), purpose };
        let sealed = records.of::<SealedSecret>().get(owner, id)?.ok_or_else(missing)?;
        self.open_sealed(&sealed, purpose)
    }

    fn open_sealed(&self, sealed: &Stored<SealedSecret>, purpose: Purpose) -> Result<Opened, VaultError> {
        envelope::open(self.key_of(sealed)?, sealed.owner(), sealed.id(), purpose, &sealed.value)
    }

    fn key_of(&self, sealed: &Stored<SealedSecret>) -> Result<&MasterKey, VaultError> {
        let wanted = sealed.value.master_key();
        if wanted == self.current.id() {
            return Ok(&self.current);
        }
        self.previous.get(&wanted).ok_or_else(|| VaultError::UnknownMasterKey { wanted, current: self.current.id() })
    }

    /// Wraps the data keys of all secrets under the present master key that a former one wraps; returns how many. It may be interrupted:
    /// each secret names the key that it is under, and the next call goes on. When it has returned, no former key is needed any more.
    ///
    /// # Errors
    /// [`VaultError`] of opening and keeping. What was wrapped anew stays so.
    pub fn rewrap(&self, records: &Records) -> Result<u64, VaultError> {
        let mut rewrapped = 0_u64;
        for former in self.previous.values() {
            loop {
                let count = records.unit(|unit| self.rewrap_some(unit, former))?;
                if count == 0 {
                    break;
                }
                rewrapped = rewrapped.saturating_add(count);
            }
        }
        Ok(rewrapped)
    }

    fn rewrap_some(&self, unit: &mut Unit<'_>, former: &MasterKey) -> Result<u64, VaultError> {
        let group = SortKey::new().bytes(former.id().as_bytes());
        let request = PageRequest::first(REWRAPPED_AT_ONCE);
        let page = unit.front(&SealedSecret::BY_MASTER_KEY, &Owner::Service, &group, &request)?;
        let mut count = 0_u64;
        for mut sealed in page.items {
            sealed.value = envelope::rewrap(&*self.entropy, former, &self.current, &sealed)?;
            unit.replace(&sealed)?;
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// Opens every secret of the store, and forgets it; returns how many there are.
    ///
    /// # Errors
    /// [`VaultError`] of the first that does not open, and of reading.
    pub fn verify(&self, records: &Records) -> Result<u64, VaultError> {
        let mut count = 0_u64;
        records.for_every::<SealedSecret, VaultError>(|sealed| {
            // Only the place where a secret is used knows its purpose.
            let changed = VaultError::ChangedKey { id: sealed.id().to_owned() };
            let mut opened = Purpose::ALL.into_iter().map(|purpose| self.open_sealed(&sealed, purpose));
            let other = opened.find(|opened| !matches!(opened, Err(VaultError::NotAuthentic { .. })));
            count = count.saturating_add(1);
            other.unwrap_or(Err(changed)).map(drop)
        })?;
        Ok(count)
    }

    /// Returns a secret of the service itself, drawn and kept when there is none yet.
    ///
    /// # Errors
    /// [`VaultError`].
    pub(super) fn own_secret<const LEN: usize>(
        &self,
        records: &Records,
        purpose: Purpose,
    ) -> Result<Zeroizing<[u8; LEN]>, VaultError> {
        let id = purpose.name();
        if records.of::<SealedSecret>().get(&Owner::Service, id)?.is_none() {
            let mut drawn = Zeroizing::new([0; LEN]);
            self.entropy.fill(&mut *drawn)?;
            match records.unit(|unit| self.seal(unit, &Owner::Service, id, purpose, &*drawn)) {
                Ok(()) | Err(VaultError::Record(RecordError::Exists { .. })) => {}
                Err(cause) => return Err(cause),
            }
        }
        let opened = self.open(records, &Owner::Service, id, purpose)?;
        let mut bytes = Zeroizing::new([0; LEN]);
        if opened.bytes().len() != LEN {
            return Err(VaultError::NotAuthentic { id: id.to_owned(), purpose });
        }
        bytes.copy_from_slice(opened.bytes());
        Ok(bytes)
    }
}

/// Leaves the keys out.
impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("master_key", &self.current.id()).finish_non_exhaustive()
    }
}
