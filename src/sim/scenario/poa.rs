//! Scenarios of proof of authority.

use core::time::Duration;

mod exact;

use std::sync::Arc;

use super::{
    Scenario, ScenarioError, ScenarioRunner, Script, Sizes,
    runner::{id, ms},
};
use crate::{
    chain::GenesisSpec,
    consensus::{Admin, ConsensusConfig, Evidence, Protocol, poa::PoaConfig},
    primitives::{Address, Gas, Height, KeyPair, Transaction, TransactionRequest, U256, ether},
    sim::{faults::plan::Behaviour, network::builder::NetworkBuilder},
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "poa-deadlock-equal-length",
        protocol: "poa",
        summary: "EIP-3436: eight signers cut in halves, neither of which can go on alone",
        outcome: "both halves stop after four blocks; healed, they agree on one branch and go on",
        script: Script::Network { validators: EIGHT, seed: 5, consensus, setup, play: equal_length },
    },
    Scenario {
        name: "poa-deadlock-other-length",
        protocol: "poa",
        summary: "EIP-3436: eight signers cut in halves, one signer down, so that branches differ in length",
        outcome: "both halves stop; healed, they agree on one branch and go on without the one that is down",
        script: Script::Network { validators: EIGHT, seed: 5, consensus, setup, play: other_length },
    },
    Scenario {
        name: "poa-deadlock-exact-other-length",
        protocol: "poa",
        summary: "EIP-3436's first constellation, block by block: branches of equal weight and of two and three blocks",
        outcome: "every signer takes the shorter one, whichever it saw first, and those who are up go on",
        script: Script::Network { validators: EIGHT, seed: 5, consensus: ahead, setup, play: exact::other_length },
    },
    Scenario {
        name: "poa-deadlock-exact-equal-length",
        protocol: "poa",
        summary: "EIP-3436's second constellation, block by block: branches of equal weight and of three blocks each",
        outcome: "every signer takes the same one, whichever it saw first, and those who are up go on",
        script: Script::Network { validators: EIGHT, seed: 5, consensus: ahead, setup, play: exact::equal_length },
    },
    Scenario {
        name: "poa-four-signers",
        protocol: "poa",
        summary: "four signers cut in halves make branches of equal difficulty",
        outcome: "healed, all take one of the two and go on",
        script: Script::Network { validators: FOUR, seed: 5, consensus, setup, play: four_signers },
    },
    Scenario {
        name: "poa-double-signing",
        protocol: "poa",
        summary: "a signer makes two blocks of one height and shows each half of the others another",
        outcome: "one who sees both holds evidence, nobody else is named, and the honest agree and go on",
        script: Script::Network {
            validators: SIGNERS.with_default(5),
            seed: 5,
            consensus,
            setup,
            play: double_signing,
        },
    },
    Scenario {
        name: "poa-censoring-signer",
        protocol: "poa",
        summary: "a signer leaves all transactions out of its blocks",
        outcome: "a transaction gets in with another signer's block",
        script: Script::Network { validators: SIGNERS, seed: 5, consensus, setup: funded, play: censoring },
    },
    Scenario {
        name: "poa-vote-spam",
        protocol: "poa",
        summary: "one signer votes for one stranger after another",
        outcome: "nobody joins by its votes alone; one who has more than half of the signers joins at once",
        script: Script::Network { validators: SIGNERS, seed: 5, consensus, setup, play: vote_spam },
    },
];

const EIGHT: Sizes = Sizes::exactly(8, "the EIP's deadlocks are of eight signers");
const FOUR: Sizes = Sizes::exactly(4, "each half must be able to make a block and no more than the other");
const SIGNERS: Sizes =
    Sizes::from_default(4, "the others must be able to go on without the one").at_least(3).at_most(15);

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)))
}

/// As [`consensus`], with blocks ahead of their time: they are all made by hand in the first second.
fn ahead() -> ConsensusConfig {
    let period = Duration::from_secs(1);
    ConsensusConfig::Poa(PoaConfig::default().with_period(period).with_future_allowance(15 * period))
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

fn funded(builder: NetworkBuilder) -> NetworkBuilder {
    builder.with_genesis(GenesisSpec::new(CHAIN_ID).with_balance(client().address(), ether(1)))
}

const CHAIN_ID: u64 = 1_337;

fn client() -> KeyPair {
    KeyPair::from_seed(1, "client")
}

fn all(runner: &ScenarioRunner<'_>) -> Vec<u32> {
    (0..runner.count()).collect()
}

/// Partitions the halves after some blocks, heals them once they have stalled, and continues; returns the heights of both
/// branches and the common goal.
fn split_and_heal(runner: &mut ScenarioRunner<'_>, after: u64, down: &[u32]) -> Result<(u64, u64, u64), ScenarioError> {
    runner.run_to_height(ms(30_000), Height::new(after))?;
    let everybody = all(runner);
    let half = everybody.len() / 2;
    let (one, other) = everybody.split_at(half);
    for number in down {
        runner.crash(*number)?;
    }
    let cut = runner.partition(&[one, other])?;
    runner.run_for(ms(40_000))?;
    let highest = |runner: &ScenarioRunner<'_>, half: &[u32]| {
        half.iter().map(|number| runner.head(*number).height.get()).max().unwrap_or_default()
    };
    let (left, right) = (highest(runner, one), highest(runner, other));
    runner.run_for(ms(40_000))?;
    runner.ensure((left, right) == (highest(runner, one), highest(runner, other)), "both halves stop")?;
    runner.end(cut)?;
    let up: Vec<u32> = everybody.iter().copied().filter(|number| !down.contains(number)).collect();
    let goal = left.max(right) + 8;
    runner.run_some_to_height(&up, ms(120_000), Height::new(goal))?;
    runner.run_until(ms(60_000), "one branch", |runner| runner.agree_at(&up, Height::new(goal)))?;
    Ok((left, right, goal))
}

