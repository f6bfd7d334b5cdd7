//! Invalid inputs are rejected and change nothing.

use std::sync::Arc;

use super::lab::{Lab, config};
use crate::{
    chain::Block,
    consensus::{
        Admin, BlockId, Effect, Event, HeaderFieldError, Message, Protocol, ReplicaId, Ticket, TimerId, Verdict,
        pos::{HeaderError, Offence, Payload, Pos, PosError, Proposal, StakeSource, Vote, VoteData, check_header},
    },
    primitives::{B256, Bytes, Header, Height, KeyPair, U256},
};

/// Steps a clone of the replica with `event` and checks that it only rejects it and its state is unchanged.
fn refuse(replica: &Pos, name: &str, event: Event) -> String {
    let (mut after, mut effects) = (replica.clone(), Vec::new());
    after.step(event, &mut effects);
    let [effect] = effects.as_slice() else { panic!("{name}: {effects:?}") };
    assert_eq!(after.digest(), replica.digest(), "{name}");
    assert!(after == *replica, "{name}");
    match effect {
        Effect::Reject(rejection) => rejection.to_string(),
        Effect::Mark(mark) => (*mark).to_owned(),
        other => panic!("{name}: {other:?}"),
    }
}

fn message(message: impl Into<Message>) -> Event {
    Event::Message { from: ReplicaId::new(3), message: message.into() }
}

fn of_block(block: &Arc<Block>) -> Event {
    Event::Message { from: ReplicaId::new(3), message: Message::Block(block.clone()) }
}

#[test]
fn refused_votes_change_nothing() {
    let mut lab = Lab::new(4);
    lab.run(49);
    lab.tick();
    let head = lab.heads()[0];
    let replica = lab.replicas[0].clone();
    // A validator with an attestation slot later in the epoch, and its vote for the current slot.
    let late = (48..52).rev().flat_map(|slot| lab.committee(0, slot, head)).next().unwrap();
    let good = lab.vote(0, late, 50, head);
    let signer = lab.signers[late].clone();
    let signed = |data: VoteData| Vote::signed(data, &signer);
    let stranger = lab.authenticator.signer(&KeyPair::from_seed(77, "stranger"));
    let (known, _) = lab.replicas[0].votes().map(|(_, vote)| (vote.clone(), ())).last().unwrap();
    let genesis = lab.replicas[0].finalized().block;
    let old = VoteData {
        slot: 3,
        target: super::super::Checkpoint { epoch: 0, ..good.data.target },
        source: super::super::Checkpoint { epoch: 0, ..good.data.source },
        ..good.data
    };
    let elsewhere = BlockId { hash: B256::repeat_byte(9), ..good.data.target.block };
    for (name, vote, want) in [
        ("forged", Vote { data: VoteData { slot: 51, ..good.data }, signature: good.signature.clone() }, "not made by"),
        ("a stranger's", Vote::signed(good.data, &stranger), "no validator"),
        ("known", known, "already known"),
        (
            "of the future",
            signed(VoteData {
                slot: 55,
                target: super::super::Checkpoint { epoch: 13, ..good.data.target },
                ..good.data
            }),
            "future",
        ),
        (
            "of the far future",
            signed(VoteData {
                slot: u64::MAX,
                target: super::super::Checkpoint { epoch: u64::MAX / 4, ..good.data.target },
                ..good.data
            }),
            "future",
        ),
        ("of an epoch that is over", signed(old), "is over"),
        ("slot of another epoch", signed(VoteData { slot: 46, ..good.data }), "are inconsistent"),
        (
            "source after target",
            signed(VoteData { source: super::super::Checkpoint { epoch: 19, ..good.data.source }, ..good.data }),
            "are inconsistent",
        ),
        (
            "head at another height",
            signed(VoteData { head: BlockId { height: Height::new(3), ..good.data.head }, ..good.data }),
            "newer",
        ),
        (
            "another target",
            signed(VoteData { target: super::super::Checkpoint { block: elsewhere, ..good.data.target }, ..good.data }),
            "target",
        ),
        (
            "before its attestation slot",
            {
                let early = lab.committee(0, 51, head);
                assert!(!early.is_empty());
                lab.vote(0, early[0], 50, head)
            },
            "attestation slot",
        ),
        (
            "for what is final already",
            signed(VoteData { head: BlockId { hash: B256::repeat_byte(1), ..genesis }, ..good.data }),
            "not built upon",
        ),
    ] {
        let got = refuse(&replica, name, message(vote));
        assert!(got.contains(want), "{name}: {got}");
    }
}

