//! Governance on a chain: a proposal passes, the next block's system call executes it, and a block after that has the new value.

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use alloy_sol_types::SolCall;

use super::fixture::{CHAIN_ID, adopt, attributes, builder_of, key, spec};
use crate::{
    chain::{Chain, GenesisSpec, GenesisValidator, SystemViewError},
    primitives::{Gas, Transaction, TransactionRequest, ether},
    state::PagedState,
    store::testing::MemoryDisk,
    system::{
        ParameterUpdate, ParameterUpdates, ValidatorUpdate,
        governance::{
            GOVERNANCE_ADDRESS, GovernanceSpec, ProposalState, VoteOption,
            interface::{self as sol, Terms},
        },
        modules::ModulesConfig,
        parameters::{Parameter, ParametersSpec},
        staking::StakingParams,
    },
};

const PERIOD: u64 = 10;

/// The three accounts validate; with stakes of 10, 20 and 30 tokens where there is stake.
fn governed(has_stake: bool) -> GenesisSpec {
    let validators = (0..3).map(|index| GenesisValidator {
        address: key(index).address(),
        operator: None,
        name: String::new(),
        stake: if has_stake { ether(10 * (index + 1)) } else { U256::ZERO },
    });
    let params = StakingParams { churn_limit: 0, block_reward: U256::ZERO, ..StakingParams::default() };
    GenesisSpec {
        validators: validators.collect(),
        staking: has_stake.then_some(params),
        parameters: Some(ParametersSpec::new(GOVERNANCE_ADDRESS)),
        modules: Some(ModulesConfig::new(GOVERNANCE_ADDRESS)),
        governance: Some(GovernanceSpec::default().with_voting_period(PERIOD as u32)),
        ..spec()
    }
}

fn transaction(signer: u64, nonce: u64, call: &impl SolCall) -> Arc<Transaction> {
    let request = TransactionRequest {
        chain_id: Some(CHAIN_ID),
        nonce,
        to: Some(GOVERNANCE_ADDRESS),
        gas_limit: Gas::new(2_000_000),
        max_fee_per_gas: 10_000_000_000,
        input: call.abi_encode().into(),
        ..Default::default()
    };
    Arc::new(request.sign(&key(signer)).unwrap())
}

fn terms() -> Terms {
    Terms { title: "A smaller block".to_owned(), ..Terms::default() }
}

fn gas_limit_change(value: u64) -> sol::proposeParameterChangeCall {
    let change = sol::Change { parameter: Parameter::GasLimit.code(), value: U256::from(value) };
    sol::proposeParameterChangeCall { terms: terms(), changes: vec![change] }
}

fn yes(id: u64) -> sol::voteCall {
    sol::voteCall { id: U256::from(id), option: VoteOption::Yes.code(), weight: U256::ZERO, reason: String::new() }
}

/// Builds the next block so many seconds later, has another replica verify it, and makes it the head.
fn extend(chain: &mut Chain, secs: u64, transactions: Vec<Arc<Transaction>>) {
    let timestamp = chain.head().block().header().timestamp + secs;
    let built = chain.build(chain.head().hash(), &attributes(timestamp), &mut transactions.into_iter()).unwrap();
    assert!(built.left_out.is_empty(), "{:?}", built.left_out);
    adopt(chain, built.block);
    assert!(chain.head().receipts().iter().all(|receipt| receipt.is_success()));
}

fn state(chain: &Chain, id: u64) -> ProposalState {
    chain.proposal(chain.head(), id).unwrap().unwrap().state
}

fn gas_limit(chain: &Chain) -> u64 {
    chain.head().block().header().gas_limit
}

#[test]
fn a_parameter_changes_in_the_block_after_the_execution() {
    for has_stake in [false, true] {
        let mut chain = builder_of(governed(has_stake)).open().unwrap();
        let plain = gas_limit(&chain);
        extend(&mut chain, 1, vec![transaction(0, 0, &gas_limit_change(2_000_000))]);
        extend(&mut chain, 1, vec![transaction(1, 0, &yes(1)), transaction(2, 0, &yes(1))]);
        extend(&mut chain, PERIOD - 2, vec![]);
        assert_eq!((state(&chain, 1), gas_limit(&chain)), (ProposalState::Active, plain));
        extend(&mut chain, 1, vec![]);
        assert_eq!((state(&chain, 1), gas_limit(&chain)), (ProposalState::Executed, plain));
        let update = ParameterUpdate { parameter: Parameter::GasLimit, value: 2_000_000 };
        assert_eq!(chain.head().updates().parameters, ParameterUpdates::new([update]));
        extend(&mut chain, 1, vec![]);
        assert_eq!(gas_limit(&chain), 2_000_000, "with stake: {has_stake}");
        assert!(chain.head().updates().is_empty());
        let vote = chain.vote_of(chain.head(), 1, key(1).address()).unwrap().unwrap();
        let weight = if has_stake { 20_000_000_000 } else { 1 };
        assert_eq!((vote.option, vote.weight, vote.height.get()), (VoteOption::Yes, weight, 2));
        assert_eq!(chain.voting_power(chain.head(), 1, key(1).address()).unwrap(), weight);
        assert!(chain.vote_of(chain.head(), 1, key(0).address()).unwrap().is_none());
        let record = chain.proposal(chain.head(), 1).unwrap().unwrap();
        assert_eq!(record.finalized.map(|(height, _)| height.get()), Some(4));
        assert!(chain.proposal(chain.head(), 2).unwrap().is_none());
        assert!(chain.proposal(chain.head(), 0).unwrap().is_none());
        assert_eq!(chain.proposals(chain.head(), 0, 9).unwrap(), [record]);
    }
}

