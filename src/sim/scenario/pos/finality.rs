//! Two conflicting final checkpoints, and a history signed with keys that no longer have stake.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use super::{
    ScenarioError, ScenarioRunner, config,
    duties::{address, all_but},
    finalized, ms, pos,
};
use crate::{
    chain::{Block, Chain},
    consensus::{
        ConsensusConfig, ConsensusMessage, Rejection, ReplicaId,
        pos::{MessageError, Payload, Pos, PosConfig, Vote, offenders},
    },
    primitives::{Address, Height},
    sim::{
        faults::plan::{FaultKind, FaultPlan},
        network::{Network, error::NetworkError, links::Latency, replica::Replica},
        scenario::runner::id,
    },
};

/// Slots of the histories of [`long_range`]: more than 6 epochs beyond the final checkpoint.
const SLOTS: u64 = 60;
/// Epochs after which stake may have been withdrawn in [`long_range`].
pub(super) const UNBONDING_EPOCHS: u64 = 6;

/// Returns every block of a chain above genesis, oldest first.
fn blocks_of(chain: &Chain) -> Vec<Arc<Block>> {
    let hashes = (1..=chain.head().height().get()).filter_map(|height| chain.hash_at(Height::new(height)).ok());
    hashes.filter_map(|hash| chain.block(hash).ok()).map(|block| block.block().clone()).collect()
}

/// Returns all votes in the blocks of a chain.
fn votes_of(chain: &Chain) -> Vec<Vote> {
    let payloads = blocks_of(chain).into_iter().filter_map(|block| Payload::decode(block.protocol_payload()).ok());
    payloads.flat_map(|payload| payload.votes).collect()
}

/// The keys of the last `byzantine` replicas run twice, one process connected to each half of the honest replicas, which are
/// disconnected from each other.
fn split(runner: &mut ScenarioRunner<'_>, byzantine: u32) -> Result<(Vec<u32>, Vec<u32>), ScenarioError> {
    let honest: Vec<u32> = (0..runner.count() - byzantine).collect();
    let (one, other) = honest.split_at(honest.len() / 2);
    runner.one_way(one, other)?;
    runner.one_way(other, one)?;
    for replica in honest.len() as u32..runner.count() {
        let group = one.iter().map(|number| id(*number)).collect();
        runner.begin(FaultKind::Twins { replica: id(replica), group })?;
    }
    Ok((one.to_vec(), other.to_vec()))
}

pub(super) fn third_plus_one(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let byzantine = runner.count() / 3 + 1;
    let (one, other) = split(runner, byzantine)?;
    runner.run_until_broken(ms(200_000), "agreement")?;
    let heights = |runner: &ScenarioRunner<'_>| [one[0], other[0]].map(|number| finalized(runner, number));
    for _ in 0..60 {
        match runner.run_for(ms(1_000)) {
            Ok(()) | Err(ScenarioError::Network(NetworkError::Violated(_))) if !heights(runner).contains(&0) => break,
            Ok(()) | Err(ScenarioError::Network(NetworkError::Violated(_))) => {}
            Err(error) => return Err(error),
        }
    }
    let ours = heights(runner);
    runner.ensure(!ours.contains(&0), "both sides with something final")?;
    let votes = [one[0], other[0]].map(|number| votes_of(runner.replica(number).chain()));
    let guilty = offenders(&votes[0], &votes[1], runner.network().authenticator());
    let want: BTreeSet<Address> =
        (runner.count() - byzantine..runner.count()).map(|replica| address(runner, replica)).collect();
    runner.ensure(guilty == want, "exactly those named who voted on both sides")?;
    let set = runner.network().genesis_validators();
    let weight: u128 =
        guilty.iter().filter_map(|who| set.index_of(who)).map(|place| u128::from(set.members()[place].weight)).sum();
    runner.ensure(3 * weight >= set.total_weight(), "at least a third of the stake")?;
    Ok(format!(
        "heights {} and {} are final on two branches; {byzantine} of {} are named, no honest one among them",
        ours[0],
        ours[1],
        runner.count()
    ))
}

/// Negative control: fewer than a third break nothing.
pub(super) fn less_than_third(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let byzantine = (runner.count() - 1) / 3;
    let (one, other) = split(runner, byzantine)?;
    runner.run_for(ms(48_000))?;
    let heights = [one[0], other[0]].map(|number| finalized(runner, number));
    runner.ensure(heights.contains(&0), "one side without anything final")?;
    Ok(format!(
        "{byzantine} of {} on both sides: final up to {} and {}, nothing in conflict",
        runner.count(),
        heights[0],
        heights[1]
    ))
}

/// Returns a network of the same genesis and keys.
fn other_network(runner: &ScenarioRunner<'_>, config: PosConfig, plan: FaultPlan) -> Result<Network, ScenarioError> {
    let builder = Network::builder()
        .with_consensus(ConsensusConfig::Pos(config))
        .with_validators(runner.count())
        .with_seed(runner.seed())
        .with_latency(Latency::Uniform { min: Duration::from_millis(8), max: Duration::from_millis(30) })
        .with_faults(plan);
    Ok(super::short_unbonding(builder).build()?)
}

