//! A replica's part in its protocol, as a picture shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{AnyProtocol, ReplicaId, RoundRole, RoundStatus},
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
