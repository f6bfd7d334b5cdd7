//! Read-only functions.

use alloy_primitives::{Address, U256};

use super::{
    execution::planned,
    interface as sol,
    layout::{Entry, GOVERNANCE},
    outcome::Tally,
    power,
};
use crate::vm::{Host, Stop};

/// Maximum number of proposals that one call of `proposals` returns.
pub const PAGE_MAX: u64 = 50;

pub(super) fn proposal_count(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(U256::from(GOVERNANCE.agenda.get(host)?.count))
}

pub(super) fn proposal(host: &mut Host<'_>, id: U256) -> Result<sol::Proposal, Stop> {
    let Entry { id, stored, head } = Entry::load(host, id)?;
    Ok(sol::Proposal {
        id: U256::from(id),
        proposer: head.proposer,
        kind: head.kind,
        state: head.state,
        title: stored.title.get(host)?,
        description: stored.description.get(host)?,
        payload: stored.payload.get(host)?,
        height: head.height,
        submittedAt: head.submitted_at,
        endsAt: head.ends_at,
        quorumPermille: head.quorum_permille,
        thresholdPermille: head.threshold_permille,
        vetoPermille: head.veto_permille,
        totalWeight: head.total,
        votes: stored.tally.get(host)?.into(),
        finalizedHeight: head.finalized_height,
        finalizedAt: head.finalized_at,
        failure: stored.failure.get(host)?,
    })
}

/// Returns the proposals with the ids from `from` on, at most so many.
pub(super) fn proposals(host: &mut Host<'_>, from: U256, count: U256) -> Result<Vec<sol::Proposal>, Stop> {
    let last = GOVERNANCE.agenda.get(host)?.count;
    let from = from.saturating_to::<u64>().max(1);
    let end = from.saturating_add(count.saturating_to::<u64>().min(PAGE_MAX)).min(last.saturating_add(1));
    (from..end).map(|id| proposal(host, U256::from(id))).collect()
}

/// Returns the ids of the active proposals, in the order in which their periods end.
pub(super) fn open_proposals(host: &mut Host<'_>) -> Result<Vec<U256>, Stop> {
    let mut open = GOVERNANCE.open.all(host)?;
    open.sort_unstable();
    Ok(open.iter().map(|due| U256::from(due.id)).collect())
}

pub(super) fn state(host: &mut Host<'_>, id: U256) -> Result<u8, Stop> {
    Ok(Entry::load(host, id)?.head.state)
}

pub(super) fn tally(host: &mut Host<'_>, id: U256) -> Result<sol::Votes, Stop> {
    Entry::load(host, id)?.stored.tally.get(host).map(sol::Votes::from)
}

pub(super) fn vote_of(host: &mut Host<'_>, id: U256, voter: Address) -> Result<sol::Vote, Stop> {
    let ballot = Entry::load(host, id)?.stored.votes.get(host, voter)?;
    Ok(sol::Vote { option: ballot.option, weight: ballot.weight, height: ballot.height })
}

pub(super) fn power_of(host: &mut Host<'_>, id: U256, voter: Address) -> Result<u128, Stop> {
    let proposal = Entry::load(host, id)?;
    let settings = GOVERNANCE.settings.get(host)?;
    power::weight_at(host, &settings, voter, proposal.head.snapshot())
}

pub(super) fn settings(host: &mut Host<'_>) -> Result<sol::Settings, Stop> {
    GOVERNANCE.settings.get(host).map(sol::Settings::from)
}

pub(super) fn upgrade_plan(host: &mut Host<'_>) -> Result<sol::Plan, Stop> {
    let agenda = GOVERNANCE.agenda.get(host)?;
    let (name, info) = if agenda.upgrade_height == 0 { Default::default() } else { planned(host, &agenda)? };
    Ok(sol::Plan { proposal: U256::from(agenda.upgrade), name, height: agenda.upgrade_height, info })
}

impl From<Tally> for sol::Votes {
    fn from(tally: Tally) -> Self {
        Self { yes: tally.yes, abstain: tally.abstain, no: tally.no, veto: tally.veto }
    }
}
