//! Slashing of validators that left, in whole networks of PBFT and of delegated proof of stake. Proof of stake's is in `pos.rs`.

use super::*;
use crate::{
    chain::{Block, BlockAttributes},
    consensus::{
        BlockId, ConsensusKind, ConsensusMessage, Protocol, Purpose,
        dpos::DposConfig,
        pbft::{Body, DoubleSigning, PbftMessage, Phase, View},
    },
    primitives::B256,
    system::staking::{StakingParams, ValidatorRecord, ValidatorStatus},
};

/// Place of the validator that misbehaves and leaves.
const LIAR: u32 = 4;
const SEED: u64 = 5;

/// Five validators whose stake is locked for so long after they left.
fn network(consensus: ConsensusConfig, unbonding_secs: u64) -> Network {
    let params = StakingParams { unbonding_secs, evidence_max_age_blocks: 10, ..StakingParams::default() };
    network_of(consensus, 5, SEED).with_staking(params).build().unwrap()
}

fn liar() -> KeyPair {
    NetworkBuilder::validator_key(SEED, LIAR)
}

fn record(network: &Network) -> ValidatorRecord {
    let records = network.validators().unwrap();
    records.into_iter().find(|record| record.address == liar().address()).unwrap()
}

/// Lets the liar leave, until all other replicas have a set without it.
fn leave(network: &mut Network) {
    let key = liar();
    network.validator_action(&key, &ValidatorAction::Exit).unwrap();
    let is_out = |network: &Network| {
        let mut others = network.replicas().iter().filter(|replica| replica.id() != ReplicaId::new(LIAR));
        others.all(|replica| !replica.validators().contains(&key.address()))
    };
    network.run_until(Duration::from_secs(120), is_out).unwrap();
}

fn assert_slashed(record: &ValidatorRecord, is_slashed: bool, name: &str) {
    let (status, tokens) = (record.status, record.stake.as_ref().unwrap().tokens);
    assert_eq!(status == ValidatorStatus::Tombstoned, is_slashed, "{name}: {status:?}");
    assert_eq!(tokens < ether(32), is_slashed, "{name}: {tokens}");
}

/// Returns the record of a validator of PBFT that signed two commits while it was a member. They are shown then, or so long after it left.
fn double_signer_shown(after_leaving: Option<Duration>) -> ValidatorRecord {
    let mut network = network(default_sim_config(ConsensusKind::Pbft), 100);
    network.run_to_height(Height::new(6)).unwrap();
    let (height, view) = (Height::new(6), View::default());
    let [liar, reporter] =
        [LIAR, 0].map(|index| network.authenticator().signer(&NetworkBuilder::validator_key(SEED, index)));
    let signed = |byte| {
        let block = BlockId { height, hash: B256::repeat_byte(byte) };
        (block.hash, PbftMessage::signed(Body::Commit { view, block }, &liar).signature)
    };
    let proof = DoubleSigning::new(Phase::Commit, view, height, signed(1), signed(2));
    if let Some(wait) = after_leaving {
        leave(&mut network);
        network.run_for(wait).unwrap();
    }
    let message = ConsensusMessage::Pbft(Arc::new(PbftMessage::signed(Body::Evidence(proof), &reporter)));
    for to in 1..4 {
        network.inject(ReplicaId::new(0), ReplicaId::new(to), message.clone()).unwrap();
    }
    network.run_for(Duration::from_secs(16)).unwrap();
    record(&network)
}

#[test]
fn the_contract_slashes_who_left_the_committee_until_its_stake_is_withdrawable() {
    for (name, after_leaving, is_slashed) in [
        ("while it is a member", None, true),
        ("after it left", Some(24), true),
        ("after its stake is free", Some(140), false),
    ] {
        assert_slashed(&double_signer_shown(after_leaving.map(Duration::from_secs)), is_slashed, name);
    }
}

/// Sends all others a second block of the slot of the liar's newest one, which none of them can take for irreversible yet.
fn show_twin(network: &mut Network) {
    let (chain, author) = (network.primary().chain(), liar().address());
    let mut newest = chain.head().block().clone();
    while newest.header().beneficiary != author {
        newest = chain.block(newest.parent_hash()).unwrap().block().clone();
    }
    assert!(newest.height() > network.primary().protocol().finality().irreversible, "{}", newest.height());
    let header = newest.header();
    let attributes = BlockAttributes {
        timestamp: newest.timestamp(),
        beneficiary: header.beneficiary,
        difficulty: header.difficulty,
        mix_hash: header.mix_hash,
        nonce: header.nonce,
        payload: newest.protocol_payload().clone(),
        gas_limit: Some(Gas::new(header.gas_limit - 1)),
        ..BlockAttributes::default()
    };
    let twin = chain.build(header.parent_hash, &attributes, &mut Vec::new().into_iter()).unwrap().block;
    assert_ne!(twin.hash(), newest.hash());
    let seal = network.authenticator().signer(&liar()).sign(Purpose::Block, twin.hash());
    let twin: Arc<Block> = Arc::new(twin.with_seal(seal));
    for to in (0..LIAR).map(ReplicaId::new) {
        network.inject(ReplicaId::new(LIAR), to, ConsensusMessage::Block(twin.clone())).unwrap();
    }
}

/// Returns the record of a producer that made two blocks in one slot, and the second is shown while it produces, or once it has left and its
/// stake is locked for so long after that.
fn double_producer_shown(leaves: bool, unbonding_secs: u64) -> ValidatorRecord {
    let mut network = network(ConsensusConfig::Dpos(DposConfig::default()), unbonding_secs);
    network.run_to_height(Height::new(20)).unwrap();
    if leaves {
        leave(&mut network);
    }
    show_twin(&mut network);
    network.run_for(Duration::from_secs(16)).unwrap();
    let evidence = network.replicas()[..LIAR as usize].iter().map(|replica| replica.evidence().count());
    assert_eq!(evidence.collect::<Vec<_>>(), [1; LIAR as usize], "all have both");
    record(&network)
}

#[test]
fn the_contract_slashes_who_left_the_schedule_until_its_stake_is_withdrawable() {
    for (name, leaves, unbonding_secs, is_slashed) in [
        ("while it produces", false, 100, true),
        ("after it left", true, 100, true),
        ("after its stake is free", true, 1, false),
    ] {
        let record = double_producer_shown(leaves, unbonding_secs);
        // The schedule's former producers are known for as long as evidence counts: they don't come back.
        assert_eq!(record.status, ValidatorStatus::Tombstoned, "{name}");
        assert_eq!(record.stake.as_ref().unwrap().tokens < ether(32), is_slashed, "{name}");
    }
}
