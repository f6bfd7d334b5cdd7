//! The end of voting, and the execution of what passed.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{Revert, SolCall, SolError};

use super::{
    action::{ProposalAction, ProposalKind},
    interface as sol,
    layout::{Agenda, Entry, GOVERNANCE},
    proposing::put_agenda,
    state::ProposalEvent,
};
use crate::{
    primitives::{
        Gas,
        mutation::{self, Mutation},
    },
    system::{
        address::{PARAMETERS_ADDRESS, STAKING_ADDRESS, VALIDATORS_ADDRESS},
        modules::{MODULES_ADDRESS, interface as modules},
        parameters::interface as parameters,
        staking::interface as staking,
        update::ParameterUpdate,
        validators::interface as validators,
    },
    vm::{FrameOutcome, Host, Stop, abi::require},
};

/// Proposals that end in one block, at most: with the bounds of their executions a system call stays within its gas.
pub const FINAL_PER_BLOCK: u32 = 16;

/// Gas of one execution: more than any of them needs.
pub const EXECUTION_GAS: Gas = Gas::new(30_000_000);

/// Bytes that are kept of the revert data of a failed execution.
pub const FAILURE_BYTES_MAX: usize = 256;

/// What an execution ends with: nothing, or revert data.
type Executed = Result<(), Bytes>;

/// Ends the voting on proposals whose period is over, and announces an upgrade whose height this is.
pub(super) fn end_voting(host: &mut Host<'_>) -> Result<(), Stop> {
    let caller = host.caller();
    require(host.is_system_call(), sol::OnlySystem { caller })?;
    let (height, now) = (host.block().height.get(), host.block().timestamp.as_secs());
    let mut agenda = GOVERNANCE.agenda.get(host)?;
    if agenda.upgrade_height != 0 && agenda.upgrade_height <= height {
        agenda = reach_upgrade(host, agenda)?;
    }
    for _ in 0..FINAL_PER_BLOCK {
        let is_ahead = now < agenda.next_end && !mutation::active(Mutation::GovernanceEndsEarly);
        if agenda.next_end == 0 || is_ahead {
            break;
        }
        let Some(due) = GOVERNANCE.open.pop(host)? else { break };
        put_agenda(host, agenda)?;
        let proposal = Entry::load(host, U256::from(due.id))?;
        finalize(host, proposal)?;
        // An execution may have brought an upgrade or a new proposal.
        agenda = GOVERNANCE.agenda.get(host)?;
    }
    Ok(())
}

/// Counts, and executes what passed. It is out of the queue already, and has left its state before any other contract runs.
fn finalize(host: &mut Host<'_>, mut proposal: Entry) -> Result<(), Stop> {
    let tally = proposal.stored.tally.get(host)?;
    let outcome = proposal.head.rules().outcome(&tally, proposal.head.total);
    proposal.apply(host, outcome)?;
    if outcome != ProposalEvent::Pass {
        return Ok(());
    }
    let payload = proposal.stored.payload.get(host)?;
    let kind = ProposalKind::from_code(proposal.head.kind);
    let executed = match kind.and_then(|kind| ProposalAction::from_payload(kind, &payload)) {
        Some(_) if mutation::active(Mutation::GovernanceSkipsExecution) => Ok(()),
        Some(action) => execute(host, proposal.id, &action)?,
        None => Err(Bytes::new()),
    };
    let Err(mut data) = executed else { return proposal.apply(host, ProposalEvent::Execute) };
    data.truncate(FAILURE_BYTES_MAX);
    proposal.stored.failure.set(host, data.clone())?;
    host.emit(&sol::ExecutionFailed { id: U256::from(proposal.id), data })?;
    proposal.apply(host, ProposalEvent::Fail)
}

