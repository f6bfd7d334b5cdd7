//! What a contract is written with, to be imported whole: `use chainbox::vm::contract::*`.

pub use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256};
pub use alloy_sol_types::{SolCall, SolConstructor, SolError, SolEvent, SolInterface, SolValue};

pub use super::{
    Host, Stop, Unit,
    abi::{NONE_PAYABLE, Returns, empty_revert, panic, require, revert},
    math::{CheckedMath, Rounding, mul_div},
    storage::{Array, Mapping, Slot, StorageLayout, record, storage},
};
