//! The protocols as one type, chosen when a network is built.

mod kind;
mod light;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

pub use kind::{ConsensusKind, StakeUse};
pub use light::{FollowError, LightVerifier, SealedHeader};

use super::{
    Authenticator, BlockId, Effect, Encoder, Event, Finality, Protocol, Rejection, ReplicaId, Signer, ValidatorSet,
    ValidatorSetError,
    dpos::{Dpos, DposConfig, DposError, DposRules},
    pbft::{Council, Pbft, PbftConfig, PbftError, PbftRules},
    poa::{Poa, PoaConfig, PoaError, PoaRules},
    pos::{Pos, PosConfig, PosError, PosRules},
    raft::{Membership, Raft, RaftConfig, RaftError, RaftRules},
};
use crate::{
    chain::{Block, HeaderRules},
    primitives::{Address, Bytes},
};

/// Which protocol a chain runs, with its parameters. Part of genesis.
///
/// In genesis: the parameters and `protocol`, which is `poa` (also `proof-of-authority` or `clique`), `pos` (also
/// `proof-of-stake`), `dpos` (also `delegated-proof-of-stake`), `raft` or `pbft`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ConsensusConfig {
    /// Proof of authority.
    #[serde(alias = "proof-of-authority", alias = "clique")]
    Poa(PoaConfig),
    /// Raft.
    Raft(RaftConfig),
    /// Practical Byzantine fault tolerance.
    Pbft(PbftConfig),
    /// Delegated proof of stake.
    #[serde(alias = "delegated-proof-of-stake")]
    Dpos(DposConfig),
    /// Proof of stake.
    #[serde(alias = "proof-of-stake")]
    Pos(PosConfig),
}

