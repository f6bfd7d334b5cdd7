//! Signing of hashes: secp256k1 seals, or symbolic ones for simulation.
//!
//! A symbolic seal is the signer's address and a BLAKE3 of address and hash, keyed by a secret of the simulation that can
//! not be read out of an [`Authenticator`] or a [`Signer`]; a signer signs for one address only. So no replica in a
//! simulation can sign for another, at a thousandth of the cost of a secp256k1 signature. It proves nothing outside the
//! process. All else, block hashes included, is the same under both schemes.
//!
//! A signature is valid for one chain and one [`Purpose`] only: it is over `keccak256("chainbox" ‖ purpose ‖ genesis hash ‖ hash)`,
//! so that what is signed on one chain is no evidence on another that has the same keys (as Ethereum's `DOMAIN` with
//! `genesis_validators_root`, consensus-specs, `compute_domain`). Symbolic seals use a secret of their own for each chain.

mod hashes;

use core::{fmt, hash};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::hashes::SharedHashes;
use crate::{
    consensus::mutation::{self, Mutation},
    primitives::{Address, B256, Bytes, KeyPair, Signature, SignatureError, keccak256, recover_signer},
};

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

/// What a signature is made for; one made for another purpose does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The seal of a block: over the hash of its header.
    Block,
    /// A message of the protocol, such as a vote: over the keccak of its encoding, which begins with its kind.
    Message,
    /// A secret of the signer, derived from its key: never sent, so that nobody can have it signed as something else.
    Secret,
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

/// Recovers the signers of a chain's seals. Cloning is O(1).
#[derive(Clone)]
pub struct Authenticator {
    kind: Kind,
    hashes: SharedHashes,
}

#[derive(Clone)]
enum Kind {
    Symbolic {
        /// Secret of the simulation.
        root: Arc<[u8; 32]>,
        /// Secret of the chain.
        secret: Arc<[u8; 32]>,
    },
    Secp256k1(Domain),
}

/// The chain that secp256k1 signatures are valid for.
#[derive(Clone, Default)]
struct Domain {
    /// Hash of the genesis block.
    chain: B256,
    remembered: Arc<Mutex<Remembered>>,
}

/// Cached authors of the latest secp256k1 seals, those that this process made and those that it recovered. Recovery is a pure function, so
/// replicas of one process share the cache.
#[derive(Default)]
struct Remembered {
    young: BTreeMap<(Purpose, B256), (Bytes, Address)>,
    old: BTreeMap<(Purpose, B256), (Bytes, Address)>,
}

/// Signs for one address on one chain. Cloning is O(1).
#[derive(Clone)]
pub struct Signer {
    address: Address,
    key: Key,
}

#[derive(Clone)]
enum Key {
    Symbolic(Arc<[u8; 32]>),
    Secp256k1 { key: Arc<KeyPair>, domain: Domain },
}

impl Authenticator {
    /// Returns an authenticator of secp256k1 signatures, of no chain.
    pub fn secp256k1() -> Self {
        Self::of(Kind::Secp256k1(Domain::default()))
    }

    /// Returns an authenticator of one simulation's symbolic signatures, of no chain.
    pub fn symbolic(seed: u64) -> Self {
        let root = Arc::new(blake3::derive_key("chainbox symbolic seals", &seed.to_be_bytes()));
        Self::of(Kind::Symbolic { secret: root.clone(), root })
    }

    /// Returns the authenticator of `scheme`, of no chain; `seed` is used by symbolic seals only.
    pub fn new(scheme: SealScheme, seed: u64) -> Self {
        match scheme {
            SealScheme::Symbolic => Self::symbolic(seed),
            SealScheme::Secp256k1 => Self::secp256k1(),
        }
    }

    /// Returns the authenticator of the chain whose genesis block has this hash, instead of the chain that it was of.
    #[must_use]
    pub fn for_chain(&self, genesis: B256) -> Self {
        if mutation::active(Mutation::SignaturesOfAnyChain) {
            return self.clone();
        }
        let kind = match &self.kind {
            Kind::Symbolic { root, .. } => {
                let secret = Arc::new(*blake3::keyed_hash(root, genesis.as_slice()).as_bytes());
                Kind::Symbolic { root: root.clone(), secret }
            }
            Kind::Secp256k1(domain) if domain.chain == genesis => self.kind.clone(),
            Kind::Secp256k1(_) => Kind::Secp256k1(Domain { chain: genesis, remembered: Arc::default() }),
        };
        Self { kind, hashes: self.hashes.clone() }
    }

    /// Returns the scheme.
    pub const fn scheme(&self) -> SealScheme {
        match self.kind {
            Kind::Symbolic { .. } => SealScheme::Symbolic,
            Kind::Secp256k1(_) => SealScheme::Secp256k1,
        }
    }

