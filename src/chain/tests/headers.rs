//! Each invalid header field is rejected with an error of its own that has both values.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bloom, U256};

use super::fixture::*;
use crate::{
    chain::{Ancestors, Block, BlockError, Chain, Hardfork, HeaderRules, InsertError, InvalidBlock, RuleError},
    primitives::{Gas, Height, Timestamp},
};

fn honest() -> (Chain, Block) {
    let builder = chain();
    let payload = vec![1, 2, 3];
    let attributes = crate::chain::BlockAttributes { payload: payload.into(), ..attributes(5) };
    let transactions = vec![transfer(0, 0, Address::repeat_byte(1), 1), transfer(1, 0, Address::repeat_byte(1), 1)];
    let built = builder.build(builder.head().hash(), &attributes, &mut transactions.into_iter()).unwrap();
    // Another chain, so that nothing is cached.
    (chain(), built.block)
}

fn refused(chain: &mut Chain, block: &Block, tamper: impl FnOnce(&mut Header)) -> BlockError {
    let mut header = block.header().clone();
    tamper(&mut header);
    let parts = (block.transactions().to_vec(), block.payload().clone(), block.interventions().to_vec());
    let tampered = Block::new(header, parts.0, parts.1, parts.2);
    let hash = tampered.hash();
    let error = chain.insert(Arc::new(tampered)).unwrap_err();
    assert!(!chain.contains(hash), "a rejected block is not kept");
    match error {
        InsertError::Invalid(InvalidBlock { reason, hash: named, .. }) if named == hash => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn every_field_is_verified() {
    let (mut chain, block) = honest();
    let honest = block.header().clone();
    let mut check = |tamper: fn(&mut Header)| refused(&mut chain, &block, tamper);

    let got = check(|header| header.number = 2);
    assert_eq!(got, BlockError::Number { got: Height::new(2), want: Height::new(1) });
    let got = check(|header| header.gas_limit += header.gas_limit / 1024);
    assert!(matches!(got, BlockError::GasLimit { got, high, .. } if got.get() == high.get() + 1), "{got}");
    let got = check(|header| header.base_fee_per_gas = None);
    assert_eq!(got, BlockError::BaseFee { got: None, want: Some(875_000_000) });
    let got = check(|header| header.ommers_hash = B256::ZERO);
    assert_eq!(got, BlockError::OmmersHash { got: B256::ZERO, want: honest.ommers_hash });
    let got = check(|header| header.extra_data = vec![0; 33].into());
    assert_eq!(got, BlockError::ExtraDataLength { got: 33, max: 32 });
    let got = check(|header| header.extra_data = vec![0; 32].into());
    assert_eq!(got, BlockError::ExtraData { got: vec![0; 32].into(), want: honest.extra_data.clone() });
    let got = check(|header| header.transactions_root = B256::ZERO);
    assert_eq!(got, BlockError::TransactionsRoot { got: B256::ZERO, want: honest.transactions_root });
    let got = check(|header| header.gas_used += 1);
    assert_eq!(got, BlockError::GasUsed { got: Gas::new(42_001), want: Gas::new(42_000) });
    let got = check(|header| header.state_root = B256::ZERO);
    assert_eq!(got, BlockError::StateRoot { got: B256::ZERO, want: honest.state_root });
    let got = check(|header| header.receipts_root = B256::ZERO);
    assert_eq!(got, BlockError::ReceiptsRoot { got: B256::ZERO, want: honest.receipts_root });
    let got = check(|header| header.logs_bloom = Bloom::repeat_byte(1));
    assert!(matches!(got, BlockError::LogsBloom { want, .. } if *want == Bloom::ZERO));
    let got = check(|header| header.beneficiary = Address::ZERO);
    assert!(matches!(got, BlockError::StateRoot { .. }), "another author gets the fees: {got}");
    let got = check(|header| header.gas_limit = 41_999);
    assert!(matches!(got, BlockError::GasLimit { .. }), "{got}");
    type Set = fn(&mut Header);
    let fork = Hardfork::default();
    let unused: [(&str, Set); 2] = [
        ("blockAccessListHash", |header| header.block_access_list_hash = Some(B256::ZERO)),
        ("slotNumber", |header| header.slot_number = Some(0)),
    ];
    for (field, set) in unused {
        assert_eq!(check(set), BlockError::UnknownField { field, fork });
    }
    assert!(chain.insert(Arc::new(block)).is_ok(), "the honest block is still taken");
}

#[test]
fn time_never_goes_back_and_may_stand_still() {
    let mut chain =
        builder_of(crate::chain::GenesisSpec { timestamp: Timestamp::from_secs(100), ..spec() }).open().unwrap();
    let block = build_on(&chain, chain.head().hash(), 100, vec![]).block;
    let got = refused(&mut chain, &block, |header| header.timestamp = 99);
    assert_eq!(got, BlockError::Timestamp { got: Timestamp::from_secs(99), parent: Timestamp::from_secs(100) });
    adopt(&mut chain, block);
}

#[test]
fn a_body_must_be_the_one_of_its_header() {
    let (mut chain, block) = honest();
    let fewer = Block::new(block.header().clone(), block.transactions()[..1].to_vec(), block.payload().clone(), vec![]);
    let error = chain.insert(Arc::new(fewer.clone())).unwrap_err();
    assert!(matches!(error, InsertError::Invalid(InvalidBlock { reason: BlockError::TransactionsRoot { .. }, .. })));
    // Also when the valid block's result is in the cache.
    chain.insert(Arc::new(block.clone())).unwrap();
    let mut other = builder().open().unwrap();
    other.build(other.head().hash(), &attributes(5), &mut block.transactions().to_vec().into_iter()).unwrap();
    assert!(other.insert(Arc::new(fewer)).is_err());
}

#[test]
fn a_transaction_that_cannot_run_makes_the_block_invalid() {
    let (mut chain, block) = honest();
    let twice = vec![block.transactions()[0].clone(), block.transactions()[0].clone()];
    let header = Header { transactions_root: crate::chain::transactions_root(&twice), ..block.header().clone() };
    let error = chain.insert(Arc::new(Block::new(header, twice, block.payload().clone(), vec![]))).unwrap_err();
    let InsertError::Invalid(InvalidBlock { reason: BlockError::Transaction { index, reason, .. }, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(index, 1);
    assert!(reason.to_string().starts_with("nonce too low"), "{reason}");
}

#[test]
fn an_unknown_parent_is_its_own_error() {
    let (mut chain, block) = honest();
    let header = Header { parent_hash: B256::ZERO, ..block.header().clone() };
    let orphan = Block::new(header, block.transactions().to_vec(), block.payload().clone(), vec![]);
    assert!(matches!(chain.insert(Arc::new(orphan)), Err(InsertError::UnknownParent { parent: B256::ZERO, .. })));
}

/// Requires difficulty 2, nonce zero and a seal.
#[derive(Debug)]
struct Strict;

impl HeaderRules for Strict {
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        assert_eq!(ancestors.block(block.parent_hash()).unwrap().header(), parent);
        let field = |field, got: String, want: &str| Err(RuleError::Field { field, got, want: want.to_owned() });
        if block.header().difficulty != U256::from(2) {
            return field("difficulty", block.header().difficulty.to_string(), "2");
        }
        if block.header().nonce != B64::ZERO {
            return field("nonce", block.header().nonce.to_string(), "0");
        }
        let reason = "no seal".to_owned();
        if block.seal().is_empty() { Err(RuleError::Seal { reason }) } else { Ok(()) }
    }

    fn author(&self, _: &Header) -> Address {
        Address::repeat_byte(0xaa)
    }
}

#[test]
fn header_rules_apply_to_a_block_built_here_too() {
    let mut chain = builder().with_rules(Arc::new(Strict)).open().unwrap();
    let attributes = crate::chain::BlockAttributes { difficulty: U256::from(2), ..attributes(1) };
    let transactions = vec![transfer(0, 0, Address::repeat_byte(1), 1)];
    let block = chain.build(chain.head().hash(), &attributes, &mut transactions.into_iter()).unwrap().block;
    let seal = |error| {
        matches!(error, InsertError::Invalid(InvalidBlock { reason: BlockError::Rule(RuleError::Seal { .. }), .. }))
    };
    assert!(seal(chain.insert(Arc::new(block.clone())).unwrap_err()));
    adopt(&mut chain, block.with_seal(vec![1]));
    assert_eq!(chain.head().total_difficulty(), U256::from(2));
    assert!(!balance(&chain, chain.head(), Address::repeat_byte(0xaa)).is_zero(), "the author gets the fees");
}
