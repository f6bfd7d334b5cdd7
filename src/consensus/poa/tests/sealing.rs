//! When a signer seals, and what it repeats.

use super::*;

/// Seals the block that the replica may make now, if it may, and returns it.
fn seal(setup: &Setup, poa: &mut Poa, signer: usize, parent: &Block) -> Option<Arc<Block>> {
    let requested = match poa.production {
        Production::Scheduled => drive(poa, Event::Timer(SEAL_TIMER)),
        Production::DrawingDelay(ticket) => {
            drive(poa, Event::Random { ticket, value: 0 });
            drive(poa, Event::Timer(SEAL_TIMER))
        }
        _ => return None,
    };
    let [Effect::Build(request)] = requested.as_slice() else { panic!("{requested:?}") };
    let block = setup.block(parent, signer, &Odd::default());
    assert_eq!(request.parent, BlockId::of(parent));
    drive(poa, Event::BlockBuilt { ticket: request.ticket, block: block.clone() });
    Some(block)
}

/// A split leaves two branches of equal weight; the shorter one wins (EIP-3436), and those who may extend it have sealed
/// its next height on the other one. They seal it again: Clique has no rule against that.
#[test]
fn a_signer_seals_a_height_again_on_the_branch_that_won() {
    let setup = Setup::new(4);
    let common = setup.branch(&setup.genesis, &[1, 2]);
    // In turn at 3: heavy and short. Out of turn at 3 and 4: as heavy, and longer.
    let (short, first) = (setup.branch(&common[1], &[3]), setup.branch(&common[1], &[0]));
    let mut poa = setup.replica(Some(1));
    drive(&mut poa, Event::Start);
    receive_all(&mut poa, common.iter().chain(&first));
    let lost = seal(&setup, &mut poa, 1, &first[0]).expect("it may seal height 4");
    assert_eq!((poa.head(), poa.total_difficulty()), (BlockId::of(&lost), 6));
    receive_all(&mut poa, &short);
    assert_eq!((poa.head(), poa.total_difficulty()), (BlockId::of(&short[0]), 6), "as heavy, and shorter");
    let again = seal(&setup, &mut poa, 1, &short[0]).expect("it may seal height 4 on the other branch");
    assert_eq!((again.height(), poa.head()), (lost.height(), BlockId::of(&again)));
    // Nobody takes it for a liar.
    let mut other = setup.replica(None);
    let all = [&common, &first, &short].into_iter().flatten().chain([&lost, &again]);
    let effects: Vec<_> = all.flat_map(|block| receive(&mut other, block)).collect();
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Evidence(_))));
    assert_eq!(other.head(), BlockId::of(&again));
}

#[test]
fn a_restarted_signer_seals_no_second_block_on_a_parent() {
    let setup = Setup::new(4);
    let common = setup.branch(&setup.genesis, &[1, 2]);
    let mut poa = setup.replica(Some(3));
    drive(&mut poa, Event::Start);
    receive_all(&mut poa, &common);
    let head = super::record::head(&poa.tree);
    let sealed = seal(&setup, &mut poa, 3, &common[1]).expect("its turn");
    let signed = super::record::signed(&poa.tree.head().fork_choice_key);
    let genesis = (BlockId::of(&setup.genesis), setup.genesis.timestamp());
    // Of the records of one write, any first ones may be durable.
    for written in
        [vec![super::record::sealed(&sealed)], vec![super::record::sealed(&sealed), signed.clone()], vec![signed]]
    {
        let mut records = Records::new();
        records.apply([head.clone()].into_iter().chain(written));
        let (authenticator, signer) = (setup.authenticator.clone(), Some(setup.signers[3].clone()));
        let mut poa = Poa::recover(setup.config, genesis, setup.set(), &records, authenticator, signer).unwrap();
        let mut effects = Vec::new();
        poa.step(Event::Start, &mut effects);
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Mark("poa/refuse-double-sign"))), "{effects:?}");
        assert_eq!(poa.production, Production::Idle);
    }
}

