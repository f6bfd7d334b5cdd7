//! Ready-made contracts in native Rust, one file or folder each.
//!
//! Each implements a standard Solidity ABI exactly, with Solidity's storage layout, so that a client
//! cannot distinguish it from compiled Solidity.

pub mod auction;
pub mod batch;
pub mod common;
pub mod erc1155;
pub mod erc20;
pub mod erc2771_forwarder;
pub mod erc4626;
pub mod erc721;
pub mod governance_dao;
pub mod lending;
pub mod liquidity_factory;
pub mod liquidity_pool;
pub mod liquidity_router;
pub mod marketplace;
pub mod multicall;
pub mod multisig;
pub mod price_feed;
pub mod record_registry;
pub mod staking_pool;
#[cfg(test)]
pub(crate) mod test_chain;
pub mod timelock_controller;
pub mod vesting_wallet;
pub mod wrapped_native;

use std::sync::{Arc, LazyLock};

use crate::vm::{Template, TemplateRegistry};

pub use auction::{Auction, AuctionParams};
pub use batch::{BATCH_ADDRESS, Batch};
pub use erc20::{Erc20, Erc20Features, Erc20Params};
pub use erc721::{Erc721, Erc721Features, Erc721Params};
pub use erc1155::{Erc1155, Erc1155Features, Erc1155Params};
pub use erc2771_forwarder::{Erc2771Forwarder, Erc2771ForwarderParams};
pub use erc4626::{Erc4626, Erc4626Params};
pub use governance_dao::{GovernanceDao, GovernanceDaoParams};
pub use lending::{Lending, LendingParams};
pub use liquidity_factory::{LiquidityFactory, LiquidityFactoryParams};
pub use liquidity_pool::{LiquidityPool, LiquidityPoolParams};
pub use liquidity_router::{LiquidityRouter, LiquidityRouterParams};
pub use marketplace::{Marketplace, MarketplaceParams};
pub use multicall::{MULTICALL3_ADDRESS, Multicall};
pub use multisig::{Multisig, MultisigParams};
pub use price_feed::{PriceFeed, PriceFeedParams};
pub use record_registry::{RecordRegistry, RecordRegistryParams};
pub use staking_pool::{RewardTerms, StakingPool, StakingPoolParams};
pub use timelock_controller::{TimelockController, TimelockControllerParams};
pub use vesting_wallet::{VestingAllocation, VestingWallet, VestingWalletParams};
pub use wrapped_native::{WrappedNative, WrappedNativeParams};

/// Its snippets are tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/templates.md")]
struct Page;

/// Returns the registry of all ready-made templates; clone it to add others.
pub fn builtin() -> &'static TemplateRegistry {
    static BUILTIN: LazyLock<TemplateRegistry> = LazyLock::new(|| {
        let mut registry = TemplateRegistry::new();
        let templates: [Arc<dyn Template>; 21] = [
            Arc::new(Erc20),
            Arc::new(Erc721),
            Arc::new(Erc1155),
            Arc::new(Erc4626),
            Arc::new(VestingWallet),
            Arc::new(Multicall),
            Arc::new(Erc2771Forwarder),
            Arc::new(Batch),
            Arc::new(RecordRegistry),
            Arc::new(GovernanceDao),
            Arc::new(TimelockController),
            Arc::new(StakingPool),
            Arc::new(LiquidityPool),
            Arc::new(LiquidityFactory),
            Arc::new(LiquidityRouter),
            Arc::new(Lending),
            Arc::new(PriceFeed),
            Arc::new(Multisig),
            Arc::new(WrappedNative),
            Arc::new(Marketplace),
            Arc::new(Auction),
        ];
        for template in templates {
            let taken = registry.register_own(template);
            debug_assert!(taken.is_ok(), "ready-made templates have identities of their own");
        }
        registry
    });
    &BUILTIN
}
