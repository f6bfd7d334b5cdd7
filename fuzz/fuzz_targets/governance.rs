//! The contracts by which a chain is governed, under any calls: parameters, permissions, modules and governance. Calls of the chain succeed,
//! nobody panics, proposals go by their table and their votes, what they change is changed once, and nobody but the owner changes a list.
#![no_main]

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall;
use arbitrary::Arbitrary;
use chainbox::{
    primitives::{Gas, Height, Timestamp},
    state::Journal,
    system::{
        governance::{
            GOVERNANCE_ADDRESS, GovernanceSpec, GovernanceTemplate, ProposalRecord, ProposalState, end_voting,
            interface::{self as governance, Terms},
        },
        modules::{MODULES_ADDRESS, ModulesConfig, ModulesTemplate, interface as modules},
        parameters::{PARAMETERS_ADDRESS, Parameter, ParametersTemplate, interface as parameters},
        permissions::{PERMISSIONS_ADDRESS, PermissionsConfig, PermissionsTemplate, interface as permissions},
    },
    vm::{BlockContext, FrameOutcome, HaltReason, Message, TemplateRegistry, execute},
};
use chainbox_fuzz::{Who, funded_state};
use libfuzzer_sys::fuzz_target;
