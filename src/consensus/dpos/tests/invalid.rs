//! Rejected inputs leave the state unchanged.

use super::{super::*, lab::*};
use crate::{
    chain::Block,
    consensus::{Purpose, ReplicaId, Verdict},
    primitives::{B64, B256, Bytes, Header, Height, KeyPair},
};

fn message(block: &Arc<Block>) -> Event {
    Event::Message { from: ReplicaId::new(1), message: ConsensusMessage::Block(block.clone()) }
}

/// Checks that replica 0 rejects the event with a reason that contains `named`.
fn refuse(lab: &Lab, event: Event, named: &str) {
    let mut replica = lab.replica(0).clone();
    let mut effects = Vec::new();
    replica.step(event, &mut effects);
    let [Effect::Reject(rejection)] = effects.as_slice() else { panic!("{named}: {effects:?}") };
    assert!(rejection.to_string().contains(named), "{named}: {rejection}");
    assert_eq!(replica, *lab.replica(0), "{named}");
    assert_eq!(replica.digest(), lab.replica(0).digest(), "{named}");
}

/// Checks that replica 0 does not keep a block of an unknown branch, and requests that branch of its sender.
fn only_ask(lab: &Lab, block: &Arc<Block>) {
    let mut replica = lab.replica(0).clone();
    let mut effects = Vec::new();
    replica.step(message(block), &mut effects);
    let [Effect::Fetch { block: asked, from }, Effect::Mark("dpos/fetch-from-below")] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let next = lab.heads()[0].height.next();
    assert_eq!((asked.hash, asked.height, *from), (B256::ZERO, next.min(block.height()), ReplicaId::new(1)));
    replica.catch_up = Default::default();
    assert_eq!(replica, *lab.replica(0));
}

fn payload(lab: &Lab, change: impl FnOnce(&mut Payload)) -> Odd {
    let mut payload = Payload::decode(lab.block(0, lab.fixture.now + 1, &Odd::default()).payload()).unwrap();
    change(&mut payload);
    Odd { payload: Some(payload), ..Odd::default() }
}

#[test]
fn invalid_blocks_leave_the_state_unchanged() {
    let mut lab = Lab::with_config(5, 4, DposConfig::default());
    lab.slots(10);
    let slot = lab.fixture.now + 1;
    let (owner, other) = (lab.owner(0, slot), lab.owner(0, slot + 1));
    let other_set = lab.set(3);
    let cases = [
        ("is none of the 4 producers", Odd { author: Some(4), confirmed: Some(1), ..Odd::default() }),
        ("belongs to", Odd { author: Some(other), ..Odd::default() }),
        ("timestamp is", Odd { timestamp: Some(lab.fixture.now), ..Odd::default() }),
        ("beneficiary is", Odd { beneficiary: Some(Address::ZERO), ..Odd::default() }),
        ("difficulty is not zero", Odd { difficulty: 1, ..Odd::default() }),
        ("mixHash is 0x0101", Odd { mix_hash: B256::repeat_byte(1), ..Odd::default() }),
        ("nonce is 0x0000000000000001", Odd { nonce: Some(B64::with_last_byte(1)), ..Odd::default() }),
        ("nonce is 0xffffffffffffffff", Odd { nonce: Some(B64::repeat_byte(0xff)), ..Odd::default() }),
        (
            "expected 8 under 0",
            Odd { implied: Some(Prepared { version: 0, height: Height::new(7) }), ..Odd::default() },
        ),
        (
            "expected 8 under 0",
            Odd { implied: Some(Prepared { version: 1, height: Height::new(8) }), ..Odd::default() },
        ),
        ("are confirmed", Odd { confirmed: Some(5), ..Odd::default() }),
        ("missed slots", payload(&lab, |payload| payload.absent.push(Address::ZERO))),
        ("proposes", payload(&lab, |payload| payload.proposes = Some(other_set))),
        ("activates", payload(&lab, |payload| payload.activates = Some(B256::ZERO))),
    ];
    for (named, odd) in cases {
        refuse(&lab, message(&lab.block(0, slot, &odd)), named);
    }
    let good = lab.block(0, slot, &Odd::default());
    let unsealed = Arc::new(good.as_ref().clone().with_seal(Bytes::new()));
    refuse(&lab, message(&unsealed), "seal has 0 bytes");
    let forged = Arc::new(good.as_ref().clone().with_seal(lab.signers[owner].sign(Purpose::Block, B256::ZERO)));
    refuse(&lab, message(&forged), "was not made by");
    let other_payload = Block::new(good.header().clone(), Vec::new(), vec![0xc0].into(), Vec::new());
    refuse(&lab, message(&Arc::new(other_payload.with_seal(good.seal().clone()))), "extraData");
    let parent = lab.heads()[0];
    let garbage = lab.raw(parent, owner, Bytes::from_static(&[0xc1, 0x01]), slot, &Odd::default());
    refuse(&lab, message(&garbage), "payload");
}

