//! The protocols by name, as people and configurations call them.

use super::ConsensusConfig;
use crate::consensus::{dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig, raft::RaftConfig};

/// Which protocol, without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsensusKind {
    /// Permissioned validators in turn (Clique, EIP-225).
    Poa,
    /// Stake-based selection with checkpoints (Gasper).
    Pos,
    /// A validator set elected by stake holders, with a last irreversible block.
    Dpos,
    /// Byzantine fault tolerant, with immediate finality (Castro and Liskov).
    Pbft,
    /// A replicated log under an elected leader: survives crashes, not lies.
    Raft,
}

/// What a protocol makes of stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StakeUse {
    /// It has no notion of it.
    Never,
    /// Validators weigh their stake where genesis has `staking`, else one each.
    Optional,
    /// Validators weigh their stake; genesis always has `staking`.
    Always,
}

impl ConsensusKind {
    /// What the protocol makes of stake.
    pub const fn stake_use(self) -> StakeUse {
        match self {
            Self::Poa | Self::Raft => StakeUse::Never,
            Self::Pbft => StakeUse::Optional,
            Self::Pos | Self::Dpos => StakeUse::Always,
        }
    }

    /// Every protocol.
    pub const ALL: [Self; 5] = [Self::Poa, Self::Pos, Self::Dpos, Self::Pbft, Self::Raft];

    /// The whole name, such as `proof-of-authority`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poa => "proof-of-authority",
            Self::Pos => "proof-of-stake",
            Self::Dpos => "delegated-proof-of-stake",
            Self::Pbft => "pbft",
            Self::Raft => "raft",
        }
    }

    /// The short name, such as `poa`; the same as the whole one where there is no other.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Poa => "poa",
            Self::Pos => "pos",
            Self::Dpos => "dpos",
            Self::Pbft => "pbft",
            Self::Raft => "raft",
        }
    }

    /// Stands for it in records and canonical encodings, and never changes.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Poa => 1,
            Self::Pbft => 2,
            Self::Pos => 3,
            Self::Dpos => 4,
            Self::Raft => 5,
        }
    }

    /// The protocol of this number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The protocol of this name, whole or short.
    ///
    /// ```
    /// use chainbox::consensus::ConsensusKind;
    /// assert_eq!(ConsensusKind::from_name("poa"), ConsensusKind::from_name("proof-of-authority"));
    /// assert_eq!(ConsensusKind::from_name("pow"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name || kind.short_name() == name)
    }

    /// The protocol with its usual parameters and blocks on demand only.
    pub fn on_demand(self) -> ConsensusConfig {
        match self {
            Self::Poa => ConsensusConfig::Poa(PoaConfig { period: 0, ..PoaConfig::default() }),
            Self::Pbft => ConsensusConfig::Pbft(PbftConfig { period: 0, ..PbftConfig::default() }),
            Self::Raft => ConsensusConfig::Raft(RaftConfig { period: 0, ..RaftConfig::default() }),
            Self::Dpos => ConsensusConfig::Dpos(DposConfig { period: 0, ..DposConfig::default() }),
            Self::Pos => ConsensusConfig::Pos(PosConfig { period: 0, ..PosConfig::default() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_sections_of_genesis_too() {
        for kind in ConsensusKind::ALL {
            assert_eq!(ConsensusKind::from_name(kind.name()), Some(kind));
            assert_eq!(ConsensusKind::from_name(kind.short_name()), Some(kind));
            assert_eq!(ConsensusKind::from_number(kind.number()), Some(kind));
            let config = kind.on_demand();
            assert_eq!((config.kind(), config.period()), (kind, 0));
            for name in [kind.name(), kind.short_name()] {
                let mut section = config.section();
                section["protocol"] = name.into();
                assert_eq!(ConsensusConfig::deserialize_section(&section).unwrap(), config, "{name}");
            }
        }
    }
}
