//! Signing of hashes: secp256k1 seals, or symbolic ones for simulation.
//!
//! A symbolic seal is the signer's address and a BLAKE3 of address and hash, keyed by a secret of the simulation that can
//! not be read out of an [`Authenticator`] or a [`Signer`]; a signer signs for one address only. So no replica in a
//! simulation can sign for another, at a thousandth of the cost of a secp256k1 signature. It proves nothing outside the
//! process. All else, block hashes included, is the same under both schemes.

mod hashes;

use core::{fmt, hash};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use self::hashes::SharedHashes;
use crate::primitives::{Address, B256, Bytes, KeyPair, Signature, SignatureError, recover_signer};

/// Recovered authors that are cached, in each of two generations.
const REMEMBERED_MAX: usize = 1_024;

/// Length of a secp256k1 seal: `r`, `s`, and the parity as 0 or 1.
const REAL_LEN: usize = 65;
/// Length of a symbolic seal: address and tag.
const SYMBOLIC_LEN: usize = 20 + 32;

/// The signature scheme of blocks and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SealScheme {
    /// Fast, unforgeable within one process, meaningless outside.
    Symbolic,
    /// secp256k1 over the hash, as in Ethereum.
    #[default]
    Secp256k1,
}

/// A seal without an author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Not the length of this scheme's seals.
    #[error("seal has {got} bytes; expected {want}")]
    Length {
        /// Length of the seal, in bytes.
        got: usize,
        /// Length of this scheme's seals, in bytes.
        want: usize,
    },
    /// The parity byte is neither 0 nor 1.
    #[error("seal ends in parity byte {got:#04x}; expected 0 or 1")]
    Parity {
        /// The byte.
        got: u8,
    },
    /// The signature recovers to no key.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// A symbolic seal that was not made by its claimed signer.
    #[error("symbolic seal was not made by {claimed}")]
    Forged {
        /// Claimed signer.
        claimed: Address,
    },
}

/// Recovers the signers of seals. Cloning is O(1).
#[derive(Clone)]
pub struct Authenticator {
    kind: Kind,
    hashes: SharedHashes,
}

#[derive(Clone)]
enum Kind {
    Symbolic { secret: Arc<[u8; 32]> },
    Secp256k1 { remembered: Arc<Mutex<Remembered>> },
}

/// Cached authors of the latest secp256k1 seals, those that this process made and those that it recovered. Recovery is a pure function, so
/// replicas of one process share the cache.
#[derive(Default)]
struct Remembered {
    young: BTreeMap<B256, (Bytes, Address)>,
    old: BTreeMap<B256, (Bytes, Address)>,
}

/// Signs for one address. Cloning is O(1).
#[derive(Clone)]
pub struct Signer {
    address: Address,
    key: Key,
}

#[derive(Clone)]
enum Key {
    Symbolic(Arc<[u8; 32]>),
    Secp256k1 { key: Arc<KeyPair>, remembered: Arc<Mutex<Remembered>> },
}

impl Authenticator {
    /// Returns an authenticator of secp256k1 signatures.
    pub fn secp256k1() -> Self {
        Self::of(Kind::Secp256k1 { remembered: Arc::default() })
    }

    /// Returns an authenticator of one simulation's symbolic signatures.
    pub fn symbolic(seed: u64) -> Self {
        let secret = blake3::derive_key("chainbox symbolic seals", &seed.to_be_bytes());
        Self::of(Kind::Symbolic { secret: Arc::new(secret) })
    }

    /// Returns the authenticator of `scheme`; `seed` is used by symbolic seals only.
    pub fn new(scheme: SealScheme, seed: u64) -> Self {
        match scheme {
            SealScheme::Symbolic => Self::symbolic(seed),
            SealScheme::Secp256k1 => Self::secp256k1(),
        }
    }

    /// Returns the scheme.
    pub const fn scheme(&self) -> SealScheme {
        match self.kind {
            Kind::Symbolic { .. } => SealScheme::Symbolic,
            Kind::Secp256k1 { .. } => SealScheme::Secp256k1,
        }
    }

    /// Returns the signer for `key`'s address in this scheme.
    pub fn signer(&self, key: &KeyPair) -> Signer {
        let address = key.address();
        let key = match &self.kind {
            Kind::Symbolic { secret } => Key::Symbolic(secret.clone()),
            Kind::Secp256k1 { remembered } => {
                Key::Secp256k1 { key: Arc::new(key.clone()), remembered: Arc::clone(remembered) }
            }
        };
        Signer { address, key }
    }

    /// Returns the keccak of `message`, cached because many sign or verify the same message.
    pub(in crate::consensus) fn keccak(&self, message: &[u8]) -> B256 {
        self.hashes.keccak(message)
    }

    /// Recovers the author of the seal over `hash`.
    ///
    /// # Errors
    /// [`SealError`] for a seal that is malformed or has no author.
    pub fn author(&self, hash: B256, seal: &[u8]) -> Result<Address, SealError> {
        match &self.kind {
            Kind::Symbolic { secret } => symbolic_author(secret, hash, seal),
            Kind::Secp256k1 { remembered } => remembered_author(remembered, hash, seal),
        }
    }
}

impl Authenticator {
    fn of(kind: Kind) -> Self {
        Self { kind, hashes: SharedHashes::default() }
    }
}

