//! Errors of the platform, with the codes of the service.

use alloy_primitives::U256;

use super::{
    entropy::EntropyError,
    records::{IdempotencyError, RecordError},
    scope::Scope,
    vault::VaultError,
};
use crate::{
    chain::{InvalidTransaction, PoolError},
    node::{EngineError, FullDisk, MineError, PacedError, QueryError, SendError},
    primitives::Height,
    store::StoreError,
};

/// An invalid field of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, such as `config.blockTime` or `validators[1].address`.
    pub path: String,
    /// Description of valid values.
    pub expected: String,
    /// Value that came, shortened.
    pub got: String,
}

/// A refused or failed operation of the platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlatformError {
    /// The request is invalid otherwise than by a field of its body.
    #[error("{message}")]
    BadRequest {
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The body failed validation.
    #[error("the request body failed validation: {}", summary(fields))]
    Validation {
        /// All invalid fields.
        fields: Vec<FieldError>,
    },
    /// The credentials lack a scope.
    #[error("the credentials lack the scope {}", scope.name())]
    MissingScope {
        /// Scope that is needed.
        scope: Scope,
    },
    /// Address of e-mail and password don't belong together; which of them is wrong is not told.
    #[error("the address of e-mail or the password is wrong")]
    WrongCredentials,
    /// Something was tried too often.
    #[error("too many attempts: try again in {retry_after_secs} s")]
    TooManyAttempts {
        /// Time until the next attempt, in seconds.
        retry_after_secs: u64,
    },
    /// The principal's role does not permit the operation.
    #[error("{message}")]
    Forbidden {
        /// What the operation needs.
        message: String,
    },
    /// No such resource.
    #[error("{kind} {id:?} was not found")]
    NotFound {
        /// Kind of the resource, such as `blockchain`.
        kind: &'static str,
        /// Requested id.
        id: String,
    },
    /// The operation conflicts with the present state.
    #[error("{message}")]
    Conflict {
        /// Description of the conflict.
        message: String,
    },
    /// The chain's protocol lacks what the operation is about, such as stake.
    #[error("{message}")]
    UnsupportedByConsensus {
        /// What the protocol lacks, and what it has in its place.
        message: String,
    },
    /// The sender cannot pay.
    #[error("the sender's balance of {available} does not cover {required}")]
    InsufficientBalance {
        /// Smallest sufficient balance, in the smallest unit.
        required: U256,
        /// Balance of the sender, in the smallest unit.
        available: U256,
    },
    /// The data was pruned by the retention policy.
    #[error("{message}")]
    Pruned {
        /// Description of the missing data.
        message: String,
    },
    /// The disk of the chain's store is full: nothing was changed, and reads go on.
    #[error(
        "the disk is full: {} bytes are free, writes stop below {}; make room, writing then resumes by itself",
        disk.free_bytes,
        disk.free_bytes_min
    )]
    StorageFull {
        /// Free bytes, and those below which writes stop.
        disk: FullDisk,
    },
    /// The platform failed.
    #[error("internal error: {message}")]
    Internal {
        /// Description of the failure.
        message: String,
    },
    /// No random bytes for an identifier or a key.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl PlatformError {
    /// Returns the error for a resource that does not exist.
    pub fn not_found(kind: &'static str, id: &str) -> Self {
        Self::NotFound { kind, id: id.to_owned() }
    }

    /// Returns the error for one invalid field.
    pub fn field(path: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::Validation { fields: vec![FieldError { path: path.into(), expected: expected.into(), got: got.into() }] }
    }

    /// Returns the error for a failure of the platform.
    pub fn internal(cause: impl core::fmt::Display) -> Self {
        Self::Internal { message: cause.to_string() }
    }

    /// Returns the error for a command to a chain that takes none.
    fn halted(reason: &str) -> Self {
        Self::Conflict { message: format!("the chain takes no transactions: {reason}") }
    }

    /// Returns the error for a chain on demand without a validator that could make its next block: too many of those that count are elsewhere.
    fn no_proposer(height: Height) -> Self {
        let message = format!(
            "block {height} can't be made: too many of the validators that the chain counts are sealed for elsewhere, so that those here are no \
             quorum, and no transaction gets into a block any more; make another chain, from GET /v1/blockchains/{{blockchainId}}/export where \
             it is to go on"
        );
        Self::Conflict { message }
    }

    /// Converts a failed query.
    pub fn from_query(cause: QueryError) -> Self {
        match cause {
            QueryError::UnknownHeight { height, .. } => Self::not_found("block", &height.to_string()),
            QueryError::UnknownBlock { hash } => Self::not_found("block", &hash.to_string()),
            QueryError::UnknownTransaction { hash } => Self::not_found("transaction", &hash.to_string()),
            QueryError::Pruned { .. } => Self::Pruned { message: cause.to_string() },
            QueryError::TooManyResults { max } => {
                let message = format!(
                    "there are more than {max} events to read, the most of one request: ask for fewer blocks, where it takes them"
                );
                Self::Conflict { message }
            }
            QueryError::Invalid(reason) => Self::from_invalid(reason),
            other => Self::internal(other),
        }
    }

    /// Converts a refused command to the replicas of a chain.
    pub(in crate::platform) fn from_command(cause: PacedError) -> Self {
        match cause {
            PacedError::Engine(EngineError::Halted { reason }) => {
                Self::Conflict { message: format!("the chain takes no commands: {reason}") }
            }
            PacedError::Stop(cause) => Self::Conflict { message: cause.to_string() },
            PacedError::Offence(cause) => Self::Conflict { message: cause.to_string() },
            other => Self::internal(other),
        }
    }

    /// Converts a rejected transaction.
    pub fn from_send(cause: SendError) -> Self {
        match cause {
            SendError::Pool(PoolError::Invalid(reason)) => Self::from_invalid(reason),
            SendError::Pool(PoolError::Overdraft { have, pooled, cost, .. }) => {
                Self::InsufficientBalance { required: pooled.saturating_add(cost), available: have }
            }
            SendError::UnknownAccount { address } => {
                Self::field("from", "an account that this service can sign for (unlocked)", address.to_string())
            }
            SendError::Unprotected { chain_id } => Self::field(
                "signedTransaction",
                format!("a transaction signed for chain {chain_id} (EIP-155)"),
                "one signed without a chain id",
            ),
            SendError::Query(cause) => Self::from_query(cause),
            SendError::Mine(MineError::Engine(EngineError::Halted { reason })) => Self::halted(&reason),
            SendError::Mine(MineError::NoProposer { height }) => Self::no_proposer(height),
            SendError::Mine(cause) => match cause.full_disk() {
                Some(disk) => Self::StorageFull { disk },
                None => Self::internal(cause),
            },
            other => Self::Conflict { message: other.to_string() },
        }
    }

    fn from_invalid(reason: InvalidTransaction) -> Self {
        match reason {
            InvalidTransaction::InsufficientFunds { have, want, .. }
            | InvalidTransaction::InsufficientFundsForTransfer { have, want, .. } => {
                Self::InsufficientBalance { required: want, available: have }
            }
            other => Self::Conflict { message: other.to_string() },
        }
    }

    /// Returns the `error.code` of the service.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } => "BAD_REQUEST",
            Self::Validation { .. } => "VALIDATION_ERROR",
            Self::WrongCredentials => "UNAUTHORIZED",
            Self::TooManyAttempts { .. } => "RATE_LIMITED",
            Self::MissingScope { .. } | Self::Forbidden { .. } => "FORBIDDEN",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::Conflict { .. } => "CONFLICT",
            Self::UnsupportedByConsensus { .. } => "UNSUPPORTED_BY_CONSENSUS",
            Self::InsufficientBalance { .. } => "INSUFFICIENT_BALANCE",
            Self::Pruned { .. } => "PRUNED",
            Self::StorageFull { .. } => "UNAVAILABLE",
            Self::Internal { .. } | Self::Entropy(_) => "INTERNAL_ERROR",
        }
    }
}

