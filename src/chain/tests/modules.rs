//! The module registry of a chain: by genesis, by the authority, on two replicas and across a reorg.

use std::sync::Arc;

use alloy_primitives::B256;
use alloy_sol_types::SolCall;

use super::fixture::*;
use crate::{
    chain::{GenesisSpec, SystemViewError},
    primitives::{Gas, Height, Transaction, TransactionRequest},
    system::modules::{MODULES_ADDRESS, MODULES_MAX, ModuleRecord, ModulesConfig, interface as sol},
};

fn config() -> ModulesConfig {
    ModulesConfig::new(key(0).address()).with_module("dao", 2, B256::repeat_byte(9))
}

fn send(from: u64, nonce: u64, call: &impl SolCall) -> Arc<Transaction> {
    let request = TransactionRequest {
        input: call.abi_encode().into(),
        gas_limit: Gas::new(300_000),
        ..request(nonce, MODULES_ADDRESS, 0)
    };
    Arc::new(request.sign(&key(from)).unwrap())
}

fn record(name: &str, version: u32, config: u8, is_enabled: bool, since: u64) -> ModuleRecord {
    let (name, config_hash) = (name.to_owned(), B256::repeat_byte(config));
    ModuleRecord { name, version, config_hash, is_enabled, since: Height::new(since) }
}

#[test]
fn genesis_the_authority_and_a_reorg_decide_what_is_on() {
    let open = || builder_of(spec().with_modules(config())).open().unwrap();
    let (mut chain, mut other) = (open(), open());
    let at_genesis = [record("dao", 2, 9, true, 0)];
    assert_eq!(chain.modules(chain.head()).unwrap(), at_genesis);
    let enable = sol::enableCall { name: "defi".to_owned(), version: 1, configHash: B256::repeat_byte(7) };
    let disable = sol::disableCall { name: "dao".to_owned() };
    let change = extend(&mut chain, vec![send(0, 0, &enable), send(0, 1, &disable), send(1, 0, &enable)]);
    let successes: Vec<bool> = change.new.receipts().iter().map(|receipt| receipt.is_success()).collect();
    assert_eq!(successes, [true, true, false], "the last is no authority");
    let changed = [record("dao", 2, 9, false, 1), record("defi", 1, 7, true, 1)];
    assert_eq!(chain.modules(chain.head()).unwrap(), changed);
    assert_eq!(chain.modules(chain.genesis()).unwrap(), at_genesis, "at any retained block");
    adopt(&mut other, (**change.new.block()).clone());
    assert_eq!(other.modules(other.head()).unwrap(), changed);
    let side = build_on(&chain, chain.genesis().hash(), 50, vec![]).block;
    adopt(&mut chain, side);
    assert_eq!(chain.modules(chain.head()).unwrap(), at_genesis);
}

#[test]
fn a_full_registry_is_read_in_pages() {
    let full = (0..MODULES_MAX).fold(ModulesConfig::new(key(0).address()), |config, number| {
        config.with_module(&format!("m{number}"), 1, B256::ZERO)
    });
    let chain = builder_of(spec().with_modules(full)).open().unwrap();
    let modules = chain.modules(chain.head()).unwrap();
    assert_eq!((modules.len() as u64, modules[255].name.as_str()), (MODULES_MAX, "m255"));
}

#[test]
fn the_section_is_checked_and_comes_back() {
    let plain = chain();
    assert!(matches!(plain.modules(plain.head()), Err(SystemViewError::Absent { section: "modules" })));
    assert!(!plain.spec().to_json().contains("modules"));
    let spec = spec().with_modules(config());
    assert_eq!(GenesisSpec::from_json(&spec.to_json()).unwrap(), spec);
    let error = spec.with_modules(config().with_module("dao", 3, B256::ZERO)).check().unwrap_err().to_string();
    assert!(error.starts_with("genesis field `modules`: `enabled` has \"dao\" twice"), "{error}");
}
