//! Deployed contracts with their journal.

use std::sync::Arc;

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolCall, SolError, SolEventInterface};

use super::{sol, staking, stand_ins::Modules, *};
use crate::{
    primitives::{Gas, Height, Timestamp, ether},
    state::{Journal, fixture::MapView},
    system::{
        ParameterUpdate, ParameterUpdates,
        address::{PARAMETERS_ADDRESS, STAKING_ADDRESS, VALIDATORS_ADDRESS},
        modules::MODULES_ADDRESS,
        parameters::{Parameter, ParametersTemplate, scheduled_changes},
        staking::{StakingParams, StakingTemplate},
        validators::{ValidatorsConfig, ValidatorsTemplate},
    },
    vm::{BlockContext, FrameOutcome, FrameResult, Marker, Message, TemplateRegistry, execute},
};

pub(super) const V1: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const V2: Address = address!("0000000000000000000000000000000000000a02");
pub(super) const V3: Address = address!("0000000000000000000000000000000000000a03");
pub(super) const ALICE: Address = address!("0000000000000000000000000000000000000b01");

/// Voting period, in seconds.
pub(super) const PERIOD: u64 = 100;

/// Gas of a call.
const GAS: Gas = Gas::new(16_000_000);

/// Gas of a system call, as the chain gives it.
const SYSTEM_GAS: Gas = Gas::new(1_000_000_000);

pub(super) fn rules() -> GovernanceSpec {
    GovernanceSpec { max_open_proposals: 24, ..GovernanceSpec::default().with_voting_period(PERIOD as u32) }
}

pub(super) fn terms() -> sol::Terms {
    sol::Terms { title: "Title".to_owned(), description: "Why.".to_owned(), ..sol::Terms::default() }
}

pub(super) fn change(parameter: Parameter, value: u64) -> sol::Change {
    sol::Change { parameter: parameter.code(), value: U256::from(value) }
}

/// The contracts, at the height 1.
pub(super) struct Lab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    pub(super) registry: TemplateRegistry,
}

impl Lab {
    /// Stakes of 100, 200 and 700 tokens; parameters that governance owns; modules.
    pub(super) fn staked() -> Self {
        let mut lab = Self::empty();
        lab.deploy(GOVERNANCE_ADDRESS, &GovernanceTemplate::init_code(&rules(), None));
        let stakes = [(V1, ether(100)), (V2, ether(200)), (V3, ether(700))];
        lab.journal.set_balance(&STAKING_ADDRESS, ether(1_000)).unwrap();
        let params = StakingParams { churn_limit: 0, ..StakingParams::default() };
        lab.deploy(STAKING_ADDRESS, &StakingTemplate::init_code(&params, stakes));
        lab.deploy_parameters(GOVERNANCE_ADDRESS);
        lab.place(MODULES_ADDRESS, Modules::ID);
        lab.pass(1);
        lab
    }

    /// Three validators of genesis; with modules, which are a voter too, and without a contract of the validators.
    pub(super) fn without_stake() -> Self {
        let mut lab = Self::empty();
        lab.deploy(GOVERNANCE_ADDRESS, &GovernanceTemplate::init_code(&rules(), Some(vec![V1, V2, MODULES_ADDRESS])));
        lab.place(MODULES_ADDRESS, Modules::ID);
        lab.pass(1);
        lab
    }

    /// V1 and V2 in the contract of the validators.
    pub(super) fn with_validators_contract() -> Self {
        Self::with_validators_of(GOVERNANCE_ADDRESS)
    }

    /// V1 and V2 in the contract of the validators, which weigh up to 2, with this administrator.
    pub(super) fn with_validators_of(administrator: Address) -> Self {
        let mut lab = Self::empty();
        lab.deploy(GOVERNANCE_ADDRESS, &GovernanceTemplate::init_code(&rules(), Some(vec![V3])));
        let config = ValidatorsConfig::new(administrator).with_weight_max(2);
        lab.deploy(VALIDATORS_ADDRESS, &ValidatorsTemplate::init_code(&config, [(V1, 1), (V2, 1)]));
        lab.pass(1);
        lab
    }

    fn empty() -> Self {
        let mut registry = TemplateRegistry::new();
        registry.register_own(Arc::new(GovernanceTemplate)).unwrap();
        registry.register_own(Arc::new(StakingTemplate)).unwrap();
        registry.register_own(Arc::new(ParametersTemplate)).unwrap();
        registry.register(Arc::new(Modules)).unwrap();
        registry.register_own(Arc::new(ValidatorsTemplate)).unwrap();
        let journal = Journal::new(MapView::with_balances(&[V1, V2, V3, ALICE], ether(1_000_000)));
        let block = BlockContext { timestamp: Timestamp::from_secs(1_000), ..BlockContext::default() };
        Self { journal, block, registry }
    }

