//! A primary of PBFT that makes blocks in time and omits one client's transaction.

use super::*;
use crate::{
    consensus::{
        AnyProtocol, PbftConfig,
        mutation::{self, Mutation},
    },
    primitives::B256,
    sim::faults::plan::{Behaviour, Trigger},
};

/// A transfer to `0xcc…` with this tip.
fn offer(from: &KeyPair, nonce: u64, tip: u128) -> Arc<Transaction> {
    let request = TransactionRequest {
        chain_id: Some(1_337),
        nonce,
        to: Some(Address::repeat_byte(0xcc)),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: tip,
        ..Default::default()
    };
    Arc::new(request.sign(from).unwrap())
}

/// The result of [`censored`].
struct Censored {
    network: Network,
    transaction: B256,
    primary: ReplicaId,
}

impl Censored {
    fn is_included(&self) -> bool {
        let replica = self.network.replicas().iter().find(|replica| replica.id() != self.primary).unwrap();
        replica.chain().transaction(self.transaction).is_ok_and(|found| found.is_some())
    }

    /// The most views that an honest replica has left.
    fn views(&self) -> u64 {
        let honest = self.network.replicas().iter().filter(|replica| replica.id() != self.primary);
        honest.map(|replica| replica.protocol().round()).max().unwrap()
    }
}

/// The first primary censors Alice, whose one transaction is never the first in the pool: Bob offers more in every block. Runs for 90
/// seconds; `to` are the replicas that Alice gives it to.
fn censored(seed: u64, censors: bool) -> Censored {
    let bob = KeyPair::from_seed(98, "bob");
    let genesis =
        GenesisSpec::new(1_337).with_balance(alice().address(), ether(1_000)).with_balance(bob.address(), ether(1_000));
    let config = ConsensusConfig::Pbft(PbftConfig::default());
    let mut network = network_of(config, 4, seed).with_genesis(genesis).build().unwrap();
    let AnyProtocol::Pbft(pbft) = network.primary().protocol() else { panic!("not pbft") };
    let leader = pbft.primary();
    let primary = network.replicas().iter().find(|replica| replica.address() == Some(leader)).unwrap().id();
    if censors {
        let senders = vec![alice().address()];
        network.misbehave(primary, Behaviour::Censor { senders }, Trigger::Always).unwrap();
    }
    let honest = ReplicaId::new((primary.get() + 1) % 4);
    let transaction = offer(&alice(), 0, 1);
    network.submit(transaction.clone(), honest).unwrap();
    for nonce in 0..900 {
        network.submit(offer(&bob, nonce, 1_000_000_000), honest).unwrap();
        network.run_for(Duration::from_millis(100)).unwrap();
    }
    Censored { network, transaction: transaction.hash(), primary }
}

#[test]
fn a_primary_that_censors_a_transaction_that_is_never_first_is_replaced() {
    for seed in [3, 4] {
        let outcome = censored(seed, true);
        assert!(outcome.is_included() && outcome.views() == 1, "{} views", outcome.views());
        assert_eq!(outcome.network.replicas().iter().map(|replica| mark(replica, "pbft/timeout")).sum::<u64>(), 0);
        let passed = |name: &str| outcome.network.replicas().iter().any(|replica| mark(replica, name) > 0);
        assert!(passed("pbft/overdue") && passed("pbft/suspected"));
        assert!(outcome.network.lowest_height().get() > 60, "{}", outcome.network.lowest_height());
    }
    let outcome = mutation::with(Mutation::PbftWatchesFirstTransaction, || censored(3, true));
    assert!(!outcome.is_included() && outcome.views() == 0, "it is censored for ever");
}

#[test]
fn nobody_is_suspected_for_a_transaction_that_can_not_be_included() {
    let outcome = censored(5, false);
    assert!(outcome.is_included());
    let mut network = outcome.network;
    // A nonce is missing before the first, and the second pays less than the base fee.
    let poor = TransactionRequest {
        chain_id: Some(1_337),
        nonce: 1,
        to: Some(Address::ZERO),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 1,
        ..Default::default()
    };
    network.submit(transfer(7), ReplicaId::new(1)).unwrap();
    let _ = network.submit(Arc::new(poor.sign(&alice()).unwrap()), ReplicaId::new(1));
    network.run_for(Duration::from_secs(60)).unwrap();
    assert!(network.replicas().iter().all(|replica| mark(replica, "pbft/overdue") == 0));
    assert!(!network.primary().pool().is_empty());
}
