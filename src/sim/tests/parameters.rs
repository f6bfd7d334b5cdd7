//! Changes of the chain's parameters in networks of all protocols: every replica takes them over at one block, and who follows headers alone
//! learns the block time.

use core::time::Duration;

use alloy_sol_types::SolCall;

use super::*;
use crate::{
    chain::ExecutedBlock,
    consensus::{
        AnyProtocol, Authenticator, ConsensusConfig, ConsensusKind, SealScheme, SealedHeader, StakeUse,
        dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig, raft::RaftConfig,
    },
    sim::{campaign::workload::Workload, engine::clock::SimTime},
    system::{
        parameters::{
            PARAMETERS_ADDRESS, Parameter, ParametersSpec,
            interface::{Change, scheduleCall},
        },
        staking::StakingParams,
    },
};

const LONG: Duration = Duration::from_secs(2_000);

pub(super) fn owner() -> KeyPair {
    KeyPair::from_seed(5, "who changes parameters")
}

fn networks() -> impl Iterator<Item = NetworkBuilder> {
    let period = Duration::from_secs(5);
    let configs = [
        ConsensusConfig::Poa(PoaConfig::default().with_period(period)),
        ConsensusConfig::Raft(RaftConfig::default().with_period(period)),
        ConsensusConfig::Pbft(PbftConfig::default().with_period(period).with_checkpoints(4, 8)),
        ConsensusConfig::Dpos(DposConfig::default().with_period(period)),
        ConsensusConfig::Pos(PosConfig::default().with_period(period).with_slots_per_epoch(4)),
    ];
    configs.into_iter().map(|config| {
        let mut genesis = GenesisSpec::new(1_337).with_parameters(ParametersSpec::new(owner().address()));
        genesis.fund(owner().address(), ether(10));
        let has_stake = config.info().stake_use != StakeUse::Never;
        let builder = Network::builder().with_genesis(genesis).with_consensus(config).with_validators(4).with_seed(1);
        let builder = if has_stake { builder.with_staking(StakingParams::default()) } else { builder };
        builder.with_seals(SealScheme::Secp256k1)
    })
}

fn changes(secs: u64, gas_limit: u64) -> [(Parameter, u64); 2] {
    [(Parameter::BlockTime, secs), (Parameter::GasLimit, gas_limit)]
}

pub(super) fn schedule(network: &mut Network, nonce: u64, changes: &[(Parameter, u64)]) {
    let change =
        |(parameter, value): &(Parameter, u64)| Change { parameter: parameter.code(), value: U256::from(*value) };
    let request = TransactionRequest {
        chain_id: Some(1_337),
        nonce,
        to: Some(PARAMETERS_ADDRESS),
        gas_limit: Gas::new(200_000),
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        input: scheduleCall { changes: changes.iter().map(change).collect() }.abi_encode().into(),
        ..TransactionRequest::default()
    };
    let transaction: Arc<Transaction> = Arc::new(request.sign(&owner()).unwrap());
    for replica in 0..3 {
        network.submit(transaction.clone(), ReplicaId::new(replica)).unwrap();
    }
}

fn gas_limit_is(network: &Network, gas_limit: u64) -> bool {
    network.replicas().iter().all(|replica| replica.chain().head().block().header().gas_limit == gas_limit)
}

fn boundaries(network: &Network, index: usize) -> Vec<ExecutedBlock> {
    let chain = network.replicas()[index].chain();
    let final_height = chain.finalized().height().get();
    let blocks = (1..=final_height).map(|height| chain.block_at(Height::new(height)).unwrap());
    blocks.filter(|block| !block.block().parameters().is_empty()).collect()
}

#[test]
fn every_replica_takes_over_at_one_block_and_headers_alone_tell() {
    for builder in networks() {
        let mut network = builder.build().unwrap();
        let name = network.config().name();
        network.run_to_height(Height::new(6)).unwrap();
        for (nonce, (secs, gas_limit)) in [(2, 20_000_000), (11, 40_000_000)].into_iter().enumerate() {
            let changes = changes(secs, gas_limit);
            schedule(&mut network, nonce as u64, &changes);
            network.run_until(LONG, |network| gas_limit_is(network, gas_limit)).unwrap();
            let height = network.replicas()[0].head().height.get() + 12;
            network.run_to_height(Height::new(height)).unwrap();
        }
        network.run_for(Duration::from_secs(300)).unwrap();
        let found: Vec<_> = boundaries(&network, 0).iter().map(ExecutedBlock::hash).collect();
        assert_eq!(found.len(), 2, "{name}");
        for index in 1..4 {
            let others: Vec<_> = boundaries(&network, index).iter().map(ExecutedBlock::hash).collect();
            assert_eq!(others, found, "{name}, replica {index}");
        }
        follow(&network);
        // Blocks come eleven seconds apart, more than the five of genesis and a timeout: nobody suspects a primary for that.
        if let AnyProtocol::Pbft(pbft) = network.primary().protocol() {
            assert_eq!((pbft.view().get(), pbft.is_changing()), (0, false));
        }
    }
}