    /// Returns the signer for `key`'s address, in this scheme and for this chain.
    pub fn signer(&self, key: &KeyPair) -> Signer {
        let address = key.address();
        let key = match &self.kind {
            Kind::Symbolic { secret, .. } => Key::Symbolic(secret.clone()),
            Kind::Secp256k1(domain) => Key::Secp256k1 { key: Arc::new(key.clone()), domain: domain.clone() },
        };
        Signer { address, key }
    }

    /// Returns the keccak of `message`, cached because many sign or verify the same message.
    pub(in crate::consensus) fn keccak(&self, message: &[u8]) -> B256 {
        self.hashes.keccak(message)
    }

    /// Recovers the author of the seal over `hash` that was made for `purpose`.
    ///
    /// # Errors
    /// [`SealError`] for a seal that is malformed or has no author. A secp256k1 seal made for another chain or purpose has an
    /// author: an address that nobody holds.
    pub fn author(&self, purpose: Purpose, hash: B256, seal: &[u8]) -> Result<Address, SealError> {
        match &self.kind {
            Kind::Symbolic { secret, .. } => symbolic_author(secret, purpose, hash, seal),
            Kind::Secp256k1(domain) => domain.author(purpose, hash, seal),
        }
    }

    fn of(kind: Kind) -> Self {
        Self { kind, hashes: SharedHashes::default() }
    }
}

impl Signer {
    /// Returns the address that it signs for.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Returns the seal over `hash` for `purpose`.
    pub fn sign(&self, purpose: Purpose, hash: B256) -> Bytes {
        match &self.key {
            Key::Symbolic(secret) => {
                let tag = symbolic_tag(secret, self.address, purpose, hash);
                [self.address.as_slice(), tag.as_bytes()].concat().into()
            }
            Key::Secp256k1 { key, domain } => {
                let seal = secp256k1_seal(key, domain.digest(purpose, hash));
                // Who made the seal need not be recovered from it, which takes longer than making it.
                domain.remembered().insert((purpose, hash), &seal, self.address);
                seal
            }
        }
    }
}

impl Purpose {
    const fn code(self) -> u8 {
        match self {
            Self::Block => 1,
            Self::Message => 2,
            Self::Secret => 3,
        }
    }
}

impl Domain {
    /// Returns the hash that is signed in place of `hash`.
    fn digest(&self, purpose: Purpose, hash: B256) -> B256 {
        let mut signed = [0; 8 + 1 + 32 + 32];
        signed[..8].copy_from_slice(b"chainbox");
        signed[8] = purpose.code();
        signed[9..41].copy_from_slice(self.chain.as_slice());
        signed[41..].copy_from_slice(hash.as_slice());
        keccak256(signed)
    }

