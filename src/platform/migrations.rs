//! The format of the platform's records that this build writes, and how it gets there from older ones.
//!
//! A migration reads types of records in their former forms. So it is of the module that has the type, and the records, which know no types of
//! their own, are given it here.
//!
//! | format | what is new in it |
//! |---|---|
//! | 1 | the first |
//! | 2 | members keep the origins of their workspaces and are in order by them |

use std::sync::Arc;

use super::{
    records::{Migration, RecordError, Records},
    workspace::members_with_origins,
};
use crate::{node::Clock, store::KeyValue};

/// Format that this build writes.
const FORMAT: u32 = 2;

/// Migrations to [`FORMAT`], one for each older format.
const MIGRATIONS: &[Migration] = &[Migration { from: 1, changes: members_with_origins }];

impl Records {
    /// Opens the records in a store, and migrates those of an older format.
    ///
    /// # Errors
    /// [`RecordError::NewerFormat`], [`RecordError::NoMigration`], [`RecordError::Corrupt`], [`RecordError::Store`].
    pub fn open(store: Arc<dyn KeyValue>, clock: Arc<dyn Clock>) -> Result<Self, RecordError> {
        Self::open_with(store, clock, FORMAT, MIGRATIONS)
    }

    /// Checks that this build reads the records of a store: they have its format, or one that it migrates.
    ///
    /// # Errors
    /// [`RecordError::NewerFormat`], [`RecordError::NoMigration`], and as [`Records::format_of`].
    pub fn check_format(store: &dyn KeyValue) -> Result<(), RecordError> {
        Self::check_format_with(store, FORMAT, MIGRATIONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_leads_from_each_older_format_to_the_next() {
        let from: Vec<u32> = MIGRATIONS.iter().map(|migration| migration.from).collect();
        assert_eq!(from, (1..FORMAT).collect::<Vec<_>>());
    }
}
