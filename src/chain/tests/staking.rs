//! System calls at the start of a block, the staking contract in genesis, and changes of the validator set.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::fixture::*;
use crate::{
    chain::{
        Ancestors, Block, BlockAttributes, BlockError, CallRequest, Chain, ChainBuilder, GenesisSpec, GenesisValidator,
        HeaderRules, InsertError, InvalidBlock, RuleError,
    },
    primitives::{Gas, Transaction, TransactionRequest, ether, gwei},
    state::{MemoryState, PagedState},
    store::{KeyValue, MemoryStore, testing::MemoryDisk},
    system::{
        SYSTEM_ADDRESS, SystemCall, SystemContext, ValidatorUpdate,
        staking::{self, STAKING_ADDRESS, StakingParams, interface as sol},
    },
    vm::{CallTracer, FrameOutcome},
};

const V1: Address = Address::with_last_byte(0xa1);
const V2: Address = Address::with_last_byte(0xa2);

/// The beneficiary is the proposer. Each byte of the payload is a further call: `p` penalizes V1 by one token, `x` calls an
/// address without code, `r` reverts.
#[derive(Debug)]
struct Rules;

impl HeaderRules for Rules {
    fn verify(&self, _: &Block, _: &Header, _: &dyn Ancestors) -> Result<(), RuleError> {
        Ok(())
    }

    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        assert_eq!((context.header.gas_used, context.header.number), (0, context.parent.number + 1));
        let mut calls = vec![staking::begin_block(context.header.beneficiary, &[])];
        for byte in context.payload.iter() {
            calls.push(match byte {
                b'p' => staking::penalize(&[(V1, ether(1))]),
                b'x' => SystemCall { to: Address::repeat_byte(7), input: Bytes::new() },
                b'r' => SystemCall { to: STAKING_ADDRESS, input: Bytes::from_static(&[1, 2, 3, 4]) },
                _ => return Err(RuleError::Seal { reason: "unreadable payload".to_owned() }),
            });
        }
        Ok(calls)
    }
}

fn staked_spec() -> GenesisSpec {
    let validator = |address, stake| GenesisValidator::new(address, ether(stake));
    GenesisSpec {
        validators: vec![validator(V1, 10), validator(V2, 20)],
        staking: Some(StakingParams { block_reward: gwei(5), ..StakingParams::default() }),
        ..spec()
    }
}

fn staked(spec: GenesisSpec) -> ChainBuilder {
    builder_of(spec).with_rules(Arc::new(Rules))
}

fn attributes_with(timestamp: u64, payload: &'static [u8]) -> BlockAttributes {
    BlockAttributes { beneficiary: V1, payload: Bytes::from_static(payload), ..attributes(timestamp) }
}

/// Builds the next block and makes it the head; returns its changes of the validator set.
fn build_next(chain: &mut Chain, payload: &'static [u8], transactions: Vec<Arc<Transaction>>) -> Vec<ValidatorUpdate> {
    let timestamp = chain.head().block().header().timestamp + 1;
    let built =
        chain.build(chain.head().hash(), &attributes_with(timestamp, payload), &mut transactions.into_iter()).unwrap();
    assert!(built.left_out.is_empty());
    adopt(chain, built.block);
    chain.head().updates().validators.as_slice().to_vec()
}

fn transaction(nonce: u64, value: U256, call: &impl SolCall) -> Arc<Transaction> {
    let request = TransactionRequest {
        value,
        gas_limit: Gas::new(1_000_000),
        input: call.abi_encode().into(),
        ..request(nonce, STAKING_ADDRESS, 0)
    };
    Arc::new(request.sign(&key(0)).unwrap())
}

fn view<C: SolCall>(chain: &Chain, call: &C) -> C::Return {
    let context = chain.call_context(chain.head()).unwrap();
    let request = CallRequest { to: Some(STAKING_ADDRESS), input: call.abi_encode().into(), ..CallRequest::default() };
    let outcome = chain.call(&context, &request, &Default::default(), None).unwrap();
    C::abi_decode_returns_validate(outcome.success_output().expect("a view succeeds")).unwrap()
}

fn update(address: Address, tokens: u64) -> ValidatorUpdate {
    ValidatorUpdate { address, weight: tokens * 1_000_000_000 }
}

