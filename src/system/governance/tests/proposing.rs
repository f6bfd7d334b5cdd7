//! Proposals: terms, refusals by name, withdrawal.

use alloy_sol_types::SolCall;

use super::{lab::PERIOD, *};
use crate::{
    primitives::ether,
    system::{
        ParameterUpdate,
        address::{STAKING_ADDRESS, VALIDATORS_ADDRESS},
        modules::MODULES_ADDRESS,
        parameters::Parameter,
    },
};

fn too_long(field: &str, maximum: usize) -> sol::TextTooLong {
    let maximum = U256::from(maximum);
    sol::TextTooLong { field: field.to_owned(), length: maximum + U256::ONE, maximum }
}

fn missing(field: &str) -> sol::TextMissing {
    sol::TextMissing { field: field.to_owned() }
}

#[test]
fn a_proposal_is_told_and_read_back() {
    let mut lab = Lab::staked();
    let changes = vec![change(Parameter::GasLimit, 2_000_000), change(Parameter::ValidatorsMax, 9)];
    let given = sol::Terms { votingPeriodSecs: 200, quorumPermille: 500, thresholdPermille: 667, ..terms() };
    let id = lab.ok(V2, &sol::proposeParameterChangeCall { terms: given, changes });
    let [sol::GovernanceEvents::ProposalCreated(event)] = &lab.events()[..] else { panic!("one event") };
    assert_eq!((event.id, event.proposer, event.kind, event.endsAt), (U256::ONE, V2, 1, 1_201));
    let record = lab.proposal(id);
    let update = |parameter, value| ParameterUpdate { parameter, value };
    let changes = vec![update(Parameter::GasLimit, 2_000_000), update(Parameter::ValidatorsMax, 9)];
    assert_eq!(record.action, ProposalAction::ParameterChange(changes));
    assert_eq!(record.action.payload(), event.payload);
    assert_eq!((record.id, record.proposer, record.state), (1, V2, ProposalState::Active));
    assert_eq!((record.title.as_str(), record.description.as_str()), ("Title", "Why."));
    assert_eq!((record.submitted_at.as_secs(), record.ends_at.as_secs(), record.height.get()), (1_001, 1_201, 1));
    let rules = VotingRules { quorum_permille: 500, threshold_permille: 667, veto_permille: 334 };
    assert_eq!((record.rules, record.finalized, record.failure), (rules, None, None));
    lab.text(V1);
    lab.text(V3);
    assert_eq!(lab.ok(ALICE, &sol::proposalCountCall {}), U256::from(3));
    let page = |lab: &mut Lab, from: u64, count: U256| {
        let page = lab.ok(ALICE, &sol::proposalsCall { from: U256::from(from), count });
        page.iter().map(|proposal| proposal.id.to::<u64>()).collect::<Vec<_>>()
    };
    assert_eq!(page(&mut lab, 0, U256::MAX), [1, 2, 3]);
    assert_eq!(page(&mut lab, 2, U256::ONE), [2]);
    assert_eq!(page(&mut lab, 4, U256::MAX), Vec::<u64>::new());
    assert_eq!(page(&mut lab, u64::MAX, U256::MAX), Vec::<u64>::new());
    assert_eq!(lab.ok(ALICE, &sol::openProposalsCall {}), [2, 3, 1].map(U256::from), "by the ends of their periods");
}

#[test]
fn terms_may_be_stricter_than_the_chains_and_not_laxer() {
    let mut lab = Lab::staked();
    let text = |terms| sol::proposeTextCall { terms };
    let period = |secs| sol::Terms { votingPeriodSecs: secs, ..terms() };
    let range = |secs| sol::PeriodOutOfRange { secs, least: PERIOD as u32, most: PERIOD_SECS_MAX };
    lab.fails(V1, &text(period(PERIOD as u32 - 1)), &range(PERIOD as u32 - 1));
    lab.fails(V1, &text(period(PERIOD_SECS_MAX + 1)), &range(PERIOD_SECS_MAX + 1));
    lab.ok(V1, &text(period(PERIOD_SECS_MAX)));
    let quorum = |permille| sol::Terms { quorumPermille: permille, ..terms() };
    for permille in [333, 1_001] {
        lab.fails(V1, &text(quorum(permille)), &sol::QuorumOutOfRange { permille, least: 334, most: 1_000 });
    }
    lab.ok(V1, &text(quorum(1_000)));
    let threshold = |permille| sol::Terms { thresholdPermille: permille, ..terms() };
    for permille in [499, 1_000] {
        lab.fails(V1, &text(threshold(permille)), &sol::ThresholdOutOfRange { permille, least: 500, most: 999 });
    }
    lab.ok(V1, &text(threshold(999)));
    let titled = |bytes: usize| sol::Terms { title: "x".repeat(bytes), ..terms() };
    lab.fails(V1, &text(titled(0)), &missing("title"));
    lab.fails(V1, &text(titled(TITLE_BYTES_MAX + 1)), &too_long("title", TITLE_BYTES_MAX));
    lab.ok(V1, &text(titled(TITLE_BYTES_MAX)));
    let described = |bytes: usize| sol::Terms { description: "x".repeat(bytes), ..terms() };
    lab.fails(V1, &text(described(DESCRIPTION_BYTES_MAX + 1)), &too_long("description", DESCRIPTION_BYTES_MAX));
    lab.ok(V1, &text(described(DESCRIPTION_BYTES_MAX)));
    lab.ok(V1, &text(described(0)));
}

