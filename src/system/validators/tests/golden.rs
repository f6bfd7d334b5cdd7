//! Gas of each call inside its transaction, and what a history of calls leaves in storage and logs. A changed number is a changed
//! chain: raise the template's version with it.

use alloy_primitives::Bytes;

use super::*;
use crate::{
    primitives::{Gas, KeyPair},
    templates::test_chain::golden::{Place, assert_golden, storage_line},
    vm::Message,
};

/// Calls of a history: name, caller, value, input.
type Step = (&'static str, Address, u64, Bytes);

fn of<C: SolCall>(name: &'static str, caller: Address, call: C) -> Step {
    (name, caller, 0, call.abi_encode().into())
}

/// Every function, its refusals too.
fn steps(chain_id: u64) -> Vec<Step> {
    let pair = KeyPair::from_seed(3, "golden");
    let (key, proof) = (pair.address(), prove_sealing_key(chain_id, V2, &pair));
    let other = KeyPair::from_seed(3, "another");
    let add = sol::addValidatorCall {
        validator: BOB,
        sealingKey: other.address(),
        weight: 2,
        proof: prove_sealing_key(chain_id, BOB, &other),
    };
    let weight_at = |height| sol::weightAtCall { validator: V1, height };
    let all = || sol::validatorsCall { from: U256::ZERO, count: U256::MAX };
    vec![
        of("setValidator by a stranger", BOB, set(BOB, 1)),
        of("setValidator, added", ADMIN, set(V3, 7)),
        of("setValidator, the same", ADMIN, set(V3, 7)),
        of("setValidator, another weight", ADMIN, set(V3, 9)),
        of("setValidator, too heavy", ADMIN, set(V3, 1_001)),
        of("setValidator, removed, the last moves", ADMIN, set(V1, 0)),
        of("setValidator, removed twice", ADMIN, set(V1, 0)),
        of("setValidator, added again", ADMIN, set(V1, 1_000)),
        of("setValidator, the zero address", ADMIN, set(Address::ZERO, 1)),
        of("slash by a stranger", BOB, slash(V1, 1)),
        of("slash, a part", ADMIN, slash(V1, 100_000)),
        of("slash, nothing", ADMIN, slash(V1, 0)),
        of("slash, all", ADMIN, slash(V1, PART_PPM_MAX)),
        of("slash, who is none", ADMIN, slash(V1, PART_PPM_MAX)),
        of("convict by a stranger", ADMIN, sol::convictCall { sealingKey: V2 }),
        of("setSealingKey", V2, sol::setSealingKeyCall { key, proof: proof.clone() }),
        of("setSealingKey, too soon", V2, sol::setSealingKeyCall { key, proof: proof.clone() }),
        of("setSealingKey, who is none, unproven", BOB, sol::setSealingKeyCall { key: BOB, proof: proof.clone() }),
        of("addValidator", ADMIN, add.clone()),
        of("addValidator twice", ADMIN, add.clone()),
        of("setValidator, with a key, removed", ADMIN, set(BOB, 0)),
        of("sealingKey", BOB, sol::sealingKeyCall { operator: V2 }),
        of("operatorOf", BOB, sol::operatorOfCall { key }),
        of("validator", BOB, sol::validatorCall { validator: V2 }),
        of("validator, none", BOB, sol::validatorCall { validator: BOB }),
        of("validatorCount", BOB, sol::validatorCountCall {}),
        of("validators", BOB, all()),
        of("limits", BOB, sol::limitsCall {}),
        of("weightAt, genesis", BOB, weight_at(0)),
        of("weightAt, this block", BOB, weight_at(1)),
        of("totalWeightAt", BOB, sol::totalWeightAtCall { height: 0 }),
        of("transferOwnership", ADMIN, offer(BOB)),
        of("transferOwnership by a stranger", BOB, offer(BOB)),
        of("owner", BOB, sol::ownerCall {}),
        of("pendingOwner", BOB, sol::pendingOwnerCall {}),
        of("acceptOwnership by a stranger", ADMIN, sol::acceptOwnershipCall {}),
        of("acceptOwnership", BOB, sol::acceptOwnershipCall {}),
        of("setValidator, the last but one", BOB, set(V3, 0)),
        of("setValidator, the last", BOB, set(V2, 0)),
        of("setValidator, one more", BOB, set(V3, 4)),
        ("a function that is not there", BOB, 0, Bytes::from_static(&[1, 2, 3, 4])),
        ("half a selector", BOB, 0, Bytes::from_static(&[1, 2])),
        ("half an argument", BOB, 0, sol::validatorCall::SELECTOR.to_vec().into()),
        ("no call data", BOB, 0, Bytes::new()),
        ("value", ADMIN, 1, sol::validatorCountCall {}.abi_encode().into()),
    ]
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut lab = Lab::of(weighted(), &[(V1, 3), (V2, 4)]);
    let place = Place { block: &lab.block, registry: &lab.registry };
    let mut text = String::new();
    for (name, caller, value, input) in steps(lab.block.chain_id) {
        let message = Message::call(caller, VALIDATORS_ADDRESS, U256::from(value), &input, Gas::new(10_000_000));
        text += &place.line(name, &mut lab.journal, &message);
    }
    for (name, key) in [("convict", V2), ("convict, twice", V2), ("convict, who is none", BOB)] {
        let input = convict(key).input;
        let message = Message::system_call(VALIDATORS_ADDRESS, &input, Gas::new(10_000_000));
        text += &place.line(name, &mut lab.journal, &message);
    }
    text + &storage_line(&mut lab.journal, &VALIDATORS_ADDRESS)
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}
