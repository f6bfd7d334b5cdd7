//! Encodings of proof of authority's payloads and records, byte by byte.

use std::sync::Arc;

use crate::{
    chain::Block,
    consensus::{
        BlockId, ValidatorSet,
        formats::{
            ADDRESS_1, ADDRESS_2, Field, HASH_A, HASH_B, HASH_ZERO, addresses, assert_format, assert_record, hashes,
        },
        poa::{
            ForkChoiceKey, HeaderContext, Payload, Snapshot, Vote, record,
            tree::{Node, Tree},
        },
    },
    primitives::{Address, Bytes, Header, Height, Timestamp, hex},
    system::{ParameterUpdate, ParameterUpdates, ValidatorUpdate, ValidatorUpdates, parameters::Parameter},
};

fn block() -> BlockId {
    BlockId { height: Height::new(7), hash: hashes()[0] }
}

/// Lists and strings of RLP begin with their length.
#[test]
fn payloads() {
    let [one, two] = addresses();
    let vote = Payload { vote: Some(Vote { target: one, authorize: true }), ..Payload::default() };
    let fields = [("list", "d8"), ("add", "01"), ("address", "94"), ("target", ADDRESS_1)];
    let fields = [&fields[..], &[("no checkpoint", "c0"), ("no next signers", "80")]].concat();
    assert_format("a payload with a vote", &vote.encoded(), &fields);

    let checkpoint = Payload::checkpoint(&ValidatorSet::equal([two, one]).unwrap());
    let fields = [
        ("list", "f842"),
        ("no vote", "80"),
        ("address", "94"),
        ("no target", "0000000000000000000000000000000000000000"),
        ("signers", "ea"),
        ("address", "94"),
        ("first signer", ADDRESS_1),
        ("address", "94"),
        ("second signer", ADDRESS_2),
        ("no next signers", "80"),
    ];
    assert_format("the payload of a checkpoint", &checkpoint.encoded(), &fields);

    let changes = ValidatorUpdates::new([ValidatorUpdate { address: two, weight: 1 }]);
    let vote = Some(Vote { target: one, authorize: false });
    let changing = Payload { vote, checkpoint: None, next_signers: Some(hashes()[0]), changes };
    let fields = [
        ("list", "f855"),
        ("remove", "02"),
        ("address", "94"),
        ("target", ADDRESS_1),
        ("no checkpoint", "c0"),
        ("hash", "a0"),
        ("next signers", HASH_A),
        ("changes", "9c"),
        ("changed address", ADDRESS_2),
        ("its weight", "0000000000000001"),
    ];
    assert_format("a payload that changes signers", &changing.encoded(), &fields);
    assert_format("the default payload", &Payload::default().encoded(), &[]);
}

/// A node whose snapshot has a recent signer and a vote, with changes that wait.
fn node() -> Node {
    let [author, target] = addresses();
    let signers = ValidatorSet::equal([author, target, Address::repeat_byte(0x33)]).unwrap();
    let vote = Payload { vote: Some(Vote { target, authorize: false }), ..Payload::default() };
    let snapshot = Snapshot::new(signers, Arc::default()).apply(Height::new(7), author, &vote, 30_000).unwrap();
    let change = ParameterUpdate { parameter: Parameter::BlockTime, value: 3 };
    let context = HeaderContext {
        block: block(),
        timestamp: Timestamp::from_secs(15),
        snapshot: Arc::new(snapshot),
        parameters: ParameterUpdates::new([change]),
        pending: Some(ValidatorUpdates::new([ValidatorUpdate { address: target, weight: 0 }])),
    };
    let fork_choice_key = ForkChoiceKey { total_difficulty: 17, block: block(), blocks_since_turn: 4 };
    let parent = BlockId { height: Height::new(6), hash: hashes()[1] };
    Node { context, parent, author, fork_choice_key }
}

const NODE: [Field<'static>; 17] = [
    ("height", "0000000000000007"),
    ("hash", HASH_A),
    ("height of the parent", "0000000000000006"),
    ("hash of the parent", HASH_B),
    ("timestamp", "000000000000000f"),
    ("author", ADDRESS_1),
    ("total difficulty", "00000000000000000000000000000011"),
    ("blocks since its turn", "0000000000000004"),
    ("number of signers", "00000003"),
    ("first signer", ADDRESS_1),
    ("second signer", ADDRESS_2),
    ("third signer", "3333333333333333333333333333333333333333"),
    ("one recent signer, at height 7", "000000010000000000000007"),
    ("recent signer", ADDRESS_1),
    ("one vote, of", "000000011111111111111111111111111111111111111111"),
    ("about", ADDRESS_2),
    ("remove", "00"),
];

const CHANGES: [Field<'static>; 5] = [
    ("changed signer", ADDRESS_2),
    ("its weight", "0000000000000000"),
    ("block time", "01"),
    ("3 seconds", "00000000000000000000000000000003"),
    ("one parameter", "01"),
];

#[test]
fn records() {
    let settled = [("height of the settled block", "0000000000000000"), ("its hash", HASH_ZERO)];
    let tree = Tree::new(node(), BlockId::default());
    assert_record("a head", &record::head(&tree), "head", &[], &[&NODE[..], &settled, &CHANGES].concat());

    let key = [("height", "0000000000000007"), ("hash", HASH_A)];
    assert_record("a block", &record::block(&node()), "block/", &key, &[&NODE[..], &CHANGES].concat());

    let content = [
        ("height", "0000000000000007"),
        ("hash", HASH_A),
        ("total difficulty", "00000000000000000000000000000011"),
        ("blocks since its turn", "0000000000000004"),
    ];
    assert_record("the newest sealed block", &record::signed(&node().fork_choice_key), "signed", &[], &content);

    let header = Header { number: 7, ..Header::default() };
    let sealed = Block::new(header, Vec::new(), Bytes::new(), Vec::new()).with_seal(vec![1, 2]);
    let stored = hex::encode(sealed.encode_stored());
    let (key, content) = ([("height", "0000000000000007")], [("as it is stored", stored.as_str())]);
    assert_record("a sealed block", &record::sealed(&sealed), "sealed/", &key, &content);
}