impl From<RecordError> for PlatformError {
    fn from(cause: RecordError) -> Self {
        match cause {
            RecordError::Missing { kind, id } => Self::NotFound { kind, id },
            RecordError::Exists { .. } | RecordError::Stale { .. } | RecordError::Taken { .. } => {
                Self::Conflict { message: cause.to_string() }
            }
            RecordError::Store(StoreError::Full { free, watermark }) => {
                Self::StorageFull { disk: FullDisk { free_bytes: free, free_bytes_min: watermark } }
            }
            RecordError::Store(cause) => Self::internal(cause),
            other => Self::internal(other),
        }
    }
}

impl From<VaultError> for PlatformError {
    fn from(cause: VaultError) -> Self {
        match cause {
            VaultError::Record(cause) => cause.into(),
            VaultError::Entropy(cause) => cause.into(),
            other => Self::internal(other),
        }
    }
}

impl From<IdempotencyError> for PlatformError {
    fn from(cause: IdempotencyError) -> Self {
        match cause {
            IdempotencyError::Record(cause) => cause.into(),
            IdempotencyError::Running => Self::Conflict { message: cause.to_string() },
            IdempotencyError::OtherRequest => {
                Self::field("Idempotency-Key", "a new key for a new request", cause.to_string())
            }
            IdempotencyError::KeyLength { .. } => Self::BadRequest { message: cause.to_string() },
        }
    }
}

fn summary(fields: &[FieldError]) -> String {
    let parts: Vec<String> =
        fields.iter().map(|field| format!("{}: expected {}", field.path, field.expected)).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_without_a_quorum_here_is_a_conflict_that_says_what_to_do() {
        let error = PlatformError::from_send(SendError::Mine(MineError::NoProposer { height: Height::new(7) }));
        let PlatformError::Conflict { message } = &error else { panic!("{error:?}") };
        assert!(
            ["block 7", "no quorum", "{blockchainId}/export"].iter().all(|said| message.contains(said)),
            "{message}"
        );
    }

    #[test]
    fn too_much_to_read_is_a_conflict_that_says_the_bound() {
        let error = PlatformError::from_query(QueryError::TooManyResults { max: 7 });
        assert!(
            matches!(&error, PlatformError::Conflict { message } if message.contains("more than 7 events")),
            "{error}"
        );
    }
}