#[test]
fn changes_that_no_parameter_takes_are_refused() {
    let mut lab = Lab::staked();
    let call = |changes: &[sol::Change]| sol::proposeParameterChangeCall { terms: terms(), changes: changes.to_vec() };
    lab.fails(V1, &call(&[]), &sol::NoChanges {});
    let unknown = sol::Change { parameter: 11, value: U256::ONE };
    lab.fails(V1, &call(&[unknown]), &sol::UnknownParameter { parameter: 11 });
    let gas_limit = change(Parameter::GasLimit, 2_000_000);
    lab.fails(V1, &call(&[gas_limit.clone(), gas_limit.clone()]), &sol::DuplicateParameter { parameter: 2 });
    let (parameter, value) = (2, U256::from(999_999));
    let (least, most) = (U256::from(1_000_000), U256::from(1_000_000_000_000_000_u64));
    let out = sol::ValueOutOfRange { parameter, value, least, most };
    lab.fails(V1, &call(&[change(Parameter::GasLimit, 999_999)]), &out);
    let absent = change(Parameter::BlockTime, 5);
    lab.fails(V1, &call(&[gas_limit.clone(), absent]), &sol::ParameterUnavailable { parameter: 1 });
    let mut without = Lab::without_stake();
    let section = "parameters".to_owned();
    let target = crate::system::address::PARAMETERS_ADDRESS;
    without.fails(V1, &call(core::slice::from_ref(&gas_limit)), &sol::ContractMissing { section, target });
    without.deploy_parameters(ALICE);
    without.fails(V1, &call(&[gas_limit]), &sol::ParametersNotOwned { owner: ALICE });
}

#[test]
fn validators_join_by_stake_where_there_is_some() {
    let mut lab = Lab::staked();
    let add = |validator, weight| sol::proposeValidatorAddCall { terms: terms(), validator, weight };
    let remove = |validator| sol::proposeValidatorRemoveCall { terms: terms(), validator };
    lab.fails(V1, &add(ALICE, 1), &sol::DecidedByStake {});
    lab.fails(V1, &remove(ALICE), &sol::NotAValidator { validator: ALICE });
    lab.ok(V1, &remove(V2));
    assert!(lab.raw(V2, STAKING_ADDRESS, U256::ZERO, &staking::exitCall {}.abi_encode()).is_success());
    lab.fails(V1, &remove(V2), &sol::NotAValidator { validator: V2 });
    let mut fixed = Lab::without_stake();
    let absent = || sol::ContractMissing { section: "validatorRegistry".to_owned(), target: VALIDATORS_ADDRESS };
    fixed.fails(V1, &add(ALICE, 1), &absent());
    fixed.fails(V1, &remove(V2), &absent());
    let mut listed = Lab::with_validators_contract();
    let zero = crate::primitives::Address::ZERO;
    listed.fails(V1, &add(zero, 1), &sol::InvalidValidator { validator: zero, weight: 1 });
    listed.fails(V1, &add(V3, 0), &sol::InvalidValidator { validator: V3, weight: 0 });
    listed.fails(V1, &remove(V3), &sol::NotAValidator { validator: V3 });
    let mut foreign = Lab::with_validators_of(ALICE);
    foreign.fails(V1, &add(V3, 1), &sol::ValidatorsNotOwned { owner: ALICE });
    foreign.fails(V1, &remove(V2), &sol::ValidatorsNotOwned { owner: ALICE });
}

