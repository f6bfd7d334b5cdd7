//! The chain's parameters: scheduled by transactions, in force with the next boundary's block, in header rules and contracts.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::fixture::{adopt, attributes, builder_of, key, request, spec};
use crate::{
    chain::{
        Ancestors, BaseFee, BaseFeeParams, Block, BlockError, Chain, ChainDump, DumpError, GenesisSpec, HeaderRules,
        InsertError, LoadError, RuleError,
    },
    primitives::{Gas, Transaction, TransactionRequest},
    state::PagedState,
    store::testing::MemoryDisk,
    system::{
        BlockUpdates, ParameterUpdate, ParameterUpdates,
        parameters::{
            PARAMETERS_ADDRESS, Parameter, ParametersSpec,
            interface::{Change, scheduleCall},
        },
        staking::StakingParams,
    },
};

/// A protocol that takes parameters over at heights divisible by four.
#[derive(Debug)]
struct EveryFourth;

impl HeaderRules for EveryFourth {
    fn verify(&self, _: &Block, _: &Header, _: &dyn Ancestors) -> Result<(), RuleError> {
        Ok(())
    }

    fn is_parameter_boundary(
        &self,
        header: &Header,
        _: &Bytes,
        parent: &Header,
        _: &dyn Ancestors,
    ) -> Result<bool, RuleError> {
        assert_eq!(header.number, parent.number + 1);
        Ok(header.number.is_multiple_of(4))
    }
}

fn governed() -> GenesisSpec {
    GenesisSpec { parameters: Some(ParametersSpec::new(key(0).address())), ..spec() }
}

fn open(spec: GenesisSpec) -> Chain {
    builder_of(spec).with_rules(Arc::new(EveryFourth)).open().unwrap()
}

fn schedule(nonce: u64, changes: &[(Parameter, u64)]) -> Arc<Transaction> {
    let change =
        |(parameter, value): &(Parameter, u64)| Change { parameter: parameter.code(), value: U256::from(*value) };
    let call = scheduleCall { changes: changes.iter().map(change).collect() };
    let request = TransactionRequest {
        gas_limit: Gas::new(200_000),
        input: call.abi_encode().into(),
        ..request(nonce, PARAMETERS_ADDRESS, 0)
    };
    Arc::new(request.sign(&key(0)).unwrap())
}

fn updates(changes: &[(Parameter, u64)]) -> ParameterUpdates {
    ParameterUpdates::new(
        changes.iter().map(|(parameter, value)| ParameterUpdate { parameter: *parameter, value: (*value).into() }),
    )
}

/// Builds the next block, has it verified by another replica too, and makes it the head.
fn extend(chain: &mut Chain, transactions: Vec<Arc<Transaction>>) -> Block {
    let timestamp = chain.head().block().header().timestamp + 1;
    let built = chain.build(chain.head().hash(), &attributes(timestamp), &mut transactions.into_iter()).unwrap();
    assert!(built.left_out.is_empty(), "{:?}", built.left_out);
    adopt(chain, built.block.clone());
    assert!(chain.head().receipts().iter().all(|receipt| receipt.is_success()));
    built.block
}

#[test]
fn a_change_waits_for_the_boundary_and_its_header_commits_to_it() {
    let mut chain = open(governed());
    let plain = chain.genesis().block().header().gas_limit;
    let change = [(Parameter::GasLimit, 2_000_000)];
    extend(&mut chain, vec![schedule(0, &change)]);
    assert_eq!(chain.head().updates().parameters, updates(&change));
    for _ in 2..4 {
        let block = extend(&mut chain, vec![]);
        assert!(block.parameters().is_empty() && block.payload().is_empty());
        assert_eq!((block.header().gas_limit, &chain.head().updates().parameters), (plain, &updates(&change)));
    }
    let boundary = extend(&mut chain, vec![]);
    assert_eq!((boundary.parameters(), boundary.header().gas_limit), (&updates(&change), 2_000_000));
    assert!(boundary.commits_to_payload() && boundary.protocol_payload().is_empty());
    assert!(chain.head().updates().is_empty());
    assert_eq!(extend(&mut chain, vec![]).header().gas_limit, 2_000_000);
    let records = chain.parameters(chain.head()).unwrap();
    let gas_limit = records.iter().find(|record| record.parameter == Parameter::GasLimit).unwrap();
    assert_eq!((gas_limit.value, gas_limit.scheduled), (2_000_000, 2_000_000));
    assert!(records.iter().all(|record| record.parameter != Parameter::BlockTime), "blocks are made on demand");
}

