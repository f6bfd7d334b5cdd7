//! The world state: accounts, their storage and code, versioned by commit.
//!
//! A *commit* is an immutable version of the state with Ethereum's Merkle-Patricia root (Yellow
//! Paper, 4.1 and appendix D). Its id is never reused; the cost of making one grows with the changes, not with
//! the state. [`StateStore`] makes commits, a [`StateView`] reads one, the [`Journal`] collects
//! the changes of a block with nested checkpoints.

mod account;
mod apply;
mod change;
mod commit;
mod error;
mod journal;
mod keys;
mod leaf;
mod memory;
#[cfg(any(test, feature = "testing"))]
pub mod model;
mod paged;
mod proof;
mod reader;
mod seen;
mod sorted;
#[cfg(any(test, feature = "testing"))]
pub mod suite;
#[cfg(test)]
mod tests;
mod trie;
mod verify;
mod view;

pub use account::{Account, EMPTY_CODE_HASH, EMPTY_ROOT};
pub use change::{AccountChange, AccountInfo, StateChanges};
pub use commit::{Commit, CommitId};
pub use error::StateError;
#[cfg(test)]
pub(crate) use journal::fixture;
pub use journal::{Access, CACHED_ENTRIES_MAX, Checkpoint, Journal, SlotWrite};
pub(crate) use journal::{AccountId, SlotId};
pub use memory::MemoryState;
pub use paged::PagedState;
pub use proof::{AccountProof, StorageProof};
pub use sorted::SortedMap;
pub use verify::{ProofError, verify_proof, verify_slot};
pub use view::{StateStore, StateView};
