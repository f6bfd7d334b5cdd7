//! Chains with lists of accounts and deployers: what blocks, calls and creations by contracts may be.

mod model;
mod world;

use core::slice;
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolError;

use self::world::*;
use super::fixture::*;
use crate::{
    chain::{
        Block, BlockError, CallError, CallRequest, EstimateError, GenesisSpec, InsertError, InvalidBlock,
        InvalidTransaction, StateOverrides, SystemViewError, transactions_root,
    },
    primitives::{Gas, Transaction},
    system::permissions::{PERMISSIONS_ADDRESS, PermissionsConfig, interface as sol},
    templates::{BATCH_ADDRESS, batch},
    vm::{CallTracer, DeployerNotAllowed, FrameOutcome},
};

/// Returns the transactions that a block leaves out, with the reasons.
fn left_out(world: &World, transactions: Vec<Arc<Transaction>>) -> Vec<InvalidTransaction> {
    let head = world.chain.head();
    let built = build_on(&world.chain, head.hash(), head.timestamp().as_secs() + 1, transactions);
    built.left_out.into_iter().map(|(_, reason)| reason).collect()
}

#[test]
fn transactions_of_others_are_left_out_and_make_a_block_invalid() {
    let world = World::new(config().with_accounts([address(1)]));
    let refused = InvalidTransaction::SenderNotAllowed { address: address(2) };
    assert_eq!(left_out(&world, vec![transfer(1, 0, TO, 1), transfer(2, 0, TO, 1)]), slice::from_ref(&refused));
    let text = refused.to_string();
    for words in [address(2).to_string(), PERMISSIONS_ADDRESS.to_string(), "list of accounts".to_owned()] {
        assert!(text.contains(&words), "{text}");
    }
    // The block is right but for the transaction that somebody adds.
    let good = build_on(&world.chain, world.chain.head().hash(), 1, vec![transfer(1, 0, TO, 1)]).block;
    let transactions = vec![transfer(1, 0, TO, 1), transfer(2, 0, TO, 1)];
    let mut header = good.header().clone();
    header.transactions_root = transactions_root(&transactions);
    let forged = Block::new(header, transactions, Bytes::new(), Vec::new());
    match world.chain.clone().insert(Arc::new(forged)) {
        Err(InsertError::Invalid(InvalidBlock {
            reason: BlockError::Transaction { index: 1, reason, .. }, ..
        })) => {
            assert_eq!(*reason, refused);
        }
        other => panic!("{other:?}"),
    }
    world.chain.clone().insert(Arc::new(good)).unwrap();
}

#[test]
fn impersonated_senders_are_no_exception() {
    let mut world = World::new(config().with_accounts([address(1)]));
    let unsigned = |from| vec![Arc::new(request(0, TO, 1).impersonate(from).unwrap())];
    let refused = InvalidTransaction::SenderNotAllowed { address: address(2) };
    assert_eq!(left_out(&world, unsigned(address(2))), [refused]);
    world.mine(unsigned(address(1)));
    world.mine(unsigned(address(ADMIN)));
}

#[test]
fn creations_need_a_deployer_in_transactions() {
    let mut world = World::new(config().with_deployers([address(1)]));
    let refused = InvalidTransaction::DeployerNotAllowed { address: address(2) };
    assert_eq!(left_out(&world, vec![creation(1, 0), creation(2, 0), transfer(2, 0, TO, 1)]), [refused]);
    assert_eq!(left_out(&world, vec![creation(ADMIN, 0)]).len(), 1, "the administrator lists itself");
    world.set(address(ADMIN), false, true);
    let nonce = world.nonce(ADMIN);
    world.mine(vec![creation(ADMIN, nonce)]);
}

/// The creation reverts with the reason and without its gas; who called goes on or not, as it likes.
#[test]
fn creations_by_contracts_need_a_deployer_as_origin() {
    let mut world = World::new(config().with_deployers([address(1)]));
    world.mine(vec![call_creator(1, 0), call_creator(2, 0)]);
    let receipts = world.chain.head().receipts();
    assert!(receipts[0].is_success() && !receipts[1].is_success());
    let hash = world.chain.head().transactions()[1].hash();
    let outcome = world.chain.trace_transaction(hash, &mut CallTracer::new()).unwrap();
    let reason = DeployerNotAllowed { origin: address(2) };
    assert_eq!(outcome.revert_data().unwrap().as_ref(), reason.abi_encode());
    assert!(
        outcome.gas_used < Gas::new(70_000),
        "{:?} of 200,000: the creation has cost its price only",
        outcome.gas_used
    );
    let decoded = world.chain.registry().decode_error(outcome.revert_data().unwrap()).unwrap();
    assert_eq!(decoded.name, "DeployerNotAllowed");
}

