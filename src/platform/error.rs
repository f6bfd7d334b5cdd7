//! Why the platform refuses, in the service's codes.

use alloy_primitives::U256;

use crate::{
    chain::{InvalidTransaction, PoolError},
    node::{QueryError, SendError},
};

/// One field of a body that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where: `config.blockTime`, `validators[1].address`.
    pub path: String,
    /// What was expected.
    pub expected: String,
    /// What came, shortened.
    pub got: String,
}

/// A refused or failed operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlatformError {
    /// A parameter outside the body is wrong.
    #[error("{message}")]
    BadRequest {
        /// What is wrong.
        message: String,
    },
    /// The body failed validation.
    #[error("the request body failed validation: {}", summary(fields))]
    Validation {
        /// Every field at fault.
        fields: Vec<FieldError>,
    },
    /// No such resource.
    #[error("{kind} {id:?} was not found")]
    NotFound {
        /// What kind of resource.
        kind: &'static str,
        /// The id asked for.
        id: String,
    },
    /// The operation contradicts the present state.
    #[error("{message}")]
    Conflict {
        /// With what.
        message: String,
    },
    /// The sender cannot pay.
    #[error("the sender's balance of {available} does not cover {required}")]
    InsufficientBalance {
        /// The smallest sufficient balance, in the smallest unit.
        required: U256,
        /// The balance, in the smallest unit.
        available: U256,
    },
    /// The data was pruned by the retention policy.
    #[error("{message}")]
    Pruned {
        /// What.
        message: String,
    },
    /// The platform failed.
    #[error("internal error: {message}")]
    Internal {
        /// What failed.
        message: String,
    },
}

impl PlatformError {
    /// A resource that is not there.
    pub fn not_found(kind: &'static str, id: &str) -> Self {
        Self::NotFound { kind, id: id.to_owned() }
    }

    /// One field at fault.
    pub fn field(path: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::Validation { fields: vec![FieldError { path: path.into(), expected: expected.into(), got: got.into() }] }
    }

    /// A failure with its cause told.
    pub fn internal(cause: impl core::fmt::Display) -> Self {
        Self::Internal { message: cause.to_string() }
    }

    /// Why a query has no answer, in the service's terms.
    pub fn from_query(cause: QueryError) -> Self {
        match cause {
            QueryError::UnknownHeight { height, .. } => Self::not_found("block", &height.to_string()),
            QueryError::UnknownBlock { hash } => Self::not_found("block", &hash.to_string()),
            QueryError::UnknownTransaction { hash } => Self::not_found("transaction", &hash.to_string()),
            QueryError::Pruned { .. } => Self::Pruned { message: cause.to_string() },
            QueryError::Invalid(reason) => Self::from_invalid(reason),
            other => Self::internal(other),
        }
    }

    /// Why a transaction was not taken, in the service's terms.
    pub fn from_send(cause: SendError) -> Self {
        match cause {
            SendError::Pool(PoolError::Invalid(reason)) => Self::from_invalid(reason),
            SendError::UnknownAccount { address } => {
                Self::field("from", "an account that this service can sign for (unlocked)", address.to_string())
            }
            SendError::Query(cause) => Self::from_query(cause),
            SendError::Mine(cause) => Self::internal(cause),
            other => Self::Conflict { message: other.to_string() },
        }
    }

    fn from_invalid(reason: InvalidTransaction) -> Self {
        match reason {
            InvalidTransaction::InsufficientFunds { have, want, .. } => {
                Self::InsufficientBalance { required: want, available: have }
            }
            other => Self::Conflict { message: other.to_string() },
        }
    }

    /// The service's `error.code`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } => "BAD_REQUEST",
            Self::Validation { .. } => "VALIDATION_ERROR",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::Conflict { .. } => "CONFLICT",
            Self::InsufficientBalance { .. } => "INSUFFICIENT_BALANCE",
            Self::Pruned { .. } => "PRUNED",
            Self::Internal { .. } => "INTERNAL_ERROR",
        }
    }
}

fn summary(fields: &[FieldError]) -> String {
    let parts: Vec<String> =
        fields.iter().map(|field| format!("{}: expected {}", field.path, field.expected)).collect();
    parts.join("; ")
}
