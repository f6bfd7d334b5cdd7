//! Encodings of proof of stake's signed messages, payloads and records, byte by byte.

use std::collections::BTreeMap;

use super::lab::config;
use crate::{
    consensus::{
        BlockId, Encoder, HeaderChainRules, Record, Validator, ValidatorSet,
        formats::{ADDRESS_1, ADDRESS_2, Field, HASH_A, HASH_B, addresses, assert_format, assert_record, hashes},
        pos::{
            Checkpoint, EpochAccounting, Payload, Pos, Proposal, Reveal, SlashingEvidence, Vote, VoteData,
            proposal::proposal_hash,
            record::{self, SlashingProtection},
            tree::{Node, Tree},
        },
    },
    primitives::{Address, Bytes, Header, Height, hex, keccak256},
};

fn block() -> BlockId {
    BlockId { height: Height::new(7), hash: hashes()[0] }
}

fn data() -> VoteData {
    let checkpoint =
        |epoch, height| Checkpoint { epoch, block: BlockId { height: Height::new(height), hash: hashes()[1] } };
    VoteData { slot: 9, head: block(), source: checkpoint(1, 4), target: checkpoint(2, 6) }
}

const DATA: [Field<'static>; 9] = [
    ("slot", "0000000000000009"),
    ("height of the head", "0000000000000007"),
    ("hash of the head", HASH_A),
    ("epoch of the source", "0000000000000001"),
    ("height of the source", "0000000000000004"),
    ("hash of the source", HASH_B),
    ("epoch of the target", "0000000000000002"),
    ("height of the target", "0000000000000006"),
    ("hash of the target", HASH_B),
];

/// Returns a vote with a signature of two bytes.
fn vote(byte: u8) -> Vote {
    Vote { data: data(), signature: Bytes::from(vec![byte, byte]) }
}

