//! Whether a validator that nobody here seals for, one less, or more or less of the stake of one would cost the protocol its quorum.
//!
//! What counts is the set that is coming: what the contract says after the transactions that wait, so that two that are added before one
//! boundary count both. A validator that is up and waits or leaves is in no sum, for nobody knows which change comes first. Of open
//! proposals about validators nobody knows which are executed: a change must be borne by those that are up also with what they take.
//!
//! A chain on demand has no replicas that could be stopped, and the same quorum: up are the validators of genesis.
//!
//! With proof of stake a validator counts by its stake. Delegated proof of stake elects the candidates of greatest stake, and counts each
//! producer once: what a change of stake alters is who is elected.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::{shape::ValidatorProcess, unreadable};
use crate::{
    chain::{CallRequest, StateOverrides, SystemViewError},
    consensus::{ConsensusKind, PbftConfig, dpos::DposConfig},
    node::{BlockRef, NodeView},
    platform::{
        PlatformError,
        blockchain::{Blockchain, VALIDATORS_MAX},
        proposals::{OpenProposal, open_proposals},
    },
    system::{
        governance::{ProposalAction, VALIDATORS_ADDRESS},
        parameters::Parameter,
        staking::{self, STAKING_ADDRESS, ValidatorRecord, ValidatorStatus, WEIGHT_UNIT, interface as stake},
        validators::{self, interface as registry},
    },
};

/// A validator of the set that is coming.
struct Coming {
    operator: Address,
    sealing_key: Address,
    weight: u64,
    /// Its stake in the smallest unit; none on a chain without.
    stake: U256,
    /// Whether it waits to leave.
    is_leaving: bool,
    /// Whether its replica runs here.
    is_up: bool,
}

impl Coming {
    /// Returns what counts of it after changes; `None` as [`Coming::weight_after`].
    fn after(&self, changes: &[Change]) -> Option<Member> {
        let weight = self.weight_after(changes)?;
        Some(Member { weight, sealing_key: self.sealing_key, is_up: self.is_up })
    }

    /// Whether it is known what it will be: not where it is up and waits or leaves, for nobody knows which change comes first. An election
    /// counts all candidates of the newest block at once, also those that produce no blocks yet.
    fn is_settled(&self, protocol: ConsensusKind, present: &[ValidatorRecord]) -> bool {
        let is_in = |record: &ValidatorRecord| match protocol {
            ConsensusKind::Dpos => record.weight > 0,
            _ => record.validates,
        };
        let found = present.iter().find(|record| record.address == self.operator);
        !self.is_up || (!self.is_leaving && found.is_some_and(is_in))
    }

    /// Returns what it weighs after changes; `None` where one takes it out, or has it join anew.
    fn weight_after(&self, changes: &[Change]) -> Option<u64> {
        let mut stake = self.stake;
        for change in changes {
            match *change {
                Change::Leaves(operator) | Change::Joins(operator, _) if operator == self.operator => return None,
                Change::HasLess(operator, amount) if operator == self.operator => stake = stake.saturating_sub(amount),
                Change::HasMore(operator, amount) if operator == self.operator => stake = stake.saturating_add(amount),
                Change::Leaves(_) | Change::Joins(..) | Change::HasLess(..) | Change::HasMore(..) => {}
            }
        }
        Some(if stake == self.stake { self.weight } else { weight_of(stake) })
    }
}

/// A change of the set that is coming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// An operator's validator that is not up joins with a weight.
    Joins(Address, u64),
    /// An operator's validator is out.
    Leaves(Address),
    /// An operator's validator has so much less stake, in the smallest unit.
    HasLess(Address, U256),
    /// An operator's validator has so much more stake, in the smallest unit.
    HasMore(Address, U256),
}

/// One that counts, or is a candidate, after changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    weight: u64,
    sealing_key: Address,
    is_up: bool,
}

