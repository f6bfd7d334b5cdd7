//! Snapshots of the default chain: what a revert does to projects, modules and what was read of blocks.

use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::{Address, U256};
use serde_json::{Map, Value, json};

use super::World;
use crate::{
    chain::{ExecutedBlock, GenesisContract, GenesisSpec},
    node::{BlockRef, Database, Node, REORG_DEPTH_MAX, SnapshotId},
    platform::{
        Blockchain, DEFAULT_BLOCKCHAIN_ID, HostedModule, Module, ModuleKind, ModuleSpec, Project, ProjectSpec,
        ProjectState, records::Stored,
    },
    primitives::Height,
    store::{KeyValue, MemoryStore},
    system::modules::ModulesConfig,
    templates::{BATCH_ADDRESS, Batch},
};

/// A platform whose default chain has a registry of modules, which belongs to the node's first account.
fn world() -> World {
    let world = World::new();
    let first: Address = world.platform.default_blockchain().unwrap().treasury().unwrap();
    let genesis = GenesisSpec::new(31_338)
        .with_balance(first, U256::from(10).pow(U256::from(24)))
        .with_contract(GenesisContract::new(BATCH_ADDRESS, Batch::NAME, Map::new()))
        .with_modules(ModulesConfig { authority: first, enabled: Vec::new() });
    let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
    let node = Node::builder().with_genesis(genesis).with_database(Database::Store(Arc::clone(&store)));
    let platform = World::platform_over(node.build().unwrap(), store, Arc::clone(&world.clock));
    World { platform, ..world }
}

fn default_chain(world: &World) -> &Blockchain {
    world.platform.default_blockchain().unwrap()
}

fn snapshot(world: &World) -> SnapshotId {
    let snapshot = default_chain(world).node().snapshot();
    world.platform.blockchains().keep_snapshot(snapshot.get()).unwrap();
    snapshot
}

fn revert(world: &World, snapshot: SnapshotId) {
    assert!(default_chain(world).node().revert(snapshot).unwrap());
    world.platform.blockchains().revert_to_snapshot(snapshot.get()).unwrap();
}

/// A project with a token; on a new chain without the id of one that is there.
fn make(world: &World, id: &str, chain: Option<&str>) -> Stored<Project> {
    let spec = ProjectSpec {
        template: Some("erc20-token".to_owned()),
        blockchain: chain.map(str::to_owned),
        ..ProjectSpec::named("Gold rush")
    };
    world.platform.projects().create(&world.me(), (id, "bc_00000000000000aa"), &spec).unwrap()
}

fn project(world: &World, id: &str) -> Option<Stored<Project>> {
    world.platform.projects().all().get(&world.me().owner(), id).unwrap()
}

fn state(world: &World, id: &str) -> Option<ProjectState> {
    project(world, id).map(|found| world.platform.projects().state(&world.me(), &found).unwrap())
}

fn enable(world: &World, kind: ModuleKind, config: Value) -> Module {
    let config = config.as_object().cloned().unwrap();
    let spec = ModuleSpec { blockchain_id: DEFAULT_BLOCKCHAIN_ID.to_owned(), kind, config };
    let id = world.platform.new_id("tx").unwrap();
    world.platform.modules().enable(&world.me(), &id, &spec).unwrap()
}

fn modules(world: &World) -> Vec<Module> {
    world.platform.modules().list(&world.me(), DEFAULT_BLOCKCHAIN_ID).unwrap()
}

#[test]
fn a_revert_of_the_default_chain_takes_away_the_projects_made_since() {
    let world = world();
    let (me, projects) = (world.me(), world.platform.projects());
    let here = Some(DEFAULT_BLOCKCHAIN_ID);
    let first = make(&world, "prj_1", here);
    make(&world, "prj_2", here);
    let kept = snapshot(&world);
    let later = make(&world, "prj_3", here);
    make(&world, "prj_4", None);
    let renamed = (Some("Silver".to_owned()), None);
    world.platform.unit(|unit| projects.update(unit, &me, "prj_1", renamed).map(drop)).unwrap();
    world.platform.unit(|unit| projects.delete(unit, &me, "prj_2")).unwrap();
    assert_eq!(state(&world, "prj_3"), Some(ProjectState::Active));

    revert(&world, kept);
    let found = project(&world, "prj_1").unwrap().value;
    assert_eq!((found.name.as_str(), &found.contracts), ("Silver", &first.value.contracts));
    assert_eq!(state(&world, "prj_1"), Some(ProjectState::Active));
    assert_eq!(project(&world, "prj_2"), None, "somebody has deleted it");
    assert_eq!(project(&world, "prj_3"), None, "its contracts are gone");
    assert_eq!(state(&world, "prj_4"), Some(ProjectState::Active), "its chain is another");
    // Nonces go on from the snapshot's, and so do addresses.
    let again = make(&world, "prj_5", here);
    assert_eq!(again.value.contracts, later.value.contracts);
    assert_eq!(project(&world, "prj_3"), None);
    assert_eq!(world.platform.records().verify::<Project>().unwrap(), 3);
}

