//! A replica's status in its protocol, as shown in diagrams.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{AnyProtocol, ReplicaId, RoundRole, RoundStatus},
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
    pub(super) fn of(protocol: &AnyProtocol, replica: ReplicaId, replicas: &BTreeMap<Address, u32>) -> Option<Self> {
        let replica_of = |address: &Address| replicas.get(address).copied().map(ReplicaId::new);
        let RoundStatus { round, role, leader } = protocol.round_status(replica, &replica_of)?;
        let part = match role {
            RoundRole::Follower => Part::Follows,
            RoundRole::Leader => Part::Leads,
            RoundRole::Seeking => Part::Seeks,
        };
        Some(Self { round, part, leader: leader.map(ReplicaId::get) })
    }
}
