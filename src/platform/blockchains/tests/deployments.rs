//! Deployments: the record first, then the transaction.

use core::time::Duration;

use alloy_primitives::{Address, U256};
use serde_json::json;

use super::{World, conflict, of_four};
use crate::{
    chain::CallRequest,
    node::BlockRef,
    platform::{Blockchain, DeploymentRecord, DeploymentSpec, PlatformError, TransactionRecord, TransactionState},
    primitives::{Gas, KeyPair, TransactionRequest},
    templates::Erc20Params,
};

#[test]
fn every_crash_of_a_deployment_leaves_a_record_whose_contract_comes_or_nothing() {
    for body in [json!({ "name": "x" }), of_four("pbft")] {
        let is_paced = body["config"].is_object();
        let world = World::new();
        let chain = world.create(body);
        let before = world.disk.writes();
        let deployment = world.platform.blockchains().deploy(&world.me(), DeploymentSpec::gold(chain.id())).unwrap();
        let (hash, clock) = (deployment.value.transaction_hash, world.clock.clone());
        let crashes = world.disk.crashes();
        assert!(crashes.len() > before);
        let mut kept = 0;
        for crashed in crashes.into_iter().skip(before.saturating_sub(1)) {
            let world = World::on(crashed, clock.clone());
            let chains = world.platform.blockchains();
            let chain = chains.writable(&world.me(), chain.id()).unwrap();
            if is_paced {
                world.run(&chain, 8);
            }
            let stored = chains.deployments().get(&world.me().owner(), deployment.id()).unwrap();
            let mined = chain.node().receipt(hash).unwrap();
            assert_eq!(stored.is_some(), mined.is_some(), "a record and its contract are both there, or neither");
            let Some(stored) = stored else { continue };
            kept += 1;
            let contract = stored.value.contract_address(&chain).unwrap();
            assert!(!chain.node().view().code(contract, BlockRef::Latest).unwrap().is_empty());
            // The next one finds it done.
            chains.deploy(&world.me(), DeploymentSpec::gold(chain.id())).unwrap();
            assert!(chains.deployments().require(&world.me().owner(), deployment.id()).unwrap().value.is_settled);
            assert_eq!(
                chains
                    .deploy_as(&world.me(), deployment.id(), DeploymentSpec::gold(chain.id()))
                    .unwrap()
                    .value
                    .transaction_hash,
                hash
            );
        }
        assert!(kept > 0);
    }
}

#[test]
fn a_signed_transaction_is_deployed_and_a_refused_one_leaves_no_record() {
    let world = World::new();
    let (chains, me) = (world.platform.blockchains(), world.me());
    let chain = world.create(json!({ "name": "x" }));
    let key = KeyPair::from_seed(3, "somebody");
    let spec = DeploymentSpec::of_signed(chain.id(), creation(&chain, &key).sign(&key).unwrap().encoded());
    let poor = chains.deploy(&me, spec.clone());
    assert!(matches!(poor, Err(PlatformError::InsufficientBalance { .. })), "{poor:?}");
    assert_eq!(world.platform.records().verify::<DeploymentRecord>().unwrap(), 0);
    fund(&world, &chain, &key);
    let deployment = chains.deploy(&me, spec).unwrap();
    assert_eq!((deployment.value.template.as_str(), deployment.value.from), ("erc20-token", key.address()));
    assert_eq!(deployment.value.contract_address(&chain).unwrap(), key.address().create(0));
    let call = TransactionRequest { to: Some(Address::ZERO), ..TransactionRequest::default() };
    let call = TransactionRequest { chain_id: Some(chain.chain_id()), gas_limit: Gas::new(21_000), ..call };
    let refused = chains.deploy(&me, DeploymentSpec::of_signed(chain.id(), call.sign(&key).unwrap().encoded()));
    assert!(matches!(refused, Err(PlatformError::Validation { .. })), "{refused:?}");
}

#[test]
fn a_signed_transaction_that_would_fail_is_not_deployed() {
    let world = World::new();
    let (chains, me) = (world.platform.blockchains(), world.me());
    let chain = world.create(json!({ "name": "x" }));
    let key = KeyPair::from_seed(3, "somebody");
    fund(&world, &chain, &key);
    let whole = creation(&chain, &key);
    // Without its last word the constructor refuses it, and so little gas is soon used up.
    let cut = TransactionRequest { input: whole.input.slice(..whole.input.len() - 32), ..whole.clone() };
    let starved = TransactionRequest { gas_limit: Gas::new(150_000), ..whole.clone() };
    let spec = |request: &TransactionRequest| {
        DeploymentSpec::of_signed(chain.id(), request.clone().sign(&key).unwrap().encoded())
    };
    for request in [cut, starved] {
        let refused = conflict(chains.deploy(&me, spec(&request)));
        assert!(refused.contains("the chain refuses it"), "{refused}");
    }
    assert_eq!(world.platform.records().verify::<DeploymentRecord>().unwrap(), 0);
    let nonce = || chain.node().view().nonce(key.address(), BlockRef::Pending).unwrap();
    assert_eq!(nonce(), 0, "nothing was sent");
    let made = chains.deploy(&me, spec(&whole)).unwrap();
    // One that the chain has is not tried again: its effects are there.
    let again = chains.deploy(&me, spec(&whole)).unwrap();
    assert_eq!((made.value.transaction_hash, nonce()), (again.value.transaction_hash, 1));
}