#[test]
fn refused_evidence_changes_nothing() {
    let mut lab = Lab::new(4);
    lab.run(9);
    let replica = lab.replicas[0].clone();
    let head = lab.heads()[0];
    let vote = |who: usize, byte: u8| {
        let data = lab.vote(0, who, 9, head).data;
        Vote::signed(
            VoteData { head: BlockId { hash: B256::repeat_byte(byte), ..data.head }, ..data },
            &lab.signers[who],
        )
    };
    let stranger = lab.authenticator.signer(&KeyPair::from_seed(77, "stranger"));
    let id = |byte| BlockId { height: Height::new(9), hash: B256::repeat_byte(byte) };
    let of_stranger = [1, 2].map(|byte| Proposal::signed(9, id(byte), &stranger));
    let of_future = [1, 2].map(|byte| Proposal::signed(900, id(byte), &lab.signers[1]));
    for (name, offence, want) in [
        ("two voters", Offence::of_votes(&vote(1, 1), &vote(2, 2)).unwrap(), "proves no offence"),
        ("one vote twice", Offence::Votes { first: vote(1, 1), second: vote(1, 1) }, "proves no offence"),
        ("a stranger", Offence::of_proposals(&of_stranger[0], &of_stranger[1]).unwrap(), "no validator"),
        ("of the future", Offence::of_proposals(&of_future[0], &of_future[1]).unwrap(), "is over"),
    ] {
        let got = refuse(&replica, name, message(Lab::offence_message(offence)));
        assert!(got.contains(want), "{name}: {got}");
    }
}

