//! A replica's status in its protocol, as shown in diagrams.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Machine, ReplicaId},
    primitives::Address,
};

/// Status of a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The view (PBFT), the term (Raft), the epoch (proof of stake) or the round (delegated proof of stake); 0 where the
    /// protocol has none.
    pub round: u64,
    /// Its role.
    pub part: Part,
    /// The leader it knows.
    pub leader: Option<u32>,
}

/// Role of a replica in its round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Follower.
    #[default]
    Follows,
    /// Leader.
    Leads,
    /// Searching for a leader: election or view change.
    Seeks,
}

impl Status {
    /// Returns the status of `protocol`, that of `replica`; `None` for a protocol without rounds.
    #[allow(unreachable_patterns, reason = "a protocol without rounds needs no line here")]
    pub(super) fn of(protocol: &Machine, replica: ReplicaId, replicas: &BTreeMap<Address, u32>) -> Option<Self> {
        let status = match protocol {
            Machine::Pbft(pbft) => {
                let leader = replicas.get(&pbft.primary()).copied();
                let part = match pbft.is_changing() {
                    true => Part::Seeks,
                    false if leader == Some(replica.get()) => Part::Leads,
                    false => Part::Follows,
                };
                Self { round: pbft.view().get(), part, leader }
            }
            Machine::Raft(raft) => {
                let part = match raft.leader() {
                    _ if raft.is_leader() => Part::Leads,
                    Some(_) => Part::Follows,
                    None => Part::Seeks,
                };
                Self { round: raft.term(), part, leader: raft.leader().map(ReplicaId::get) }
            }
            Machine::Pos(pos) => Self { round: pos.epoch(), ..Self::default() },
            _ => return None,
        };
        Some(status)
    }
}
