//! New proposals, and their withdrawal.

use alloy_primitives::{Address, U256};

use super::{
    action::ProposalAction,
    interface as sol,
    layout::{Agenda, Entry, GOVERNANCE, Head, Settings},
    outcome::{PERMILLE, Tally},
    power,
    queue::Due,
    spec::{OPEN_MAX, PERIOD_SECS_MAX, THRESHOLD_PERMILLE_MAX},
    state::{ProposalEvent, ProposalState},
};
use crate::{
    system::{
        address::{PARAMETERS_ADDRESS, STAKING_ADDRESS, VALIDATORS_ADDRESS},
        modules::{MODULES_ADDRESS, interface as modules},
        parameters::{Parameter, interface as parameters},
        staking::{ValidatorStatus, interface as staking},
        update::ParameterUpdate,
        validators::interface as validators,
    },
    templates::common::external,
    vm::{
        Host, Stop,
        abi::{require, revert},
    },
};

/// Maximum length of a title, in bytes.
pub const TITLE_BYTES_MAX: usize = 256;

/// Maximum length of a description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 4_096;

/// Maximum length of the name of a module or an upgrade, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Maximum length of what operators need to know of an upgrade, in bytes.
pub const INFO_BYTES_MAX: usize = 1_024;

/// Submits changes of parameters, each of which the parameter may have.
pub(super) fn propose_changes(host: &mut Host<'_>, call: &sol::proposeParameterChangeCall) -> Result<U256, Stop> {
    let mut updates: Vec<ParameterUpdate> = Vec::new();
    for sol::Change { parameter: code, value } in &call.changes {
        let parameter =
            Parameter::from_code(*code).ok_or_else(|| revert(&sol::UnknownParameter { parameter: *code }))?;
        let is_new = updates.iter().all(|update| update.parameter != parameter);
        require(is_new, sol::DuplicateParameter { parameter: *code })?;
        let (least, most) = (U256::from(*parameter.range().start()), U256::from(*parameter.range().end()));
        let is_within = (least..=most).contains(value);
        require(is_within, sol::ValueOutOfRange { parameter: *code, value: *value, least, most })?;
        updates.push(ParameterUpdate { parameter, value: value.saturating_to() });
    }
    propose(host, &call.terms, ProposalAction::ParameterChange(updates))
}

/// Submits a proposal, and returns its id.
pub(super) fn propose(host: &mut Host<'_>, terms: &sol::Terms, action: ProposalAction) -> Result<U256, Stop> {
    let settings = GOVERNANCE.settings.get(host)?;
    let (proposer, height) = (host.caller(), host.block().height.get());
    check_proposer(host, &settings, proposer, height)?;
    let maximum = settings.max_open_proposals.min(OPEN_MAX);
    let open = GOVERNANCE.open.len(host)?;
    require(open < maximum.into(), sol::TooManyOpenProposals { maximum: U256::from(maximum) })?;
    check_length("title", &terms.title, TITLE_BYTES_MAX, true)?;
    check_length("description", &terms.description, DESCRIPTION_BYTES_MAX, false)?;
    let terms = with_defaults(&settings, terms)?;
    check_action(host, &settings, &action, height)?;
    let total = power::total_weight_at(host, &settings, height.saturating_sub(1))?;
    let submitted_at = host.block().timestamp.as_secs();
    let head = Head {
        proposer,
        kind: action.kind().code(),
        state: ProposalState::Active.code(),
        quorum_permille: terms.quorumPermille,
        threshold_permille: terms.thresholdPermille,
        veto_permille: settings.veto_permille,
        height,
        submitted_at,
        ends_at: submitted_at.saturating_add(terms.votingPeriodSecs.into()),
        finalized_height: 0,
        finalized_at: 0,
        total,
    };
    store(host, terms, &action, head)
}