#[test]
fn a_project_whose_contracts_were_made_since_the_snapshot_is_to_have_them_made() {
    let world = world();
    let here = Some(DEFAULT_BLOCKCHAIN_ID);
    let other = make(&world, "prj_1", here).value;
    let unplanned = Project { contracts: Vec::new(), transaction: None, is_unplanned: true, ..other };
    let inserted = world.platform.unit(|unit| Ok(unit.insert(&world.me().owner(), "prj_2", unplanned)?));
    assert_eq!(inserted.unwrap().id(), "prj_2");
    let kept = snapshot(&world);
    let made = make(&world, "prj_2", here);
    assert_eq!(state(&world, "prj_2"), Some(ProjectState::Active));
    revert(&world, kept);
    assert_eq!(state(&world, "prj_2"), Some(ProjectState::Provisioning));
    assert_eq!(project(&world, "prj_2").unwrap().value.contracts, []);
    let again = make(&world, "prj_2", here);
    assert_eq!((again.value.contracts, again.value.transaction), (made.value.contracts, made.value.transaction));
    assert_eq!(state(&world, "prj_2"), Some(ProjectState::Active));
}

#[test]
fn a_revert_of_the_default_chain_takes_its_modules_back() {
    let world = world();
    enable(&world, ModuleKind::Nft, json!({}));
    let before = modules(&world);
    let kept = snapshot(&world);
    let staking = json!({ "features": ["staking"], "rewardRate": "5" });
    let defi = enable(&world, ModuleKind::Defi, staking.clone());
    let id = world.platform.new_id("tx").unwrap();
    world.platform.modules().disable(&world.me(), &id, DEFAULT_BLOCKCHAIN_ID, "nft").unwrap();
    assert_eq!(modules(&world).len(), 2);

    revert(&world, kept);
    assert_eq!(modules(&world), before);
    assert_eq!(world.platform.records().verify::<HostedModule>().unwrap(), 1);
    let again = enable(&world, ModuleKind::Defi, staking);
    assert_eq!((&again.state, &again.contracts), (&defi.state, &defi.contracts));

    // One that is gone is as it was at the snapshot.
    let (kept, both) = (snapshot(&world), modules(&world));
    let owner = world.me().owner();
    let forgotten = world.platform.unit(|unit| {
        for module in unit.of().of_chain(&HostedModule::BY_BLOCKCHAIN, &owner, DEFAULT_BLOCKCHAIN_ID)? {
            unit.delete(&module)?;
        }
        Ok(())
    });
    assert_eq!(forgotten, Ok(()));
    revert(&world, kept);
    assert_eq!(modules(&world), both);
    assert_eq!(world.platform.records().verify::<HostedModule>().unwrap(), 2);
}

#[test]
fn a_reset_of_the_default_chain_deletes_what_was_made_on_it() {
    let world = world();
    let here = Some(DEFAULT_BLOCKCHAIN_ID);
    let first = make(&world, "prj_1", here);
    make(&world, "prj_2", None);
    enable(&world, ModuleKind::Nft, json!({}));
    let kept = snapshot(&world);

    default_chain(&world).node().reset().unwrap();
    world.platform.blockchains().reset_to_genesis().unwrap();
    assert_eq!((project(&world, "prj_1"), modules(&world)), (None, Vec::new()));
    assert_eq!(state(&world, "prj_2"), Some(ProjectState::Active), "its chain is another");
    // The chain begins anew, and no snapshot of before brings anything back.
    let again = make(&world, "prj_3", here);
    assert_eq!(again.value.contracts, first.value.contracts);
    world.platform.blockchains().revert_to_snapshot(kept.get()).unwrap();
    assert_eq!(state(&world, "prj_3"), Some(ProjectState::Active));
    assert_eq!(world.platform.records().verify::<Project>().unwrap(), 2);
}

