//! Errors of transactions, the pool, blocks, dumps and the chain. Where Ethereum client libraries match on a message, it is geth's.

use alloy_primitives::{Address, B256, Bloom, U256};

use super::{block::BlockDecodeError, rules::RuleError, spec::SpecError};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::StateError,
    store::StoreError,
    vm::{Hardfork, SYSTEM_ADDRESS},
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

/// Why an intervention can't set `prevRandao`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrevRandaoRefusal {
    /// The chain's fork is older than Paris.
    #[error("blocks have it from Paris on, and the chain's fork is {fork}")]
    BeforeParis {
        /// The fork at the block's height.
        fork: Hardfork,
    },
    /// The protocol decides `mixHash`.
    #[error("the consensus protocol decides mixHash by its validators' randomness")]
    Protocol,
    /// The value is zero.
    #[error("zero is not valid; set another value")]
    Zero,
}

/// An invalid block: the field, its value and the valid one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`got` is the block's value, `want` the valid one, in every variant")]
pub enum BlockError {
    #[error("number is {got}, the parent's successor is {want}")]
    Number { got: Height, want: Height },
    #[error("timestamp {got} is below the parent's, {parent}")]
    Timestamp { got: Timestamp, parent: Timestamp },
    #[error("gas limit {} is outside {}..={}", got.get(), low.get(), high.get())]
    GasLimit { got: Gas, low: Gas, high: Gas },
    #[error("base fee is {got:?}, EIP-1559 gives {want:?}")]
    BaseFee { got: Option<u64>, want: Option<u64> },
    #[error("ommers hash is {got}, without ommers it is {want}")]
    OmmersHash { got: B256, want: B256 },
    #[error("field {field} is set, but headers of fork {fork} don't have it")]
    UnknownField { field: &'static str, fork: Hardfork },
    #[error("field {field} is missing; headers of fork {fork} have it")]
    MissingField { field: &'static str, fork: Hardfork },
    #[error("field {field} is {got:#x}, at fork {fork} it is {want:#x}")]
    ForkField { field: &'static str, fork: Hardfork, got: U256, want: U256 },
    #[error("mix hash is {got}, at fork {fork} it is {want}")]
    MixHash { fork: Hardfork, got: B256, want: B256 },
    #[error("mix hash is zero, which it never is at fork {fork}")]
    MixHashZero { fork: Hardfork },
    #[error("an intervention sets prevRandao to {mix_hash}: {reason}")]
    PrevRandao {
        mix_hash: B256,
        /// Why it can't be set.
        reason: PrevRandaoRefusal,
    },
    #[error("the block's RLP has {got} bytes, at fork {fork} at most {max} are valid (EIP-7934)")]
    BlockSize { fork: Hardfork, got: usize, max: usize },
    #[error("extra data has {got} bytes, at most {max} are valid")]
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
    #[error("transaction {index} ({hash}) can't be executed: {reason}")]
    Transaction {
        /// Index of the transaction in the block.
        index: usize,
        hash: B256,
        #[source]
        reason: Box<InvalidTransaction>,
    },
    #[error("system call {index} to {to} failed: {reason}")]
    SystemCall {
        /// Index among the block's system calls.
        index: usize,
        /// The called contract.
        to: Address,
        /// The revert or halt reason.
        reason: String,
    },
    #[error("{count} interventions, but genesis allows none; set `allowInterventions` there")]
    Interventions { count: usize },
    #[error("a second execution gave another result: {what}")]
    Diverged { what: &'static str },
    #[error(transparent)]
    Rule(RuleError),
}

/// A dump that can't be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The bytes are not the expected JSON; the source has line and column.
    #[error("dump: {0}")]
    Json(#[from] serde_json::Error),
    /// The format version is not supported.
    #[error("dump: format {got} is not supported, this version reads format {want}")]
    Format {
        /// The dump's format version.
        got: u32,
        /// The supported format version.
        want: u32,
    },
    /// The store that the dump is to be loaded into holds blocks above genesis.
    #[error("dump: the store holds a chain already; load the dump into an empty store")]
    StoreNotEmpty,
    /// The dump is of a chain with another genesis block or specification.
    #[error("dump: its chain has genesis {got}, this chain has genesis {want}; both specifications must be the same")]
    OtherGenesis {
        /// The dump's genesis hash.
        got: B256,
        /// This chain's genesis hash.
        want: B256,
    },
    /// The chain's genesis state is pruned.
    #[error("dump: the state of genesis is pruned; load the dump into a chain that has it")]
    GenesisPruned,
    /// A block does not decode.
    #[error("dump: block {index} does not decode")]
    Block {
        /// Index among the dump's blocks.
        index: usize,
        /// The decoding error.
        #[source]
        source: BlockDecodeError,
    },
    /// A block's receipts do not decode.
    #[error("dump: receipts of block {index} do not decode: {source}")]
    Receipts {
        /// Index among the dump's blocks.
        index: usize,
        /// The decoding error.
        #[source]
        source: alloy_rlp::Error,
    },
    /// A block has more or fewer receipts than transactions.
    #[error("dump: block {index} has {got} receipts for {want} transactions")]
    ReceiptCount {
        /// Index among the dump's blocks.
        index: usize,
        /// Number of receipts.
        got: usize,
        /// Number of transactions.
        want: usize,
    },
    /// A block does not extend the block before it.
    #[error("dump: block {index} has parent {got}, the block before it is {want}")]
    Parent {
        /// Index among the dump's blocks.
        index: usize,
        /// The block's parent hash.
        got: B256,
        /// Hash of the block before it.
        want: B256,
    },
    /// A block's changes of the validator set do not decode.
    #[error("dump: validator updates of block {index} are not a list of addresses and weights")]
    Updates {
        /// Index among the dump's blocks.
        index: usize,
    },
    /// A block is invalid, as far as that shows without executing it.
    #[error("dump: block {index} is invalid: {reason}")]
    Invalid {
        /// Index among the dump's blocks.
        index: usize,
        /// The invalid field.
        reason: Box<BlockError>,
    },
    /// A receipt is not what its transaction, its logs and the receipt before it determine.
    #[error("dump: receipt {transaction} of block {index} contradicts its transaction or the receipt before it")]
    Receipt {
        /// Index among the dump's blocks.
        index: usize,
        /// Index of the transaction in the block.
        transaction: usize,
    },
    /// Genesis does not allow the pending interventions.
    #[error("dump: {0}")]
    PendingInterventions(#[source] BlockError),
    /// The last block is not the dump's head.
    #[error("dump: its last block is {got}, its head is {want}")]
    Head {
        /// Hash of the last block.
        got: B256,
        /// The dump's head.
        want: B256,
    },
    /// The accounts do not have the head's state root.
    #[error("dump: its accounts have state root {got}, its head has {want}")]
    StateRoot {
        /// State root of the accounts.
        got: B256,
        /// The head's state root.
        want: B256,
    },
    /// The pending interventions do not decode.
    #[error("dump: interventions do not decode: {0}")]
    Interventions(#[source] alloy_rlp::Error),
}

/// An operation on a chain that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The genesis specification is invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A genesis contract could not be deployed.
    #[error("genesis contract {address}: its constructor failed: {reason}")]
    GenesisContract {
        /// Address of the contract.
        address: Address,
        /// The invalid parameter, or the constructor's revert or halt reason.
        reason: String,
    },
    /// The store holds another chain.
    #[error("the store holds the chain with genesis {got}, the specification gives {want}")]
    OtherGenesis {
        /// Genesis hash in the store.
        got: B256,
        /// Genesis hash that the specification gives.
        want: B256,
    },
    /// The specification names another template registry.
    #[error(
        "template registry digest is {got}, genesis names {want}; open the chain with the templates of its genesis"
    )]
    OtherRegistry {
        /// Digest of the registry given.
        got: B256,
        /// Digest in the specification.
        want: B256,
    },
    /// No block has this hash.
    #[error("unknown block {hash}")]
    UnknownBlock {
        /// The requested hash.
        hash: B256,
    },
    /// The block's parent is unknown.
    #[error("block {hash}: unknown parent {parent}")]
    UnknownParent {
        /// Hash of the block.
        hash: B256,
        /// Hash of its parent.
        parent: B256,
    },
    /// The height is above the head.
    #[error("unknown block at height {height}: the head is at {head}")]
    UnknownHeight {
        /// The requested height.
        height: Height,
        /// Height of the head.
        head: Height,
    },
    /// The block or state was pruned by the retention policy.
    #[error("PRUNED: {what} at height {height} is gone; the oldest kept is {oldest}")]
    Pruned {
        /// `state` or `block`.
        what: &'static str,
        /// The requested height.
        height: Height,
        /// Height of the oldest one kept.
        oldest: Height,
    },
    /// The block is invalid.
    #[error("block {height} ({hash}): {reason}")]
    InvalidBlock {
        /// Height of the block.
        height: Height,
        /// Hash of the block.
        hash: B256,
        /// The invalid field.
        #[source]
        reason: BlockError,
    },
    /// The chain has no stake.
    #[error("the chain has no stake: its genesis has no `staking`")]
    NoStake,
    /// A view of a system contract failed.
    #[error("{signature} of a system contract failed: {reason}")]
    SystemView {
        /// Signature of the called function.
        signature: &'static str,
        /// The revert or halt reason.
        reason: String,
    },
    /// The change would revert a finalized block, or finalize a block that is not canonical.
    #[error("finalized block {finalized} is not an ancestor of {block}")]
    BelowFinality {
        /// The newest finalized block.
        finalized: B256,
        /// The block that contradicts it.
        block: B256,
    },
    /// The result is larger than the bound.
    #[error("query returned more than {max} results; narrow the range")]
    TooManyResults {
        /// Largest number of results.
        max: usize,
    },
    /// The dump can't be loaded.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// A stored block does not decode.
    #[error("stored block {hash} does not decode")]
    Corrupt {
        /// Hash of the block.
        hash: B256,
        /// The decoding error.
        #[source]
        source: BlockDecodeError,
    },
    /// The state could not be read or committed.
    #[error(transparent)]
    State(#[from] StateError),
    /// The store failed; the chain is unchanged.
    #[error(transparent)]
    Store(#[from] StoreError),
}
