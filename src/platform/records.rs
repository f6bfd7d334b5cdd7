//! Records of the platform in the store: typed collections, their indices, and the unit of work.
//!
//! A [`Record`] is a serialisable value with an owner, a workspace; its key is the owner and its id, so that a look-up under another
//! workspace finds nothing. Each type declares its [`Index`]es. A list is read from one of them, page by page, and costs what the
//! page holds, not what exists.
//!
//! What changes together is one [`Unit`], the unit of work (Fowler, "Patterns of Enterprise Application Architecture", 2002): the
//! records, their index entries and counts, lines of the audit log, the response to an idempotent request and entries of the outbox
//! are one atomic batch. There is one writer at a time; what was read before a unit is checked in it by its revision.
//!
//! The store carries a format version: an older one is migrated when it is opened, a newer one is refused. Each record carries the
//! version of its type, and an older one is converted as it is read. `docs/platform.md` has the layout of the keys.

mod audit;
mod collection;
mod database;
mod entries;
mod error;
mod fronts;
mod idempotency;
mod index;
mod key;
mod left_open;
mod merged;
mod outbox;
mod page;
mod record;
mod rewriting;
mod stored;
#[cfg(test)]
mod tests;
mod unit;
mod verify;
mod view;

pub use audit::AuditLine;
pub use collection::Collection;
pub use database::{Migration, Records};
pub use error::RecordError;
pub use idempotency::{
    Acceptance, Accepted, IDEMPOTENCY_KEY_LEN_MAX, IdempotencyError, IdempotentRequest, OpenRequest, Response, Sender,
};
pub(in crate::platform) use idempotency::{FormerContent, KEPT_MS};
pub use index::{Index, Reach, SortKey};
pub use key::{Owner, WorkspaceId};
pub use merged::{Entries, chained_page, merged_page};
pub use outbox::OutboxEntry;
pub use page::{Cursor, Page, PageRequest, PageStart};
pub use record::Record;
pub(in crate::platform) use rewriting::rewritten;
pub use stored::Stored;
pub use unit::Unit;
