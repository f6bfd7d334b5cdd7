//! Scenarios in which votes change who produces.

use std::sync::Arc;

use super::{ScenarioError, Stage, all, irreversible};
use crate::{
    chain::{Block, GenesisSpec},
    consensus::{
        BlockId, ConsensusConfig, Machine, Message, SealedHeader, ValidatorSet,
        dpos::{Dpos, DposConfig, LightVerifier, Payload},
    },
    primitives::{Address, Height, KeyPair, ether},
    sim::{
        faults::plan::Behaviour,
        network::{builder::NetworkBuilder, validator_action::ValidatorAction},
    },
};

/// Of the seven candidates, how many produce.
const PRODUCERS: u32 = 4;
/// Blocks with a vote in each.
const CHURN_BLOCKS: u64 = 120;

pub(super) fn consensus() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default().with_producers(PRODUCERS))
}

/// Somebody has a lot to put behind candidates.
pub(super) fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder.with_genesis(GenesisSpec::new(1_337).with_balance(voter().address(), ether(1_000_000)))
}

fn voter() -> KeyPair {
    KeyPair::from_seed(1, "voter")
}

fn dpos<'a>(stage: &'a Stage<'_>, number: u32) -> Option<&'a Dpos> {
    match stage.protocol(number) {
        Machine::Dpos(dpos) => Some(dpos),
        _ => None,
    }
}

/// The voter puts stake behind a candidate, in one of the next blocks.
fn vote(stage: &mut Stage<'_>, candidate: u32, tokens: u64) -> Result<(), ScenarioError> {
    let validator = stage.replica(candidate).address().unwrap_or_default();
    let action = ValidatorAction::Delegate { validator, amount: ether(tokens) };
    let voted = stage.network_mut().validator_action(&voter(), &action);
    voted.map(drop).map_err(|error| stage.not_shown(format!("a vote that is taken, but {error}")))
}

/// The blocks of replica 0's chain above genesis.
fn chain(stage: &Stage<'_>) -> Vec<Arc<Block>> {
    let chain = stage.replica(0).chain();
    let hashes = (1..=stage.head(0).height.get()).filter_map(|height| chain.hash_at(Height::new(height)).ok());
    hashes.filter_map(|hash| chain.block(hash).ok()).map(|block| block.block().clone()).collect()
}

/// Heights at which schedules were proposed and came into force.
fn changes(stage: &Stage<'_>) -> (Vec<u64>, Vec<u64>) {
    let (mut proposed, mut activated) = (Vec::new(), Vec::new());
    for block in chain(stage) {
        let Ok(payload) = Payload::decode(block.payload()) else { continue };
        let height = block.height().get();
        proposed.extend(payload.proposes.map(|_| height));
        activated.extend(payload.activates.map(|_| height));
    }
    (proposed, activated)
}

pub(super) fn churn(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.run_to_height(30_000, 2)?;
    let count = stage.count();
    for block in 0..CHURN_BLOCKS {
        let height = stage.head(0).height;
        // Whoever is voted for comes out on top of all others.
        let tokens = 10 * (block + 1).min(u64::from(count));
        vote(stage, (block % u64::from(count)) as u32, tokens)?;
        stage.run_until(30_000, "the next block", |stage| stage.head(0).height > height)?;
    }
    let everybody = all(stage);
    let head = stage.highest();
    let lag = everybody.iter().map(|number| head - irreversible(stage, *number)).max().unwrap_or_default();
    stage.must(lag < 24, format!("irreversibility close behind, not {lag} blocks"))?;
    let (proposed, activated) = changes(stage);
    let cast: usize = chain(stage).iter().map(|block| block.transactions().len()).sum();
    stage.must(cast as u64 == CHURN_BLOCKS, format!("every vote in a block, not {cast}"))?;
    let is_enough = activated.len() >= 8 && proposed.len() <= activated.len() + 1;
    stage.must(is_enough, format!("schedule after schedule, not {} of {}", activated.len(), proposed.len()))?;
    // Somebody with the headers alone comes to the same.
    let chain_of = stage.replica(0).chain();
    let genesis = chain_of.genesis().block().header();
    let (authenticator, validators) = (stage.network().authenticator().clone(), stage.network().genesis_validators());
    let config = dpos(stage, 0).map(|dpos| *dpos.config()).unwrap_or_default();
    let failed =
        |error: &dyn core::fmt::Display| stage.not_shown(format!("a light verifier that follows, but {error}"));
    let mut light = LightVerifier::new(config, genesis, validators, authenticator).map_err(|error| failed(&error))?;
    for block in chain(stage) {
        light.follow(&SealedHeader::from(block.as_ref())).map_err(|error| failed(&error))?;
    }
    stage.must(light.irreversible() == stage.finalized(0), "the same irreversible block at a light verifier")?;
    Ok(format!(
        "{} schedules came into force in {head} blocks; irreversible up to {}, as a light verifier finds too",
        activated.len(),
        irreversible(stage, 0)
    ))
}

