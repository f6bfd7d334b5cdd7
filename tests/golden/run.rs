//! One run that covers every deterministic part: four validators, seeded latency, transfers, twenty blocks.

use core::time::Duration;
use std::sync::Arc;

use chainbox::{
    chain::GenesisSpec,
    consensus::{ConsensusConfig, PoaConfig, ReplicaId},
    primitives::{Address, B256, Gas, Height, KeyPair, Transaction, TransactionRequest, U256, b256, ether},
    sim::{Latency, Network, NetworkBuilder, NetworkError},
};

/// Digest of the run. A change of it changes the result of every seed: a decision, never an accident.
pub(crate) const DIGEST: B256 = b256!("3c7281bcc4f5880de8e730a573699e06fe468c153262a652ed77956e77120d7e");

/// The network's builder, for options that must not change the digest.
pub(crate) fn builder() -> NetworkBuilder {
    Network::builder()
        .with_genesis(GenesisSpec::new(1_337).with_balance(alice().address(), ether(1_000)))
        .with_consensus(ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(7))))
        .with_validators(4)
        .with_seed(2_026)
        .with_latency(Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(80) })
}

/// Runs twenty blocks, and submits a transfer to another replica every four.
pub(crate) fn run(builder: NetworkBuilder) -> Result<Network, NetworkError> {
    let mut network = builder.build()?;
    for nonce in 0..5_u8 {
        let transaction = transfer(nonce.into());
        network.submit(Arc::new(transaction), ReplicaId::new(u32::from(nonce) % 4))?;
        network.run_to_height(Height::new(4 * (u64::from(nonce) + 1)))?;
    }
    Ok(network)
}

/// Alice's transfer of 1 with this nonce.
pub(crate) fn transfer(nonce: u64) -> Transaction {
    let request = TransactionRequest {
        chain_id: Some(1_337),
        nonce,
        to: Some(Address::repeat_byte(0xbb)),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    request.sign(&alice()).expect("every field of the request is set")
}

/// The sender of the transfers, funded in genesis.
pub(crate) fn alice() -> KeyPair {
    KeyPair::from_seed(99, "alice")
}
