//! A network under faults: a partition, a plan with more Byzantine replicas than PBFT tolerates, and a campaign of random plans.

use core::time::Duration;

use chainbox::{
    consensus::{ConsensusConfig, PbftConfig, ReplicaId},
    primitives::Height,
    sim::{Campaign, CampaignSetup, FaultKind, FaultPlan, Network, NetworkError, invariant},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pbft = ConsensusConfig::Pbft(PbftConfig::default());
    let [a, b, c, d] = [0, 1, 2, 3].map(ReplicaId::new);

    // Two of four replicas on each side of a partition are no quorum: no block commits until it heals.
    let mut network = Network::builder().with_consensus(pbft.clone()).with_validators(4).with_seed(7).build()?;
    network.run_to_height(Height::new(3))?;
    let cut = network.partition(&[&[a, b], &[c, d]])?;
    let before = network.lowest_height();
    network.run_for(Duration::from_secs(60))?;
    assert!(network.lowest_height().get() <= before.get() + 1);
    network.end_fault(cut)?;
    network.run_until(Duration::from_secs(600), |network| network.lowest_height().get() > before.get() + 3)?;
    println!("partitioned in halves, no block committed; healed, all replicas are at {}", network.lowest_height());

    // A plan with f + 1 = 2 Byzantine replicas of 4, one more than PBFT tolerates; the generic invariants are checked on every
    // event. Each of their keys runs in two replicas: one pair of twins in a group with `c`, the other with `d`.
    let twins = |replica, other| FaultKind::Twins { replica, group: vec![other, c] };
    let plan = FaultPlan::default().with_lasting(Duration::ZERO, twins(a, b)).with_lasting(Duration::ZERO, twins(b, a));
    let broken = (0..50).find_map(|seed| {
        let network = Network::builder().with_consensus(pbft.clone()).with_validators(4).with_seed(seed);
        let network = network.with_faults(plan.clone()).with_invariants(invariant::generic());
        match network.build().and_then(|mut network| network.run_for(Duration::from_secs(60))) {
            Err(NetworkError::Violated(violation)) => Some((seed, violation)),
            _ => None,
        }
    });
    let (seed, violation) = broken.expect("two Byzantine replicas of four split the other two");
    println!("seed {seed}: {violation}");
    assert_eq!(violation.invariant, "agreement");

    // Random plans within the faults that the protocol tolerates violate no invariant.
    let campaign = Campaign::new(CampaignSetup::of(pbft), 0..50);
    assert!(campaign.first_failure().is_none());
    println!("fifty random plans of tolerated faults violated no invariant");
    Ok(())
}
