//! EIP-225's test table with signed Clique headers, and invalid headers.

use core::time::Duration;
use std::collections::BTreeMap;

use alloy_consensus::EMPTY_OMMER_ROOT_HASH;
use serde::Deserialize;

use super::*;
use crate::primitives::KeyPair;

/// Attribution and licences are in the files.
const VECTORS: [&str; 2] = [
    include_str!("../../../../tests/vectors/clique_eip225.json"),
    include_str!("../../../../tests/vectors/clique_eip225_more.json"),
];

#[derive(Deserialize)]
struct Table {
    cases: Vec<Case>,
    case_count: usize,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    epoch: u64,
    signers: Vec<String>,
    blocks: Vec<CaseBlock>,
    expected_signers: Option<Vec<String>>,
    expected_error: Option<String>,
}

#[derive(Deserialize)]
struct CaseBlock {
    number: u64,
    signer: String,
    vote: Option<CaseVote>,
    checkpoint: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct CaseVote {
    target: String,
    authorize: bool,
}

/// Keys for the labels A to F, so that the addresses ascend with the labels.
fn keys() -> BTreeMap<String, KeyPair> {
    let mut keys: Vec<_> = (0..6).map(|index| KeyPair::from_seed(index, "clique")).collect();
    keys.sort_by_key(KeyPair::address);
    ('A'..='F').map(String::from).zip(keys).collect()
}

fn base_header(number: u64, parent: &Header) -> Header {
    Header {
        number,
        parent_hash: parent.hash_slow(),
        timestamp: parent.timestamp + 1,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        ..Header::default()
    }
}

fn genesis(signers: Vec<Address>) -> Header {
    let payload = Payload { checkpoint: Some(signers), ..Payload::default() };
    export(&Header::default(), B256::ZERO, &payload, None)
}

fn run(case: &Case, keys: &BTreeMap<String, KeyPair>) -> Result<Vec<Address>, CliqueError> {
    let address = |label: &String| keys[label].address();
    let addresses = |labels: &Vec<String>| labels.iter().map(address).collect::<Vec<_>>();
    let config = PoaConfig::default().with_period(Duration::from_secs(1)).with_epoch(case.epoch);
    let mut parent = genesis(addresses(&case.signers));
    let mut chain = CliqueChain::new(config, &parent)?;
    for block in &case.blocks {
        let payload = Payload {
            vote: block.vote.as_ref().map(|vote| Vote { target: address(&vote.target), authorize: vote.authorize }),
            checkpoint: block.checkpoint.as_ref().map(addresses),
            ..Payload::default()
        };
        let key = &keys[&block.signer];
        let difficulty = chain.snapshot().difficulty(Height::new(block.number), &key.address());
        let header = Header { difficulty: U256::from(difficulty), ..base_header(block.number, &parent) };
        parent = export(&header, B256::repeat_byte(7), &payload, Some(key));
        assert_eq!(chain.follow(&parent)?, key.address());
    }
    Ok(chain.snapshot().signers().addresses().collect())
}

#[test]
fn every_case_of_eip_225() {
    let keys = keys();
    let mut count = 0;
    for text in VECTORS {
        let table: Table = serde_json::from_str(text).unwrap();
        assert_eq!(table.cases.len(), table.case_count);
        for case in &table.cases {
            count += 1;
            match (run(case, &keys), &case.expected_signers, case.expected_error.as_deref()) {
                (Ok(got), Some(want), None) => {
                    let want: Vec<_> = want.iter().map(|label| keys[label].address()).collect();
                    assert_eq!(got, want, "{}", case.name);
                }
                (Err(CliqueError::Snapshot(got)), None, Some(want)) => {
                    let name = match got {
                        SnapshotError::UnauthorizedSigner { .. } => "errUnauthorizedSigner",
                        SnapshotError::RecentlySigned { .. } => "errRecentlySigned",
                        _ => "another",
                    };
                    assert_eq!(name, want, "{}", case.name);
                }
                (got, ..) => panic!("{}: {got:?}", case.name),
            }
        }
    }
    assert_eq!(count, 24);
}

#[test]
fn fields_round_trip() {
    let key = KeyPair::from_seed(1, "clique");
    let vanity = B256::repeat_byte(9);
    let target = Address::repeat_byte(3);
    for payload in [
        Payload::default(),
        Payload { vote: Some(Vote { target, authorize: true }), ..Payload::default() },
        Payload { vote: Some(Vote { target, authorize: false }), ..Payload::default() },
        Payload { checkpoint: Some(vec![target, Address::repeat_byte(4)]), ..Payload::default() },
    ] {
        let header = export(&Header::default(), vanity, &payload, Some(&key));
        let fields = import(&header).unwrap();
        assert_eq!((fields.vanity, fields.payload), (vanity, payload));
        let author = secp256k1_author(seal_hash(&header).unwrap(), &fields.seal);
        assert_eq!(author, Ok(key.address()));
    }
}

#[test]
fn invalid_headers_are_rejected() {
    let key = KeyPair::from_seed(1, "clique");
    let genesis = genesis(vec![key.address()]);
    let chain = CliqueChain::new(PoaConfig::default().with_period(Duration::from_secs(1)), &genesis).unwrap();
    let sealed = |header| export(&header, B256::ZERO, &Payload::default(), Some(&key));
    let good = Header { difficulty: U256::from(2), ..base_header(1, &genesis) };
    let follow = |header: &Header| chain.clone().follow(header);
    assert_eq!(follow(&sealed(good.clone())), Ok(key.address()));

    let early = sealed(Header { timestamp: 0, ..good.clone() });
    assert!(matches!(follow(&early), Err(CliqueError::Timestamp { .. })));
    let heavy = sealed(Header { difficulty: U256::from(1), ..good.clone() });
    assert!(matches!(follow(&heavy), Err(CliqueError::Difficulty { want: 2, .. })));
    let mixed = sealed(Header { mix_hash: B256::repeat_byte(1), ..good.clone() });
    assert_eq!(follow(&mixed), Err(CliqueError::NotZero { field: "mixHash" }));
    let stranger = sealed(Header { parent_hash: B256::ZERO, ..good.clone() });
    assert!(matches!(follow(&stranger), Err(CliqueError::Parent { .. })));
    let odd_nonce = Header { nonce: B64::repeat_byte(1), ..sealed(good.clone()) };
    assert!(matches!(follow(&odd_nonce), Err(CliqueError::Nonce { .. })));
    let short = Header { extra_data: vec![0; 96].into(), ..good.clone() };
    assert_eq!(follow(&short), Err(CliqueError::ExtraTooShort { got: 96 }));
    let crooked = Header { extra_data: vec![0; 98].into(), ..good };
    assert_eq!(follow(&crooked), Err(CliqueError::ExtraSigners { got: 1 }));
}
