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

#[test]
fn a_relayed_proposal_with_another_body_has_no_effect() {
    for way in 0..3 {
        let (lab, lowest) = six_relayed_proposals(way);
        assert_eq!((lowest, lab.views()), (6, vec![0; 4]), "way {way}");
        assert_eq!((lab.mark("pbft/view-change"), lab.evidence.len()), (0, 0), "nobody accuses the primary");
        let is_body = |rejection: &Rejection| matches!(rejection, Rejection::Pbft(MessageError::Body(_)));
        assert_eq!(lab.rejections_of(1).any(is_body), way < 2, "interventions are refused by the chain");
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