#[test]
fn genesis_bonds_the_stakes() {
    let chain = staked(staked_spec()).open().unwrap();
    assert_eq!(view(&chain, &sol::totalsCall {}).bonded, ether(30));
    assert_eq!(balance(&chain, chain.head(), STAKING_ADDRESS), ether(30));
    assert!(chain.genesis().updates().is_empty());
    let plain = builder().open().unwrap();
    assert_ne!(plain.genesis().commit().root, chain.genesis().commit().root);
    assert!(!plain.spec().to_json().contains("staking"));
}

#[test]
fn system_calls_run_first_outside_gas_and_receipts() {
    let mut chain = staked(staked_spec()).open().unwrap();
    assert_eq!(build_next(&mut chain, b"p", vec![]), [update(V1, 9)]);
    let head = chain.head();
    assert_eq!((head.block().header().gas_used, head.receipts().len()), (0, 0));
    let totals = view(&chain, &sol::totalsCall {});
    assert_eq!((totals.minted, totals.burned, totals.rewards), (gwei(5), ether(1), gwei(5)));
    assert_eq!(balance(&chain, head, STAKING_ADDRESS), ether(29) + gwei(5));
}

#[test]
fn transactions_come_after_and_the_last_change_counts() {
    let mut chain = staked(staked_spec()).open().unwrap();
    let delegate = transaction(0, ether(4), &sol::delegateCall { validator: V1 });
    assert_eq!(build_next(&mut chain, b"p", vec![delegate]), [update(V1, 13)]);
    assert_eq!(chain.head().receipts()[0].first_log_index, 0);
    assert_eq!(chain.head().receipts()[0].inner.logs.len(), 2, "Delegated and WeightChanged");
    let refused = transaction(1, U256::ZERO, &sol::undelegateCall { validator: V2, amount: ether(1) });
    assert_eq!(build_next(&mut chain, b"", vec![refused]), []);
}

/// Another replica's own execution gives the same block and the same updates.
#[test]
fn verifying_gives_the_updates_of_building() {
    let mut chain = staked(staked_spec()).open().unwrap();
    let mut other = staked(staked_spec()).open().unwrap();
    let delegate = transaction(0, ether(4), &sol::delegateCall { validator: V2 });
    build_next(&mut chain, b"pp", vec![delegate]);
    adopt(&mut other, chain.head().block().as_ref().clone());
    assert_eq!(other.head().updates(), chain.head().updates());
    assert_eq!(other.head().updates().validators.as_slice(), [update(V1, 8), update(V2, 24)]);
    assert_eq!(other.updates_of(chain.head().hash()), *chain.head().updates());
    assert!(other.updates_of(Default::default()).is_empty());
}

#[test]
fn a_failing_system_call_is_an_error_of_the_block() {
    let chain = staked(staked_spec()).open().unwrap();
    let good = chain.build(chain.head().hash(), &attributes_with(1, b""), &mut vec![].into_iter()).unwrap().block;
    for (payload, want) in [(b"x", "no contract"), (b"r", "reverted"), (b"?", "unreadable payload")] {
        let built = chain.build(chain.head().hash(), &attributes_with(1, payload), &mut vec![].into_iter());
        let error = built.unwrap_err().to_string();
        assert!(error.contains(want), "{error}");

        let extra_data = Block::extra_data_of(payload).unwrap();
        let header = Header { extra_data, ..good.header().clone() };
        let bad = Block::new(header, Vec::new(), Bytes::from_static(payload), Vec::new());
        let mut replica = staked(staked_spec()).open().unwrap();
        let error = replica.insert(Arc::new(bad)).unwrap_err();
        let InsertError::Invalid(InvalidBlock { reason, .. }) = error else { panic!("{error}") };
        assert!(matches!(reason, BlockError::SystemCall { index: 1, .. } | BlockError::Rule(_)), "{reason}");
        assert_eq!(replica.head().hash(), replica.genesis().hash());
    }
}

#[test]
fn a_block_without_its_system_calls_has_another_state() {
    let mut plain = builder_of(staked_spec()).open().unwrap();
    let built = plain.build(plain.head().hash(), &attributes_with(1, b"p"), &mut vec![].into_iter()).unwrap();
    let without = built.block.clone();
    let mut chain = staked(staked_spec()).open().unwrap();
    let error = chain.insert(Arc::new(built.block)).unwrap_err();
    assert!(
        matches!(error, InsertError::Invalid(InvalidBlock { reason: BlockError::StateRoot { .. }, .. })),
        "{error}"
    );
    // Without the protocol's calls the chain makes one, with the author as the proposer.
    adopt(&mut plain, without);
    assert_eq!(view(&plain, &sol::totalsCall {}).minted, gwei(5));
}

