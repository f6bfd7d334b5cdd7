//! Errors of transactions and of the pool.

use alloy_primitives::{Address, B256, U256};

use crate::{
    primitives::Gas,
    system::permissions::PERMISSIONS_ADDRESS,
    vm::{HaltReason, SYSTEM_ADDRESS},
};

/// A transaction that can't be executed. One that is executed and fails is no error: it has a receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTransaction {
    /// The nonce was used already.
    #[error("nonce too low: address {address}, tx: {got} state: {want}")]
    NonceTooLow {
        /// The sender.
        address: Address,
        /// The transaction's nonce.
        got: u64,
        /// The sender's next nonce.
        want: u64,
    },
    /// Earlier nonces are missing.
    #[error("nonce too high: address {address}, tx: {got} state: {want}")]
    NonceTooHigh {
        /// The sender.
        address: Address,
        /// The transaction's nonce.
        got: u64,
        /// The sender's next nonce.
        want: u64,
    },
    /// The nonce is the largest possible (EIP-2681).
    #[error("nonce has max value: address {address}, nonce: {nonce}")]
    NonceMax {
        /// The sender.
        address: Address,
        /// The transaction's nonce.
        nonce: u64,
    },
    /// The sender's balance is below the transaction's largest cost.
    #[error("insufficient funds for gas * price + value: address {address} have {have} want {want}")]
    InsufficientFunds {
        /// The sender.
        address: Address,
        /// The sender's balance, in the smallest unit.
        have: U256,
        /// Gas limit times price plus the value, in the smallest unit.
        want: U256,
    },
    /// The sender's balance is below the value, by itself or with any gas.
    #[error("insufficient funds for transfer: address {address} have {have} want {want}")]
    InsufficientFundsForTransfer {
        /// The sender.
        address: Address,
        /// The sender's balance, in the smallest unit.
        have: U256,
        /// The value, in the smallest unit.
        want: U256,
    },
    /// The gas limit is below the intrinsic gas.
    #[error("intrinsic gas too low: have {}, want {}", have.get(), want.get())]
    IntrinsicGas {
        /// The transaction's gas limit.
        have: Gas,
        /// The intrinsic gas: the cost of data, access list and creation.
        want: Gas,
    },
    /// The gas limit is below the floor that the call data sets (EIP-7623).
    #[error("insufficient gas for floor data gas cost: have {}, want {}", have.get(), want.get())]
    FloorGas {
        /// The transaction's gas limit.
        have: Gas,
        /// Least gas that a transaction with this call data uses.
        want: Gas,
    },
    /// The gas limit is above the fork's bound for one transaction (EIP-7825).
    #[error("transaction gas limit too high (cap: {}, tx: {})", limit.get(), have.get())]
    GasLimitAboveCap {
        /// The transaction's gas limit.
        have: Gas,
        /// Largest gas limit of a transaction.
        limit: Gas,
    },
    /// The gas limit is above the block's.
    #[error("exceeds block gas limit: tx gas limit {}, block gas limit {}", have.get(), limit.get())]
    GasLimitAboveBlock {
        /// The transaction's gas limit.
        have: Gas,
        /// The block's gas limit.
        limit: Gas,
    },
    /// The gas limit is above the gas left in the block.
    #[error("gas limit reached: block has {} left, tx needs {}", left.get(), want.get())]
    BlockFull {
        /// Gas left in the block.
        left: Gas,
        /// The transaction's gas limit.
        want: Gas,
    },
    /// The transaction is longer than the rest of the block may be (EIP-7934).
    #[error("block size limit reached: block has {left} bytes left, tx needs {want}")]
    BlockSizeFull {
        /// Bytes left in the block's RLP.
        left: usize,
        /// Length of the transaction in it, in bytes.
        want: usize,
    },
    /// The largest fee is below the base fee (EIP-1559).
    #[error(
        "max fee per gas less than block base fee: address {address}, maxFeePerGas: {max_fee}, baseFee: {base_fee}"
    )]
    FeeBelowBaseFee {
        /// The sender.
        address: Address,
        /// Largest fee, in the smallest unit per unit of gas.
        max_fee: u128,
        /// Base fee of the block, in the smallest unit per unit of gas.
        base_fee: u64,
    },
    /// The largest tip is above the largest fee (EIP-1559).
    #[error(
        "max priority fee per gas higher than max fee per gas: address {address}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {max_fee}"
    )]
    TipAboveFee {
        /// The sender.
        address: Address,
        /// Largest tip, in the smallest unit per unit of gas.
        tip: u128,
        /// Largest fee, in the smallest unit per unit of gas.
        max_fee: u128,
    },
    /// The sender has code (EIP-3607).
    #[error("sender not an eoa: address {address}, codehash: {code_hash}")]
    SenderHasCode {
        /// The sender.
        address: Address,
        /// Keccak of its code.
        code_hash: B256,
    },
    /// A creation's init code is too long (EIP-3860).
    #[error("max initcode size exceeded: code size {size} limit {limit}")]
    InitCodeTooLarge {
        /// Length of the init code, in bytes.
        size: usize,
        /// Largest length, in bytes.
        limit: usize,
    },
    /// The transaction is signed for another chain (EIP-155).
    #[error("invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// The transaction's chain id.
        have: u64,
        /// This chain's id.
        want: u64,
    },
    /// The sender is the address that contracts see in system calls; nothing but the chain itself acts under it.
    #[error("invalid sender: {SYSTEM_ADDRESS} is the caller of system calls, and no transaction or call may name it")]
    SystemSender,
    /// The chain has a list of accounts, and the sender is not on it.
    #[error(
        "sender not allowed: address {address} is not on the chain's list of accounts; its administrator adds it by \
         setPermissions of the contract {PERMISSIONS_ADDRESS}"
    )]
    SenderNotAllowed {
        /// The sender.
        address: Address,
    },
    /// The transaction creates a contract, the chain has a list of deployers, and the sender is not on it.
    #[error(
        "deployer not allowed: address {address} is not on the chain's list of deployers, to which its administrator adds it by \
         setPermissions of the contract {PERMISSIONS_ADDRESS}, or the chain's genesis permits no deployments"
    )]
    DeployerNotAllowed {
        /// The sender.
        address: Address,
    },
    /// The transaction is unsigned (impersonated), which the chain does not allow.
    #[error("invalid sender: unsigned transactions are for development chains only")]
    Impersonated,
    /// The transaction type is not active at this height.
    #[error("transaction type not supported: type {ty:#04x} is taken once London is active")]
    TypeNotActive {
        /// The EIP-2718 type byte.
        ty: u8,
    },
    /// The largest cost does not fit 256 bits.
    #[error("insufficient funds for gas * price + value: address {address}, the largest cost is above 2^256")]
    CostOverflow {
        /// The sender.
        address: Address,
    },
}