pub(super) fn jump(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.run_to_height(30_000, 2)?;
    let producing = |stage: &Stage<'_>, number: u32| {
        let address = stage.replica(number).address().unwrap_or_default();
        dpos(stage, 0).is_some_and(|dpos| dpos.head_link().state.active().producers().contains(&address))
    };
    let outside: Vec<u32> = all(stage).into_iter().filter(|number| !producing(stage, *number)).collect();
    let [first, second, ..] = outside[..] else { return Err(stage.not_shown("candidates that don't produce")) };
    stage.show_from_here();
    vote(stage, first, 100)?;
    let pending = |stage: &Stage<'_>| dpos(stage, 0).and_then(|dpos| dpos.head_link().state.pending().cloned());
    stage.run_until(60_000, "a pending schedule", |stage| pending(stage).is_some())?;
    let waiting = pending(stage).map(|pending| pending.schedule.hash());
    vote(stage, second, 1_000)?;
    // A producer proposes at once whom the votes would elect now.
    let head = stage.highest();
    stage.run_until(30_000, "the second vote in a block", |stage| {
        stage.head(0).height.get() > head && stage.replica(0).pool().is_empty()
    })?;
    hasty_proposal(stage, second)?;
    stage.must(pending(stage).map(|pending| pending.schedule.hash()) == waiting, "the first schedule still pending")?;
    stage
        .run_until(120_000, "both candidates producing", |stage| producing(stage, first) && producing(stage, second))?;
    stage.show_until_here();
    let (proposed, activated) = changes(stage);
    let [one, two] = proposed[..] else { return Err(stage.not_shown("two proposals")) };
    let in_line = activated.len() == 2 && one < activated[0] && activated[0] <= two && two < activated[1];
    stage.must(in_line, format!("one after the other, not {proposed:?} and {activated:?}"))?;
    Ok(format!(
        "proposed at {one}, in force at {}; only then the next: proposed at {two}, in force at {}; a hasty one was refused",
        activated[0], activated[1]
    ))
}

/// The next producer's block is kept back, and the others are shown one that proposes another schedule while one is pending.
fn hasty_proposal(stage: &mut Stage<'_>, candidate: u32) -> Result<(), ScenarioError> {
    let before = stage.head(0);
    let Some(link) = dpos(stage, 0).map(Dpos::head_link) else { return Ok(()) };
    let config = dpos(stage, 0).map(|dpos| *dpos.config()).unwrap_or_default();
    let (schedule, slot) = (link.state.active(), link.slot + 2);
    let author = schedule.producers().members()[schedule.producer_at(slot, &config)].address;
    let everybody = all(stage);
    let Some(liar) = everybody.iter().copied().find(|number| stage.replica(*number).address() == Some(author)) else {
        return Err(stage.not_shown("the producer of the next slot"));
    };
    let silence = stage.misbehave(liar, Behaviour::Silent)?;
    stage.run_until(10_000, "its block", |stage| {
        stage.replica(liar).counters().blocks_built > 0
            && stage.replica(liar).chain().head().block().header().beneficiary == author
            && stage.head(liar).height > before.height
    })?;
    let head = stage.head(liar);
    let Ok(honest) = stage.replica(liar).chain().block(head.hash) else { return Err(stage.not_shown("its block")) };
    let honest = honest.block().clone();
    let mut members: Vec<_> = schedule_of(stage).unwrap_or_default();
    members.retain(|address| *address != author);
    members.push(stage.replica(candidate).address().unwrap_or_default());
    let Ok(set) = ValidatorSet::equal(members) else { return Err(stage.not_shown("another set")) };
    let Ok(payload) = Payload::decode(honest.payload()) else { return Err(stage.not_shown("a payload")) };
    let payload = Payload { proposes: Some(set), ..payload }.encoded();
    let mut header = honest.header().clone();
    header.extra_data = Block::extra_data_of(&payload).unwrap_or_default();
    let hasty = Block::new(header, honest.transactions().to_vec(), payload, Vec::new());
    let seal = stage.signer(liar).sign(hasty.hash());
    let hasty = Arc::new(hasty.with_seal(seal));
    let others: Vec<u32> = everybody.into_iter().filter(|number| *number != liar).collect();
    let rejected = |stage: &Stage<'_>, number: u32| stage.replica(number).counters().rejected;
    let counts: Vec<_> = others.iter().map(|number| rejected(stage, *number)).collect();
    stage.inject(liar, &others, &Message::Block(hasty.clone()))?;
    stage.run_ms(60)?;
    let is_refused = others.iter().zip(counts).all(|(number, count)| rejected(stage, *number) > count);
    let why = stage.replica(others[0]).last_rejection().map(ToString::to_string).unwrap_or_default();
    stage.must(is_refused && why.contains("proposes"), format!("a hasty proposal refused, and not: {why}"))?;
    let is_nowhere = others.iter().all(|number| stage.head(*number) != BlockId::of(&hasty));
    stage.must(is_nowhere, "the hasty proposal on no chain")?;
    stage.end(silence)
}

fn schedule_of(stage: &Stage<'_>) -> Option<Vec<Address>> {
    Some(dpos(stage, 0)?.head_link().state.active().producers().addresses().collect())
}
