//! What workspaces use: counted, written, found again after a restart, and bounded by their plans.

use core::time::Duration;
use std::sync::Arc;

use serde_json::json;

use super::{World, conflict, height};
use crate::{
    node::{BlockRef, ManualClock},
    platform::{Blockchain, ChainCommand, OverQuota, Plan, Plans, Platform, Principal, Usage},
    primitives::{Height, Timestamp},
    store::{
        MemoryStore,
        testing::{FailingStore, WriteFault},
    },
};

const PERIOD: Duration = Duration::from_secs(30 * 86_400);

fn used(platform: &Platform, principal: &Principal, wanted: Usage) -> u64 {
    let all = platform.usage(principal).unwrap();
    all.into_iter().find(|(usage, ..)| *usage == wanted).unwrap().1
}

fn platform(store: Arc<FailingStore>, clock: Arc<ManualClock>, plan: Plan) -> Platform {
    let plans = Plans::default().with(Plans::UNLIMITED, plan);
    let key = crate::platform::vault::MasterKey::new([7; 32].into());
    Platform::builder(clock).with_store(store).with_plans(plans).open_with(None, key, Vec::new()).unwrap()
}

#[test]
fn requests_and_bytes_are_bounded_for_a_period_and_survive_what_fails() {
    let plan = Plan { requests_max: 3, bytes_max: 1_000, ..Plan::UNLIMITED };
    let (clock, store) = (Arc::new(ManualClock::new(Timestamp::from_secs(0))), Arc::new(MemoryStore::new()));
    let store = Arc::new(FailingStore::new(store));
    let first = platform(store.clone(), clock.clone(), plan);
    let me = first.service_principal();
    let request = |platform: &Platform| platform.metering().count_request(me.workspace());
    request(&first).unwrap();
    first.metering().count_bytes(me.workspace(), 400);
    assert_eq!(
        (used(&first, &me, Usage::Requests), used(&first, &me, Usage::Bytes)),
        (1, 400),
        "before they are written"
    );
    // What can't be written is written by the next flush, once.
    store.fail(WriteFault::after(0));
    request(&first).unwrap();
    assert!(first.metering().flush().is_err());
    store.recover();
    first.metering().flush().unwrap();
    first.metering().flush().unwrap();
    assert_eq!((used(&first, &me, Usage::Requests), used(&first, &me, Usage::Bytes)), (2, 400));
    // A process that dies loses nothing; of a plan as small as this one it has counted nothing too much.
    request(&first).unwrap();
    assert!(request(&first).is_err());
    drop(first);
    let second = platform(store, clock.clone(), plan);
    assert_eq!((used(&second, &me, Usage::Requests), used(&second, &me, Usage::Bytes)), (3, 400));
    clock.advance(Duration::from_secs(60));
    let over = OverQuota { usage: Usage::Requests, limit: 3, resets_in_secs: 30 * 86_400 - 60 };
    assert_eq!(request(&second), Err(over));
    assert_eq!(used(&second, &me, Usage::Requests), 3, "a refused one is not counted");
    // In the next period, up to the bytes.
    clock.advance(PERIOD);
    second.metering().flush().unwrap();
    request(&second).unwrap();
    second.metering().count_bytes(me.workspace(), 999);
    request(&second).unwrap();
    second.metering().count_bytes(me.workspace(), 1);
    assert!(matches!(request(&second), Err(OverQuota { usage: Usage::Bytes, limit: 1_000, .. })));
    second.metering().flush().unwrap();
    assert!(request(&second).is_err());
    assert_eq!((used(&second, &me, Usage::Requests), used(&second, &me, Usage::Bytes)), (2, 1_000));
}

#[test]
fn a_process_that_dies_has_counted_at_most_a_block_too_much_and_writes_once_for_a_block() {
    let (clock, store) = (Arc::new(ManualClock::new(Timestamp::from_secs(0))), Arc::new(MemoryStore::new()));
    let store = Arc::new(FailingStore::new(store));
    let first = platform(store.clone(), clock.clone(), Plan::UNLIMITED);
    let me = first.service_principal();
    let use_it = |platform: &Platform, times: u64| {
        for _ in 0..times {
            platform.metering().count_request(me.workspace()).unwrap();
            platform.metering().count_bytes(me.workspace(), 100);
        }
    };
    let of = |platform: &Platform| (used(platform, &me, Usage::Requests), used(platform, &me, Usage::Bytes));
    let before = store.writes();
    use_it(&first, 2_500);
    assert_eq!(store.writes() - before, 3 + 1, "three blocks of requests, one of bytes");
    assert_eq!(of(&first), (2_500, 250_000), "while it runs it knows exactly");
    drop(first);
    let second = platform(store.clone(), clock.clone(), Plan::UNLIMITED);
    // A block begins with the use that did not fit: of 100 bytes, and one less than 16 MiB.
    let bytes = (16 << 20) + 99;
    assert_eq!(of(&second), (3_000, bytes), "the blocks are counted as used");
    use_it(&second, 10);
    // One that ends, or rests, gives back what it did not use.
    second.metering().flush().unwrap();
    assert_eq!(of(&second), (3_010, bytes + 1_000));
    second.metering().flush().unwrap();
    use_it(&second, 1);
    assert_eq!(of(&second), (3_011, bytes + 1_100));
    second.metering().close().unwrap();
    drop(second);
    let third = platform(store, clock, Plan::UNLIMITED);
    assert_eq!(of(&third), (3_011, bytes + 1_100));
}

