//! Whole networks whose validators vote: on the chain's gas limit with proof of authority, on a member of a committee with PBFT.

use alloy_sol_types::{SolCall, SolError};

use super::*;
use crate::{
    consensus::{AnyProtocol, ConsensusKind, pbft::PbftConfig, poa::PoaConfig, raft::RaftConfig},
    system::{
        governance::{
            GOVERNANCE_ADDRESS, GovernanceSpec, ProposalState, VoteOption,
            interface::{self as sol, Terms},
        },
        parameters::{Parameter, ParametersSpec},
        staking::StakingParams,
        validators::{ValidatorsConfig, interface as registry},
    },
};

const LONG: Duration = Duration::from_secs(2_000);

fn key(seed: u64, index: u32) -> KeyPair {
    NetworkBuilder::validator_key(seed, index)
}

/// Five validators with money, whose votes last half a minute. (A committee of PBFT keeps four.)
fn governed(seed: u64) -> GenesisSpec {
    let spec = GenesisSpec::new(1_337)
        .with_parameters(ParametersSpec::new(GOVERNANCE_ADDRESS))
        .with_governance(GovernanceSpec::default().with_voting_period(30));
    (0..5).fold(spec, |spec, index| spec.with_balance(key(seed, index).address(), ether(100)))
}

fn network(consensus: ConsensusConfig, seed: u64) -> NetworkBuilder {
    network_of(consensus, 5, seed).with_genesis(governed(seed))
}

fn submit(network: &mut Network, signer: &KeyPair, nonce: u64, call: &impl SolCall) {
    let request = TransactionRequest {
        chain_id: Some(1_337),
        nonce,
        to: Some(GOVERNANCE_ADDRESS),
        gas_limit: Gas::new(2_000_000),
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        input: call.abi_encode().into(),
        ..Default::default()
    };
    network.submit(Arc::new(request.sign(signer).unwrap()), ReplicaId::new(0)).unwrap();
}

fn terms() -> Terms {
    Terms { title: "Change".to_owned(), ..Terms::default() }
}

fn yes() -> sol::voteCall {
    sol::voteCall { id: U256::ONE, option: VoteOption::Yes.code(), weight: U256::ZERO, reason: String::new() }
}

fn state(network: &Network, index: usize) -> Option<ProposalState> {
    let chain = network.replicas()[index].chain();
    chain.proposal(chain.head(), 1).unwrap().map(|proposal| proposal.state)
}

/// Proposes, waits until every replica has the proposal, and lets validators vote.
fn propose_and_vote(network: &mut Network, seed: u64, voters: &[u32], proposal: &impl SolCall) {
    submit(network, &key(seed, 0), 0, proposal);
    network.run_until(LONG, |network| (0..5).all(|index| state(network, index).is_some())).unwrap();
    for voter in voters {
        submit(network, &key(seed, *voter), u64::from(*voter == 0), &yes());
    }
    network
        .run_until(LONG, |network| (0..5).all(|index| state(network, index) == Some(ProposalState::Executed)))
        .unwrap();
}

/// The profile in which validators govern finds nothing, with or without faults, and proposals are executed in it.
#[test]
fn nothing_is_found_while_validators_govern() {
    for kind in ConsensusKind::ALL {
        let setup = CampaignSetup::governance(default_sim_config(kind));
        let calm = run_plan(&setup, 3, &FaultPlan::default());
        assert!(calm.is_passed(), "{kind:?}: {:?}", calm.outcome);
        for seed in 0..2 {
            let report = run_seed(&setup, seed);
            assert!(report.is_passed(), "{kind:?}, seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
        }
    }
}

/// A candidate that leaves and joins again within a block, whose absences the staking contract forgets.
#[test]
fn absences_of_who_joins_again_are_counted_anew() {
    let setup = CampaignSetup::governance(default_sim_config(ConsensusKind::Pbft));
    let report = run_seed(&setup, 2_420_765_291);
    assert!(report.is_passed(), "{:?}", report.outcome);
}

/// A proposer whose blocks have a transaction of a stranger: no honest replica takes one of them, and the others go on.
#[test]
fn no_replica_takes_a_block_with_a_forbidden_transaction() {
    let stranger = crate::sim::faults::byzantine::stranger().address();
    for kind in [ConsensusKind::Poa, ConsensusKind::Pbft, ConsensusKind::Dpos, ConsensusKind::Pos] {
        let setup = CampaignSetup { validators: vec![4], ..CampaignSetup::governance(default_sim_config(kind)) };
        let mut network = setup.network(5, &FaultPlan::default()).unwrap();
        for liar in 0..4 {
            let at = network.lowest_height().get();
            let fault =
                network.misbehave(ReplicaId::new(liar), Behaviour::ForbiddenTransaction, Trigger::Always).unwrap();
            network.run_for(Duration::from_secs(30)).unwrap();
            network.end_fault(fault).unwrap();
            network.run_for(Duration::from_secs(20)).unwrap();
            assert!(network.lowest_height().get() > at + 3, "{kind:?}: {at}");
        }
        let total: u64 = network.replicas().iter().map(|replica| replica.counters().rejected).sum();
        assert!(total > 0, "{kind:?}: somebody was given such a block");
        for replica in network.replicas() {
            let chain = replica.chain();
            let sent = (1..=chain.head().height().get())
                .flat_map(|height| chain.block_at(Height::new(height)).unwrap().transactions().to_vec());
            assert!(sent.into_iter().all(|transaction| transaction.sender() != stranger), "{kind:?}");
        }
    }
}

#[test]
fn signers_change_the_gas_limit_of_their_chain() {
    let seed = SeedGuard::new(7);
    let mut network = network(ConsensusConfig::Poa(PoaConfig::default()), seed.get()).build().unwrap();
    let change = sol::Change { parameter: Parameter::GasLimit.code(), value: U256::from(2_000_000) };
    let proposal = sol::proposeParameterChangeCall { terms: terms(), changes: vec![change] };
    propose_and_vote(&mut network, seed.get(), &[1, 2], &proposal);
    let limits = |network: &Network| {
        let heads = network.replicas().iter().map(|replica| replica.chain().head().block().header().gas_limit);
        heads.collect::<Vec<_>>()
    };
    network.run_until(LONG, |network| limits(network) == [2_000_000; 5]).unwrap();
}

#[test]
fn a_committee_of_stake_removes_a_member_by_its_votes() {
    let seed = SeedGuard::new(8);
    let config = ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8));
    let mut network = network(config, seed.get()).with_staking(StakingParams::default()).build().unwrap();
    let gone = key(seed.get(), 4).address();
    let proposal = sol::proposeValidatorRemoveCall { terms: terms(), validator: gone };
    propose_and_vote(&mut network, seed.get(), &[0, 1, 2], &proposal);
    let is_member = |network: &Network, index: usize| {
        let AnyProtocol::Pbft(pbft) = network.replicas()[index].protocol() else { panic!("another protocol") };
        pbft.committee().validators().contains(&gone)
    };
    network.run_until(LONG, |network| (0..4).all(|index| !is_member(network, index))).unwrap();
    let goal = network.lowest_height().get() + 4;
    network
        .run_until(LONG, |network| (0..4).all(|index| network.replicas()[index].head().height.get() >= goal))
        .unwrap();
}

