//! Sealing keys: consensus knows validators by them, everybody else by their operators.

use super::*;
use crate::primitives::KeyPair;

fn pair(number: u8) -> KeyPair {
    KeyPair::from_seed(3, &format!("sealing key {number}"))
}

fn proof(lab: &Lab, operator: Address, key: &KeyPair) -> Bytes {
    prove_sealing_key(lab.block.chain_id, operator, key)
}

fn register(lab: &Lab, operator: Address, key: &KeyPair) -> sol::setSealingKeyCall {
    sol::setSealingKeyCall { key: key.address(), proof: proof(lab, operator, key) }
}

#[test]
fn a_new_key_takes_the_weight_of_the_old_one_in_one_block() {
    let mut lab = Lab::of(weighted(), &[(V1, 5), (V2, 7)]);
    let (first, second) = (pair(1), pair(2));
    let call = register(&lab, V1, &first);
    lab.ok(V1, &call);
    assert_eq!(lab.updates(), [(V1, 0), (first.address(), 5)]);
    let early = sol::SealingKeyChangedRecently { earliestHeight: 1 + KEY_INTERVAL_BLOCKS };
    let call = register(&lab, V1, &second);
    lab.fails(V1, &call, &early);
    lab.pass(KEY_INTERVAL_BLOCKS);
    lab.ok(V1, &call);
    assert_eq!(lab.updates(), [(first.address(), 0), (second.address(), 5)]);
    lab.ok(ADMIN, &set(V1, 6));
    assert_eq!(lab.updates(), [(second.address(), 6)]);
    for key in [V1, first.address(), second.address()] {
        assert_eq!(lab.ok(BOB, &sol::operatorOfCall { key }), V1);
    }
    assert_eq!(lab.ok(BOB, &sol::sealingKeyCall { operator: V1 }), second.address());
    lab.pass(1);
    assert_eq!(lab.weight_at(V1, 17), 6, "weights are the operator's");
    assert_eq!(lab.weight_at(second.address(), 17), 0);
}

#[test]
fn keys_need_their_own_proof_and_serve_once() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    let key = pair(1);
    let stolen = sol::setSealingKeyCall { key: key.address(), proof: proof(&lab, V2, &key) };
    let result = lab.call(V1, &stolen);
    assert_eq!(result.output[..4], sol::SealingKeyUnproven::SELECTOR);
    let call = register(&lab, V1, &key);
    lab.ok(V1, &call);
    let call = register(&lab, V2, &key);
    lab.fails(V2, &call, &sol::SealingKeyTaken { key: key.address(), operator: V1 });
    let own = sol::setSealingKeyCall { key: V1, proof: Bytes::new() };
    lab.fails(V2, &own, &sol::SealingKeyTaken { key: V1, operator: V1 });
    lab.fails(ADMIN, &set(key.address(), 1), &sol::SealingKeyTaken { key: key.address(), operator: V1 });
    let operator = pair(5);
    lab.ok(ADMIN, &set(operator.address(), 1));
    let call = register(&lab, V2, &operator);
    lab.fails(V2, &call, &sol::SealingKeyIsOperator { key: operator.address() });
}

#[test]
fn the_administrator_adds_a_validator_with_its_key() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    let key = pair(1);
    let add = |lab: &Lab, weight| sol::addValidatorCall {
        validator: V3,
        sealingKey: key.address(),
        weight,
        proof: proof(lab, V3, &key),
    };
    let call = add(&lab, 1);
    lab.fails(V3, &call, &sol::OwnableUnauthorizedAccount { account: V3 });
    let call = add(&lab, 0);
    lab.fails(ADMIN, &call, &sol::UnknownValidator { validator: V3 });
    let call = add(&lab, 1);
    lab.ok(ADMIN, &call);
    assert_eq!(lab.updates(), [(key.address(), 1)]);
    lab.fails(ADMIN, &call, &sol::AlreadyValidator { validator: V3 });
    lab.ok(ADMIN, &set(V3, 0));
    assert_eq!(lab.updates(), [(key.address(), 0)]);
}

/// A proposal of governance names an operator alone, which registers its key before.
#[test]
fn who_is_to_become_a_validator_registers_a_key_before() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    let key = pair(1);
    let call = register(&lab, V3, &key);
    lab.ok(V3, &call);
    assert!(lab.updates().is_empty());
    lab.ok(ADMIN, &set(V3, 1));
    assert_eq!(lab.updates(), [(key.address(), 1)]);
}

#[test]
fn evidence_against_a_former_key_finds_the_operator() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    let key = pair(1);
    let call = register(&lab, V1, &key);
    lab.ok(V1, &call);
    lab.convict(V1);
    assert_eq!(lab.updates(), [(key.address(), 0)]);
    lab.fails(ADMIN, &set(V1, 1), &sol::IsConvicted { validator: V1 });
    lab.pass(KEY_INTERVAL_BLOCKS);
    let call = register(&lab, V1, &pair(2));
    lab.fails(V1, &call, &sol::IsConvicted { validator: V1 });
}

#[test]
fn genesis_has_keys_of_its_own() {
    let mut lab = Lab::empty();
    let key = pair(1).address();
    let member = sol::Member { validator: V1, sealingKey: key, weight: 1 };
    let init_code = ValidatorsTemplate::init_code(&equal(), [member, (V2, 1).into()]);
    assert!(lab.deploy(VALIDATORS_ADDRESS, &init_code).is_success());
    assert_eq!(lab.ok(BOB, &sol::operatorOfCall { key }), V1);
    assert_eq!(lab.ok(BOB, &sol::sealingKeyCall { operator: V2 }), V2);
}
