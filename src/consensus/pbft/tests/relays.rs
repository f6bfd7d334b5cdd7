//! Copies of others' messages and blocks with another body, and relays that are faster than those whose messages they pass on.

use std::sync::Arc;

use super::lab::{Lab, config, with_payload};
use crate::{
    chain::{Block, BodyError, Intervention},
    consensus::{
        BlockId, ConsensusMessage, Event, Protocol, Purpose, Rejection, ReplicaId, Signer, ValidatorSet,
        mutation::{self, Mutation},
        pbft::{BUILD_TIMER, Body, MessageError, Payload, PbftMessage, RESEND_TIMER, Seal, View},
        testing::{Content, Envelope},
    },
    primitives::{Address, Bytes, Header, Height, KeyPair, TransactionRequest, U256, keccak256},
};

/// What a relay can make of a block without changing its hash.
fn altered(block: &Block, way: usize) -> Block {
    let header = block.header().clone();
    let other = match way {
        0 => return with_payload(block, &Bytes::from_static(&[1])),
        1 => {
            let request = TransactionRequest { chain_id: Some(1), ..TransactionRequest::default() };
            let transaction = request.sign(&KeyPair::from_seed(1, "relay")).unwrap();
            Block::new(header, vec![Arc::new(transaction)], block.payload().clone(), Vec::new())
        }
        _ => {
            let forged = Intervention::Balance { address: Address::ZERO, balance: U256::MAX };
            Block::new(header, Vec::new(), block.payload().clone(), vec![forged])
        }
    };
    other.with_seal(block.seal().clone())
}

/// Puts an altered copy of every proposal under way before it, as if a faster `relay` had sent it to all others.
fn relay_altered(lab: &mut Lab, relay: usize, way: usize) {
    let mut queue = std::collections::VecDeque::new();
    for envelope in core::mem::take(&mut lab.queue) {
        if let Content::Message(ConsensusMessage::Pbft(message)) = &envelope.content
            && let Body::PrePrepare { view, block } = &message.body
            && envelope.to.index() != relay
        {
            let body = Body::PrePrepare { view: *view, block: Arc::new(altered(block, way)) };
            let copy = PbftMessage { body, signature: message.signature.clone() };
            let content = ConsensusMessage::Pbft(Arc::new(copy));
            queue.push_back(Envelope::message(ReplicaId::new(relay as u32), envelope.to, content));
        }
        queue.push_back(envelope);
    }
    lab.queue = queue;
}

/// Six honest primaries' proposals, each heard last from its author; returns the lowest height after them.
fn six_relayed_proposals(way: usize) -> (Lab, u64) {
    let mut lab = Lab::new(4);
    for _ in 0..6 {
        let primary = lab.primary_of(1);
        let relay = if primary == 3 { 2 } else { 3 };
        lab.fire(primary, BUILD_TIMER);
        relay_altered(&mut lab, relay, way);
        lab.settle();
        // Whoever left the view says so again, and a primary its proposal.
        lab.fire_all(&[0, 1, 2, 3], RESEND_TIMER);
    }
    let lowest = *lab.heights().iter().min().unwrap();
    (lab, lowest)
}

/// Whether an input is refused because the body of its block is not the one that the header names.
const fn is_of_body(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::Pbft(MessageError::Body(_)))
}

#[test]
fn a_relayed_proposal_with_another_body_has_no_effect() {
    for way in 0..3 {
        let (lab, lowest) = six_relayed_proposals(way);
        assert_eq!((lowest, lab.views()), (6, vec![0; 4]), "way {way}");
        assert_eq!((lab.mark("pbft/view-change"), lab.evidence.len()), (0, 0), "nobody accuses the primary");
        assert_eq!(lab.rejections_of(1).any(is_of_body), way < 2, "interventions are refused by the chain");
        assert_eq!(lab.mark("pbft/unsigned-copy") > 0, way == 2);
    }
    let (lab, lowest) = mutation::with(Mutation::PbftTakesAnyBody, || six_relayed_proposals(0));
    assert_eq!(lowest, 0, "one relay stops four honest primaries: {:?}", lab.views());
}

/// Replica 3 has executed block 1 and lacks its commits; the checkpoint votes of the others show that they have it.
fn behind_by_its_commits() -> Lab {
    let mut lab = Lab::with_config(4, config().with_checkpoints(1, 8));
    lab.lost_labels[3] = vec!["commit", "checkpoint"];
    lab.produce();
    assert_eq!(lab.heights(), [1, 1, 1, 0]);
    lab.lose_nothing();
    lab
}

