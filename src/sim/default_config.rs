//! Default parameters of each protocol in simulations.

use core::time::Duration;

use crate::consensus::{
    ConsensusConfig, ConsensusKind, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig,
    raft::RaftConfig,
};

/// Returns the parameters that simulations use by default: a block or slot each second, and short epochs.
pub fn default_sim_config(kind: ConsensusKind) -> ConsensusConfig {
    match kind {
        ConsensusKind::Raft => ConsensusConfig::Raft(RaftConfig::default()),
        // Checkpoints, at which validators change, are frequent enough to occur in a short run.
        ConsensusKind::Pbft => ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8)),
        // Fewer producers than candidates, so that votes change the producers.
        ConsensusKind::Dpos => ConsensusConfig::Dpos(DposConfig::default().with_producers(4)),
        // Stake leaks within minutes.
        ConsensusKind::Pos => ConsensusConfig::Pos(
            PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4).with_leak_quotient(4_096),
        ),
        // Checkpoints are frequent enough to occur in a short run.
        ConsensusKind::Poa => {
            ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)).with_epoch(7))
        }
    }
}
