//! Typed signatures (EIP-712) of operations such as permits, right ones and flawed ones.

use alloy_primitives::{Address, B256, U256};
use alloy_signer::SignerSync;
use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain, sol};
use proptest::prelude::*;

use crate::{
    engine::CHAIN_ID,
    parties::{PERSONS, signer},
    suite::Scene,
    values,
};

sol! {
    function nonces(address owner);

    #[derive(Debug)]
    struct Permit {
        address owner;
        address spender;
        uint256 value;
        uint256 nonce;
        uint256 deadline;
    }

    #[derive(Debug)]
    struct Delegation {
        address delegatee;
        uint256 nonce;
        uint256 expiry;
    }
}

/// How a signature is made.
#[derive(Clone, Debug)]
pub struct Signing {
    /// Number of the person who signs.
    pub signer: usize,
    /// What is added to the nonce in force; -1 signs a used one.
    pub nonce_offset: i64,
    /// What is added to the block's timestamp, in seconds; `None` for no deadline.
    pub deadline_offset: Option<i64>,
    pub flaw: Option<Flaw>,
}

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug)]
pub enum Flaw {
    /// `v` is neither 27 nor 28.
    V,
    /// `s` in the upper half, the other form of the same signature.
    HighS,
    /// `s` beyond the order of the curve.
    HugeS,
    ZeroR,
    /// Of another contract.
    Domain,
    /// Of another chain.
    Chain,
}

/// A signature in the parts that Solidity functions take.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub v: u8,
    pub r: B256,
    pub s: B256,
}

/// Order of the curve secp256k1.
const ORDER: U256 = U256::from_limbs([0xbfd2_5e8c_d036_4141, 0xbaae_dce6_af48_a03b, 0xffff_ffff_ffff_fffe, u64::MAX]);

impl Signing {
    /// Returns the strategy of signatures, of which most are right.
    pub fn strategy() -> impl Strategy<Value = Self> {
        let nonce_offset = prop_oneof![12 => Just(0), 1 => Just(-1), 1 => Just(1)];
        let deadline = prop_oneof![6 => (0i64..100).prop_map(Some), 3 => Just(None), 1 => (-100i64..0).prop_map(Some)];
        let flaw = prop_oneof![
            Just(Flaw::V),
            Just(Flaw::HighS),
            Just(Flaw::HugeS),
            Just(Flaw::ZeroR),
            Just(Flaw::Domain),
            Just(Flaw::Chain)
        ];
        (0..PERSONS, nonce_offset, deadline, proptest::option::weighted(0.2, flaw)).prop_map(
            |(signer, nonce_offset, deadline_offset, flaw)| Self { signer, nonce_offset, deadline_offset, flaw },
        )
    }

    /// Returns the nonce that is signed.
    pub fn nonce(&self, contract: Address, scene: &mut Scene<'_>) -> U256 {
        let owner = signer(self.signer).address();
        let nonce: i64 = scene.read(contract, &noncesCall { owner }).saturating_to();
        U256::from((nonce + self.nonce_offset).max(0))
    }

    /// Returns the deadline that is signed, in seconds since the epoch.
    pub fn deadline(&self, scene: &Scene<'_>) -> U256 {
        self.deadline_offset.map_or(U256::MAX, |offset| U256::from(scene.clock.timestamp.saturating_add_signed(offset)))
    }

    /// Signs a message for `contract`, whose domain has the name `name` and the version 1.
    pub fn sign(&self, message: &impl SolStruct, name: &str, contract: Address) -> Parts {
        let contract = if matches!(self.flaw, Some(Flaw::Domain)) { Address::repeat_byte(1) } else { contract };
        let chain = CHAIN_ID + u64::from(matches!(self.flaw, Some(Flaw::Chain)));
        let domain: Eip712Domain = eip712_domain! {
            name: name.to_owned(), version: "1", chain_id: chain, verifying_contract: contract,
        };
        let signature = signer(self.signer).sign_typed_data_sync(message, &domain).expect("a local key signs");
        let mut v = 27 + u8::from(signature.v());
        let (mut r, mut s) = (signature.r(), signature.s());
        match self.flaw {
            Some(Flaw::V) => v = 26,
            Some(Flaw::HighS) => (v, s) = (55 - v, ORDER - s),
            Some(Flaw::HugeS) => s = U256::MAX,
            Some(Flaw::ZeroR) => r = U256::ZERO,
            Some(Flaw::Domain | Flaw::Chain) | None => {}
        }
        Parts { v, r: r.into(), s: s.into() }
    }
}

/// A permit (EIP-2612), mostly signed by the owner.
#[derive(Clone, Debug)]
pub struct PermitChoice {
    signing: Signing,
    /// An owner who is not the signer.
    other_owner: Option<Address>,
    spender: Address,
    value: U256,
}

impl PermitChoice {
    pub fn strategy() -> impl Strategy<Value = Self> {
        let other_owner = proptest::option::weighted(0.1, values::account());
        (Signing::strategy(), other_owner, values::account(), values::amount())
            .prop_map(|(signing, other_owner, spender, value)| Self { signing, other_owner, spender, value })
    }

    /// Returns what is signed, and its signature.
    pub fn sign(&self, name: &str, contract: Address, scene: &mut Scene<'_>) -> (Permit, Parts) {
        let permit = Permit {
            owner: self.other_owner.unwrap_or(signer(self.signing.signer).address()),
            spender: self.spender,
            value: self.value,
            nonce: self.signing.nonce(contract, scene),
            deadline: self.signing.deadline(scene),
        };
        let parts = self.signing.sign(&permit, name, contract);
        (permit, parts)
    }
}

/// A delegation of votes by signature (ERC-5805).
#[derive(Clone, Debug)]
pub struct DelegationChoice {
    signing: Signing,
    delegatee: Address,
}

impl DelegationChoice {
    pub fn strategy() -> impl Strategy<Value = Self> {
        (Signing::strategy(), values::account()).prop_map(|(signing, delegatee)| Self { signing, delegatee })
    }

    /// Returns what is signed, and its signature.
    pub fn sign(&self, name: &str, contract: Address, scene: &mut Scene<'_>) -> (Delegation, Parts) {
        let nonce = self.signing.nonce(contract, scene);
        let delegation = Delegation { delegatee: self.delegatee, nonce, expiry: self.signing.deadline(scene) };
        let parts = self.signing.sign(&delegation, name, contract);
        (delegation, parts)
    }
}
