//! Parameters of Raft.

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Encoder, ReplicaId},
    primitives::Address,
};

/// Timing and bounds. Every member of a chain has the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RaftConfig {
    /// Seconds between two blocks at least. 0: blocks are made on demand only.
    pub period: u64,
    /// The shortest election timeout, in milliseconds; each wait is drawn anew from once to twice as long.
    pub election_ms: u64,
    /// Between two heartbeats of a leader, in milliseconds; well below the election timeout.
    pub heartbeat_ms: u64,
    /// Committed entries kept for followers that are behind; one further behind fetches blocks.
    pub log_keep: u64,
    /// Entries in one message at most.
    pub entries_max: usize,
    /// Messages with entries on their way to one follower at most.
    pub inflight_max: usize,
    /// Replica numbers of the first voters: the address at place `n` is replica `n`.
    #[serde(skip)]
    pub roster: Vec<Address>,
    /// Replicas that follow from the beginning and don't vote.
    #[serde(skip)]
    pub observers: Vec<ReplicaId>,
}

/// Why Raft could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RaftError {
    /// A leader would lose its followers between two heartbeats.
    #[error(
        "raft: heartbeat is {heartbeat_ms} ms and election timeout {election_ms} ms; \
         give a heartbeat of at least 1 ms and a timeout of at least twice that"
    )]
    Timing {
        /// The heartbeat.
        heartbeat_ms: u64,
        /// The election timeout.
        election_ms: u64,
    },
    /// Nothing could ever be sent.
    #[error("raft: {field} is 0; give at least 1")]
    Zero {
        /// Which bound.
        field: &'static str,
    },
    /// A stored record does not decode, or does not fit the others.
    #[error("raft: stored record {key:?} does not decode")]
    Record {
        /// Its key.
        key: &'static str,
    },
}

impl Default for RaftConfig {
    fn default() -> Self {
        Self {
            period: 1,
            election_ms: 1_000,
            heartbeat_ms: 100,
            log_keep: 256,
            entries_max: 64,
            inflight_max: 64,
            roster: Vec::new(),
            observers: Vec::new(),
        }
    }
}

impl RaftConfig {
    /// The same with `period` seconds between blocks.
    #[must_use]
    pub const fn with_period(mut self, period: u64) -> Self {
        self.period = period;
        self
    }

    /// The same with an election timeout and a heartbeat interval, in milliseconds.
    #[must_use]
    pub const fn with_timing(mut self, election_ms: u64, heartbeat_ms: u64) -> Self {
        (self.election_ms, self.heartbeat_ms) = (election_ms, heartbeat_ms);
        self
    }

    /// The same keeping `log_keep` committed entries.
    #[must_use]
    pub const fn with_log_keep(mut self, log_keep: u64) -> Self {
        self.log_keep = log_keep;
        self
    }

    /// The same with the first voters in order of their replica numbers, and the replicas that only follow.
    #[must_use]
    pub fn with_roster(mut self, roster: Vec<Address>, observers: Vec<ReplicaId>) -> Self {
        (self.roster, self.observers) = (roster, observers);
        self
    }

    /// Whether a replica of this number takes part; without a roster, any may.
    pub(super) fn is_replica(&self, replica: ReplicaId) -> bool {
        self.roster.is_empty() || replica.index() < self.roster.len() || self.observers.contains(&replica)
    }

    /// The election timeout's fixed part, and the bound of its random part, in nanoseconds.
    pub(super) const fn election_nanos(&self) -> u64 {
        self.election_ms.saturating_mul(1_000_000)
    }

    pub(super) const fn heartbeat_nanos(&self) -> u64 {
        self.heartbeat_ms.saturating_mul(1_000_000)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { period, election_ms, heartbeat_ms, log_keep, entries_max, inflight_max, roster, observers } = self;
        out.u64(*period);
        out.u64(*election_ms);
        out.u64(*heartbeat_ms);
        out.u64(*log_keep);
        out.len(*entries_max);
        out.len(*inflight_max);
        out.list(roster.iter(), Encoder::address);
        out.list(observers.iter(), |out, replica| out.u32(replica.get()));
    }

    pub(super) fn check(&self) -> Result<(), RaftError> {
        let (election_ms, heartbeat_ms) = (self.election_ms, self.heartbeat_ms);
        if heartbeat_ms == 0 || election_ms < heartbeat_ms.saturating_mul(2) {
            return Err(RaftError::Timing { heartbeat_ms, election_ms });
        }
        for (field, value) in [("entriesMax", self.entries_max), ("inflightMax", self.inflight_max)] {
            if value == 0 {
                return Err(RaftError::Zero { field });
            }
        }
        Ok(())
    }
}