#[test]
fn later_changes_replace_earlier_ones_and_one_in_the_boundary_itself_waits() {
    let mut chain = open(governed());
    extend(&mut chain, vec![schedule(0, &[(Parameter::GasLimit, 2_000_000), (Parameter::ValidatorsMax, 7)])]);
    extend(&mut chain, vec![schedule(1, &[(Parameter::GasLimit, 3_000_000)])]);
    extend(&mut chain, vec![]);
    let boundary = extend(&mut chain, vec![schedule(2, &[(Parameter::GasLimit, 4_000_000)])]);
    assert_eq!(*boundary.parameters(), updates(&[(Parameter::GasLimit, 3_000_000), (Parameter::ValidatorsMax, 7)]));
    assert_eq!(chain.head().updates().parameters, updates(&[(Parameter::GasLimit, 4_000_000)]));
    (5..8).for_each(|_| drop(extend(&mut chain, vec![])));
    assert_eq!(extend(&mut chain, vec![]).header().gas_limit, 4_000_000);
}

/// By the same transactions on both sides, but with another list in the payload.
#[test]
fn a_block_with_other_parameters_than_those_due_is_invalid() {
    let mut chain = open(governed());
    let change = [(Parameter::GasLimit, 2_000_000)];
    extend(&mut chain, vec![schedule(0, &change)]);
    (2..4).for_each(|_| drop(extend(&mut chain, vec![])));
    let built = chain.build(chain.head().hash(), &attributes(9), &mut vec![].into_iter()).unwrap().block;
    let other = updates(&[(Parameter::GasLimit, 9_000_000)]);
    for (name, got) in [("none", ParameterUpdates::NONE), ("others", other)] {
        let payload = crate::chain::block::with_parameters(&got, Default::default());
        let extra_data = Block::extra_data_of(&payload).unwrap_or_default();
        let header = Header { extra_data, ..built.header().clone() };
        let block = Block::new(header, Vec::new(), payload, Vec::new());
        let Err(InsertError::Invalid(error)) = chain.insert(Arc::new(block)) else { panic!("{name} was taken") };
        assert_eq!(error.reason, BlockError::Parameters { got, want: updates(&change) }, "{name}");
    }
    // A block before the boundary takes nothing over.
    let mut early = open(governed());
    extend(&mut early, vec![schedule(0, &change)]);
    let built = early.build(early.head().hash(), &attributes(9), &mut vec![].into_iter()).unwrap().block;
    let payload = crate::chain::block::with_parameters(&updates(&change), Default::default());
    let header = Header { extra_data: Block::extra_data_of(&payload).unwrap(), ..built.header().clone() };
    let block = Block::new(header, Vec::new(), payload, Vec::new());
    let Err(InsertError::Invalid(error)) = early.insert(Arc::new(block)) else { panic!("it was taken") };
    assert!(matches!(error.reason, BlockError::Parameters { want, .. } if want.is_empty()));
}

#[test]
fn the_gas_limit_and_the_base_fee_are_those_in_force() {
    let fees = BaseFeeParams { initial: 2_000_000_000, ..BaseFeeParams::default() };
    let mut chain = open(GenesisSpec { base_fee: BaseFee::Dynamic(fees), ..governed() });
    let before = extend(&mut chain, vec![]).base_fee().unwrap();
    assert_eq!(before, 1_750_000_000, "an eighth less");
    let change = [(Parameter::BaseFeeFloor, 1_700_000_000), (Parameter::BaseFeeChangeDenominator, 1_000)];
    extend(&mut chain, vec![schedule(0, &change)]);
    let third = extend(&mut chain, vec![]).base_fee().unwrap();
    assert_eq!(chain.next_base_fee(), Some(1_700_000_000), "the boundary's block is judged by it");
    assert!(third < 1_700_000_000);
    assert_eq!(extend(&mut chain, vec![]).base_fee(), Some(1_700_000_000));
    let context = chain.next_call_context(&attributes(9)).unwrap();
    assert_eq!(context.block.base_fee, 1_700_000_000);
    extend(&mut chain, vec![schedule(1, &[(Parameter::BaseFeeFloor, 0)])]);
    (6..8).for_each(|_| drop(extend(&mut chain, vec![])));
    assert_eq!(extend(&mut chain, vec![]).base_fee(), Some(1_698_300_000), "a thousandth less");
    // A builder's own wish for a gas limit does not count.
    let wish = attributes(99).with_gas_limit(Gas::new(31_000_000));
    let built = chain.build(chain.head().hash(), &wish, &mut vec![].into_iter()).unwrap();
    assert_eq!(built.block.header().gas_limit, 30_000_000);
}

#[test]
fn staking_goes_by_them_from_the_boundary_on() {
    let mut chain = open(GenesisSpec { staking: Some(StakingParams::default()), ..governed() });
    let change = [(Parameter::UnbondingPeriod, 60), (Parameter::ValidatorsMax, 9), (Parameter::EvidenceMaxAge, 90)];
    extend(&mut chain, vec![schedule(0, &change)]);
    let params = |chain: &Chain| {
        let view = chain.staking_view(chain.head(), &crate::system::staking::interface::paramsCall {}).unwrap();
        (view.unbondingSecs, view.maxValidators, view.evidenceMaxAgeSecs)
    };
    (2..4).for_each(|_| drop(extend(&mut chain, vec![])));
    assert_eq!(params(&chain), (1_814_400, 1_000, 1_814_400));
    extend(&mut chain, vec![]);
    assert_eq!(params(&chain), (60, 9, 90));
}

