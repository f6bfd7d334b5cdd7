//! Two final checkpoints in conflict, and a history that keys without stake made.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use super::{
    ScenarioError, Stage, config,
    duties::{address, all_but},
    finalized, pos,
};
use crate::{
    chain::{Block, Chain},
    consensus::{
        ConsensusConfig, Message, Rejection, ReplicaId,
        pos::{MessageError, Payload, Pos, PosConfig, Vote, offenders},
    },
    primitives::{Address, Height},
    sim::{
        faults::plan::{FaultKind, FaultPlan, LinkEffect, LinkFault},
        network::{Network, error::NetworkError, links::Latency, replica::Replica},
        scenario::stage::id,
    },
};

/// Slots of the histories of [`long_range`]: more than 6 epochs beyond what is final.
const SLOTS: u64 = 60;
/// Epochs after which stake may have left in [`long_range`].
pub(super) const UNBONDING_EPOCHS: u64 = 6;

/// Every block of a chain above genesis, oldest first.
fn blocks_of(chain: &Chain) -> Vec<Arc<Block>> {
    let hashes = (1..=chain.head().height().get()).filter_map(|height| chain.hash_at(Height::new(height)).ok());
    hashes.filter_map(|hash| chain.block(hash).ok()).map(|block| block.block().clone()).collect()
}

/// All votes in the blocks of a chain.
fn votes_of(chain: &Chain) -> Vec<Vote> {
    let payloads = blocks_of(chain).into_iter().filter_map(|block| Payload::decode(block.payload()).ok());
    payloads.flat_map(|payload| payload.votes).collect()
}

/// The last `liars` replicas run on two machines with one key each, one beside each half of the honest, who don't hear each
/// other.
fn split(stage: &mut Stage<'_>, liars: u32) -> Result<(Vec<u32>, Vec<u32>), ScenarioError> {
    let honest: Vec<u32> = (0..stage.count() - liars).collect();
    let (one, other) = honest.split_at(honest.len() / 2);
    stage.one_way(one, other)?;
    stage.one_way(other, one)?;
    for liar in honest.len() as u32..stage.count() {
        let group = one.iter().map(|number| id(*number)).collect();
        stage.begin(FaultKind::Twins { replica: id(liar), group })?;
    }
    Ok((one.to_vec(), other.to_vec()))
}

pub(super) fn third_plus_one(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let liars = stage.count() / 3 + 1;
    let (one, other) = split(stage, liars)?;
    stage.run_until_broken(200_000, "agreement")?;
    let heights = |stage: &Stage<'_>| [one[0], other[0]].map(|number| finalized(stage, number));
    for _ in 0..60 {
        match stage.run_ms(1_000) {
            Ok(()) | Err(ScenarioError::Network(NetworkError::Violated(_))) if !heights(stage).contains(&0) => break,
            Ok(()) | Err(ScenarioError::Network(NetworkError::Violated(_))) => {}
            Err(error) => return Err(error),
        }
    }
    let ours = heights(stage);
    stage.must(!ours.contains(&0), "both sides with something final")?;
    let votes = [one[0], other[0]].map(|number| votes_of(stage.replica(number).chain()));
    let guilty = offenders(&votes[0], &votes[1], stage.network().authenticator());
    let want: BTreeSet<Address> = (stage.count() - liars..stage.count()).map(|liar| address(stage, liar)).collect();
    stage.must(guilty == want, "exactly those named who voted on both sides")?;
    let set = stage.network().genesis_validators();
    let weight: u128 =
        guilty.iter().filter_map(|who| set.index_of(who)).map(|place| u128::from(set.members()[place].weight)).sum();
    stage.must(3 * weight >= set.total_weight(), "at least a third of the stake")?;
    Ok(format!(
        "heights {} and {} are final on two branches; {liars} of {} are named, no honest one among them",
        ours[0],
        ours[1],
        stage.count()
    ))
}

/// The control: as many as are less than a third break nothing.
pub(super) fn less_than_third(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let liars = (stage.count() - 1) / 3;
    let (one, other) = split(stage, liars)?;
    stage.run_ms(48_000)?;
    let heights = [one[0], other[0]].map(|number| finalized(stage, number));
    stage.must(heights.contains(&0), "one side without anything final")?;
    Ok(format!(
        "{liars} of {} on both sides: final up to {} and {}, nothing in conflict",
        stage.count(),
        heights[0],
        heights[1]
    ))
}

