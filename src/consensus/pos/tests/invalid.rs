//! Invalid inputs are rejected and change nothing.

use std::sync::Arc;

use super::lab::{Lab, config};
use crate::{
    chain::Block,
    consensus::{
        Admin, BlockId, ConsensusMessage, Effect, Event, HeaderFieldError, Protocol, ReplicaId, Signer, Ticket,
        TimerId, Verdict,
        pos::{
            HeaderError, Payload, Pos, PosError, Proposal, SlashingEvidence, StakeSource, Vote, VoteData, check_header,
        },
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

fn message(message: impl Into<ConsensusMessage>) -> Event {
    Event::Message { from: ReplicaId::new(3), message: message.into() }
}

fn of_block(block: &Arc<Block>) -> Event {
    Event::Message { from: ReplicaId::new(3), message: ConsensusMessage::Block(block.clone()) }
}

/// Slot 50 of an epoch of slots 48 to 51, and the vote of a validator whose duty is later, as if it were now.
struct Voting {
    lab: Lab,
    head: B256,
    good: Vote,
    signer: Signer,
}

impl Voting {
    fn new() -> Self {
        let mut lab = Lab::new(4);
        lab.run(49);
        lab.tick();
        let head = lab.heads()[0];
        let late = (48..52).rev().flat_map(|slot| lab.committee(0, slot, head)).next().unwrap();
        let (good, signer) = (lab.vote(0, late, 50, head), lab.signers[late].clone());
        Self { lab, head, good, signer }
    }

    /// The valid vote, changed before it is signed.
    fn changed(&self, change: impl FnOnce(&mut VoteData)) -> Vote {
        let mut data = self.good.data;
        change(&mut data);
        Vote::signed(data, &self.signer)
    }
}

#[test]
fn refused_votes_change_nothing() {
    let voting = Voting::new();
    let (lab, good, replica) = (&voting.lab, &voting.good, voting.lab.replica(0));
    let stranger = lab.authenticator.signer(&KeyPair::from_seed(77, "stranger"));
    let known = replica.votes().map(|(_, vote)| vote.clone()).last().unwrap();
    let early = lab.committee(0, 51, voting.head);
    let changed = |change: &dyn Fn(&mut VoteData)| voting.changed(change);
    for (name, vote, want) in [
        ("forged", Vote { data: VoteData { slot: 51, ..good.data }, signature: good.signature.clone() }, "not made by"),
        ("a stranger's", Vote::signed(good.data, &stranger), "no validator"),
        ("known", known, "already known"),
        ("of the future", changed(&|data| (data.slot, data.target.epoch) = (55, 13)), "future"),
        ("of the far future", changed(&|data| (data.slot, data.target.epoch) = (u64::MAX, u64::MAX / 4)), "future"),
        (
            "of an epoch that is over",
            changed(&|data| (data.slot, data.target.epoch, data.source.epoch) = (3, 0, 0)),
            "is over",
        ),
        ("slot of another epoch", changed(&|data| data.slot = 46), "are inconsistent"),
        ("source after target", changed(&|data| data.source.epoch = 19), "are inconsistent"),
        ("head at another height", changed(&|data| data.head.height = Height::new(3)), "newer"),
        ("another target", changed(&|data| data.target.block.hash = B256::repeat_byte(9)), "target"),
        ("before its attestation slot", lab.vote(0, early[0], 50, voting.head), "attestation slot"),
        (
            "for what is final already",
            changed(&|data| data.head = BlockId { hash: B256::repeat_byte(1), ..replica.finalized().block }),
            "not built upon",
        ),
    ] {
        let got = refuse(replica, name, message(vote));
        assert!(got.contains(want), "{name}: {got}");
    }
}

#[test]
fn refused_evidence_changes_nothing() {
    let mut lab = Lab::new(4);
    lab.run(9);
    let replica = lab.replica(0).clone();
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
        ("two voters", SlashingEvidence::of_votes(&vote(1, 1), &vote(2, 2)).unwrap(), "proves no offence"),
        ("one vote twice", SlashingEvidence::Votes { first: vote(1, 1), second: vote(1, 1) }, "proves no offence"),
        ("a stranger", SlashingEvidence::of_proposals(&of_stranger[0], &of_stranger[1]).unwrap(), "no validator"),
        ("of the future", SlashingEvidence::of_proposals(&of_future[0], &of_future[1]).unwrap(), "is over"),
    ] {
        let got = refuse(&replica, name, message(Lab::offence_message(offence)));
        assert!(got.contains(want), "{name}: {got}");
    }
}

/// Slot 20 with a valid block, and invalid variants of it.
struct Proposing {
    lab: Lab,
    parent: B256,
    good: Arc<Block>,
    proposer: usize,
    /// A validator that is not the proposer of the slot.
    another: usize,
    stranger: Signer,
}

impl Proposing {
    fn new() -> Self {
        let mut lab = Lab::new(4);
        lab.run(19);
        lab.tick();
        let parent = lab.heads()[0];
        let good = lab.forge(0, parent, 20, &[]);
        let proposer = lab.proposer(0, 20, parent);
        let stranger = lab.authenticator.signer(&KeyPair::from_seed(77, "stranger"));
        Self { lab, parent, good, proposer, another: (proposer + 1) % 4, stranger }
    }

    /// A block of the right proposer in slot 20 with a changed payload.
    fn with(&mut self, change: impl FnOnce(&mut Payload)) -> Arc<Block> {
        self.lab.forge_with(0, self.parent, 20, change)
    }

    /// The valid block with a changed header, sealed for `slot` by `by`.
    fn sealed(&self, slot: u64, by: usize, change: impl FnOnce(&mut Header)) -> Arc<Block> {
        let mut header = self.good.header().clone();
        change(&mut header);
        self.lab.seal(Block::new(header, Vec::new(), self.good.payload().clone(), Vec::new()), slot, by)
    }

    /// The valid block with these bytes for a payload.
    fn with_bytes(&self, payload: Bytes) -> Arc<Block> {
        let extra_data = Block::extra_data_of(&payload).unwrap();
        let header = Header { extra_data, ..self.good.header().clone() };
        self.lab.seal(Block::new(header, Vec::new(), payload, Vec::new()), 20, self.proposer)
    }

    fn refuse<'a>(&self, cases: impl IntoIterator<Item = (&'a str, Arc<Block>, &'a str)>) {
        for (name, block, want) in cases {
            let got = refuse(self.lab.replica(0), name, of_block(&block));
            assert!(got.contains(want), "{name}: {got}");
        }
    }
}