    fn author(&self, purpose: Purpose, hash: B256, seal: &[u8]) -> Result<Address, SealError> {
        let known = self.remembered().find((purpose, hash), seal);
        if let Some(author) = known {
            return Ok(author);
        }
        let author = secp256k1_author(self.digest(purpose, hash), seal)?;
        self.remembered().insert((purpose, hash), seal, author);
        Ok(author)
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn symbolic_tag(secret: &[u8; 32], address: Address, purpose: Purpose, hash: B256) -> blake3::Hash {
    let mut signed = [0; 20 + 1 + 32];
    signed[..20].copy_from_slice(address.as_slice());
    signed[20] = purpose.code();
    signed[21..].copy_from_slice(hash.as_slice());
    blake3::keyed_hash(secret, &signed)
}

fn symbolic_author(secret: &[u8; 32], purpose: Purpose, hash: B256, seal: &[u8]) -> Result<Address, SealError> {
    if seal.len() != SYMBOLIC_LEN {
        return Err(SealError::Length { got: seal.len(), want: SYMBOLIC_LEN });
    }
    let (claimed, tag) = seal.split_at(20);
    let claimed = Address::from_slice(claimed);
    let expected = symbolic_tag(secret, claimed, purpose, hash);
    if expected.as_bytes().as_slice() == tag { Ok(claimed) } else { Err(SealError::Forged { claimed }) }
}

impl Remembered {
    fn find(&self, signed: (Purpose, B256), seal: &[u8]) -> Option<Address> {
        let (known, author) = self.young.get(&signed).or_else(|| self.old.get(&signed))?;
        (known.as_ref() == seal).then_some(*author)
    }

    fn insert(&mut self, signed: (Purpose, B256), seal: &[u8], author: Address) {
        if self.young.len() >= REMEMBERED_MAX {
            self.old = core::mem::take(&mut self.young);
        }
        self.young.insert(signed, (Bytes::copy_from_slice(seal), author));
    }
}

/// Returns `key`'s signature over `digest` itself: `r`, `s`, and the parity as 0 or 1.
pub(in crate::consensus) fn secp256k1_seal(key: &KeyPair, digest: B256) -> Bytes {
    let signature = key.sign_hash(digest);
    let mut seal = Vec::with_capacity(REAL_LEN);
    seal.extend_from_slice(&signature.r().to_be_bytes::<32>());
    seal.extend_from_slice(&signature.s().to_be_bytes::<32>());
    seal.push(u8::from(signature.v()));
    seal.into()
}

/// Recovers the signer of `digest` itself.
///
/// # Errors
/// [`SealError`] for a seal that is malformed or has no author.
pub(in crate::consensus) fn secp256k1_author(digest: B256, seal: &[u8]) -> Result<Address, SealError> {
    if seal.len() != REAL_LEN {
        return Err(SealError::Length { got: seal.len(), want: REAL_LEN });
    }
    let parity = match seal[REAL_LEN - 1] {
        0 => false,
        1 => true,
        got => return Err(SealError::Parity { got }),
    };
    let signature = Signature::from_bytes_and_parity(&seal[..REAL_LEN - 1], parity);
    Ok(recover_signer(digest, &signature)?)
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
    #[test]
    fn each_scheme_names_the_signer_and_nobody_else() {
        let key = KeyPair::from_seed(1, "validator 0");
        let hash = keccak256("block");
        for authority in [Authenticator::secp256k1(), Authenticator::symbolic(9)] {
            let mut seal = authority.signer(&key).sign(Purpose::Block, hash).to_vec();
            assert_eq!(authority.author(Purpose::Block, hash, &seal), Ok(key.address()));
            assert_ne!(authority.author(Purpose::Block, keccak256("another"), &seal), Ok(key.address()));
            seal[40] ^= 1;
            assert_ne!(authority.author(Purpose::Block, hash, &seal), Ok(key.address()));
            assert!(matches!(authority.author(Purpose::Block, hash, &seal[1..]), Err(SealError::Length { .. })));
        }
    }

    #[test]
    fn a_symbolic_seal_of_another_name_or_simulation_is_forged() {
        let (alice, bob) = (KeyPair::from_seed(1, "alice"), KeyPair::from_seed(1, "bob"));
        let hash = keccak256("block");
        let authority = Authenticator::symbolic(9);
        let mut seal = authority.signer(&alice).sign(Purpose::Block, hash).to_vec();
        assert!(matches!(
            Authenticator::symbolic(8).author(Purpose::Block, hash, &seal),
            Err(SealError::Forged { .. })
        ));
        seal[..20].copy_from_slice(bob.address().as_slice());
        assert_eq!(authority.author(Purpose::Block, hash, &seal), Err(SealError::Forged { claimed: bob.address() }));
    }

    #[test]
    fn the_author_of_a_seal_of_this_process_is_known_as_others_recover_it() {
        let (authority, stranger) = (Authenticator::secp256k1(), Authenticator::secp256k1());
        let Kind::Secp256k1(domain) = &authority.kind else { panic!("it is of secp256k1") };
        for number in 0..3 {
            let (key, hash) = (KeyPair::from_seed(number, "validator"), keccak256(number.to_be_bytes()));
            let seal = authority.signer(&key).sign(Purpose::Block, hash);
            assert_eq!(domain.remembered().find((Purpose::Block, hash), &seal), Some(key.address()));
            assert_eq!(stranger.author(Purpose::Block, hash, &seal), Ok(key.address()));
            let mut other = seal.to_vec();
            other[64] ^= 1;
            assert_eq!(
                domain.remembered().find((Purpose::Block, hash), &other),
                None,
                "another seal over the same hash"
            );
            assert_eq!(authority.author(Purpose::Block, hash, &other), stranger.author(Purpose::Block, hash, &other));
        }
    }

    #[test]
    fn a_parity_of_27_is_refused() {
        let authority = Authenticator::secp256k1();
        let mut seal = authority.signer(&KeyPair::from_seed(1, "a")).sign(Purpose::Block, B256::ZERO).to_vec();
        seal[64] = 27;
        assert_eq!(authority.author(Purpose::Block, B256::ZERO, &seal), Err(SealError::Parity { got: 27 }));
    }

    #[test]
    fn a_seal_is_of_one_chain_and_one_purpose() {
        let key = KeyPair::from_seed(1, "validator 0");
        let (hash, here, elsewhere) = (keccak256("block"), keccak256("here"), keccak256("elsewhere"));
        for authority in [Authenticator::secp256k1(), Authenticator::symbolic(9)] {
            let chain = authority.for_chain(here);
            let seal = chain.signer(&key).sign(Purpose::Block, hash);
            assert_eq!(chain.author(Purpose::Block, hash, &seal), Ok(key.address()));
            assert_eq!(
                authority.for_chain(elsewhere).for_chain(here).author(Purpose::Block, hash, &seal),
                Ok(key.address())
            );
            assert_ne!(authority.author(Purpose::Block, hash, &seal), Ok(key.address()), "of no chain");
            assert_ne!(authority.for_chain(elsewhere).author(Purpose::Block, hash, &seal), Ok(key.address()));
            assert_ne!(chain.author(Purpose::Message, hash, &seal), Ok(key.address()));
        }
    }
}
