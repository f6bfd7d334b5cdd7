//! Encodings of delegated proof of stake's votes, payloads and records, byte by byte.

use crate::{
    consensus::{
        BlockId, SealedHeader, Validator, ValidatorSet,
        dpos::{
            Confirmation, ConflictingBlocks, DposConfig, HeaderContext, Payload, Prepared, SafetyState, record,
            tree::{Node, Tree},
        },
        formats::{ADDRESS_1, ADDRESS_2, Field, HASH_A, HASH_B, addresses, assert_format, assert_record, hashes},
    },
    primitives::{Bytes, Header, Height, Timestamp, hex},
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// From the highest bit on: 12 bits, 24 bits, 28 bits.
#[test]
fn votes() {
    let vote = Confirmation { confirmed: 3, implied: Prepared { version: 2, height: Height::new(40) } };
    let fields = [("heights confirmed", "003"), ("schedule", "000002"), ("distance of the implied height", "000000a")];
    assert_format("a vote in a nonce", vote.nonce(Height::new(50)).unwrap().as_slice(), &fields);
}

/// Lists and strings of RLP begin with their length.
#[test]
fn payloads() {
    let [one, two] = addresses();
    let payload = Payload {
        absent: vec![one],
        proposes: ValidatorSet::new([Validator { address: two, weight: 5 }]).ok(),
        activates: Some(hashes()[0]),
        evidence: Vec::new(),
    };
    let fields = [
        ("list", "f850"),
        ("absent", "d5"),
        ("address", "94"),
        ("absent producer", ADDRESS_1),
        ("proposes", "d7"),
        ("producer", "d6"),
        ("address", "94"),
        ("its address", ADDRESS_2),
        ("its weight", "05"),
        ("hash", "a0"),
        ("activates", HASH_A),
        ("no evidence", "c0"),
    ];
    assert_format("a payload", &payload.encoded(), &fields);
    let fields =
        [("list", "c4"), ("no absent", "c0"), ("proposes none", "c0"), ("activates none", "80"), ("no evidence", "c0")];
    assert_format("the default payload", &Payload::default().encoded(), &fields);
}

#[test]
fn evidence() {
    let headers = [1, 2].map(|number| Header { number, ..Header::default() });
    let seal = |byte: u8| Bytes::from(vec![byte, byte]);
    let proof = ConflictingBlocks::new((headers[0].clone(), seal(1)), (headers[1].clone(), seal(2)));
    let is_ordered = headers[0].hash_slow() < headers[1].hash_slow();
    let [mut first, mut second] = headers.map(|header| hex::encode(alloy_rlp::encode(header)));
    let mut seals = ["820101", "820202"];
    if !is_ordered {
        core::mem::swap(&mut first, &mut second);
        seals.reverse();
    }
    let length = (first.len() + second.len()) / 2 + 6;
    let list = format!("f9{length:04x}");
    let fields = [
        ("list", list.as_str()),
        ("header of the lesser hash", first.as_str()),
        ("its seal", seals[0]),
        ("header of the greater hash", second.as_str()),
        ("its seal", seals[1]),
    ];
    assert_format("a piece of evidence", &alloy_rlp::encode(&proof), &fields);
}

fn node() -> Node {
    let id = |height, place: usize| BlockId { height: Height::new(height), hash: hashes()[place] };
    let validators = ValidatorSet::new([Validator { address: addresses()[0], weight: 5 }]).unwrap();
    let time = Timestamp::from_secs(15);
    let context = HeaderContext::genesis(&DposConfig::default(), id(7, 0), time, &validators);
    Node { context, parent: id(6, 1), author: addresses()[1], sealed: None }
}

const NODE: [Field<'static>; 27] = [
    ("height", "0000000000000007"),
    ("hash", HASH_A),
    ("timestamp", "000000000000000f"),
    ("slot", "0000000000000000"),
    ("version of the schedule", "0000000000000000"),
    ("seed of the schedule", HASH_A),
    ("one producer", "00000001"),
    ("its address", ADDRESS_1),
    ("its weight", "0000000000000005"),
    ("no pending schedule", "00"),
    ("locked rule", "00"),
    ("height of the branch", "0000000000000007"),
    ("prepared height", "0000000000000007"),
    ("irreversible height", "0000000000000007"),
    ("no counts", "00000000"),
    ("one confirmer", "00000001"),
    ("last height confirmed", "0000000000000007"),
    ("first height of the run", "0000000000000008"),
    ("no vote", "00"),
    ("nothing reported", "00000000"),
    ("no former producers", "00000000"),
    ("one candidate", "00000001"),
    ("its address", ADDRESS_1),
    ("its weight", "0000000000000005"),
    ("height of the parent", "0000000000000006"),
    ("hash of the parent", HASH_B),
    ("author", ADDRESS_2),
];

const SAFETY_STATE: [Field<'static>; 4] = [
    ("slot of the newest block", "0000000000000009"),
    ("watermark", "0000000000000008"),
    ("version of the lock", "0000000000000002"),
    ("height of the lock", "0000000000000005"),
];

fn safety_state() -> SafetyState {
    let lock = Prepared { version: 2, height: Height::new(5) };
    SafetyState { slot: 9, began: None, confirmed: Height::new(8), lock }
}

#[test]
fn records() {
    assert_record("a safety state", &safety_state().record(), "promise", &[], &SAFETY_STATE);
    let late = SafetyState { began: Some(Timestamp::from_secs(77)), ..safety_state() };
    let content = [&SAFETY_STATE[..], &[("begin of the slot", "000000000000004d")]].concat();
    assert_record("a safety state after a change of the block time", &late.record(), "promise", &[], &content);

    let finalized = BlockId { height: Height::new(4), hash: hashes()[1] };
    let tree = Tree::new(&DposConfig::default(), node(), finalized);
    let content =
        [&NODE[..], &[("irreversible block", "0000000000000004"), ("its hash", HASH_B)], &SAFETY_STATE].concat();
    assert_record("a head", &record::head(&tree, &safety_state()), "head", &[], &content);
    assert_record("the last irreversible block", &record::root(&node()), "root", &[], &NODE);
}

#[test]
fn the_record_of_a_block() {
    let header = Header { number: 7, ..Header::default() };
    let rlp = hex::encode(alloy_rlp::encode(&header));
    let (payload, seal) = (Bytes::from_static(&[1, 2, 3]), Bytes::from_static(&[4, 5]));
    let updates = ValidatorUpdates::new([ValidatorUpdate { address: addresses()[0], weight: 5 }]);
    let id = BlockId { height: Height::new(7), hash: hashes()[0] };
    let length = format!("{:08x}", rlp.len() / 2);
    let content = [
        ("length of the header", length.as_str()),
        ("header", rlp.as_str()),
        ("payload", "00000003010203"),
        ("seal", "000000020405"),
        ("one change of execution", "00000001"),
        ("changed address", ADDRESS_1),
        ("its weight", "0000000000000005"),
    ];
    let record = record::block(id, &SealedHeader { header, payload, seal }, &updates);
    assert_record("a block", &record, "block/", &[("height", "0000000000000007"), ("hash", HASH_A)], &content);
}
