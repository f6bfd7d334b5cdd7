//! Invalid input: it is rejected and counted, the state is unchanged, and memory under floods is bounded.

use std::sync::Arc;

use super::{super::vote::pre_prepare, lab::Lab};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ConsensusMessage, Effect, Event, Protocol, ReplicaId, Signer, Ticket, TimerId, Verdict,
        pbft::{Body, InView, NewView, PbftMessage, Seal, VIEW_CHANGES_AHEAD_MAX, VIEWS_AHEAD_MAX, View, ViewChange},
    },
    primitives::{B256, Bytes, Header, Height, KeyPair, keccak256},
};

fn id(height: u64, byte: u8) -> BlockId {
    BlockId { height: Height::new(height), hash: B256::repeat_byte(byte) }
}

/// Replica 2 of four, in view 1 with seven blocks, has a prepare and a commit for the next one.
struct Scene {
    lab: Lab,
    /// Its newest block.
    head: Arc<Block>,
    /// The block that is being agreed upon.
    next: BlockId,
    /// The stable checkpoint.
    stable: BlockId,
    /// The prepare that it has, of replica 3.
    prepare: PbftMessage,
    stranger: Signer,
}

const VIEW: View = View::new(1);

impl Scene {
    fn new() -> Self {
        let mut lab = Lab::new(4);
        (0..5).for_each(|_| lab.produce());
        lab.suspect();
        assert_eq!(lab.views(), [1; 4]);
        (0..2).for_each(|_| lab.produce());
        let (head, next, stable) = (lab.canonical(2, 7), id(8, 7), lab.replica(2).stable_checkpoint());
        let prepare = lab.signed(3, Body::Prepare { view: VIEW, block: next });
        lab.inject(3, 2, prepare.clone());
        let commit = lab.signed(0, Body::Commit { view: VIEW, block: next });
        lab.inject(0, 2, commit);
        lab.settle();
        let stranger = lab.authenticator.signer(&KeyPair::from_seed(99, "stranger"));
        Self { lab, head, next, stable, prepare, stranger }
    }

    /// A view-change with the stable checkpoint only.
    fn view_change(&self, view: u64) -> ViewChange {
        let (view, stable, checkpoints) = (View::new(view), self.stable, vec![self.stable]);
        ViewChange { since: Height::GENESIS, view, stable, checkpoints, prepared: vec![], pre_prepared: vec![] }
    }

    /// A new-view with view-changes of these replicas.
    fn new_view(&self, view: u64, view_changes: &[(usize, ViewChange)], chosen: Vec<BlockId>) -> NewView {
        let signed = |(who, change): &(usize, ViewChange)| self.lab.signed(*who, Body::ViewChange(change.clone()));
        let view_changes = view_changes.iter().map(signed).collect();
        NewView { view: View::new(view), view_changes, checkpoint: self.stable, chosen }
    }

    /// A proposal for the next height on a block that is not the head.
    fn fork(&self) -> PbftMessage {
        let mut other = Lab::new(4);
        other.fixture.salt = 1_000;
        let block = other.block(&self.lab.canonical(2, 6), 1);
        let header = Header { number: 8, ..block.header().clone() };
        let block = Block::new(header, vec![], Bytes::new(), vec![]);
        let signature = self.lab.signers[1].sign(keccak256(pre_prepare(VIEW, &BlockId::of(&block))));
        let seal = Seal::Proposal { view: VIEW, signature: signature.clone() };
        let block = Arc::new(block.with_seal(seal.encoded()));
        PbftMessage { body: Body::PrePrepare { view: VIEW, block }, signature }
    }

    /// A proposal on the head.
    fn proposal(&self, author: usize, view: u64) -> PbftMessage {
        Lab::new(4).proposal(&self.head, author, view).1
    }

    /// A proposal on the head whose block has no seal.
    fn unsealed(&self) -> PbftMessage {
        let block = Arc::new(Lab::new(4).block(&self.head, 1));
        self.lab.signed(1, Body::PrePrepare { view: VIEW, block })
    }

    /// Steps a clone of the replica and asserts that nothing has changed; returns the effects.
    fn step(&self, name: &str, event: Event) -> Vec<Effect> {
        let (mut replica, mut effects) = (self.lab.replica(2).clone(), Vec::new());
        replica.step(event, &mut effects);
        assert_eq!(replica.digest(), self.lab.replica(2).digest(), "{name}");
        assert_eq!(replica, *self.lab.replica(2), "{name}");
        effects
    }