/// A network of the same genesis and keys.
fn other_network(stage: &Stage<'_>, config: PosConfig, plan: FaultPlan) -> Result<Network, ScenarioError> {
    let builder = Network::builder()
        .with_consensus(ConsensusConfig::Pos(config))
        .with_validators(stage.count())
        .with_seed(stage.seed())
        .with_latency(Latency::Uniform { min: Duration::from_millis(8), max: Duration::from_millis(30) })
        .with_faults(plan);
    Ok(builder.build()?)
}

/// Shows blocks to a replica, one after the other, and answers how many of them it refused for a reason.
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
        network.inject(from, to, Message::Block(block.clone()))?;
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

pub(super) fn long_range(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let config = config(stage);
    // All keys make another history from the first slot on, whose proposer misses it.
    let first = pos(stage, 0).and_then(Pos::head_state).and_then(|state| state.current.proposer(&config, 1));
    let everybody = all_but(stage, &[]);
    let Some(absent) = everybody.iter().copied().find(|number| Some(address(stage, *number)) == first) else {
        return Err(stage.not_shown("a proposer of the first slot"));
    };
    let plan = FaultPlan::default().with(0, config.period * 2_000, FaultKind::Crash { replica: id(absent) });
    let mut other = other_network(stage, config, plan)?;
    let whole = Duration::from_secs(SLOTS * config.period);
    other.run_for(whole)?;
    let forged = blocks_of(other.primary().chain());

    // Who was here knows better.
    stage.run_ms(SLOTS * config.period * 1_000)?;
    let height = finalized(stage, 0) as usize;
    stage.must(height > 20 && forged.len() > height, "two long histories")?;
    let refused = show(stage.network_mut(), id(0), &forged[..height], is_old)?;
    stage.must(refused == height, "every block below what is final refused by one who was here")?;
    // Who begins anew can't tell the two apart, and believes neither.
    let newcomer = stage.count() - 1;
    let trusted = pos(stage, 0).map(Pos::finalized).unwrap_or_default();
    stage.network_mut().wipe(id(newcomer))?;
    stage.restart(newcomer)?;
    stage.run_ms(100)?;
    let truth = blocks_of(stage.replica(0).chain());
    for history in [&forged[..1], &truth[..1]] {
        let refused = show(stage.network_mut(), id(newcomer), history, is_weak)?;
        stage.must(refused == 1, "a beginner who believes neither history")?;
    }
    stage.run_ms(10_000)?;
    stage.must(stage.head(newcomer).height == Height::GENESIS, "a beginner who is still at genesis")?;
    let others: Vec<u32> = everybody.into_iter().filter(|number| *number != newcomer).collect();
    stage.must(stage.agree_at(&others, trusted.block.height.get()), "the others on their own history")?;

    // With a checkpoint from a friend it takes the true one and no other.
    let told = config.with_trusted(trusted.epoch, trusted.block.hash);
    let mut network = other_network(stage, told, FaultPlan::default())?;
    network.run_for(whole)?;
    network.wipe(id(newcomer))?;
    network.restart(id(newcomer))?;
    // It is shown the forged one first: nobody's answers reach it.
    let effect = LinkEffect::Loss { per_mille: 1_000 };
    let labels = vec!["block-response".to_owned()];
    let unanswered = network.set_link(LinkFault { from: vec![], to: vec![id(newcomer)], labels, effect })?;
    let refused = show(&mut network, id(newcomer), &forged, is_untrusted)?;
    let reached = network.replica(id(newcomer))?.head().height;
    let is_stopped = refused > 0 && reached < trusted.block.height;
    stage.must(is_stopped, "the forged history stopped below the checkpoint that a beginner was told")?;
    network.end_fault(unanswered)?;
    network.wipe(id(newcomer))?;
    network.restart(id(newcomer))?;
    let head = |replica: &Replica| replica.head().height.get();
    let caught_up =
        |network: &Network| network.replicas().iter().all(|replica| head(replica) + 2 > head(network.primary()));
    let limit = Duration::from_secs(120);
    network.run_until(limit, |network| caught_up(network) && head(network.primary()) > trusted.block.height.get())?;
    let own = network.replica(id(newcomer))?.chain().hash_at(trusted.block.height).ok();
    stage.must(own == Some(trusted.block.hash), "the true history at one who was told a checkpoint")?;
    Ok(format!(
        "{height} forged blocks refused by one who was here; a beginner refuses both histories; told a checkpoint of \
         epoch {}, it refuses the forged one and takes the true one",
        trusted.epoch
    ))
}
