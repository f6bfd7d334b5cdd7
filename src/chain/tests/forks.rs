//! Every fork from end to end: headers, what is refused, gas of whole transactions, `mixHash`.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};

use super::fixture::*;
use crate::{
    chain::{
        Ancestors, BaseFee, Block, BlockError, CallError, CallRequest, Chain, GenesisSpec, Hardfork, HeaderRules,
        InsertError, Intervention, InterventionError, InvalidBlock, InvalidTransaction, MixHashSource,
        PrevRandaoRefusal, RuleError, StateOverrides, predictable_mix_hash,
    },
    primitives::{Height, Transaction, TransactionRequest},
    state::{Access, EMPTY_ROOT, Journal},
    vm::{self, BlockContext, Message},
};

const TO: Address = Address::repeat_byte(0xb0);

/// Rules of a protocol without a word on headers, except whose `mixHash` is.
#[derive(Debug)]
struct Mix(MixHashSource);

impl HeaderRules for Mix {
    fn verify(&self, _block: &Block, _parent: &Header, _ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        Ok(())
    }

    fn mix_hash_source(&self) -> MixHashSource {
        self.0
    }
}

fn chain_with(spec: GenesisSpec, source: MixHashSource) -> Chain {
    builder_of(spec).with_rules(Arc::new(Mix(source))).open().unwrap()
}

fn chain_of(fork: Hardfork) -> Chain {
    chain_with(spec().with_hardfork(fork), MixHashSource::Chain)
}

/// The fields of every header of a fork, as names.
fn fields(header: &Header) -> Vec<&'static str> {
    let fields = [
        ("baseFeePerGas", header.base_fee_per_gas.is_some()),
        ("mixHash", !header.mix_hash.is_zero()),
        ("withdrawalsRoot", header.withdrawals_root == Some(EMPTY_ROOT)),
        ("blobGasUsed", header.blob_gas_used == Some(0)),
        ("excessBlobGas", header.excess_blob_gas == Some(0)),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root == Some(B256::ZERO)),
        ("requestsHash", header.requests_hash.is_some()),
    ];
    fields.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

