//! Scenarios in which votes change the producers.

use std::sync::Arc;

use super::{ScenarioError, ScenarioRunner, all, irreversible, ms};
use crate::{
    chain::{Block, GenesisSpec},
    consensus::{
        AnyProtocol, BlockId, ConsensusConfig, ConsensusMessage, Purpose, SealedHeader, ValidatorSet,
        dpos::{Dpos, DposConfig, LightVerifier, Payload},
    },
    primitives::{Address, Height, KeyPair, ether},
    sim::{
        faults::plan::Behaviour,
        network::{builder::NetworkBuilder, validator_action::ValidatorAction},
    },
};

/// Number of producers among the seven candidates.
const PRODUCERS: u32 = 4;
/// Number of blocks that contain a vote.
const CHURN_BLOCKS: u64 = 120;

pub(super) fn consensus() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default().with_producers(PRODUCERS))
}

/// Returns a genesis with a rich voter.
pub(super) fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder.with_genesis(GenesisSpec::new(1_337).with_balance(voter().address(), ether(1_000_000)))
}

fn voter() -> KeyPair {
    KeyPair::from_seed(1, "voter")
}

fn dpos<'a>(runner: &'a ScenarioRunner<'_>, number: u32) -> Option<&'a Dpos> {
    match runner.protocol(number) {
        AnyProtocol::Dpos(dpos) => Some(dpos),
        _ => None,
    }
}

/// Lets the voter delegate to a candidate, in one of the next blocks.
fn vote(runner: &mut ScenarioRunner<'_>, candidate: u32, tokens: u64) -> Result<(), ScenarioError> {
    let validator = runner.replica(candidate).address().unwrap_or_default();
    let action = ValidatorAction::Delegate { validator, amount: ether(tokens) };
    let voted = runner.network_mut().validator_action(&voter(), &action);
    voted.map(drop).map_err(|error| runner.not_shown(format!("a vote that is taken, but {error}")))
}

/// Returns the blocks of replica 0's chain above genesis.
fn chain(runner: &ScenarioRunner<'_>) -> Vec<Arc<Block>> {
    let chain = runner.replica(0).chain();
    let hashes = (1..=runner.head(0).height.get()).filter_map(|height| chain.hash_at(Height::new(height)).ok());
    hashes.filter_map(|hash| chain.block(hash).ok()).map(|block| block.block().clone()).collect()
}

/// Returns the heights at which schedules were proposed and took effect.
fn changes(runner: &ScenarioRunner<'_>) -> (Vec<u64>, Vec<u64>) {
    let (mut proposed, mut activated) = (Vec::new(), Vec::new());
    for block in chain(runner) {
        let Ok(payload) = Payload::decode(block.protocol_payload()) else { continue };
        let height = block.height().get();
        proposed.extend(payload.proposes.map(|_| height));
        activated.extend(payload.activates.map(|_| height));
    }
    (proposed, activated)
}

pub(super) fn churn(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(30_000), Height::new(2))?;
    let count = runner.count();
    for block in 0..CHURN_BLOCKS {
        let height = runner.head(0).height;
        // A candidate with votes ranks above all others.
        let tokens = 10 * (block + 1).min(u64::from(count));
        vote(runner, (block % u64::from(count)) as u32, tokens)?;
        runner.run_until(ms(30_000), "the next block", |runner| runner.head(0).height > height)?;
    }
    let everybody = all(runner);
    let head = runner.highest().get();
    let lag = everybody.iter().map(|number| head - irreversible(runner, *number)).max().unwrap_or_default();
    runner.ensure(lag < 24, format!("irreversibility close behind, not {lag} blocks"))?;
    let (proposed, activated) = changes(runner);
    let cast: usize = chain(runner).iter().map(|block| block.transactions().len()).sum();
    runner.ensure(cast as u64 == CHURN_BLOCKS, format!("every vote in a block, not {cast}"))?;
    let is_enough = activated.len() >= 8 && proposed.len() <= activated.len() + 1;
    runner.ensure(is_enough, format!("schedule after schedule, not {} of {}", activated.len(), proposed.len()))?;
    // A light verifier with the headers alone reaches the same result.
    let chain_of = runner.replica(0).chain();
    let genesis = chain_of.genesis().block().header();
    let (authenticator, validators) = (runner.network().authenticator().clone(), runner.network().genesis_validators());
    let config = dpos(runner, 0).map(|dpos| *dpos.config()).unwrap_or_default();
    let failed =
        |error: &dyn core::fmt::Display| runner.not_shown(format!("a light verifier that follows, but {error}"));
    let mut light = LightVerifier::new(config, genesis, validators, authenticator).map_err(|error| failed(&error))?;
    for block in chain(runner) {
        light.follow(&SealedHeader::from(block.as_ref())).map_err(|error| failed(&error))?;
    }
    runner.ensure(light.irreversible() == runner.finalized(0), "the same irreversible block at a light verifier")?;
    Ok(format!(
        "{} schedules came into force in {head} blocks; irreversible up to {}, as a light verifier finds too",
        activated.len(),
        irreversible(runner, 0)
    ))
}