#[test]
fn modules_and_upgrades_need_names_and_what_they_are_of() {
    let mut lab = Lab::staked();
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    for name in ["", &long] {
        let name = name.to_owned();
        let enable =
            sol::proposeModuleEnableCall { terms: terms(), name: name.clone(), version: 1, configHash: B256::ZERO };
        let disable = sol::proposeModuleDisableCall { terms: terms(), name: name.clone() };
        let upgrade = sol::proposeUpgradeCall { terms: terms(), name: name.clone(), height: 9, info: String::new() };
        if name.is_empty() {
            lab.fails(V1, &enable, &missing("name"));
            lab.fails(V1, &disable, &missing("name"));
            lab.fails(V1, &upgrade, &missing("name"));
        } else {
            lab.fails(V1, &enable, &too_long("name", NAME_BYTES_MAX));
            lab.fails(V1, &disable, &too_long("name", NAME_BYTES_MAX));
            lab.fails(V1, &upgrade, &too_long("name", NAME_BYTES_MAX));
        }
    }
    let upgrade = |height, info: usize| sol::proposeUpgradeCall {
        terms: terms(),
        name: "v2".to_owned(),
        height,
        info: "x".repeat(info),
    };
    lab.fails(V1, &upgrade(1, 0), &sol::HeightNotAhead { height: 1, current: 1 });
    lab.fails(V1, &upgrade(2, INFO_BYTES_MAX + 1), &too_long("info", INFO_BYTES_MAX));
    lab.ok(V1, &upgrade(2, INFO_BYTES_MAX));
    let mut without = Lab::with_validators_contract();
    let disable = sol::proposeModuleDisableCall { terms: terms(), name: "defi".to_owned() };
    let absent = sol::ContractMissing { section: "modules".to_owned(), target: MODULES_ADDRESS };
    without.fails(V1, &disable, &absent);
    lab.journal.set_storage(&MODULES_ADDRESS, &stand_ins::OTHER_OWNER, U256::ONE).unwrap();
    lab.fails(V1, &disable, &sol::ModulesNotOwned { owner: crate::primitives::Address::ZERO });
}

#[test]
fn so_many_are_open_at_once() {
    let mut lab = Lab::staked();
    let ids: Vec<_> = (0..24).map(|_| lab.text(V1)).collect();
    let full = sol::TooManyOpenProposals { maximum: U256::from(24) };
    lab.fails(V1, &sol::proposeTextCall { terms: terms() }, &full);
    lab.ok(V1, &sol::cancelCall { id: ids[11] });
    lab.text(V1);
    lab.fails(V1, &sol::proposeTextCall { terms: terms() }, &full);
    lab.next_block(PERIOD);
    assert_eq!(lab.ok(ALICE, &sol::openProposalsCall {}).len(), 24 - FINAL_PER_BLOCK as usize);
    lab.text(V1);
}

#[test]
fn its_proposer_withdraws_it_until_there_is_a_vote() {
    let mut lab = Lab::staked();
    let (id, other) = (lab.text(V1), lab.text(V1));
    lab.fails(V2, &sol::cancelCall { id }, &sol::OnlyProposer { proposer: V1 });
    lab.fails(V1, &sol::cancelCall { id: U256::from(9) }, &sol::UnknownProposal { id: U256::from(9) });
    lab.ok(V1, &sol::cancelCall { id });
    let canceled = ProposalState::Canceled.code();
    assert_eq!(
        lab.events(),
        [sol::GovernanceEvents::ProposalStateChanged(sol::ProposalStateChanged { id, from: 1, to: canceled })]
    );
    lab.fails(V1, &sol::cancelCall { id }, &sol::NotActive { id, state: canceled });
    lab.fails(V1, &lab::vote_call(id, VoteOption::Yes, U256::ZERO), &sol::NotActive { id, state: canceled });
    lab.vote(V2, other, VoteOption::No);
    lab.fails(V1, &sol::cancelCall { id: other }, &sol::HasVotes { id: other });
    let late = lab.text(V1);
    lab.pass(PERIOD);
    lab.fails(V1, &sol::cancelCall { id: late }, &sol::VotingClosed { id: late, endsAt: 1_101 });
    assert!(lab.next_block(0).len() == 2, "that which was withdrawn is not counted");
    assert_eq!(lab.state(id), ProposalState::Canceled);
}

#[test]
fn a_least_weight_keeps_small_proposers_out() {
    let mut lab = Lab::staked();
    let least = crate::system::governance::layout::Settings {
        min_proposer_weight: 150_000_000_000,
        ..crate::system::governance::layout::Settings::from(&lab::rules().settings(true))
    };
    // The rules are fixed at genesis: a slot says others.
    let settings = GOVERNANCE.settings;
    let mut sandbox = crate::vm::sandbox::Sandbox::new();
    sandbox.run(move |host| settings.set(host, least)).unwrap();
    let word = sandbox.slot(U256::ZERO);
    lab.journal.set_storage(&GOVERNANCE_ADDRESS, &U256::ZERO, word).unwrap();
    let weight = ether(100) / U256::from(1_000_000_000);
    let error = sol::NotEnoughWeight { weight, minimum: U256::from(150_000_000_000_u64) };
    lab.fails(V1, &sol::proposeTextCall { terms: terms() }, &error);
    lab.text(V2);
}