fn store(host: &mut Host<'_>, terms: sol::Terms, action: &ProposalAction, head: Head) -> Result<U256, Stop> {
    let agenda = GOVERNANCE.agenda.get(host)?;
    let id = agenda.count + 1;
    let payload = action.payload();
    host.emit(&sol::ProposalCreated {
        id: U256::from(id),
        proposer: head.proposer,
        kind: head.kind,
        title: terms.title.clone(),
        description: terms.description.clone(),
        payload: payload.clone(),
        endsAt: head.ends_at,
        quorumPermille: head.quorum_permille,
        thresholdPermille: head.threshold_permille,
        totalWeight: head.total,
    })?;
    let stored = GOVERNANCE.proposals.at(host, id)?;
    stored.head.set(host, head)?;
    stored.title.set(host, terms.title)?;
    stored.description.set(host, terms.description)?;
    stored.payload.set(host, payload)?;
    GOVERNANCE.open.push(host, Due { ends_at: head.ends_at, id })?;
    put_agenda(host, Agenda { count: id, ..agenda })?;
    Ok(U256::from(id))
}

/// Stores the agenda with the next end of the open proposals.
pub(super) fn put_agenda(host: &mut Host<'_>, agenda: Agenda) -> Result<(), Stop> {
    let first = GOVERNANCE.open.first(host)?;
    let next_end = first.map_or(0, |due| due.ends_at);
    GOVERNANCE.agenda.set(host, Agenda { next_end, ..agenda })
}

/// Withdraws a proposal on which nobody has voted.
pub(super) fn cancel(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let mut proposal = Entry::load(host, id)?;
    let Head { proposer, state, ends_at, .. } = proposal.head;
    require(host.caller() == proposer, sol::OnlyProposer { proposer })?;
    require(proposal.head.state() == ProposalState::Active, sol::NotActive { id, state })?;
    require(host.block().timestamp.as_secs() < ends_at, sol::VotingClosed { id, endsAt: ends_at })?;
    require(proposal.stored.tally.get(host)? == Tally::default(), sol::HasVotes { id })?;
    proposal.apply(host, ProposalEvent::Cancel)?;
    GOVERNANCE.open.remove(host, Due { ends_at, id: proposal.id })?;
    let agenda = GOVERNANCE.agenda.get(host)?;
    put_agenda(host, agenda)
}

fn check_proposer(host: &mut Host<'_>, settings: &Settings, proposer: Address, height: u64) -> Result<(), Stop> {
    let weight = U256::from(power::weight_at(host, settings, proposer, height.saturating_sub(1))?);
    let minimum = power::proposer_minimum(settings);
    require(weight >= minimum, sol::NotEnoughWeight { weight, minimum })
}

/// Refuses a text that is too long, or empty where it must not be.
pub(super) fn check_length(field: &str, text: &str, maximum: usize, is_required: bool) -> Result<(), Stop> {
    require(!is_required || !text.is_empty(), sol::TextMissing { field: field.to_owned() })?;
    let (length, is_short) = (U256::from(text.len()), text.len() <= maximum);
    require(is_short, sol::TextTooLong { field: field.to_owned(), length, maximum: U256::from(maximum) })
}

/// Returns the terms with the chain's in place of zeros; refuses those that are laxer.
fn with_defaults(settings: &Settings, terms: &sol::Terms) -> Result<sol::Terms, Stop> {
    let period = if terms.votingPeriodSecs == 0 { settings.voting_period_secs } else { terms.votingPeriodSecs };
    let (least, most) = (settings.min_voting_period_secs, PERIOD_SECS_MAX);
    require((least..=most).contains(&period), sol::PeriodOutOfRange { secs: period, least, most })?;
    let quorum = if terms.quorumPermille == 0 { settings.quorum_permille } else { terms.quorumPermille };
    let (least, most) = (settings.quorum_permille, PERMILLE);
    require((least..=most).contains(&quorum), sol::QuorumOutOfRange { permille: quorum, least, most })?;
    let threshold = if terms.thresholdPermille == 0 { settings.threshold_permille } else { terms.thresholdPermille };
    let (least, most) = (settings.threshold_permille, THRESHOLD_PERMILLE_MAX);
    require((least..=most).contains(&threshold), sol::ThresholdOutOfRange { permille: threshold, least, most })?;
    Ok(sol::Terms { votingPeriodSecs: period, quorumPermille: quorum, thresholdPermille: threshold, ..terms.clone() })
}

