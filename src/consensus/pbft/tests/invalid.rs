//! Input that counts for nothing: refused, counted, and the state is as it was; floods stay small.

use std::sync::Arc;

use super::lab::Lab;
use crate::{
    consensus::{
        BlockId, Effect, Event, Message, Protocol, ReplicaId, Ticket, TimerId, Verdict,
        pbft::{Body, InView, NewView, PbftMessage, VIEW_CHANGES_AHEAD_MAX, VIEWS_AHEAD_MAX, View, ViewChange},
    },
    primitives::{B256, Bytes, Height, KeyPair, keccak256},
};

fn id(height: u64, byte: u8) -> BlockId {
    BlockId { height: Height::new(height), hash: B256::repeat_byte(byte) }
}

#[test]
fn invalid_messages_leave_the_state_as_it_was() {
    let mut lab = Lab::new(4);
    (0..5).for_each(|_| lab.produce());
    lab.suspect();
    assert_eq!(lab.views(), [1; 4]);
    (0..2).for_each(|_| lab.produce());
    let (view, head) = (View::new(1), lab.canonical(2, 7));
    let next = id(8, 7);
    let stable = lab.replicas[2].stable_checkpoint();
    let prepare = lab.signed(3, Body::Prepare { view, block: next });
    lab.inject(3, 2, prepare.clone());
    let commit = lab.signed(0, Body::Commit { view, block: next });
    lab.inject(0, 2, commit);
    lab.settle();

    let stranger = lab.authenticator.signer(&KeyPair::from_seed(99, "stranger"));
    let forged = PbftMessage { signature: vec![7; 52].into(), ..prepare.clone() };
    let vote = |view: u64, block| Body::Prepare { view: View::new(view), block };
    let wish = |view: u64| ViewChange {
        view: View::new(view),
        stable,
        checkpoints: vec![stable],
        prepared: vec![],
        pre_prepared: vec![],
    };
    let entry = |height, view| InView { block: id(height, 1), view: View::new(view) };
    let new_view = |view: u64, wishes: &[(usize, ViewChange)], chosen| {
        let view_changes = wishes.iter().map(|(who, wish)| lab.signed(*who, Body::ViewChange(wish.clone())));
        Body::NewView(NewView {
            view: View::new(view),
            view_changes: view_changes.collect(),
            checkpoint: stable,
            chosen,
        })
    };
    let three = [(0, wish(3)), (1, wish(3)), (3, wish(3))];
    let mut outsiders = new_view(3, &three, vec![]);
    if let Body::NewView(outsiders) = &mut outsiders {
        outsiders.view_changes[2] = PbftMessage::signed(Body::ViewChange(wish(3)), &stranger);
    }
    let mut wrong_parent_lab = Lab::new(4);
    wrong_parent_lab.salt = 1_000;
    let elsewhere = lab.canonical(2, 6);
    let fork = {
        let block = wrong_parent_lab.block(&elsewhere, 1);
        let header = crate::primitives::Header { number: 8, ..block.header().clone() };
        let block = crate::chain::Block::new(header, vec![], Bytes::new(), vec![]);
        let signature = lab.signers[1].sign(keccak256(super::super::vote::pre_prepare(view, &BlockId::of(&block))));
        let seal = super::super::Seal::Proposal { view, signature: signature.clone() };
        PbftMessage { body: Body::PrePrepare { view, block: Arc::new(block.with_seal(seal.encoded())) }, signature }
    };
    let (_, by_backup) = {
        let mut other = Lab::new(4);
        other.proposal(&head, 3, 1)
    };
    let (_, old_view) = {
        let mut other = Lab::new(4);
        other.proposal(&head, 0, 0)
    };
    let unsealed = {
        let mut other = Lab::new(4);
        let block = Arc::new(other.block(&head, 1));
        lab.signed(1, Body::PrePrepare { view, block })
    };
    let sign = |who: usize, body: Body| lab.signed(who, body);
    let cases = [
        ("forged signature", forged),
        ("not a validator", PbftMessage::signed(vote(1, next), &stranger)),
        ("one's own, reflected", sign(2, vote(1, next))),
        ("replayed prepare", prepare),
        ("prepare of the primary", sign(1, vote(1, next))),
        ("prepare of an old view", sign(3, vote(0, next))),
        ("prepare of a far view", sign(3, vote(2 + VIEWS_AHEAD_MAX, next))),
        ("commit of an endless view", sign(3, Body::Commit { view: View::new(u64::MAX), block: next })),
        ("below the low watermark", sign(3, vote(1, id(4, 1)))),
        ("proposal by a backup", by_backup),
        ("proposal of an old view", old_view),
        ("proposal without its seal", unsealed),
        ("proposal on another parent", fork),
        ("checkpoint where none is due", sign(3, Body::Checkpoint { block: id(7, 1) })),
        ("stable checkpoint again", sign(3, Body::Checkpoint { block: stable })),
        ("view-change of a far view", sign(3, Body::ViewChange(wish(2 + VIEW_CHANGES_AHEAD_MAX)))),
        (
            "view-change without its checkpoint",
            sign(3, Body::ViewChange(ViewChange { checkpoints: vec![], ..wish(2) })),
        ),
        (
            "view-change that prepared in the future",
            sign(3, Body::ViewChange(ViewChange { prepared: vec![entry(8, 2)], ..wish(2) })),
        ),
        (
            "view-change outside its watermarks",
            sign(3, Body::ViewChange(ViewChange { prepared: vec![entry(13, 0)], ..wish(2) })),
        ),
        (
            "view-change that prepared two blocks at a height",
            sign(3, Body::ViewChange(ViewChange { prepared: vec![entry(8, 0), entry(8, 1)], ..wish(2) })),
        ),
        (
            "view-change with its list out of order",
            sign(3, Body::ViewChange(ViewChange { pre_prepared: vec![entry(9, 0), entry(8, 0)], ..wish(2) })),
        ),
        ("new-view of the present view", sign(1, new_view(1, &three, vec![]))),
        ("new-view by another", sign(0, new_view(3, &three, vec![]))),
        ("new-view without a quorum", sign(3, new_view(3, &three[..2], vec![]))),
        (
            "new-view of one voice thrice",
            sign(3, new_view(3, &[three[0].clone(), three[0].clone(), three[0].clone()], vec![])),
        ),
        ("new-view with a stranger's voice", sign(3, outsiders)),
        ("new-view that chooses what nobody prepared", sign(3, new_view(3, &three, vec![id(5, 9)]))),
        (
            "new-view with view-changes to another view",
            sign(3, new_view(3, &[(0, wish(2)), (1, wish(2)), (3, wish(2))], vec![])),
        ),
    ];
    let before = lab.replicas[2].clone();
    for (name, message) in cases {
        let mut replica = before.clone();
        let mut effects = Vec::new();
        let from = ReplicaId::new(3);
        replica.step(Event::Message { from, message: Message::Pbft(Arc::new(message)) }, &mut effects);
        let refused = effects.iter().filter(|effect| matches!(effect, Effect::Reject(_))).count();
        let harmless = effects.iter().all(|effect| matches!(effect, Effect::Reject(_) | Effect::Evidence(_)));
        assert!(refused == 1 && harmless, "{name}: {effects:?}");
        assert_eq!(replica.digest(), before.digest(), "{name}");
        assert_eq!(replica, before, "{name}");
    }
    let stale = Some("pbft/stale-answer");
    for (name, event, mark) in [
        (
            "a block of another protocol",
            Event::Message { from: ReplicaId::new(1), message: Message::Block(head.clone()) },
            None,
        ),
        ("a block that nobody asked for", Event::BlockSynced { from: ReplicaId::new(1), block: head.clone() }, None),
        ("a verdict of nothing", Event::BlockJudged { block: next, verdict: Verdict::VALID }, stale),
        ("an answer to no draw", Event::Random { ticket: Ticket::new(9), value: 1 }, None),
        ("no such timer", Event::Timer(TimerId::new(9)), stale),
        (
            "a build that nobody asked for",
            Event::BlockBuilt { ticket: Ticket::new(99_999), block: head },
            Some("pbft/stale-build"),
        ),
    ] {
        let mut replica = before.clone();
        let mut effects = Vec::new();
        replica.step(event, &mut effects);
        match (effects.as_slice(), mark) {
            ([Effect::Mark(passed)], Some(mark)) => assert_eq!(*passed, mark, "{name}"),
            ([Effect::Reject(_)], None) => {}
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(replica, before, "{name}");
    }
}

#[test]
fn floods_of_signed_nonsense_stay_small() {
    let mut lab = Lab::new(4);
    let mut flood = Vec::new();
    for height in 0..60 {
        for view in 0..70 {
            for byte in 0..2 {
                let (block, view) = (id(height, byte), View::new(view));
                flood.push(Body::Prepare { view, block });
                flood.push(Body::Commit { view, block });
                flood.push(Body::Checkpoint { block });
            }
        }
    }
    for view in 1..500 {
        let stable = lab.replicas[1].stable_checkpoint();
        let entry = |height| InView { block: id(height, 1), view: View::new(0) };
        flood.push(Body::ViewChange(ViewChange {
            view: View::new(view),
            stable,
            checkpoints: vec![stable],
            prepared: (1..=8).map(entry).collect(),
            pre_prepared: (1..=8).map(entry).collect(),
        }));
    }
    for body in flood {
        let message = lab.signed(3, body);
        lab.deliver(1, Event::Message { from: ReplicaId::new(3), message: Message::Pbft(Arc::new(message)) });
    }
    let replica = &lab.replicas[1];
    assert_eq!((replica.view(), replica.is_changing()), (View::new(0), false), "one voice moves nobody");
    assert!(replica.log.slots.len() <= 8);
    assert!(replica.log.slots.values().all(|slot| slot.prepares.len() <= 1 && slot.commits.len() <= 1));
    assert_eq!(replica.view_changes.len(), 1);
    assert!(replica.encoding().len() < 10_000, "{} bytes", replica.encoding().len());
    // And the others still get along.
    lab.produce();
    assert_eq!(lab.heights(), [1; 4]);
}

#[test]
fn a_block_that_executes_badly_costs_the_primary_its_view() {
    let mut lab = Lab::new(4);
    let genesis = lab.genesis.clone();
    let (block, proposal) = lab.proposal(&genesis, 0, 0);
    let replica = &mut lab.replicas[1];
    let mut effects = Vec::new();
    let message = Message::Pbft(Arc::new(proposal));
    replica.step(Event::Message { from: ReplicaId::new(0), message }, &mut effects);
    assert!(matches!(effects.as_slice(), [Effect::Validate { .. }]));
    let sent = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::Send { message, .. } => Some(message.label()),
            _ => None,
        })
    };
    assert_eq!(sent(&effects), None, "nothing is said before it is executed");
    effects.clear();
    let verdict = Verdict::Invalid { reason: "state root".to_owned() };
    replica.step(Event::BlockJudged { block, verdict }, &mut effects);
    assert_eq!(sent(&effects), Some("view-change"));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Reject(_))));
}

#[test]
fn promises_wait_for_their_records() {
    let mut lab = Lab::new(4);
    let genesis = lab.genesis.clone();
    let (block, proposal) = lab.proposal(&genesis, 0, 0);
    let replica = &mut lab.replicas[1];
    let mut effects = Vec::new();
    replica.step(Event::Message { from: ReplicaId::new(0), message: Message::Pbft(Arc::new(proposal)) }, &mut effects);
    replica.step(Event::BlockJudged { block, verdict: Verdict::VALID }, &mut effects);
    let mut durable = None;
    let mut sent = 0;
    for effect in &effects {
        match effect {
            Effect::Persist { ticket, .. } => durable = Some(*ticket),
            Effect::Send { after, .. } => {
                assert!(after.is_some() && *after == durable);
                sent += 1;
            }
            _ => {}
        }
    }
    assert_eq!(sent, 1);
}
