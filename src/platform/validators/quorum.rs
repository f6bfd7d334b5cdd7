//! Whether a validator that nobody here seals for, one less, or more or less of the stake of one would cost the protocol its quorum.
//!
//! What counts is the set that is coming: what the contract says after the transactions that wait, so that two that are added before one
//! boundary count both. A validator that is up and waits or leaves is in no sum, for nobody knows which change comes first. Of open
//! proposals about validators nobody knows which are executed: a change must be borne by those that are up also with what they take.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::{shape::ValidatorProcess, unreadable};
use crate::{
    chain::{CallRequest, StateOverrides},
    consensus::{ConsensusKind, PbftConfig},
    node::{BlockRef, NodeView},
    platform::{
        PlatformError,
        blockchain::{Blockchain, VALIDATORS_MAX},
        proposals::{OpenProposal, open_proposals},
    },
    system::{
        governance::{ProposalAction, VALIDATORS_ADDRESS},
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
}

impl Coming {
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

/// The validators that the protocol counts, and those that the contract has after the transactions that wait.
struct Sets {
    present: Vec<ValidatorRecord>,
    coming: Vec<Coming>,
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
        let view = chain.node().view();
        let coming = coming(&view)?;
        let present = view.validators().map_err(PlatformError::from_query)?;
        let mut sets = Self { present, coming, open: Vec::new() };
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
        let is_up = |key| ValidatorProcess::of(chain, key) == ValidatorProcess::Up;
        Ok(match action {
            // With stake nobody is added by a vote.
            ProposalAction::ValidatorAdd { validator, weight } => match registered_key(chain, *validator)? {
                Some(key) if !is_up(key) => Some(Change::Joins(*validator, *weight)),
                _ => None,
            },
            ProposalAction::ValidatorRemove { validator } => {
                let found = self.coming.iter().find(|one| one.operator == *validator);
                found.filter(|one| is_up(one.sealing_key)).map(|one| Change::Leaves(one.operator))
            }
            _ => None,
        })
    }

    /// Sums the weights after changes of the set that is coming.
    fn sums_after(&self, chain: &Blockchain, changes: &[Change]) -> Sums {
        let protocol = chain.node().consensus();
        let validates = |operator: Address| self.present.iter().any(|one| one.address == operator && one.validates);
        let mut sums = Sums { all: 0, reached: 0 };
        for one in &self.coming {
            let Some(weight) = one.weight_after(changes).map(|weight| counted(protocol, weight)) else { continue };
            match ValidatorProcess::of(chain, one.sealing_key) {
                ValidatorProcess::Up if one.is_leaving || !validates(one.operator) => {}
                ValidatorProcess::Up => {
                    sums.all += weight;
                    sums.reached += weight;
                }
                ValidatorProcess::Down | ValidatorProcess::Elsewhere => sums.all += weight,
            }
        }
        // Who is counted until the boundary alone, and is not up.
        let is_coming = |operator: Address| self.coming.iter().any(|coming| coming.operator == operator);
        for one in self.present.iter().filter(|one| one.validates && !is_coming(one.address)) {
            if ValidatorProcess::of(chain, one.sealing_key) != ValidatorProcess::Up {
                let staked = one.stake.as_ref().map_or(1, |stake| weight_of(stake.tokens));
                sums.all += counted(protocol, one.weight.max(staked));
            }
        }
        sums.all += joining(changes).values().map(|weight| counted(protocol, *weight)).sum::<u128>();
        sums
    }

    /// Returns the sums after a change that those that are up can't bear: by itself, or with what open proposals take, the last of those
    /// that it takes for that. `None` where they bear it. Each more of the proposals leaves less to bear it.
    ///
    /// Where they are too few before the change it is refused for none, unless one joins that is not up.
    fn unbearable(&self, chain: &Blockchain, change: Change) -> Option<(Sums, Option<&OpenProposal>)> {
        let protocol = chain.node().consensus();
        let mut changes: Vec<Change> = Vec::new();
        let mut last = None;
        let mut proposals = self.open.iter();
        loop {
            let before = self.sums_after(chain, &changes);
            let after = self.sums_after(chain, &[changes.as_slice(), &[change]].concat());
            let is_judged = before.is_enough(protocol) || matches!(change, Change::Joins(..));
            if is_judged && !after.is_enough(protocol) {
                return Some((after, last));
            }
            let (next, proposal) = proposals.next()?;
            changes.push(*next);
            last = Some(proposal);
        }
    }
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

/// Returns what a validator counts by its weight: without stake each counts once.
fn counted(protocol: ConsensusKind, weight: u64) -> u128 {
    match protocol {
        ConsensusKind::Poa | ConsensusKind::Raft | ConsensusKind::Pbft => weight.min(1).into(),
        ConsensusKind::Pos | ConsensusKind::Dpos => weight.into(),
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
            ConsensusKind::Pos | ConsensusKind::Dpos => "more than two thirds".to_owned(),
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
    let Some((sums, proposal)) = sets.unbearable(chain, Change::Joins(operator, added)) else { return Ok(()) };
    let described = match ValidatorProcess::of(chain, key) {
        ValidatorProcess::Down => format!("the replica with the key {key} is stopped: with it and"),
        ValidatorProcess::Up | ValidatorProcess::Elsewhere => {
            format!("the key {key} is held elsewhere, so that its validator is down here: with it and")
        }
    };
    let message = format!(
        "{}; or add a validator whose key the service holds first, and wait until it is active",
        sums.told(chain, (described, proposal))?
    );
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
/// It is proof of stake whose votes weigh stake. Delegated proof of stake counts each producer once: less stake alters who is elected, where
/// there are more candidates than producers, and is not judged here.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check_less_stake(
    chain: &Blockchain,
    operator: Address,
    (delegator, amount): (Address, U256),
) -> Result<(), PlatformError> {
    if chain.node().consensus() != ConsensusKind::Pos {
        return Ok(());
    }
    let call = stake::delegationCall { delegator, validator: operator };
    let taken = pending(&chain.node().view(), STAKING_ADDRESS, &call)?.amount.min(amount);
    check_change(chain, Change::HasLess(operator, taken), || format!("with {taken} less staked on {operator}, with"))
}

/// Refuses more stake for a validator that is not up where those that are would be too few with it. `amount` is in the smallest unit.
///
/// It is proof of stake whose votes weigh stake, as for [`check_less_stake`].
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check_more_stake(chain: &Blockchain, operator: Address, amount: U256) -> Result<(), PlatformError> {
    if chain.node().consensus() != ConsensusKind::Pos {
        return Ok(());
    }
    check_change(chain, Change::HasMore(operator, amount), || format!("with {amount} more staked on {operator}, with"))
}

/// Refuses a change where those that are up are enough before it, and would be too few after it. `described` says what the change is.
fn check_change(chain: &Blockchain, change: Change, described: impl FnOnce() -> String) -> Result<(), PlatformError> {
    if chain.network().is_none() {
        // Nobody stops a chain on demand.
        return Ok(());
    }
    let sets = Sets::of(chain)?;
    let Some((sums, proposal)) = sets.unbearable(chain, change) else { return Ok(()) };
    let message = format!(
        "{}; or start or remove validators that are down, or add one whose key the service holds, and wait until the protocol has taken \
         that over",
        sums.told(chain, (described(), proposal))?
    );
    Err(PlatformError::Conflict { message })
}

/// Returns the validators with weight that the contract has after the transactions that wait.
fn coming(view: &NodeView) -> Result<Vec<Coming>, PlatformError> {
    let mut found = Vec::new();
    let mut from = 0;
    if view.chain().has_stake() {
        loop {
            let call = stake::validatorsCall { from: U256::from(from), count: U256::from(staking::PAGE_MAX) };
            let page = pending(view, STAKING_ADDRESS, &call)?;
            found.extend(page.iter().filter_map(of_stake));
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
        }));
        from += page.len() as u64;
        if (page.len() as u64) < validators::PAGE_MAX {
            break;
        }
    }
    Ok(found)
}

/// Returns a validator with stake that is in consensus, or waits for it.
fn of_stake(info: &stake::ValidatorInfo) -> Option<Coming> {
    let status = ValidatorStatus::from_code(info.status);
    matches!(status, ValidatorStatus::Bonded | ValidatorStatus::Exiting | ValidatorStatus::Pending).then(|| Coming {
        operator: info.validator,
        sealing_key: info.sealingKey,
        weight: weight_of(info.tokens),
        stake: info.tokens,
        is_leaving: status == ValidatorStatus::Exiting,
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
            (Kind::Dpos, 7, 5, "more than two thirds"),
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
    fn without_stake_each_counts_once() {
        for (protocol, counts) in [(ConsensusKind::Poa, 1), (ConsensusKind::Pbft, 1), (ConsensusKind::Pos, 7)] {
            assert_eq!((counted(protocol, 7), counted(protocol, 0)), (counts, 0), "{protocol:?}");
        }
    }

    #[test]
    fn changes_of_one_validator_add_up() {
        let [one, other] = [1, 2].map(Address::repeat_byte);
        let units = |count: u64| U256::from(count) * WEIGHT_UNIT;
        let coming = Coming { operator: one, sealing_key: one, weight: 10, stake: units(10), is_leaving: false };
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