/// The validators that the contract has after the transactions that wait, and those that the protocol counts until its boundary.
struct Sets {
    protocol: ConsensusKind,
    /// How many are elected; `None` where all count.
    producers: Option<usize>,
    coming: Vec<Coming>,
    /// Those that are counted until the boundary alone, and are not up.
    parting: Vec<Member>,
    /// What open proposals take from those that are up once they are executed, in their order.
    open: Vec<(Change, OpenProposal)>,
}

/// Weights of the set that is coming.
#[derive(Clone, Copy)]
struct Sums {
    all: u128,
    /// Of those that are up.
    reached: u128,
}

impl Sets {
    fn of(chain: &Blockchain) -> Result<Self, PlatformError> {
        let (view, protocol) = (chain.node().view(), chain.node().consensus());
        let mut coming = coming(chain, &view)?;
        let present = view.validators().map_err(PlatformError::from_query)?;
        let parting = parting(chain, &present, &coming);
        coming.retain(|one| one.is_settled(protocol, &present));
        let mut sets = Self { protocol, producers: producers(&view, protocol)?, coming, parting, open: Vec::new() };
        for proposal in open_proposals(chain)? {
            if let Some(change) = sets.taken_by(chain, &proposal.action)? {
                sets.open.push((change, proposal));
            }
        }
        Ok(sets)
    }

    /// Returns what a proposal takes from those that are up. One that adds a validator that is up or removes one that is not takes nothing:
    /// the worst is that it is not executed.
    fn taken_by(&self, chain: &Blockchain, action: &ProposalAction) -> Result<Option<Change>, PlatformError> {
        Ok(match action {
            // With stake nobody is added by a vote.
            ProposalAction::ValidatorAdd { validator, weight } => match registered_key(chain, *validator)? {
                Some(key) if !is_up(chain, key) => Some(Change::Joins(*validator, *weight)),
                _ => None,
            },
            ProposalAction::ValidatorRemove { validator } => {
                let found = self.coming.iter().find(|one| one.operator == *validator);
                found.filter(|one| one.is_up).map(|one| Change::Leaves(one.operator))
            }
            _ => None,
        })
    }

    /// Sums what counts after changes of the set that is coming.
    fn sums_after(&self, changes: &[Change]) -> Sums {
        let mut members: Vec<Member> = self.coming.iter().filter_map(|one| one.after(changes)).collect();
        // Of who is added by a vote nobody asks for the key: it is taken to be elected before others of its weight.
        let joining = joining(changes).into_values();
        members.extend(joining.map(|weight| Member { weight, sealing_key: Address::ZERO, is_up: false }));
        if let Some(count) = self.producers {
            elect(&mut members, count);
        }
        let mut sums = Sums { all: 0, reached: 0 };
        for member in members.iter().chain(&self.parting) {
            let weight = counted(self.protocol, member.weight);
            sums.all += weight;
            sums.reached += if member.is_up { weight } else { 0 };
        }
        sums
    }

    /// Returns the sums after a change that those that are up can't bear: by itself, or with what open proposals take, the last of those
    /// that it takes for that. `None` where they bear it. Each more of the proposals leaves less to bear it.
    ///
    /// Where they are too few before the change it is refused for none, unless one joins that is not up.
    fn unbearable(&self, change: Change) -> Option<(Sums, Option<&OpenProposal>)> {
        let is_enough = |sums: Sums| sums.is_enough(self.protocol);
        let mut changes: Vec<Change> = Vec::new();
        let mut last = None;
        let mut proposals = self.open.iter();
        loop {
            let after = self.sums_after(&[changes.as_slice(), &[change]].concat());
            let is_judged = || matches!(change, Change::Joins(..)) || is_enough(self.sums_after(&changes));
            if !is_enough(after) && is_judged() {
                return Some((after, last));
            }
            let (next, proposal) = proposals.next()?;
            changes.push(*next);
            last = Some(proposal);
        }
    }
}

/// Returns whether the replica with a key runs here.
fn is_up(chain: &Blockchain, key: Address) -> bool {
    ValidatorProcess::of(chain, key) == ValidatorProcess::Up
}

