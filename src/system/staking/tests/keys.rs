//! Operators and their sealing keys: registering, rotating, and what comes in under a former key.

use super::{super::consent::JOIN_CONSENT_TYPE, *};
use crate::{
    primitives::{Height, KeyPair, Timestamp},
    system::{
        ValidatorUpdate,
        sealing_keys::{KeyClaim, interface as keys, possession_digest},
    },
};
use alloy_primitives::{B256, keccak256};
use alloy_sol_types::{SolStruct, eip712_domain};

pub(super) fn pair(index: u64) -> KeyPair {
    KeyPair::from_seed(index, "sealing key")
}

/// A call that registers this key for an operator.
pub(super) fn set_key(lab: &Lab, operator: Address, key: &KeyPair) -> sol::setSealingKeyCall {
    let proof = prove_sealing_key(lab.block.chain_id, operator, key);
    sol::setSealingKeyCall { key: key.address(), proof }
}

fn join_with(lab: &Lab, operator: Address, key: &KeyPair) -> sol::joinWithKeyCall {
    sol::joinWithKeyCall {
        commissionBps: 500,
        maxCommissionBps: 2_000,
        maxCommissionChangeBps: 100,
        sealingKey: key.address(),
        proof: prove_sealing_key(lab.block.chain_id, operator, key),
    }
}

pub(super) fn terms(operator: Address, key: Address, deadline: u64) -> sol::JoinTerms {
    sol::JoinTerms {
        operator,
        sealingKey: key,
        commissionBps: 500,
        maxCommissionBps: 2_000,
        maxCommissionChangeBps: 100,
        deadline: U256::from(deadline),
    }
}

/// The operator's signature of these terms for this payer.
pub(super) fn consent(lab: &Lab, operator: &KeyPair, terms: &sol::JoinTerms, payer: Address, nonce: u64) -> Bytes {
    let consent = JoinConsent { terms: terms.clone(), payer, nonce: U256::from(nonce) };
    operator.sign_hash(consent_digest(lab.block.chain_id, &consent)).as_bytes().into()
}

fn weights(list: &[(Address, u64)]) -> Vec<ValidatorUpdate> {
    let mut updates: Vec<_> =
        list.iter().map(|(address, weight)| ValidatorUpdate { address: *address, weight: *weight }).collect();
    updates.sort_unstable();
    updates
}

fn operator_of(lab: &mut Lab, key: Address) -> Address {
    lab.ok(ALICE, &sol::operatorOfCall { key })
}

#[test]
fn a_rotation_takes_the_weight_from_one_key_to_another() {
    let mut lab = Lab::new(at_once());
    let (first, second) = (pair(1), pair(2));
    assert_eq!(lab.validator(V1).sealingKey, V1);
    lab.pass(1);
    let set = set_key(&lab, V1, &first);
    lab.ok(V1, &set);
    assert_eq!(lab.updates().as_slice(), weights(&[(V1, 0), (first.address(), 100_000_000_000)]));
    let info = lab.validator(V1);
    assert_eq!((info.sealingKey, info.weight, info.tokens), (first.address(), 100_000_000_000, eth(100)));
    assert_eq!(lab.ok(ALICE, &sol::sealingKeyCall { operator: V1 }), first.address());
    // Whatever changes its weight tells that of its key.
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    assert_eq!(lab.updates().as_slice(), weights(&[(first.address(), 101_000_000_000)]));
    let unknown = sol::UnknownValidator { validator: first.address() };
    lab.fails(ALICE, eth(1), &sol::delegateCall { validator: first.address() }, &unknown);
    // Once in a downtime window.
    let set = set_key(&lab, V1, &second);
    lab.fails(V1, U256::ZERO, &set, &sol::SealingKeyChangedRecently { earliestHeight: 101 });
    lab.pass(100);
    lab.ok(V1, &set);
    assert_eq!(lab.updates().as_slice(), weights(&[(first.address(), 0), (second.address(), 101_000_000_000)]));
    for key in [V1, first.address(), second.address()] {
        assert_eq!(operator_of(&mut lab, key), V1);
    }
    lab.check_supply();
}