#[test]
fn batches_and_calls_through_contracts_count_as_their_origin() {
    let mut world = World::new(config().with_deployers([address(1)]));
    let batch = |from, operation: batch::Operation| {
        let call = batch::interface::Batch::executeCall { operations: vec![operation] };
        vec![world_call(from, 0, BATCH_ADDRESS, &call)]
    };
    let init_code = creator_init_code();
    let through = batch::Operation { target: CREATOR, value: U256::ZERO, data: init_code.clone() };
    world.mine(batch(2, batch::Operation::create(init_code.clone())));
    assert!(!world.chain.head().receipts()[0].is_success());
    let hash = world.chain.head().transactions()[0].hash();
    let outcome = world.chain.trace_transaction(hash, &mut CallTracer::new()).unwrap();
    let failed = batch::interface::Batch::OperationFailed::abi_decode(outcome.revert_data().unwrap()).unwrap();
    assert_eq!(failed.reason.as_ref(), DeployerNotAllowed { origin: address(2) }.abi_encode());
    let mut other = World::new(config().with_deployers([address(1)]));
    other.mine(batch(2, through.clone()));
    assert!(!other.chain.head().receipts()[0].is_success(), "through a contract");
    other.mine(batch(1, through));
    assert!(other.chain.head().receipts()[0].is_success(), "{:?}", other.chain.head().receipts());
}

#[test]
fn a_change_holds_from_the_next_transaction_of_the_block_on() {
    let mut world = World::new(config().with_accounts([]));
    let grant = world.setting(address(1), true, false);
    let refused = InvalidTransaction::SenderNotAllowed { address: address(1) };
    assert_eq!(left_out(&world, vec![transfer(1, 0, TO, 1), grant.clone()]), slice::from_ref(&refused));
    let revoke = world_call(
        ADMIN,
        1,
        PERMISSIONS_ADDRESS,
        &sol::setPermissionsCall { account: address(1), isAccount: false, isDeployer: false },
    );
    let (first, second) = (transfer(1, 0, TO, 1), transfer(1, 1, TO, 1));
    assert_eq!(left_out(&world, vec![grant.clone(), first.clone(), revoke.clone(), second.clone()]), [refused]);
    world.mine(vec![grant, first, revoke]);
    // So does a switch.
    let switch =
        |nonce, is_on| world_call(ADMIN, nonce, PERMISSIONS_ADDRESS, &sol::switchAccountListCall { isOn: is_on });
    world.mine(vec![switch(2, false), second, switch(3, true)]);
    assert_eq!(left_out(&world, vec![transfer(1, 2, TO, 1)]).len(), 1);
}

#[test]
fn a_reverted_change_is_none() {
    let world = World::new(config().with_accounts([]));
    let grant = world.setting(address(1), true, false);
    let poor = world_call_with_gas(ADMIN, 0, PERMISSIONS_ADDRESS, grant.input().clone(), 40_000);
    assert_eq!(left_out(&world, vec![poor, transfer(1, 0, TO, 1)]).len(), 1, "it ran out of gas");
}

#[test]
fn a_reorg_across_a_change_brings_the_other_lists() {
    let mut world = World::new(config().with_accounts([address(1)]));
    let genesis = world.chain.head().hash();
    world.set(address(2), true, false);
    world.mine(vec![transfer(2, 0, TO, 1)]);
    assert!(world.permissions(address(2)).maySend);
    let side = build_on(&world.chain, genesis, 77, vec![transfer(1, 0, TO, 5)]).block;
    world.adopt(side);
    assert!(!world.permissions(address(2)).maySend);
    assert_eq!(left_out(&world, vec![transfer(2, 0, TO, 1)]).len(), 1);
}