/// Returns how many candidates are elected: by delegated proof of stake as many as chains of the service have, within the parameter
/// `validatorsMax`; by the other protocols all count.
fn producers(view: &NodeView, protocol: ConsensusKind) -> Result<Option<usize>, PlatformError> {
    if protocol != ConsensusKind::Dpos {
        return Ok(None);
    }
    let parameters = match view.chain().parameters(view.head()) {
        Ok(parameters) => parameters,
        Err(SystemViewError::Absent { .. }) => Vec::new(),
        Err(cause) => return Err(unreadable(cause)),
    };
    let most = parameters.iter().find(|record| record.parameter == Parameter::ValidatorsMax);
    let most = most.map_or(usize::MAX, |record| usize::try_from(record.scheduled).unwrap_or(usize::MAX));
    Ok(Some(most.min(DposConfig::default().producers as usize)))
}

/// Keeps the candidates that are elected: those of greatest weight; ties go to the lower key.
fn elect(candidates: &mut Vec<Member>, count: usize) {
    candidates.retain(|candidate| candidate.weight > 0);
    candidates.sort_by_key(|candidate| (Reverse(candidate.weight), candidate.sealing_key));
    candidates.truncate(count);
}

/// Returns those that are counted until the boundary alone, and are not up.
fn parting(chain: &Blockchain, present: &[ValidatorRecord], coming: &[Coming]) -> Vec<Member> {
    let is_coming = |operator: Address| coming.iter().any(|one| one.operator == operator);
    let parting = present.iter().filter(|one| one.validates && !is_coming(one.address));
    let down = parting.filter(|one| !is_up(chain, one.sealing_key));
    let member = |one: &ValidatorRecord| {
        let staked = one.stake.as_ref().map_or(1, |stake| weight_of(stake.tokens));
        Member { weight: one.weight.max(staked).max(1), sealing_key: one.sealing_key, is_up: false }
    };
    down.map(member).collect()
}

/// Returns the weights of those that join, each once.
fn joining(changes: &[Change]) -> BTreeMap<Address, u64> {
    let mut joining = BTreeMap::new();
    for change in changes {
        if let Change::Joins(operator, weight) = *change {
            let most = joining.entry(operator).or_insert(weight);
            *most = weight.max(*most);
        }
    }
    joining
}

/// Returns what a validator counts by its weight: its stake with proof of stake, else once.
fn counted(protocol: ConsensusKind, weight: u64) -> u128 {
    match protocol {
        ConsensusKind::Poa | ConsensusKind::Raft | ConsensusKind::Pbft | ConsensusKind::Dpos => weight.min(1).into(),
        ConsensusKind::Pos => weight.into(),
    }
}

impl Sums {
    /// Returns whether those that are up are enough.
    fn is_enough(self, protocol: ConsensusKind) -> bool {
        match protocol {
            ConsensusKind::Poa | ConsensusKind::Raft => self.reached * 2 > self.all,
            ConsensusKind::Pos | ConsensusKind::Dpos => self.reached * 3 > self.all * 2,
            ConsensusKind::Pbft => self.reached >= self.pbft_quorum(),
        }
    }

    /// Returns how many of all PBFT needs. Chains of the service name no number of faulty validators: as many as there may be.
    fn pbft_quorum(self) -> u128 {
        let count = usize::try_from(self.all).unwrap_or(VALIDATORS_MAX);
        PbftConfig::default().strong_of(count) as u128
    }

    /// Names the part of the weight that a protocol needs.
    fn rule(self, protocol: ConsensusKind) -> String {
        match protocol {
            ConsensusKind::Poa | ConsensusKind::Raft => "more than half".to_owned(),
            ConsensusKind::Pos => "more than two thirds".to_owned(),
            ConsensusKind::Dpos => "more than two thirds of the producers that are elected".to_owned(),
            ConsensusKind::Pbft => format!("a quorum of {}", self.pbft_quorum()),
        }
    }

