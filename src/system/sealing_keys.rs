//! Sealing keys of operators: a part of the contracts that hold validators.
//!
//! An operator is the account that owns a validator: its stake, rewards, votes and fees. Its sealing key signs blocks and votes, and
//! consensus knows the validator by the address of that key alone. Until an operator registers a key, its own address is its key.
//!
//! - Whoever registers a key shows that it holds it: the key signs the operator's address ([`possession_digest`]), so that nobody can
//!   claim the key of another (as the signature of a deposit does in Ethereum's consensus specifications).
//! - A key serves one operator, once. It stays assigned to that operator for ever, so that evidence, rewards and absences of a key that was
//!   replaced still find the operator; and it never seals again, nor does the own address of an operator that registered another key.
//! - No key is the own address of another operator.

use alloy_primitives::{b256, keccak256};
use alloy_sol_types::eip712_domain;

use self::interface::{
    SealingKeyChanged, SealingKeyChangedRecently, SealingKeyIsOperator, SealingKeyTaken, SealingKeyUnproven,
};
use crate::{
    primitives::KeyPair,
    templates::common::{Domain, ecdsa},
    vm::{contract::*, mapping_slot},
};

#[cfg(test)]
mod tests;

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// An operator's sealing key is another from the protocol's next boundary on.
        event SealingKeyChanged(address indexed operator, address indexed oldKey, address indexed newKey);
        /// The key serves, or served, this operator: a key is registered once. Make a new one.
        error SealingKeyTaken(address key, address operator);
        /// The address is an operator's own: make a key for sealing alone.
        error SealingKeyIsOperator(address key);
        /// The proof is not the key's signature of the operator's address; `signer` is who signed (0: nobody).
        error SealingKeyUnproven(address key, address signer);
        /// The operator changed its key too recently: try again at this height.
        error SealingKeyChangedRecently(uint64 earliestHeight);
    }
}

/// The domain of proofs (EIP-712): this name and version, the chain's id, and the contract.
const DOMAIN_NAME: &str = "chainbox validators";
const DOMAIN_VERSION: &str = "1";

/// `SealingKey(address operator,address key)`
const SEALING_KEY_TYPE: B256 = b256!("6c0242f49946f5cec04664f2c126df4e8f5f24f561c095cd261c0375fe41873d");

record! {
    /// An operator's present key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PresentKey {
        /// The key; zero for the operator's own address.
        pub key: Address,
        /// Height at which the operator last registered a key; 0 for never, and for genesis.
        pub registered_at: u64,
    }
}

storage! {
    /// Keys by operator, and operators by key.
    pub contract SealingKeys {
        /// By operator.
        pub sealing_keys: Mapping<Address, PresentKey>,
        /// By each key that was ever registered, and by the own address of each operator that registered one.
        pub operators: Mapping<Address, Address>,
    }
}

/// A registration: whose key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyClaim {
    /// The operator.
    pub operator: Address,
    /// The key.
    pub key: Address,
}

