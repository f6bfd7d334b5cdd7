//! A type of record for tests, with an index of every kind.

use core::num::NonZeroUsize;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    node::{Clock, ManualClock},
    platform::records::{Index, Owner, PageRequest, Reach, Record, Records, Sender, SortKey, WorkspaceId},
    primitives::Timestamp,
    store::{KeyValue, MemoryStore},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) title: String,
    /// Unique in the whole service, where there is one.
    pub(super) number: Option<u64>,
    pub(super) shelf: u8,
}

impl Note {
    pub(super) const BY_TITLE: Index<Self> =
        Index::ordered("title", Reach::Owner, |_| Some(SortKey::new()), |note| SortKey::new().text(&note.value.title));
    pub(super) const BY_SHELF: Index<Self> = Index::ordered(
        "shelf",
        Reach::Owner,
        |note| Some(SortKey::new().number(note.value.shelf.into())),
        |note| SortKey::new().text(&note.value.title),
    );
    pub(super) const UNIQUE_TITLE: Index<Self> =
        Index::unique("unique-title", Reach::Owner, |note| Some(SortKey::new().text(&note.value.title)));
    pub(super) const NUMBER: Index<Self> =
        Index::unique("number", Reach::Service, |note| Some(SortKey::new().number(note.value.number?)));
    pub(super) const ALL: Index<Self> = Index::ordered(
        "all",
        Reach::Service,
        |_| Some(SortKey::new()),
        |note| SortKey::new().flag(note.value.number.is_some()).text(&note.value.title),
    );

    pub(super) fn titled(title: &str) -> Self {
        Self { title: title.to_owned(), number: None, shelf: 0 }
    }
}

impl Record for Note {
    const KIND: &'static str = "note";
    const INDICES: &'static [Index<Self>] =
        &[Self::BY_TITLE, Self::BY_SHELF, Self::UNIQUE_TITLE, Self::NUMBER, Self::ALL];
}

pub(super) fn workspace(name: &str) -> Owner {
    Owner::Workspace(WorkspaceId::new(name).unwrap())
}

/// A sender of requests of whom nothing but the subject is known.
pub(super) fn sender(subject: &str) -> Sender {
    Sender { subject: subject.to_owned(), ..Sender::default() }
}

pub(super) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_secs(1_000)))
}

pub(super) fn open(store: Arc<dyn KeyValue>) -> Records {
    let clock: Arc<dyn Clock> = clock();
    Records::open(store, clock).unwrap()
}

pub(super) fn in_memory() -> Records {
    open(Arc::new(MemoryStore::new()))
}

pub(super) fn limit(limit: usize) -> PageRequest {
    PageRequest::first(NonZeroUsize::new(limit).unwrap())
}
