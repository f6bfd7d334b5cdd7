//! A network under faults: cut by hand, then by a plan, then by as many random plans as one likes; and what it takes to break it.

use core::time::Duration;

use chainbox::{
    consensus::{ConsensusConfig, PbftConfig, ReplicaId},
    sim::{Campaign, CampaignSetup, FaultKind, FaultPlan, Network, NetworkError, invariant},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pbft = ConsensusConfig::Pbft(PbftConfig::default());
    let [a, b, c, d] = [0, 1, 2, 3].map(ReplicaId::new);

    // By hand: two of four on each side of a cut are no quorum, so nothing is agreed on until it heals.
    let mut network = Network::builder().with_consensus(pbft.clone()).with_validators(4).with_seed(7).build()?;
    network.run_to_height(3)?;
    let cut = network.partition(&[&[a, b], &[c, d]])?;
    let before = network.lowest_height();
    network.run_for(Duration::from_secs(60))?;
    assert!(network.lowest_height().get() <= before.get() + 1);
    network.end_fault(cut)?;
    network.run_until(Duration::from_secs(600), |network| network.lowest_height().get() > before.get() + 3)?;
    println!("cut in halves nothing moved; healed, all are at {}", network.lowest_height());

    // By a plan, with what holds of every protocol checked on every event: f + 1 = 2 of 4 lie, one more than PBFT bears.
    // Their keys run on two machines each: one pair of twins with `c`, the other with `d`.
    let twins = |replica, other| FaultKind::Twins { replica, group: vec![other, c] };
    let plan = FaultPlan::default().with_lasting(0, twins(a, b)).with_lasting(0, twins(b, a));
    let broken = (0..50).find_map(|seed| {
        let network = Network::builder().with_consensus(pbft.clone()).with_validators(4).with_seed(seed);
        let network = network.with_faults(plan.clone()).with_invariants(invariant::generic());
        match network.build().and_then(|mut network| network.run_for(Duration::from_secs(60))) {
            Err(NetworkError::Violated(violation)) => Some((seed, violation)),
            _ => None,
        }
    });
    let (seed, violation) = broken.expect("two liars of four part the other two");
    println!("seed {seed}: {violation}");
    assert_eq!(violation.invariant, "agreement");

    // By chance: what a protocol promises to bear, it bears in every one of these runs.
    let campaign = Campaign::new(CampaignSetup::of(pbft), 0..50);
    assert!(campaign.first_failure().is_none());
    println!("fifty random plans within the protocol's promises broke nothing");
    Ok(())
}