#[test]
fn anybody_reads_and_nobody_simulates_what_would_be_refused() {
    let world = World::new(config().with_accounts([address(1)]).with_deployers([address(1)]));
    let (chain, context) = (&world.chain, world.chain.call_context(world.chain.head()).unwrap());
    let call = |request: &CallRequest| chain.call(&context, request, &StateOverrides::new(), None);
    let estimate = |request: &CallRequest| chain.estimate_gas(&context, request, &StateOverrides::new());
    let transfer_by = |from| CallRequest::call(TO, Bytes::new()).with_from(from).with_value(U256::ONE);
    let refused = InvalidTransaction::SenderNotAllowed { address: address(2) };
    assert!(call(&transfer_by(address(2))).unwrap().is_success(), "without fees it is no transaction");
    let paid = transfer_by(address(2)).with_fees(10_000_000_000, 1);
    assert!(matches!(call(&paid), Err(CallError::Invalid(reason)) if reason == refused));
    let estimated = estimate(&transfer_by(address(2)));
    assert!(matches!(estimated, Err(EstimateError::Call(CallError::Invalid(reason))) if reason == refused));
    assert!(chain.simulate(&context, &[transfer_by(address(2))], &StateOverrides::new()).is_err());
    assert_eq!(estimate(&transfer_by(address(1))).unwrap(), Gas::new(21_000));
    assert_eq!(chain.simulate(&context, &[transfer_by(address(1))], &StateOverrides::new()).unwrap().len(), 1);
    // Creations, in either case.
    let creation_by = |from| CallRequest::create(creator_init_code()).with_from(from);
    let not_deployer = InvalidTransaction::DeployerNotAllowed { address: address(2) };
    assert!(matches!(call(&creation_by(address(2))), Err(CallError::Invalid(reason)) if reason == not_deployer));
    assert!(matches!(estimate(&creation_by(address(ADMIN))), Err(EstimateError::Call(CallError::Invalid(_)))));
    assert!(estimate(&creation_by(address(1))).is_ok());
    let through = |from| CallRequest::call(CREATOR, creator_init_code()).with_from(from);
    assert_eq!(call(&through(address(2))).unwrap().outcome, FrameOutcome::Revert);
    assert!(matches!(estimate(&through(address(ADMIN))), Err(EstimateError::Failed(_))));
    assert!(estimate(&through(address(1))).is_ok());
}

#[test]
fn operations_that_follow_a_change_are_simulated_with_it() {
    let world = World::new(config().with_accounts([]));
    let context = world.chain.call_context(world.chain.head()).unwrap();
    let grant = CallRequest::call(PERMISSIONS_ADDRESS, world.setting(address(1), true, false).input().clone());
    let operations = [grant.with_from(address(ADMIN)), CallRequest::call(TO, Bytes::new()).with_from(address(1))];
    let ran = world.chain.simulate(&context, &operations, &StateOverrides::new()).unwrap();
    assert!(ran.iter().all(|simulation| simulation.outcome.is_success()));
}

#[test]
fn genesis_has_the_contract_where_it_is_asked_for() {
    let plain = builder().open().unwrap();
    let read = plain.permissions_of(plain.head(), TO);
    assert!(matches!(read, Err(SystemViewError::Absent { section: "permissions" })), "{read:?}");
    assert!(!plain.spec().to_json().contains("permissions"));
    let spec = spec().with_permissions(config().with_accounts([address(1)]));
    let read = GenesisSpec::from_json(&spec.to_json()).unwrap();
    assert_eq!(read, spec);
    for (config, words) in [
        (PermissionsConfig::new(Address::ZERO), "genesis field `permissions`: `administrator` is the zero address"),
        (config().with_accounts([TO, TO]), "twice"),
    ] {
        let error = spec.clone().with_permissions(config).check().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let error = spec.clone().with_account(
        PERMISSIONS_ADDRESS,
        crate::chain::GenesisAccount { code: Bytes::from_static(&[1]), ..Default::default() },
    );
    assert!(error.check().unwrap_err().to_string().contains("is the permissions contract's address"));
    // More accounts than the init code of a transaction could name.
    let many = (1..=2_000_u64).map(|number| Address::left_padding_from(&number.to_be_bytes()));
    let world = World::new(config().with_accounts(many));
    assert!(world.permissions(Address::with_last_byte(200)).maySend);
}