#[test]
fn updates_round_trip_through_the_store_and_a_dump() {
    let disk = Arc::new(MemoryDisk::new());
    let open = |disk: Arc<dyn KeyValue>| {
        Chain::builder(staked_spec(), Arc::new(PagedState::open(disk.clone()).unwrap()), disk)
            .with_rules(Arc::new(Rules))
            .open()
            .unwrap()
    };
    let mut chain = open(disk.clone());
    build_next(&mut chain, b"p", vec![]);
    let delegate = transaction(0, ether(4), &sol::delegateCall { validator: V2 });
    build_next(&mut chain, b"", vec![delegate]);
    build_next(&mut chain, b"", vec![]);
    let hashes: Vec<_> = (1..=3).map(|height| chain.hash_at(crate::primitives::Height::new(height)).unwrap()).collect();
    let want = [vec![update(V1, 9)], vec![update(V2, 24)], vec![]];

    let mut reopened = open(disk.crashed());
    let dumped = Chain::builder(spec(), Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()))
        .with_rules(Arc::new(Rules))
        .open_dump(&chain.dump().unwrap())
        .unwrap();
    for (hash, want) in hashes.iter().zip(&want) {
        assert_eq!(reopened.updates_of(*hash).validators.as_slice(), want.as_slice());
        assert_eq!(dumped.updates_of(*hash).validators.as_slice(), want.as_slice());
    }
    assert_eq!(build_next(&mut reopened, b"p", vec![]), [update(V1, 8)]);
}

#[test]
fn tracing_a_transaction_repeats_the_system_calls() {
    let mut chain = staked(staked_spec()).open().unwrap();
    let all = transaction(0, ether(1), &sol::delegateCall { validator: V1 });
    build_next(&mut chain, b"p", vec![all.clone()]);
    let outcome = chain.trace_transaction(all.hash(), &mut CallTracer::default()).unwrap();
    assert_eq!(outcome.outcome, FrameOutcome::Success);
    assert_eq!(outcome.logs, chain.head().receipts()[0].inner.logs);
}

#[test]
fn a_call_before_the_next_block_needs_no_system_calls() {
    let mut chain = staked(staked_spec()).open().unwrap();
    build_next(&mut chain, b"", vec![]);
    let context = chain.next_call_context(&attributes_with(9, b"?")).unwrap();
    let input = sol::totalsCall {}.abi_encode().into();
    let request = CallRequest { to: Some(STAKING_ADDRESS), input, ..CallRequest::default() };
    assert!(chain.call(&context, &request, &Default::default(), None).unwrap().is_success());
}

/// The system address has no key, and only system calls mint.
#[test]
fn no_transaction_is_a_system_call() {
    let mut chain = staked(staked_spec()).open().unwrap();
    let forged = transaction(0, U256::ZERO, &sol::beginBlockCall { proposer: V1, absent: vec![] });
    build_next(&mut chain, b"", vec![forged]);
    assert!(!chain.head().receipts()[0].inner.status.coerce_status());
    assert_eq!(view(&chain, &sol::totalsCall {}).minted, gwei(5), "by the system call of the block itself");
    assert_ne!(key(0).address(), SYSTEM_ADDRESS);
}

#[test]
fn genesis_without_a_stake_is_an_error_that_names_the_field() {
    for (stakes, want) in [([10, 0], "at least"), ([0, 0], "every validator")] {
        let mut spec = staked_spec();
        for (validator, stake) in spec.validators.iter_mut().zip(stakes) {
            validator.stake = ether(stake);
        }
        let error = staked(spec).open().unwrap_err().to_string();
        assert!(error.contains("validators") && error.contains(want), "{error}");
    }
    let mut spec = staked_spec();
    spec.staking = Some(StakingParams { downtime_window: 0, ..StakingParams::default() });
    assert!(staked(spec).open().unwrap_err().to_string().contains("downtimeWindow"));
    let spec = GenesisSpec::from_json(&staked_spec().to_json()).unwrap();
    assert_eq!(spec, staked_spec());
    assert!(GenesisSpec::from_json(r#"{"chainId": 1, "staking": {"unbonding": 3}}"#).is_err());
}