/// A transaction that the pool rejects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The transaction is invalid, or not valid at this head.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// The transaction is in the pool.
    #[error("already known")]
    AlreadyKnown {
        /// Hash of the transaction.
        hash: B256,
    },
    /// The pool has a transaction with this sender and nonce, and this one's fees are not enough higher.
    #[error(
        "replacement transaction underpriced: needs maxFeePerGas {fee_needed} and maxPriorityFeePerGas {tip_needed}"
    )]
    ReplacementUnderpriced {
        /// Least `maxFeePerGas` that replaces it, in the smallest unit per unit of gas.
        fee_needed: u128,
        /// Least `maxPriorityFeePerGas` that replaces it, in the smallest unit per unit of gas.
        tip_needed: u128,
    },
    /// The init code of a creation has no template's marker, so that the creation would fail in a block and use all of its gas.
    #[error("{reason}")]
    NoTemplate {
        /// The reason for which it would fail.
        reason: HaltReason,
    },
    /// The transaction is too long.
    #[error("oversized data: transaction size {size}, limit {limit}")]
    Oversized {
        /// Length of its encoding, in bytes.
        size: usize,
        /// Largest length, in bytes.
        limit: usize,
    },
    /// The sender's balance does not cover it together with the sender's ready transactions.
    #[error(
        "insufficient funds for gas * price + value: address {address} have {have}, pooled cost {pooled}, tx cost {cost}"
    )]
    Overdraft {
        /// The sender.
        address: Address,
        /// The sender's balance, in the smallest unit.
        have: U256,
        /// Sum of the largest costs of the sender's ready transactions, in the smallest unit.
        pooled: U256,
        /// Largest cost of this transaction, in the smallest unit.
        cost: U256,
    },
    /// The pool is full, in number or in bytes, of transactions that pay at least as much.
    #[error("txpool is full: the cheapest of {count} pays {cheapest} per gas")]
    Full {
        /// Number of transactions in the pool.
        count: usize,
        /// `maxFeePerGas` of the one that would leave first, in the smallest unit per unit of gas.
        cheapest: u128,
    },
    /// The pool has the largest number of queued transactions, all of which pay at least as much.
    #[error("txpool is full: the cheapest of {count} queued transactions pays {cheapest} per gas")]
    QueueFull {
        /// Number of queued transactions.
        count: usize,
        /// Lowest `maxFeePerGas` among them, in the smallest unit per unit of gas.
        cheapest: u128,
    },
    /// The sender has the largest number of queued transactions, with lower nonces than this one.
    #[error("account limit exceeded: {address} has {count} transactions queued; send the missing nonces first")]
    SenderQueueFull {
        /// The sender.
        address: Address,
        /// Number of the sender's queued transactions.
        count: usize,
    },
    /// The transaction was queued for longer than the pool keeps one.
    #[error("queued for {secs} seconds, longer than {limit_secs}")]
    Expired {
        /// Time since it was queued, in seconds of chain time.
        secs: u64,
        /// Longest time, in seconds.
        limit_secs: u64,
    },
    /// The sender has the maximum number of transactions in the pool.
    #[error("account limit exceeded: {address} has {count} transactions pooled")]
    SenderFull {
        /// The sender.
        address: Address,
        /// Number of the sender's transactions in the pool.
        count: usize,
    },
    /// The sender's account could not be read.
    #[error("state could not be read: {reason}")]
    State {
        /// The state error.
        reason: String,
    },
}
