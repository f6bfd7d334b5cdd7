//! A deployed contract with its journal.

use std::sync::Arc;

use alloy_primitives::address;
use alloy_sol_types::SolError;

use super::*;
use crate::{
    primitives::{Gas, Height},
    state::{Journal, fixture::MapView},
    system::{
        ParameterUpdate, ParameterUpdates,
        parameters::{PARAMETERS_ADDRESS, Parameter, ParametersTemplate, activate},
    },
    vm::{BlockContext, FrameOutcome, FrameResult, Message, TemplateRegistry, execute},
};

pub(super) const ADMIN: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const V1: Address = address!("0000000000000000000000000000000000000b01");
pub(super) const V2: Address = address!("0000000000000000000000000000000000000b02");
pub(super) const V3: Address = address!("0000000000000000000000000000000000000b03");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000c01");

/// Equal weights, of which one may be left.
pub(super) fn equal() -> ValidatorsConfig {
    ValidatorsConfig::new(ADMIN)
}

/// Weights up to 1,000.
pub(super) fn weighted() -> ValidatorsConfig {
    equal().with_weight_max(1_000)
}

pub(super) fn set(validator: Address, weight: u64) -> sol::setValidatorCall {
    sol::setValidatorCall { validator, weight }
}

pub(super) fn slash(validator: Address, part_ppm: u32) -> sol::slashCall {
    sol::slashCall { validator, partPpm: part_ppm, reason: "fell asleep".to_owned() }
}

pub(super) fn offer(to: Address) -> sol::transferOwnershipCall {
    sol::transferOwnershipCall { newOwner: to }
}

pub(super) struct Lab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    pub(super) registry: TemplateRegistry,
}

impl Lab {
    /// The contract at the height 1, with these validators of genesis, who weigh 1 each.
    pub(super) fn new(config: ValidatorsConfig, members: &[Address]) -> Self {
        Self::of(config, &members.iter().map(|member| (*member, 1)).collect::<Vec<_>>())
    }

    pub(super) fn of(config: ValidatorsConfig, members: &[(Address, u64)]) -> Self {
        let mut lab = Self::empty();
        let result = lab.deploy(VALIDATORS_ADDRESS, &ValidatorsTemplate::init_code(&config, members.iter().copied()));
        assert!(result.is_success(), "{result:?}");
        lab.pass(1);
        lab
    }

    pub(super) fn empty() -> Self {
        let mut registry = ValidatorsTemplate::registry();
        registry.register_own(Arc::new(ParametersTemplate)).unwrap();
        let journal = Journal::new(MapView::with_balances(&[ADMIN], U256::from(10)));
        Self { journal, block: BlockContext::default(), registry }
    }

    pub(super) fn deploy(&mut self, at: Address, init_code: &[u8]) -> FrameResult {
        let creation = Message::create_at(at, Address::ZERO, U256::ZERO, init_code, Gas::new(1_000_000_000));
        self.run(&creation.of_genesis())
    }

    /// Puts the chain's parameters beside it, with so many validators at most.
    pub(super) fn deploy_parameters(&mut self, validators_max: u128) {
        let updates = maximum(validators_max);
        let result = self.deploy(PARAMETERS_ADDRESS, &ParametersTemplate::init_code(ADMIN, &updates));
        assert!(result.is_success(), "{result:?}");
    }

    pub(super) fn set_maximum(&mut self, validators_max: u128) {
        let call = activate(&maximum(validators_max));
        let result = self.run(&Message::system_call(call.to, &call.input, Gas::new(1_000_000)));
        assert!(result.is_success(), "{result:?}");
    }

    pub(super) fn pass(&mut self, blocks: u64) {
        self.block.height = Height::new(self.block.height.get() + blocks);
    }

    pub(super) fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    pub(super) fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        let input = call.abi_encode();
        self.run(&Message::call(caller, VALIDATORS_ADDRESS, U256::ZERO, &input, Gas::new(100_000_000)))
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
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert_eq!(self.journal.clone().take_changes(), before);
    }

    pub(super) fn convict(&mut self, offender: Address) {
        let call = convict(offender);
        let result = self.run(&Message::system_call(call.to, &call.input, Gas::new(1_000_000)));
        assert!(result.is_success(), "{result:?}");
    }

    /// The updates of the newest call.
    pub(super) fn updates(&self) -> Vec<(Address, u64)> {
        weight_changes(self.journal.logs()).map(|update| (update.address, update.weight)).collect()
    }

    /// The validators in the order of the list, with their weights.
    pub(super) fn listed(&mut self) -> Vec<(Address, u64)> {
        let page = self.ok(BOB, &sol::validatorsCall { from: U256::ZERO, count: U256::MAX });
        page.iter().map(|info| (info.validator, info.weight)).collect()
    }

    pub(super) fn weight_at(&mut self, validator: Address, height: u64) -> u128 {
        self.ok(BOB, &sol::weightAtCall { validator, height })
    }

    pub(super) fn total_at(&mut self, height: u64) -> u128 {
        self.ok(BOB, &sol::totalWeightAtCall { height })
    }
}

fn maximum(validators_max: u128) -> ParameterUpdates {
    let gas_limit = ParameterUpdate { parameter: Parameter::GasLimit, value: 30_000_000 };
    ParameterUpdates::new([gas_limit, ParameterUpdate { parameter: Parameter::ValidatorsMax, value: validators_max }])
}
