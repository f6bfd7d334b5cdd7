//! Real networks, their states, and what a restart finds.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::U256;
use serde_json::json;

use super::{Blockchain, World, conflict, height, of_four};
use crate::{
    consensus::{ConsensusKind, ReplicaId},
    node::{BlockRef, Clock},
    platform::{
        BlockchainRecord, BlockchainSpec, ChainCommand, ChainState, DeploymentRecord, DeploymentSpec, PlatformError,
        Wallet,
        records::{Index, PageRequest},
        vault::SealedSecret,
    },
    primitives::{Height, KeyPair},
    store::{
        KeyValue as _, Order, Table,
        testing::{FailingStore, WriteFault},
    },
};

#[test]
fn chains_of_all_protocols_run_by_the_clock_with_keys_of_their_own_and_go_on_after_a_restart() {
    let mut world = World::new();
    let mut ids = Vec::new();
    let mut keys = BTreeSet::new();
    for kind in ConsensusKind::ALL {
        let chain = world.create(of_four(kind.name()));
        let network = chain.network().unwrap();
        assert_eq!(network.nodes().len(), 13, "four validators, eight on standby and the observer");
        let first = height(&chain);
        world.run(&chain, 6);
        let paid = world.pay(&chain).unwrap();
        world.run(&chain, 14);
        assert!(height(&chain) >= first + 12, "{kind:?}: {}", height(&chain));
        assert!(chain.node().receipt(paid).unwrap().unwrap().is_success(), "{kind:?}");
        let view = chain.node().view();
        assert!(!view.chain().spec().allow_interventions);
        let validators: Vec<_> = view.chain().spec().validators.iter().map(|validator| validator.address).collect();
        assert_eq!(view.chain().spec().validators[0].name, "v1");
        for validator in validators {
            assert!(keys.insert(validator), "{kind:?}: two chains share a key");
            assert!((0..50).all(|index| KeyPair::from_seed(0, &format!("validator {index}")).address() != validator));
        }
        // Every validator may be stopped; the network goes on with three.
        network.stop(ReplicaId::new(0)).unwrap();
        let before = height(&chain);
        world.run(&chain, 20);
        assert!(height(&chain) > before + 3, "{kind:?}: {} after {before}", height(&chain));
        ids.push((kind, chain.id().to_owned(), height(&chain), paid));
    }
    world = world.restarted(Duration::from_secs(1));
    for (kind, id, seen, paid) in ids {
        let chain = world.platform.blockchains().writable(&world.me(), &id).unwrap();
        assert!(height(&chain) >= seen, "{kind:?}: {} after {seen}", height(&chain));
        let again = world.pay(&chain).unwrap();
        world.run(&chain, 25);
        assert!(height(&chain) >= seen + 8, "{kind:?}: {} after {seen}", height(&chain));
        for hash in [paid, again] {
            assert!(chain.node().receipt(hash).unwrap().is_some(), "{kind:?}");
        }
    }
}

/// Proof of stake counts every slot of the gap as missed, and the stake of all validators leaks in it.
#[test]
fn a_week_in_which_the_process_was_away_ejects_no_validator() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let mut body = of_four(consensus);
        body["config"]["blockTime"] = json!("1m");
        let world = World::new();
        let chain = world.create(body);
        world.run(&chain, 60 * 40);
        let (id, seen) = (chain.id().to_owned(), height(&chain));
        let world = world.restarted(Duration::from_secs(7 * 86_400));
        let chain = world.platform.blockchains().writable(&world.me(), &id).unwrap();
        let paid = world.pay(&chain).unwrap();
        world.run(&chain, 60 * 40);
        assert!(height(&chain) > seen + 30, "{consensus}: {} after {seen}", height(&chain));
        assert!(chain.node().receipt(paid).unwrap().is_some(), "{consensus}: {:?}", chain.node().view().pooled());
        let figures = world.platform.blockchains().metrics(&chain).unwrap();
        assert_eq!(figures.active_validators, 4, "{consensus}");
    }
}

/// The seal of a Clique block is a signature of the header's hash by a key of the chain.
#[test]
fn blocks_are_sealed_by_the_keys_of_the_vault() {
    let world = World::new();
    let chain = world.create(of_four("proof-of-authority"));
    world.run(&chain, 8);
    let view = chain.node().view();
    let keys = world.platform.blockchains().keys_of(&chain).validators().unwrap();
    let listed: Vec<_> = view.chain().spec().validators.iter().map(|validator| validator.address).collect();
    // After them come the standby keys, of validators that join later.
    assert_eq!(keys.iter().take(4).map(KeyPair::address).collect::<Vec<_>>(), listed);
    let mut authors = BTreeSet::new();
    for number in 1..=height(&chain) {
        let block = view.block(BlockRef::Number(Height::new(number))).unwrap();
        assert_eq!(block.block().seal().len(), 65, "r, s and the parity");
        authors.insert(block.block().header().beneficiary);
    }
    assert!(authors.len() == 4 && authors.iter().all(|author| listed.contains(author)));
}