    /// Asserts that the replica rejects a message; it may still report evidence.
    fn refuse(&self, name: &str, message: PbftMessage) {
        let message = ConsensusMessage::Pbft(Arc::new(message));
        let effects = self.step(name, Event::Message { from: ReplicaId::new(3), message });
        let refused = effects.iter().filter(|effect| matches!(effect, Effect::Reject(_))).count();
        let harmless = effects.iter().all(|effect| matches!(effect, Effect::Reject(_) | Effect::Evidence(_)));
        assert!(refused == 1 && harmless, "{name}: {effects:?}");
    }
}

#[test]
fn invalid_votes_proposals_and_checkpoints_leave_the_state_unchanged() {
    let scene = Scene::new();
    let (next, prepare) = (scene.next, scene.prepare.clone());
    let vote = |view: u64, block| Body::Prepare { view: View::new(view), block };
    let sign = |who: usize, body: Body| scene.lab.signed(who, body);
    for (name, message) in [
        ("forged signature", PbftMessage { signature: vec![7; 52].into(), ..prepare.clone() }),
        ("not a validator", PbftMessage::signed(vote(1, next), &scene.stranger)),
        ("one's own, reflected", sign(2, vote(1, next))),
        ("replayed prepare", prepare),
        ("prepare of the primary", sign(1, vote(1, next))),
        ("prepare of an old view", sign(3, vote(0, next))),
        ("prepare of a far view", sign(3, vote(2 + VIEWS_AHEAD_MAX, next))),
        ("commit of an endless view", sign(3, Body::Commit { view: View::new(u64::MAX), block: next })),
        ("below the low watermark", sign(3, vote(1, id(4, 1)))),
        ("proposal by a backup", scene.proposal(3, 1)),
        ("proposal of an old view", scene.proposal(0, 0)),
        ("proposal without its seal", scene.unsealed()),
        ("proposal on another parent", scene.fork()),
        ("checkpoint where none is due", sign(3, Body::Checkpoint { block: id(7, 1) })),
        ("stable checkpoint again", sign(3, Body::Checkpoint { block: scene.stable })),
    ] {
        scene.refuse(name, message);
    }
}

#[test]
fn invalid_view_changes_leave_the_state_unchanged() {
    let scene = Scene::new();
    let entry = |height, view| InView { block: id(height, 1), view: View::new(view) };
    let to_view_2 = || scene.view_change(2);
    for (name, change) in [
        ("far view", scene.view_change(2 + VIEW_CHANGES_AHEAD_MAX)),
        ("without its checkpoint", ViewChange { checkpoints: vec![], ..to_view_2() }),
        ("prepared in the future", ViewChange { prepared: vec![entry(8, 2)], ..to_view_2() }),
        ("outside its watermarks", ViewChange { prepared: vec![entry(13, 0)], ..to_view_2() }),
        ("prepared two blocks at a height", ViewChange { prepared: vec![entry(8, 0), entry(8, 1)], ..to_view_2() }),
        ("list out of order", ViewChange { pre_prepared: vec![entry(9, 0), entry(8, 0)], ..to_view_2() }),
    ] {
        scene.refuse(name, scene.lab.signed(3, Body::ViewChange(change)));
    }
}

#[test]
fn invalid_new_views_leave_the_state_unchanged() {
    let scene = Scene::new();
    let by = |who: usize, view: u64| (who, scene.view_change(view));
    let three = [by(0, 3), by(1, 3), by(3, 3)];
    let mut with_stranger = scene.new_view(3, &three, vec![]);
    with_stranger.view_changes[2] = PbftMessage::signed(Body::ViewChange(scene.view_change(3)), &scene.stranger);
    for (name, sender, new_view) in [
        ("of the present view", 1, scene.new_view(1, &three, vec![])),
        ("by another than the primary", 0, scene.new_view(3, &three, vec![])),
        ("without a quorum", 3, scene.new_view(3, &three[..2], vec![])),
        ("one view-change three times", 3, scene.new_view(3, &[by(0, 3), by(0, 3), by(0, 3)], vec![])),
        ("with a stranger's view-change", 3, with_stranger),
        ("chooses a block that was not prepared", 3, scene.new_view(3, &three, vec![id(5, 9)])),
        ("view-changes to another view", 3, scene.new_view(3, &[by(0, 2), by(1, 2), by(3, 2)], vec![])),
    ] {
        scene.refuse(name, scene.lab.signed(sender, Body::NewView(new_view)));
    }
}

