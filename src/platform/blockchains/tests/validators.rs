//! Validators over restarts of the service.

use alloy_primitives::B256;
use serde_json::Value;

use super::*;
use crate::{
    consensus::{Authenticator, BlockId, Purpose, Signer, dpos, pbft, pos},
    node::BlockRef,
    platform::{
        NewValidator, SlashOrder, SlashSpec, SlashedBy, ValidatorId, ValidatorProcess, ValidatorState,
        blockchain::ChainKeys,
    },
    primitives::{Bytes, Height},
};

fn running(world: &World, id: &str) -> Arc<Blockchain> {
    world.platform.running_blockchain(id).unwrap()
}

#[test]
fn a_stopped_validator_is_down_and_an_added_one_is_up_after_a_restart() {
    for consensus in ["proof-of-authority", "pbft", "raft"] {
        let world = World::new();
        let chain = world.create(of_four(consensus));
        let (id, me) = (chain.id().to_owned(), world.me());
        world.run(&chain, 5);
        let first = ValidatorId::new(&id, Address::repeat_byte(1));
        let fifth = ValidatorId::new(&id, Address::repeat_byte(5));
        let new = NewValidator { operator: fifth.operator, metadata: "{}".to_owned(), ..NewValidator::default() };
        world.platform.validators().add(&me, &id, &world.platform.new_id("tx").unwrap(), &new).unwrap();
        assert!(conflict(world.platform.validators().start(&me, &first)).contains("not stopped"));
        world.platform.validators().stop(&me, &first).unwrap();
        let validators = world.platform.validators();
        world.platform.unit(|unit| validators.note(unit, &me, &first, true)).unwrap();
        world.run(&chain, 200);
        let active = validators.get(&me, &fifth).unwrap().1;
        assert_eq!((active.state, active.process), (ValidatorState::Active, ValidatorProcess::Up), "{consensus}");
        drop(chain);

        let world = world.restarted(Duration::from_secs(60));
        let chain = running(&world, &id);
        let validators = world.platform.validators();
        let (down, up) = (validators.get(&me, &first).unwrap().1, validators.get(&me, &fifth).unwrap().1);
        assert_eq!((down.process, up.process), (ValidatorProcess::Down, ValidatorProcess::Up), "{consensus}");
        assert_eq!(up.sealing_key, active.sealing_key);
        let before = height(&chain);
        world.run(&chain, 60);
        assert!(height(&chain) > before + 10, "{consensus}: the others go on");
        assert!(validators.replica_head(&chain, &down).unwrap() <= before, "{consensus}");
        validators.start(&me, &first).unwrap();
        world.platform.unit(|unit| validators.note(unit, &me, &first, false)).unwrap();
        world.run(&chain, 30);
        assert!(validators.replica_head(&chain, &down).unwrap() + 2 >= height(&chain), "{consensus}");
        drop(chain);

        let world = world.restarted(Duration::from_secs(1));
        let started = world.platform.validators().get(&me, &first).unwrap().1;
        assert_eq!((started.process, started.name.as_str()), (ValidatorProcess::Up, "v1"), "{consensus}");
    }
}

#[test]
fn a_chain_has_eight_standby_keys_and_its_validators_go_with_it() {
    let world = World::new();
    let chain = world.create(of_four("proof-of-authority"));
    let (id, me) = (chain.id().to_owned(), world.me());
    world.run(&chain, 2);
    let add = |byte: u8| {
        let new =
            NewValidator { operator: Address::repeat_byte(byte), metadata: "{}".to_owned(), ..NewValidator::default() };
        world.platform.validators().add(&me, &id, &world.platform.new_id("tx").unwrap(), &new)
    };
    let active = || {
        let listed = world.platform.validators().list(&me, &id).unwrap();
        listed.iter().filter(|one| one.state == ValidatorState::Active).count()
    };
    for (before, byte) in (4..).zip(0x10..0x18) {
        add(byte).unwrap();
        // Out of turn, a block may take a few seconds (Clique's delays), and a joiner counts from the block after its own.
        let joined = (0..30).any(|_| {
            world.run(&chain, 1);
            active() > before
        });
        assert!(joined, "{byte:#x} joined within half a minute");
    }
    assert!(conflict(add(0x18)).contains("no sealing key left"));
    assert!(conflict(add(0x10)).contains("already"));
    assert_eq!(active(), 12);
    drop(chain);
    world.command(&id, ChainCommand::Delete);
    assert!(matches!(world.platform.validators().list(&me, &id), Err(PlatformError::NotFound { .. })));
    let records = world.platform.records().of::<crate::platform::HostedValidator>();
    let all = crate::platform::records::Index::CREATED;
    let left = records.count(&all, &me.owner(), &crate::platform::records::SortKey::new()).unwrap();
    assert_eq!(left, 0, "its records are gone");
}

/// Makes evidence against a key.
type Offence = fn(&Blockchain, &Signer) -> Value;

/// Two votes of one validator for one slot.
fn double_vote(chain: &Blockchain, signer: &Signer) -> Value {
    let view = chain.node().view();
    let id = |height: u64| {
        let block = view.block(BlockRef::Number(Height::new(height))).unwrap();
        BlockId { hash: block.hash(), height: Height::new(height) }
    };
    let head = height(chain);
    let slot = pos::Payload::decode(view.head().block().protocol_payload()).unwrap().slot;
    let (source, target) = (pos::Checkpoint { epoch: 0, block: id(0) }, pos::Checkpoint { epoch: 1, block: id(0) });
    let vote = |head| pos::Vote::signed(pos::VoteData { slot, head, source, target }, signer);
    serde_json::to_value(pos::SlashingEvidence::of_votes(&vote(id(head)), &vote(id(head - 1))).unwrap()).unwrap()
}