fn execute(host: &mut Host<'_>, id: u64, action: &ProposalAction) -> Result<Executed, Stop> {
    match action {
        ProposalAction::ParameterChange(updates) => {
            let changes = updates.iter().map(change).collect();
            call(host, PARAMETERS_ADDRESS, &parameters::scheduleCall { changes })
        }
        ProposalAction::ValidatorAdd { validator, weight } => set_validator(host, *validator, *weight),
        ProposalAction::ValidatorRemove { validator } => {
            if GOVERNANCE.settings.get(host)?.has_stake {
                call(host, STAKING_ADDRESS, &staking::removeValidatorCall { validator: *validator })
            } else {
                set_validator(host, *validator, 0)
            }
        }
        ProposalAction::ModuleEnable { name, version, config_hash } => {
            let (name, version, config_hash) = (name.clone(), *version, *config_hash);
            call(host, MODULES_ADDRESS, &modules::enableCall { name, version, configHash: config_hash })
        }
        ProposalAction::ModuleDisable { name } => {
            call(host, MODULES_ADDRESS, &modules::disableCall { name: name.clone() })
        }
        ProposalAction::Upgrade { name, height, info } => schedule_upgrade(host, id, name, *height, info),
        ProposalAction::Text => Ok(Ok(())),
    }
}

fn change(update: &ParameterUpdate) -> parameters::Change {
    parameters::Change { parameter: update.parameter.code(), value: U256::from(update.value) }
}

fn set_validator(host: &mut Host<'_>, validator: Address, weight: u64) -> Result<Executed, Stop> {
    call(host, VALIDATORS_ADDRESS, &validators::setValidatorCall { validator, weight })
}

/// Calls another contract, whose failure undoes what it did alone.
fn call(host: &mut Host<'_>, to: Address, call: &impl SolCall) -> Result<Executed, Stop> {
    if !host.has_code(&to)? {
        return Ok(Err(Revert::from(format!("there is no contract at {to}")).abi_encode().into()));
    }
    let result = host.call_with_gas(to, U256::ZERO, &call.abi_encode(), EXECUTION_GAS)?;
    Ok(match result.outcome {
        FrameOutcome::Success => Ok(()),
        FrameOutcome::Revert => Err(result.output),
        FrameOutcome::Halt(reason) => Err(Revert::from(reason.to_string()).abi_encode().into()),
    })
}

fn schedule_upgrade(host: &mut Host<'_>, id: u64, name: &str, height: u64, info: &str) -> Result<Executed, Stop> {
    let current = host.block().height.get();
    if height <= current {
        return Ok(Err(sol::HeightNotAhead { height, current }.abi_encode().into()));
    }
    let agenda = GOVERNANCE.agenda.get(host)?;
    if agenda.upgrade_height != 0 {
        let (name, height) = (planned(host, &agenda)?.0, agenda.upgrade_height);
        return Ok(Err(sol::UpgradeWaiting { name, height }.abi_encode().into()));
    }
    GOVERNANCE.agenda.set(host, Agenda { upgrade_height: height, upgrade: id, ..agenda })?;
    let (name, info) = (name.to_owned(), info.to_owned());
    host.emit(&sol::UpgradeScheduled { id: U256::from(id), name, height, info })?;
    Ok(Ok(()))
}

fn reach_upgrade(host: &mut Host<'_>, agenda: Agenda) -> Result<Agenda, Stop> {
    let (name, info) = planned(host, &agenda)?;
    let (id, height) = (U256::from(agenda.upgrade), agenda.upgrade_height);
    let without = Agenda { upgrade_height: 0, upgrade: 0, ..agenda };
    GOVERNANCE.agenda.set(host, without)?;
    host.emit(&sol::UpgradeReached { id, name, height, info })?;
    Ok(without)
}

/// Returns name and info of the upgrade that waits.
pub(super) fn planned(host: &mut Host<'_>, agenda: &Agenda) -> Result<(String, String), Stop> {
    let payload = GOVERNANCE.proposals.at(host, agenda.upgrade)?.payload.get(host)?;
    Ok(match ProposalAction::from_payload(ProposalKind::Upgrade, &payload) {
        Some(ProposalAction::Upgrade { name, info, .. }) => (name, info),
        _ => Default::default(),
    })
}