fn equal_length(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    // No signer has signed yet, so that each of a half may sign once.
    let (left, right, goal) = split_and_heal(runner, 0, &[])?;
    runner.ensure(left == right, "branches of the same length")?;
    Ok(format!("both halves stopped at height {left}; healed, all agree at height {goal}"))
}

fn other_length(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let down = runner.count() - 1;
    let (left, right, goal) = split_and_heal(runner, 0, &[down])?;
    runner.ensure(left != right, "branches of different length")?;
    Ok(format!("the halves stopped at heights {left} and {right}; healed, all agree at height {goal}"))
}

fn four_signers(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (left, right, goal) = split_and_heal(runner, 0, &[])?;
    runner.ensure(left == right, "branches of the same length")?;
    Ok(format!("the halves stopped at heights {left} and {right}; healed, all agree at height {goal}"))
}

fn double_signing(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(30_000), Height::new(2))?;
    runner.misbehave(0, Behaviour::Equivocate)?;
    let honest: Vec<u32> = (1..runner.count()).collect();
    // Not all replicas receive both: a losing block is not forwarded.
    runner.run_until(ms(120_000), "evidence", |runner| honest.iter().any(|number| runner.evidence(*number) > 0))?;
    let goal = runner.highest().get() + 6;
    runner.run_some_to_height(&honest, ms(120_000), Height::new(goal))?;
    let settled = goal - 4;
    runner.run_until(ms(60_000), "one block a height", |runner| {
        (1..=settled).all(|height| runner.agree_at(&honest, Height::new(height)))
    })?;
    let faulty = runner.replica(0).address();
    let named = honest.iter().flat_map(|number| runner.replica(*number).evidence()).map(Evidence::offender);
    runner.ensure(named.into_iter().all(|named| Some(named) == faulty), "nobody else named")?;
    let holders = honest.iter().filter(|number| runner.evidence(**number) > 0).count();
    let found: u64 = honest.iter().map(|number| runner.evidence(*number)).sum();
    Ok(format!(
        "{found} pieces of evidence at {holders} of {} honest replicas; they agree up to height {settled}",
        honest.len()
    ))
}

fn censoring(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(30_000), Height::new(2))?;
    runner.misbehave(0, Behaviour::Censor { senders: Vec::new() })?;
    let transaction = transfer()?;
    let hash = transaction.hash();
    let sent_at = runner.highest().get();
    runner.network_mut().submit(transaction, id(0))?;
    runner.run_until(ms(60_000), "the transaction in a block", |runner| {
        let receiver = runner.replica(1).chain().latest_state().ok();
        receiver.is_some_and(
            |state| matches!(state.account(&RECEIVER), Ok(Some(account)) if account.balance == U256::from(1)),
        )
    })?;
    let chain = runner.replica(1).chain();
    let blocks = (1..=runner.head(1).height.get()).filter_map(|height| chain.block_at(Height::new(height)).ok());
    let mut with_it = blocks.filter(|block| block.block().transactions().iter().any(|other| other.hash() == hash));
    let author = with_it.next().map(|block| (block.block().height(), block.block().header().beneficiary));
    let censor = runner.replica(0).address();
    runner.ensure(author.is_some_and(|(_, author)| Some(author) != censor), "another signer's block")?;
    let height = author.map_or(0, |(height, _)| height.get());
    Ok(format!("sent at height {sent_at}, in block {height}, which the censor did not make"))
}

const RECEIVER: Address = Address::repeat_byte(0xbb);

fn transfer() -> Result<Arc<Transaction>, crate::primitives::TransactionError> {
    let request = TransactionRequest {
        chain_id: Some(CHAIN_ID),
        to: Some(RECEIVER),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..TransactionRequest::default()
    };
    Ok(Arc::new(request.sign(&client())?))
}

fn vote_spam(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(30_000), Height::new(1))?;
    let signers = runner.count() as usize;
    for stranger in 1..=100 {
        runner.admin(0, Admin::Vote { target: Address::repeat_byte(stranger), authorize: true })?;
    }
    runner.run_to_height(ms(300_000), Height::new(60))?;
    runner.ensure(runner.protocol(1).validators().len() == signers, "the signers as they were")?;
    let target = Address::repeat_byte(7);
    for voter in 1..runner.count() {
        runner.admin(voter, Admin::Vote { target, authorize: true })?;
    }
    runner.run_until(ms(300_000), "the one with a majority joins", |runner| {
        (0..runner.count()).all(|number| runner.protocol(number).validators().contains(&target))
    })?;
    runner.ensure(runner.protocol(1).validators().len() == signers + 1, "nobody else joins")?;
    Ok(format!("100 strangers stayed out for 60 blocks; the one with {} of {signers} votes joined", signers - 1))
}
