//! The JSON form, its defaults and its errors.

use std::collections::BTreeMap;

use alloy_primitives::{b64, b256, hex};

use super::*;
use crate::{chain::BaseFeeParams, vm::Hardfork};

#[test]
fn a_fork_has_a_name_or_the_earlier_form() {
    let of = |fields: &str| GenesisSpec::from_json(&format!(r#"{{"chainId": 1{fields}}}"#));
    for (fields, want) in [
        ("", Forks::Since(Hardfork::Osaka)),
        (r#", "hardfork": "Cancun""#, Forks::Since(Hardfork::Cancun)),
        (r#", "forks": {"london": 0}"#, Forks::Since(Hardfork::London)),
        (r#", "forks": {}"#, Forks::Since(Hardfork::London)),
        (r#", "forks": {"london": 7}"#, Forks::LondonAt(Some(Height::new(7)))),
        (r#", "forks": {"london": null}"#, Forks::LondonAt(None)),
    ] {
        let spec = of(fields).unwrap();
        assert_eq!(spec.forks, want, "{fields}");
        assert!(spec.transaction_gas_cap);
        assert_eq!(GenesisSpec::from_json(&spec.to_json()).unwrap(), spec, "{fields}");
    }
    for (fields, words) in [
        (r#", "hardfork": "frontier""#, "choose one of london, paris, shanghai, cancun, prague, osaka"),
        (r#", "hardfork": 4"#, "expected the name of a fork"),
        (r#", "forks": {"paris": 4}"#, "expected the name of a fork"),
        (r#", "forks": {}, "hardfork": "osaka""#, "duplicate field"),
    ] {
        let error = of(fields).unwrap_err().to_string();
        assert!(error.contains(words), "{fields}: {error}");
    }
}

#[test]
fn the_gas_cap_is_a_switch_where_there_is_a_cap() {
    let cap = |fork, is_on| {
        let spec = GenesisSpec::new(1).with_hardfork(fork).with_transaction_gas_cap(is_on);
        (spec.rules_at(Height::GENESIS).tx_gas_limit_max.map(Gas::get), spec.without_state().transaction_gas_cap)
    };
    assert_eq!(cap(Hardfork::Osaka, true), (Some(16_777_216), true));
    assert_eq!(cap(Hardfork::Osaka, false), (None, false));
    assert_eq!(cap(Hardfork::Prague, false), (None, true), "equal to a specification of an earlier form");
}

/// Ethereum's genesis block, whose state root and hash are published.
#[test]
fn mainnet_genesis_header() {
    let spec = GenesisSpec {
        gas_limit: GAS_LIMIT_MIN,
        base_fee: BaseFee::Off,
        difficulty: U256::from(17_179_869_184_u64),
        nonce: b64!("0000000000000042"),
        extra_data: hex!("11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa").into(),
        ..GenesisSpec::new(1).with_hardfork(Hardfork::London)
    };
    let root = b256!("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544");
    let hash = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
    assert_eq!(spec.header(root).hash_slow(), hash);
}

#[test]
fn json_round_trips_and_missing_fields_have_defaults() {
    let spec = GenesisSpec::from_json(
        r#"{ "chainId": "0x539", "gasLimit": "10000000", "baseFee": {"initial": 7},
             "accounts": { "0x0000000000000000000000000000000000000001":
                {"balance": 5, "nonce": "3", "code": "0xef", "storage": {"0x1": "9", "2": 4}} },
             "validators": [{"address": "0x0000000000000000000000000000000000000002", "stake": "10"}],
             "consensus": {"protocol": "clique"} }"#,
    )
    .unwrap();
    assert_eq!((spec.chain_id, spec.gas_limit.get()), (1337, 10_000_000));
    assert_eq!(spec.base_fee, BaseFee::Dynamic(BaseFeeParams { initial: 7, ..Default::default() }));
    let account = &spec.accounts[&Address::with_last_byte(1)];
    assert_eq!(account.storage, BTreeMap::from([(U256::from(1), U256::from(9)), (U256::from(2), U256::from(4))]));
    assert_eq!(GenesisSpec::from_json(&spec.to_json()).unwrap(), spec);
    let off = GenesisSpec { base_fee: BaseFee::Off, ..spec };
    assert_eq!(GenesisSpec::from_json(&off.to_json()).unwrap(), off);
}

#[test]
fn fields_of_earlier_versions_are_accepted_and_dropped() {
    for (field, value) in [("blockTimeMs", "1000"), ("blockTimeMs", r#""2500""#), ("registryDigest", r#""0x12""#)] {
        let spec = GenesisSpec::from_json(&format!(r#"{{"chainId": 1, "{field}": {value}}}"#)).unwrap();
        assert_eq!(spec, GenesisSpec::new(1));
        assert!(!spec.to_json().contains(field), "{}", spec.to_json());
    }
}

#[test]
fn errors_name_the_valid_values() {
    for (json, words) in [
        (r#"{"chainId": 0}"#, "31337"),
        (r#"{"chainId": 1, "gaslimit": 5}"#, "unknown field `gaslimit`"),
        (r#"{"chainId": 1, "difficulty": "1.5"}"#, "whole number"),
        (r#"{"chainId": 1, "baseFee": "none"}"#, "expected \"off\""),
        (r#"{"chainId": 1, "gasLimit": 4999}"#, "below 5000"),
        (r#"{"chainId": -1}"#, "whole number"),
    ] {
        let message = GenesisSpec::from_json(json).unwrap_err().to_string();
        assert!(message.contains(words), "{json}: {message}");
    }
}

#[test]
fn operators_are_apart_from_each_other_and_from_keys() {
    let [one, two, three] = [1, 2, 3].map(Address::with_last_byte);
    let of = |list: &[(Address, Address)]| {
        let mut spec = GenesisSpec { staking: Some(StakingParams::default()), ..GenesisSpec::new(1) };
        let validators = list.iter().map(|(key, operator)| {
            crate::chain::GenesisValidator::new(*key, crate::primitives::ether(1)).with_operator(*operator)
        });
        spec.validators = validators.collect();
        spec
    };
    let apart = of(&[(one, three), (two, two)]);
    assert_eq!(GenesisSpec::from_json(&apart.to_json()).unwrap(), apart);
    let mut plain = of(&[(one, one)]);
    plain.validators[0].operator = None;
    assert!(!plain.to_json().contains("operator"), "left out where it is the key");
    assert!(apart.check().is_ok());
    let unstaked = GenesisSpec { staking: None, ..of(&[(one, three)]) };
    for (spec, words) in [
        (of(&[(one, three), (one, two)]), "listed twice"),
        (of(&[(one, three), (two, three)]), "operates two validators"),
        (of(&[(one, two), (two, three)]), "is the sealing key of a validator"),
        (of(&[(one, Address::ZERO)]), "the zero address"),
        (unstaked, "leave `operator` out"),
    ] {
        let message = spec.check().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_registry_of_validators_excludes_stake() {
    let registry = ValidatorsConfig::new(Address::repeat_byte(1));
    let spec = GenesisSpec::new(7).with_validator_registry(registry);
    spec.check().unwrap();
    let staked = GenesisSpec { staking: Some(StakingParams::default()), ..spec };
    assert!(staked.check().unwrap_err().to_string().contains("has `staking`"));
    let nobody = GenesisSpec::new(7).with_validator_registry(ValidatorsConfig::new(Address::ZERO));
    assert!(nobody.check().unwrap_err().to_string().contains("zero address"));
}

#[test]
fn the_page_has_the_example_and_every_field() {
    let spec = GenesisSpec::from_json(GenesisSpec::EXAMPLE).unwrap();
    let page = include_str!("../../../docs/genesis.md");
    assert!(page.contains(&format!("```json\n{}```\n", GenesisSpec::EXAMPLE)), "docs/genesis.md has another example");
    let permissions = PermissionsConfig::new(Address::repeat_byte(1)).with_accounts([]).with_deployers([]);
    let staked = GenesisSpec { staking: Some(StakingParams::default()), ..spec };
    let modules = ModulesConfig::new(Address::repeat_byte(1)).with_module("defi", 1, B256::ZERO);
    let registry = ValidatorsConfig::new(Address::repeat_byte(1)).with_validators_min(4).with_weight_max(9);
    let staked = staked.with_permissions(permissions).with_modules(modules).with_validator_registry(registry);
    let json: serde_json::Value = serde_json::from_str(&staked.to_json()).unwrap();
    let sections = ["staking", "permissions", "modules", "validatorRegistry", "baseFee"].map(|section| &json[section]);
    for fields in sections.into_iter().chain([&json, &json["modules"]["enabled"][0]]) {
        for field in fields.as_object().unwrap().keys() {
            let is_told = [format!("`{field}`"), format!("\"{field}\"")].iter().any(|form| page.contains(form));
            assert!(is_told, "docs/genesis.md does not tell of {field}");
        }
    }
}
