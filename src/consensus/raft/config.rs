//! Parameters of Raft.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Encoder, ReplicaId},
    primitives::{Address, millis_rounded_up, secs_rounded_up},
};

/// Parameters of Raft, the same for every member of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RaftConfig {
    /// Least time between two blocks, in seconds; with 0, blocks are made on demand only.
    pub(crate) period: u64,
    /// Shortest election timeout, in milliseconds; each timeout is drawn between once and twice this.
    pub(crate) election_ms: u64,
    /// Interval between two heartbeats of a leader, in milliseconds; at most half the election timeout.
    pub(crate) heartbeat_ms: u64,
    /// Committed entries kept for followers that are behind; a follower further behind fetches blocks.
    pub(crate) log_keep: u64,
    /// Largest number of entries in one message.
    pub(crate) entries_max: usize,
    /// Largest number of in-flight append messages to one follower.
    pub(crate) inflight_max: usize,
    /// Addresses of the initial voters by replica number: index `n` is replica `n`.
    #[serde(skip)]
    pub(crate) roster: Vec<Address>,
    /// Replicas that are learners from genesis on.
    #[serde(skip)]
    pub(crate) observers: Vec<ReplicaId>,
    /// Addresses of the replicas after the initial voters, which may become voters.
    #[serde(skip)]
    pub(crate) candidates: Vec<Address>,
    /// Whether the validators' contract decides who votes, and commands of operators are refused; from genesis' `validatorRegistry`,
    /// whatever the section says here.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub(crate) by_contract: bool,
}

/// Refused parameters or records of Raft.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RaftError {
    /// Followers would time out between two heartbeats.
    #[error(
        "raft: heartbeat is {} ms and election timeout {} ms; \
         give a heartbeat of at least 1 ms and a timeout of at least twice that",
        heartbeat.as_millis(), election_timeout.as_millis()
    )]
    Timing {
        /// Interval between two heartbeats.
        heartbeat: Duration,
        /// Shortest election timeout.
        election_timeout: Duration,
    },
    /// A bound is 0, so that nothing could be sent.
    #[error("raft: {field} is 0; give at least 1")]
    Zero {
        /// Name of the bound.
        field: &'static str,
    },
    /// A stored record does not decode, or contradicts the others.
    #[error("raft: stored record {key:?} does not decode")]
    Record {
        /// Key of the record.
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
            candidates: Vec::new(),
            by_contract: false,
        }
    }
}

impl RaftConfig {
    /// Returns the configuration with a least time between two blocks, rounded up to whole seconds, the unit of block times; with zero, blocks
    /// are made on demand only.
    #[must_use]
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = secs_rounded_up(period);
        self
    }

    /// Returns the configuration with another shortest election timeout, rounded up to whole milliseconds.
    #[must_use]
    pub const fn with_election_timeout(mut self, timeout: Duration) -> Self {
        self.election_ms = millis_rounded_up(timeout);
        self
    }

    /// Returns the configuration with another interval between two heartbeats, rounded up to whole milliseconds.
    #[must_use]
    pub const fn with_heartbeat(mut self, interval: Duration) -> Self {
        self.heartbeat_ms = millis_rounded_up(interval);
        self
    }

    /// Returns the configuration with `log_keep` committed entries kept.
    #[must_use]
    pub const fn with_log_keep(mut self, log_keep: u64) -> Self {
        self.log_keep = log_keep;
        self
    }

    /// Returns the configuration with at most `entries_max` entries in one message.
    #[must_use]
    pub const fn with_entries_max(mut self, entries_max: usize) -> Self {
        self.entries_max = entries_max;
        self
    }

    /// Returns the configuration with at most `inflight_max` in-flight append messages to one follower.
    #[must_use]
    pub const fn with_inflight_max(mut self, inflight_max: usize) -> Self {
        self.inflight_max = inflight_max;
        self
    }

    /// Returns the configuration with the initial voters in order of their replica numbers, and the initial learners.
    #[must_use]
    pub fn with_roster(mut self, roster: Vec<Address>, observers: Vec<ReplicaId>) -> Self {
        (self.roster, self.observers) = (roster, observers);
        self
    }

    /// Returns the configuration with the addresses of the replicas after the initial voters, which may become voters.
    #[must_use]
    pub fn with_candidates(mut self, candidates: Vec<Address>) -> Self {
        self.candidates = candidates;
        self
    }

    /// Returns the configuration of a chain whose voters the validators' contract decides.
    #[must_use]
    pub const fn with_validator_registry(mut self) -> Self {
        self.by_contract = true;
        self
    }

    /// Returns the replica that seals as an address; `None` for an address of no replica.
    pub(super) fn replica_of(&self, address: &Address) -> Option<ReplicaId> {
        let known = self.roster.iter().chain(&self.candidates);
        (0..).map(ReplicaId::new).zip(known).find(|(_, known)| *known == address).map(|(replica, _)| replica)
    }

    /// Returns whether `replica` belongs to the chain; without a roster, every replica does.
    pub(super) fn is_replica(&self, replica: ReplicaId) -> bool {
        self.roster.is_empty() || replica.index() < self.roster.len() || self.observers.contains(&replica)
    }

    /// Returns the election timeout's fixed part, which also bounds its random part, in nanoseconds.
    pub(super) const fn election_nanos(&self) -> u64 {
        self.election_ms.saturating_mul(1_000_000)
    }

    pub(super) const fn heartbeat_nanos(&self) -> u64 {
        self.heartbeat_ms.saturating_mul(1_000_000)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self {
            period,
            election_ms,
            heartbeat_ms,
            log_keep,
            entries_max,
            inflight_max,
            roster,
            observers,
            candidates,
            by_contract,
        } = self;
        out.u64(*period);
        out.u64(*election_ms);
        out.u64(*heartbeat_ms);
        out.u64(*log_keep);
        out.len(*entries_max);
        out.len(*inflight_max);
        out.list(roster.iter(), Encoder::address);
        out.list(observers.iter(), |out, replica| out.u32(replica.get()));
        // Written where it is so alone: the digests of other chains stay.
        if *by_contract {
            out.list(candidates.iter(), Encoder::address);
        }
    }

    pub(super) fn check(&self) -> Result<(), RaftError> {
        let (election_ms, heartbeat_ms) = (self.election_ms, self.heartbeat_ms);
        if heartbeat_ms == 0 || election_ms < heartbeat_ms.saturating_mul(2) {
            let [heartbeat, election_timeout] = [heartbeat_ms, election_ms].map(Duration::from_millis);
            return Err(RaftError::Timing { heartbeat, election_timeout });
        }
        for (field, value) in [("entriesMax", self.entries_max), ("inflightMax", self.inflight_max)] {
            if value == 0 {
                return Err(RaftError::Zero { field });
            }
        }
        Ok(())
    }
}