#[test]
fn blocks_with_refused_payloads_change_nothing() {
    let mut scene = Proposing::new();
    let (lab, stranger) = (&scene.lab, scene.stranger.address());
    let (another, link) = (&lab.signers[scene.another], lab.link(0, scene.parent));
    let votes: Vec<Vote> = lab.replica(0).votes().map(|(_, vote)| vote.clone()).collect();
    let is_counted =
        |vote: &&Vote| vote.data.target.epoch == 4 && link.state.has_vote(&vote.signer(&lab.authenticator).unwrap(), 4);
    let counted = votes.iter().find(is_counted).unwrap().clone();
    let old = votes.iter().find(|vote| vote.data.target.epoch == 2).unwrap().clone();
    let uncounted = lab.vote(0, scene.another, 19, scene.parent);
    let other_source = Vote::signed(VoteData { source: old.data.source, ..uncounted.data }, another);
    let none = |payload: &mut Payload| payload.reveal.element = None;
    let other = |payload: &mut Payload| payload.reveal.element = Some(B256::repeat_byte(5));
    let no_offence = SlashingEvidence::Votes { first: old.clone(), second: old.clone() };
    let cases = [
        ("no reveal", scene.with(none), "nothing is revealed"),
        ("another reveal", scene.with(other), "hash chain"),
        ("a chain too early", scene.with(|payload| payload.reveal.next_chain = Some(B256::ZERO)), "too early"),
        ("a vote twice", scene.with(|payload| payload.votes = vec![counted]), "already counted"),
        ("an old vote", scene.with(|payload| payload.votes = vec![old]), "not counted"),
        ("a vote with another source", scene.with(|payload| payload.votes = vec![other_source]), ": "),
        ("absent who was not", scene.with(|payload| payload.absent = vec![stranger]), "absent"),
        ("no accounting", scene.with(|payload| payload.accounting = None), "accounting"),
        (
            "a penalty that is not due",
            scene.with(|payload| payload.accounting.as_mut().unwrap().penalties = vec![(stranger, 1)]),
            "accounting",
        ),
        (
            "a reward for a stranger",
            scene.with(|payload| payload.accounting.as_mut().unwrap().rewards = vec![(stranger, 1)]),
            "accounting",
        ),
        ("evidence of nothing", scene.with(|payload| payload.offences = vec![no_offence]), "evidence"),
        ("no payload", scene.with_bytes(Bytes::from_static(b"123")), "names no slot"),
        ("half a payload", scene.with_bytes(Bytes::from([&20_u64.to_be_bytes()[..], b"xyz"].concat())), "canonical"),
    ];
    scene.refuse(cases);
}

