//! Sealing and opening: the cryptography of the vault.

use chacha20poly1305::{
    ChaCha20Poly1305, XChaCha20Poly1305,
    aead::{Aead, KeyInit, Payload},
};
use zeroize::Zeroizing;

use super::{MasterKey, Purpose, SealedSecret, VaultError};
use crate::platform::{
    entropy::Entropy,
    records::{Owner, Stored},
};

/// First words of the associated data of a secret, and of a wrapped data key.
const SECRET_DOMAIN: &[u8] = b"chainbox vault 1: secret";
const KEY_DOMAIN: &[u8] = b"chainbox vault 1: data key";

/// An opened secret, which is overwritten when it is dropped.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct Opened(Zeroizing<Vec<u8>>);

impl Opened {
    /// The secret. Copy it nowhere that outlives its use.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Place and purpose of a secret as associated data: each part after its length, so that no two places have the same.
fn associated_data(domain: &[u8], owner: &Owner, id: &str, purpose: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    for part in [domain, owner.as_str().as_bytes(), id.as_bytes(), purpose] {
        data.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        data.extend_from_slice(part);
    }
    data
}

pub(super) fn seal(
    entropy: &dyn Entropy,
    master_key: &MasterKey,
    owner: &Owner,
    id: &str,
    purpose: Purpose,
    secret: &[u8],
) -> Result<SealedSecret, VaultError> {
    let mut data_key = Zeroizing::new([0; 32]);
    entropy.fill(&mut *data_key)?;
    let mut nonce = [0; 12];
    entropy.fill(&mut nonce)?;
    let data = associated_data(SECRET_DOMAIN, owner, id, purpose.name().as_bytes());
    let ciphertext = ChaCha20Poly1305::new((&*data_key).into())
        .encrypt((&nonce).into(), Payload { msg: secret, aad: &data })
        .map_err(|_| VaultError::TooLong { id: id.to_owned() })?;
    let (key_nonce, wrapped_key) = wrap(entropy, master_key, owner, id, &data_key)?;
    Ok(SealedSecret { master_key: *master_key.id().as_bytes(), key_nonce, wrapped_key, nonce, ciphertext })
}

pub(super) fn open(
    master_key: &MasterKey,
    owner: &Owner,
    id: &str,
    purpose: Purpose,
    sealed: &SealedSecret,
) -> Result<Opened, VaultError> {
    let not_authentic = || VaultError::NotAuthentic { id: id.to_owned(), purpose };
    let data_key = unwrap(master_key, owner, id, sealed).ok_or_else(not_authentic)?;
    let data = associated_data(SECRET_DOMAIN, owner, id, purpose.name().as_bytes());
    ChaCha20Poly1305::new((&*data_key).into())
        .decrypt((&sealed.nonce).into(), Payload { msg: &sealed.ciphertext, aad: &data })
        .map(|secret| Opened(Zeroizing::new(secret)))
        .map_err(|_| not_authentic())
}

/// Wraps the data key of a secret under another master key. The secret itself is not opened.
pub(super) fn rewrap(
    entropy: &dyn Entropy,
    former: &MasterKey,
    current: &MasterKey,
    sealed: &Stored<SealedSecret>,
) -> Result<SealedSecret, VaultError> {
    let (owner, id) = (sealed.owner(), sealed.id());
    let changed = || VaultError::ChangedKey { id: id.to_owned() };
    let data_key = unwrap(former, owner, id, &sealed.value).ok_or_else(changed)?;
    let (key_nonce, wrapped_key) = wrap(entropy, current, owner, id, &data_key)?;
    Ok(SealedSecret { master_key: *current.id().as_bytes(), key_nonce, wrapped_key, ..sealed.value.clone() })
}

fn wrap(
    entropy: &dyn Entropy,
    master_key: &MasterKey,
    owner: &Owner,
    id: &str,
    data_key: &Zeroizing<[u8; 32]>,
) -> Result<([u8; 24], Vec<u8>), VaultError> {
    let mut nonce = [0; 24];
    entropy.fill(&mut nonce)?;
    let data = associated_data(KEY_DOMAIN, owner, id, master_key.id().as_bytes());
    let wrapped = XChaCha20Poly1305::new(master_key.bytes().into())
        .encrypt((&nonce).into(), Payload { msg: &data_key[..], aad: &data })
        .map_err(|_| VaultError::TooLong { id: id.to_owned() })?;
    Ok((nonce, wrapped))
}

fn unwrap(master_key: &MasterKey, owner: &Owner, id: &str, sealed: &SealedSecret) -> Option<Zeroizing<[u8; 32]>> {
    let data = associated_data(KEY_DOMAIN, owner, id, master_key.id().as_bytes());
    let payload = Payload { msg: &sealed.wrapped_key, aad: &data };
    let opened = XChaCha20Poly1305::new(master_key.bytes().into()).decrypt((&sealed.key_nonce).into(), payload).ok()?;
    let opened = Zeroizing::new(opened);
    let mut data_key = Zeroizing::new([0; 32]);
    (opened.len() == data_key.len()).then(|| data_key.copy_from_slice(&opened))?;
    Some(data_key)
}