#[test]
fn refused_blocks_change_nothing() {
    let mut lab = Lab::new(4);
    lab.run(19);
    lab.tick();
    let parent = lab.heads()[0];
    let replica = lab.replicas[0].clone();
    let (link, on) = (lab.link(0, parent), lab.blocks[0][&parent].clone());
    let good = lab.forge(0, parent, 20, &[]);
    let proposer = lab.proposer(0, 20, parent);
    let another = (proposer + 1) % 4;
    let sealed_anew = |lab: &Lab, change: &dyn Fn(&mut Header), slot: u64, by: usize| {
        let mut header = good.header().clone();
        change(&mut header);
        lab.seal(Block::new(header, Vec::new(), good.payload().clone(), Vec::new()), slot, by)
    };
    let stranger = lab.authenticator.signer(&KeyPair::from_seed(77, "stranger"));
    let votes: Vec<Vote> = lab.replicas[0].votes().map(|(_, vote)| vote.clone()).collect();
    let counted = votes
        .iter()
        .find(|vote| vote.data.target.epoch == 4 && link.state.has_vote(&vote.signer(&lab.authenticator).unwrap(), 4));
    let old = votes.iter().find(|vote| vote.data.target.epoch == 2).unwrap().clone();
    let uncounted = lab.vote(0, another, 19, parent);
    let other_source = Vote::signed(VoteData { source: old.data.source, ..uncounted.data }, &lab.signers[another]);
    let fork = {
        let root = lab.replicas[0].finalized().block;
        let mut header = good.header().clone();
        header.number = root.height.get() + 1;
        header.parent_hash = B256::repeat_byte(5);
        lab.seal(Block::new(header, Vec::new(), good.payload().clone(), Vec::new()), 20, proposer)
    };
    let garbage = {
        let payload = Bytes::from_static(b"123");
        let header = Header { extra_data: Block::extra_data_of(&payload).unwrap(), ..good.header().clone() };
        lab.seal(Block::new(header, Vec::new(), payload, Vec::new()), 20, proposer)
    };
    let unpacked = {
        let payload = Bytes::from([&20_u64.to_be_bytes()[..], b"xyz"].concat());
        let header = Header { extra_data: Block::extra_data_of(&payload).unwrap(), ..good.header().clone() };
        lab.seal(Block::new(header, Vec::new(), payload, Vec::new()), 20, proposer)
    };
    let reveal = lab.signers[another].sign(super::super::reveal_hash(5));
    let mut with = |change: &dyn Fn(&mut Payload)| lab.forge_on(&link, &on, 20, |payload| change(payload));
    let cases = [
        ("other reveal", with(&|payload| payload.reveal = reveal.clone()), "reveal"),
        ("a vote twice", with(&|payload| payload.votes = vec![counted.unwrap().clone()]), "already counted"),
        ("an old vote", with(&|payload| payload.votes = vec![old.clone()]), "not counted"),
        ("a vote from elsewhere", with(&|payload| payload.votes = vec![other_source.clone()]), ": "),
        ("absent who was not", with(&|payload| payload.absent = vec![stranger.address()]), "absent"),
        ("no accounting", with(&|payload| payload.accounting = None), "accounting"),
        (
            "a penalty of no validator",
            with(&|payload| payload.accounting.as_mut().unwrap().penalties = vec![(stranger.address(), 1)]),
            "accounting",
        ),
        (
            "evidence without an offence",
            with(&|payload| payload.offences = vec![Offence::Votes { first: old.clone(), second: old.clone() }]),
            "evidence",
        ),
    ];
    for (name, block, want) in cases.into_iter().chain([
        ("known", on.clone(), "already known"),
        (
            "a stranger's",
            {
                let id = BlockId::of(&good);
                Arc::new(good.as_ref().clone().with_seal(Proposal::signed(20, id, &stranger).signature))
            },
            "made the block",
        ),
        ("another validator's", sealed_anew(&lab, &|_| {}, 20, another), "made the block"),
        (
            "fees to another",
            {
                let to = lab.address(another);
                sealed_anew(&lab, &|header| header.beneficiary = to, 20, proposer)
            },
            "made the block",
        ),
        ("sealed for another slot", sealed_anew(&lab, &|_| {}, 21, proposer), "not made by"),
        ("before its slot", sealed_anew(&lab, &|header| header.timestamp -= 1, 20, proposer), "timestamp"),
        ("after its slot", sealed_anew(&lab, &|header| header.timestamp += 1, 20, proposer), "timestamp"),
        ("difficulty", sealed_anew(&lab, &|header| header.difficulty = U256::from(2), 20, proposer), "difficulty"),
        ("mix", sealed_anew(&lab, &|header| header.mix_hash = B256::ZERO, 20, proposer), "mixHash"),
        ("extra data", sealed_anew(&lab, &|header| header.extra_data = Bytes::new(), 20, proposer), "extraData"),
        ("of a far slot", lab.forge(0, parent, 25, &[]), "future"),
        ("below the final one", lab.chain_of(0)[0].clone(), "oldest"),
        ("beside the final one", fork, "not built upon"),
        ("no payload", garbage, "names no slot"),
        ("half a payload", unpacked, "canonical"),
    ]) {
        let got = refuse(&replica, name, of_block(&block));
        assert!(got.contains(want), "{name}: {got}");
    }
    // The valid block is accepted.
    lab.give_block(0, &good);
    assert_eq!(lab.replicas[0].head().hash, good.hash());
}

#[test]
fn answers_to_nothing_change_nothing() {
    let mut lab = Lab::new(4);
    lab.run(9);
    let replica = lab.replicas[0].clone();
    let head = lab.blocks[0][&lab.heads()[0]].clone();
    let id = BlockId::of(&head);
    for (name, event, want) in [
        ("a verdict of nothing", Event::BlockJudged { block: id, verdict: Verdict::VALID }, ""),
        ("a draw", Event::Random { ticket: Ticket::new(3), value: 1 }, ""),
        ("no such timer", Event::Timer(TimerId::new(9)), "pos/stale-answer"),
        (
            "a block that nobody asked for",
            Event::BlockBuilt { ticket: Ticket::new(9_999), block: head.clone() },
            "pos/stale-build",
        ),
        ("the head again", Event::BlockSynced { from: ReplicaId::new(1), block: head }, ""),
        ("a wish", Event::Admin(Admin::WithdrawVote { target: lab.address(1) }), ""),
    ] {
        let got = refuse(&replica, name, event);
        assert!(got.contains(want), "{name}: {got}");
    }
}