    /// Says what those that are up would be of all, and what the protocol needs; with the open proposal without which they were enough.
    fn told(
        self,
        chain: &Blockchain,
        (described, proposal): (String, Option<&OpenProposal>),
    ) -> Result<String, PlatformError> {
        let (Self { all, reached }, rule) = (self, self.rule(chain.node().consensus()));
        let sums = format!("{reached} of a weight of {all} would be up, and the protocol needs {rule}");
        let Some(proposal) = proposal else {
            return Ok(format!("{described} those that wait to join and are down here, {sums}"));
        };
        let named = proposal.named(chain)?;
        Ok(format!(
            "{described} those that wait to join and are down here, and with open proposals, {sums}; {named} is one of them and is open: try \
             again when it has ended"
        ))
    }
}

/// Refuses a validator that joins with a key that is held elsewhere where those that are up would be too few with it. The replica of a key
/// that the service holds is started when it joins.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check(chain: &Blockchain, operator: Address, key: Address, added: u64) -> Result<(), PlatformError> {
    if chain.engine().replica_of(key).is_some() {
        return Ok(());
    }
    check_joins(chain, (operator, key), added)
}

/// Refuses to propose a validator that is not up where those that are would be too few with it.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check_proposed(chain: &Blockchain, operator: Address, weight: u64) -> Result<(), PlatformError> {
    match registered_key(chain, operator)? {
        Some(key) if ValidatorProcess::of(chain, key) != ValidatorProcess::Up => {
            check_joins(chain, (operator, key), weight)
        }
        _ => Ok(()),
    }
}

/// Refuses a validator that is not up where those that are would be too few with it.
fn check_joins(chain: &Blockchain, (operator, key): (Address, Address), added: u64) -> Result<(), PlatformError> {
    let view = chain.node().view();
    if !view.chain().has_stake() && !view.chain().has_validator_registry() {
        // Nobody joins by a transaction, which is refused with what is missing.
        return Ok(());
    }
    let sets = Sets::of(chain)?;
    let Some((sums, proposal)) = sets.unbearable(Change::Joins(operator, added)) else { return Ok(()) };
    let described = match ValidatorProcess::of(chain, key) {
        ValidatorProcess::Down => format!("the replica with the key {key} is stopped: with it and"),
        ValidatorProcess::Up | ValidatorProcess::Elsewhere => {
            format!("the key {key} is held elsewhere, so that its validator is down here: with it and")
        }
    };
    let remedy = match chain.network() {
        Some(_) => "add a validator whose key the service holds first, and wait until it is active",
        None => {
            "make a chain with a blockTime, for which the service holds keys of more validators than those of genesis"
        }
    };
    let message = format!("{}; or {remedy}", sums.told(chain, (described, proposal))?);
    Err(PlatformError::Conflict { message })
}

/// Returns the sealing key of an operator by the validators' contract, which is its own address where it has none; `None` on a chain without
/// that contract.
fn registered_key(chain: &Blockchain, operator: Address) -> Result<Option<Address>, PlatformError> {
    let view = chain.node().view();
    if !view.chain().has_validator_registry() {
        return Ok(None);
    }
    let registered = view.chain().registered_validator(view.head(), operator).map_err(unreadable)?;
    Ok(Some(if registered.sealing_key.is_zero() { operator } else { registered.sealing_key }))
}

/// Refuses to take a validator out where those that are up are enough with it, and would be too few without it.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(in crate::platform) fn check_without(chain: &Blockchain, operator: Address) -> Result<(), PlatformError> {
    check_change(chain, Change::Leaves(operator), || format!("without the validator of {operator}, with"))
}

/// Refuses to take stake back from a validator where those that are up are enough with it, and would be too few without it. `amount` is in
/// the smallest unit; above what the delegator has it is all of that.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check_less_stake(
    chain: &Blockchain,
    operator: Address,
    (delegator, amount): (Address, U256),
) -> Result<(), PlatformError> {
    let call = stake::delegationCall { delegator, validator: operator };
    let taken = pending(&chain.node().view(), STAKING_ADDRESS, &call)?.amount.min(amount);
    check_change(chain, Change::HasLess(operator, taken), || format!("with {taken} less staked on {operator}, with"))
}

/// Refuses more stake for a validator that is not up where those that are would be too few with it. `amount` is in the smallest unit.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check_more_stake(chain: &Blockchain, operator: Address, amount: U256) -> Result<(), PlatformError> {
    check_change(chain, Change::HasMore(operator, amount), || format!("with {amount} more staked on {operator}, with"))
}

