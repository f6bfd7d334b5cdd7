//! What several resources answer.

use serde::Serialize;
use utoipa::ToSchema;

/// What was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Deleted {
    /// Id of what was deleted.
    id: String,
    /// Always true.
    deleted: bool,
}

impl Deleted {
    /// Names what was deleted.
    pub(super) fn of(id: &str) -> Self {
        Self { id: id.to_owned(), deleted: true }
    }
}