/// Follows the headers alone; between blocks after a change there is the new block time, in proof of stake some epochs later.
fn follow(network: &Network) {
    let name = network.config().name();
    let (chain, validators) = (network.replicas()[0].chain(), network.genesis_validators().clone());
    let genesis = chain.genesis().block().header();
    let mut light = network.config().light_verifier(genesis, validators, Authenticator::secp256k1()).unwrap();
    let mut secs = 5;
    let (mut before, mut spacings) = (genesis.timestamp, Vec::new());
    let is_at_once = network.config().kind() != Some(ConsensusKind::Pos);
    for height in 1..=chain.head().height().get() {
        let block = chain.block_at(Height::new(height)).unwrap();
        let sealed = SealedHeader::from(block.block().as_ref());
        light.follow(&sealed).unwrap_or_else(|error| panic!("{name}, height {height}: {error}"));
        let timestamp = sealed.header.timestamp;
        let spacing = timestamp - before;
        assert!(height == 1 || !is_at_once || spacing >= secs, "{name}: {spacing} s before block {height}");
        before = timestamp;
        spacings.push(spacing);
        secs = block.block().parameters().value(Parameter::BlockTime).map_or(secs, |secs| secs as u64);
    }
    assert_eq!(secs, 11, "{name}");
    assert!(spacings.iter().rev().take(5).all(|secs| secs.is_multiple_of(11)), "{name}: {spacings:?}");
    assert!(spacings.contains(&2), "{name}: {spacings:?}");
}

/// A replica that was down while the others took over has them when it is back.
#[test]
fn a_replica_that_was_down_at_the_boundary_agrees() {
    for builder in networks() {
        let mut network = builder.build().unwrap();
        let name = network.config().name();
        network.run_to_height(Height::new(6)).unwrap();
        let down = ReplicaId::new(3);
        network.crash(down).unwrap();
        let changes = changes(2, 20_000_000);
        schedule(&mut network, 0, &changes);
        let took_over = |network: &Network| {
            network.replicas()[..3]
                .iter()
                .all(|replica| replica.chain().head().block().header().gas_limit == 20_000_000)
        };
        network.run_until(LONG, took_over).unwrap();
        network.run_for(Duration::from_secs(60)).unwrap();
        network.restart(down).unwrap();
        network
            .run_until(LONG, |network| gas_limit_is(network, 20_000_000))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        network.run_for(Duration::from_secs(200)).unwrap();
        let heads: Vec<_> = (0..4).map(|index| boundaries(&network, index)[0].hash()).collect();
        assert!(heads.iter().all(|hash| *hash == heads[0]), "{name}");
    }
}

/// The profile in which a client changes parameters all the time finds nothing, and parameters do change in it.
#[test]
fn nothing_is_found_while_parameters_change() {
    for kind in ConsensusKind::ALL {
        let setup = CampaignSetup::parameters(default_sim_config(kind));
        for seed in 0..3 {
            let report = run_seed(&setup, seed);
            assert!(report.is_passed(), "{kind:?}, seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
        }
        let mut network = setup.network(7, &FaultPlan::default()).unwrap();
        let has_stake = network.replicas()[0].chain().has_stake();
        let clients = Workload::new(7, 40, Duration::from_secs(100), 4);
        let mut clients = clients.with_parameter_changes(true, has_stake);
        let mut before = SimTime::ZERO;
        while let Some((at, transaction, replica)) = clients.next() {
            network.run_for(Duration::from_nanos(at.as_nanos() - before.as_nanos())).unwrap();
            before = at;
            let _refused = network.submit(transaction, replica);
        }
        network.run_for(Duration::from_secs(100)).unwrap();
        assert!(boundaries(&network, 0).len() > 3, "{kind:?}");
    }
}
