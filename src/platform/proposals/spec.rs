//! A proposal as a caller asks for it, and the call of the contract that makes it.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolInterface};
use serde_json::{Map, Value};

use crate::{
    chain::CallRequest,
    system::{
        ParameterUpdate,
        governance::{GOVERNANCE_ADDRESS, ProposalAction, interface as sol},
        parameters::Parameter,
    },
};

/// Selectors of the functions that propose.
pub(super) const SELECTORS: [[u8; 4]; 7] = [
    sol::proposeParameterChangeCall::SELECTOR,
    sol::proposeValidatorAddCall::SELECTOR,
    sol::proposeValidatorRemoveCall::SELECTOR,
    sol::proposeModuleEnableCall::SELECTOR,
    sol::proposeModuleDisableCall::SELECTOR,
    sol::proposeUpgradeCall::SELECTOR,
    sol::proposeTextCall::SELECTOR,
];

/// A proposal to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalSpec {
    /// Id of the chain.
    pub blockchain_id: String,
    /// What it does once it has passed.
    pub action: ProposalAction,
    /// Configuration of the module that it enables, of which the action has the hash; `None` of any other.
    pub module_config: Option<Map<String, Value>>,
    /// Title.
    pub title: String,
    /// Description; may be empty.
    pub description: String,
    /// Time in which votes are taken, in seconds of the chain's time; the chain's own by default.
    pub voting_period_secs: Option<u32>,
    /// Part of all weight that must vote, in thousandths; the chain's own by default, which is the least.
    pub quorum_permille: Option<u16>,
    /// Part of the votes without abstentions above which those in favour must be, in thousandths; as the quorum.
    pub threshold_permille: Option<u16>,
    /// Who proposes; the default sender by default.
    pub from: Option<Address>,
    /// A transaction that somebody else has signed, in place of everything but the chain.
    pub signed_transaction: Option<Bytes>,
}

impl ProposalSpec {
    /// Returns the call that submits it.
    pub(super) fn call(&self) -> CallRequest {
        let terms = sol::Terms {
            title: self.title.clone(),
            description: self.description.clone(),
            votingPeriodSecs: self.voting_period_secs.unwrap_or_default(),
            quorumPermille: self.quorum_permille.unwrap_or_default(),
            thresholdPermille: self.threshold_permille.unwrap_or_default(),
        };
        let input = match self.action.clone() {
            ProposalAction::ParameterChange(changes) => {
                let change = |update: &ParameterUpdate| sol::Change {
                    parameter: update.parameter.code(),
                    value: U256::from(update.value),
                };
                let changes = changes.iter().map(change).collect();
                sol::proposeParameterChangeCall { terms, changes }.abi_encode()
            }
            ProposalAction::ValidatorAdd { validator, weight } => {
                sol::proposeValidatorAddCall { terms, validator, weight }.abi_encode()
            }
            ProposalAction::ValidatorRemove { validator } => {
                sol::proposeValidatorRemoveCall { terms, validator }.abi_encode()
            }
            ProposalAction::ModuleEnable { name, version, config_hash } => {
                sol::proposeModuleEnableCall { terms, name, version, configHash: config_hash }.abi_encode()
            }
            ProposalAction::ModuleDisable { name } => sol::proposeModuleDisableCall { terms, name }.abi_encode(),
            ProposalAction::Upgrade { name, height, info } => {
                sol::proposeUpgradeCall { terms, name, height, info }.abi_encode()
            }
            ProposalAction::Text => sol::proposeTextCall { terms }.abi_encode(),
        };
        CallRequest::call(GOVERNANCE_ADDRESS, input)
    }
}

/// Reads a call that proposes something; `None` for any other.
pub(super) fn read_call(input: &[u8]) -> Option<(sol::Terms, ProposalAction)> {
    use sol::GovernanceCalls as Call;
    Some(match Call::abi_decode(input).ok()? {
        Call::proposeParameterChange(call) => {
            let update = |change: &sol::Change| {
                let parameter = Parameter::from_code(change.parameter)?;
                Some(ParameterUpdate { parameter, value: change.value.try_into().ok()? })
            };
            let changes = call.changes.iter().map(update).collect::<Option<_>>()?;
            (call.terms, ProposalAction::ParameterChange(changes))
        }
        Call::proposeValidatorAdd(call) => {
            let sol::proposeValidatorAddCall { terms, validator, weight } = call;
            (terms, ProposalAction::ValidatorAdd { validator, weight })
        }
        Call::proposeValidatorRemove(call) => {
            (call.terms, ProposalAction::ValidatorRemove { validator: call.validator })
        }
        Call::proposeModuleEnable(call) => {
            let sol::proposeModuleEnableCall { terms, name, version, configHash } = call;
            (terms, ProposalAction::ModuleEnable { name, version, config_hash: B256::from(configHash) })
        }
        Call::proposeModuleDisable(call) => (call.terms, ProposalAction::ModuleDisable { name: call.name }),
        Call::proposeUpgrade(call) => {
            let sol::proposeUpgradeCall { terms, name, height, info } = call;
            (terms, ProposalAction::Upgrade { name, height, info })
        }
        Call::proposeText(call) => (call.terms, ProposalAction::Text),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_proposal_comes_back_from_its_call() {
        let actions = [
            ProposalAction::ParameterChange(vec![ParameterUpdate { parameter: Parameter::BlockTime, value: 3 }]),
            ProposalAction::ValidatorAdd { validator: Address::repeat_byte(1), weight: 1 },
            ProposalAction::ValidatorRemove { validator: Address::repeat_byte(1) },
            ProposalAction::ModuleEnable { name: "defi".into(), version: 1, config_hash: B256::repeat_byte(2) },
            ProposalAction::ModuleDisable { name: "defi".into() },
            ProposalAction::Upgrade { name: "v2".into(), height: 9, info: "i".into() },
            ProposalAction::Text,
        ];
        for (action, selector) in actions.into_iter().zip(SELECTORS) {
            let spec = ProposalSpec {
                blockchain_id: "bc_x".to_owned(),
                action: action.clone(),
                module_config: None,
                title: "t".to_owned(),
                description: "d".to_owned(),
                voting_period_secs: Some(60),
                quorum_permille: Some(400),
                threshold_permille: None,
                from: None,
                signed_transaction: None,
            };
            let call = spec.call();
            assert!(call.input.starts_with(&selector));
            let (terms, read) = read_call(&call.input).unwrap();
            assert_eq!(
                (read, terms.votingPeriodSecs, terms.quorumPermille, terms.thresholdPermille),
                (action, 60, 400, 0)
            );
        }
        assert_eq!(read_call(&[1, 2, 3, 4]), None);
    }
}
