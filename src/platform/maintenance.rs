//! What an operator does with the stored data of a service: check, prune, back up.
//!
//! Checking and pruning are for a store that no service uses at the time; a backup is taken from a running one, or from its stopped store.

mod backup;
mod chains;
mod check;
mod prune;
mod service_log;
#[cfg(test)]
mod tests;

pub(super) use self::backup::Backups;
pub use self::{
    backup::Backup,
    check::{CheckReport, CheckedChain, check},
    prune::{Pruned, STATES_KEPT_MIN, prune},
};