/// Two headers of one producer for one slot.
fn two_headers(chain: &Blockchain, signer: &Signer) -> Value {
    let view = chain.node().view();
    let sealed = |extra: &'static [u8]| {
        let mut header = view.block(BlockRef::Number(Height::new(height(chain)))).unwrap().block().header().clone();
        header.extra_data = Bytes::from_static(extra);
        let seal = signer.sign(Purpose::Block, header.hash_slow());
        (header, seal)
    };
    serde_json::to_value(dpos::ConflictingBlocks::new(sealed(b"one"), sealed(b"other"))).unwrap()
}

/// Two votes of one validator in one phase.
fn two_votes(chain: &Blockchain, signer: &Signer) -> Value {
    let (height, view) = (Height::new(height(chain)), pbft::View::new(0));
    let vote = |byte: u8| {
        let block = BlockId { hash: B256::repeat_byte(byte), height };
        (block.hash, pbft::PbftMessage::signed(pbft::Body::Prepare { view, block }, signer).signature)
    };
    serde_json::to_value(pbft::DoubleSigning::new(pbft::Phase::Prepare, view, height, vote(1), vote(2))).unwrap()
}

#[test]
fn evidence_that_was_taken_convicts_also_after_a_crash() {
    let offences: [(&str, Offence); 3] =
        [("proof-of-stake", double_vote), ("delegated-proof-of-stake", two_headers), ("pbft", two_votes)];
    for (consensus, offence) in offences {
        let world = World::new();
        let chain = world.create(of_four(consensus));
        let (id, me) = (chain.id().to_owned(), world.me());
        world.run(&chain, 5);
        let context = &world.platform.context;
        let keys = ChainKeys::open(&context.vault, &context.records, &me.owner(), &id).unwrap().validators().unwrap();
        let accused = world.platform.validators().of_chain(&chain).unwrap()[0].clone();
        let key = keys.iter().find(|key| key.address() == accused.sealing_key).unwrap();
        let genesis = chain.node().view().block(BlockRef::Number(Height::GENESIS)).unwrap().hash();
        let evidence = offence(&chain, &Authenticator::secp256k1().for_chain(genesis).signer(key));
        let spec =
            SlashSpec { reason: "it signed two".to_owned(), order: SlashOrder::Evidence { evidence, part: None } };
        let slash = |world: &World, request| world.platform.validators().slash(&me, &accused.id, request, &spec);
        assert_eq!(slash(&world, "tx_1").unwrap(), SlashedBy::Protocol);
        drop(chain);

        // No block has it yet.
        let world = world.restarted(Duration::ZERO);
        let chain = running(&world, &id);
        let state = |world: &World| world.platform.validators().get(&me, &accused.id).unwrap().1.state;
        assert_eq!(state(&world), ValidatorState::Active, "{consensus}");
        assert_eq!(slash(&world, "tx_1").unwrap(), SlashedBy::Protocol, "the request that is run again is done");
        // The least committee of PBFT keeps it until another joins.
        let convicted = if consensus == "pbft" { ValidatorState::Exiting } else { ValidatorState::Tombstoned };
        let is_out = (0..30).any(|_| {
            world.run(&chain, 1);
            state(&world) == convicted
        });
        assert!(is_out, "{consensus}: {:?}", state(&world));
        conflict(slash(&world, "tx_2"));
        drop(chain);

        let kept = |world: &World| {
            let given = crate::platform::records::SortKey::new();
            let records = world.platform.records().of::<crate::platform::evidence::GivenEvidence>();
            records.count(&crate::platform::records::Index::CREATED, &me.owner(), &given).unwrap()
        };
        let world = world.restarted(Duration::from_secs(7200));
        assert_eq!(kept(&world), 1, "{consensus}: the block that reports it may lose");
        let world = world.restarted(Duration::from_secs(7200));
        assert_eq!((kept(&world), state(&world)), (0, convicted), "{consensus}");
        world.command(&id, ChainCommand::Delete);
    }
}

#[test]
fn the_last_validator_stays() {
    for consensus in ["proof-of-authority", "proof-of-stake", "delegated-proof-of-stake", "pbft", "raft"] {
        let world = World::new();
        let chain = world.create(json!({ "name": "one", "consensus": consensus, "config": { "blockTime": "1s" } }));
        world.run(&chain, 3);
        let (me, validators) = (world.me(), world.platform.validators());
        let [only] = &validators.list(&me, chain.id()).unwrap()[..] else { panic!("{consensus}") };
        let refused = conflict(validators.remove(&me, &only.id, "tx_1", None));
        assert!(refused.contains("the last one"), "{consensus}: {refused}");
    }
}

#[test]
fn a_validator_of_genesis_is_listed_when_it_is_out() {
    for consensus in ["proof-of-authority", "raft"] {
        let world = World::new();
        let chain = world.create(of_four(consensus));
        world.run(&chain, 3);
        let (me, first) = (world.me(), ValidatorId::new(chain.id(), Address::repeat_byte(1)));
        let get = || world.platform.validators().get(&me, &first).unwrap().1;
        let before = get();
        world.platform.validators().remove(&me, &first, "tx_1", None).unwrap();
        let is_out = (0..60).any(|_| {
            world.run(&chain, 1);
            get().state == ValidatorState::Removed
        });
        assert!(is_out, "{consensus}: {:?}", get().state);
        let after = get();
        assert_eq!((after.name, after.sealing_key), (before.name, before.sealing_key), "{consensus}");
        assert_eq!(world.platform.validators().list(&me, chain.id()).unwrap().len(), 4, "{consensus}");
    }
}