/// Refuses a change where those that are up are enough before it, and would be too few after it. `described` says what the change is.
fn check_change(chain: &Blockchain, change: Change, described: impl FnOnce() -> String) -> Result<(), PlatformError> {
    let sets = Sets::of(chain)?;
    let Some((sums, proposal)) = sets.unbearable(change) else { return Ok(()) };
    let remedy = match chain.network() {
        Some(_) => {
            "start or remove validators that are down, or add one whose key the service holds, and wait until the protocol has \
             taken that over"
        }
        None => "remove validators whose keys are held elsewhere first",
    };
    let message = format!("{}; or {remedy}", sums.told(chain, (described(), proposal))?);
    Err(PlatformError::Conflict { message })
}

/// Returns the validators with weight that the contract has after the transactions that wait.
fn coming(chain: &Blockchain, view: &NodeView) -> Result<Vec<Coming>, PlatformError> {
    let mut found = Vec::new();
    let mut from = 0;
    if view.chain().has_stake() {
        loop {
            let call = stake::validatorsCall { from: U256::from(from), count: U256::from(staking::PAGE_MAX) };
            let page = pending(view, STAKING_ADDRESS, &call)?;
            found.extend(page.iter().filter_map(|info| of_stake(chain, info)));
            from += page.len() as u64;
            if (page.len() as u64) < staking::PAGE_MAX {
                return Ok(found);
            }
        }
    }
    while view.chain().has_validator_registry() {
        let call = registry::validatorsCall { from: U256::from(from), count: U256::from(validators::PAGE_MAX) };
        let page = pending(view, VALIDATORS_ADDRESS, &call)?;
        found.extend(page.iter().map(|info| Coming {
            operator: info.validator,
            sealing_key: info.sealingKey,
            weight: info.weight,
            stake: U256::ZERO,
            is_leaving: false,
            is_up: is_up(chain, info.sealingKey),
        }));
        from += page.len() as u64;
        if (page.len() as u64) < validators::PAGE_MAX {
            break;
        }
    }
    Ok(found)
}

/// Returns a validator with stake that is in consensus, or waits for it.
fn of_stake(chain: &Blockchain, info: &stake::ValidatorInfo) -> Option<Coming> {
    let status = ValidatorStatus::from_code(info.status);
    matches!(status, ValidatorStatus::Bonded | ValidatorStatus::Exiting | ValidatorStatus::Pending).then(|| Coming {
        operator: info.validator,
        sealing_key: info.sealingKey,
        weight: weight_of(info.tokens),
        stake: info.tokens,
        is_leaving: status == ValidatorStatus::Exiting,
        is_up: is_up(chain, info.sealingKey),
    })
}

fn weight_of(tokens: U256) -> u64 {
    (tokens / WEIGHT_UNIT).saturating_to()
}

