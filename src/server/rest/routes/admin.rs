//! `/v1/admin`: what the operators of the service do.

use serde::Serialize;
use utoipa::ToSchema;

use super::audit_lines::AuditView;
use crate::{
    platform::{Backup, Scope},
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            answer::Change,
            endpoint::{Access, Endpoint, Runs, Tag},
            page::Page,
            request::Request,
        },
    },
};

/// A copy of the whole database.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BackupView {
    /// Id of the backup: the name of its folder in the configured one.
    #[schema(example = "backup_0123456789abcdef")]
    id: String,
    /// Length of its files, in bytes.
    #[schema(example = 1048576)]
    bytes: u64,
    /// Time at which it was written: ISO 8601, UTC.
    created_at: String,
}

impl From<Backup> for BackupView {
    fn from(backup: Backup) -> Self {
        Self { id: backup.id, bytes: backup.bytes, created_at: clock::iso_8601(backup.created_at_ms) }
    }
}

const BACKUP: &str = "\
Everything of all workspaces as it is at one moment; requests go on meanwhile. It takes credentials of the default workspace. The folder \
is the service's configuration alone (`--backup-path`); `chainbox db restore` makes a database of a backup. The master key is not in it.";

const AUDIT: &str = "\
What users did that is of no workspace, such as to sign up, to log in and to change a password, and mails that could not be delivered. It takes \
credentials of the default workspace. Each workspace has a log of its own.";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let admin = Access::Scope(Scope::Admin);
    vec![
        Endpoint::post("/v1/admin/backups", "createBackup", Tag::Service, admin, "Writes a backup of the database.")
            .described(BACKUP)
            .runs(Runs::Long)
            .acts(back_up),
        Endpoint::get(
            "/v1/admin/audit",
            "listServiceAuditLines",
            Tag::Service,
            admin,
            "Lists who did what to the service itself, the oldest first.",
        )
        .described(AUDIT)
        .lists(&["createdAt"], audit),
    ]
}

fn back_up(app: &App, request: &Request) -> Result<Change<BackupView>, ApiError> {
    let id = request.new_id(app.platform(), "backup")?;
    Ok(Change::done(app.platform().back_up(request.principal()?, &id)?.into()))
}

fn audit(app: &App, request: &Request, page: &Page) -> Result<(Vec<AuditView>, u64), ApiError> {
    let principal = request.principal()?;
    AuditView::page(app, principal, &app.platform().service_log(principal, &page.request())?)
}