/// Returns the keccak of a text after its length, which takes four bytes, and of fields.
fn signed(text: &str, fields: &[Field<'_>]) -> String {
    let mut out = Encoder::new();
    out.bytes(text.as_bytes());
    let fields: String = fields.iter().map(|(_, bytes)| *bytes).collect();
    let bytes = hex::decode(hex::encode(out.as_bytes()) + &fields).unwrap();
    hex::encode(keccak256(bytes))
}

#[test]
fn signed_messages() {
    let want = signed("chainbox pos vote", &DATA);
    assert_format("what a vote signs", data().signing_hash().as_slice(), &[("keccak", want.as_str())]);
    let fields = [("slot", "0000000000000009"), ("height", "0000000000000007"), ("hash", HASH_A)];
    let want = signed("chainbox pos proposal", &fields);
    assert_format("what a proposal signs", proposal_hash(9, &block()).as_slice(), &[("keccak", want.as_str())]);
}

#[test]
fn payloads() {
    let [one, two] = addresses();
    let proposal = |byte: u8, place: usize| {
        let block = BlockId { height: Height::new(7), hash: hashes()[place] };
        Proposal { slot: 8, block, signature: Bytes::from(vec![byte, byte]) }
    };
    let payload = Payload {
        slot: 9,
        reveal: Reveal { element: Some(hashes()[0]), next_chain: Some(hashes()[1]) },
        votes: vec![vote(1), vote(2)],
        offences: vec![SlashingEvidence::Proposals { first: proposal(3, 0), second: proposal(4, 1) }],
        absent: vec![two],
        accounting: Some(EpochAccounting {
            penalties: vec![(one, 7)],
            rewards: vec![(two, 3)],
            elected: Some(vec![Validator { address: one, weight: 5 }]),
            next: Some(hashes()[1]),
        }),
    };
    let before = [
        ("slot", "0000000000000009"),
        ("reveal", "01"),
        ("element", HASH_A),
        ("next chain", "01"),
        ("its end", HASH_B),
        ("one group of votes", "00000001"),
    ];
    let after = [
        ("two signatures", "00000002"),
        ("first signature", "000000020101"),
        ("second signature", "000000020202"),
        ("one offence", "00000001"),
        ("proposals", "02"),
        ("slot", "0000000000000008"),
        ("height", "0000000000000007"),
        ("hash", HASH_A),
        ("signature", "000000020303"),
        ("slot", "0000000000000008"),
        ("height", "0000000000000007"),
        ("hash", HASH_B),
        ("signature", "000000020404"),
        ("one absent", "00000001"),
        ("absent validator", ADDRESS_2),
        ("accounting", "01"),
        ("one penalty", "00000001"),
        ("of", ADDRESS_1),
        ("gwei", "0000000000000007"),
        ("one reward", "00000001"),
        ("of", ADDRESS_2),
        ("gwei", "0000000000000003"),
        ("elected", "01"),
        ("one member", "00000001"),
        ("its address", ADDRESS_1),
        ("its weight", "0000000000000005"),
        ("next set", "01"),
        ("its hash", HASH_B),
    ];
    assert_format("a payload", &payload.encoded(), &[&before[..], &DATA, &after].concat());
    let fields = [
        ("slot", "0000000000000000"),
        ("no reveal, no next chain", "0000"),
        ("no votes", "00000000"),
        ("no offences", "00000000"),
        ("no absent", "00000000"),
        ("no accounting", "00"),
    ];
    assert_format("the default payload", &Payload::default().encoded(), &fields);
    let mut out = Encoder::new();
    SlashingEvidence::Votes { first: vote(1), second: vote(2) }.encode(&mut out);
    let fields =
        [&[("votes", "01")][..], &DATA, &[("signature", "000000020101")], &DATA, &[("signature", "000000020202")]]
            .concat();
    assert_format("evidence of two votes", out.as_bytes(), &fields);
}

#[test]
fn the_record_of_slashing_protection() {
    let protection = SlashingProtection { vote: Some(vote(1)), proposed: Some(11) };
    let after = [("signature", "000000020101"), ("proposed", "01"), ("in slot", "000000000000000b")];
    let content = [&[("voted", "01")][..], &DATA, &after].concat();
    assert_record("slashing protection", &protection.record(), "promises", &[], &content);
    let none = [("did not vote", "00"), ("proposed nothing", "00")];
    assert_record("slashing protection", &SlashingProtection::default().record(), "promises", &[], &none);
}

/// A genesis block with hash [`HASH_A`] and time 15, of one validator.
fn node() -> Node {
    let set = ValidatorSet::new([Validator { address: addresses()[0], weight: 5 }]).unwrap();
    let header = Header { timestamp: 15, ..Header::default() };
    Node::new(Pos::genesis_context(&config(), &set, hashes()[0], &header), hashes()[1])
}

fn content(record: &Record) -> String {
    hex::encode(Record::content(&record.value().unwrap()).unwrap())
}

/// Length and keccak of the encoding of the state in [`node`].
const STATE: (usize, &str) = (633, "c8e9157a40c534fad5b1ed7daa59c0b234597060aa2d2f429b97135b74b9e9f3");

#[test]
fn records_of_nodes_and_heads() {
    let kept = record::node(&node());
    let before = [
        ("height", "0000000000000000"),
        ("hash", HASH_A),
        ("timestamp", "000000000000000f"),
        ("hash of the parent", HASH_B),
    ];
    let whole = content(&kept);
    let before_state: usize = before.iter().map(|(_, bytes)| bytes.len()).sum();
    let (got, state) = whole.split_at(before_state);
    assert_format("the record of a block", &hex::decode(got).unwrap(), &before);
    let hash = hex::encode(keccak256(hex::decode(state).unwrap()));
    let got = (state.len() / 2, hash.as_str());
    assert_eq!(got, STATE, "the format of a branch's state has changed; its bytes are {state}");
    let fields = [&before[..], &[("state", state)]].concat();
    assert_record("a block", &kept, "node/", &[("hash", HASH_A)], &fields);

    let tree = Tree::new(node());
    let offences = BTreeMap::<Address, SlashingEvidence>::new();
    let head = record::head(&tree, 9, 11, offences.iter()).unwrap();
    let checkpoint = [("epoch", "0000000000000000"), ("height", "0000000000000000"), ("hash", HASH_A)];
    let members = [("one validator", "00000001"), ("its address", ADDRESS_1), ("its weight", "0000000000000005")];
    let rest = [("no votes, none in blocks, no equivocators, no offences", "00000000000000000000000000000000")];
    let numbers = [("slot", "0000000000000009"), ("next ticket", "000000000000000b")];
    let after = [&numbers[..], &checkpoint, &checkpoint, &members, &rest].concat();
    assert_record("a head", &head, "head", &[], &[&fields[..], &after].concat());
}
