//! A deployed contract with its journal.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use alloy_primitives::address;

use super::*;
use crate::{state::fixture::MapView, system::lab::ContractLab, vm::TemplateRegistry};

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

/// The contract.
pub(super) struct Lab(pub(super) ContractLab);

impl Deref for Lab {
    type Target = ContractLab;

    fn deref(&self) -> &ContractLab {
        &self.0
    }
}

impl DerefMut for Lab {
    fn deref_mut(&mut self) -> &mut ContractLab {
        &mut self.0
    }
}

impl Lab {
    pub(super) fn new() -> Self {
        let mut registry = TemplateRegistry::new();
        registry.register_own(Arc::new(ParametersTemplate)).unwrap();
        let values = ParameterUpdates::new(GENESIS.map(|(parameter, value)| change(parameter, value)));
        let init_code = ParametersTemplate::init_code(OWNER, &values);
        Self(ContractLab::new(PARAMETERS_ADDRESS, registry, &init_code))
    }

    /// Returns the state with all that was done.
    pub(super) fn committed(&self) -> Arc<dyn StateView> {
        Arc::new(MapView::default().apply(&self.journal.clone().take_changes()))
    }

    pub(super) fn without_contract() -> Arc<dyn StateView> {
        Arc::new(MapView::default())
    }
}
