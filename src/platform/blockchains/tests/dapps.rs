//! dApps: the record first, then the one transaction; and what becomes of them with their chain.

use serde_json::json;

use super::{World, of_four};
use crate::{
    node::BlockRef,
    platform::{DappRecord, DappSpec, PlatformError},
};

fn spec(chain: &str) -> DappSpec {
    let components = json!([
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d" } },
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } },
    ]);
    let components = components.as_array().unwrap().clone();
    DappSpec { components, blockchain_id: Some(chain.to_owned()), ..DappSpec::named("Shop") }
}

#[test]
fn every_crash_of_a_dapp_leaves_a_record_whose_contracts_come_or_nothing() {
    for body in [json!({ "name": "x" }), of_four("raft")] {
        let is_paced = body["config"].is_object();
        let world = World::new();
        let chain = world.create(body);
        let before = world.disk.writes();
        let dapp = world.platform.dapps().create(&world.me(), "dapp_1", &spec(chain.id()), &[]).unwrap();
        let (hash, clock) = (dapp.value.deployment.as_ref().unwrap().transaction_hash, world.clock.clone());
        let crashes = world.disk.crashes();
        assert!(crashes.len() > before);
        let mut kept = 0;
        for crashed in crashes.into_iter().skip(before.saturating_sub(1)) {
            let world = World::on(crashed, clock.clone());
            let chain = world.platform.blockchains().writable(&world.me(), chain.id()).unwrap();
            if is_paced {
                world.run(&chain, 8);
            }
            let stored = match world.platform.dapps().require(&world.me(), "dapp_1") {
                Ok(stored) => Some(stored),
                Err(PlatformError::NotFound { .. }) => None,
                Err(other) => panic!("{other}"),
            };
            let mined = chain.node().receipt(hash).unwrap();
            assert_eq!(stored.is_some(), mined.is_some(), "a record and its contracts are both there, or neither");
            let Some(stored) = stored else { continue };
            kept += 1;
            for component in &stored.value.components {
                assert!(!chain.node().view().code(component.address, BlockRef::Latest).unwrap().is_empty());
            }
            // The request that is run again finds it done.
            let again = world.platform.dapps().create(&world.me(), "dapp_1", &spec(chain.id()), &[]).unwrap();
            assert_eq!(again.value.deployment.unwrap().transaction_hash, hash);
            // The next one notes it.
            world.platform.dapps().create(&world.me(), "dapp_2", &spec(chain.id()), &[]).unwrap();
            let settled = world.platform.dapps().require(&world.me(), "dapp_1").unwrap();
            assert!(settled.value.deployment.unwrap().is_settled);
        }
        assert!(kept > 0);
    }
}

#[test]
fn a_refused_dapp_leaves_no_record_and_a_deleted_chain_takes_its_dapps() {
    let world = World::new();
    let chain = world.create(json!({ "name": "x" }));
    let poor = DappSpec {
        from: Some(world.platform.wallets().managed(&world.me().owner()).unwrap().unwrap().value.address),
        ..spec(chain.id())
    };
    let refused = world.platform.dapps().create(&world.me(), "dapp_1", &poor, &[]);
    assert!(
        matches!(refused, Err(PlatformError::InsufficientBalance { .. } | PlatformError::Conflict { .. })),
        "{refused:?}"
    );
    assert_eq!(world.platform.records().verify::<DappRecord>().unwrap(), 0);
    world.platform.dapps().create(&world.me(), "dapp_1", &spec(chain.id()), &[]).unwrap();
    world.platform.dapps().create(&world.me(), "dapp_2", &DappSpec::named("page"), &[]).unwrap();
    world.command(chain.id(), crate::platform::ChainCommand::Stop);
    let state = world.platform.dapps().require(&world.me(), "dapp_1").unwrap();
    assert!(world.platform.dapps().state(&state.value).is_ok(), "a page of a chain that stands still");
    world.command(chain.id(), crate::platform::ChainCommand::Delete);
    assert!(world.platform.dapps().require(&world.me(), "dapp_1").is_err());
    assert!(world.platform.dapps().require(&world.me(), "dapp_2").is_ok());
}
