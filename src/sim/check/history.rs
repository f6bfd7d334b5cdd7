//! Histories of what clients did and were answered, and their check.
//!
//! Clients send transfers and read; a [`History`] has each operation with the time at which it was called and, if so, answered. Every account
//! that is read is an object of its own: a balance to which transfers add, or a nonce to which its owner's transactions add one.
//!
//! - **Writes** are acknowledged once a quorum of replicas holds their block final: `n - f` of `n`, where `f` may misbehave, or, for a
//!   protocol that tolerates crashes alone, a majority.
//! - **Quorum reads** ask so many replicas for their final heights, and read at a replica that has reached the highest of them. Together with
//!   the acknowledged writes they must be linearizable: one order of all operations explains every answer, and keeps an operation that was
//!   answered before another was called before it (Herlihy and Wing, 1990).
//! - **Local reads** read one replica's newest final block at once. They may be behind. They must be sequentially consistent (Lamport,
//!   1979): one order explains them that keeps the order of each reader, which has one replica between two crashes.
//!
//! What a read of a block tag promises follows from the protocol's finality:
//!
//! | protocol | `latest` | `safe` | `finalized` |
//! |---|---|---|---|
//! | PBFT, Raft | as `finalized` | as `finalized` | sequential; with a quorum linearizable |
//! | delegated proof of stake | may be reverted | as `finalized` | sequential; with a quorum linearizable; some blocks late |
//! | proof of stake | may be reverted | may be reverted | sequential; with a quorum linearizable; some epochs late |
//! | proof of authority | may be reverted | advice | advice, until so many blocks are above that none is reverted, some 130 |

mod counter;
mod order;
mod record;

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{BlockId, ReplicaId},
    primitives::{Address, B256, U256},
    sim::engine::clock::SimTime,
};

pub(in crate::sim) use record::HistoryRecorder;
pub use record::{HistoryOptions, genesis, record};
#[cfg(test)]
pub(in crate::sim) use record::{Service, run};

/// Most configurations that the check of one object visits; beyond them it is undecided.
pub const CONFIGURATIONS_MAX: usize = 20_000;

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Client.
    pub client: Client,
    /// Virtual time of the call.
    pub called: SimTime,
    /// Virtual time of the answer; `None` when there was none.
    pub answered: Option<SimTime>,
    /// What was called, and what was answered.
    #[serde(flatten)]
    pub action: Action,
}

/// Who called. Each client's operations are in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Client {
    /// The owner of an account.
    Owner(Address),
    /// A reader of one replica, between two of its restarts.
    Reader {
        /// Replica.
        replica: ReplicaId,
        /// Restarts of the replica before.
        life: u64,
    },
    /// A reader that asks a quorum.
    Quorum,
}

/// What a client did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// A transaction, acknowledged once its block is final for a quorum.
    Transfer {
        /// Its hash.
        transaction: B256,
        /// Sender, whose nonce it increments.
        from: Address,
        /// Receiver.
        to: Address,
        /// Amount.
        amount: U256,
        /// Replica that took it.
        replica: ReplicaId,
    },
    /// A read of an account.
    Read {
        /// Account.
        account: Address,
        /// What was read.
        field: Field,
        /// The answer.
        value: U256,
        /// Replica that answered.
        replica: ReplicaId,
        /// Block at which it was read.
        block: BlockId,
    },
}

/// A field of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Balance, in wei above that of genesis.
    Balance,
    /// Nonce.
    Nonce,
}

/// The operations of a run, in the order of their calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The operations.
    pub operations: Vec<Operation>,
}

/// Result of a check without an anomaly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Acknowledged transfers.
    pub acknowledged: usize,
    /// Answered reads.
    pub reads: usize,
    /// Objects whose check took more than [`CONFIGURATIONS_MAX`] configurations.
    pub undecided: Vec<(Address, Field)>,
}

/// A model of consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Of writes and quorum reads.
    Linearizable,
    /// Of writes and local reads.
    Sequential,
}

/// An answer that no order of the operations explains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{consistency}: {reader} read the {field} of {account} at {block}, called at {called}, and got {value}, which no order of the \
     operations explains: acknowledged transfers before add up to {acknowledged}, all that were sent to {submitted}"
)]
pub struct Anomaly {
    /// Model that it violates.
    pub consistency: Consistency,
    /// Account.
    pub account: Address,
    /// Field.
    pub field: Field,
    /// Who read.
    pub reader: Client,
    /// Block at which was read.
    pub block: BlockId,
    /// Virtual time of the call.
    pub called: SimTime,
    /// The answer.
    pub value: U256,
    /// Sum of the transfers that were acknowledged before the call.
    pub acknowledged: U256,
    /// Sum of the transfers that were called before the answer.
    pub submitted: U256,
}

/// Failure to read a history.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the history: {source}")]
pub struct HistoryError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The cause.
    #[source]
    pub source: serde_json::Error,
}

impl History {
    /// Checks every object that was read.
    ///
    /// # Errors
    /// The first [`Anomaly`].
    pub fn check(&self) -> Result<Checked, Box<Anomaly>> {
        counter::check(self)
    }

    /// Returns a line of JSON for each operation.
    pub fn to_ndjson(&self) -> String {
        let lines = self.operations.iter().filter_map(|operation| serde_json::to_string(operation).ok());
        lines.fold(String::new(), |text, line| text + &line + "\n")
    }

    /// Reads the form of [`History::to_ndjson`].
    ///
    /// # Errors
    /// [`HistoryError`] with the line.
    pub fn from_ndjson(text: &str) -> Result<Self, HistoryError> {
        let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
        let operations =
            lines.map(|(line, text)| serde_json::from_str(text).map_err(|source| HistoryError { line, source }));
        Ok(Self { operations: operations.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(address) => write!(f, "the owner of {address}"),
            Self::Reader { replica, .. } => write!(f, "a reader of {replica}"),
            Self::Quorum => f.write_str("a quorum"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Balance => "balance",
            Self::Nonce => "nonce",
        })
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linearizable => "not linearizable",
            Self::Sequential => "not sequentially consistent",
        })
    }
}
