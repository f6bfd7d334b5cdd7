//! Normal operation: lags, watermarks, locks, catch-up, restarts.

use core::time::Duration;

use super::{super::*, lab::*};
use crate::chain::Block;
use crate::{consensus::Verdict, primitives::Height};

#[test]
fn four_replicas_agree_with_the_lag_of_the_model() {
    let mut lab = Lab::new(4);
    lab.slots(40);
    assert!(lab.is_agreed());
    assert_eq!((lab.heads()[0].height.get(), lab.irreversible(0)), (40, 35));
    let finality = lab.replica(2).finality();
    assert_eq!((finality.safe.height, finality.irreversible), (Height::new(35), Height::new(35)));
    assert_eq!((lab.violations.len(), lab.rejections.len(), lab.evidence.len()), (0, 0, 0));
    // Irreversible blocks are pruned from the tree and from the records.
    assert_eq!(lab.nodes[0].records.keys().filter(|key| key.starts_with(BLOCK_PREFIX)).count(), 5);
}

#[test]
fn turns_of_several_blocks_and_orders_of_one_round_work_alike() {
    for config in [
        DposConfig::default().with_blocks_per_turn(3),
        DposConfig::default().with_shuffle(Shuffle::Round),
        DposConfig::default().with_period(Duration::from_secs(5)),
    ] {
        let mut lab = Lab::with_config(7, 7, config);
        lab.slots(120);
        assert!(lab.is_agreed() && lab.irreversible(0) > 80, "{config:?}: {}", lab.irreversible(0));
        assert_eq!(lab.violations.len(), 0, "{config:?}");
        assert_eq!(lab.heads()[0].height.get(), 120);
    }
}

#[test]
fn producers_of_missed_slots_are_absent() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    let owner = lab.owner(0, 9);
    lab.stop(owner);
    lab.slots(2);
    let other = (owner + 1) % 4;
    let payload = Payload::decode(&lab.sealed(other, 9).payload).unwrap();
    assert_eq!(payload.absent, [lab.signers[owner].address()]);
    lab.slots(30);
    assert!(lab.irreversible(other) > 20);
}

#[test]
fn a_replica_that_was_away_catches_up_from_below_however_far_it_is_behind() {
    for away in [10, 200, 600] {
        let mut lab = Lab::new(4);
        lab.slots(8);
        lab.split(&[0, 0, 0, 1]);
        lab.slots(away);
        // Partitioned, it produced a branch of its own.
        assert_ne!(lab.heads()[0], lab.heads()[3]);
        assert_eq!(lab.irreversible(3), 3);
        lab.heal();
        lab.slots(3);
        assert!(lab.is_agreed(), "{away}: {:?}", lab.heads());
        assert!(away < 200 || lab.mark("dpos/fetch-from-below") > 0, "{away}");
        lab.slots(12);
        assert_eq!(lab.irreversible(3), lab.heads()[3].height.get() - 5, "{away}");
        assert!(lab.violations.is_empty());
    }
}

#[test]
fn a_producer_that_changes_its_branch_confirms_only_above_its_watermark() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    lab.split(&[0, 0, 1, 1]);
    lab.slots(9);
    lab.heal();
    let mut above_watermark = 0;
    for slot in 18..26 {
        let owner = lab.owner(0, slot);
        let (safety_state, head) = (*lab.replica(owner).safety_state(), lab.replica(owner).head());
        let before = safety_state.confirmed.get().max(lab.irreversible(owner));
        let place = lab.link(owner).state.active().producers().index_of(&lab.signers[owner].address()).unwrap();
        above_watermark += u32::from(lab.link(owner).state.progress().confirmed_before(place) < safety_state.confirmed);
        lab.slot();
        let is_its = |block: &&Arc<Block>| block.timestamp().as_secs() == slot && block.parent_hash() == head.hash;
        let made = lab.nodes[owner].blocks.values().find(is_its).unwrap().clone();
        let confirmed = Confirmation::of_header(made.header()).unwrap().map_or(0, |vote| vote.confirmed);
        assert_eq!(u64::from(confirmed), head.height.get() + 1 - before, "slot {slot}");
    }
    assert!(lab.is_agreed() && lab.mark("dpos/reorg") > 0 && above_watermark > 0);
    assert!(lab.violations.is_empty());
}

#[test]
fn a_restarted_replica_has_its_branch_and_safety_state() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    lab.split(&[0, 0, 1, 1]);
    lab.slots(8);
    lab.heal();
    lab.slots(3);
    for index in 0..4 {
        let (head, finality) = (lab.replica(index).head(), lab.replica(index).finality());
        let safety_state = *lab.replica(index).safety_state();
        lab.restart(index);
        assert_eq!((lab.replica(index).head(), lab.replica(index).finality()), (head, finality));
        assert_eq!(*lab.replica(index).safety_state(), safety_state);
        assert_eq!(lab.replica(index).tree.side_blocks(), 0);
        lab.slots(1);
    }
    lab.slots(12);
    assert!(lab.is_agreed() && lab.violations.is_empty());
    assert_eq!(lab.irreversible(0), lab.heads()[0].height.get() - 5);
}

#[test]
fn a_restored_network_continues_at_its_head() {
    let mut lab = Lab::new(4);
    lab.slots(20);
    let head = lab.nodes[1].records[HEAD_KEY].clone();
    let restored =
        Dpos::restore(lab.fixture.config, &head, lab.authenticator.clone(), Some(lab.signers[1].clone())).unwrap();
    assert_eq!((restored.head(), restored.finality()), (lab.replica(1).head(), lab.replica(1).finality()));
    assert_eq!(restored.safety_state().slot, lab.replica(1).safety_state().slot);
    for bad in [&head[1..], &[head.as_ref(), &[0]].concat()] {
        let refused = Dpos::restore(lab.fixture.config, bad, lab.authenticator.clone(), None);
        assert!(matches!(refused, Err(DposError::Record { key: "head" })));
    }
}

#[test]
fn the_safety_state_is_durable_before_its_block_is_sent() {
    let mut lab = Lab::new(4);
    lab.slots(6);
    let slot = 7;
    let owner = lab.owner(0, slot);
    let replica = lab.replica_mut(owner);
    let mut effects = Vec::new();
    replica.step(Event::Timer(SLOT_TIMER), &mut effects);
    let Some(Effect::Build(request)) = effects.pop() else { panic!("{effects:?}") };
    let parent = request.parent;
    let block = lab.raw(parent, owner, request.payload.clone(), request.timestamp_min.as_secs(), &Odd::default());
    let replica = lab.replica_mut(owner);
    let unsealed = Arc::new(block.as_ref().clone().with_seal(Vec::new()));
    replica.step(Event::BlockBuilt { ticket: request.ticket, block: unsealed }, &mut effects);
    replica.step(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::VALID }, &mut effects);
    let persisted = effects.iter().position(|effect| {
        matches!(effect, Effect::Persist { records, .. } if records.iter().any(|record| *record.key == *SAFETY_STATE_KEY))
    });
    let (at, ticket) = match &effects[persisted.unwrap()] {
        Effect::Persist { ticket, .. } => (persisted.unwrap(), *ticket),
        other => panic!("{other:?}"),
    };
    let sent =
        effects.iter().position(|effect| matches!(effect, Effect::Send { after: Some(after), .. } if *after == ticket));
    assert!(sent.unwrap() > at);
}
