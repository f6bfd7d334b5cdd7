//! Light verifiers of all protocols through changes of the validators, with real seals.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        Authenticator, ConsensusConfig, Protocol, SealScheme, SealedHeader, StakeUse, dpos::DposConfig,
        pbft::PbftConfig, poa::PoaConfig, pos::PosConfig, raft::RaftConfig,
    },
    primitives::{Address, Height, KeyPair, U256, ether},
    system::staking::StakingParams,
};

const LONG: Duration = Duration::from_secs(2_000);
const BLOCKS_MIN: u64 = 40;

fn key(index: u32) -> KeyPair {
    NetworkBuilder::validator_key(1, index)
}

/// Four validators and a candidate with a key.
fn networks() -> impl Iterator<Item = Network> {
    let configs = [
        ConsensusConfig::Poa(PoaConfig::default()),
        ConsensusConfig::Raft(RaftConfig::default()),
        ConsensusConfig::Pbft(PbftConfig::default()),
        ConsensusConfig::Dpos(DposConfig::default()),
        ConsensusConfig::Pos(PosConfig::default().with_slots_per_epoch(4)),
    ];
    configs.into_iter().map(|config| {
        let has_stake = config.info().stake_use != StakeUse::Never;
        let builder = Network::builder().with_consensus(config).with_validators(4).with_candidates(1).with_seed(1);
        let builder = if has_stake { builder.with_staking(StakingParams::default()) } else { builder };
        builder.with_seals(SealScheme::Secp256k1).build().unwrap()
    })
}

/// Returns whether every validator has the expected validator set.
fn validates(network: &Network, address: Address, wanted: bool) -> bool {
    network.replicas()[..4].iter().all(|replica| replica.protocol().validators().contains(&address) == wanted)
}

fn act(network: &mut Network, actor: &KeyPair, action: &ValidatorAction) {
    // Raft changes its members one change at a time: the next one may have to wait.
    for tries_left in (0..20).rev() {
        match network.validator_action(actor, action) {
            Ok(_) => return,
            Err(ValidatorActionError::NoLeader) if tries_left > 0 => {}
            Err(error) => panic!("{error}"),
        }
        network.run_for(Duration::from_secs(1)).unwrap();
    }
    panic!("{} is refused permanently", action.name());
}

#[test]
fn headers_are_followed_through_joining_and_leaving() {
    for mut network in networks() {
        let name = network.config().name();
        network.run_to_height(Height::new(3)).unwrap();
        let (newcomer, leaver) = (key(4), key(1));
        let has_stake = network.config().info().stake_use != StakeUse::Never;
        let stake = if has_stake { ether(50) } else { U256::ZERO };
        act(&mut network, &newcomer, &ValidatorAction::Join { stake, commission_bps: 0 });
        network.run_until(LONG, |network| validates(network, newcomer.address(), true)).unwrap();
        act(&mut network, &leaver, &ValidatorAction::Exit);
        let left = |network: &Network| !network.replicas()[0].protocol().validators().contains(&leaver.address());
        network.run_until(LONG, left).unwrap();
        let height = (network.replicas()[0].head().height.get() + 20).max(BLOCKS_MIN);
        let high = |network: &Network| network.replicas()[0].head().height.get() >= height;
        network.run_until(LONG, high).unwrap();
        let replica = &network.replicas()[0];
        let (chain, validators) = (replica.chain(), network.genesis_validators().clone());
        let genesis = chain.genesis().block().header();
        let mut light = network.config().light_verifier(genesis, validators, Authenticator::secp256k1()).unwrap();

        let mut sets = Vec::new();
        for height in 1..=replica.head().height.get() {
            let next = SealedHeader::from(chain.block_at(Height::new(height)).unwrap().block().as_ref());
            for forged in forgeries(&next) {
                let before = (light.head(), light.finalized(), light.validators());
                assert!(light.follow(&forged).is_err(), "{name}: {forged:?}");
                assert_eq!((light.head(), light.finalized(), light.validators()), before);
            }
            light.follow(&next).unwrap_or_else(|error| panic!("{name}, height {height}: {error}"));
            if sets.last() != Some(&light.validators()) {
                sets.push(light.validators());
            }
        }
        assert_eq!((light.head(), light.validators()), (replica.head(), replica.protocol().validators()), "{name}");
        assert_eq!(light.finalized(), replica.protocol().finality().finalized, "{name}");
        let newest = light.validators();
        assert!(newest.contains(&newcomer.address()) && !newest.contains(&leaver.address()), "{name}");
        assert!(sets.len() >= 3, "{name}: {} sets", sets.len());
    }
}

/// Returns the header with a change that invalidates its seal.
fn forgeries(header: &SealedHeader) -> Vec<SealedHeader> {
    let mut forged = Vec::new();
    let mut gas = header.clone();
    gas.header.gas_limit += 1;
    forged.push(gas);
    if !header.payload.is_empty() {
        let mut bytes = header.payload.to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        let payload = crate::primitives::Bytes::from(bytes);
        forged.push(SealedHeader { payload: payload.clone(), ..header.clone() });
        let mut committed = SealedHeader { payload, ..header.clone() };
        committed.header.extra_data = crate::chain::Block::extra_data_of(&committed.payload).unwrap();
        forged.push(committed);
    }
    let mut seal = header.seal.to_vec();
    if let Some(byte) = seal.get_mut(3) {
        *byte ^= 1;
    }
    forged.push(SealedHeader { seal: seal.into(), ..header.clone() });
    forged
}
