//! A consensus protocol of one's own in the simulator: under planned faults, drawn as a picture, replayed from its trace, and in a campaign
//! of random faults. The protocol is in `own_protocol/two_phase.rs`; `docs/own-protocol.md` explains the steps.

#[path = "own_protocol/two_phase.rs"]
mod two_phase;

use core::time::Duration;

use chainbox::{
    consensus::ReplicaId,
    primitives::Height,
    sim::{
        Campaign, CampaignSetup, FaultKind, FaultPlan, LinkEffect, LinkFault, Network, invariant, shrink, trace::Replay,
    },
};
use two_phase::{certified_once, two_phase};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Four replicas. A leader crashes, then half of all votes are lost for four seconds.
    let loss = LinkEffect::Loss { per_mille: 500 };
    let lost_votes = LinkFault { from: vec![], to: vec![], labels: vec!["vote".to_owned()], effect: loss };
    let plan = FaultPlan::default()
        .with(Duration::from_secs(3), Duration::from_secs(4), FaultKind::Crash { replica: ReplicaId::new(0) })
        .with(Duration::from_secs(9), Duration::from_secs(4), FaultKind::Link(lost_votes));
    let mut network = Network::builder()
        .with_protocol(two_phase(0))
        .with_validators(4)
        .with_seed(7)
        .with_faults(plan)
        .with_invariants(invariant::generic())
        .with_invariants([certified_once()])
        .with_trace("two-phase: a leader crashes, then votes are lost")
        .build()?;
    network.run_for(Duration::from_secs(13))?;
    network.run_to_height(Height::new(12))?;
    println!("all replicas are at height {} after {}", network.lowest_height(), network.now());

    // The trace is replayed without the seed, and drawn.
    let trace = network.trace().ok_or("a trace is recorded")?;
    Replay::of_own(&trace, &two_phase(0))?.finish()?;
    #[cfg(feature = "diagram")]
    {
        let path = std::env::temp_dir().join("chainbox-two-phase.svg");
        std::fs::write(&path, chainbox::sim::diagram::draw(&trace, &Default::default()))?;
        println!("the picture is {}", path.display());
    }

    // Random faults, among them fewer than a third of liars: nothing is found. A quorum of one vote too few: it is found.
    let setup = |missing| CampaignSetup::of(two_phase(missing).into()).with_invariants([certified_once()]);
    let sound = Campaign::new(setup(0), 0..200).first_failure();
    assert!(sound.is_none(), "{sound:?}");
    let found = Campaign::new(setup(1), 0..200).first_failure().ok_or("a quorum too small is found")?;
    let shrunk = shrink(&setup(1), &found, 100).report;
    let violation = shrunk.violation().ok_or("by an invariant")?;
    println!("with one vote too few, seed {}: {violation}\n{}", found.seed, shrunk.plan.to_toml());
    Ok(())
}
