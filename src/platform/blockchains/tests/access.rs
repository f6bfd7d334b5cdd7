//! Who reads, who sends, who deploys.

use core::ops::ControlFlow;

use alloy_primitives::{Address, U256};
use serde_json::json;

use super::{World, conflict};
use crate::{
    chain::CallRequest,
    node::BlockRef,
    platform::{
        ApiKeySpec, BlockchainSpec, DeploymentSpec, PlatformError, Principal, Role, Scope, Subject,
        records::{AuditLine, Index, SortKey},
    },
    primitives::{Gas, KeyPair, TransactionRequest},
    system::permissions::{PERMISSIONS_ADDRESS, interface as sol},
    templates::Erc20Params,
};

fn outcome<T>(result: Result<T, PlatformError>) -> &'static str {
    match result.map(drop) {
        Ok(()) => "yes",
        Err(PlatformError::NotFound { .. }) => "404",
        Err(PlatformError::Forbidden { .. }) => "403",
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn each_kind_of_chain_is_read_and_sent_to_by_those_it_is_for() {
    let world = World::new();
    let (me, member, stranger) = (world.me(), world.member("usr_member"), world.user("s@example.org"));
    let chains = world.platform.blockchains();
    for (kind, features, want) in [
        ("private", json!([]), [("yes", "yes"), ("yes", "yes"), ("404", "404")]),
        ("public", json!([]), [("yes", "yes"), ("yes", "yes"), ("yes", "403")]),
        ("private", json!(["privacy"]), [("yes", "yes"), ("403", "403"), ("404", "404")]),
        ("public", json!(["privacy"]), [("yes", "yes"), ("403", "403"), ("404", "404")]),
    ] {
        let chain = world.create(json!({ "name": "x", "type": kind, "features": features }));
        let found = [&me, &member, &stranger].map(|principal| {
            (outcome(chains.readable(principal, chain.id())), outcome(chains.writable(principal, chain.id())))
        });
        assert_eq!(found, want, "{kind} {features}");
        assert_eq!(outcome(chains.require(&stranger, chain.id())), "404");
    }
}

#[test]
fn participants_are_added_and_removed_by_participants_alone() {
    let world = World::new();
    let (me, stranger) = (world.me(), world.user("s@example.org"));
    let Subject::User(user) = world.user("m@example.org").subject().clone() else { panic!("it is a user") };
    let member = world.member(&user);
    let chains = world.platform.blockchains();
    let chain = world.create(json!({ "name": "x", "features": ["privacy"] }));
    let records = world.platform.records();
    let add = |by: &Principal, who: &Subject| records.unit(|unit| chains.add_participant(unit, by, chain.id(), who));
    assert_eq!(outcome(add(&member, member.subject())), "403");
    assert_eq!(add(&me, member.subject()).unwrap().value.participants.len(), 2);
    assert_eq!(add(&me, member.subject()).unwrap().value.participants.len(), 2, "once");
    add(&member, stranger.subject()).unwrap();
    assert_eq!(outcome(chains.readable(&stranger, chain.id())), "yes", "of whatever workspace");
    assert_eq!(outcome(chains.writable(&stranger, chain.id())), "403");
    // Only somebody who is there.
    for nobody in [Subject::User("usr_0123456789abcdef".to_owned()), Subject::ApiKey("key_0123456789abcdef".to_owned())]
    {
        let Err(PlatformError::Validation { fields }) = add(&me, &nobody) else { panic!("{nobody}") };
        assert_eq!((fields[0].path.as_str(), fields[0].got.as_str()), ("participant", nobody.to_string().as_str()));
    }
    // A key counts as its maker.
    let spec =
        ApiKeySpec { name: "k".to_owned(), scopes: [Scope::BlockchainRead].into_iter().collect(), lifetime_ms: None };
    let (value, _) = world.platform.unit(|unit| world.platform.api_keys().create(unit, &stranger, spec)).unwrap();
    let key = world.platform.api_keys().authenticate(value.text()).unwrap().unwrap();
    assert_eq!(outcome(chains.readable(&key, chain.id())), "yes");
    assert_eq!(add(&me, key.subject()).unwrap().value.participants.len(), 4, "a key of whatever workspace");
    let remove =
        |by: &Principal, who: &Subject| records.unit(|unit| chains.remove_participant(unit, by, chain.id(), who));
    remove(&me, key.subject()).unwrap();
    remove(&me, stranger.subject()).unwrap();
    let Subject::ApiKey(id) = key.subject() else { panic!("it is a key") };
    world.platform.unit(|unit| world.platform.api_keys().revoke(unit, &stranger, id)).unwrap();
    assert!(matches!(add(&me, key.subject()), Err(PlatformError::Validation { .. })), "a revoked key reads nothing");
    assert_eq!([&stranger, &key].map(|one| outcome(chains.readable(one, chain.id()))), ["404", "404"]);
    assert_eq!(outcome(remove(&me, stranger.subject())), "404", "it takes no part any more");
    remove(&member, me.subject()).unwrap();
    assert!(conflict(remove(&member, member.subject())).contains("last participant"));
    let open = world.create(json!({ "name": "open" }));
    let refused = records.unit(|unit| chains.add_participant(unit, &me, open.id(), member.subject()));
    assert!(conflict(refused).contains("without the feature privacy"));
}

/// Somebody of another workspace has keys of that one alone to read with. What it consents to there is told to be of that one.
#[test]
fn a_participant_of_another_workspace_reads_by_its_keys_and_not_by_access_tokens() {
    let world = World::new();
    let (me, outsider) = (world.me(), world.user("o@example.org"));
    let chains = world.platform.blockchains();
    let chain = world.create(json!({ "name": "x", "features": ["privacy"] }));
    let open = world.create(json!({ "name": "open", "type": "public" }));
    let records = world.platform.records();
    records.unit(|unit| chains.add_participant(unit, &me, chain.id(), outsider.subject())).unwrap();
    let key_of = |maker: &Principal| {
        let scopes = [Scope::BlockchainRead].into_iter().collect();
        let spec = ApiKeySpec { name: "k".to_owned(), scopes, lifetime_ms: None };
        let (value, _) = world.platform.unit(|unit| world.platform.api_keys().create(unit, maker, spec)).unwrap();
        world.platform.api_keys().authenticate(value.text()).unwrap().unwrap()
    };
    let key = key_of(&outsider);
    let token = outsider.clone().under_grant("grt_0123456789abcdef".to_owned());
    let seen = |by: &Principal| {
        let mut ids = Vec::new();
        let visited = chains.each_readable(by, &mut |one, _| {
            ids.push(one.id().to_owned());
            Ok(ControlFlow::Continue(()))
        });
        visited.unwrap();
        ids.iter().any(|id| id == chain.id())
    };
    for (by, reads, sends) in [(&outsider, "yes", "403"), (&key, "yes", "403"), (&token, "404", "404")] {
        assert_eq!(outcome(chains.readable(by, chain.id())), reads, "{by:?}");
        assert_eq!(outcome(chains.writable(by, chain.id())), sends, "{by:?}");
        assert_eq!(outcome(chains.record(by, chain.id())), "404", "it is in the list of its own workspace alone");
        assert_eq!((seen(by), chains.sight(by, chain.id()).unwrap().is_hidden()), (reads == "yes", reads == "404"));
        assert_eq!(outcome(chains.readable(by, open.id())), "yes", "everybody's");
    }
    // In the workspace of the chain the same user's token reads it, and another member's does not.
    let in_the_workspace = |who: &Principal| {
        let member = Principal::new(who.subject().clone(), me.workspace().clone(), Role::Viewer.cap());
        outcome(chains.readable(&member.under_grant("grt_fedcba9876543210".to_owned()), chain.id()))
    };
    assert_eq!([&outsider, &world.user("m@example.org")].map(in_the_workspace), ["yes", "403"]);
    // A key that is a participant itself reads, of whatever workspace; one that nobody named, whose maker is none, does not.
    let maker = world.user("k@example.org");
    let (named, other) = (key_of(&maker), key_of(&maker));
    records.unit(|unit| chains.add_participant(unit, &me, chain.id(), named.subject())).unwrap();
    assert_eq!([&named, &other].map(|key| outcome(chains.readable(key, chain.id()))), ["yes", "404"]);
}

/// A user as a member of the workspace of another.
fn invited(world: &World, by: &Principal, email: &str) -> (Principal, Principal) {
    let (user, members) = (world.user(email), world.platform.workspaces().members());
    let Subject::User(id) = user.subject() else { panic!("it is a user") };
    let (_, token) = world.platform.unit(|unit| members.invite(unit, by, email, Role::Developer)).unwrap();
    world.platform.unit(|unit| members.accept(unit, id, token.text())).unwrap();
    let member = world.platform.workspaces().principal(id, by.workspace()).unwrap().unwrap();
    (user, member)
}

fn remove(world: &World, by: &Principal, who: &Principal) -> Result<(), PlatformError> {
    let Subject::User(id) = who.subject() else { panic!("it is a user") };
    world.platform.unit(|unit| world.platform.workspaces().members().remove(unit, by, id))
}

#[test]
fn who_goes_from_a_workspace_takes_no_part_in_its_private_chains_any_more() {
    let world = World::new();
    let owner = world.user("owner@example.org");
    let (outside, member) = invited(&world, &owner, "leaver@example.org");
    let chains = world.platform.blockchains();
    let make = |by: &Principal, name: &str, features: serde_json::Value| {
        let spec = BlockchainSpec::read(json!({ "name": name, "features": features })).unwrap();
        chains.create(by, spec).unwrap()
    };
    let (shared, own) = (make(&owner, "shared", json!(["privacy"])), make(&member, "own", json!(["privacy"])));
    let open = make(&member, "open", json!([]));
    let key_of = |maker: &Principal| {
        let scopes = [Scope::BlockchainRead].into_iter().collect();
        let spec = ApiKeySpec { name: "k".to_owned(), scopes, lifetime_ms: None };
        let (value, _) = world.platform.unit(|unit| world.platform.api_keys().create(unit, maker, spec)).unwrap();
        world.platform.api_keys().authenticate(value.text()).unwrap().unwrap()
    };
    let (key, elsewhere, others) = (key_of(&member), key_of(&outside), key_of(&world.user("other@example.org")));
    let add = |by: &Principal, id: &str, who: &Principal| {
        world.platform.unit(|unit| chains.add_participant(unit, by, id, who.subject())).map(drop).unwrap();
    };
    for who in [&member, &key, &elsewhere, &others] {
        add(&owner, shared.id(), who);
    }
    add(&member, own.id(), &key);
    let read = || {
        let of = |who: &Principal| [&shared, &own].map(|chain| outcome(chains.readable(who, chain.id())));
        [of(&outside), of(&elsewhere), of(&others), of(&owner)]
    };
    let before = [["yes", "yes"], ["yes", "yes"], ["yes", "404"], ["yes", "403"]];
    assert_eq!(read(), before);
    // Nobody would be left on the list: the keys are its own.
    let refused = conflict(remove(&world, &member, &member));
    assert!(refused.contains(own.id()), "{refused}");
    assert!(!refused.contains(shared.id()) && !refused.contains(open.id()), "{refused}");
    assert_eq!(read(), before, "a refused change leaves all as it was");
    remove(&world, &owner, &member).unwrap();
    assert_eq!(read(), [["404", "404"], ["404", "404"], ["yes", "404"], ["yes", "yes"]]);
    let listed = |id: &str| chains.record(&owner, id).unwrap().value.participants;
    assert_eq!(listed(shared.id()), [owner.subject().clone(), others.subject().clone()]);
    assert_eq!(listed(own.id()), [owner.subject().clone()], "who removed the last one takes its place");
    assert_eq!(listed(open.id()), [member.subject().clone()], "without the feature the list says nothing");
    let mut lines = Vec::new();
    let log = world.platform.records().of::<AuditLine>();
    log.for_each(&Index::CREATED, &owner.owner(), &SortKey::new(), |line| {
        lines.extend(line.value.target.starts_with(&format!("blockchain {}: ", own.id())).then_some(line.value.action));
        Ok::<_, PlatformError>(())
    })
    .unwrap();
    let (added, removed) = ("blockchain.participant.add", "blockchain.participant.remove");
    assert_eq!(lines, [added, removed, removed, added]);
    // As somebody from outside it may be put back.
    add(&owner, shared.id(), &outside);
    assert_eq!(read()[0], ["yes", "404"]);
    // Where others are left, a member may leave.
    let (second_outside, second) = invited(&world, &owner, "second@example.org");
    add(&owner, own.id(), &second);
    assert_eq!(outcome(chains.readable(&second_outside, own.id())), "yes");
    remove(&world, &second, &second).unwrap();
    assert_eq!(outcome(chains.readable(&second_outside, own.id())), "404");
}

#[test]
fn without_smart_contracts_nobody_deploys() {
    let world = World::new();
    let chains = world.platform.blockchains();
    for features in [json!([]), json!(["permissions"])] {
        let chain = world.create(json!({ "name": "x", "features": features }));
        let treasury = chain.treasury().unwrap();
        let deployed = chains.deploy(&world.me(), DeploymentSpec::gold(chain.id()));
        assert!(conflict(deployed).contains("without the feature smart-contracts"));
        let token = Erc20Params::new("Gold", "GLD", U256::from(9), treasury).init_code();
        let create = || CallRequest::create(token.clone()).with_from(treasury).with_gas(Gas::new(3_000_000));
        assert!(conflict(chains.send(&world.me(), chain.id(), create())).contains("permits no deployments"));
        // The administrator of the lists can't change that.
        if features != json!([]) {
            let open = alloy_sol_types::SolCall::abi_encode(&sol::switchDeployerListCall { isOn: false });
            let switch = CallRequest::call(PERMISSIONS_ADDRESS, open).with_from(treasury);
            chains.send(&world.me(), chain.id(), switch).unwrap();
            assert!(conflict(chains.send(&world.me(), chain.id(), create())).contains("permits no deployments"));
        }
        // By a raw transaction neither.
        let outsider = KeyPair::from_seed(9, "outsider");
        let pay = CallRequest::call(outsider.address(), [])
            .with_from(treasury)
            .with_value(U256::from(10).pow(U256::from(20)));
        chains.send(&world.me(), chain.id(), pay).unwrap();
        let raw = TransactionRequest {
            chain_id: Some(chain.chain_id()),
            input: token.clone(),
            gas_limit: Gas::new(3_000_000),
            max_fee_per_gas: 10_000_000_000,
            ..Default::default()
        };
        let refused = chain.node().send(raw.sign(&outsider).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("not allowed"), "{refused}");
    }
}

#[test]
fn lists_of_accounts_and_deployers_start_with_the_workspaces_wallets() {
    let world = World::new();
    let chains = world.platform.blockchains();
    let chain = world.create(json!({ "name": "x", "features": ["permissions", "smart-contracts"] }));
    let managed = world.platform.wallets().managed(&world.me().owner()).unwrap().unwrap().value.address;
    let info = |account| chain.node().view().chain().permissions_of(chain.node().view().head(), account).unwrap();
    for account in [managed, chain.treasury().unwrap()] {
        assert!(info(account).isAccount && info(account).isDeployer);
    }
    assert!(!info(Address::repeat_byte(9)).maySend);
    let deployment = chains.deploy(&world.me(), DeploymentSpec::gold(chain.id())).unwrap();
    assert_eq!(deployment.value.from, chain.treasury().unwrap(), "the managed wallet has nothing yet");
}

#[test]
fn the_managed_wallet_sends_by_default_once_it_has_something() {
    let world = World::new();
    let (chains, me) = (world.platform.blockchains(), world.me());
    let chain = world.create(json!({ "name": "x" }));
    let managed = world.platform.wallets().managed(&me.owner()).unwrap().unwrap();
    let to_managed = CallRequest::call(managed.value.address, []).with_value(U256::from(10).pow(U256::from(20)));
    chains.send(&me, chain.id(), to_managed).unwrap();
    let hash = chains.send(&me, chain.id(), CallRequest::call(Address::repeat_byte(7), [])).unwrap();
    assert_eq!(chain.node().receipt(hash).unwrap().unwrap().transaction().sender(), managed.value.address);
    assert_eq!(chain.node().view().nonce(managed.value.address, BlockRef::Latest).unwrap(), 1);
    // Each use of a key is in the audit log.
    let lines = world.platform.records().of::<crate::platform::records::AuditLine>();
    let mut uses = Vec::new();
    let all = crate::platform::records::SortKey::new();
    lines
        .for_each(&Index::CREATED, &me.owner(), &all, |line| {
            if line.value.action == "wallet.sign" {
                uses.push(line.value.target);
            }
            Ok::<_, PlatformError>(())
        })
        .unwrap();
    assert_eq!(uses.len(), 2);
    assert!(uses[1].contains(managed.id()) && uses[1].contains(&hash.to_string()) && uses[1].ends_with(chain.id()));
    // A stranger's wallet signs for nobody else.
    let stranger = world.user("s@example.org");
    let theirs = world.platform.wallets().managed(&stranger.owner()).unwrap().unwrap().value.address;
    let refused = chains.send(&me, chain.id(), CallRequest::call(Address::ZERO, []).with_from(theirs));
    assert!(matches!(refused, Err(PlatformError::Validation { .. })), "{refused:?}");
    assert_ne!(theirs, managed.value.address);
}