#[test]
fn a_chain_without_block_time_makes_blocks_on_demand() {
    let world = World::new();
    let chain = world.create(json!({ "name": "x", "consensus": "raft" }));
    assert!(chain.network().is_none() && height(&chain) == 0);
    let paid = world.pay(&chain).unwrap();
    assert_eq!(chain.node().receipt(paid).unwrap().unwrap().block().height().get(), 1);
    assert!(chain.node().accounts().is_empty(), "the node holds no keys");
}

#[test]
fn pause_resume_stop_and_start_hold_over_restarts() {
    for body in [json!({ "name": "x", "config": { "blockTime": "2s" } }), json!({ "name": "x" })] {
        let is_paced = body["config"].is_object();
        let mut world = World::new();
        let chain = world.create(body);
        let id = chain.id().to_owned();
        if is_paced {
            world.run(&chain, 5);
        }
        world.pay(&chain).unwrap();
        if is_paced {
            world.run(&chain, 4);
        }
        world.command(&id, ChainCommand::Pause);
        for _ in 0..2 {
            let chains = world.platform.blockchains();
            let chain = chains.readable(&world.me(), &id).unwrap();
            let seen = height(&chain);
            assert!(seen > 0);
            if is_paced {
                world.run(&chain, 10);
                assert!(chain.network().unwrap().nodes().iter().all(|node| node.is_halted()));
            }
            assert_eq!(height(&chain), seen, "no blocks");
            let refused = conflict(world.pay(&chain));
            assert!(refused.contains("is paused"), "{refused}");
            let direct = chain.node().mine(1).unwrap_err().to_string();
            assert!(is_paced || direct.contains("takes no commands: it is paused"), "{direct}");
            assert_eq!(world.state(&id), ChainState::Paused);
            world = world.restarted(Duration::from_secs(3));
        }
        let chain = world.command(&id, ChainCommand::Resume).unwrap();
        let seen = height(&chain);
        world.pay(&chain).unwrap();
        if is_paced {
            world.run(&chain, 5);
        }
        assert!(height(&chain) > seen);
        let (seen, old) = (height(&chain), chain);
        assert!(world.command(&id, ChainCommand::Stop).is_none());
        for _ in 0..2 {
            let chains = world.platform.blockchains();
            assert!(conflict(chains.readable(&world.me(), &id)).contains("is stopped"));
            assert_eq!(world.state(&id), ChainState::Stopped);
            assert!(conflict(chains.carry_out(&world.me(), &id, ChainCommand::Pause)).contains("is stopped"));
            world = world.restarted(Duration::from_secs(3));
        }
        assert!(old.node().mine(1).is_err(), "who still holds it changes nothing");
        let chain = world.command(&id, ChainCommand::Start).unwrap();
        assert!(height(&chain) >= seen);
        world.pay(&chain).unwrap();
    }
}

#[test]
fn without_a_store_a_chain_is_not_stopped_but_paused() {
    let node = crate::node::Node::new();
    let default = super::Blockchain::running("bc_default".to_owned(), super::named("d"), node, 0);
    let platform = super::Platform::builder(World::new().clock).open(default).unwrap();
    let (chains, me) = (platform.blockchains(), platform.service_principal());
    let chain = chains.create(&me, super::named("x")).unwrap();
    assert!(conflict(chains.carry_out(&me, chain.id(), ChainCommand::Stop)).contains("pause it"));
    chains.carry_out(&me, chain.id(), ChainCommand::Pause).unwrap();
    assert!(chains.carry_out(&me, chain.id(), ChainCommand::Resume).unwrap().is_some());
    assert!(conflict(chains.carry_out(&me, "bc_default", ChainCommand::Delete)).contains("chain of the process"));
}

#[test]
fn a_chain_that_cannot_be_opened_is_failed_and_the_others_go_on() {
    let world = World::new();
    let (good, bad) = (world.create(json!({ "name": "good" })), world.create(json!({ "name": "bad" })));
    let (good, bad) = (good.id().to_owned(), bad.id().to_owned());
    // Its keys are gone.
    let records = world.platform.records();
    let key = records.of::<SealedSecret>().require(&world.me().owner(), &format!("{bad}-validators")).unwrap();
    records.unit(|unit| unit.delete(&key)).unwrap();
    let world = world.restarted(Duration::from_secs(1));
    let ChainState::Failed { reason } = world.state(&bad) else { panic!("{:?}", world.state(&bad)) };
    assert!(reason.contains("has no secret"), "{reason}");
    let refused = conflict(world.platform.blockchains().readable(&world.me(), &bad));
    assert!(refused.contains("has no secret"), "{refused}");
    world.pay(&world.platform.blockchains().writable(&world.me(), &good).unwrap()).unwrap();
    assert!(world.platform.blockchains().carry_out(&world.me(), &bad, ChainCommand::Start).is_err());
    assert_eq!(world.state(&bad).name(), "failed");
    world.command(&bad, ChainCommand::Delete);
    assert!(matches!(world.platform.blockchains().record(&world.me(), &bad), Err(PlatformError::NotFound { .. })));
}

