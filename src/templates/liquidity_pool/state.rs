//! The pool's variables, in UniswapV2Pair's order and by its names.

use alloy_primitives::aliases::U112;

use super::{lp_token::LpToken, reserves::Reserves};
use crate::vm::contract::*;

storage! {
    /// State variables, in solc's order.
    pub(super) contract PoolStorage {
        pub(super) lp: LpToken,
        pub(super) factory: Slot<Address> as "factory",
        /// Whether the pool was made alone, with its tokens; Uniswap has no such pools.
        pub(super) is_alone: Slot<bool> as "isAlone",
        pub(super) token0: Slot<Address> as "token0",
        pub(super) token1: Slot<Address> as "token1",
        pub(super) reserve0: Slot<U112> as "reserve0",
        pub(super) reserve1: Slot<U112> as "reserve1",
        pub(super) block_timestamp_last: Slot<u32> as "blockTimestampLast",
        pub(super) price0_cumulative_last: Slot<U256> as "price0CumulativeLast",
        pub(super) price1_cumulative_last: Slot<U256> as "price1CumulativeLast",
        pub(super) k_last: Slot<U256> as "kLast",
        pub(super) unlocked: Slot<U256> as "unlocked",
    }
}

pub(super) const POOL: PoolStorage = PoolStorage::STATE;

/// Both reserves and their timestamp, which share a slot and are read and written together.
pub(super) const RESERVES: Slot<Reserves> = Slot::new(POOL.reserve0.place());