/// Gas of all blocks, one by one.
fn gas_of(chain: &Blockchain) -> u64 {
    let view = chain.node().view();
    let block = |number: u64| view.block(BlockRef::Number(Height::new(number))).unwrap();
    (0..=height(chain)).map(|number| block(number).block().header().gas_used).sum()
}

#[test]
fn gas_is_counted_once_also_over_a_restart_and_bounds_what_is_sent() {
    let mut world = World::new();
    let chain = world.create(json!({ "name": "x", "config": { "blockTime": "2s" } }));
    let id = chain.id().to_owned();
    let of_default = |world: &World| gas_of(world.platform.default_blockchain().unwrap());
    for round in 0..3 {
        let chain = world.platform.blockchains().writable(&world.me(), &id).unwrap();
        world.pay(&chain).unwrap();
        world.run(&chain, 4);
        let total = gas_of(&chain) + of_default(&world);
        assert!(total >= 21_000 * (round + 1));
        if round != 1 {
            world.platform.metering().flush().unwrap();
            world.platform.metering().flush().unwrap();
            assert_eq!(used(&world.platform, &world.me(), Usage::Gas), total, "round {round}");
        }
        world = world.restarted(Duration::from_secs(1));
    }
    // The owner of another workspace has a plan with a bound.
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let bounded = platform(store, clock, Plan { gas_max: 30_000, ..Plan::UNLIMITED });
    let me = bounded.service_principal();
    let spec = super::named("y");
    let chain = bounded.blockchains().create(&me, spec).unwrap();
    let pay = || {
        let request = crate::chain::CallRequest::call(alloy_primitives::Address::repeat_byte(7), []);
        let request = request.with_from(chain.treasury().unwrap()).with_value(crate::primitives::U256::from(5));
        bounded.blockchains().send(&me, chain.id(), request)
    };
    for _ in 0..2 {
        pay().unwrap();
        bounded.metering().flush().unwrap();
    }
    assert_eq!(used(&bounded, &me, Usage::Gas), 42_000, "the block that passes the bound is whole");
    assert!(conflict(pay()).contains("30000 gas in 30 days"));
    assert!(!bounded.blockchains().has_gas_left(&chain));
    assert!(bounded.blockchains().readable(&me, chain.id()).is_ok(), "reads go on");
}

#[test]
fn gas_of_a_chain_is_counted_once_also_when_it_is_stopped_or_deleted_right_after() {
    let world = World::new();
    let me = world.me();
    let mut total = 0;
    let paid = |world: &World| {
        let chain = world.create(json!({ "name": "x" }));
        world.pay(&chain).unwrap();
        let gas = gas_of(&chain);
        assert!(gas >= 21_000);
        (chain.id().to_owned(), gas)
    };
    for command in [ChainCommand::Delete, ChainCommand::Stop] {
        let (id, gas) = paid(&world);
        total += gas;
        world.command(&id, command);
        assert_eq!(used(&world.platform, &me, Usage::Gas), total, "{command:?}");
        if command == ChainCommand::Stop {
            world.command(&id, ChainCommand::Start);
        }
    }
    // The process dies between the record of the deletion and the chain's end.
    let (id, gas) = paid(&world);
    total += gas;
    let chains = world.platform.blockchains();
    world.platform.unit(|unit| chains.command(unit, &me, &id, ChainCommand::Delete).map(drop)).unwrap();
    let world = world.restarted(Duration::from_secs(1));
    assert_eq!(used(&world.platform, &me, Usage::Gas), total, "what is no more");
    world.platform.metering().flush().unwrap();
    let of_default = gas_of(world.platform.default_blockchain().unwrap());
    assert_eq!(used(&world.platform, &me, Usage::Gas), total + of_default, "what was counted is not counted again");
}