/// A world whose disk fails when the test wants it.
fn failing() -> (World, Arc<FailingStore>) {
    let World { disk, clock, platform } = World::new();
    drop(platform);
    let store = Arc::new(FailingStore::new(disk.clone()));
    let platform = World::platform_on(store.clone(), clock.clone());
    (World { disk, clock, platform }, store)
}

/// A chain with a block a second whose network stands still, as a write of it has failed. Its record does not say so.
fn chain_that_failed(world: &World, store: &FailingStore) -> Arc<Blockchain> {
    let chain = world.create(json!({ "name": "x", "config": { "blockTime": "1s" } }));
    world.run(&chain, 5);
    store.fail(WriteFault::after(0));
    let network = chain.network().unwrap();
    for _ in 0..60 {
        world.clock.advance(Duration::from_secs(1));
        // It fails here, or on the pool.
        let _ = network.advance(Duration::from_millis(world.clock.now_ms()));
    }
    store.recover();
    assert!(chain.failure().is_some());
    let stored = world.platform.blockchains().record(&world.me(), chain.id()).unwrap();
    assert_eq!((stored.value.state.name(), world.state(chain.id()).name()), ("running", "failed"));
    chain
}

#[test]
fn a_chain_whose_network_has_failed_takes_the_commands_of_a_failed_one() {
    let (world, store) = failing();
    let failed = chain_that_failed(&world, &store);
    let (id, seen) = (failed.id().to_owned(), height(&failed));
    assert!(seen >= 3, "{seen}");
    for command in [ChainCommand::Pause, ChainCommand::Resume, ChainCommand::Stop] {
        let refused = conflict(world.platform.blockchains().carry_out(&world.me(), &id, command));
        assert!(refused.starts_with("the chain is failed and can't be"), "{refused}");
        assert_eq!(world.state(&id).name(), "failed");
    }
    let chain = world.command(&id, ChainCommand::Start).unwrap();
    assert!(!Arc::ptr_eq(&failed, &chain), "it is opened anew from what was written");
    assert_eq!(world.state(&id), ChainState::Running);
    assert!(height(&chain) >= seen, "{} after {seen}", height(&chain));
    let paid = world.pay(&chain).unwrap();
    world.run(&chain, 10);
    assert!(height(&chain) > seen + 3, "{} after {seen}", height(&chain));
    assert!(chain.node().receipt(paid).unwrap().unwrap().is_success());
    assert!(failed.node().is_halted(), "who still holds the failed one changes nothing");
    let again = world.command(&id, ChainCommand::Start).unwrap();
    assert!(Arc::ptr_eq(&chain, &again), "a start of one that runs changes nothing");
    assert_eq!(networks(&world), (1, 1));
}

#[test]
fn a_chain_whose_network_has_failed_is_deleted() {
    let (world, store) = failing();
    let id = chain_that_failed(&world, &store).id().to_owned();
    assert!(world.command(&id, ChainCommand::Delete).is_none());
    assert_eq!((pairs_of(&world, &id), networks(&world)), (0, (0, 0)));
    assert!(matches!(world.platform.blockchains().record(&world.me(), &id), Err(PlatformError::NotFound { .. })));
}

/// Networks that the pool runs, and those of chains in memory.
fn networks(world: &World) -> (usize, usize) {
    let hosted = world.platform.blockchains().hosted;
    let open = hosted.all_open().iter().filter(|chain| chain.network().is_some()).count();
    (hosted.pool.counters().networks, open)
}

