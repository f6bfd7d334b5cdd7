//! Where bytes live: one ordered, atomic key-value trait, in memory and on RocksDB.
//!
//! Everything that must survive together goes into one [`Batch`]: a block, its state, receipts,
//! indices and whatever hooks add are one write, whole or absent.

mod error;
mod kv;

pub use error::StoreError;
pub use kv::{Batch, KeyValue, Order, Table, Write};
