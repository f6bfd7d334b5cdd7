//! The default network of a workspace: a network of projects, or a chain that the workspace has.

use super::*;
use crate::platform::{ChainCommand, records::Stored};

const FIELD: &str = "settings.defaultNetwork";

/// The field that a refusal names, and what came in it.
fn wrong_field<T>(result: Result<T, PlatformError>) -> (String, String) {
    match result.map(drop) {
        Err(PlatformError::Validation { fields }) => (fields[0].path.clone(), fields[0].got.clone()),
        other => panic!("{other:?}"),
    }
}

fn refusal_of(network: &str) -> (String, String) {
    (FIELD.to_owned(), network.to_owned())
}

fn of_network(network: &str) -> Workspace {
    Workspace { default_network: Some(network.to_owned()), ..Workspace::named("team") }
}

#[test]
fn a_new_workspace_has_a_network_of_projects_or_none() {
    let world = World::new();
    let (user, workspaces) = (world.user("ann"), world.platform.workspaces());
    let operator = world.platform.service_principal();
    let kept = || world.platform.records().verify::<Workspace>().unwrap();
    let before = kept();
    for unknown in ["moon", "Testnet", "bc_0123456789abcdef", DEFAULT_BLOCKCHAIN_ID, ""] {
        let made = world.unit(|unit| workspaces.create(unit, &user, of_network(unknown)));
        assert_eq!(wrong_field(made), refusal_of(unknown));
        let made = world.unit(|unit| workspaces.create_by(unit, &operator, of_network(unknown)));
        assert_eq!(wrong_field(made), refusal_of(unknown));
    }
    assert_eq!(kept(), before, "nothing is left of them");
    for network in ["development", "testnet", "mainnet"] {
        let made = world.unit(|unit| workspaces.create(unit, &user, of_network(network))).unwrap();
        assert_eq!(made.value.default_network.as_deref(), Some(network));
    }
}

#[test]
fn a_change_names_a_network_of_projects_or_a_chain_of_the_workspace() {
    let world = World::new();
    let (stranger, operator) = (world.workspace(), world.platform.service_principal());
    let workspaces = world.platform.workspaces();
    let change = |by: &Principal, network: &str| {
        let mut changed = workspaces.get(by).unwrap();
        changed.value.name = format!("with {network}");
        changed.value.default_network = Some(network.to_owned());
        world.unit(|unit| workspaces.update(unit, by, &changed))
    };
    for network in ["mainnet", DEFAULT_BLOCKCHAIN_ID, "test"] {
        assert_eq!(change(&operator, network).unwrap().value.default_network.as_deref(), Some(network));
    }
    for unknown in ["moon", "bc_0123456789abcdef"] {
        assert_eq!(wrong_field(change(&operator, unknown)), refusal_of(unknown));
    }
    assert_eq!(workspaces.get(&operator).unwrap().value.name, "with test", "the name is refused with it");
    for others in [DEFAULT_BLOCKCHAIN_ID, "test"] {
        assert_eq!(wrong_field(change(&stranger, others)), refusal_of(others), "it is another workspace's");
    }
}

#[test]
fn a_network_whose_chain_is_gone_stays_until_it_is_changed() {
    let world = World::new();
    let (operator, workspaces) = (world.platform.service_principal(), world.platform.workspaces());
    let (_, owner) = world.unit(|unit| workspaces.create_by(unit, &operator, Workspace::named("team"))).unwrap();
    let spec = BlockchainSpec::read(json!({ "name": "moon" })).unwrap();
    let chain = world.platform.blockchains().create(&owner, spec).unwrap();
    let update = |changed: &Stored<Workspace>| world.unit(|unit| workspaces.update(unit, &owner, changed));
    let mut stored = workspaces.get(&owner).unwrap();
    stored.value.default_network = Some("moon".to_owned());
    stored = update(&stored).unwrap();
    world.platform.blockchains().carry_out(&owner, chain.id(), ChainCommand::Delete).unwrap();
    stored.value.name = "renamed".to_owned();
    stored = update(&stored).unwrap();
    assert_eq!(stored.value.default_network.as_deref(), Some("moon"));
    stored.value.default_network = Some("testnet".to_owned());
    stored = update(&stored).unwrap();
    stored.value.default_network = Some("moon".to_owned());
    assert_eq!(wrong_field(update(&stored)), refusal_of("moon"));
    stored.value.default_network = None;
    update(&stored).unwrap();
}