#[test]
fn a_key_needs_its_own_proof_and_a_validator() {
    let mut lab = Lab::new(at_once());
    let key = pair(1);
    let of_another = set_key(&lab, V2, &key);
    let claim = KeyClaim { operator: V1, key: key.address() };
    let digest = possession_digest(lab.block.chain_id, STAKING_ADDRESS, claim);
    let result = lab.call(V1, U256::ZERO, &of_another);
    let signer = crate::primitives::recover_signer(
        digest,
        &alloy_primitives::Signature::try_from(&of_another.proof[..]).unwrap(),
    )
    .unwrap();
    assert_eq!(
        result.output.as_ref(),
        alloy_sol_types::SolError::abi_encode(&keys::SealingKeyUnproven { key: key.address(), signer })
    );
    lab.ok(V2, &of_another);
    let (alice, other) = (set_key(&lab, ALICE, &pair(2)), set_key(&lab, V1, &key));
    lab.fails(ALICE, U256::ZERO, &alice, &sol::UnknownValidator { validator: ALICE });
    lab.fails(V1, U256::ZERO, &other, &sol::SealingKeyTaken { key: key.address(), operator: V2 });
    // A key is no operator, and an operator no key.
    lab.journal.set_balance(&key.address(), eth(10)).unwrap();
    let join = sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
    lab.fails(key.address(), eth(1), &join, &sol::SealingKeyTaken { key: key.address(), operator: V2 });
    let operator = pair(3);
    lab.journal.set_balance(&operator.address(), eth(10)).unwrap();
    lab.pay(operator.address(), eth(1), &join);
    let set = set_key(&lab, V1, &operator);
    lab.fails(V1, U256::ZERO, &set, &sol::SealingKeyIsOperator { key: operator.address() });
}

#[test]
fn what_comes_in_under_a_former_key_is_the_operators() {
    let params = StakingParams { block_reward: eth(1), ..at_once() };
    let mut lab = Lab::new(params);
    let key = pair(1);
    lab.pass(1);
    let set = set_key(&lab, V1, &key);
    lab.ok(V1, &set);
    for proposer in [V1, key.address()] {
        lab.pass(1);
        lab.system(&begin_block(proposer, &[]));
    }
    let info = lab.validator(V1);
    // Of each reward less than a wei is lost to rounding.
    assert!(eth(2) - (info.commission + info.selfRewards) < U256::from(2));
    assert_eq!(lab.validator(key.address()).status, 0, "a key is no validator of its own");
    // Absent under both is absent once.
    lab.pass(1);
    lab.system(&begin_block(V2, &[V1, key.address()]));
    assert_eq!(lab.validator(V1).missedBlocks, 1);
    lab.system(&penalize(&[(V1, eth(1)), (key.address(), eth(1))]));
    assert_eq!(lab.validator(V1).tokens, eth(98));
    let deltas =
        EpochDeltas { rewards: vec![(V1, eth(3))], penalties: vec![(key.address(), eth(1))], ejection_percent: 0 };
    assert_eq!(lab.system(&end_epoch(1, &deltas)).as_slice(), weights(&[(key.address(), 97_000_000_000)]));
    lab.check_supply();
}

#[test]
fn evidence_against_a_former_key_tombstones_the_operator_and_all_its_keys() {
    let mut lab = Lab::new(at_once());
    let (key, other) = (pair(1), pair(2));
    lab.pass(1);
    let set = set_key(&lab, V1, &key);
    lab.ok(V1, &set);
    lab.pass(5);
    let updates = lab.system(&slash(V1, Offence::DoubleSign, Height::new(1), Timestamp::from_secs(1_001)));
    assert_eq!(updates.as_slice(), weights(&[(key.address(), 0)]));
    let info = lab.validator(V1);
    assert_eq!((info.status, info.tokens), (6, eth(95)));
    // A second offence, under the other key, is the same operator's.
    assert!(
        lab.system(&slash(key.address(), Offence::DoubleSign, Height::new(2), Timestamp::from_secs(1_002))).is_empty()
    );
    assert_eq!(lab.validator(V1).tokens, eth(95));
    lab.pass(200);
    let (set, join) = (set_key(&lab, V1, &other), join_with(&lab, V1, &other));
    lab.fails(V1, U256::ZERO, &set, &sol::IsTombstoned { validator: V1 });
    lab.fails(V1, eth(1), &join, &sol::IsTombstoned { validator: V1 });
    let taken = set_key(&lab, V2, &key);
    lab.fails(V2, U256::ZERO, &taken, &sol::SealingKeyTaken { key: key.address(), operator: V1 });
    lab.check_supply();
}