/// Sends blocks to a replica, one after the other; returns how many of them it rejected for a reason.
fn show(
    network: &mut Network,
    to: ReplicaId,
    blocks: &[Arc<Block>],
    is_reason: fn(&Rejection) -> bool,
) -> Result<usize, ScenarioError> {
    let from = ReplicaId::new((to.get() + 1) % network.replicas().len() as u32);
    let mut refused = 0;
    for block in blocks {
        let before = network.replica(to)?.counters().rejected;
        network.inject(from, to, ConsensusMessage::Block(block.clone()))?;
        network.run_for(Duration::from_millis(40))?;
        let replica = network.replica(to)?;
        refused += usize::from(replica.counters().rejected > before && replica.last_rejection().is_some_and(is_reason));
    }
    Ok(refused)
}

fn is_old(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::Pos(_) | Rejection::TooOld { .. })
}

const fn is_weak(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::Pos(MessageError::WeakSubjectivity { .. }))
}

const fn is_untrusted(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::Pos(MessageError::Untrusted { .. }))
}

const fn is_dropped(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::TooManySiblings { .. })
}

pub(super) fn long_range(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let config = config(runner);
    // All keys sign another history from the first slot on, whose proposer misses it.
    let first = pos(runner, 0).and_then(Pos::head_state).and_then(|state| state.current.proposer(&config, 1));
    let everybody = all_but(runner, &[]);
    let Some(absent) = everybody.iter().copied().find(|number| Some(address(runner, *number)) == first) else {
        return Err(runner.not_shown("a proposer of the first slot"));
    };
    let plan = FaultPlan::default().with(
        Duration::ZERO,
        Duration::from_secs(2 * config.period),
        FaultKind::Crash { replica: id(absent) },
    );
    let mut other = other_network(runner, config, plan)?;
    let whole = Duration::from_secs(SLOTS * config.period);
    other.run_for(whole)?;
    let forged = blocks_of(other.primary().chain());

    // A replica that was online keeps the true history.
    runner.run_for(whole)?;
    let height = finalized(runner, 0) as usize;
    runner.ensure(height > 20 && forged.len() > height, "two long histories")?;
    let refused = show(runner.network_mut(), id(0), &forged[..height], is_old)?;
    runner.ensure(refused == height, "every block below what is final refused by one who was here")?;
    // A new replica cannot distinguish the two, and accepts neither.
    let newcomer = runner.count() - 1;
    let trusted = pos(runner, 0).map(Pos::finalized).unwrap_or_default();
    runner.network_mut().wipe(id(newcomer))?;
    runner.restart(newcomer)?;
    runner.run_for(ms(100))?;
    let truth = blocks_of(runner.replica(0).chain());
    for history in [&forged[..1], &truth[..1]] {
        let refused = show(runner.network_mut(), id(newcomer), history, is_weak)?;
        runner.ensure(refused == 1, "a beginner who believes neither history")?;
    }
    runner.run_for(ms(10_000))?;
    runner.ensure(runner.head(newcomer).height == Height::GENESIS, "a beginner who is still at genesis")?;
    let others: Vec<u32> = everybody.into_iter().filter(|number| *number != newcomer).collect();
    runner.ensure(runner.agree_at(&others, trusted.block.height), "the others on their own history")?;

    // With a trusted checkpoint it accepts the true history only.
    let told = config.with_trusted(trusted.epoch, trusted.block.hash);
    let mut network = other_network(runner, told, FaultPlan::default())?;
    network.run_for(whole)?;
    // It receives the forged one first: the others are down meanwhile.
    for other in &others {
        network.crash(id(*other))?;
    }
    network.run_for(Duration::from_millis(200))?;
    network.wipe(id(newcomer))?;
    network.restart(id(newcomer))?;
    // The block that contradicts the checkpoint is refused, or before it one of a key that signs two histories.
    let refused = show(&mut network, id(newcomer), &forged, |reason| is_untrusted(reason) || is_dropped(reason))?;
    let reached = network.replica(id(newcomer))?.head().height;
    let is_stopped = refused > 0 && reached < trusted.block.height;
    runner.ensure(is_stopped, "the forged history stopped below the checkpoint that a beginner was told")?;
    for other in &others {
        network.restart(id(*other))?;
    }
    network.wipe(id(newcomer))?;
    network.restart(id(newcomer))?;
    let head = |replica: &Replica| replica.head().height.get();
    let caught_up =
        |network: &Network| network.replicas().iter().all(|replica| head(replica) + 2 > head(network.primary()));
    let limit = Duration::from_secs(120);
    network.run_until(limit, |network| caught_up(network) && head(network.primary()) > trusted.block.height.get())?;
    let own = network.replica(id(newcomer))?.chain().hash_at(trusted.block.height).ok();
    runner.ensure(own == Some(trusted.block.hash), "the true history at one who was told a checkpoint")?;
    Ok(format!(
        "{height} forged blocks refused by one who was here; a beginner refuses both histories; told a checkpoint of \
         epoch {}, it refuses the forged one and takes the true one",
        trusted.epoch
    ))
}
