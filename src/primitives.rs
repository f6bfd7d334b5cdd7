//! Ethereum's basic types: addresses, hashes, units, keys, signatures and transactions.
//!
//! The lowest floor. Ethereum's formats come from the `alloy` crates; signing and recovery use
//! `k256` directly.

pub(crate) mod amount;
mod keys;
pub(crate) mod maps;
mod mnemonic;
pub(crate) mod mutation;
pub(crate) mod near_names;
mod quantity;
mod recovery;
mod signature;
mod transaction;
mod units;

pub use alloy_consensus::{Header, TxEip1559, TxEip2930, TxLegacy};
pub use alloy_eips::eip2930::{AccessList, AccessListItem};
pub use alloy_primitives::{
    Address, B64, B256, Bloom, Bytes, Log, LogData, Signature, TxKind, U256, address, b256, hex, keccak256, uint,
};

pub use keys::{KeyError, KeyPair};
pub use mnemonic::{DEFAULT_MNEMONIC, MnemonicError, Wallet};
pub use quantity::{DurationUnits, parse_amount, parse_decimal, parse_duration_secs, parse_percent};
pub use recovery::SenderRecovery;
pub use signature::{SignatureError, recover_signer};
pub use transaction::{IMPERSONATED_TYPE, Transaction, TransactionError, TransactionRequest};
pub use units::{Gas, Height, OutOfGas, Timestamp, ether, gwei};
pub(crate) use units::{millis_rounded_up, secs_rounded_up};
