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
pub struct ReplicaStatus {
    /// The view (PBFT), the term (Raft), the epoch (proof of stake) or the round (delegated proof of stake); 0 where the
    /// protocol has none.
    pub round: u64,
    /// Role in the round; `part` in the JSON form.
    #[serde(rename = "part")]
    pub role: RoundRole,
    /// The leader it knows.
    pub leader: Option<u32>,
}

impl ReplicaStatus {
    /// Returns the status of `protocol`, that of `replica`; `None` for a protocol without rounds.
    pub(super) fn of(protocol: &AnyProtocol, replica: ReplicaId, replicas: &BTreeMap<Address, u32>) -> Option<Self> {
        let replica_of = |address: &Address| replicas.get(address).copied().map(ReplicaId::new);
        let RoundStatus { round, role, leader } = protocol.round_status(replica, &replica_of)?;
        Some(Self { round, role, leader: leader.map(ReplicaId::get) })
    }
}
