//! Stores that crash, fail or fill up on purpose, to test what code does then.
//!
//! A [`MemoryDisk`] is a disk in memory: it remembers what it held after every write, so that a test can reopen what a crash
//! at any instant leaves. A [`FailingStore`] stands before any store and fails the writes that a [`WriteFault`] names.
//! Together they test a whole node:
//!
//! ```
//! use std::sync::Arc;
//! use chainbox::{
//!     node::{Database, Node},
//!     primitives::ether,
//!     store::testing::{FailingStore, MemoryDisk, WriteFault},
//! };
//! let disk = Arc::new(MemoryDisk::new());
//! let store = Arc::new(FailingStore::new(disk.clone()));
//! let on = |store| Node::builder().with_database(Database::Store(store)).build();
//! let node = on(store.clone())?;
//! let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
//! node.transfer(alice, bob, ether(1))?;
//!
//! store.fail(WriteFault::after(0).disk_full());
//! assert!(node.transfer(alice, bob, ether(1)).is_err());
//! assert_eq!(node.view().head().height().get(), 1);
//! drop(node);
//!
//! store.recover();
//! let node = on(store)?;
//! node.transfer(alice, bob, ether(1))?;
//! assert_eq!(node.view().head().height().get(), 2);
//!
//! // A node can be opened on what a crash at any instant leaves.
//! for crashed in disk.crashes() {
//!     assert!(on(crashed)?.view().head().height().get() <= 2);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod disk;
mod failing;
mod fault;

pub use disk::MemoryDisk;
pub use failing::FailingStore;
pub use fault::WriteFault;
