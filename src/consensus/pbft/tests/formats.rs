//! Encodings of PBFT's signed messages, payloads and records, byte by byte.

use crate::{
    chain::Block,
    consensus::{
        BlockId, Validator, ValidatorSet,
        formats::{ADDRESS_1, ADDRESS_2, Field, HASH_A, HASH_B, addresses, assert_format, assert_record, hashes},
        pbft::{
            Body, Committee, CommitteeTransition, DoubleSigning, Payload, PbftConfig, Phase, Suspicion, View,
            record::{Head, Journal},
        },
    },
    primitives::{Bytes, Header, Height, Timestamp, hex, keccak256},
};

const VIEW: View = View::new(5);

fn block() -> BlockId {
    BlockId { height: Height::new(7), hash: hashes()[0] }
}

/// Checks the bytes whose keccak is signed.
fn assert_signed(format: &str, body: &Body, fields: &[Field<'_>]) {
    let bytes: String = fields.iter().map(|(_, bytes)| *bytes).collect();
    let want = keccak256(hex::decode(&bytes).unwrap());
    assert_eq!(body.signing_hash(), want, "the format of {format} has changed: it should be the keccak of {fields:?}");
}

#[test]
fn signed_messages() {
    let vote = |kind| [("kind", kind), ("view", "0000000000000005"), ("height", "0000000000000007"), ("hash", HASH_A)];
    assert_signed("a signed prepare", &Body::Prepare { view: VIEW, block: block() }, &vote("02"));
    assert_signed("a signed commit", &Body::Commit { view: VIEW, block: block() }, &vote("03"));
    let checkpoint = [("kind", "04"), ("height", "0000000000000007"), ("hash", HASH_A)];
    assert_signed("a signed checkpoint", &Body::Checkpoint { block: block() }, &checkpoint);
    let suspicion = [
        ("kind", "08"),
        ("in force since", "0000000000000003"),
        ("view", "0000000000000005"),
        ("height", "0000000000000007"),
    ];
    let suspects = Suspicion { since: Height::new(3), view: VIEW, height: Height::new(7) };
    assert_signed("a signed suspicion", &Body::Suspicion(suspects), &suspicion);
}

/// Lists and strings of RLP begin with their length.
#[test]
fn payloads() {
    let [one, two] = addresses();
    let members = [one, two].map(|address| Validator { address, weight: 5 });
    let signed = |place: usize, byte: u8| (hashes()[place], Bytes::from(vec![byte, byte]));
    let payload = Payload {
        successor: Some(ValidatorSet::new(members).unwrap()),
        evidence: vec![DoubleSigning::new(Phase::Commit, VIEW, Height::new(6), signed(1, 2), signed(0, 1))],
        absent: vec![two],
    };
    let fields = [
        ("list", "f894"),
        ("next committee", "ee"),
        ("member", "d6"),
        ("address", "94"),
        ("first member", ADDRESS_1),
        ("its weight", "05"),
        ("member", "d6"),
        ("address", "94"),
        ("second member", ADDRESS_2),
        ("its weight", "05"),
        ("evidence", "f84d"),
        ("piece", "f84b"),
        ("commit", "03"),
        ("view", "05"),
        ("height", "06"),
        ("hash", "a0"),
        ("lesser hash", HASH_A),
        ("its signature", "820101"),
        ("hash", "a0"),
        ("greater hash", HASH_B),
        ("its signature", "820202"),
        ("absent", "d5"),
        ("address", "94"),
        ("absent member", ADDRESS_2),
    ];
    assert_format("a payload", &payload.encoded(), &fields);
    assert_format("the default payload", &Payload::default().encoded(), &[]);
    let absence = Payload { absent: vec![two], ..Payload::default() };
    let fields = [
        ("list", "d8"),
        ("no next committee", "c0"),
        ("no evidence", "c0"),
        ("absent", "d5"),
        ("address", "94"),
        ("absent member", ADDRESS_2),
    ];
    assert_format("a payload with an absence", &absence.encoded(), &fields);
}

#[test]
fn records_of_votes() {
    let mut journal = Journal::default();
    journal.pre_prepared(VIEW, block());
    journal.prepared(VIEW, block());
    journal.view(Height::new(3), VIEW, Some(&[block()]));
    journal.stable(block(), Height::new(9));
    let records = journal.take();
    let in_view = [("height", "0000000000000007"), ("view", "0000000000000005")];
    let hash = [("hash", HASH_A)];
    assert_record("a pre-prepared block", &records[0], "q/", &in_view, &hash);
    assert_record("a prepared block", &records[1], "p/", &in_view, &hash);
    let key = [("in force since", "0000000000000003"), ("view", "0000000000000005"), ("began", "01")];
    let content = [("one chosen block", "00000001"), ("its height", "0000000000000007"), ("its hash", HASH_A)];
    assert_record("a view", &records[2], "v/", &key, &content);
    assert_record("the stable checkpoint", &records[3], "s/", &[("height", "0000000000000007")], &hash);
}

#[test]
fn records_of_blocks_and_heads() {
    let header = Header { number: 7, ..Header::default() };
    let body = Block::new(header, Vec::new(), Bytes::new(), Vec::new()).with_seal(vec![1, 2]);
    let committee = Committee::new(&PbftConfig::default(), ValidatorSet::equal([addresses()[0]]).unwrap()).unwrap();
    let stable = BlockId { height: Height::new(4), hash: hashes()[1] };
    let head = Head {
        transition: CommitteeTransition::new(committee),
        block: block(),
        timestamp: Timestamp::from_secs(15),
        view: VIEW,
        stable,
        checkpoints: vec![stable],
    };
    let mut journal = Journal::default();
    journal.body(&body);
    let records = journal.take();
    let place = hex::encode(&body.hash()[..8]);
    let key = [("height", "0000000000000007"), ("beginning of its hash", place.as_str())];
    let stored = hex::encode(body.encode_stored());
    assert_record("a pre-prepared body", &records[0], "b/", &key, &[("as it is stored", stored.as_str())]);

    let mut journal = Journal::default();
    journal.head(&head);
    let records = journal.take();
    let content = [
        ("in force since", "0000000000000000"),
        ("no leavers", "00000000"),
        ("one member", "00000001"),
        ("its address", ADDRESS_1),
        ("its weight", "0000000000000001"),
        ("nothing pending", "00000000"),
        ("height", "0000000000000007"),
        ("hash", HASH_A),
        ("timestamp", "000000000000000f"),
        ("view", "0000000000000005"),
        ("height of the stable checkpoint", "0000000000000004"),
        ("its hash", HASH_B),
        ("one checkpoint", "00000001"),
        ("its height", "0000000000000004"),
        ("its hash", HASH_B),
    ];
    assert_record("a committed block", &records[0], "c/", &[("height", "0000000000000007")], &content);
    assert_record("a head", &records[1], "head", &[], &content);
}
