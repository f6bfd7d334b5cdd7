//! Encodings of Raft's payloads and records, byte by byte. Its messages are not signed.

use std::sync::Arc;

use crate::{
    chain::Block,
    consensus::{
        BlockId, ReplicaId,
        formats::{ADDRESS_1, ADDRESS_2, HASH_A, addresses, assert_format, assert_record, hashes},
        raft::{
            Assignment, Change, Entry, HeaderContext, Membership, Payload, Role,
            record::{self, HardState},
        },
    },
    primitives::{Bytes, Header, Height, Timestamp, hex},
    system::{ParameterUpdates, ValidatorUpdate, ValidatorUpdates},
};

/// Lists and strings of RLP begin with their length.
#[test]
fn payloads() {
    let plain = Payload { term: 3, index: 5, change: None, next_voters: None };
    let fields = [
        ("list", "c5"),
        ("term", "03"),
        ("index", "05"),
        ("no change", "80"),
        ("no assignments", "c0"),
        ("no next voters", "80"),
    ];
    assert_format("a payload", &plain.encoded(), &fields);

    let assignment = |role| Assignment { replica: ReplicaId::new(1), address: addresses()[0], role };
    let change = |change, next_voters| Payload { change: Some(change), next_voters, ..plain.clone() };
    for (role, name, code) in
        [(Role::Removed, "removed", "80"), (Role::Voter, "voter", "01"), (Role::Learner, "learner", "02")]
    {
        let simple = change(Change::Simple(vec![assignment(role)]), Some(hashes()[0]));
        let fields = [
            ("list", "f83d"),
            ("term", "03"),
            ("index", "05"),
            ("simple", "01"),
            ("assignments", "d8"),
            ("assignment", "d7"),
            ("replica", "01"),
            ("address", "94"),
            ("its address", ADDRESS_1),
            (name, code),
            ("hash", "a0"),
            ("next voters", HASH_A),
        ];
        assert_format("a payload with a simple change", &simple.encoded(), &fields);
    }
    for (change_of, name, code) in [
        (Change::EnterJoint { assignments: Vec::new(), auto_leave: false }, "enter joint", "02"),
        (Change::EnterJoint { assignments: Vec::new(), auto_leave: true }, "enter joint, leave by itself", "03"),
        (Change::LeaveJoint, "leave joint", "04"),
    ] {
        let fields = [
            ("list", "c5"),
            ("term", "03"),
            ("index", "05"),
            (name, code),
            ("no assignments", "c0"),
            ("no next voters", "80"),
        ];
        assert_format("a payload with a joint change", &change(change_of, None).encoded(), &fields);
    }
}

#[test]
fn records() {
    let voted = HardState { term: 7, vote: Some(ReplicaId::new(2)) };
    let content = [("term", "0000000000000007"), ("voted", "01"), ("for", "0000000000000002")];
    let [copy, original] = record::hard_state(voted);
    assert_record("term and vote", &copy, "hard-state/copy", &[], &content);
    assert_record("term and vote", &original, "hard-state", &[], &content);
    let content = [("term", "0000000000000007"), ("did not vote", "00"), ("nobody", "0000000000000000")];
    let [_, original] = record::hard_state(HardState { term: 7, vote: None });
    assert_record("term and vote", &original, "hard-state", &[], &content);

    let header = Header { number: 7, ..Header::default() };
    let block = Block::new(header, Vec::new(), Bytes::new(), Vec::new()).with_seal(vec![1, 2]);
    let key = [("index", "0000000000000009")];
    let stored = hex::encode(block.encode_stored());
    let content = [
        ("term", "0000000000000007"),
        ("term of the entry before", "0000000000000006"),
        ("commit index", "0000000000000004"),
        ("block as it is stored", stored.as_str()),
    ];
    let entry = record::entry(&Entry::new(7, 9, Some(Arc::new(block))), 6, 4);
    assert_record("an entry", &entry, "entry/", &key, &content);
    // Nothing above the entry itself.
    let empty = record::entry(&Entry::new(7, 9, None), 6, 12);
    let content = [
        ("term", "0000000000000007"),
        ("term of the entry before", "0000000000000006"),
        ("commit index", "0000000000000009"),
    ];
    assert_record("an entry without a block", &empty, "entry/", &key, &content);
}

#[test]
fn the_record_of_the_head() {
    let [one, two] = addresses();
    let voters = [(ReplicaId::new(0), one), (ReplicaId::new(1), two)];
    let context = HeaderContext {
        block: BlockId { height: Height::new(7), hash: hashes()[0] },
        timestamp: Timestamp::from_secs(15),
        term: 3,
        index: 9,
        membership: Arc::new(Membership::new(voters, [ReplicaId::new(4)])),
        parameters: ParameterUpdates::NONE,
        pending: Some(ValidatorUpdates::new([ValidatorUpdate { address: two, weight: 1 }])),
    };
    let content = [
        ("height", "0000000000000007"),
        ("hash", HASH_A),
        ("timestamp", "000000000000000f"),
        ("term", "0000000000000003"),
        ("index", "0000000000000009"),
        ("two voters", "0000000200000000000000000000000000000001"),
        ("no outgoing voters", "00000000"),
        ("one learner", "000000010000000000000004"),
        ("no learners next", "00000000"),
        ("does not leave by itself", "00"),
        ("two addresses, of replica 0", "000000020000000000000000"),
        ("its address", ADDRESS_1),
        ("of replica 1", "0000000000000001"),
        ("its address", ADDRESS_2),
        ("change of the contract", ADDRESS_2),
        ("its weight", "0000000000000001"),
    ];
    let [copy, original] = record::head(&context);
    assert_record("a head", &copy, "head/copy", &[], &content);
    assert_record("a head", &original, "head", &[], &content);
}