#[test]
fn an_invalid_verdict_drops_the_block_and_its_descendants() {
    let mut lab = Lab::new(4);
    lab.run(5);
    let parent = lab.heads()[0];
    let block = lab.forge(0, parent, 6, &[]);
    let mut knowing = lab.clone();
    knowing.tick();
    knowing.give_block(1, &block);
    let child = knowing.forge(1, block.hash(), 7, &[]);
    lab.deliver(0, Event::Timer(super::super::SLOT_TIMER));
    lab.deliver(0, Event::Timer(super::super::SLOT_TIMER));
    let before = lab.replicas[0].clone();
    let mut replica = before.clone();
    let mut effects = Vec::new();
    replica.step(of_block(&block), &mut effects);
    replica.step(of_block(&child), &mut effects);
    assert_eq!(replica.head().hash, parent, "pending is not judged");
    let verdict = Verdict::Invalid { reason: "state root".to_owned() };
    replica.step(Event::BlockJudged { block: BlockId::of(&block), verdict }, &mut effects);
    assert_eq!(replica.head().hash, parent);
    assert!(replica.intake.pending.is_empty() && replica.intake.orphans.len() == 0);
}

#[test]
fn floods_of_signed_invalid_messages_are_bounded() {
    let mut lab = Lab::new(4);
    lab.run(9);
    let villain = lab.signers[3].clone();
    let head = lab.heads()[0];
    let template = lab.vote(0, 3, 9, head).data;
    let before = lab.replicas[0].head();
    for number in 0..2_000_u64 {
        let hash = crate::primitives::keccak256(number.to_be_bytes());
        let unknown = BlockId { height: Height::new(10 + number % 8), hash };
        lab.give_vote(0, &Vote::signed(VoteData { slot: 8 + number % 3, head: unknown, ..template }, &villain));
        let mut header = lab.blocks[0][&head].header().clone();
        (header.parent_hash, header.number) = (hash, 10 + number % 8);
        let payload = lab.blocks[0][&head].payload().clone();
        let block = lab.seal(Block::new(header, Vec::new(), payload, Vec::new()), 9, 3);
        lab.give_block(0, &block);
    }
    let replica = &lab.replicas[0];
    assert!(
        replica.unknown_block_votes.len() <= 4 && replica.intake.orphans.len() <= 64,
        "{} {}",
        replica.unknown_block_votes.len(),
        replica.intake.orphans.len()
    );
    assert!(replica.votes.len() <= 4 * 12 && replica.proposals.len() <= 40);
    assert_eq!(replica.head(), before);
    assert!(replica.encoding().len() < 60_000, "{} bytes", replica.encoding().len());
    // The other replicas still make progress, and the messages are dropped with their epochs.
    lab.run(24);
    assert!(lab.heads().windows(2).all(|pair| pair[0] == pair[1]));
    assert!(lab.replicas[0].unknown_block_votes.is_empty());
    assert_eq!(lab.replicas[0].intake.orphans.len(), 0);
}

#[test]
fn invalid_parameters_are_rejected_with_a_hint() {
    for (config, want) in [
        (config().with_slots_per_epoch(1), PosError::SlotsPerEpoch { got: 1, max: 256 }),
        (config().with_slots_per_epoch(1_000), PosError::SlotsPerEpoch { got: 1_000, max: 256 }),
        (config().with_leak_quotient(0), PosError::Zero { field: "leakQuotient" }),
        (config().with_boost_percent(101), PosError::Boost { got: 101 }),
    ] {
        let lab = Lab::new(1);
        let got = Pos::new(config, &lab.genesis, &lab.genesis_set(), lab.authenticator.clone(), None);
        assert_eq!(got.err(), Some(want));
    }
}

#[test]
fn a_header_must_match_its_parent() {
    let mut lab = Lab::new(4);
    lab.run(3);
    let chain = lab.chain_of(0);
    let link = lab.link(0, chain[0].hash());
    let other = &chain[2];
    let judged = check_header(&lab.config, &lab.authenticator, &link, &other.as_ref().into(), StakeSource::Executed);
    assert!(matches!(judged, Err(HeaderError::Field(HeaderFieldError::Parent { .. }))));
}
