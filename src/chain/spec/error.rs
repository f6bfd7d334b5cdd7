//! Errors of a genesis specification.

/// An invalid genesis specification.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not the expected JSON; the source has line and column.
    #[error("genesis: {0}")]
    Json(#[from] serde_json::Error),
    /// A field's value is invalid.
    #[error("genesis field `{field}`: {reason}")]
    Field {
        /// Name of the field in JSON.
        field: &'static str,
        /// The value, the valid ones.
        reason: String,
    },
}