fn show_checkpoints(lab: &mut Lab) {
    for who in 0..3 {
        let block = lab.replica(who).head();
        let message = lab.signed(who, Body::Checkpoint { block });
        lab.inject(who, 3, message);
    }
    lab.settle();
}

/// The payload that puts four attackers in the committee's place.
fn attackers(lab: &Lab) -> Bytes {
    let attacker = |number| lab.authenticator.signer(&KeyPair::from_seed(number, "attacker")).address();
    let successor = ValidatorSet::equal((100..104).map(attacker)).ok();
    Payload { successor, ..Payload::default() }.encoded()
}

#[test]
fn an_answer_with_the_right_header_and_certificate_and_another_payload_is_refused() {
    for liar in 0..3 {
        let mut lab = behind_by_its_commits();
        let payload = attackers(&lab);
        lab.fixture.liars.insert(liar, Some(payload.clone()));
        show_checkpoints(&mut lab);
        lab.fire_all(&[3], RESEND_TIMER);
        lab.fire_all(&[3], RESEND_TIMER);
        assert_eq!((lab.heights(), lab.members(3)), (vec![1; 4], vec![0, 1, 2, 3]), "liar {liar}");
        lab.produce();
        assert_eq!(lab.heights(), [2; 4], "it takes part again");
        // Shown the forged block by hand, it names the part that is not the header's.
        lab.isolate(3);
        lab.produce();
        lab.reconnect(3);
        let genuine = lab.canonical(liar, 3);
        lab.fixture.liars = (0..3).map(|peer| (peer, None)).collect();
        show_checkpoints(&mut lab);
        let forged = Arc::new(with_payload(&genuine, &payload));
        assert_eq!(forged.hash(), genuine.hash());
        let before = lab.replica(3).clone();
        lab.deliver(3, Event::BlockSynced { from: ReplicaId::new(liar as u32), block: forged });
        let last = lab.rejections_of(3).next_back();
        let is_payload = matches!(last, Some(Rejection::Pbft(MessageError::Body(BodyError::Payload { .. }))));
        assert!(is_payload && before == *lab.replica(3), "{last:?}");
        lab.deliver(3, Event::BlockSynced { from: ReplicaId::new(liar as u32), block: genuine });
        assert_eq!(lab.heights(), [3; 4]);
    }
}