/// Refuses what could not be executed as the chain is now.
fn check_action(host: &mut Host<'_>, settings: &Settings, action: &ProposalAction, height: u64) -> Result<(), Stop> {
    match action {
        ProposalAction::ParameterChange(changes) => check_changes(host, changes),
        ProposalAction::ValidatorAdd { validator, weight } => {
            require(!settings.has_stake, sol::DecidedByStake {})?;
            require_own_validators(host)?;
            let is_valid = !validator.is_zero() && *weight > 0;
            require(is_valid, sol::InvalidValidator { validator: *validator, weight: *weight })
        }
        ProposalAction::ValidatorRemove { validator } => check_removal(host, settings, *validator, height),
        ProposalAction::ModuleEnable { name, .. } | ProposalAction::ModuleDisable { name } => {
            require_contract(host, "modules", MODULES_ADDRESS)?;
            check_length("name", name, NAME_BYTES_MAX, true)?;
            let owner = external::view(host, MODULES_ADDRESS, &modules::ownerCall {})?;
            require(owner == host.address(), sol::ModulesNotOwned { owner })
        }
        ProposalAction::Upgrade { name, height: planned, info } => {
            check_length("name", name, NAME_BYTES_MAX, true)?;
            check_length("info", info, INFO_BYTES_MAX, false)?;
            require(*planned > height, sol::HeightNotAhead { height: *planned, current: height })
        }
        ProposalAction::Text => Ok(()),
    }
}

fn require_contract(host: &mut Host<'_>, section: &str, target: Address) -> Result<(), Stop> {
    let is_there = host.has_code(&target)?;
    require(is_there, sol::ContractMissing { section: section.to_owned(), target })
}

/// Refuses a proposal about validators that only another than this contract may change.
fn require_own_validators(host: &mut Host<'_>) -> Result<(), Stop> {
    require_contract(host, "validatorRegistry", VALIDATORS_ADDRESS)?;
    let owner = external::view(host, VALIDATORS_ADDRESS, &validators::ownerCall {})?;
    require(owner == host.address(), sol::ValidatorsNotOwned { owner })
}

fn check_changes(host: &mut Host<'_>, changes: &[ParameterUpdate]) -> Result<(), Stop> {
    require(!changes.is_empty(), sol::NoChanges {})?;
    require_contract(host, "parameters", PARAMETERS_ADDRESS)?;
    let owner = external::view(host, PARAMETERS_ADDRESS, &parameters::ownerCall {})?;
    require(owner == host.address(), sol::ParametersNotOwned { owner })?;
    let there = external::view(host, PARAMETERS_ADDRESS, &parameters::parametersCall {})?;
    for change in changes {
        let parameter = change.parameter.code();
        let is_there = there.iter().any(|info| info.parameter == parameter);
        require(is_there, sol::ParameterUnavailable { parameter })?;
    }
    Ok(())
}

fn check_removal(host: &mut Host<'_>, settings: &Settings, validator: Address, height: u64) -> Result<(), Stop> {
    let is_validator = if settings.has_stake {
        let info = external::view(host, STAKING_ADDRESS, &staking::validatorCall { validator })?;
        matches!(
            ValidatorStatus::from_code(info.status),
            ValidatorStatus::Bonded | ValidatorStatus::Jailed | ValidatorStatus::Pending
        )
    } else {
        require_own_validators(host)?;
        let call = validators::weightAtCall { validator, height: height.saturating_sub(1) };
        external::view(host, VALIDATORS_ADDRESS, &call)? > 0
    };
    require(is_validator, sol::NotAValidator { validator })
}