/// Returns whether an address is an operator's own: whether the contract knows a validator under it.
pub type IsOperator = fn(&mut Host<'_>, Address) -> Result<bool, Stop>;

impl SealingKeys {
    /// Returns the operator of a key, a present or a former one; an address that nobody registered is its own operator.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn operator_of(self, host: &mut Host<'_>, key: Address) -> Result<Address, Stop> {
        let operator = self.operators.get(host, key)?;
        Ok(if operator.is_zero() { key } else { operator })
    }

    /// Returns an operator's present key; its own address until it registers one.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn key_of(self, host: &mut Host<'_>, operator: Address) -> Result<Address, Stop> {
        let PresentKey { key, .. } = self.sealing_keys.get(host, operator)?;
        Ok(if key.is_zero() { operator } else { key })
    }

    /// Refuses an operator whose own address is the key of another.
    ///
    /// A contract calls it before it takes an operator up.
    ///
    /// # Errors
    /// [`SealingKeyTaken`]; [`Stop`].
    pub fn check_operator(self, host: &mut Host<'_>, operator: Address) -> Result<(), Stop> {
        let served = self.operator_of(host, operator)?;
        require(served == operator, SealingKeyTaken { key: operator, operator: served })
    }

    /// Registers a key, which is the operator's present one from now on; returns the former one.
    ///
    /// # Errors
    /// Those of [`SealingKeys::claim`].
    pub fn register(
        self,
        host: &mut Host<'_>,
        claim: KeyClaim,
        proof: &[u8],
        interval_blocks: u64,
        is_operator: IsOperator,
    ) -> Result<Address, Stop> {
        self.claim(host, claim, proof, interval_blocks, is_operator)?;
        self.replace(host, claim)
    }

    /// Assigns a key to an operator, whose present key stays until [`SealingKeys::replace`].
    ///
    /// `proof` is the key's signature (65 bytes: `r`, `s`, `v`) of [`possession_digest`]. `interval_blocks` is the least number of
    /// blocks between two registrations of one operator.
    ///
    /// # Errors
    /// [`SealingKeyChangedRecently`], [`SealingKeyTaken`], [`SealingKeyIsOperator`], [`SealingKeyUnproven`]; [`Stop`].
    pub fn claim(
        self,
        host: &mut Host<'_>,
        claim: KeyClaim,
        proof: &[u8],
        interval_blocks: u64,
        is_operator: IsOperator,
    ) -> Result<(), Stop> {
        let present = self.sealing_keys.get(host, claim.operator)?;
        let earliest = match present.registered_at {
            0 => 0,
            height => height.saturating_add(interval_blocks),
        };
        let height = host.block().height.get();
        require(height >= earliest, SealingKeyChangedRecently { earliestHeight: earliest })?;
        self.check_key(host, claim, is_operator)?;
        let digest = digest_in(host, claim)?;
        let signer = ecdsa::try_recover_bytes(host, digest, proof)?.unwrap_or_default();
        require(signer == claim.key, SealingKeyUnproven { key: claim.key, signer })?;
        self.assign(host, claim)?;
        self.sealing_keys.set(host, claim.operator, PresentKey { registered_at: height, ..present })
    }

    /// Makes a key that was assigned before the operator's present one; returns the former one.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn replace(self, host: &mut Host<'_>, claim: KeyClaim) -> Result<Address, Stop> {
        let KeyClaim { operator, key } = claim;
        let present = self.sealing_keys.get(host, operator)?;
        let old = if present.key.is_zero() { operator } else { present.key };
        self.sealing_keys.set(host, operator, PresentKey { key, ..present })?;
        host.emit(&SealingKeyChanged { operator, oldKey: old, newKey: key })?;
        Ok(old)
    }

    /// Registers a key of genesis, which needs no proof.
    ///
    /// # Errors
    /// [`SealingKeyTaken`], [`SealingKeyIsOperator`]; [`Stop`].
    pub fn adopt(self, host: &mut Host<'_>, claim: KeyClaim, is_operator: IsOperator) -> Result<(), Stop> {
        self.check_key(host, claim, is_operator)?;
        self.assign(host, claim)?;
        self.replace(host, claim).map(drop)
    }

    fn check_key(self, host: &mut Host<'_>, claim: KeyClaim, is_operator: IsOperator) -> Result<(), Stop> {
        let KeyClaim { operator, key } = claim;
        self.check_operator(host, operator)?;
        // An operator's own address is its key already, or was before.
        require(key != operator, SealingKeyTaken { key, operator })?;
        let served = self.operators.get(host, key)?;
        require(served.is_zero(), SealingKeyTaken { key, operator: served })?;
        let is_operator = is_operator(host, key)?;
        require(!is_operator, SealingKeyIsOperator { key })
    }

    fn assign(self, host: &mut Host<'_>, claim: KeyClaim) -> Result<(), Stop> {
        let KeyClaim { operator, key } = claim;
        self.operators.set(host, key, operator)?;
        // Nobody else registers its own address from now on.
        self.operators.set(host, operator, operator)
    }

    /// Returns the operator of a key, read out of the contract's storage without a call.
    ///
    /// # Errors
    /// Those of `read`, which returns the word of a slot.
    pub fn read_operator<E>(self, key: Address, read: impl FnOnce(U256) -> Result<U256, E>) -> Result<Address, E> {
        let word = read(mapping_slot(key.into_word().into(), self.operators.slot()))?;
        let operator = Address::from_word(word.into());
        Ok(if operator.is_zero() { key } else { operator })
    }
}

/// Returns what a key signs to show that an operator holds it: the EIP-712 hash of `SealingKey(address operator,address key)` in the domain
/// "chainbox validators", version 1, of the chain and the contract that holds the validators.
pub fn possession_digest(chain_id: u64, contract: Address, claim: KeyClaim) -> B256 {
    let KeyClaim { operator, key } = claim;
    typed_data_hash(chain_id, contract, keccak256((SEALING_KEY_TYPE, operator, key).abi_encode()))
}

/// Returns what is signed for a struct with this hash, in the domain of the contract that holds the validators.
pub fn typed_data_hash(chain_id: u64, contract: Address, struct_hash: B256) -> B256 {
    let domain = eip712_domain! {
        name: DOMAIN_NAME, version: DOMAIN_VERSION, chain_id: chain_id, verifying_contract: contract,
    };
    keccak256([[0x19, 0x01].as_slice(), domain.separator().as_slice(), struct_hash.as_slice()].concat())
}

/// Returns the proof that an operator holds a key: the key's signature of [`possession_digest`].
pub fn prove_possession(chain_id: u64, contract: Address, operator: Address, key: &KeyPair) -> Bytes {
    let digest = possession_digest(chain_id, contract, KeyClaim { operator, key: key.address() });
    key.sign_hash(digest).as_bytes().into()
}

/// [`possession_digest`] in a contract, which pays for it.
fn digest_in(host: &mut Host<'_>, claim: KeyClaim) -> Result<B256, Stop> {
    let hash = host.keccak(&(SEALING_KEY_TYPE, claim.operator, claim.key).abi_encode())?;
    domain().hash_typed_data(host, hash)
}

/// Returns the domain of what operators and keys sign for a contract of validators.
pub fn domain() -> Domain {
    Domain { name: DOMAIN_NAME.to_owned(), version: DOMAIN_VERSION }
}
