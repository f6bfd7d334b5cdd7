//! Key-value storage: one ordered, atomic trait, in memory and on RocksDB.
//!
//! Everything that must be durable together goes into one [`Batch`]: a block, its state, receipts,
//! indices and what commit hooks add are one atomic write.

#[cfg(feature = "platform")]
mod cached;
mod error;
mod identity;
mod kv;
mod memory;
mod overlay;
mod prefixed;
#[cfg(feature = "rocksdb")]
mod rocks;
#[cfg(any(test, feature = "testing"))]
pub mod suite;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(feature = "platform")]
pub use cached::CachedStore;
pub use error::StoreError;
pub use identity::check_identity;
pub use kv::{Batch, KeyValue, Order, Write};
pub use memory::MemoryStore;
pub use overlay::OverlayStore;
pub use prefixed::PrefixedStore;
#[cfg(all(test, feature = "rocksdb"))]
pub(crate) use rocks::deleted_keys_passed;
#[cfg(feature = "rocksdb")]
pub use rocks::{Durability, FreeSpace, RocksOptions, RocksStore};
pub use table::Table;
