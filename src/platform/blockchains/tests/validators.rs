//! Validators over restarts of the service.

use super::*;
use crate::platform::{NewValidator, ValidatorId, ValidatorProcess, ValidatorState};

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
