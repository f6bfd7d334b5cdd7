//! A replica's part in its protocol, as a picture shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Machine, ReplicaId},
    primitives::Address,
};

/// Where a replica stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The view (PBFT), the term (Raft), the epoch (proof of stake) or the round (delegated proof of stake); 0 where the
    /// protocol has none.
    pub round: u64,
    /// What it is there.
    pub part: Part,
    /// Who leads, as far as it knows.
    pub leader: Option<u32>,
}

/// What a replica is in its round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It follows.
    #[default]
    Follows,
    /// It leads.
    Leads,
    /// It looks for a leader: an election, a view change.
    Seeks,
}

impl Status {
    /// Where `protocol`, that of `replica`, stands; `None` for a protocol without rounds.
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