/// Creates a chain while the disk has a fault, and deletes it when it works again. Returns whether the fault hit a write.
fn create_under(world: &World, store: &FailingStore, fault: WriteFault) -> bool {
    let (chains, me, failures) = (world.platform.blockchains(), world.me(), store.failures());
    let id = chains.new_id().unwrap();
    let spec = BlockchainSpec::read(of_four("pbft")).unwrap();
    store.fail(fault);
    let provisioned = world.platform.records().unit(|unit| chains.provision(unit, &me, &id, spec).map(drop));
    let created = provisioned.and_then(|()| chains.bring_up(&me, &id).map(drop));
    store.recover();
    let is_hit = store.failures() > failures;
    assert!(is_hit || created.is_ok(), "{fault:?}: {created:?}");
    let (pooled, open) = networks(world);
    assert_eq!(pooled, open, "{fault:?}: the pool runs what no chain owns, after {created:?}");
    if chains.record(&me, &id).is_ok() {
        let chain = world.command(&id, ChainCommand::Start).unwrap();
        assert_eq!((world.state(&id), networks(world)), (ChainState::Running, (1, 1)), "{fault:?}");
        world.run(&chain, 5);
        assert!(height(&chain) > 0, "{fault:?}");
        world.command(&id, ChainCommand::Delete);
    }
    world.clock.advance(Duration::from_secs(5));
    assert_eq!((networks(world), pairs_of(world, &id)), ((0, 0), 0), "{fault:?}");
    is_hit
}

#[test]
fn a_creation_that_fails_at_any_write_leaves_no_network_that_no_chain_owns() {
    let faults: [fn(u64) -> WriteFault; 2] = [WriteFault::only, |number| WriteFault::after(number - 1)];
    for fault_at in faults {
        let (world, store) = failing();
        let hit = (1..100).take_while(|number| create_under(&world, &store, fault_at(*number))).count();
        assert!((2..99).contains(&hit), "the record is written, and that it runs: {hit}");
    }
}

/// Pairs of the disk whose key has the chain's id in it, records apart.
fn pairs_of(world: &World, id: &str) -> usize {
    let mut found = 0;
    for table in Table::ALL {
        let part = [b"\xffchain/", id.as_bytes()].concat();
        let counted = world.disk.scan(table, &part, Order::Ascending, &mut |_, _| {
            found += 1;
            core::ops::ControlFlow::Continue(())
        });
        counted.unwrap();
    }
    found
}

#[test]
fn a_deletion_leaves_nothing_whenever_it_crashes() {
    let world = World::new();
    let (kept, gone) = (world.create(of_four("pbft")), world.create(of_four("raft")));
    let (kept, id) = (kept.id().to_owned(), gone.id().to_owned());
    let chains = world.platform.blockchains();
    chains.deploy(&world.me(), DeploymentSpec::gold(&id)).unwrap();
    world.run(&gone, 5);
    assert!(pairs_of(&world, &id) > 20);
    let secrets = world.platform.records().verify::<SealedSecret>().unwrap();
    let before = world.disk.writes();
    world.command(&id, ChainCommand::Delete);
    let crashes = world.disk.crashes();
    let clock = world.clock.clone();
    for crashed in crashes.into_iter().skip(before) {
        let world = World::on(crashed, clock.clone());
        assert_eq!(pairs_of(&world, &id), 0);
        assert!(pairs_of(&world, &kept) > 0);
        let records = world.platform.records();
        assert_eq!(records.verify::<SealedSecret>().unwrap(), secrets - 2, "validators' and treasury's");
        assert_eq!(records.verify::<DeploymentRecord>().unwrap(), 0);
        assert_eq!(records.verify::<BlockchainRecord>().unwrap(), 2);
        assert_eq!(records.verify::<Wallet>().unwrap(), 2, "the managed one and that of the other chain");
        let chain = world.platform.blockchains().writable(&world.me(), &kept).unwrap();
        world.pay(&chain).unwrap();
    }
    assert!(gone.node().send_raw(&[]).is_err() && pairs_of(&world, &id) == 0);
}

#[test]
fn a_creation_is_done_once_however_often_it_is_asked_for() {
    let world = World::new();
    let (chains, me) = (world.platform.blockchains(), world.me());
    let id = chains.new_id().unwrap();
    let spec = BlockchainSpec::read(of_four("pbft")).unwrap();
    for _ in 0..2 {
        let stored = world.platform.records().unit(|unit| chains.provision(unit, &me, &id, spec.clone())).unwrap();
        assert_eq!(stored.id(), id);
    }
    assert_eq!(world.state(&id), ChainState::Provisioning);
    assert!(conflict(chains.readable(&me, &id)).contains("provisioning"));
    let first = chains.bring_up(&me, &id).unwrap().unwrap();
    let again = chains.bring_up(&me, &id).unwrap().unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    let all = chains.page(&me, &Index::CREATED, &PageRequest::first(9_usize.try_into().unwrap())).unwrap();
    assert_eq!(all.total, 2, "it and the default chain");
    // The premine is the treasury's, whose key is a wallet of the workspace.
    let treasury = world.platform.wallets().with_address(&me.owner(), first.treasury().unwrap()).unwrap().unwrap();
    assert_eq!(treasury.value.name, "treasury of pbft");
    let premine = first.node().view().balance(treasury.value.address, BlockRef::Latest).unwrap();
    assert_eq!(premine, U256::from(10).pow(U256::from(24)));
}
