#![doc = include_str!("../README.md")]

pub mod chain;
pub mod consensus;
pub mod node;
#[cfg(feature = "platform")]
pub mod platform;
pub mod primitives;
#[cfg(feature = "server")]
pub mod server;
pub mod sim;
pub mod state;
pub mod store;
pub mod system;
pub mod templates;
pub mod vm;

/// What almost every test imports: the node, blocks by name, addresses and amounts, the ready-made templates.
///
/// ```
/// use chainbox::prelude::*;
/// let node = Node::new();
/// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
/// node.transfer(alice, bob, ether(1))?;
/// assert_eq!(node.view().balance(bob, BlockRef::Latest)?, ether(10_001));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod prelude {
    pub use crate::{
        node::{
            BlockRef, Contract, MinedTransaction, Mining, Node, NodeEvent,
            testing::{expect_balance_changes, expect_event, expect_revert},
        },
        primitives::{Address, B256, Bytes, Height, KeyPair, Timestamp, U256, ether, gwei},
        templates::{Erc20Features, Erc20Params},
    };
}
