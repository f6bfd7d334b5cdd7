//! Why a transaction, a block or a request was refused. Messages keep the words that client libraries match.

use alloy_primitives::{Address, B64, B256, Bloom, U256};

use super::{block::BlockDecodeError, rules::RuleError, spec::SpecError};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::StateError,
    store::StoreError,
};

/// Why a transaction can't be executed at all. A transaction that executes and fails is no error but a receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTransaction {
    /// Its nonce was used already.
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
    /// The sender's nonce can't grow any more (EIP-2681).
    #[error("nonce has max value: address {address}, nonce: {nonce}")]
    NonceMax {
        /// The sender.
        address: Address,
        /// The refused nonce.
        nonce: u64,
    },
    /// The balance does not cover the largest cost.
    #[error("insufficient funds for gas * price + value: address {address} have {have} want {want}")]
    InsufficientFunds {
        /// The sender.
        address: Address,
        /// Its balance.
        have: U256,
        /// Gas limit times price, and the value.
        want: U256,
    },
    /// The gas limit is below what any execution costs.
    #[error("intrinsic gas too low: have {}, want {}", have.get(), want.get())]
    IntrinsicGas {
        /// The transaction's gas limit.
        have: Gas,
        /// What data, access list and creation cost before anything runs.
        want: Gas,
    },
    /// The gas limit is above the block's.
    #[error("exceeds block gas limit: tx gas limit {}, block gas limit {}", have.get(), limit.get())]
    GasLimitAboveBlock {
        /// The transaction's gas limit.
        have: Gas,
        /// The block's.
        limit: Gas,
    },
    /// The rest of the block is too small for it.
    #[error("gas limit reached: block has {} left, tx needs {}", left.get(), want.get())]
    BlockFull {
        /// Gas left in the block.
        left: Gas,
        /// The transaction's gas limit.
        want: Gas,
    },
    /// The most it would pay is below the base fee (EIP-1559).
    #[error(
        "max fee per gas less than block base fee: address {address}, maxFeePerGas: {max_fee}, baseFee: {base_fee}"
    )]
    FeeBelowBaseFee {
        /// The sender.
        address: Address,
        /// What it offers.
        max_fee: u128,
        /// What the block asks.
        base_fee: u64,
    },
    /// The tip is above the whole price (EIP-1559).
    #[error(
        "max priority fee per gas higher than max fee per gas: address {address}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {max_fee}"
    )]
    TipAboveFee {
        /// The sender.
        address: Address,
        /// What it offers the author.
        tip: u128,
        /// What it offers in all.
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
    /// A creation with too much init code (EIP-3860).
    #[error("max initcode size exceeded: code size {size} limit {limit}")]
    InitCodeTooLarge {
        /// Bytes sent.
        size: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Signed for another chain (EIP-155).
    #[error("invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// What it was signed for.
        have: u64,
        /// This chain.
        want: u64,
    },
    /// Nobody signed it, and the chain does not allow that.
    #[error("invalid sender: unsigned transactions are for development chains only")]
    Impersonated,
    /// Its type is not taken at this height yet.
    #[error("transaction type not supported: type {ty:#04x} is taken once London is active")]
    TypeNotActive {
        /// The EIP-2718 type byte.
        ty: u8,
    },
    /// Gas limit times price does not fit 256 bits.
    #[error("insufficient funds for gas * price + value: address {address}, the largest cost is above 2^256")]
    CostOverflow {
        /// The sender.
        address: Address,
    },
}

/// Why the pool did not take a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// It could never be executed, or not now.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// It is in the pool.
    #[error("already known")]
    AlreadyKnown {
        /// Its hash.
        hash: B256,
    },
    /// Another transaction of this sender and nonce is there, and this one does not pay enough more.
    #[error(
        "replacement transaction underpriced: needs maxFeePerGas {fee_needed} and maxPriorityFeePerGas {tip_needed}"
    )]
    ReplacementUnderpriced {
        /// The smallest fee that replaces.
        fee_needed: u128,
        /// The smallest tip that replaces.
        tip_needed: u128,
    },
    /// The pool is full of transactions that pay at least as much.
    #[error("txpool is full: the cheapest of {count} pays {cheapest} per gas")]
    Full {
        /// Transactions in the pool.
        count: usize,
        /// What the cheapest pays at most.
        cheapest: u128,
    },
    /// The sender has as many transactions in the pool as it may.
    #[error("account limit exceeded: {address} has {count} transactions pooled")]
    SenderFull {
        /// The sender.
        address: Address,
        /// How many it has.
        count: usize,
    },
    /// The sender's account could not be read.
    #[error("state could not be read: {reason}")]
    State {
        /// What failed.
        reason: String,
    },
}

