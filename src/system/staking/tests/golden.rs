//! Gas of each call inside its transaction, and what a history of calls leaves in storage and logs. A changed number is a changed
//! chain: raise the template's version with it.

use alloy_primitives::Bytes;

use super::{
    keys::{pair, terms},
    lab::{SIGNER, signing_operator},
    *,
};
use crate::{
    primitives::{Gas, Height, Timestamp},
    templates::test_chain::golden::{Place, assert_golden, short},
    vm::Message,
};

/// Gas of a call, in gas units: ample.
const GAS: Gas = Gas::new(10_000_000);

impl Lab {
    fn line(&mut self, name: &str, message: &Message<'_>) -> String {
        // The lab's own place would borrow its journal too.
        let (block, registry) = (self.block, self.registry().clone());
        Place { block: &block, registry: &registry }.line(name, &mut self.journal, message)
    }
}

/// Calls of a history: name, caller (`None`: the chain), value, input, and blocks and seconds that pass before.
type Step = (&'static str, Option<Address>, U256, Bytes, (u64, u64));

fn of<C: SolCall>(name: &'static str, caller: Address, value: U256, call: C) -> Step {
    (name, Some(caller), value, call.abi_encode().into(), (1, 1))
}

fn free<C: SolCall>(name: &'static str, caller: Address, call: C) -> Step {
    of(name, caller, U256::ZERO, call)
}

fn by_chain(name: &'static str, call: crate::system::SystemCall) -> Step {
    (name, None, U256::ZERO, call.input, (1, 1))
}

/// Every function, its refusals too.
fn steps() -> Vec<Step> {
    let (half, tenth) = (eth(1) / U256::from(2), eth(1) / U256::from(10));
    let join = || sol::joinCall { commissionBps: 500, maxCommissionBps: 2_000, maxCommissionChangeBps: 100 };
    let later = |(name, caller, value, input, _): Step, secs| (name, caller, value, input, (10, secs));
    let (height, time) = (Height::new(3), Timestamp::from_secs(1_003));
    let deltas = EpochDeltas {
        rewards: vec![(V1, gwei(5)), (V3, gwei(7)), (ALICE, gwei(1))],
        penalties: vec![(V1, eth(2)), (V3, eth(4))],
        ejection_percent: 50,
    };
    let chain = crate::vm::BlockContext::default().chain_id;
    let set_key = |operator, index| {
        let proof = prove_sealing_key(chain, operator, &pair(index));
        sol::setSealingKeyCall { key: pair(index).address(), proof }
    };
    let (key, bobs) = (pair(1), pair(3));
    let with_key = sol::joinWithKeyCall {
        commissionBps: 500,
        maxCommissionBps: 2_000,
        maxCommissionChangeBps: 100,
        sealingKey: bobs.address(),
        proof: prove_sealing_key(chain, BOB, &bobs),
    };
    let terms = terms(SIGNER, pair(4).address(), u64::MAX);
    let unsigned = sol::joinForCall {
        proof: prove_sealing_key(chain, SIGNER, &pair(4)),
        consent: Bytes::from_static(&[0; 65]),
        terms: terms.clone(),
    };
    let consent = JoinConsent { terms, payer: ALICE, nonce: U256::ZERO };
    let consent = signing_operator().sign_hash(consent_digest(chain, &consent)).as_bytes();
    let join_for = sol::joinForCall { consent: consent.into(), ..unsigned.clone() };
    let uneven = sol::penalizeCall { validators: vec![V1], amounts: vec![] };
    vec![
        free("join with too little", V3, join()),
        of("join", V3, eth(5), join()),
        of("join twice", V3, eth(5), join()),
        of("stake", V3, half, sol::stakeCall {}),
        of("delegate", ALICE, eth(3), sol::delegateCall { validator: V1 }),
        of("delegate more", ALICE, eth(3), sol::delegateCall { validator: V1 }),
        of("delegate to another", BOB, eth(2), sol::delegateCall { validator: V3 }),
        of("delegate too little", BOB, U256::ONE, sol::delegateCall { validator: V3 }),
        ("a function that is not there", Some(BOB), U256::ZERO, Bytes::from_static(&[1, 2, 3, 4]), (0, 0)),
        ("half a selector", Some(BOB), U256::ZERO, Bytes::from_static(&[1, 2]), (0, 0)),
        of("value to a function that takes none", BOB, U256::ONE, sol::withdrawCall {}),
        ("half an argument", Some(BOB), U256::ONE, sol::delegateCall::SELECTOR.to_vec().into(), (0, 0)),
        by_chain("end of an epoch", end_epoch(1, &EpochDeltas::default())),
        by_chain("block", begin_block(V1, &[])),
        by_chain("block of another", begin_block(V2, &[V3])),
        ("fees", Some(BOB), tenth, Bytes::new(), (0, 0)),
        by_chain("block with fees and absences", begin_block(V1, &[V3, V2, ALICE])),
        free("claim of rewards", ALICE, sol::claimRewardsCall { validator: V1 }),
        free("claim of rewards, nothing", ALICE, sol::claimRewardsCall { validator: V1 }),
        free("claim of commission", V1, sol::claimCommissionCall {}),
        free("commission, too early", V3, sol::setCommissionCall { commissionBps: 550 }),
        later(free("commission", V3, sol::setCommissionCall { commissionBps: 550 }), 100_000),
        free("undelegate", ALICE, sol::undelegateCall { validator: V1, amount: eth(1) }),
        free("undelegate all", BOB, sol::undelegateCall { validator: V3, amount: U256::MAX }),
        free("unstake", V3, sol::unstakeCall { amount: half }),
        free("unstake too much", V3, sol::unstakeCall { amount: eth(5) }),
        free("withdraw, too early", ALICE, sol::withdrawCall {}),
        by_chain("slash for downtime", slash(V3, Offence::Downtime, height, time)),
        free("unjail, too early", V3, sol::unjailCall {}),
        later(free("unjail", V3, sol::unjailCall {}), 700),
        by_chain("end of an epoch with changes", end_epoch(2, &deltas)),
        by_chain("end of the next epoch", end_epoch(3, &EpochDeltas::default())),
        by_chain("slash for an equivocation", slash(V1, Offence::DoubleSign, height, time)),
        by_chain("evidence of no use", slash(V1, Offence::DoubleSign, height, time)),
        by_chain("penalties", penalize(&[(V2, eth(1)), (ALICE, eth(1))])),
        ("uneven penalties", None, U256::ZERO, uneven.abi_encode().into(), (0, 0)),
        later(free("withdraw", ALICE, sol::withdrawCall {}), 1_900_000),
        free("exit", V2, sol::exitCall {}),
        free("exit twice", V2, sol::exitCall {}),
        by_chain("end of the last epoch", end_epoch(4, &EpochDeltas::default())),
        of("join again", V2, eth(1), join()),
        free("params", BOB, sol::paramsCall {}),
        free("totals", BOB, sol::totalsCall {}),
        free("validatorCount", BOB, sol::validatorCountCall {}),
        free("validators", BOB, sol::validatorsCall { from: U256::ZERO, count: U256::from(9) }),
        free("validator", BOB, sol::validatorCall { validator: V3 }),
        free("delegation", BOB, sol::delegationCall { delegator: ALICE, validator: V1 }),
        free("unbondings", BOB, sol::unbondingsCall { delegator: V3 }),
        free("exitQueueLength", BOB, sol::exitQueueLengthCall {}),
        free("activationQueueLength", BOB, sol::activationQueueLengthCall {}),
        free("key of another", V3, set_key(V2, 1)),
        free("key", V3, set_key(V3, 1)),
        free("key, too early", V3, set_key(V3, 2)),
        free("key that is taken", V2, set_key(V2, 1)),
        by_chain("end of an epoch with a rotation", end_epoch(6, &EpochDeltas::default())),
        of("stake of a validator with a key", V3, eth(9), sol::stakeCall {}),
        by_chain("block of a key", begin_block(key.address(), &[])),
        by_chain("block without a former key", begin_block(V2, &[V3])),
        of("join with a key", BOB, eth(2), with_key),
        of("join for an operator, without consent", ALICE, eth(2), unsigned),
        of("join for an operator", ALICE, eth(2), join_for),
        of("stake for an operator", BOB, eth(2), sol::stakeForCall { validator: SIGNER }),
        by_chain("slash of a former key", slash(V3, Offence::DoubleSign, height, time)),
        free("sealingKey", BOB, sol::sealingKeyCall { operator: V3 }),
        free("operatorOf", BOB, sol::operatorOfCall { key: key.address() }),
        free("stakeLockedUntil", BOB, sol::stakeLockedUntilCall { validator: V3 }),
        free("nonces", BOB, sol::noncesCall { operator: SIGNER }),
        free("rotationQueueLength", BOB, sol::rotationQueueLengthCall {}),
        by_chain("election of a set", elect_set(&[V2, V1, BOB])),
        by_chain("begin of a set", begin_set()),
        free("exit while the set has it", V2, sol::exitCall {}),
        free("stakeLockedUntil, in the set", BOB, sol::stakeLockedUntilCall { validator: V2 }),
        by_chain("election without it", elect_set(&[BOB])),
        by_chain("begin of a set without it", begin_set()),
        free("stakeLockedUntil, out of the set", BOB, sol::stakeLockedUntilCall { validator: V2 }),
    ]
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history(params: StakingParams) -> String {
    let mut lab = Lab::new(params);
    let mut text = String::new();
    for (name, caller, value, input, (blocks, secs)) in steps() {
        lab.pass_time(blocks, secs);
        text += &match caller {
            Some(caller) => lab.line(name, &Message::call(caller, STAKING_ADDRESS, value, &input, GAS)),
            None => lab.line(name, &Message::system_call(STAKING_ADDRESS, &input, GAS)),
        };
    }
    let changes = lab.journal.take_changes();
    let mut bytes = Vec::new();
    for (slot, value) in changes.accounts[&STAKING_ADDRESS].storage.iter() {
        bytes.extend_from_slice(&slot.to_be_bytes::<32>());
        bytes.extend_from_slice(&value.to_be_bytes::<32>());
    }
    text.push_str(&format!("storage: {}\n", short(&bytes)));
    text
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    for (name, params, want) in [
        ("with queues", StakingParams::default(), include_str!("golden/queues.txt")),
        ("at once", at_once(), include_str!("golden/at_once.txt")),
    ] {
        println!("{name}");
        assert_golden(&history(params), want);
    }
}