#[test]
fn a_replica_seals_once_a_height_and_announces_after_its_record() {
    let setup = Setup::new(1);
    let mut poa = setup.replica(Some(0));
    let armed = drive(&mut poa, Event::Start);
    assert!(matches!(
        armed.as_slice(),
        [Effect::ArmTimer { timer: ANNOUNCE_TIMER, .. }, Effect::ArmTimer { timer: SEAL_TIMER, .. }]
    ));
    let requested = drive(&mut poa, Event::Timer(SEAL_TIMER));
    let [Effect::Build(request)] = requested.as_slice() else { panic!("{requested:?}") };
    let block = setup.block(&setup.genesis, 0, &Odd::default());
    let effects = drive(&mut poa, Event::BlockBuilt { ticket: request.ticket, block: block.clone() });
    let record = effects.iter().find_map(|effect| match effect {
        Effect::Persist { ticket, records } if records.iter().any(|record| *record.key == *SIGNED_KEY) => Some(*ticket),
        _ => None,
    });
    let sent_after = effects.iter().find_map(|effect| match effect {
        Effect::Send { after, .. } => *after,
        _ => None,
    });
    assert!(record.is_some() && record == sent_after);
    assert_eq!(poa.head(), BlockId::of(&block));
    assert_eq!(poa.finality().finalized, poa.head(), "one validator: the head");
    let again = drive(&mut poa, Event::BlockBuilt { ticket: request.ticket, block });
    assert!(matches!(again.as_slice(), [Effect::Mark("poa/stale-build")]));
}

#[test]
fn lost_sealed_blocks_are_rebroadcast_and_no_others_are_sealed_in_their_place() {
    let setup = Setup::new(4);
    let blocks = setup.branch(&setup.genesis, &[1, 2, 3, 0, 1, 2]);
    // Signer 1 had sealed blocks 1 and 5; the stored chain ends at block 1.
    let mut ahead = setup.replica(None);
    receive_all(&mut ahead, &blocks[..5]);
    let key = ahead.tree.head().fork_choice_key;
    let mut before = setup.replica(None);
    receive(&mut before, &blocks[0]);
    let written = [
        super::record::head(&before.tree),
        super::record::signed(&key),
        super::record::sealed(&blocks[0]),
        super::record::sealed(&blocks[4]),
    ];
    let mut records = Records::new();
    records.apply(written);
    let genesis = (BlockId::of(&setup.genesis), setup.genesis.timestamp());
    let (authenticator, signer) = (setup.authenticator.clone(), Some(setup.signers[1].clone()));
    let mut poa = Poa::recover(setup.config, genesis, setup.set(), &records, authenticator, signer).unwrap();
    let effects = drive(&mut poa, Event::Start);
    let said = |effects: &[Effect]| -> Vec<u64> {
        let blocks = effects.iter().filter_map(|effect| match effect {
            Effect::Send { message: ConsensusMessage::Block(block), after: None, .. } => Some(block.height().get()),
            _ => None,
        });
        blocks.collect()
    };
    assert_eq!(said(&effects), [5], "block 1 is in the chain");
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Mark("poa/say-sealed-again"))).count(), 1);
    let forgotten = super::record::no_sealed(Height::new(1));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Persist { records, .. } if *records == [forgotten.clone()]))
    );
    // The message may have been lost.
    assert_eq!(said(&drive(&mut poa, Event::Timer(ANNOUNCE_TIMER))), [5, 5]);
    // Its own block is an orphan until those of others arrive.
    receive_all(&mut poa, &blocks[1..4]);
    assert_eq!(poa.head(), BlockId::of(&blocks[4]));
    assert_eq!(poa.signed, Some(key));
    let effects = drive(&mut poa, Event::Timer(ANNOUNCE_TIMER));
    assert_eq!(said(&effects), [5], "as the head");
    receive(&mut poa, &blocks[5]);
    let effects = drive(&mut poa, Event::Timer(ANNOUNCE_TIMER));
    assert_eq!(said(&effects), [6], "no sealed block is missing any more");
    assert!(poa.sealed.is_empty());
}
