//! A deployed contract with its journal.

use std::sync::Arc;

use alloy_primitives::address;
use alloy_sol_types::SolError;

use super::*;
use crate::{
    primitives::Gas,
    state::{Journal, fixture::MapView},
    vm::{BlockContext, FrameOutcome, FrameResult, Message, TemplateRegistry, execute},
};

pub(super) const OWNER: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const ALICE: Address = address!("0000000000000000000000000000000000000b01");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000b02");

/// Values at genesis: of a chain without stake.
pub(super) const GENESIS: [(Parameter, u64); 6] = [
    (Parameter::BlockTime, 5),
    (Parameter::GasLimit, 30_000_000),
    (Parameter::BaseFeeChangeDenominator, 8),
    (Parameter::ElasticityMultiplier, 2),
    (Parameter::BaseFeeFloor, 0),
    (Parameter::ValidatorsMax, 100),
];

pub(super) fn change(parameter: Parameter, value: u64) -> ParameterUpdate {
    ParameterUpdate { parameter, value: value.into() }
}

pub(super) fn changes(list: &[(Parameter, u64)]) -> Vec<sol::Change> {
    list.iter()
        .map(|(parameter, value)| sol::Change { parameter: parameter.code(), value: U256::from(*value) })
        .collect()
}

pub(super) struct Lab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    pub(super) registry: TemplateRegistry,
}

impl Lab {
    pub(super) fn new() -> Self {
        let mut registry = TemplateRegistry::new();
        registry.register_own(Arc::new(ParametersTemplate)).unwrap();
        let journal = Journal::new(MapView::with_balances(&[], U256::ZERO));
        let mut lab = Self { journal, block: BlockContext::default(), registry };
        let values = ParameterUpdates::new(GENESIS.map(|(parameter, value)| change(parameter, value)));
        let init_code = ParametersTemplate::init_code(OWNER, &values);
        let gas = Gas::new(1_000_000_000);
        let result = lab.run(&Message::create_at(PARAMETERS_ADDRESS, Address::ZERO, U256::ZERO, &init_code, gas));
        assert!(result.is_success(), "{result:?}");
        lab
    }

    pub(super) fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    pub(super) fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        let input = call.abi_encode();
        self.run(&Message::call(caller, PARAMETERS_ADDRESS, U256::ZERO, &input, Gas::new(100_000_000)))
    }

    pub(super) fn ok<C: SolCall>(&mut self, caller: Address, call: &C) -> C::Return {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Success, "{}: {}", C::SIGNATURE, result.output);
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    /// Makes a system call, which never fails.
    pub(super) fn system(&mut self, call: &SystemCall) {
        let result = self.run(&Message::system_call(call.to, &call.input, Gas::new(100_000_000)));
        assert!(result.is_success(), "{result:?}");
    }

    /// Checks that the call fails with this error and changes nothing.
    pub(super) fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let before = self.journal.clone().take_changes();
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert_eq!(self.journal.clone().take_changes(), before);
    }

    /// Returns the state with all that was done.
    pub(super) fn committed(&self) -> Arc<dyn StateView> {
        Arc::new(MapView::default().apply(&self.journal.clone().take_changes()))
    }

    pub(super) fn without_contract() -> Arc<dyn StateView> {
        Arc::new(MapView::default())
    }
}