#[test]
fn rotations_of_bonded_validators_wait_where_there_are_queues() {
    let mut lab = Lab::with_stakes(StakingParams::default(), &[(V1, eth(1)), (V2, eth(2)), (V3, eth(3))]).unwrap();
    let keys = [pair(1), pair(2), pair(3)];
    lab.pass(1);
    for (operator, key) in [V1, V2, V3].into_iter().zip(&keys) {
        let set = set_key(&lab, operator, key);
        lab.ok(operator, &set);
        assert!(lab.updates().is_empty());
        assert_eq!(lab.validator(operator).sealingKey, operator);
        assert_eq!(operator_of(&mut lab, key.address()), operator, "known at once");
    }
    assert_eq!(lab.ok(ALICE, &sol::rotationQueueLengthCall {}), U256::from(3));
    let rotated = weights(&[(V1, 0), (keys[0].address(), 1_000_000_000)]);
    assert_eq!(lab.system(&end_epoch(1, &EpochDeltas::default())).as_slice(), rotated);
    // With others in the queues: rotations first in even epochs, last in odd ones, and no more of both than the limit.
    lab.ok(V1, &sol::exitCall {});
    let rotated = weights(&[(V2, 0), (keys[1].address(), 2_000_000_000)]);
    assert_eq!(lab.system(&end_epoch(2, &EpochDeltas::default())).as_slice(), rotated);
    assert_eq!(lab.system(&end_epoch(3, &EpochDeltas::default())).as_slice(), weights(&[(keys[0].address(), 0)]));
    // A slash meanwhile takes the weight of the present key, and the new one never comes.
    lab.system(&slash(V3, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    assert_eq!(lab.updates().as_slice(), weights(&[(V3, 0)]));
    assert!(lab.system(&end_epoch(4, &EpochDeltas::default())).is_empty());
    assert_eq!(lab.validator(V3).sealingKey, V3);
    // Whoever is not in consensus waits for nobody.
    lab.pass(100);
    let set = set_key(&lab, V1, &pair(4));
    lab.ok(V1, &set);
    assert_eq!((lab.validator(V1).sealingKey, lab.updates().is_empty()), (pair(4).address(), true));
    lab.check_supply();
}

#[test]
fn a_validator_joins_with_a_key() {
    let mut lab = Lab::new(at_once());
    let key = pair(1);
    let join = join_with(&lab, V3, &key);
    lab.pay(V3, eth(5), &join);
    assert_eq!(lab.updates().as_slice(), weights(&[(key.address(), 5_000_000_000)]));
    let info = lab.validator(V3);
    assert_eq!((info.status, info.sealingKey, info.selfStake), (1, key.address(), eth(5)));
    lab.ok(V3, &sol::exitCall {});
    assert_eq!(lab.updates().as_slice(), weights(&[(key.address(), 0)]));
    // Back with the key that it has.
    let again = sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
    lab.pay(V3, eth(1), &again);
    assert_eq!(lab.updates().as_slice(), weights(&[(key.address(), 6_000_000_000)]));
}

#[test]
fn a_treasury_bonds_for_an_operator_that_consents() {
    let mut lab = Lab::new(at_once());
    let (operator, key) = (KeyPair::from_seed(1, "operator"), pair(1));
    let terms = terms(operator.address(), key.address(), 1_001);
    let signed = consent(&lab, &operator, &terms, ALICE, 0);
    let proof = prove_sealing_key(lab.block.chain_id, operator.address(), &key);
    let join = sol::joinForCall { terms: terms.clone(), consent: signed, proof };
    let refusal = |signer| sol::ConsentNotGiven { operator: operator.address(), signer };
    let unsigned = sol::joinForCall { consent: Bytes::new(), ..join.clone() };
    lab.fails(ALICE, eth(40), &unsigned, &refusal(Address::ZERO));
    for (payer, changed) in [
        (BOB, join.clone()),
        (ALICE, sol::joinForCall { terms: sol::JoinTerms { commissionBps: 501, ..terms.clone() }, ..join.clone() }),
        (
            ALICE,
            sol::joinForCall { terms: sol::JoinTerms { sealingKey: Address::ZERO, ..terms.clone() }, ..join.clone() },
        ),
    ] {
        assert!(!lab.call(payer, eth(40), &changed).is_success());
    }
    let too_little = sol::SelfStakeTooLow { selfStake: gwei(1), minimum: eth(1) };
    lab.fails(ALICE, gwei(1), &join, &too_little);
    let before = lab.balance(ALICE);
    lab.pay(ALICE, eth(40), &join);
    assert_eq!(lab.updates().as_slice(), weights(&[(key.address(), 40_000_000_000)]));
    assert_eq!(before - lab.balance(ALICE), eth(40));
    assert_eq!(lab.delegation(ALICE, operator.address()).0, U256::ZERO, "the operator owns it");
    let info = lab.validator(operator.address());
    assert_eq!((info.selfStake, info.commissionBps), (eth(40), 500));
    assert_eq!(lab.ok(ALICE, &sol::noncesCall { operator: operator.address() }), U256::ONE);
    // More, by anybody.
    lab.pay(BOB, eth(2), &sol::stakeForCall { validator: operator.address() });
    assert_eq!(lab.validator(operator.address()).selfStake, eth(42));
    lab.fails(BOB, eth(2), &sol::stakeForCall { validator: ALICE }, &sol::UnknownValidator { validator: ALICE });
    // A consent is good once, and until its time.
    lab.ok(operator.address(), &sol::exitCall {});
    assert!(!lab.call(ALICE, eth(40), &join).is_success());
    let again = sol::JoinTerms { sealingKey: Address::ZERO, ..terms };
    let signed = consent(&lab, &operator, &again, ALICE, 1);
    let join = sol::joinForCall { terms: again, consent: signed, proof: Bytes::new() };
    lab.pass(2);
    lab.fails(ALICE, eth(1), &join, &sol::ConsentExpired { deadline: U256::from(1_001) });
    lab.block.timestamp = Timestamp::from_secs(1_001);
    lab.pay(ALICE, eth(1), &join);
    assert_eq!(lab.updates().as_slice(), weights(&[(key.address(), 43_000_000_000)]), "with the key that it has");
}

/// Against alloy's implementation of EIP-712.
#[test]
fn a_consent_is_typed_data() {
    alloy_sol_types::sol! {
        struct JoinConsent {
            address operator;
            address payer;
            address sealingKey;
            uint16 commissionBps;
            uint16 maxCommissionBps;
            uint16 maxCommissionChangeBps;
            uint256 nonce;
            uint256 deadline;
        }
    }
    assert_eq!(keccak256(JoinConsent::eip712_encode_type().as_bytes()), JOIN_CONSENT_TYPE);
    let domain = eip712_domain! {
        name: "chainbox validators", version: "1", chain_id: 7, verifying_contract: STAKING_ADDRESS,
    };
    let want: B256 = JoinConsent {
        operator: V1,
        payer: ALICE,
        sealingKey: V2,
        commissionBps: 500,
        maxCommissionBps: 2_000,
        maxCommissionChangeBps: 100,
        nonce: U256::from(3),
        deadline: U256::from(9),
    }
    .eip712_signing_hash(&domain);
    let own = super::super::JoinConsent { terms: terms(V1, V2, 9), payer: ALICE, nonce: U256::from(3) };
    assert_eq!(consent_digest(7, &own), want);
}

#[test]
fn genesis_has_operators_and_keys_apart() {
    let (key, other) = (pair(1).address(), pair(2).address());
    let stake = |validator, sealing_key| sol::GenesisStake { validator, sealingKey: sealing_key, stake: eth(10) };
    let mut lab = Lab::of_genesis(at_once(), vec![stake(V1, key), stake(V2, Address::ZERO), stake(V3, V3)]).unwrap();
    assert_eq!((lab.validator(V1).sealingKey, lab.validator(V2).sealingKey), (key, V2));
    assert_eq!(operator_of(&mut lab, key), V1);
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    assert_eq!(lab.updates().as_slice(), weights(&[(key, 11_000_000_000)]));
    let set = set_key(&lab, V1, &pair(3));
    lab.ok(V1, &set);
    assert_eq!(lab.validator(V1).sealingKey, pair(3).address(), "genesis counts as no registration");
    for bad in [
        vec![stake(V1, key), stake(V2, key)],
        vec![stake(V1, V2), stake(V2, V2)],
        vec![stake(V1, V2), stake(V2, other)],
        vec![stake(V1, key), stake(key, other)],
        vec![stake(V1, key), stake(V1, other)],
    ] {
        assert!(Lab::of_genesis(at_once(), bad).is_err());
    }
}
