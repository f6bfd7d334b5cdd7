//! Duties of validators by slot, and messages signed with their keys.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use super::{ScenarioError, ScenarioRunner, config, ms, pos};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ConsensusMessage, Evidence,
        pos::{Pos, Proposal, SlashingCondition, Vote, VoteData},
    },
    primitives::Address,
};

/// Duties of a slot.
pub(super) struct Duties {
    pub(super) proposer: u32,
    /// Attesters of the slot.
    pub(super) committee: Vec<u32>,
}

/// Returns a replica's current slot.
pub(super) fn slot(runner: &ScenarioRunner<'_>, number: u32) -> u64 {
    pos(runner, number).map_or(0, Pos::slot)
}

/// Returns the duties of a slot in the epoch of replica 0's head.
pub(super) fn duties(runner: &ScenarioRunner<'_>, slot: u64) -> Option<Duties> {
    let (config, epoch) = (config(runner), &pos(runner, 0)?.head_state()?.current);
    let address = |number: u32| runner.replica(number).address().unwrap_or_default();
    let proposer = epoch.proposer(&config, slot).filter(|_| epoch.number == config.epoch_of(slot))?;
    let owes = |number: &u32| epoch.attestation_slot(&config, &address(*number)) == Some(slot);
    Some(Duties {
        proposer: (0..runner.count()).find(|number| address(*number) == proposer)?,
        committee: (0..runner.count()).filter(owes).collect(),
    })
}

/// Waits for an epoch whose first slot has its block at every replica, and whose duties suit; returns that slot and the roles.
pub(super) fn cast<T>(
    runner: &mut ScenarioRunner<'_>,
    suits: impl Fn(&ScenarioRunner<'_>, u64) -> Option<T>,
) -> Result<(u64, T), ScenarioError> {
    let config = config(runner);
    let limit = ms(config.period * config.slots_per_epoch * 2_000);
    for _ in 0..200 {
        runner.run_until(limit, "an epoch whose first slot has its block", |runner| {
            let now = slot(runner, 0);
            let has_block = |number| {
                let head = pos(runner, number).and_then(Pos::head_state).map(|state| state.slot);
                slot(runner, number) == now && head == Some(now)
            };
            now > 0 && now == config.start_of(config.epoch_of(now)) && (0..runner.count()).all(has_block)
        })?;
        let first = slot(runner, 0);
        if let Some(cast) = suits(runner, first) {
            return Ok((first, cast));
        }
        runner.run_for(ms(config.period * 1_000))?;
    }
    Err(runner.not_shown("an epoch whose duties suit"))
}

/// Runs until a slot begins at every replica, and for `more` after that.
pub(super) fn into_slot(runner: &mut ScenarioRunner<'_>, wanted: u64, more: Duration) -> Result<(), ScenarioError> {
    let limit = ms((config(runner).period + 1) * 1_000 * (wanted.saturating_sub(slot(runner, 0)) + 1));
    runner.run_until(limit, &format!("slot {wanted}"), |runner| {
        (0..runner.count()).all(|number| slot(runner, number) >= wanted)
    })?;
    runner.run_for(more)
}

/// Returns the offenders that the replicas reported, with their offences.
pub(super) fn named(runner: &ScenarioRunner<'_>, by: &[u32]) -> BTreeSet<(Address, SlashingCondition)> {
    let evidence = by.iter().flat_map(|number| runner.replica(*number).evidence());
    let named = evidence.filter_map(|evidence| match evidence {
        Evidence::Slashable { offender, offence } => Some((*offender, offence.condition())),
        Evidence::DoubleSign { .. } => None,
    });
    named.collect()
}

pub(super) fn address(runner: &ScenarioRunner<'_>, number: u32) -> Address {
    runner.replica(number).address().unwrap_or_default()
}

/// Returns a validator's vote of an epoch, as known to a replica.
pub(super) fn vote_of(runner: &ScenarioRunner<'_>, number: u32, at: u32, slot: u64) -> Option<VoteData> {
    let voter = address(runner, number);
    pos(runner, at)?.votes().find(|(who, vote)| **who == voter && vote.data.slot == slot).map(|(_, vote)| vote.data)
}

/// Returns a vote of a silent validator, equal to `like` with another head.
pub(super) fn vote_for(
    runner: &mut ScenarioRunner<'_>,
    who: u32,
    like: VoteData,
    head: BlockId,
    to: &[u32],
) -> Result<(), ScenarioError> {
    let vote = Vote::signed(VoteData { head, ..like }, &runner.signer(who));
    runner.inject(who, to, &ConsensusMessage::from(vote))
}

/// Returns another block in place of `first`, sealed by its proposer too.
pub(super) fn second_block(runner: &ScenarioRunner<'_>, proposer: u32, first: BlockId) -> Option<Arc<Block>> {
    let replica = runner.replica(proposer);
    let first = replica.chain().block(first.hash).ok()?;
    let second = replica.second_block(first.block())?;
    let slot = pos(runner, proposer)?.slot();
    let proposal = Proposal::signed(slot, BlockId::of(&second), &runner.signer(proposer));
    Some(Arc::new(second.with_seal(proposal.signature)))
}

pub(super) fn all_but(runner: &ScenarioRunner<'_>, some: &[u32]) -> Vec<u32> {
    (0..runner.count()).filter(|number| !some.contains(number)).collect()
}

pub(super) fn is_head_of(runner: &ScenarioRunner<'_>, numbers: &[u32], head: BlockId) -> bool {
    numbers.iter().all(|number| runner.head(*number) == head)
}