impl Signer {
    /// Returns the address that it signs for.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Returns the seal over `hash`.
    pub fn sign(&self, hash: B256) -> Bytes {
        match &self.key {
            Key::Symbolic(secret) => {
                let tag = symbolic_tag(secret, self.address, hash);
                [self.address.as_slice(), tag.as_bytes()].concat().into()
            }
            Key::Secp256k1 { key, remembered } => {
                let signature = key.sign_hash(hash);
                let mut seal = Vec::with_capacity(REAL_LEN);
                seal.extend_from_slice(&signature.r().to_be_bytes::<32>());
                seal.extend_from_slice(&signature.s().to_be_bytes::<32>());
                seal.push(u8::from(signature.v()));
                // Who made the seal need not be recovered from it, which takes longer than making it.
                remembered.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, &seal, self.address);
                seal.into()
            }
        }
    }
}

fn symbolic_tag(secret: &[u8; 32], address: Address, hash: B256) -> blake3::Hash {
    let mut signed = [0; SYMBOLIC_LEN];
    signed[..20].copy_from_slice(address.as_slice());
    signed[20..].copy_from_slice(hash.as_slice());
    blake3::keyed_hash(secret, &signed)
}

fn symbolic_author(secret: &[u8; 32], hash: B256, seal: &[u8]) -> Result<Address, SealError> {
    if seal.len() != SYMBOLIC_LEN {
        return Err(SealError::Length { got: seal.len(), want: SYMBOLIC_LEN });
    }
    let (claimed, tag) = seal.split_at(20);
    let claimed = Address::from_slice(claimed);
    let expected = symbolic_tag(secret, claimed, hash);
    if expected.as_bytes().as_slice() == tag { Ok(claimed) } else { Err(SealError::Forged { claimed }) }
}

fn remembered_author(remembered: &Mutex<Remembered>, hash: B256, seal: &[u8]) -> Result<Address, SealError> {
    let known = remembered.lock().unwrap_or_else(PoisonError::into_inner).find(hash, seal);
    if let Some(author) = known {
        return Ok(author);
    }
    let author = real_author(hash, seal)?;
    remembered.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, seal, author);
    Ok(author)
}

impl Remembered {
    fn find(&self, hash: B256, seal: &[u8]) -> Option<Address> {
        let (known, author) = self.young.get(&hash).or_else(|| self.old.get(&hash))?;
        (known.as_ref() == seal).then_some(*author)
    }

    fn insert(&mut self, hash: B256, seal: &[u8], author: Address) {
        if self.young.len() >= REMEMBERED_MAX {
            self.old = core::mem::take(&mut self.young);
        }
        self.young.insert(hash, (Bytes::copy_from_slice(seal), author));
    }
}

fn real_author(hash: B256, seal: &[u8]) -> Result<Address, SealError> {
    if seal.len() != REAL_LEN {
        return Err(SealError::Length { got: seal.len(), want: REAL_LEN });
    }
    let parity = match seal[REAL_LEN - 1] {
        0 => false,
        1 => true,
        got => return Err(SealError::Parity { got }),
    };
    let signature = Signature::from_bytes_and_parity(&seal[..REAL_LEN - 1], parity);
    Ok(recover_signer(hash, &signature)?)
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authenticator").field(&self.scheme()).finish()
    }
}

/// Shows the address only.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl PartialEq for Signer {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl Eq for Signer {}

impl hash::Hash for Signer {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::keccak256;

    #[test]
    fn each_scheme_names_the_signer_and_nobody_else() {
        let key = KeyPair::from_seed(1, "validator 0");
        let hash = keccak256("block");
        for authority in [Authenticator::secp256k1(), Authenticator::symbolic(9)] {
            let mut seal = authority.signer(&key).sign(hash).to_vec();
            assert_eq!(authority.author(hash, &seal), Ok(key.address()));
            assert_ne!(authority.author(keccak256("another"), &seal), Ok(key.address()));
            seal[40] ^= 1;
            assert_ne!(authority.author(hash, &seal), Ok(key.address()));
            assert!(matches!(authority.author(hash, &seal[1..]), Err(SealError::Length { .. })));
        }
    }

    #[test]
    fn a_symbolic_seal_of_another_name_or_simulation_is_forged() {
        let (alice, bob) = (KeyPair::from_seed(1, "alice"), KeyPair::from_seed(1, "bob"));
        let hash = keccak256("block");
        let authority = Authenticator::symbolic(9);
        let mut seal = authority.signer(&alice).sign(hash).to_vec();
        assert!(matches!(Authenticator::symbolic(8).author(hash, &seal), Err(SealError::Forged { .. })));
        seal[..20].copy_from_slice(bob.address().as_slice());
        assert_eq!(authority.author(hash, &seal), Err(SealError::Forged { claimed: bob.address() }));
    }

    #[test]
    fn the_author_of_a_seal_of_this_process_is_known_as_others_recover_it() {
        let (authority, stranger) = (Authenticator::secp256k1(), Authenticator::secp256k1());
        let Kind::Secp256k1 { remembered } = &authority.kind else { panic!("it is of secp256k1") };
        for number in 0..3 {
            let (key, hash) = (KeyPair::from_seed(number, "validator"), keccak256(number.to_be_bytes()));
            let seal = authority.signer(&key).sign(hash);
            assert_eq!(remembered.lock().unwrap().find(hash, &seal), Some(key.address()));
            assert_eq!(stranger.author(hash, &seal), Ok(key.address()));
            let mut other = seal.to_vec();
            other[64] ^= 1;
            assert_eq!(remembered.lock().unwrap().find(hash, &other), None, "another seal over the same hash");
            assert_eq!(authority.author(hash, &other), stranger.author(hash, &other));
        }
    }

    #[test]
    fn a_parity_of_27_is_refused() {
        let authority = Authenticator::secp256k1();
        let mut seal = authority.signer(&KeyPair::from_seed(1, "a")).sign(B256::ZERO).to_vec();
        seal[64] = 27;
        assert_eq!(authority.author(B256::ZERO, &seal), Err(SealError::Parity { got: 27 }));
    }
}
