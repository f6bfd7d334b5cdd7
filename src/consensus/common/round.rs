//! A replica's round and its role in it.

use serde::{Deserialize, Serialize};

use super::id::ReplicaId;

/// A replica's role in its round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoundRole {
    /// Follower of a leader.
    #[default]
    #[serde(rename = "follows")]
    Follower,
    /// Leader.
    #[serde(rename = "leads")]
    Leader,
    /// An election or a view change is under way.
    #[serde(rename = "seeks")]
    Seeking,
}

/// A replica's round with its role in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundStatus {
    /// Number of the period that has one leader.
    pub round: u64,
    /// Role of the replica in it.
    pub role: RoundRole,
    /// The leader, as far as the replica knows.
    pub leader: Option<ReplicaId>,
}