#[test]
fn old_and_repeated_blocks_leave_the_state_unchanged() {
    let mut lab = Lab::with_config(5, 4, DposConfig::default());
    lab.slots(10);
    let head = lab.nodes[0].blocks[&lab.heads()[0].hash].clone();
    refuse(&lab, message(&head), "not asked for");
    let old = lab.sealed(0, 3);
    let old = Arc::new(Block::new(old.header, Vec::new(), old.payload, Vec::new()).with_seal(old.seal));
    refuse(&lab, message(&old), "below the oldest");
    let nowhere = |height: u64, author| {
        let parent = BlockId { height: Height::new(height - 1), hash: B256::repeat_byte(9) };
        lab.raw(parent, author, Bytes::new(), 99, &Odd::default())
    };
    for (height, author) in [(20_000, 0), (20_000, 4), (12, 4), (7, 4)] {
        only_ask(&lab, &nowhere(height, author));
    }
}

/// A replica that comes back after weeks in which nobody was there takes the first block after them. Whoever executes it waits for its time.
#[test]
fn a_block_may_be_any_number_of_slots_after_the_head() {
    let mut lab = Lab::with_config(5, 4, DposConfig::default());
    lab.slots(10);
    let far = (lab.fixture.now + (1 << 32)..).find(|slot| lab.owner(0, *slot) == 1).unwrap();
    let block = lab.block(0, far, &Odd::default());
    let (mut replica, mut effects) = (lab.replica(0).clone(), Vec::new());
    replica.step(message(&block), &mut effects);
    let [Effect::Validate { block: judged }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(judged.hash(), block.hash());
}

#[test]
fn unrequested_responses_leave_the_state_unchanged() {
    let mut lab = Lab::new(4);
    lab.slots(10);
    let head = lab.heads()[0];
    let block = lab.nodes[0].blocks[&head.hash].clone();
    refuse(&lab, Event::BlockJudged { block: head, verdict: Verdict::VALID }, "verdict");
    refuse(&lab, Event::BlockSynced { from: ReplicaId::new(1), block: block.clone() }, "block");
    refuse(&lab, Event::Admin(crate::consensus::Admin::Read { request: 1 }), "elected by stake");
    for (event, marks) in [
        (Event::Random { ticket: Ticket::new(9), value: 1 }, &["dpos/stale-answer"][..]),
        (Event::Timer(TimerId::new(9)), &["dpos/stale-answer"]),
        (Event::Persisted(Ticket::new(99)), &[]),
        (Event::BlockBuilt { ticket: Ticket::new(999), block }, &["dpos/stale-build"]),
    ] {
        let mut replica = lab.replica(0).clone();
        let mut effects = Vec::new();
        replica.step(event, &mut effects);
        let passed = effects.iter().map(|effect| match effect {
            Effect::Mark(mark) => *mark,
            other => panic!("{other:?}"),
        });
        assert!(passed.eq(marks.iter().copied()), "{effects:?}");
        assert_eq!(replica, *lab.replica(0));
    }
}

#[test]
fn invalid_evidence_is_refused() {
    let mut lab = Lab::with_config(5, 4, DposConfig::default());
    lab.slots(10);
    let sealed = |author: usize, time: u64, salt: u64, gas_used: u64| {
        let header = Header { timestamp: time, gas_limit: salt, gas_used, number: 7, ..Header::default() };
        let seal = lab.signers[author].sign(Purpose::Block, header.hash_slow());
        (header, seal)
    };
    let with = |proofs: Vec<ConflictingBlocks>| payload(&lab, |payload| payload.evidence = proofs);
    let good = ConflictingBlocks::new(sealed(1, 8, 1, 0), sealed(1, 8, 2, 0));
    let swapped = ConflictingBlocks {
        first: good.second.clone(),
        first_seal: good.second_seal.clone(),
        second: good.first.clone(),
        second_seal: good.first_seal.clone(),
    };
    let cases = [
        ("ascending order", vec![swapped]),
        ("ascending order", vec![ConflictingBlocks::new(sealed(1, 8, 1, 0), sealed(1, 8, 1, 0))]),
        ("do not contradict", vec![ConflictingBlocks::new(sealed(1, 8, 1, 0), sealed(1, 7, 1, 0))]),
        ("of a later slot", vec![ConflictingBlocks::new(sealed(1, 80, 1, 0), sealed(1, 80, 2, 0))]),
        ("the same active producer", vec![ConflictingBlocks::new(sealed(1, 8, 1, 0), sealed(2, 8, 2, 0))]),
        ("is no candidate for election", vec![ConflictingBlocks::new(sealed(4, 8, 1, 0), sealed(4, 8, 2, 0))]),
        ("is reported already", vec![good.clone(), good.clone()]),
    ];
    for (named, proofs) in cases {
        refuse(&lab, message(&lab.block(0, lab.fixture.now + 1, &with(proofs))), named);
    }
    let reported = lab.block(0, lab.fixture.now + 1, &with(vec![good.clone()]));
    lab.announce(0, &reported);
    assert_eq!(lab.replica(0).head(), BlockId::of(&reported));
    lab.fixture.now += 1;
    let again = payload(&lab, |payload| payload.evidence = vec![good]);
    refuse(&lab, message(&lab.block(0, lab.fixture.now + 1, &again)), "is reported already");
}

#[test]
fn blocks_kept_for_non_producers_and_one_producer_are_bounded() {
    let mut lab = Lab::new(4);
    lab.slots(10);
    let stranger = lab.authenticator.signer(&KeyPair::from_seed(77, "nobody"));
    let signer = lab.signers[1].clone();
    let replica = lab.replica_mut(0);
    let mut effects = Vec::new();
    let before = replica.clone();
    for salt in 0..1_000 {
        let header = Header { number: 12, gas_limit: salt, ..Header::default() };
        let block = Block::new(header, Vec::new(), Bytes::new(), Vec::new());
        let seal = stranger.sign(Purpose::Block, block.hash());
        replica.step(message(&Arc::new(block.with_seal(seal))), &mut effects);
    }
    let chains = core::mem::take(&mut replica.catch_up);
    assert!(*replica == before && chains != replica.catch_up, "one request, and no block");
    for salt in 0..1_000 {
        let header = Header { number: 12 + salt % 20, gas_limit: salt, ..Header::default() };
        let block = Block::new(header, Vec::new(), Bytes::new(), Vec::new());
        let seal = signer.sign(Purpose::Block, block.hash());
        replica.step(message(&Arc::new(block.with_seal(seal))), &mut effects);
    }
    assert_eq!(replica.intake.orphans.len(), 64);
    // Messages of the other replicas are still processed.
    lab.slots(30);
    assert_eq!(lab.irreversible(0), 35);
    assert_eq!(lab.replica(0).intake.orphans.len(), 0, "orphans at and below what is irreversible are forgotten");
}

#[test]
fn a_non_producers_block_is_kept_when_a_producer_extends_it() {
    let mut lab = Lab::with_config(5, 4, DposConfig::default());
    lab.slots(10);
    let below = BlockId { height: Height::new(11), hash: B256::repeat_byte(9) };
    let strange = lab.raw(below, 4, Bytes::new(), 12, &Odd::default());
    only_ask(&lab, &strange);
    let upon = lab.raw(BlockId::of(&strange), 0, Bytes::new(), 13, &Odd::default());
    let mut replica = lab.replica(0).clone();
    for (block, missing) in [(&upon, BlockId::of(&strange)), (&strange, below)] {
        let mut effects = Vec::new();
        replica.step(message(block), &mut effects);
        assert!(effects.iter().any(|it| matches!(it, Effect::Fetch { block, .. } if *block == missing)), "{effects:?}");
    }
    assert_eq!(replica.head(), lab.replica(0).head());
}
