//! Lines of an audit log, as its readers see them.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    platform::{
        Principal,
        records::{self, AuditLine, Stored},
    },
    server::{api_error::ApiError, clock, rest::App},
};

/// A line of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditView {
    /// Id of the line.
    id: String,
    /// Who acted.
    #[schema(example = "user:usr_0123456789abcdef")]
    subject: String,
    /// What was done.
    #[schema(example = "workspace.create")]
    action: String,
    /// What it was done to; transactions are named to those who may read their blockchain.
    target: String,
    /// Address of the client that asked for it; null of what the service did by itself.
    #[schema(example = "203.0.113.7")]
    client: Option<String>,
    /// Time: ISO 8601, UTC.
    created_at: String,
}

impl AuditView {
    fn new(app: &App, reader: &Principal, stored: &Stored<AuditLine>) -> Result<Self, ApiError> {
        Ok(Self {
            id: stored.id().to_owned(),
            subject: stored.value.subject.clone(),
            action: stored.value.action.clone(),
            target: app.platform().blockchains().shown_target(reader, &stored.value)?,
            client: stored.value.client.map(|address| address.to_string()),
            created_at: clock::iso_8601(stored.created_at_ms()),
        })
    }

    /// Returns the lines of a page as their reader sees them, and the length of the whole log.
    pub(super) fn page(
        app: &App,
        reader: &Principal,
        lines: &records::Page<AuditLine>,
    ) -> Result<(Vec<Self>, u64), ApiError> {
        let views = lines.items.iter().map(|stored| Self::new(app, reader, stored));
        Ok((views.collect::<Result<_, ApiError>>()?, lines.total))
    }
}
