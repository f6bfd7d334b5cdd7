#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
#[cfg(feature = "testing")]
pub mod testing;
pub mod vm;

/// The `alloy` crates whose types this crate's interface uses, at the versions that it uses: `alloy-primitives`, `alloy-sol-types` and
/// `alloy-json-abi` 1.7. A crate that imports them from here needs no dependency on them. One that has them in its manifest anyway takes
/// a version that Cargo unifies with these:
///
/// ```toml
/// [dev-dependencies]
/// alloy-primitives = "1.7"
/// alloy-sol-types = "1.7"
/// ```
///
/// [`sol!`](alloy::sol_types::sol) needs their path:
///
/// ```
/// use chainbox::{
///     alloy::{primitives::U256, sol_types::sol},
///     node::Node,
///     templates::Erc20Params,
/// };
///
/// sol! {
///     #![sol(alloy_sol_types = chainbox::alloy::sol_types)]
///     interface Token {
///         function balanceOf(address account) external view returns (uint256);
///     }
/// }
///
/// let node = Node::new();
/// let alice = node.accounts()[0];
/// let gold = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code())?;
/// assert_eq!(gold.call(Token::balanceOfCall { account: alice })?, U256::from(1_000));
/// # Ok::<(), chainbox::node::ContractError>(())
/// ```
pub mod alloy {
    pub use alloy_json_abi as json_abi;
    pub use alloy_primitives as primitives;
    pub use alloy_sol_types as sol_types;
}

/// The imports of most tests: the node, block references, addresses and amounts, the built-in templates.
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