/// Why a protocol could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsensusError {
    /// The validators make no set.
    #[error(transparent)]
    Validators(#[from] ValidatorSetError),
    /// Proof of authority refuses its parameters or records.
    #[error(transparent)]
    Poa(#[from] PoaError),
    /// Raft refuses its parameters or records.
    #[error(transparent)]
    Raft(#[from] RaftError),
    /// PBFT refuses its parameters, the number of validators, or records.
    #[error(transparent)]
    Pbft(#[from] PbftError),
    /// Delegated proof of stake refuses its parameters or records.
    #[error(transparent)]
    Dpos(#[from] DposError),
    /// Proof of stake refuses its parameters or records.
    #[error(transparent)]
    Pos(#[from] PosError),
}

/// What a replica made durable, by key.
pub type Records = BTreeMap<Bytes, Bytes>;

/// A wish that the protocol of this chain has no notion of, or that means nothing now.
pub type AdminError = Rejection;

/// One replica's protocol, whichever it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Machine {
    /// Proof of authority.
    Poa(Box<Poa>),
    /// Raft.
    Raft(Box<Raft>),
    /// Practical Byzantine fault tolerance.
    Pbft(Box<Pbft>),
    /// Delegated proof of stake.
    Dpos(Box<Dpos>),
    /// Proof of stake.
    Pos(Box<Pos>),
}

impl Default for ConsensusConfig {
    fn default() -> Self {
        Self::Poa(PoaConfig::default())
    }
}

impl ConsensusConfig {
    /// A replica's protocol at genesis; one without a `signer` observes.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters are refused.
    pub fn start(
        &self,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Machine, ConsensusError> {
        let root = (BlockId::of(genesis), genesis.timestamp());
        match self {
            Self::Poa(config) => {
                Ok(Machine::Poa(Box::new(Poa::new(*config, root, validators, authenticator, signer)?)))
            }
            Self::Raft(config) => {
                let members = first_members(config, &validators);
                Ok(Machine::Raft(Box::new(Raft::new(config.clone(), root, members, authenticator, signer)?)))
            }
            Self::Pbft(config) => {
                Ok(Machine::Pbft(Box::new(Pbft::new(*config, root, validators, authenticator, signer)?)))
            }
            Self::Dpos(config) => {
                Ok(Machine::Dpos(Box::new(Dpos::new(*config, root, &validators, authenticator, signer)?)))
            }
            Self::Pos(config) => {
                Ok(Machine::Pos(Box::new(Pos::new(*config, genesis, &validators, authenticator, signer)?)))
            }
        }
    }

    /// A replica's protocol at a stored head, from the record that was written with it.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters or the record are refused.
    pub fn restore(
        &self,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Machine, ConsensusError> {
        match self {
            Self::Poa(config) => Ok(Machine::Poa(Box::new(Poa::restore(*config, head_record, authenticator, signer)?))),
            Self::Raft(config) => {
                Ok(Machine::Raft(Box::new(Raft::restore(config.clone(), head_record, authenticator, signer)?)))
            }
            Self::Pbft(config) => {
                Ok(Machine::Pbft(Box::new(Pbft::restore(*config, head_record, authenticator, signer)?)))
            }
            Self::Dpos(config) => {
                Ok(Machine::Dpos(Box::new(Dpos::restore(*config, head_record, authenticator, signer)?)))
            }
            Self::Pos(config) => Ok(Machine::Pos(Box::new(Pos::restore(*config, head_record, authenticator, signer)?))),
        }
    }

    /// A replica's protocol after a crash, from everything that it made durable. Without a record of a head it begins at
    /// genesis, with what it promised there.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters or a record are refused.
    pub fn recover(
        &self,
        genesis: &Block,
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Machine, ConsensusError> {
        match self {
            Self::Raft(config) => {
                let (root, members) = ((BlockId::of(genesis), genesis.timestamp()), first_members(config, &validators));
                let raft = Raft::recover(config.clone(), root, members, records, authenticator, signer)?;
                Ok(Machine::Raft(Box::new(raft)))
            }
            Self::Pbft(config) => {
                let root = (BlockId::of(genesis), genesis.timestamp());
                let pbft = Pbft::recover(*config, root, validators, records, authenticator, signer)?;
                Ok(Machine::Pbft(Box::new(pbft)))
            }
            Self::Dpos(config) => {
                let root = (BlockId::of(genesis), genesis.timestamp());
                let dpos = Dpos::recover(*config, root, &validators, records, authenticator, signer)?;
                Ok(Machine::Dpos(Box::new(dpos)))
            }
            Self::Pos(config) => {
                let pos = Pos::recover(*config, genesis, &validators, records, authenticator, signer)?;
                Ok(Machine::Pos(Box::new(pos)))
            }
            Self::Poa(config) => {
                let root = (BlockId::of(genesis), genesis.timestamp());
                let poa = Poa::recover(*config, root, validators, records, authenticator, signer)?;
                Ok(Machine::Poa(Box::new(poa)))
            }
        }
    }

    /// The rules that a chain of this protocol judges headers by; replicas of a process share them.
    ///
    /// They go on from `head_record`, the stored one of an opened chain, or else from genesis.
    ///
    /// # Errors
    /// [`ConsensusError`] when the record is refused.
    pub fn header_rules(
        &self,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, ConsensusError> {
        match self {
            Self::Poa(config) => {
                let rules = PoaRules::new(*config, validators, authenticator.clone());
                if let Some(record) = head_record {
                    let poa = Poa::restore(*config, record, authenticator, None)?;
                    rules.remember(poa.head().hash, poa.head_link().clone());
                }
                Ok(Arc::new(rules))
            }
            Self::Raft(config) => {
                let members = first_members(config, &validators);
                let rules = RaftRules::new(config.clone(), members, authenticator.clone());
                if let Some(record) = head_record {
                    let raft = Raft::restore(config.clone(), record, authenticator, None)?;
                    rules.remember(raft.head().hash, raft.head_link().clone());
                }
                Ok(Arc::new(rules))
            }
            Self::Pbft(config) => {
                let rules = PbftRules::new(*config, Council::new(config, validators)?, authenticator);
                if let Some(record) = head_record {
                    let (hash, succession) = Pbft::recorded_succession(config, record)?;
                    rules.remember(hash, succession);
                }
                Ok(Arc::new(rules))
            }
            Self::Dpos(config) => {
                let rules = DposRules::new(*config, validators, authenticator.clone());
                if let Some(record) = head_record {
                    let dpos = Dpos::restore(*config, record, authenticator, None)?;
                    rules.remember(dpos.head().hash, dpos.head_link().clone());
                }
                Ok(Arc::new(rules))
            }
            Self::Pos(config) => {
                let rules = PosRules::new(*config, validators, authenticator.clone());
                if let Some(record) = head_record
                    && let Some(link) = Pos::restore(*config, record, authenticator, None)?.head_link()
                {
                    rules.remember(link.block.hash, link.clone());
                }
                Ok(Arc::new(rules))
            }
        }
    }

    /// The same, knowing which replica seals by which address: the one at place `n` of `roster` is replica `n`.
    /// `observers` are the replicas that never seal.
    #[must_use]
    pub fn with_roster(self, roster: &[Address], observers: Vec<ReplicaId>) -> Self {
        match self {
            Self::Poa(_) | Self::Pbft(_) | Self::Dpos(_) | Self::Pos(_) => self,
            Self::Raft(config) => Self::Raft(config.with_roster(roster.to_vec(), observers)),
        }
    }

    /// Which protocol it is.
    pub const fn kind(&self) -> ConsensusKind {
        match self {
            Self::Poa(_) => ConsensusKind::Poa,
            Self::Raft(_) => ConsensusKind::Raft,
            Self::Pbft(_) => ConsensusKind::Pbft,
            Self::Dpos(_) => ConsensusKind::Dpos,
            Self::Pos(_) => ConsensusKind::Pos,
        }
    }

    /// Whether the protocol can't do without stake; see [`ConsensusKind::stake_use`] for those that may have it.
    pub const fn uses_stake(&self) -> bool {
        matches!(self.kind().stake_use(), StakeUse::Always)
    }

    /// Seconds between two blocks at least; with 0, blocks are made on demand only.
    pub const fn period(&self) -> u64 {
        match self {
            Self::Poa(config) => config.period,
            Self::Pbft(config) => config.period,
            Self::Dpos(config) => config.period,
            Self::Pos(config) => config.period,
            Self::Raft(config) => config.period,
        }
    }

    /// Whether a network of this protocol never comes to rest: its timers run even when there is nothing to do.
    pub const fn never_rests(&self) -> bool {
        match self {
            Self::Poa(_) | Self::Pbft(_) | Self::Dpos(_) | Self::Pos(_) => false,
            Self::Raft(_) => true,
        }
    }

    /// Reads the consensus section of a genesis specification, such as `{"protocol": "poa", "period": 5}`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn deserialize_section(section: &serde_json::Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(section)
    }

    /// The section that [`ConsensusConfig::deserialize_section`] reads.
    pub fn section(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Raft's voters by the roster; without one, by the order of their addresses.
fn first_members(config: &RaftConfig, validators: &ValidatorSet) -> Membership {
    let by_address: Vec<_> = validators.addresses().collect();
    let roster = if config.roster.is_empty() { &by_address } else { &config.roster };
    let voters = (0..).map(ReplicaId::new).zip(roster.iter().copied());
    Membership::new(voters, config.observers.iter().copied())
}

impl Machine {
    /// Which protocol it is.
    pub const fn kind(&self) -> ConsensusKind {
        match self {
            Self::Poa(_) => ConsensusKind::Poa,
            Self::Raft(_) => ConsensusKind::Raft,
            Self::Pbft(_) => ConsensusKind::Pbft,
            Self::Dpos(_) => ConsensusKind::Dpos,
            Self::Pos(_) => ConsensusKind::Pos,
        }
    }

    /// Among replicas that wait to be asked for a block on demand, the lowest comes first: how many turns of others it would
    /// pass over.
    pub fn turns_skipped(&self) -> u64 {
        match self {
            Self::Pos(pos) => pos.slots_skipped(),
            _ => 0,
        }
    }

    /// The stretch of time that somebody leads or plans for: the view of PBFT, the term of Raft, the slot of proof of stake; of
    /// delegated proof of stake the round of the slot after the head's, of proof of authority the epoch of the next block.
    pub fn round(&self) -> u64 {
        match self {
            Self::Poa(poa) => poa.epoch(),
            Self::Raft(raft) => raft.term(),
            Self::Pbft(pbft) => pbft.view().get(),
            Self::Dpos(dpos) => dpos.round(),
            Self::Pos(pos) => pos.slot(),
        }
    }
}

impl Protocol for Machine {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match self {
            Self::Poa(poa) => poa.step(event, effects),
            Self::Raft(raft) => raft.step(event, effects),
            Self::Pbft(pbft) => pbft.step(event, effects),
            Self::Dpos(dpos) => dpos.step(event, effects),
            Self::Pos(pos) => pos.step(event, effects),
        }
    }

    fn encode(&self, out: &mut Encoder) {
        out.u8(self.kind().number());
        match self {
            Self::Poa(poa) => poa.encode(out),
            Self::Raft(raft) => raft.encode(out),
            Self::Pbft(pbft) => pbft.encode(out),
            Self::Dpos(dpos) => dpos.encode(out),
            Self::Pos(pos) => pos.encode(out),
        }
    }

    fn head(&self) -> BlockId {
        match self {
            Self::Poa(poa) => poa.head(),
            Self::Raft(raft) => raft.head(),
            Self::Pbft(pbft) => pbft.head(),
            Self::Dpos(dpos) => dpos.head(),
            Self::Pos(pos) => pos.head(),
        }
    }

    fn finality(&self) -> Finality {
        match self {
            Self::Poa(poa) => poa.finality(),
            Self::Raft(raft) => raft.finality(),
            Self::Pbft(pbft) => pbft.finality(),
            Self::Dpos(dpos) => dpos.finality(),
            Self::Pos(pos) => pos.finality(),
        }
    }

    fn validators(&self) -> ValidatorSet {
        match self {
            Self::Poa(poa) => poa.validators(),
            Self::Raft(raft) => raft.validators(),
            Self::Pbft(pbft) => pbft.validators(),
            Self::Dpos(dpos) => dpos.validators(),
            Self::Pos(pos) => pos.validators(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_genesis_section_comes_back_and_wrong_ones_are_told() {
        let config = ConsensusConfig::Poa(PoaConfig::default().with_period(5));
        assert_eq!(ConsensusConfig::deserialize_section(&config.section()).unwrap(), config);
        let short = serde_json::json!({"protocol": "clique", "period": 5});
        assert_eq!(ConsensusConfig::deserialize_section(&short).unwrap(), config);
        for (section, named) in [
            (serde_json::json!({"protocol": "pow"}), "pow"),
            (serde_json::json!({"protocol": "poa", "perod": 1}), "perod"),
        ] {
            let error = ConsensusConfig::deserialize_section(&section).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