#[test]
fn a_deployment_whose_nonce_another_transaction_uses_has_failed() {
    let world = World::new();
    let (chains, me) = (world.platform.blockchains(), world.me());
    let chain = world.create(of_four("raft"));
    let key = KeyPair::from_seed(3, "somebody");
    fund(&world, &chain, &key);
    world.run(&chain, 8);
    let creation = creation(&chain, &key);
    let spec = DeploymentSpec::of_signed(chain.id(), creation.clone().sign(&key).unwrap().encoded());
    let deployment = chains.deploy(&me, spec).unwrap();
    assert_eq!(deployment.value.outcome(&chain).unwrap().state, TransactionState::Pending);
    let dearer = TransactionRequest {
        max_fee_per_gas: 2 * creation.max_fee_per_gas,
        max_priority_fee_per_gas: 2 * creation.max_priority_fee_per_gas,
        to: Some(Address::ZERO),
        input: Default::default(),
        ..creation
    };
    let replacement = chain.node().send(dearer.sign(&key).unwrap()).unwrap();
    world.run(&chain, 8);
    assert!(chain.node().receipt(replacement).unwrap().unwrap().is_success());
    let stored = || chains.deployments().require(&me.owner(), deployment.id()).unwrap().value;
    assert_eq!(stored().outcome(&chain).unwrap().state, TransactionState::Failed);
    assert!(!stored().is_settled);
    // Nobody looks for it again.
    chains.settle::<DeploymentRecord>(&chain).unwrap();
    assert!(stored().is_settled);
    assert_eq!(stored().outcome(&chain).unwrap().state, TransactionState::Failed);
}

/// A transaction of somebody's first nonce that makes a token.
fn creation(chain: &Blockchain, key: &KeyPair) -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(chain.chain_id()),
        input: Erc20Params::new("Gold", "GLD", U256::from(9), key.address()).init_code(),
        gas_limit: Gas::new(3_000_000),
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        ..Default::default()
    }
}

/// Sends a hundred tokens of the treasury to somebody.
fn fund(world: &World, chain: &Blockchain, key: &KeyPair) {
    let fund = CallRequest::call(key.address(), []).with_value(U256::from(10).pow(U256::from(20)));
    let request = fund.with_from(chain.treasury().unwrap());
    world.platform.blockchains().send(&world.me(), chain.id(), request).unwrap();
}

#[test]
fn a_paused_chain_takes_no_deployment_and_sends_what_waits_when_it_is_resumed() {
    let world = World::new();
    let chain = world.create(of_four("raft"));
    let id = chain.id().to_owned();
    let deployment = world.platform.blockchains().deploy(&world.me(), DeploymentSpec::gold(&id)).unwrap();
    world.command(&id, crate::platform::ChainCommand::Pause);
    assert!(conflict(world.platform.blockchains().deploy(&world.me(), DeploymentSpec::gold(&id))).contains("paused"));
    // The pool, which alone had it, ends with the process.
    let world = world.restarted(Duration::from_secs(5));
    let chain = world.command(&id, crate::platform::ChainCommand::Resume).unwrap();
    world.run(&chain, 10);
    assert!(chain.node().receipt(deployment.value.transaction_hash).unwrap().unwrap().is_success());
}

/// As where a stop comes between bringing a chain up and sending what waits on it.
#[test]
fn a_chain_that_is_stopped_while_it_sends_what_waits_keeps_all_of_it() {
    let world = World::new();
    let chain = world.create(of_four("raft"));
    let id = chain.id().to_owned();
    let deployment = world.platform.blockchains().deploy(&world.me(), DeploymentSpec::gold(&id)).unwrap();
    let payment = world.pay(&chain).unwrap();
    world.command(&id, crate::platform::ChainCommand::Pause);
    drop(chain);
    // The pool, which alone had them, ends with the process.
    let world = world.restarted(Duration::from_secs(5));
    let chains = world.platform.blockchains();
    let chain = chains.readable(&world.me(), &id).unwrap();
    chain.node().halt("it is stopped");
    chains.send_unsettled_of::<DeploymentRecord>(&chain).unwrap();
    chains.send_unsettled_of::<TransactionRecord>(&chain).unwrap();
    assert!(chains.deployments().get(&world.me().owner(), deployment.id()).unwrap().is_some());
    assert_eq!(world.platform.records().verify::<TransactionRecord>().unwrap(), 1);
    let chain = world.command(&id, crate::platform::ChainCommand::Resume).unwrap();
    world.run(&chain, 10);
    for hash in [deployment.value.transaction_hash, payment] {
        assert!(chain.node().receipt(hash).unwrap().unwrap().is_success(), "{hash}");
    }
    // A new one is taken back: its caller is told so.
    chain.node().halt("it is stopped");
    conflict(chains.deploy(&world.me(), DeploymentSpec::gold(&id)));
    assert_eq!(world.platform.records().verify::<DeploymentRecord>().unwrap(), 1);
}
