//! A consensus protocol of one's own in the simulator: under planned faults, drawn as a picture, replayed from its trace, and in a campaign
//! of random faults. The protocol is in `own_protocol/two_phase.rs`; `docs/own-protocol.md` explains the steps.

#[path = "own_protocol/two_phase.rs"]
mod two_phase;

use core::time::Duration;
use std::{collections::BTreeMap, fs};

use chainbox::{
    consensus::ReplicaId,
    primitives::{B256, Height},
    sim::{
        Campaign, CampaignSetup, FaultKind, FaultPlan, Invariant, LinkEffect, LinkFault, Network, SimStep, Violation,
        invariant, trace::Replay,
    },
};
use two_phase::{TwoPhase, two_phase};

/// No two honest replicas hold certificates of different blocks of one view.
#[derive(Clone, Debug, Default)]
struct CertifiedOnce {
    certified: BTreeMap<u64, (B256, ReplicaId)>,
}

impl Invariant for CertifiedOnce {
    fn name(&self) -> &'static str {
        "two-phase-certified-once"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let replica = network.replica(step.replica).ok().filter(|replica| network.is_honest(replica.id()));
        let Some((id, state)) = replica.and_then(|replica| Some((replica.id(), replica.own_protocol::<TwoPhase>()?)))
        else {
            return Ok(());
        };
        let newest = state.newest();
        let (block, first) = *self.certified.entry(newest.view).or_insert((newest.block.hash, id));
        if block == newest.block.hash {
            return Ok(());
        }
        let detail =
            format!("view {}: {first} holds a certificate of {block}, {id} of {}", newest.view, newest.block.hash);
        Err(Violation::new(self.name(), network, detail))
    }
}

fn own_invariants() -> [Box<dyn Invariant>; 1] {
    [Box::new(CertifiedOnce::default())]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protocol = two_phase(0);

    // Four replicas. The leader of view 4 crashes, then half of all votes are lost for four seconds.
    let lost_votes = LinkFault {
        from: Vec::new(),
        to: Vec::new(),
        labels: vec!["vote".to_owned()],
        effect: LinkEffect::Loss { per_mille: 500 },
    };
    let plan = FaultPlan::default()
        .with(Duration::from_secs(3), Duration::from_secs(4), FaultKind::Crash { replica: ReplicaId::new(0) })
        .with(Duration::from_secs(9), Duration::from_secs(4), FaultKind::Link(lost_votes));
    let mut network = Network::builder()
        .with_protocol(protocol.clone())
        .with_validators(4)
        .with_seed(7)
        .with_faults(plan)
        .with_invariants(invariant::generic())
        .with_invariants(own_invariants())
        .with_trace("two-phase: a leader crashes, then votes are lost")
        .build()?;
    network.run_for(Duration::from_secs(13))?;
    network.run_to_height(Height::new(12))?;
    println!("all replicas are at height {} after {}", network.lowest_height(), network.now());

    // The trace is replayed without the seed, and drawn.
    let trace = network.trace().ok_or("a trace is recorded")?;
    Replay::of_own(&trace, &protocol)?.finish()?;
    #[cfg(feature = "diagram")]
    {
        let path = std::env::temp_dir().join("chainbox-two-phase.svg");
        fs::write(&path, chainbox::sim::diagram::draw(&trace, &Default::default()))?;
        println!("the picture is {}", path.display());
    }
    #[cfg(not(feature = "diagram"))]
    fs::write(std::env::temp_dir().join("chainbox-two-phase.ndjson"), trace.to_ndjson())?;

    // Random faults, among them fewer than a third of liars: nothing is found.
    let setup = CampaignSetup::of(protocol.into()).with_invariants(own_invariants());
    let sound = Campaign::new(setup, 0..200).first_failure();
    assert!(sound.is_none(), "{sound:?}");
    println!("two hundred random plans of tolerated faults violated no invariant");

    // A certificate of one vote too few: found.
    let setup = CampaignSetup::of(two_phase(1).into()).with_invariants(own_invariants());
    let found = Campaign::new(setup.clone(), 0..200).first_failure().ok_or("a quorum too small is found")?;
    let shrunk = chainbox::sim::shrink(&setup, &found, 100);
    let violation = shrunk.report.violation().ok_or("by an invariant")?;
    println!("with one vote too few, seed {}: {violation}\n{}", found.seed, shrunk.report.plan.to_toml());
    Ok(())
}