/// Takes the newest blocks back, as `anvil_rollback` does, and the records with them.
fn roll_back_to(world: &World, height: u64) {
    let node = default_chain(world).node();
    let view = node.view();
    let heights = height + 1..=view.head().height().get();
    let depth = heights.clone().count() as u64;
    let blocks = heights.map(|height| view.block(BlockRef::Number(Height::new(height))).unwrap());
    let of_block = |block: ExecutedBlock| block.transactions().iter().map(|it| it.hash()).collect::<Vec<_>>();
    let lost: Vec<_> = blocks.flat_map(of_block).collect();
    node.rollback(depth).unwrap();
    world.platform.blockchains().forget_lost(&lost).unwrap();
}

/// A module that a transaction changed or disabled is as before it, and may be changed again.
#[test]
fn a_module_follows_the_blocks_that_are_taken_back() {
    let world = world();
    let head = || super::height(default_chain(&world));
    let staking = json!({ "features": ["staking"], "rewardRate": "5" });
    let both = json!({ "features": ["dex", "staking"], "rewardRate": "5" });
    enable(&world, ModuleKind::Defi, staking);
    let first = (head(), modules(&world));
    let changed = enable(&world, ModuleKind::Defi, both.clone());
    let second = (head(), modules(&world));
    let id = world.platform.new_id("tx").unwrap();
    world.platform.modules().disable(&world.me(), &id, DEFAULT_BLOCKCHAIN_ID, "defi").unwrap();
    for (height, kept) in [second, first] {
        assert_ne!(modules(&world), kept);
        roll_back_to(&world, height);
        assert_eq!(modules(&world), kept);
    }
    let again = enable(&world, ModuleKind::Defi, both);
    assert_eq!((again.state, &again.contracts), (changed.state, &changed.contracts));
    assert_eq!(again.transactions.len(), 2);
    assert_eq!(world.platform.records().verify::<HostedModule>().unwrap(), 1);
}

/// However often a module is changed, its record has what the deepest rollback goes back to, and nothing older.
#[test]
fn a_module_that_was_changed_often_is_taken_back_as_far_as_blocks_are() {
    let world = world();
    let head = || super::height(default_chain(&world));
    let change = |number: u64| {
        let features = if number.is_multiple_of(2) { ["dex", "staking"] } else { ["staking", "dex"] };
        enable(&world, ModuleKind::Defi, json!({ "features": features, "rewardRate": "5" }));
    };
    (0..6).for_each(change);
    let (height, kept) = (head(), modules(&world));
    (6..6 + REORG_DEPTH_MAX).for_each(change);
    assert_eq!(head(), height + REORG_DEPTH_MAX);
    let owner = world.me().owner();
    let records = world.platform.records().of();
    let records = records.of_chain(&HostedModule::BY_BLOCKCHAIN, &owner, DEFAULT_BLOCKCHAIN_ID).unwrap();
    assert_eq!(records[0].value.earlier.len() as u64, REORG_DEPTH_MAX + 1);
    roll_back_to(&world, height);
    assert_eq!(modules(&world), kept);
}

#[test]
fn what_was_made_by_a_transaction_that_is_gone_is_deleted() {
    let world = world();
    let here = Some(DEFAULT_BLOCKCHAIN_ID);
    make(&world, "prj_1", here);
    enable(&world, ModuleKind::Nft, json!({}));
    let (before, kept) = (super::height(default_chain(&world)), modules(&world));
    let gone = make(&world, "prj_2", here);
    enable(&world, ModuleKind::Defi, json!({ "features": ["staking"], "rewardRate": "5" }));

    roll_back_to(&world, before);
    assert_eq!(state(&world, "prj_1"), Some(ProjectState::Active));
    assert_eq!((project(&world, "prj_2"), modules(&world)), (None, kept));
    let again = make(&world, "prj_3", here);
    assert_eq!(again.value.contracts, gone.value.contracts);
}

#[test]
fn a_revert_of_the_default_chain_forgets_who_has_delegated_on_it() {
    let world = world();
    let kept = snapshot(&world);
    let delegators = &world.platform.hosted.delegators;
    let somebody = (Address::repeat_byte(1), BTreeSet::from([Address::repeat_byte(2)]));
    delegators.change(DEFAULT_BLOCKCHAIN_ID, |known| known.delegators.extend([somebody]));
    delegators.change(DEFAULT_BLOCKCHAIN_ID, |known| assert_eq!(known.delegators.len(), 1));
    revert(&world, kept);
    delegators.change(DEFAULT_BLOCKCHAIN_ID, |known| assert!(known.delegators.is_empty()));
}
