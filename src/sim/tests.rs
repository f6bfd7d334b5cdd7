//! Tests of whole networks, and what they share.

mod coverage;
mod dpos;
mod dpos_campaign;
mod dropping;
mod durable;
mod every_protocol;
mod faults;
mod governance;
mod history;
mod leavers;
mod light;
mod locked;
mod long_profile;
mod mutations;
mod pacing;
mod pacing_stopped;
mod parameters;
mod pbft;
mod pbft_absences;
mod pbft_censorship;
mod pbft_stake;
mod poa;
mod poa_campaign;
mod pos;
mod pos_rewards;
mod properties;
mod raft;
mod registry;
mod rotation;
mod slot_lengths;
mod stopped;
mod two_chains;
mod validator_life;
mod validators;
mod wiped;
mod witnesses;

use core::time::Duration;
use std::sync::Arc;

use super::*;
use crate::{
    chain::GenesisSpec,
    consensus::{ConsensusConfig, ReplicaId},
    primitives::{Address, Gas, Height, KeyPair, Transaction, TransactionRequest, U256, ether},
};

/// Validators with links between 5 and 80 ms, and money for Alice.
fn network_of(consensus: ConsensusConfig, validators: u32, seed: u64) -> NetworkBuilder {
    Network::builder()
        .with_genesis(GenesisSpec::new(1_337).with_balance(alice().address(), ether(1_000)))
        .with_consensus(consensus)
        .with_validators(validators)
        .with_seed(seed)
        .with_latency(Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(80) })
}

fn alice() -> KeyPair {
    KeyPair::from_seed(99, "alice")
}

/// Alice gives 1 to `0xbb…`.
fn transfer(nonce: u64) -> Arc<Transaction> {
    let request = TransactionRequest {
        chain_id: Some(1_337),
        nonce,
        to: Some(Address::repeat_byte(0xbb)),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    Arc::new(request.sign(&alice()).unwrap())
}

/// The same network fifteen blocks or more later, with five transfers given to one replica after the other.
fn with_transfers(mut network: Network) -> Network {
    let count = network.replicas().len() as u64;
    for nonce in 0..5 {
        network.submit(transfer(nonce), ReplicaId::new((nonce % count) as u32)).unwrap();
        network.run_to_height(Height::new(3 * (nonce + 1))).unwrap();
    }
    network
}

/// A network of `count` replicas in which everything that `silent` says is delayed beyond the test.
fn silenced(mut builder: NetworkBuilder, silent: &[u32], count: u32) -> Network {
    let never = Latency::Constant(Duration::from_secs(1_000_000));
    for from in silent {
        for to in (0..count).filter(|to| to != from) {
            builder = builder.with_link_latency(ReplicaId::new(*from), ReplicaId::new(to), never);
        }
    }
    builder.build().unwrap()
}

/// How often a replica passed a coverage mark.
fn mark(replica: &Replica, name: &str) -> u64 {
    replica.marks().filter(|(mark, _)| *mark == name).map(|(_, count)| count).sum()
}