/// What is wrong with a block, found by executing it independently. Each carries what the block says and what is right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`got` is what the block says, `want` what is right, in every variant")]
pub enum BlockError {
    #[error("number is {got}, its parent's successor is {want}")]
    Number { got: Height, want: Height },
    #[error("timestamp {got} is below the parent's, {parent}")]
    Timestamp { got: Timestamp, parent: Timestamp },
    #[error("gas limit {} is outside {}..={}", got.get(), low.get(), high.get())]
    GasLimit { got: Gas, low: Gas, high: Gas },
    #[error("base fee is {got:?}, EIP-1559 gives {want:?}")]
    BaseFee { got: Option<u64>, want: Option<u64> },
    #[error("ommers hash is {got}, without ommers it is {want}")]
    OmmersHash { got: B256, want: B256 },
    #[error("field {field} is set, and this chain has none")]
    UnknownField { field: &'static str },
    #[error("extra data has {got} bytes, at most {max} fit")]
    ExtraDataLength { got: usize, max: usize },
    #[error("extra data is {got}, keccak of the payload is {want}")]
    ExtraData { got: alloy_primitives::Bytes, want: alloy_primitives::Bytes },
    #[error("transactions root is {got}, the body gives {want}")]
    TransactionsRoot { got: B256, want: B256 },
    #[error("gas used is {}, execution used {}", got.get(), want.get())]
    GasUsed { got: Gas, want: Gas },
    #[error("state root is {got}, execution gives {want}")]
    StateRoot { got: B256, want: B256 },
    #[error("receipts root is {got}, execution gives {want}")]
    ReceiptsRoot { got: B256, want: B256 },
    #[error("logs bloom differs from the one that execution gives")]
    LogsBloom { got: Box<Bloom>, want: Box<Bloom> },
    #[error("nonce {got}: the protocol refuses it")]
    Nonce { got: B64 },
    #[error("transaction {index} ({hash}) can't be executed: {reason}")]
    Transaction {
        /// Its place in the block.
        index: usize,
        hash: B256,
        #[source]
        reason: Box<InvalidTransaction>,
    },
    #[error("system call {index} to {to} failed: {reason}")]
    SystemCall {
        /// Its place among the block's system calls.
        index: usize,
        /// The contract.
        to: Address,
        /// What it answered.
        reason: String,
    },
    #[error("{count} interventions, and genesis allows none")]
    Interventions { count: usize },
    #[error("the body differs from the one that the header was made with")]
    Body,
    #[error("executing again gave another result: {what}")]
    Diverged { what: &'static str },
    #[error(transparent)]
    Rule(RuleError),
}

/// Why the chain could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The genesis specification is not usable.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A genesis contract's constructor failed.
    #[error("genesis contract {address}: its constructor failed: {reason}")]
    GenesisContract {
        /// Where it was to be.
        address: Address,
        /// What the constructor answered.
        reason: String,
    },
    /// The store holds another chain.
    #[error("the store holds the chain with genesis {got}, the specification gives {want}")]
    OtherGenesis {
        /// Genesis hash in the store.
        got: B256,
        /// Genesis hash of the specification.
        want: B256,
    },
    /// Genesis was made with other templates.
    #[error(
        "template registry digest is {got}, genesis names {want}: open the chain with the templates that it was made with"
    )]
    OtherRegistry {
        /// Of the registry given.
        got: B256,
        /// In the specification.
        want: B256,
    },
    /// No block has this hash.
    #[error("unknown block {hash}")]
    UnknownBlock {
        /// The hash.
        hash: B256,
    },
    /// The block's parent is not here.
    #[error("block {hash}: unknown parent {parent}")]
    UnknownParent {
        /// The block.
        hash: B256,
        /// What it extends.
        parent: B256,
    },
    /// The canonical chain does not reach this height.
    #[error("unknown block at height {height}: the head is at {head}")]
    UnknownHeight {
        /// What was asked for.
        height: Height,
        /// The newest there is.
        head: Height,
    },
    /// What was asked for existed and was pruned by the retention policy.
    #[error("PRUNED: {what} at height {height} is gone; the oldest kept is {oldest}")]
    Pruned {
        /// `state` or `block`.
        what: &'static str,
        /// What was asked for.
        height: Height,
        /// The oldest that can be read.
        oldest: Height,
    },
    /// The block is wrong.
    #[error("block {height} ({hash}): {reason}")]
    InvalidBlock {
        /// Its height.
        height: Height,
        /// Its hash.
        hash: B256,
        /// What is wrong with it.
        #[source]
        reason: BlockError,
    },
    /// The chain has no stake.
    #[error("the chain has no stake: its genesis has no `staking`")]
    NoStake,
    /// A view of a system contract failed.
    #[error("{signature} of a system contract failed: {reason}")]
    SystemView {
        /// Which view.
        signature: &'static str,
        /// What it answered.
        reason: String,
    },
    /// Finality never moves back or to a side chain.
    #[error("finalized block {finalized} is not an ancestor of {block}")]
    BelowFinality {
        /// The newest finalized block.
        finalized: B256,
        /// The block that contradicts it.
        block: B256,
    },
    /// More blocks or logs than one answer may hold.
    #[error("query returned more than {max} results; narrow the range")]
    TooManyResults {
        /// The bound.
        max: usize,
    },
    /// A dump is not usable here.
    #[error("dump: {reason}")]
    Dump {
        /// What is wrong.
        reason: String,
    },
    /// Stored bytes are no block.
    #[error("stored block {hash} does not decode")]
    Corrupt {
        /// Its hash.
        hash: B256,
        /// What is wrong with it.
        #[source]
        source: BlockDecodeError,
    },
    /// The state floor failed.
    #[error(transparent)]
    State(#[from] StateError),
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