#[test]
fn reorganisations_dumps_and_a_new_start_keep_what_waits_and_what_is_in_force() {
    let disk = Arc::new(MemoryDisk::new());
    let durable = || {
        let state = Arc::new(PagedState::open(disk.clone()).unwrap());
        Chain::builder(governed(), state, disk.clone()).with_rules(Arc::new(EveryFourth)).open().unwrap()
    };
    let mut chain = durable();
    extend(&mut chain, vec![schedule(0, &[(Parameter::GasLimit, 2_000_000)])]);
    let forked = chain.clone();
    extend(&mut chain, vec![]);
    let waits = chain.head().updates().clone();
    let reopened = durable();
    assert_eq!(reopened.head().updates(), &waits);
    (3..6).for_each(|_| drop(extend(&mut chain, vec![])));
    let mut reopened = durable();
    assert_eq!(extend(&mut reopened, vec![]).header().gas_limit, 2_000_000);
    let dump = chain.dump().unwrap();
    let loaded = builder_of(governed()).with_rules(Arc::new(EveryFourth)).open_dump(&dump).unwrap();
    assert_eq!(loaded.head().hash(), chain.head().hash());
    assert_eq!(loaded.next_base_fee(), chain.next_base_fee());
    // Another branch took over another value.
    let mut other = forked;
    extend(&mut other, vec![schedule(1, &[(Parameter::GasLimit, 5_000_000)])]);
    (3..5).for_each(|_| drop(extend(&mut other, vec![])));
    assert_eq!(other.head().block().header().gas_limit, 5_000_000);
}

/// A dump whose blocks and their updates contradict each other is refused.
#[test]
fn a_dump_has_the_parameters_that_wait_and_those_that_were_due() {
    let mut chain = open(governed());
    extend(&mut chain, vec![schedule(0, &[(Parameter::GasLimit, 2_000_000)])]);
    (2..6).for_each(|_| drop(extend(&mut chain, vec![])));
    let dump = chain.dump().unwrap();
    let load = |dump: &ChainDump| open(governed()).load(dump);
    load(&dump).unwrap();
    let other = |value| BlockUpdates::from(updates(&[(Parameter::GasLimit, value)])).to_bytes();
    // What the transaction scheduled, what waits on, and what the fourth block took over.
    for (place, changed) in [(0, Vec::new()), (0, other(3_000_000)), (1, Vec::new()), (2, other(3_000_000))] {
        let mut dump = dump.clone();
        dump.blocks[place].updates = changed.into();
        assert!(load(&dump).is_err(), "block {place}");
    }
    // Without its first blocks, a boundary is taken on trust, and what it puts in force is what waited.
    let mut late = dump.clone();
    late.blocks.remove(0);
    load(&late).unwrap();
    late.blocks[1].updates = other(3_000_000).into();
    let error = load(&late).unwrap_err();
    assert!(matches!(error, LoadError::Dump(DumpError::Parameters { index: 2 })), "{error}");
}

#[test]
fn a_dump_of_the_state_alone_has_the_gas_limit_and_the_base_fee_in_force() {
    let mut chain = open(governed());
    let change =
        [(Parameter::GasLimit, 50_000_000), (Parameter::ElasticityMultiplier, 4), (Parameter::BaseFeeFloor, 7)];
    extend(&mut chain, vec![schedule(0, &change)]);
    (0..4).for_each(|_| drop(extend(&mut chain, vec![])));
    let genesis = chain.dump_state().unwrap().genesis;
    assert_eq!(genesis.gas_limit, Gas::new(50_000_000));
    let fee = genesis.base_fee.params().unwrap();
    assert_eq!((fee.elasticity_multiplier, fee.floor), (4, 7));
    assert_eq!(Some(fee.initial), chain.head().block().base_fee());
    let off = open(GenesisSpec { base_fee: BaseFee::Off, ..spec() }).dump_state().unwrap();
    assert_eq!(off.genesis.base_fee, BaseFee::Off);
}

#[test]
fn genesis_refuses_values_that_no_transaction_could_set() {
    let section = ParametersSpec::new(key(0).address());
    for (spec, words) in [
        (GenesisSpec { gas_limit: Gas::new(500_000), ..governed() }, "gasLimit is 500000"),
        (GenesisSpec { parameters: Some(section.with_block_time(0)), ..governed() }, "blockTime is 0"),
        (GenesisSpec { parameters: Some(ParametersSpec::new(Address::ZERO)), ..governed() }, "zero address"),
    ] {
        let error = spec.check().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
