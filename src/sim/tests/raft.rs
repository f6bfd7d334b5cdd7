//! Whole networks of Raft: agreement, blocks on demand, determinism, change of leader and members.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        Admin, AnyProtocol, Authenticator, ConsensusConfig, FinalityKind, Protocol, ReplicaId, SealScheme,
        SealedHeader,
        raft::{Assignment, Change, LightVerifier, Membership, Raft, RaftConfig, Role},
    },
    primitives::{Address, Height},
};

fn network(validators: u32, seed: u64) -> NetworkBuilder {
    network_of(ConsensusConfig::Raft(RaftConfig::default()), validators, seed)
}

fn on_demand(validators: u32) -> NetworkBuilder {
    network(validators, 3)
        .with_consensus(ConsensusConfig::Raft(RaftConfig::default().with_period(Duration::ZERO)))
        .with_production(Production::OnDemand)
}

fn raft(network: &Network, replica: u32) -> &Raft {
    match network.replicas()[replica as usize].protocol() {
        AnyProtocol::Raft(raft) => raft,
        other => panic!("not raft: {other:?}"),
    }
}

fn leader(network: &Network) -> ReplicaId {
    let leads = |replica: &&Replica| raft(network, replica.id().get()).is_leader();
    network.replicas().iter().find(leads).expect("a leader").id()
}

#[test]
fn any_number_of_replicas_agree_and_head_is_final() {
    for validators in [1, 3, 5, 7] {
        let _guard = SeedGuard::new(u64::from(validators));
        let mut network = network(validators, u64::from(validators)).with_observers(1).build().unwrap();
        for nonce in 0..3 {
            network.submit(transfer(nonce), ReplicaId::new((nonce % u64::from(validators)) as u32)).unwrap();
            network.run_to_height(Height::new(4 * (nonce + 1))).unwrap();
        }
        let lowest = network.lowest_height();
        for replica in network.replicas() {
            let finality = replica.protocol().finality();
            assert_eq!((finality.finalized, finality.safe), (replica.head(), replica.head()));
            assert_eq!(finality.kind, FinalityKind::LogCommit);
            assert_eq!(replica.counters().reorgs, 0);
            let common = replica.chain().block_at(lowest).unwrap().hash();
            assert_eq!(common, network.primary().chain().block_at(lowest).unwrap().hash());
            assert_eq!(replica.chain().head().block().hash(), replica.head().hash);
        }
        let sent: usize = (1..=lowest.get())
            .map(|n| network.primary().chain().block_at(Height::new(n)).unwrap().block().transactions().len())
            .sum();
        assert_eq!(sent, 3);
    }
}

#[test]
fn an_invalid_command_is_refused_and_the_next_one_works() {
    let mut network = on_demand(3).build().unwrap();
    network.produce_block(&BlockOrder::default()).unwrap();
    let early = BlockOrder::new().with_timestamp(crate::primitives::Timestamp::from_secs(0));
    let time = network.primary().chain().head().block().timestamp().as_secs();
    if time > 0 {
        assert!(matches!(network.produce_block(&early), Err(NetworkError::TooEarly { .. })));
    }
    assert_eq!(network.produce_block(&BlockOrder::default()).unwrap().block.block().height(), Height::new(2));
}

#[test]
fn leadership_is_transferred_and_members_change() {
    let mut network = network(4, 11).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    let first = leader(&network);
    let to = ReplicaId::new((first.get() + 1) % 4);
    assert!(matches!(network.admin(Admin::TransferLeader { to: first }, first), Err(NetworkError::Refused(_))));
    network.admin(Admin::TransferLeader { to }, first).unwrap();
    network.run_until(Duration::from_secs(5), |network| raft(network, to.get()).is_leader()).unwrap();

    // The new leader and one more are removed together, by a joint configuration.
    let leave = [to.get(), (to.get() + 1) % 4].map(|replica| Assignment {
        replica: ReplicaId::new(replica),
        address: Address::ZERO,
        role: Role::Removed,
    });
    let change = Change::EnterJoint { assignments: leave.to_vec(), auto_leave: true };
    let remaining = (to.get() + 2) % 4;
    network
        .run_until(Duration::from_secs(5), |network| {
            let raft = raft(network, to.get());
            raft.committed_index() == raft.last_index() && raft.head_context().term == raft.term()
        })
        .unwrap();
    network.admin(Admin::ChangeMembers(change), to).unwrap();
    network
        .run_until(Duration::from_secs(20), |network| {
            let members = raft(network, remaining).membership();
            !members.is_joint() && members.incoming().len() == 2 && !raft(network, to.get()).is_leader()
        })
        .unwrap();
    let height = network.replicas()[remaining as usize].head().height;
    let goal = Height::new(height.get() + 5);
    network
        .run_until(Duration::from_secs(60), |network| network.replicas()[remaining as usize].head().height >= goal)
        .unwrap();
    assert_eq!(network.replicas()[remaining as usize].protocol().validators().len(), 2);
}

#[test]
fn headers_are_followed_from_genesis_by_real_seals() {
    let mut network = network(3, 5).with_seals(SealScheme::Secp256k1).build().unwrap();
    network.run_to_height(Height::new(5)).unwrap();
    let chain = network.primary().chain();
    let ConsensusConfig::Raft(config) = network.config().clone() else { unreachable!() };
    let members = (0..).map(ReplicaId::new).zip(config.roster.iter().copied());
    let members = Membership::new(members, []);
    let mut light = LightVerifier::new(config, chain.genesis().block().header(), members, Authenticator::secp256k1());
    for number in 1..=5 {
        let block = chain.block_at(Height::new(number)).unwrap();
        let mut forged = SealedHeader::from(block.block().as_ref());
        forged.header.gas_limit += 1;
        assert!(light.follow(&forged).is_err());
        light.follow(&SealedHeader::from(block.block().as_ref())).unwrap();
    }
    assert_eq!(light.head().hash, chain.block_at(Height::new(5)).unwrap().hash());
}

#[test]
fn a_period_of_zero_needs_blocks_on_demand() {
    let config = ConsensusConfig::Raft(RaftConfig::default().with_period(Duration::ZERO));
    let built = Network::builder().with_consensus(config).build();
    assert!(matches!(built, Err(NetworkError::Options { .. })));
    let timing = ConsensusConfig::Raft(
        RaftConfig::default()
            .with_election_timeout(Duration::from_millis(100))
            .with_heartbeat(Duration::from_millis(100)),
    );
    assert!(Network::builder().with_consensus(timing).build().is_err());
}
