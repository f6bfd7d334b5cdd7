//! The life of validators on every protocol by one interface.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        AnyProtocol, ConsensusConfig, ConsensusKind, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig,
        pos::PosConfig, raft::RaftConfig,
    },
    primitives::{Address, Height, KeyPair, U256, ether},
    system::staking::{StakingParams, ValidatorRecord, ValidatorStatus},
};

const LONG: Duration = Duration::from_secs(1_000);

fn key(index: u32) -> KeyPair {
    NetworkBuilder::validator_key(1, index)
}

/// Four validators and a candidate with a key.
fn network(config: ConsensusConfig) -> NetworkBuilder {
    Network::builder().with_consensus(config).with_validators(4).with_candidates(1).with_seed(1)
}

fn staked() -> Vec<NetworkBuilder> {
    let params = StakingParams { unbonding_secs: 20, ..StakingParams::default() };
    let configs = [
        ConsensusConfig::Pbft(PbftConfig::default()),
        ConsensusConfig::Dpos(DposConfig::default()),
        ConsensusConfig::Pos(PosConfig::default().with_period(Duration::from_secs(2)).with_slots_per_epoch(4)),
    ];
    configs.map(|config| network(config).with_staking(params)).into()
}

fn record(network: &Network, address: Address) -> Option<ValidatorRecord> {
    network.validators().unwrap().into_iter().find(|record| record.address == address)
}

fn validates(network: &Network, address: Address) -> bool {
    record(network, address).is_some_and(|record| record.validates)
}

#[test]
fn with_stake_everything_is_a_transaction() {
    for builder in staked() {
        let mut network = builder.build().unwrap();
        let kind = network.config().name();
        network.run_to_height(Height::new(3)).unwrap();
        assert_eq!(network.validators().unwrap().len(), 4);
        let (own, newcomer) = (key(0).address(), key(4).address());
        let act = |network: &mut Network, actor: u32, action: ValidatorAction| {
            let submitted = network.validator_action(&key(actor), &action);
            assert!(matches!(submitted, Ok(Submitted::Transaction(_))), "{kind}: {submitted:?}");
        };
        act(&mut network, 4, ValidatorAction::Join { stake: ether(50), commission_bps: 700 });
        act(&mut network, 1, ValidatorAction::Delegate { validator: own, amount: ether(3) });
        act(&mut network, 0, ValidatorAction::Stake { amount: ether(2) });
        network.run_until(LONG, |network| validates(network, newcomer)).unwrap();
        let joined = record(&network, newcomer).unwrap();
        assert_eq!((joined.status, joined.weight), (ValidatorStatus::Bonded, 50_000_000_000));
        assert_eq!(joined.stake.unwrap().commission_bps, 700);
        let stake = record(&network, own).unwrap().stake.unwrap();
        assert_eq!((stake.tokens, stake.self_stake), (ether(37), ether(34)));

        act(&mut network, 1, ValidatorAction::Undelegate { validator: own, amount: U256::MAX });
        act(&mut network, 4, ValidatorAction::Exit);
        network.run_until(LONG, |network| !validates(network, newcomer)).unwrap();
        let status = record(&network, newcomer).unwrap().status;
        assert!(matches!(status, ValidatorStatus::Unbonding | ValidatorStatus::Unbonded), "{status:?}");
        network.run_for(Duration::from_secs(30)).unwrap();
        act(&mut network, 1, ValidatorAction::Withdraw);
        let height = network.lowest_height().get();
        network.run_to_height(Height::new(height + 3)).unwrap();
        assert!(network.primary().pool().is_empty());
    }
}

#[test]
fn the_contracts_refusal_comes_before_any_transaction() {
    for builder in staked() {
        let mut network = builder.build().unwrap();
        network.run_to_height(Height::new(2)).unwrap();
        for (actor, action, want) in [
            (4, ValidatorAction::Exit, "UnknownValidator"),
            (0, ValidatorAction::Unjail, "NotJailed"),
            (0, ValidatorAction::Join { stake: ether(1), commission_bps: 0 }, "AlreadyValidator"),
            (4, ValidatorAction::Join { stake: U256::from(1), commission_bps: 0 }, "SelfStakeTooLow"),
            (0, ValidatorAction::SetCommission { commission_bps: 10_001 }, "CommissionTooHigh"),
            (0, ValidatorAction::Withdraw, "NothingToWithdraw"),
        ] {
            let error = network.validator_action(&key(actor), &action).unwrap_err().to_string();
            assert!(error.contains(want) && error.contains(action.name()), "{error}");
        }
        assert!(network.primary().pool().is_empty());
    }
}