    fn deploy(&mut self, at: Address, init_code: &[u8]) {
        let message = Message::create_at(at, Address::ZERO, U256::ZERO, init_code, SYSTEM_GAS);
        let result = self.run(&message);
        assert!(result.is_success(), "{at}: {:?} {}", result.outcome, result.output);
    }

    pub(super) fn deploy_parameters(&mut self, owner: Address) {
        let values = [(Parameter::GasLimit, 30_000_000), (Parameter::ValidatorsMax, 100)];
        let values = values.map(|(parameter, value)| ParameterUpdate { parameter, value });
        self.deploy(PARAMETERS_ADDRESS, &ParametersTemplate::init_code(owner, &ParameterUpdates::new(values)));
    }

    fn place(&mut self, at: Address, template: crate::vm::TemplateId) {
        self.journal.create_account(&at).unwrap();
        self.journal.set_code(&at, Marker(template).to_bytes().into()).unwrap();
    }

    /// Begins the next block, so many seconds later, without its system call.
    pub(super) fn pass(&mut self, secs: u64) {
        self.block.height = Height::new(self.block.height.get() + 1);
        self.block.timestamp = Timestamp::from_secs(self.block.timestamp.as_secs() + secs);
    }

    /// Begins the next block, so many seconds later, with its system call, and returns its events.
    pub(super) fn next_block(&mut self, secs: u64) -> Vec<sol::GovernanceEvents> {
        self.pass(secs);
        let result = self.run(&Message::system_call(GOVERNANCE_ADDRESS, &end_voting().input, SYSTEM_GAS));
        assert_eq!(result.outcome, FrameOutcome::Success, "{}", result.output);
        self.events()
    }

    pub(super) fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    pub(super) fn raw(&mut self, caller: Address, to: Address, value: U256, input: &[u8]) -> FrameResult {
        self.run(&Message::call(caller, to, value, input, GAS))
    }

    pub(super) fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        self.raw(caller, GOVERNANCE_ADDRESS, U256::ZERO, &call.abi_encode())
    }

    pub(super) fn ok<C: SolCall>(&mut self, caller: Address, call: &C) -> C::Return {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Success, "{}: {}", C::SIGNATURE, result.output);
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    /// Checks that the call fails with this error and changes nothing.
    pub(super) fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let before = self.journal.clone().take_changes();
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert, "{} {}", C::SIGNATURE, E::SIGNATURE);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert_eq!(self.journal.clone().take_changes(), before);
    }

    /// Delegates tokens to a validator.
    pub(super) fn delegate(&mut self, validator: Address, amount: U256) {
        let call = staking::delegateCall { validator };
        let result = self.raw(ALICE, STAKING_ADDRESS, amount, &call.abi_encode());
        assert!(result.is_success(), "{}", result.output);
    }

    pub(super) fn text(&mut self, proposer: Address) -> U256 {
        self.ok(proposer, &sol::proposeTextCall { terms: terms() })
    }

    pub(super) fn vote(&mut self, voter: Address, id: U256, option: VoteOption) {
        self.ok(voter, &vote_call(id, option, U256::ZERO));
    }

    /// Lets the voters say yes and the period pass; returns the state.
    pub(super) fn carry(&mut self, id: U256, voters: &[Address]) -> ProposalState {
        voters.iter().for_each(|voter| self.vote(*voter, id, VoteOption::Yes));
        self.next_block(PERIOD);
        self.state(id)
    }

    pub(super) fn state(&mut self, id: U256) -> ProposalState {
        ProposalState::from_code(self.ok(ALICE, &sol::stateCall { id })).unwrap()
    }

    pub(super) fn proposal(&mut self, id: U256) -> ProposalRecord {
        ProposalRecord::from_answer(self.ok(ALICE, &sol::proposalCall { id })).unwrap()
    }

    pub(super) fn tally(&mut self, id: U256) -> Tally {
        let sol::Votes { yes, abstain, no, veto } = self.ok(ALICE, &sol::tallyCall { id });
        Tally { yes, abstain, no, veto }
    }

    /// The governance contract's events in the last call.
    pub(super) fn events(&self) -> Vec<sol::GovernanceEvents> {
        let logs = self.journal.logs().iter().filter(|log| log.address == GOVERNANCE_ADDRESS);
        logs.map(|log| sol::GovernanceEvents::decode_log(log).unwrap().data).collect()
    }

    /// Parameters that the last call scheduled.
    pub(super) fn scheduled(&self) -> ParameterUpdates {
        ParameterUpdates::new(scheduled_changes(self.journal.logs()))
    }
}

pub(super) fn vote_call(id: U256, option: VoteOption, weight: U256) -> sol::voteCall {
    sol::voteCall { id, option: option.code(), weight, reason: String::new() }
}
