//! Uniswap v2's published contracts: pairs, their factory, the router.
//!
//! A factory's pair has another address on each side, as it follows from the pair's init code; so has what a signature of its LP tokens
//! signs. Both are translated.
#![allow(non_snake_case)] // Solidity's names of parameters.

mod factory;
mod pair;
mod router;

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_signer::SignerSync;
use alloy_sol_types::{SolStruct, eip712_domain};
use chainbox::templates::{Erc20Params, LiquidityFactoryParams, liquidity_factory::pool_address};

use super::erc20::WITHOUT_VOTES;
use crate::{
    artifacts::artifact,
    engine::{CHAIN_ID, Engine},
    parties::{ADMIN, CONTRACTS_MAX, PERSONS, contract, person, signer},
    signatures::{Parts, Permit},
    suite::Creation,
    templates::Templates,
    translated::{Dictionary, Translated},
    values,
};

/// Tokens that the persons trade.
const SUPPLY: u64 = 1_000_000_000;

/// Order of secp256k1's group.
const ORDER: U256 = U256::from_limbs([0xbfd2_5e8c_d036_4141, 0xbaae_dce6_af48_a03b, 0xffff_ffff_ffff_fffe, u64::MAX]);

/// Returns the parameters of a token that is traded; the administrator has its supply.
fn token() -> Erc20Params {
    let supply = U256::from(SUPPLY);
    Erc20Params { features: WITHOUT_VOTES, ..Erc20Params::new("Token", "TKN", supply, person(ADMIN)) }
}

/// Returns the creation of the reference's factory, whose fee the administrator sets.
fn reference_factory() -> Creation {
    Creation::reference("UniswapV2Factory", &LiquidityFactoryParams::new(person(ADMIN)).encode())
}

/// Returns the address of the reference's pair of two tokens.
fn pair_address(factory: Address, token_a: Address, token_b: Address) -> Address {
    let (token0, token1) = if token_a < token_b { (token_a, token_b) } else { (token_b, token_a) };
    let init_code_hash = keccak256(&artifact("UniswapV2Pair").creation_code);
    factory.create2(keccak256([token0, token1].concat()), init_code_hash)
}

/// Accounts that operations name as tokens: the suite's contracts, and two that have no code.
fn tokens() -> Vec<Address> {
    (0..CONTRACTS_MAX).map(contract).chain([person(0), person(1)]).collect()
}

/// Returns an engine of templates that speaks of a factory's pools by the addresses and domains of the reference's pairs.
fn subject(factory: Address) -> Box<dyn Engine> {
    static DICTIONARIES: LazyLock<Mutex<HashMap<Address, Arc<Dictionary>>>> = LazyLock::new(Mutex::default);
    let mut dictionaries = DICTIONARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let dictionary = dictionaries.entry(factory).or_insert_with(|| Arc::new(dictionary(factory))).clone();
    Box::new(Translated { engine: Templates::new(), dictionary, signed })
}

/// Makes the dictionary of a factory's pools: some ten thousand hashes.
fn dictionary(factory: Address) -> Dictionary {
    // The last is what a damaged argument may name.
    let tokens: Vec<_> = tokens().into_iter().chain([Address::repeat_byte(0xff)]).collect();
    let mut pools = Vec::new();
    for (index, token_a) in tokens.iter().enumerate() {
        for token_b in &tokens[..index] {
            pools.push((pair_address(factory, *token_a, *token_b), pool_address(factory, *token_a, *token_b)));
        }
    }
    let keys: Vec<_> = values::accounts().into_iter().chain(tokens).collect();
    let mut dictionary = Dictionary::new(&pools, &keys);
    for (theirs, ours) in pools {
        dictionary.add_word(domain_separator(theirs), domain_separator(ours));
    }
    dictionary
}

fn domain(pair: Address) -> alloy_sol_types::Eip712Domain {
    eip712_domain! { name: "Uniswap V2", version: "1", chain_id: CHAIN_ID, verifying_contract: pair, }
}

fn domain_separator(pair: Address) -> B256 {
    domain(pair).hash_struct()
}

thread_local! {
    /// Words of signatures for the reference, and those for the templates in their places.
    static SIGNED: RefCell<HashMap<B256, B256>> = RefCell::default();
}

fn signed(word: B256) -> Option<B256> {
    SIGNED.with_borrow(|signed| signed.get(&word).copied())
}

/// Signs a permit of LP tokens as person `index`, for both sides with the same `v`: a signature has two forms, of which `ecrecover` takes
/// either.
fn sign_permit(index: usize, permit: &Permit, tokens: (Address, Address), factory: Address) -> Parts {
    let theirs = sign(index, permit, pair_address(factory, tokens.0, tokens.1));
    let ours = sign(index, permit, pool_address(factory, tokens.0, tokens.1));
    let s = if ours.v == theirs.v { ours.s } else { B256::from(ORDER - U256::from_be_bytes(ours.s.0)) };
    SIGNED.with_borrow_mut(|signed| signed.extend([(theirs.r, ours.r), (theirs.s, s)]));
    theirs
}

fn sign(index: usize, permit: &Permit, pair: Address) -> Parts {
    let hash = permit.eip712_signing_hash(&domain(pair));
    let signature = signer(index).sign_hash_sync(&hash).expect("a local key signs");
    Parts { v: 27 + u8::from(signature.v()), r: signature.r().into(), s: signature.s().into() }
}

/// Returns all persons.
fn persons() -> impl Iterator<Item = Address> {
    (0..PERSONS).map(person)
}

#[test]
fn the_pairs_init_code_is_that_of_the_published_router() {
    let hash = keccak256(&artifact("UniswapV2Pair").creation_code);
    let router = &artifact("UniswapV2Router02").creation_code;
    assert!(router.windows(32).any(|window| window == hash.as_slice()));
}