fn reason(chain: &mut Chain, block: Block) -> BlockError {
    match chain.insert(Arc::new(block)).unwrap_err() {
        InsertError::Invalid(InvalidBlock { reason, .. }) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn headers_have_the_fields_of_their_fork_and_blocks_round_trip() {
    let counts = [1, 2, 3, 6, 7, 7];
    let all = [
        "baseFeePerGas",
        "mixHash",
        "withdrawalsRoot",
        "blobGasUsed",
        "excessBlobGas",
        "parentBeaconBlockRoot",
        "requestsHash",
    ];
    for (fork, count) in Hardfork::ALL.into_iter().zip(counts) {
        let (mut ours, mut theirs) = (chain_of(fork), chain_of(fork));
        extend(&mut ours, vec![transfer(0, 0, TO, 7)]);
        for height in [0, 1] {
            let block = ours.block_at(Height::new(height)).unwrap();
            assert_eq!(fields(block.block().header()), all[..count], "{fork} at {height}");
            assert_eq!(Block::decode(&block.block().encode()).unwrap(), **block.block(), "{fork}");
        }
        let block = ours.head().block().clone();
        assert_eq!(block.size(), standard_length(&block), "{fork}");
        theirs.insert(block).unwrap();
    }
}

fn standard_length(block: &Block) -> usize {
    let transactions = block.transactions().iter().map(|transaction| transaction.envelope().clone()).collect();
    let withdrawals = block.header().withdrawals_root.map(|_| Default::default());
    let body = alloy_consensus::BlockBody { transactions, ommers: Vec::<Header>::new(), withdrawals };
    alloy_rlp::encode(block.header().clone().into_block(body)).len()
}

#[test]
fn a_field_of_another_fork_is_refused_and_named() {
    type Change = fn(&mut Header, Option<u64>);
    let all: [(&str, Hardfork, Change); 5] = [
        ("withdrawalsRoot", Hardfork::Shanghai, |header, to| header.withdrawals_root = to.map(word)),
        ("blobGasUsed", Hardfork::Cancun, |header, to| header.blob_gas_used = to),
        ("excessBlobGas", Hardfork::Cancun, |header, to| header.excess_blob_gas = to),
        ("parentBeaconBlockRoot", Hardfork::Cancun, |header, to| header.parent_beacon_block_root = to.map(word)),
        ("requestsHash", Hardfork::Prague, |header, to| header.requests_hash = to.map(word)),
    ];
    for fork in Hardfork::ALL {
        let mut chain = chain_of(fork);
        let honest = build_on(&chain, chain.head().hash(), 1, Vec::new()).block;
        for (field, since, change) in all {
            let mut refused = |to| {
                let mut header = honest.header().clone();
                change(&mut header, to);
                reason(&mut chain, Block::new(header, Vec::new(), Bytes::new(), Vec::new()))
            };
            if fork < since {
                assert_eq!(refused(Some(0)), BlockError::UnknownField { field, fork });
                continue;
            }
            assert_eq!(refused(None), BlockError::MissingField { field, fork });
            let error = refused(Some(131_072));
            assert!(
                matches!(error, BlockError::ForkField { field: f, fork: at, got, .. }
                    if (f, at, got) == (field, fork, U256::from(131_072))),
                "{error}"
            );
            assert!(error.to_string().contains(field) && error.to_string().contains(fork.name()), "{error}");
        }
        chain.insert(Arc::new(honest)).unwrap();
    }
}

fn word(number: u64) -> B256 {
    B256::from(U256::from(number))
}

/// Builds a block with `mix_hash`, whatever the chain says of it.
fn remixed(block: &Block, mix_hash: B256) -> Block {
    let header = Header { mix_hash, ..block.header().clone() };
    Block::new(header, Vec::new(), Bytes::new(), block.interventions().to_vec())
}

#[test]
fn the_mix_hash_is_zero_before_paris_and_never_after() {
    let other = B256::repeat_byte(5);
    for fork in Hardfork::ALL {
        let mut chain = chain_of(fork);
        let genesis = chain.head().hash();
        let honest = build_on(&chain, genesis, 1, Vec::new()).block;
        let want = if fork < Hardfork::Paris { B256::ZERO } else { predictable_mix_hash(genesis, Height::new(1)) };
        assert_eq!(honest.header().mix_hash, want);
        for wrong in [other, B256::ZERO, predictable_mix_hash(genesis, Height::new(1))] {
            if wrong != want {
                let refused = reason(&mut chain, remixed(&honest, wrong));
                assert_eq!(refused, BlockError::MixHash { fork, got: wrong, want });
            }
        }
        // A protocol's own mix is the protocol's to verify, but never zero.
        let mut theirs = chain_with(spec().with_hardfork(fork), MixHashSource::Protocol);
        theirs.insert(Arc::new(remixed(&honest, other))).unwrap();
        if fork >= Hardfork::Paris {
            assert_eq!(reason(&mut theirs, remixed(&honest, B256::ZERO)), BlockError::MixHashZero { fork });
        }
    }
}

#[test]
fn the_predictable_mix_is_of_the_parent_and_the_height() {
    let parent = B256::repeat_byte(1);
    let bytes: Vec<u8> = parent.iter().copied().chain([0, 0, 0, 0, 0, 0, 1, 2]).collect();
    assert_eq!(predictable_mix_hash(parent, Height::new(258)), keccak256(bytes));
}

#[test]
fn an_intervention_sets_the_mix_of_one_block() {
    let set = B256::repeat_byte(9);
    let mut chain = chain_of(Hardfork::Osaka);
    let mut other = chain_of(Hardfork::Osaka);
    chain.intervene(Intervention::PrevRandao { mix_hash: set }).unwrap();
    let context = chain.next_call_context(&attributes(1)).unwrap();
    assert_eq!(context.block.prev_randao, set, "the pending block's calls see it");
    extend(&mut chain, Vec::new());
    let block = chain.head().block().clone();
    assert_eq!((block.header().mix_hash, block.interventions().len()), (set, 1));
    let unmixed = remixed(&block, predictable_mix_hash(block.parent_hash(), Height::new(1)));
    assert!(matches!(reason(&mut other, unmixed), BlockError::MixHash { want, .. } if want == set));
    other.insert(block.clone()).unwrap();
    extend(&mut chain, Vec::new());
    assert_eq!(chain.head().block().header().mix_hash, predictable_mix_hash(block.hash(), Height::new(2)));
}

#[test]
fn an_intervention_that_cannot_set_the_mix_says_why() {
    let refused = |fork, source, mix_hash| {
        let mut chain = chain_with(spec().with_hardfork(fork), source);
        let error = chain.intervene(Intervention::PrevRandao { mix_hash }).unwrap_err();
        assert_eq!(chain.pending_interventions().count(), 0);
        match error {
            InterventionError::Invalid(InvalidBlock { reason: BlockError::PrevRandao { reason, .. }, .. }) => reason,
            other => panic!("{other}"),
        }
    };
    let (mix, fork) = (B256::repeat_byte(1), Hardfork::London);
    assert_eq!(refused(fork, MixHashSource::Chain, mix), PrevRandaoRefusal::BeforeParis { fork });
    assert_eq!(refused(Hardfork::Paris, MixHashSource::Protocol, mix), PrevRandaoRefusal::Protocol);
    assert_eq!(refused(Hardfork::Osaka, MixHashSource::Chain, B256::ZERO), PrevRandaoRefusal::Zero);
}

fn with_input(nonce: u64, input: Vec<u8>, gas_limit: u64) -> Arc<Transaction> {
    let request = TransactionRequest { input: input.into(), gas_limit: gas(gas_limit), ..request(nonce, TO, 0) };
    Arc::new(request.sign(&key(0)).unwrap())
}

/// EIP-7623: 100 bytes are 400 tokens, so that the floor is 25,000 and the gas paid before execution 22,600.
#[test]
fn from_prague_on_call_data_has_a_floor() {
    for fork in Hardfork::ALL {
        let has_floor = fork >= Hardfork::Prague;
        let mut chain = chain_of(fork);
        let build =
            |chain: &Chain, limit| build_on(chain, chain.head().hash(), 1, vec![with_input(0, vec![1; 100], limit)]);
        let short = build(&chain, 24_999);
        if has_floor {
            let reason = InvalidTransaction::FloorGas { have: gas(24_999), want: gas(25_000) };
            assert_eq!(short.left_out[0].1, reason, "{fork}");
        } else {
            assert!(short.left_out.is_empty(), "{fork}");
        }
        let call = CallRequest::call(TO, vec![1; 100]).with_from(key(0).address());
        let context = chain.call_context(chain.head()).unwrap();
        let estimated = chain.estimate_gas(&context, &call, &StateOverrides::new()).unwrap();
        let used = gas(if has_floor { 25_000 } else { 22_600 });
        assert!(estimated >= used && estimated.get() <= used.get() + used.get() / 64, "{fork}: {estimated:?}");
        assert_eq!(chain.call(&context, &call, &StateOverrides::new(), None).unwrap().gas_used, used, "{fork}");
        let before = balance(&chain, chain.head(), key(0).address());
        let block = build(&chain, 30_000).block;
        assert_eq!(block.gas_used(), used, "{fork}");
        adopt(&mut chain, block);
        let receipt = chain.head().receipts()[0].clone();
        let paid = U256::from(receipt.effective_gas_price) * U256::from(used.get());
        assert_eq!(balance(&chain, chain.head(), key(0).address()), before - paid, "{fork}");
    }
}

#[test]
fn from_osaka_on_a_transaction_has_a_gas_cap_and_a_call_none() {
    const CAP: u64 = 1 << 24;
    for fork in Hardfork::ALL {
        let chain = chain_of(fork);
        let left_out = |chain: &Chain, limit| {
            let built = build_on(chain, chain.head().hash(), 1, vec![with_input(0, Vec::new(), limit)]);
            built.left_out.into_iter().map(|(_, reason)| reason).next()
        };
        assert_eq!(left_out(&chain, CAP), None, "{fork}");
        let capped = InvalidTransaction::GasLimitAboveCap { have: gas(CAP + 1), limit: gas(CAP) };
        assert_eq!(left_out(&chain, CAP + 1), (fork == Hardfork::Osaka).then_some(capped), "{fork}");
        let free = chain_with(spec().with_hardfork(fork).with_transaction_gas_cap(false), MixHashSource::Chain);
        assert_eq!(free.genesis().hash(), chain.genesis().hash());
        assert_eq!(left_out(&free, CAP + 1), None, "{fork}");
        let context = chain.call_context(chain.head()).unwrap();
        let call = CallRequest { gas: Some(gas(CAP + 1)), ..CallRequest::call(TO, Vec::new()) };
        assert!(chain.call(&context, &call, &StateOverrides::new(), None).unwrap().is_success());
    }
}

/// A block of exactly the limit, one byte more, and what a builder leaves out (EIP-7934).
#[test]
fn from_osaka_on_a_block_has_a_largest_length() {
    const MAX: usize = 8_388_608;
    const PART: usize = 1_600_000;
    let parts = |last: usize| -> Vec<_> {
        let lengths = [PART, PART, PART, PART, PART, last];
        (0..).zip(lengths).map(|(nonce, length)| with_input(nonce, vec![0; length], 1 << 24)).collect()
    };
    let of_fork = |fork| chain_with(spec().with_hardfork(fork).with_gas_limit(gas(200_000_000)), MixHashSource::Chain);
    let mut chain = of_fork(Hardfork::Osaka);
    let built = build_on(&chain, chain.head().hash(), 1, parts(PART));
    assert_eq!(built.block.transactions().len(), 5);
    let [(_, InvalidTransaction::BlockSizeFull { left, want })] = built.left_out.as_slice() else {
        panic!("{:?}", built.left_out)
    };
    assert!(want > left && built.block.size() <= MAX, "{want} {left}");

    let sized = |last| Block::new(built.block.header().clone(), parts(last), Bytes::new(), Vec::new());
    let last = MAX - sized(0).size();
    // The headers of the transaction and its input take some bytes more.
    let fitting = (last - 8..=last).find(|last| sized(*last).size() == MAX).unwrap();
    assert!(matches!(reason(&mut chain, sized(fitting)), BlockError::TransactionsRoot { .. }));
    let refused = BlockError::BlockSize { fork: Hardfork::Osaka, got: MAX + 1, max: MAX };
    assert_eq!(reason(&mut chain, sized(fitting + 1)), refused);

    let prague = of_fork(Hardfork::Prague);
    let built = build_on(&prague, prague.head().hash(), 1, parts(PART));
    assert!(built.left_out.is_empty() && built.block.size() > MAX);
}

#[test]
fn from_shanghai_on_init_code_is_bounded_and_paid_by_the_word() {
    for fork in Hardfork::ALL {
        let chain = chain_of(fork);
        let create = |length: usize| {
            let input = vec![0; length].into();
            let request = TransactionRequest { to: None, input, gas_limit: gas(5_000_000), ..request(0, TO, 0) };
            let transaction = Arc::new(request.sign(&key(0)).unwrap());
            build_on(&chain, chain.head().hash(), 1, vec![transaction])
                .left_out
                .into_iter()
                .next()
                .map(|(_, reason)| reason)
        };
        assert_eq!(create(49_152), None, "{fork}");
        let refused = InvalidTransaction::InitCodeTooLarge { size: 49_153, limit: 49_152 };
        assert_eq!(create(49_153), (fork >= Hardfork::Shanghai).then_some(refused), "{fork}");
        let word = if fork >= Hardfork::Shanghai { 2 } else { 0 };
        let want = gas(53_000 + 32 * 4 + word);
        assert_eq!(
            refused_creation(&chain, 32),
            InvalidTransaction::IntrinsicGas { have: gas(21_000), want },
            "{fork}"
        );
    }
}

/// Returns why a call can't create a contract with 21,000 gas.
fn refused_creation(chain: &Chain, length: usize) -> InvalidTransaction {
    let context = chain.call_context(chain.head()).unwrap();
    let request = CallRequest { gas: Some(gas(21_000)), ..CallRequest::create(vec![0; length]) };
    match chain.call(&context, &request, &StateOverrides::new(), None).unwrap_err() {
        CallError::Invalid(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn from_shanghai_on_the_coinbase_is_warm() {
    for fork in Hardfork::ALL {
        let chain = chain_of(fork);
        let mut journal = Journal::new(chain.latest_state().unwrap());
        let beneficiary = Address::repeat_byte(0xfe);
        let block = BlockContext { beneficiary, hardfork: fork, ..BlockContext::default() };
        let message = Message::call(key(0).address(), TO, U256::ZERO, &[], gas(100));
        vm::execute(&mut journal, &block, chain.registry(), &message).unwrap();
        let want = if fork >= Hardfork::Shanghai { Access::Warm } else { Access::Cold };
        assert_eq!(journal.access_account(&beneficiary).unwrap(), want, "{fork}");
    }
}

#[test]
fn without_base_fees_every_fork_has_blocks_that_decode() {
    for fork in Hardfork::ALL {
        let spec = GenesisSpec { base_fee: BaseFee::Off, ..spec().with_hardfork(fork) };
        let mut chain = chain_with(spec, MixHashSource::Chain);
        extend(&mut chain, vec![transfer(0, 0, TO, 1)]);
        let block = chain.head().block();
        assert_eq!(block.base_fee(), (fork >= Hardfork::Shanghai).then_some(0), "{fork}");
        assert_eq!(Block::decode(&block.encode()).unwrap(), **block, "{fork}");
        let tip = chain.head().receipts()[0].effective_gas_price;
        assert_eq!(tip, 1_000_000_000, "{fork}: the author gets the whole price");
    }
}