#[test]
fn unrequested_events_leave_the_state_unchanged() {
    let scene = Scene::new();
    let (head, from) = (scene.head.clone(), ReplicaId::new(1));
    let stale = Some("pbft/stale-answer");
    for (name, event, mark) in [
        ("a block of another protocol", Event::Message { from, message: ConsensusMessage::Block(head.clone()) }, None),
        ("a block", Event::BlockSynced { from, block: head.clone() }, None),
        ("a verdict", Event::BlockJudged { block: scene.next, verdict: Verdict::VALID }, stale),
        ("a draw", Event::Random { ticket: Ticket::new(9), value: 1 }, None),
        ("no such timer", Event::Timer(TimerId::new(9)), stale),
        ("a build", Event::BlockBuilt { ticket: Ticket::new(99_999), block: head }, Some("pbft/stale-build")),
    ] {
        match (scene.step(name, event).as_slice(), mark) {
            ([Effect::Mark(passed)], Some(mark)) => assert_eq!(*passed, mark, "{name}"),
            ([Effect::Reject(_)], None) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn floods_of_signed_votes_are_bounded() {
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
        let stable = lab.replica(1).stable_checkpoint();
        let entry = |height| InView { block: id(height, 1), view: View::new(0) };
        flood.push(Body::ViewChange(ViewChange {
            since: Height::GENESIS,
            view: View::new(view),
            stable,
            checkpoints: vec![stable],
            prepared: (1..=8).map(entry).collect(),
            pre_prepared: (1..=8).map(entry).collect(),
        }));
    }
    for body in flood {
        let message = lab.signed(3, body);
        lab.deliver(1, Event::Message { from: ReplicaId::new(3), message: ConsensusMessage::Pbft(Arc::new(message)) });
    }
    let replica = lab.replica(1);
    assert_eq!((replica.view(), replica.is_changing()), (View::new(0), false), "one view-change is no quorum");
    assert!(replica.log.slots.len() <= 8);
    assert!(replica.log.slots.values().all(|slot| slot.prepares.len() <= 1 && slot.commits.len() <= 1));
    assert_eq!(replica.view_changes.len(), 1);
    assert!(replica.encoding().len() < 10_000, "{} bytes", replica.encoding().len());
    // The other replicas still reach agreement.
    lab.produce();
    assert_eq!(lab.heights(), [1; 4]);
}

#[test]
fn a_block_that_fails_execution_causes_a_view_change() {
    let mut lab = Lab::new(4);
    let genesis = lab.genesis.clone();
    let (block, proposal) = lab.proposal(&genesis, 0, 0);
    let replica = lab.replica_mut(1);
    let mut effects = Vec::new();
    let message = ConsensusMessage::Pbft(Arc::new(proposal));
    replica.step(Event::Message { from: ReplicaId::new(0), message }, &mut effects);
    assert!(matches!(effects.as_slice(), [Effect::Validate { .. }]));
    let sent = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::Send { message, .. } => Some(message.constant_label()),
            _ => None,
        })
    };
    assert_eq!(sent(&effects), None, "no vote is sent before execution");
    effects.clear();
    let verdict = Verdict::Invalid { reason: "state root".to_owned() };
    replica.step(Event::BlockJudged { block, verdict }, &mut effects);
    assert_eq!(sent(&effects), Some("view-change"));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Reject(_))));
}

#[test]
fn votes_are_sent_once_their_records_are_durable() {
    let mut lab = Lab::new(4);
    let genesis = lab.genesis.clone();
    let (block, proposal) = lab.proposal(&genesis, 0, 0);
    let replica = lab.replica_mut(1);
    let mut effects = Vec::new();
    replica.step(
        Event::Message { from: ReplicaId::new(0), message: ConsensusMessage::Pbft(Arc::new(proposal)) },
        &mut effects,
    );
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
