//! Duties of validators by slot, and messages signed with their keys.

use std::{collections::BTreeSet, sync::Arc};

use super::{ScenarioError, Stage, config, pos};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Evidence, Message,
        pos::{OffenceKind, Pos, Proposal, Vote, VoteData},
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
pub(super) fn slot(stage: &Stage<'_>, number: u32) -> u64 {
    pos(stage, number).map_or(0, Pos::slot)
}

/// Returns the duties of a slot in the epoch of replica 0's head.
pub(super) fn duties(stage: &Stage<'_>, slot: u64) -> Option<Duties> {
    let (config, epoch) = (config(stage), &pos(stage, 0)?.head_state()?.current);
    let address = |number: u32| stage.replica(number).address().unwrap_or_default();
    let proposer = epoch.proposer(&config, slot).filter(|_| epoch.number == config.epoch_of(slot))?;
    let owes = |number: &u32| epoch.attestation_slot(&config, &address(*number)) == Some(slot);
    Some(Duties {
        proposer: (0..stage.count()).find(|number| address(*number) == proposer)?,
        committee: (0..stage.count()).filter(owes).collect(),
    })
}

/// Waits for an epoch whose first slot has its block at every replica, and whose duties suit; returns that slot and the roles.
pub(super) fn cast<T>(
    stage: &mut Stage<'_>,
    suits: impl Fn(&Stage<'_>, u64) -> Option<T>,
) -> Result<(u64, T), ScenarioError> {
    let config = config(stage);
    let limit = config.period * config.slots_per_epoch * 2_000;
    for _ in 0..200 {
        stage.run_until(limit, "an epoch whose first slot has its block", |stage| {
            let now = slot(stage, 0);
            let has_block = |number| {
                let head = pos(stage, number).and_then(Pos::head_state).map(|state| state.slot);
                slot(stage, number) == now && head == Some(now)
            };
            now > 0 && now == config.start_of(config.epoch_of(now)) && (0..stage.count()).all(has_block)
        })?;
        let first = slot(stage, 0);
        if let Some(cast) = suits(stage, first) {
            return Ok((first, cast));
        }
        stage.run_ms(config.period * 1_000)?;
    }
    Err(stage.not_shown("an epoch whose duties suit"))
}

/// Runs until a slot begins at every replica, and some milliseconds more.
pub(super) fn into_slot(stage: &mut Stage<'_>, wanted: u64, ms: u64) -> Result<(), ScenarioError> {
    let limit = (config(stage).period + 1) * 1_000 * (wanted.saturating_sub(slot(stage, 0)) + 1);
    stage.run_until(limit, &format!("slot {wanted}"), |stage| {
        (0..stage.count()).all(|number| slot(stage, number) >= wanted)
    })?;
    stage.run_ms(ms)
}

/// Returns the offenders that the replicas reported, with their offences.
pub(super) fn named(stage: &Stage<'_>, by: &[u32]) -> BTreeSet<(Address, OffenceKind)> {
    let evidence = by.iter().flat_map(|number| stage.replica(*number).evidence());
    let named = evidence.filter_map(|evidence| match evidence {
        Evidence::Slashable { offender, offence } => Some((*offender, offence.kind())),
        Evidence::DoubleSign { .. } => None,
    });
    named.collect()
}

pub(super) fn address(stage: &Stage<'_>, number: u32) -> Address {
    stage.replica(number).address().unwrap_or_default()
}

/// Returns a validator's vote of an epoch, as known to a replica.
pub(super) fn vote_of(stage: &Stage<'_>, number: u32, at: u32, slot: u64) -> Option<VoteData> {
    let voter = address(stage, number);
    pos(stage, at)?.votes().find(|(who, vote)| **who == voter && vote.data.slot == slot).map(|(_, vote)| vote.data)
}

/// Returns a vote of a silent validator, equal to `like` with another head.
pub(super) fn vote_for(
    stage: &mut Stage<'_>,
    who: u32,
    like: VoteData,
    head: BlockId,
    to: &[u32],
) -> Result<(), ScenarioError> {
    let vote = Vote::signed(VoteData { head, ..like }, &stage.signer(who));
    stage.inject(who, to, &Message::from(vote))
}

/// Returns another block in place of `first`, sealed by its proposer too.
pub(super) fn second_block(stage: &Stage<'_>, proposer: u32, first: BlockId) -> Option<Arc<Block>> {
    let replica = stage.replica(proposer);
    let first = replica.chain().block(first.hash).ok()?;
    let second = replica.second_block(first.block())?;
    let slot = pos(stage, proposer)?.slot();
    let proposal = Proposal::signed(slot, BlockId::of(&second), &stage.signer(proposer));
    Some(Arc::new(second.with_seal(proposal.signature)))
}

pub(super) fn all_but(stage: &Stage<'_>, some: &[u32]) -> Vec<u32> {
    (0..stage.count()).filter(|number| !some.contains(number)).collect()
}

pub(super) fn is_head_of(stage: &Stage<'_>, numbers: &[u32], head: BlockId) -> bool {
    numbers.iter().all(|number| stage.head(*number) == head)
}
