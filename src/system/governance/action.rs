//! What a proposal does once it has passed.

use core::fmt;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolValue;

use super::interface as sol;
use crate::system::{parameters::Parameter, update::ParameterUpdate};

/// Kind of a proposal, by its number on chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProposalKind {
    /// Schedules values of the chain's parameters.
    ParameterChange,
    /// Makes an address a validator, on a chain without stake.
    ValidatorAdd,
    /// Removes a validator.
    ValidatorRemove,
    /// Enables a module, or changes its configuration.
    ModuleEnable,
    /// Disables a module.
    ModuleDisable,
    /// Announces a new version of the software, from a height on.
    Upgrade,
    /// Does nothing: what it says is all.
    Text,
}

impl ProposalKind {
    /// All of them, in ascending order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::ParameterChange,
        Self::ValidatorAdd,
        Self::ValidatorRemove,
        Self::ModuleEnable,
        Self::ModuleDisable,
        Self::Upgrade,
        Self::Text,
    ];

    /// Returns the number in calls and events, from 1 on.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Returns its name, in lower case with hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ParameterChange => "parameter-change",
            Self::ValidatorAdd => "validator-add",
            Self::ValidatorRemove => "validator-remove",
            Self::ModuleEnable => "module-enable",
            Self::ModuleDisable => "module-disable",
            Self::Upgrade => "upgrade",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for ProposalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a proposal does once it has passed, at the start of the first block after its period.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProposalAction {
    /// Schedules values of the chain's parameters, which the protocol takes over at its next boundary: all or, if it fails, none.
    ParameterChange(Vec<ParameterUpdate>),
    /// Makes an address a validator with this weight; on a chain without stake.
    ValidatorAdd {
        /// Address of the validator.
        validator: Address,
        /// Its weight, from 1 on.
        weight: u64,
    },
    /// Removes a validator. With stake it leaves as if it had asked to: its stake is unbonded, and it may join again.
    ValidatorRemove {
        /// Address of the validator.
        validator: Address,
    },
    /// Enables a module, or changes its configuration.
    ModuleEnable {
        /// Name of the module.
        name: String,
        /// Its version.
        version: u32,
        /// Hash of its configuration.
        config_hash: B256,
    },
    /// Disables a module.
    ModuleDisable {
        /// Name of the module.
        name: String,
    },
    /// Announces an upgrade: the plan waits, and the block at its height says that it is reached.
    Upgrade {
        /// Name of the new version.
        name: String,
        /// Height from which it is to run.
        height: u64,
        /// What operators need, such as where to get it.
        info: String,
    },
    /// Does nothing.
    Text,
}

impl ProposalAction {
    /// Returns the kind.
    pub const fn kind(&self) -> ProposalKind {
        match self {
            Self::ParameterChange(_) => ProposalKind::ParameterChange,
            Self::ValidatorAdd { .. } => ProposalKind::ValidatorAdd,
            Self::ValidatorRemove { .. } => ProposalKind::ValidatorRemove,
            Self::ModuleEnable { .. } => ProposalKind::ModuleEnable,
            Self::ModuleDisable { .. } => ProposalKind::ModuleDisable,
            Self::Upgrade { .. } => ProposalKind::Upgrade,
            Self::Text => ProposalKind::Text,
        }
    }

    /// Returns the payload: the ABI encoding of the arguments that its kind has besides the terms.
    pub fn payload(&self) -> Bytes {
        let payload = match self {
            Self::ParameterChange(changes) => {
                let change = |update: &ParameterUpdate| sol::Change {
                    parameter: update.parameter.code(),
                    value: U256::from(update.value),
                };
                (changes.iter().map(change).collect::<Vec<_>>(),).abi_encode_params()
            }
            Self::ValidatorAdd { validator, weight } => (*validator, *weight).abi_encode_params(),
            Self::ValidatorRemove { validator } => (*validator,).abi_encode_params(),
            Self::ModuleEnable { name, version, config_hash } => {
                (name.clone(), *version, *config_hash).abi_encode_params()
            }
            Self::ModuleDisable { name } => (name.clone(),).abi_encode_params(),
            Self::Upgrade { name, height, info } => (name.clone(), *height, info.clone()).abi_encode_params(),
            Self::Text => Vec::new(),
        };
        payload.into()
    }