/// A quorum prepared block 1, of which `who` received nothing, and the primary is gone: the primary of view 1 must propose the block
/// again. `who` asks for its body. Replica 2 answers with a payload that names attackers as the next committee; the answers of the
/// others are lost, as is what `who` receives with the labels `lost`. Returns the block's id, too.
fn chosen_block_without_its_body(who: usize, lost: &[&'static str]) -> (Lab, BlockId) {
    let mut lab = Lab::with_config(4, config().with_checkpoints(1, 8));
    lab.lose(&["commit"]);
    lab.lost_labels[who] = vec!["pre-prepare", "prepare", "commit"];
    lab.produce();
    let chosen = lab.replica(2).prepared(Height::new(1)).unwrap().block;
    lab.lose_nothing();
    lab.lost_labels[who] = lost.to_vec();
    lab.isolate(0);
    let payload = attackers(&lab);
    lab.fixture.liars = (1..4).map(|peer| (peer, (peer == 2).then(|| payload.clone()))).collect();
    lab.suspect();
    (lab, chosen)
}

/// Nothing is lost from now on, and `who` repeats its requests, each to the next peer.
fn repeat_requests(lab: &mut Lab, who: usize) {
    lab.lose_nothing();
    lab.fixture.liars.retain(|_, answer| answer.is_some());
    (0..2).for_each(|_| lab.fire_all(&[who], RESEND_TIMER));
}

/// Delivers a message or an answer with a block; returns whether it is refused for the block's body, without any effect.
fn refuses_body(lab: &mut Lab, who: usize, event: Event) -> bool {
    let (before, refused, sent) = (lab.replica(who).clone(), lab.rejections.len(), lab.queue.len());
    lab.deliver(who, event);
    let is_refused = matches!(&lab.rejections[refused..], [(_, rejection)] if is_of_body(rejection));
    is_refused && lab.queue.len() == sent && before == *lab.replica(who)
}

/// Asserts that all but the isolated primary committed the chosen block, with the body of its header.
fn assert_chosen_is_committed(lab: &Lab, chosen: BlockId, context: &str) {
    assert_eq!((lab.heights(), lab.views()[1..].to_vec()), (vec![0, 1, 1, 1], vec![1; 3]), "{context}");
    for index in 1..4 {
        assert_eq!(lab.replica(index).head(), chosen, "{context}");
        assert!(lab.canonical(index, 1).check_body().is_ok(), "{context}");
        assert_eq!(lab.members(index), [0, 1, 2, 3], "{context}");
    }
    assert_eq!(lab.violations, [], "{context}");
}

/// Replica 1 must propose the block, and 3 prepare it.
#[test]
fn an_answer_with_another_body_for_a_chosen_block_is_refused() {
    for who in [1, 3] {
        let (mut lab, chosen) = chosen_block_without_its_body(who, &[]);
        assert!(lab.rejections_of(who).any(is_of_body) && lab.mark("pbft/fetch-chosen") > 0, "replica {who}");
        for way in 0..2 {
            let block = Arc::new(altered(&lab.nodes[2].blocks[&chosen.hash], way));
            let answer = Event::BlockSynced { from: ReplicaId::new(2), block };
            assert!(refuses_body(&mut lab, who, answer), "replica {who}, way {way}");
        }
        repeat_requests(&mut lab, who);
        assert_chosen_is_committed(&lab, chosen, &format!("replica {who}"));
    }
    let heights = |who| {
        let (mut lab, _) = chosen_block_without_its_body(who, &[]);
        repeat_requests(&mut lab, who);
        lab.heights()
    };
    let heights = mutation::with(Mutation::PbftTakesAnyBody, || [1, 3].map(heights));
    assert_eq!(heights, [[0; 4]; 2], "it refuses a prepared block and leaves the view");
}

/// The header names no interventions, so that they are found by executing the block only.
#[test]
fn an_answer_with_interventions_for_a_chosen_block_is_dropped_and_the_block_requested_again() {
    let (mut lab, chosen) = chosen_block_without_its_body(3, &[]);
    let requested = lab.mark("pbft/fetch-chosen");
    let block = Arc::new(altered(&lab.nodes[2].blocks[&chosen.hash], 2));
    lab.deliver(3, Event::BlockSynced { from: ReplicaId::new(2), block });
    assert_eq!((lab.mark("pbft/unsigned-copy"), lab.mark("pbft/fetch-chosen")), (1, requested + 1));
    assert_eq!((lab.views()[3], lab.replica(3).is_changing()), (1, false), "the primary signed no intervention");
    repeat_requests(&mut lab, 3);
    assert_chosen_is_committed(&lab, chosen, "after the requests");
}

/// The chosen block with another body, as the primary of view 1, Byzantine, proposes it once more.
fn altered_proposal(lab: &Lab, chosen: BlockId, way: usize) -> Event {
    let view = View::new(1);
    let signature = lab.signers[1].sign(Purpose::Message, keccak256(super::super::vote::pre_prepare(view, &chosen)));
    let seal = Seal::Proposal { view, signature: signature.clone() };
    let block = Arc::new(altered(&lab.nodes[2].blocks[&chosen.hash], way).with_seal(seal.encoded()));
    let message = PbftMessage { body: Body::PrePrepare { view, block }, signature };
    Event::Message { from: ReplicaId::new(1), message: ConsensusMessage::Pbft(Arc::new(message)) }
}

#[test]
fn a_chosen_block_that_the_new_primary_proposes_with_another_body_is_refused() {
    // Replica 3 waits for the block's body, or for the new-view too; 2 has both.
    for lost in [&[][..], &["new-view"]] {
        for way in 0..2 {
            let (mut lab, chosen) = chosen_block_without_its_body(3, lost);
            assert_eq!(lab.replica(3).is_changing(), !lost.is_empty());
            for to in [2, 3] {
                let proposal = altered_proposal(&lab, chosen, way);
                assert!(refuses_body(&mut lab, to, proposal), "replica {to}, way {way}, without {lost:?}");
            }
            repeat_requests(&mut lab, 3);
            assert_chosen_is_committed(&lab, chosen, &format!("way {way}, without {lost:?}"));
        }
    }
    let mutated = || {
        let (mut lab, chosen) = chosen_block_without_its_body(3, &["new-view"]);
        let proposal = altered_proposal(&lab, chosen, 0);
        refuses_body(&mut lab, 3, proposal)
    };
    assert!(!mutation::with(Mutation::PbftTakesAnyBody, mutated), "it is kept until the new-view");
}

/// A Byzantine primary proposes, in proper form, a block that names attackers as the next committee; returns the lab after some rounds.
fn committee_of_attackers() -> Lab {
    let mut lab = Lab::with_config(4, config().with_checkpoints(1, 8));
    lab.nodes[0].is_faulty = true;
    let (genesis, payload) = (lab.genesis.clone(), attackers(&lab));
    let block = lab.block(&genesis, 0);
    let header = Header { extra_data: Block::extra_data_of(&payload).unwrap(), ..block.header().clone() };
    let block = Block::new(header, Vec::new(), payload, Vec::new());
    let (id, view) = (BlockId::of(&block), View::new(0));
    let signature = lab.signers[0].sign(Purpose::Message, keccak256(super::super::vote::pre_prepare(view, &id)));
    let block = Arc::new(block.with_seal(Seal::Proposal { view, signature: signature.clone() }.encoded()));
    for to in 1..4 {
        lab.inject(
            0,
            to,
            PbftMessage { body: Body::PrePrepare { view, block: block.clone() }, signature: signature.clone() },
        );
    }
    lab.settle();
    lab.run(&[1, 2, 3], 3);
    lab
}

/// The chain's header rules refuse such a block too; here they are absent.
#[test]
fn no_certificate_puts_a_committee_in_force_that_the_pending_changes_do_not_give() {
    let lab = committee_of_attackers();
    assert!((1..4).all(|index| lab.members(index) == [0, 1, 2, 3]), "{:?}", lab.members(1));
    assert!(lab.heights()[1..].iter().all(|height| *height >= 2), "{:?}", lab.heights());
    let lab = mutation::with(Mutation::PbftTrustsPayload, committee_of_attackers);
    assert!((1..4).all(|index| lab.members(index).is_empty()), "the attackers are the committee");
    assert_eq!(lab.heights()[1..], [1; 3], "and the chain stops");
}

/// Replica 3 hears the checkpoint votes for block 4 alone, each first through replica 2, which answers no request. Some requests
/// follow.
fn behind_a_fast_relay() -> Lab {
    let mut lab = Lab::new(4);
    lab.fixture.liars.insert(2, None);
    lab.lost_labels[3] = vec!["pre-prepare", "prepare", "commit", "checkpoint"];
    (0..4).for_each(|_| lab.produce());
    lab.lose_nothing();
    for (who, link) in [(0, 2), (1, 2), (2, 2), (0, 0), (1, 1)] {
        let block = lab.replica(who).head();
        let message = lab.signed(who, Body::Checkpoint { block });
        lab.inject(link, 3, message);
    }
    lab.settle();
    (0..6).for_each(|_| lab.fire_all(&[3], RESEND_TIMER));
    lab
}

#[test]
fn a_relay_can_not_take_the_place_of_those_whose_messages_it_passes_on() {
    let lab = behind_a_fast_relay();
    assert_eq!((lab.heights()[3], lab.mark("pbft/another-link")), (4, 2));
    let lab = mutation::with(Mutation::PbftRebindsPeers, behind_a_fast_relay);
    assert_eq!(lab.heights()[3], 0, "it asks the relay alone");
}

#[test]
fn the_links_of_a_validator_are_bounded() {
    let mut lab = Lab::new(4);
    for link in [3, 2, 0, 1] {
        let block = BlockId { height: Height::new(4), hash: keccak256([1]) };
        let message = lab.signed(2, Body::Checkpoint { block });
        lab.inject(link, 1, message);
    }
    lab.settle();
    let links = &lab.replica(1).peers[&lab.signers[2].address()];
    assert_eq!(links.as_slice(), [3, 2].map(ReplicaId::new), "f + 1 of them");
}

/// Replica 3 lacks block 1, whose holders claim it, and `liar` answers nothing; returns its height after as many requests as peers.
fn behind_with_a_silent_peer(liar: usize) -> u64 {
    let mut lab = behind_by_its_commits();
    lab.fixture.liars.insert(liar, None);
    show_checkpoints(&mut lab);
    (0..3).for_each(|_| lab.fire_all(&[3], RESEND_TIMER));
    lab.heights()[3]
}

#[test]
fn a_request_that_is_not_answered_goes_to_another_peer() {
    assert_eq!([0, 1, 2].map(behind_with_a_silent_peer), [1; 3]);
    let repeated = |liar| mutation::with(Mutation::PbftRepeatsPeer, || behind_with_a_silent_peer(liar));
    assert!([0, 1, 2].map(repeated).contains(&0), "one silent peer is asked again and again");
}

/// The authors' own proposals are not affected by what a replica signs in the names of others.
#[test]
fn a_proposal_with_a_forged_signature_has_no_effect() {
    let mut lab = Lab::new(4);
    let genesis = lab.genesis.clone();
    let (_, honest) = lab.proposal(&genesis, 0, 0);
    let stranger: Signer = lab.authenticator.signer(&KeyPair::from_seed(9, "stranger"));
    let forged = PbftMessage { signature: stranger.sign(Purpose::Message, honest.body.signing_hash()), ..honest };
    let before = lab.replica(1).clone();
    lab.inject(3, 1, forged);
    lab.settle();
    assert_eq!(before, *lab.replica(1));
}