pub(super) fn jump(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(30_000), Height::new(2))?;
    let producing = |runner: &ScenarioRunner<'_>, number: u32| {
        let address = runner.replica(number).address().unwrap_or_default();
        dpos(runner, 0).is_some_and(|dpos| dpos.head_context().state.active().producers().contains(&address))
    };
    let outside: Vec<u32> = all(runner).into_iter().filter(|number| !producing(runner, *number)).collect();
    let [first, second, ..] = outside[..] else { return Err(runner.not_shown("candidates that don't produce")) };
    runner.begin_window();
    vote(runner, first, 100)?;
    let pending =
        |runner: &ScenarioRunner<'_>| dpos(runner, 0).and_then(|dpos| dpos.head_context().state.pending().cloned());
    runner.run_until(ms(60_000), "a pending schedule", |runner| pending(runner).is_some())?;
    let waiting = pending(runner).map(|pending| pending.schedule.hash());
    vote(runner, second, 1_000)?;
    // A producer proposes the currently elected schedule at once.
    let head = runner.highest().get();
    runner.run_until(ms(30_000), "the second vote in a block", |runner| {
        runner.head(0).height.get() > head && runner.replica(0).pool().is_empty()
    })?;
    hasty_proposal(runner, second)?;
    runner.ensure(
        pending(runner).map(|pending| pending.schedule.hash()) == waiting,
        "the first schedule still pending",
    )?;
    runner.run_until(ms(120_000), "both candidates producing", |runner| {
        producing(runner, first) && producing(runner, second)
    })?;
    runner.end_window();
    let (proposed, activated) = changes(runner);
    let [one, two] = proposed[..] else { return Err(runner.not_shown("two proposals")) };
    let in_line = activated.len() == 2 && one < activated[0] && activated[0] <= two && two < activated[1];
    runner.ensure(in_line, format!("one after the other, not {proposed:?} and {activated:?}"))?;
    Ok(format!(
        "proposed at {one}, in force at {}; only then the next: proposed at {two}, in force at {}; a hasty one was refused",
        activated[0], activated[1]
    ))
}

/// The next producer's block is withheld, and the others receive one that proposes another schedule while one is pending.
fn hasty_proposal(runner: &mut ScenarioRunner<'_>, candidate: u32) -> Result<(), ScenarioError> {
    let before = runner.head(0);
    let Some(link) = dpos(runner, 0).map(Dpos::head_context) else { return Ok(()) };
    let config = dpos(runner, 0).map(|dpos| *dpos.config()).unwrap_or_default();
    let (schedule, slot) = (link.state.active(), link.slot + 2);
    let author = schedule.producers().members()[schedule.producer_at(slot, &config)].address;
    let everybody = all(runner);
    let Some(faulty) = everybody.iter().copied().find(|number| runner.replica(*number).address() == Some(author))
    else {
        return Err(runner.not_shown("the producer of the next slot"));
    };
    let silence = runner.misbehave(faulty, Behaviour::Silent)?;
    runner.run_until(ms(10_000), "its block", |runner| {
        runner.replica(faulty).counters().blocks_built > 0
            && runner.replica(faulty).chain().head().block().header().beneficiary == author
            && runner.head(faulty).height > before.height
    })?;
    let head = runner.head(faulty);
    let Ok(honest) = runner.replica(faulty).chain().block(head.hash) else { return Err(runner.not_shown("its block")) };
    let honest = honest.block().clone();
    let mut members: Vec<_> = schedule_of(runner).unwrap_or_default();
    members.retain(|address| *address != author);
    members.push(runner.replica(candidate).address().unwrap_or_default());
    let Ok(set) = ValidatorSet::equal(members) else { return Err(runner.not_shown("another set")) };
    let Ok(payload) = Payload::decode(honest.protocol_payload()) else { return Err(runner.not_shown("a payload")) };
    let payload = Payload { proposes: Some(set), ..payload }.encoded();
    let mut header = honest.header().clone();
    header.extra_data = Block::extra_data_of(&payload).unwrap_or_default();
    let hasty = Block::new(header, honest.transactions().to_vec(), payload, Vec::new());
    let seal = runner.signer(faulty).sign(Purpose::Block, hasty.hash());
    let hasty = Arc::new(hasty.with_seal(seal));
    let others: Vec<u32> = everybody.into_iter().filter(|number| *number != faulty).collect();
    let rejected = |runner: &ScenarioRunner<'_>, number: u32| runner.replica(number).counters().rejected;
    let counts: Vec<_> = others.iter().map(|number| rejected(runner, *number)).collect();
    runner.inject(faulty, &others, &ConsensusMessage::Block(hasty.clone()))?;
    runner.run_for(ms(60))?;
    let is_refused = others.iter().zip(counts).all(|(number, count)| rejected(runner, *number) > count);
    let why = runner.replica(others[0]).last_rejection().map(ToString::to_string).unwrap_or_default();
    runner.ensure(is_refused && why.contains("proposes"), format!("a hasty proposal refused, and not: {why}"))?;
    let is_nowhere = others.iter().all(|number| runner.head(*number) != BlockId::of(&hasty));
    runner.ensure(is_nowhere, "the hasty proposal on no chain")?;
    runner.end(silence)
}

fn schedule_of(runner: &ScenarioRunner<'_>) -> Option<Vec<Address>> {
    Some(dpos(runner, 0)?.head_context().state.active().producers().addresses().collect())
}