#[test]
fn poa_signers_change_by_votes() {
    let mut network = network(ConsensusConfig::Poa(PoaConfig::default())).build().unwrap();
    let newcomer = key(4);
    let join = ValidatorAction::Join { stake: U256::ZERO, commission_bps: 0 };
    let submitted = network.validator_action(&newcomer, &join).unwrap();
    assert!(matches!(&submitted, Submitted::Votes(voters) if voters.len() == 3), "{submitted:?}");
    network.run_until(LONG, |network| validates(network, newcomer.address())).unwrap();
    let built = |network: &Network| network.replicas()[4].counters().blocks_built;
    network.run_until(LONG, |network| built(network) > 0).unwrap();
    let again = network.validator_action(&newcomer, &join);
    assert!(matches!(again, Err(ValidatorActionError::NothingToDo { .. })), "{again:?}");
    network.validator_action(&newcomer, &ValidatorAction::Exit).unwrap();
    network.run_until(LONG, |network| !validates(network, newcomer.address())).unwrap();
    assert_eq!(network.validators().unwrap().len(), 4);
}

#[test]
fn raft_members_change_by_the_leader() {
    let mut network = network(ConsensusConfig::Raft(RaftConfig::default())).build().unwrap();
    let newcomer = key(4);
    let join = ValidatorAction::Join { stake: U256::ZERO, commission_bps: 0 };
    let early = network.validator_action(&newcomer, &join);
    assert!(matches!(early, Err(ValidatorActionError::NoLeader)), "{early:?}");
    network.run_to_height(Height::new(2)).unwrap();
    let stranger = network.validator_action(&KeyPair::from_seed(7, "nobody"), &join);
    assert!(matches!(stranger, Err(ValidatorActionError::NoReplica { .. })), "{stranger:?}");
    assert!(matches!(network.validator_action(&newcomer, &join), Ok(Submitted::Members(_))));
    network.run_until(LONG, |network| validates(network, newcomer.address())).unwrap();
    assert_eq!(network.validators().unwrap().len(), 5);
    network.run_until(LONG, settled).unwrap();
    network.validator_action(&newcomer, &ValidatorAction::Exit).unwrap();
    network.run_until(LONG, |network| !validates(network, newcomer.address())).unwrap();
}

/// Returns whether the leader has committed its whole log.
fn settled(network: &Network) -> bool {
    network.replicas().iter().any(|replica| match replica.protocol() {
        AnyProtocol::Raft(raft) => raft.is_leader() && raft.committed_index() == raft.last_index(),
        _ => false,
    })
}

#[test]
fn an_unsupported_action_names_protocol_and_action() {
    let plain_pbft = ConsensusConfig::Pbft(PbftConfig::default());
    let configs =
        [ConsensusConfig::Poa(PoaConfig::default()), ConsensusConfig::Raft(RaftConfig::default()), plain_pbft.clone()];
    let actions = [
        ValidatorAction::Join { stake: ether(1), commission_bps: 0 },
        ValidatorAction::Join { stake: U256::ZERO, commission_bps: 5 },
        ValidatorAction::Stake { amount: ether(1) },
        ValidatorAction::Unstake { amount: ether(1) },
        ValidatorAction::Delegate { validator: key(0).address(), amount: ether(1) },
        ValidatorAction::Undelegate { validator: key(0).address(), amount: ether(1) },
        ValidatorAction::Withdraw,
        ValidatorAction::ClaimRewards { validator: key(0).address() },
        ValidatorAction::ClaimCommission,
        ValidatorAction::SetCommission { commission_bps: 1 },
        ValidatorAction::Unjail,
    ];
    for config in configs {
        let mut network = network(config).build().unwrap();
        network.run_to_height(Height::new(2)).unwrap();
        let before = network.digest();
        for action in &actions {
            let error = network.validator_action(&key(0), action).unwrap_err();
            let ValidatorActionError::Unsupported { protocol, action: name, .. } = &error else { panic!("{error}") };
            assert_eq!((*protocol, *name), (network.config().name(), action.name()));
        }
        assert_eq!(network.digest(), before);
        assert!(network.validators().unwrap().iter().all(|record| record.validates && record.stake.is_none()));
    }
    let mut network = network(plain_pbft).build().unwrap();
    let join = ValidatorAction::Join { stake: U256::ZERO, commission_bps: 0 };
    let error = network.validator_action(&key(4), &join).unwrap_err();
    let protocol = ConsensusKind::Pbft.name();
    assert!(matches!(&error, ValidatorActionError::Unsupported { protocol: got, .. } if *got == protocol), "{error}");
    assert!(error.to_string().contains("staking"), "{error}");
}
