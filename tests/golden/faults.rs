//! One run a protocol in which much goes wrong, with transfers and, where there is stake, a new validator.

use core::time::Duration;
use std::sync::Arc;

use crate::golden::{alice, transfer};
use chainbox::{
    chain::GenesisSpec,
    consensus::{ConsensusKind, ReplicaId, StakeUse},
    primitives::{B256, ether},
    sim::{FaultPlan, Latency, Network, NetworkBuilder, NetworkError, ValidatorAction, default_sim_config},
    system::staking::StakingParams,
};

/// Of the pinned runs.
pub(crate) const SEED: u64 = 2_026;
const VALIDATORS: u32 = 4;

/// Every protocol's fingerprint, as `tests/golden/faults.txt` has them. Changing one changes what every seed gives: a decision,
/// never an accident.
pub(crate) fn golden(kind: ConsensusKind) -> B256 {
    let line = include_str!("faults.txt").lines().find_map(|line| line.strip_prefix(kind.short_name()));
    line.expect("every protocol has a line").trim().parse().expect("a digest")
}

/// The run's fingerprint, on a network that `configure` has built in whatever way must make no difference.
pub(crate) fn run(
    kind: ConsensusKind,
    seed: u64,
    configure: impl FnOnce(NetworkBuilder) -> NetworkBuilder,
) -> Result<B256, NetworkError> {
    let builder = Network::builder()
        .with_genesis(GenesisSpec::new(1_337).with_balance(alice().address(), ether(1_000)))
        .with_consensus(default_sim_config(kind))
        .with_validators(VALIDATORS)
        .with_candidates(1)
        .with_seed(seed)
        .with_latency(Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(80) })
        .with_faults(plan(kind));
    let has_stake = kind.stake_use() != StakeUse::Never;
    let builder = if has_stake { builder.with_staking(StakingParams::default()) } else { builder };
    let mut network = configure(builder).build()?;
    for second in 0..20_u32 {
        let transaction = transfer(second.into());
        network.submit(Arc::new(transaction), ReplicaId::new(0))?;
        if has_stake && second == 3 {
            let newcomer = NetworkBuilder::validator_key(seed, VALIDATORS);
            let join = ValidatorAction::Join { stake: ether(50), commission_bps: 500 };
            network.validator_action(&newcomer, &join).expect("it has the stake");
        }
        network.run_for(Duration::from_secs(1))?;
    }
    Ok(network.digest().expect("digests are on"))
}

/// Bad links, a slow disk and a crash that tears a write, a wrong clock, a cut; and where lies are borne, a key on two machines.
fn plan(kind: ConsensusKind) -> FaultPlan {
    let twins = if kind == ConsensusKind::Raft { "" } else { TWINS };
    FaultPlan::from_toml(&format!("version = 1\nfaults = [{FAULTS}{twins}]")).expect("faults of the format")
}

const FAULTS: &str = r"
  { at_ms = 1000, for_ms = 9000, what = { link = { effect = { loss = { per_mille = 100 } } } } },
  { at_ms = 1000, for_ms = 9000, what = { link = { effect = { duplicate = { per_mille = 100 } } } } },
  { at_ms = 2000, for_ms = 6000, what = { disk = { replica = 1, delay = { constant = { ms = 40 } } } } },
  { at_ms = 4000, for_ms = 2000, what = { crash = { replica = 1 } } },
  { at_ms = 3000, for_ms = 8000, what = { clock = { replica = 2, offset_ms = 300, drift_ppm = 500 } } },
  { at_ms = 9000, for_ms = 2000, what = { isolate = { replica = 2 } } },
";

const TWINS: &str = "{ at_ms = 12000, for_ms = 4000, what = { twins = { replica = 3, group = [0] } } }";