/// Validators add a candidate and remove one of theirs, by votes that weigh one each.
#[test]
fn validators_without_stake_vote_members_in_and_out() {
    let configs = [
        ConsensusConfig::Poa(PoaConfig::default()),
        ConsensusConfig::Raft(RaftConfig::default()),
        ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8)),
    ];
    for config in configs {
        let name = config.name();
        let seed = SeedGuard::new(9);
        let genesis = governed(seed.get()).with_validator_registry(ValidatorsConfig::new(GOVERNANCE_ADDRESS));
        let mut network = network_of(config, 5, seed.get()).with_genesis(genesis).with_candidates(1).build().unwrap();
        let [newcomer, gone] = [5, 4].map(|index| key(seed.get(), index).address());
        let has = |network: &Network, address| {
            network.replicas().iter().map(|replica| replica.validators().contains(&address)).collect::<Vec<_>>()
        };
        let add = sol::proposeValidatorAddCall { terms: terms(), validator: newcomer, weight: 1 };
        propose_and_vote(&mut network, seed.get(), &[1, 2], &add);
        network.run_until(LONG, |network| has(network, newcomer) == [true; 6]).unwrap();
        let chain = network.replicas()[0].chain();
        assert_eq!(chain.proposal(chain.head(), 1).unwrap().unwrap().total_weight, 5, "{name}");
        let remove = sol::proposeValidatorRemoveCall { terms: terms(), validator: gone };
        submit(&mut network, &key(seed.get(), 0), 1, &remove);
        let is_there = |network: &Network| {
            let chain = network.replicas()[0].chain();
            chain.proposal(chain.head(), 2).unwrap().is_some()
        };
        network.run_until(LONG, is_there).unwrap();
        for (voter, nonce) in [(1, 1), (2, 1), (3, 0)] {
            submit(&mut network, &key(seed.get(), voter), nonce, &sol::voteCall { id: U256::from(2), ..yes() });
        }
        network.run_until(LONG, |network| has(network, gone) == [false; 6]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let chain = network.replicas()[0].chain();
        assert_eq!(
            chain.proposal(chain.head(), 2).unwrap().unwrap().total_weight,
            6,
            "{name}: the newcomer votes, too"
        );
    }
}

/// What the contract refuses is a failure with its reason.
#[test]
fn a_removal_that_leaves_too_few_fails() {
    let seed = SeedGuard::new(10);
    let config = ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8));
    let section = ValidatorsConfig::new(GOVERNANCE_ADDRESS).with_validators_min(5);
    let genesis = governed(seed.get()).with_validator_registry(section);
    let mut network = network_of(config, 5, seed.get()).with_genesis(genesis).build().unwrap();
    let remove = sol::proposeValidatorRemoveCall { terms: terms(), validator: key(seed.get(), 4).address() };
    submit(&mut network, &key(seed.get(), 0), 0, &remove);
    network.run_until(LONG, |network| (0..5).all(|index| state(network, index).is_some())).unwrap();
    for voter in [1, 2] {
        submit(&mut network, &key(seed.get(), voter), 0, &yes());
    }
    network
        .run_until(LONG, |network| (0..5).all(|index| state(network, index) == Some(ProposalState::Failed)))
        .unwrap();
    let chain = network.replicas()[0].chain();
    let record = chain.proposal(chain.head(), 1).unwrap().unwrap();
    let want = registry::TooFewValidators { minimum: U256::from(5) }.abi_encode();
    assert_eq!(record.failure.unwrap().as_ref(), want);
}