    /// Reads a payload; `None` for one that no proposal of the kind has.
    pub fn from_payload(kind: ProposalKind, payload: &[u8]) -> Option<Self> {
        Some(match kind {
            ProposalKind::ParameterChange => {
                let (changes,) = <(Vec<sol::Change>,)>::abi_decode_params(payload).ok()?;
                let update = |change: &sol::Change| {
                    let value = change.value.try_into().ok()?;
                    Some(ParameterUpdate { parameter: Parameter::from_code(change.parameter)?, value })
                };
                Self::ParameterChange(changes.iter().map(update).collect::<Option<_>>()?)
            }
            ProposalKind::ValidatorAdd => {
                let (validator, weight) = <(Address, u64)>::abi_decode_params(payload).ok()?;
                Self::ValidatorAdd { validator, weight }
            }
            ProposalKind::ValidatorRemove => {
                let (validator,) = <(Address,)>::abi_decode_params(payload).ok()?;
                Self::ValidatorRemove { validator }
            }
            ProposalKind::ModuleEnable => {
                let (name, version, config_hash) = <(String, u32, B256)>::abi_decode_params(payload).ok()?;
                Self::ModuleEnable { name, version, config_hash }
            }
            ProposalKind::ModuleDisable => {
                let (name,) = <(String,)>::abi_decode_params(payload).ok()?;
                Self::ModuleDisable { name }
            }
            ProposalKind::Upgrade => {
                let (name, height, info) = <(String, u64, String)>::abi_decode_params(payload).ok()?;
                Self::Upgrade { name, height, info }
            }
            ProposalKind::Text => Self::Text,
        })
    }
}

impl From<&sol::proposeValidatorAddCall> for ProposalAction {
    fn from(call: &sol::proposeValidatorAddCall) -> Self {
        Self::ValidatorAdd { validator: call.validator, weight: call.weight }
    }
}

impl From<&sol::proposeValidatorRemoveCall> for ProposalAction {
    fn from(call: &sol::proposeValidatorRemoveCall) -> Self {
        Self::ValidatorRemove { validator: call.validator }
    }
}

impl From<&sol::proposeModuleEnableCall> for ProposalAction {
    fn from(call: &sol::proposeModuleEnableCall) -> Self {
        Self::ModuleEnable { name: call.name.clone(), version: call.version, config_hash: call.configHash }
    }
}

impl From<&sol::proposeModuleDisableCall> for ProposalAction {
    fn from(call: &sol::proposeModuleDisableCall) -> Self {
        Self::ModuleDisable { name: call.name.clone() }
    }
}

impl From<&sol::proposeUpgradeCall> for ProposalAction {
    fn from(call: &sol::proposeUpgradeCall) -> Self {
        Self::Upgrade { name: call.name.clone(), height: call.height, info: call.info.clone() }
    }
}

impl From<&sol::proposeTextCall> for ProposalAction {
    fn from(_: &sol::proposeTextCall) -> Self {
        Self::Text
    }
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::SolCall;

    use super::*;

    fn actions() -> [ProposalAction; 7] {
        [
            ProposalAction::ParameterChange(vec![
                ParameterUpdate { parameter: Parameter::BlockTime, value: 7 },
                ParameterUpdate { parameter: Parameter::MinSelfStake, value: u128::MAX },
            ]),
            ProposalAction::ValidatorAdd { validator: Address::repeat_byte(7), weight: u64::MAX },
            ProposalAction::ValidatorRemove { validator: Address::repeat_byte(7) },
            ProposalAction::ModuleEnable { name: "defi".into(), version: 3, config_hash: B256::repeat_byte(9) },
            ProposalAction::ModuleDisable { name: "défi".into() },
            ProposalAction::Upgrade { name: "v2".into(), height: 99, info: "x".repeat(70) },
            ProposalAction::Text,
        ]
    }

    #[test]
    fn payloads_come_back() {
        for (kind, action) in ProposalKind::ALL.into_iter().zip(actions()) {
            assert_eq!(action.kind(), kind);
            assert_eq!(ProposalKind::from_code(kind.code()), Some(kind));
            let payload = action.payload();
            assert_eq!(ProposalAction::from_payload(kind, &payload), Some(action));
            if kind != ProposalKind::Text {
                assert_eq!(ProposalAction::from_payload(kind, &payload[1..]), None);
            }
        }
        assert_eq!((ProposalKind::from_code(0), ProposalKind::from_code(8)), (None, None));
    }

    /// A client encodes the arguments of the function by which it proposed.
    #[test]
    fn a_payload_is_the_arguments_without_the_terms() {
        let name = "v2".to_owned();
        let action = ProposalAction::Upgrade { name: name.clone(), height: 99, info: String::new() };
        let call = sol::proposeUpgradeCall { terms: sol::Terms::default(), name, height: 99, info: String::new() };
        let (_, name, height, info) =
            <(sol::Terms, String, u64, String)>::abi_decode_params(&call.abi_encode()[4..]).unwrap();
        assert_eq!(action.payload(), (name, height, info).abi_encode_params());
    }
}