/// Calls a view function of a contract of the system on the pending block: what it returns counts the transactions that wait.
pub(super) fn pending<C: SolCall>(view: &NodeView, contract: Address, call: &C) -> Result<C::Return, PlatformError> {
    let request = CallRequest::call(contract, call.abi_encode());
    let outcome = view.call(&request, BlockRef::Pending, &StateOverrides::new(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    let returned = outcome.success_output().and_then(|output| C::abi_decode_returns(output).ok());
    returned.ok_or_else(|| PlatformError::internal(format!("{} failed: {}", C::SIGNATURE, outcome.describe())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_has_its_own_quorum() {
        use ConsensusKind as Kind;
        for (protocol, all, least, rule) in [
            (Kind::Poa, 4, 3, "more than half"),
            (Kind::Raft, 5, 3, "more than half"),
            (Kind::Pos, 6, 5, "more than two thirds"),
            (Kind::Dpos, 7, 5, "more than two thirds of the producers that are elected"),
            (Kind::Dpos, 21, 15, "more than two thirds of the producers that are elected"),
            (Kind::Pbft, 1, 1, "a quorum of 1"),
            (Kind::Pbft, 3, 3, "a quorum of 3"),
            (Kind::Pbft, 4, 3, "a quorum of 3"),
            (Kind::Pbft, 5, 4, "a quorum of 4"),
            (Kind::Pbft, 6, 4, "a quorum of 4"),
            (Kind::Pbft, 7, 5, "a quorum of 5"),
            (Kind::Pbft, 9, 6, "a quorum of 6"),
            (Kind::Pbft, 12, 8, "a quorum of 8"),
        ] {
            let enough = |reached| Sums { all, reached }.is_enough(protocol);
            assert_eq!((enough(least - 1), enough(least)), (false, true), "{protocol:?}: {least} of {all}");
            assert_eq!(Sums { all, reached: 0 }.rule(protocol), rule, "{protocol:?}");
        }
        assert!(!Sums { all: 0, reached: 0 }.is_enough(Kind::Pbft), "nobody is no quorum");
    }

    #[test]
    fn stake_counts_with_proof_of_stake_alone() {
        use ConsensusKind as Kind;
        for (protocol, counts) in [(Kind::Poa, 1), (Kind::Pbft, 1), (Kind::Raft, 1), (Kind::Dpos, 1), (Kind::Pos, 7)] {
            assert_eq!((counted(protocol, 7), counted(protocol, 0)), (counts, 0), "{protocol:?}");
        }
    }

    fn units(count: u64) -> U256 {
        U256::from(count) * WEIGHT_UNIT
    }

    /// A validator whose addresses are this byte.
    fn coming(byte: u8, weight: u64, is_up: bool) -> Coming {
        let address = Address::repeat_byte(byte);
        Coming { operator: address, sealing_key: address, weight, stake: units(weight), is_leaving: false, is_up }
    }

    /// Three of four candidates are elected: the greatest stake, and of equal ones the lower key.
    #[test]
    fn a_change_of_stake_alters_who_is_elected() {
        let sets = Sets {
            protocol: ConsensusKind::Dpos,
            producers: Some(3),
            coming: vec![coming(1, 9, true), coming(2, 7, true), coming(3, 5, true), coming(4, 5, false)],
            parting: Vec::new(),
            open: Vec::new(),
        };
        let [second, third, fourth, nobody] = [2, 3, 4, 9].map(Address::repeat_byte);
        for (changes, reached) in [
            (vec![], 3),
            (vec![Change::HasMore(fourth, units(1))], 2),
            (vec![Change::HasMore(fourth, units(1)), Change::HasMore(third, units(1))], 3),
            (vec![Change::HasLess(third, units(1))], 2),
            (vec![Change::HasLess(second, units(2))], 3),
            (vec![Change::HasLess(second, units(3))], 2),
            (vec![Change::Leaves(third)], 2),
            (vec![Change::Joins(nobody, 4)], 3),
            (vec![Change::Joins(nobody, 5)], 2),
        ] {
            let sums = sets.sums_after(&changes);
            assert_eq!((sums.all, sums.reached), (3, reached), "{changes:?}");
            let [only] = changes[..] else { continue };
            assert_eq!(sets.unbearable(only).is_some(), reached < 3, "{changes:?}");
        }
    }

    #[test]
    fn changes_of_one_validator_add_up() {
        let [one, other] = [1, 2].map(Address::repeat_byte);
        let coming = coming(1, 10, true);
        for (changes, weight) in [
            (vec![], Some(10)),
            (vec![Change::HasMore(one, units(3)), Change::HasLess(one, units(1))], Some(12)),
            (vec![Change::HasMore(other, units(3)), Change::Leaves(other), Change::Joins(other, 9)], Some(10)),
            (vec![Change::HasMore(one, units(3)), Change::Leaves(one)], None),
            (vec![Change::Joins(one, 4)], None),
        ] {
            assert_eq!(coming.weight_after(&changes), weight, "{changes:?}");
        }
        let twice = [Change::Joins(one, 4), Change::Leaves(other), Change::Joins(one, 5)];
        assert_eq!(joining(&twice), BTreeMap::from([(one, 5)]));
    }
}