#[test]
fn blocks_with_refused_headers_and_seals_change_nothing() {
    let scene = Proposing::new();
    let (by, another, to) = (scene.proposer, scene.another, scene.lab.address(scene.another));
    let by_stranger = Proposal::signed(20, BlockId::of(&scene.good), &scene.stranger).signature;
    let by_stranger = Arc::new(scene.good.as_ref().clone().with_seal(by_stranger));
    scene.refuse([
        ("a stranger's", by_stranger, "made the block"),
        ("another validator's", scene.sealed(20, another, |_| {}), "made the block"),
        ("fees to another", scene.sealed(20, by, |header| header.beneficiary = to), "made the block"),
        ("sealed for another slot", scene.sealed(21, by, |_| {}), "not made by"),
        ("before its slot", scene.sealed(20, by, |header| header.timestamp -= 1), "timestamp"),
        ("after its slot", scene.sealed(20, by, |header| header.timestamp += 1), "timestamp"),
        ("difficulty", scene.sealed(20, by, |header| header.difficulty = U256::from(2)), "difficulty"),
        ("mix", scene.sealed(20, by, |header| header.mix_hash = B256::ZERO), "mixHash"),
        ("extra data", scene.sealed(20, by, |header| header.extra_data = Bytes::new()), "extraData"),
    ]);
}

#[test]
fn known_far_and_old_blocks_change_nothing() {
    let mut scene = Proposing::new();
    let known = scene.lab.nodes[0].blocks[&scene.parent].clone();
    let far = scene.lab.forge(0, scene.parent, 25, &[]);
    let below = scene.lab.chain_of(0)[0].clone();
    let root = scene.lab.replica(0).finalized().block;
    let beside = scene.sealed(20, scene.proposer, |header| {
        header.number = root.height.get() + 1;
        header.parent_hash = B256::repeat_byte(5);
    });
    scene.refuse([
        ("known", known, "already known"),
        ("of a far slot", far, "future"),
        ("below the final one", below, "oldest"),
        ("beside the final one", beside, "not built upon"),
    ]);
    // The valid one is accepted.
    let good = scene.good.clone();
    scene.lab.give_block(0, &good);
    assert_eq!(scene.lab.replica(0).head().hash, good.hash());
}

#[test]
fn unrequested_responses_change_nothing() {
    let mut lab = Lab::new(4);
    lab.run(9);
    let replica = lab.replica(0).clone();
    let head = lab.nodes[0].blocks[&lab.heads()[0]].clone();
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
        ("an unsupported admin command", Event::Admin(Admin::WithdrawVote { target: lab.address(1) }), ""),
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
    let before = lab.replica(0).clone();
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
    let before = lab.replica(0).head();
    for number in 0..2_000_u64 {
        let hash = crate::primitives::keccak256(number.to_be_bytes());
        let unknown = BlockId { height: Height::new(10 + number % 8), hash };
        lab.give_vote(0, &Vote::signed(VoteData { slot: 8 + number % 3, head: unknown, ..template }, &villain));
        let mut header = lab.nodes[0].blocks[&head].header().clone();
        (header.parent_hash, header.number) = (hash, 10 + number % 8);
        let payload = lab.nodes[0].blocks[&head].payload().clone();
        let block = lab.seal(Block::new(header, Vec::new(), payload, Vec::new()), 9, 3);
        lab.give_block(0, &block);
    }
    let replica = lab.replica(0);
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
    assert!(lab.replica(0).unknown_block_votes.is_empty());
    assert_eq!(lab.replica(0).intake.orphans.len(), 0);
}

#[test]
fn invalid_parameters_are_rejected_with_a_hint() {
    for (config, want) in [
        (config().with_slots_per_epoch(1), PosError::SlotsPerEpoch { got: 1, max: 256 }),
        (config().with_slots_per_epoch(1_000), PosError::SlotsPerEpoch { got: 1_000, max: 256 }),
        (config().with_ejection_percent(101), PosError::EjectionPercent { got: 101 }),
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
    let judged =
        check_header(&lab.fixture.config, &lab.authenticator, &link, &other.as_ref().into(), StakeSource::Executed);
    assert!(matches!(judged, Err(HeaderError::Field(HeaderFieldError::Parent { .. }))));
}
