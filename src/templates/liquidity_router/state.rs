//! The router's immutables.

use super::IMMUTABLES;
use crate::vm::contract::*;

storage! {
    /// What Solidity would put into the code.
    pub(super) contract RouterImmutables layout at IMMUTABLES {
        pub(super) factory: Slot<Address> as "factory",
        pub(super) weth: Slot<Address> as "WETH",
    }
}

pub(super) const FIXED: RouterImmutables = RouterImmutables::STATE;