#[test]
fn a_removed_validator_is_among_the_updates_of_the_block() {
    let mut chain = builder_of(governed(true)).open().unwrap();
    let remove = sol::proposeValidatorRemoveCall { terms: terms(), validator: key(2).address() };
    extend(&mut chain, 1, vec![transaction(0, 0, &remove), transaction(0, 1, &yes(1)), transaction(1, 0, &yes(1))]);
    extend(&mut chain, PERIOD, vec![]);
    assert_eq!(state(&chain, 1), ProposalState::Executed);
    let gone = ValidatorUpdate { address: key(2).address(), weight: 0 };
    assert_eq!(chain.head().updates().validators.as_slice(), [gone]);
}

#[test]
fn a_module_is_on_from_the_execution_on() {
    let mut chain = builder_of(governed(true)).open().unwrap();
    let config_hash = B256::repeat_byte(7);
    let enable =
        sol::proposeModuleEnableCall { terms: terms(), name: "defi".to_owned(), version: 3, configHash: config_hash };
    extend(&mut chain, 1, vec![transaction(0, 0, &enable), transaction(2, 0, &yes(1))]);
    assert!(chain.modules(chain.head()).unwrap().is_empty());
    extend(&mut chain, PERIOD, vec![]);
    let [module] = &chain.modules(chain.head()).unwrap()[..] else { panic!("one module") };
    assert_eq!((module.name.as_str(), module.version, module.config_hash), ("defi", 3, config_hash));
}

#[test]
fn an_upgrade_is_read_until_its_height() {
    let mut chain = builder_of(governed(false)).open().unwrap();
    let (name, info) = ("v2".to_owned(), "there".to_owned());
    let upgrade = sol::proposeUpgradeCall { terms: terms(), name, height: 4, info };
    extend(&mut chain, 1, vec![transaction(0, 0, &upgrade), transaction(0, 1, &yes(1)), transaction(1, 0, &yes(1))]);
    assert!(chain.upgrade_plan(chain.head()).unwrap().is_none());
    extend(&mut chain, PERIOD, vec![]);
    let plan = chain.upgrade_plan(chain.head()).unwrap().unwrap();
    assert_eq!((plan.name.as_str(), plan.height.get(), plan.info.as_str()), ("v2", 4, "there"));
    extend(&mut chain, 1, vec![]);
    assert!(chain.upgrade_plan(chain.head()).unwrap().is_some());
    extend(&mut chain, 1, vec![]);
    assert!(chain.upgrade_plan(chain.head()).unwrap().is_none());
}

/// On one branch the proposal has votes, on the other it has none.
#[test]
fn reorganisations_dumps_and_a_new_start_keep_what_is_open() {
    let disk = Arc::new(MemoryDisk::new());
    let durable = || {
        let state = Arc::new(PagedState::open(disk.clone()).unwrap());
        Chain::builder(governed(true), state, disk.clone()).open().unwrap()
    };
    let mut chain = durable();
    extend(&mut chain, 1, vec![transaction(0, 0, &gas_limit_change(2_000_000))]);
    let mut other = chain.clone();
    extend(&mut chain, 1, vec![transaction(2, 0, &yes(1))]);
    let dump = chain.dump().unwrap();
    let mut reopened = durable();
    extend(&mut reopened, PERIOD, vec![]);
    let mut loaded = builder_of(governed(true)).open_dump(&dump).unwrap();
    extend(&mut loaded, PERIOD, vec![]);
    assert_eq!(loaded.head().hash(), reopened.head().hash());
    extend(&mut other, 2, vec![]);
    extend(&mut other, PERIOD, vec![]);
    assert_eq!((state(&reopened, 1), state(&other, 1)), (ProposalState::Executed, ProposalState::Expired));
}

#[test]
fn a_chain_without_governance_has_none_to_read() {
    let chain = builder_of(spec()).open().unwrap();
    let error = chain.proposals(chain.head(), 1, 1).unwrap_err();
    assert!(matches!(error, SystemViewError::Absent { section: "governance" }));
    assert!(!chain.has_governance());
}

#[test]
fn genesis_refuses_rules_that_no_vote_could_meet() {
    let rules = GovernanceSpec { threshold_permille: 1_000, ..GovernanceSpec::default() };
    let error = GenesisSpec { governance: Some(rules), ..spec() }.check().unwrap_err().to_string();
    assert!(error.contains("thresholdPermille"), "{error}");
    let json = GenesisSpec { governance: Some(GovernanceSpec::default()), ..spec() }.to_json();
    assert_eq!(GenesisSpec::from_json(&json).unwrap().governance, Some(GovernanceSpec::default()));
}
