//! Scripted consensus: chains that fork, reorganise and become final by direct calls, without any protocol.
//!
//! For tests of wallets, indexers and contracts, in which the block with a transaction is reverted, included again at another
//! height, or becomes final.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    chain::{
        AnyHeader, Block, BlockAttributes, BlockExecutionError, Chain, ExecutedBlock, GenesisSpec, HeadChange,
        HeadError, InsertError, OpenError, ReadError,
    },
    primitives::{Timestamp, Transaction},
    state::MemoryState,
    store::MemoryStore,
};

/// Seconds between two blocks.
const PERIOD_SECS: u64 = 12;

/// Failure of a scripted step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The genesis is impossible.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No block could be built.
    #[error(transparent)]
    Build(#[from] BlockExecutionError),
    /// The chain refused a block.
    #[error(transparent)]
    Insert(#[from] InsertError),
    /// A block could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The head or finality can't move there.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// No block has this name.
    #[error("no block is called `{name}`; the first one is called `genesis`")]
    Unknown {
        /// The given name.
        name: String,
    },
    /// The name is taken.
    #[error("a block is called `{name}` already; give each block a name of its own")]
    Taken {
        /// The name.
        name: String,
    },
    /// A transaction cannot be included.
    #[error("block `{name}` cannot include transaction {place}: {reason}")]
    Transaction {
        /// The block.
        name: String,
        /// Index in the list, from 0.
        place: usize,
        /// The reason.
        reason: String,
    },
}

/// One chain whose consensus is a script. Blocks have names; `genesis` is the first.
///
/// ```
/// use chainbox::{chain::GenesisSpec, sim::ScriptedChain};
/// let mut chain = ScriptedChain::new(GenesisSpec::new(1_337))?;
/// chain.produce("a", [])?;
/// chain.produce("b", [])?;
/// // Two other blocks on top of `a`, on a side branch ...
/// chain.fork("a", "c", [])?;
/// chain.fork("c", "d", [])?;
/// assert_eq!(chain.head(), "b");
/// // ... that becomes canonical: `b` is reverted.
/// let change = chain.reorg("d")?;
/// assert_eq!((change.reverted.len(), change.applied.len()), (1, 2));
/// chain.finalize("c")?;
/// assert!(chain.reorg("b").is_err());
/// # Ok::<(), chainbox::sim::ScriptError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedChain {
    chain: Chain,
    names: BTreeMap<String, ExecutedBlock>,
    head: String,
    /// Number of blocks, which makes each distinct.
    made: u64,
}

impl ScriptedChain {
    /// Creates a chain in memory with its genesis block only.
    ///
    /// # Errors
    /// [`ScriptError::Open`] for an impossible genesis.
    pub fn new(genesis: GenesisSpec) -> Result<Self, ScriptError> {
        let chain = Chain::builder(genesis, Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()))
            .with_rules(Arc::new(AnyHeader))
            .open()?;
        let head = "genesis".to_owned();
        let names = BTreeMap::from([(head.clone(), chain.genesis().clone())]);
        Ok(Self { chain, names, head, made: 0 })
    }

    /// Returns the chain.
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns the name of the head.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Returns the block of a name.
    ///
    /// # Errors
    /// [`ScriptError::Unknown`].
    pub fn block(&self, name: &str) -> Result<&ExecutedBlock, ScriptError> {
        self.names.get(name).ok_or_else(|| ScriptError::Unknown { name: name.to_owned() })
    }

    /// Builds a block on the head with exactly these transactions, and makes it the head.
    ///
    /// # Errors
    /// As [`ScriptedChain::fork`].
    pub fn produce(
        &mut self,
        name: &str,
        transactions: impl IntoIterator<Item = Arc<Transaction>>,
    ) -> Result<HeadChange, ScriptError> {
        let parent = self.head.clone();
        self.fork(&parent, name, transactions)?;
        self.reorg(name)
    }

    /// Builds a block on `parent` with exactly these transactions; the head stays.
    ///
    /// # Errors
    /// [`ScriptError`]: a name that is unknown or taken, a transaction that cannot be included; nothing is changed then.
    pub fn fork(
        &mut self,
        parent: &str,
        name: &str,
        transactions: impl IntoIterator<Item = Arc<Transaction>>,
    ) -> Result<&ExecutedBlock, ScriptError> {
        if self.names.contains_key(name) {
            return Err(ScriptError::Taken { name: name.to_owned() });
        }
        let on = self.block(parent)?.block().clone();
        let attributes = BlockAttributes {
            timestamp: Timestamp::from_secs(on.timestamp().as_secs() + PERIOD_SECS),
            // Distinguishes equal blocks on one parent.
            extra_data: self.made.to_be_bytes().to_vec().into(),
            ..BlockAttributes::default()
        };
        let transactions: Vec<_> = transactions.into_iter().collect();
        let built = self.chain.build(on.hash(), &attributes, &mut transactions.clone().into_iter())?;
        if let Some((left_out, reason)) = built.left_out.first() {
            let place = transactions.iter().position(|one| one.hash() == left_out.hash()).unwrap_or_default();
            return Err(ScriptError::Transaction { name: name.to_owned(), place, reason: reason.to_string() });
        }
        let block: Arc<Block> = Arc::new(built.block);
        self.chain.insert(block.clone())?;
        self.made += 1;
        let executed = self.chain.block(block.hash())?;
        Ok(self.names.entry(name.to_owned()).or_insert(executed))
    }

    /// Makes a block of any branch the head.
    ///
    /// # Errors
    /// [`ScriptError::Unknown`]; [`ScriptError::Head`] when that would revert a final block.
    pub fn reorg(&mut self, name: &str) -> Result<HeadChange, ScriptError> {
        let hash = self.block(name)?.hash();
        let change = self.chain.set_head(hash)?;
        name.clone_into(&mut self.head);
        Ok(change)
    }

    /// Makes a block of the head's branch safe and final.
    ///
    /// # Errors
    /// [`ScriptError::Unknown`]; [`ScriptError::Head`] for a block of another branch.
    pub fn finalize(&mut self, name: &str) -> Result<(), ScriptError> {
        let hash = self.block(name)?.hash();
        Ok(self.chain.set_finality(hash, hash)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        primitives::{Address, Gas, KeyPair, TransactionRequest, U256, ether},
        sim::network::builder::NetworkBuilder,
    };

    fn transfer(key: &KeyPair, nonce: u64, to: u8) -> Arc<Transaction> {
        let request = TransactionRequest {
            chain_id: Some(1_337),
            nonce,
            to: Some(Address::repeat_byte(to)),
            value: U256::from(7),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: 1_000_000_000_000,
            ..TransactionRequest::default()
        };
        Arc::new(request.sign(key).unwrap())
    }

    fn balance(chain: &ScriptedChain, of: u8) -> U256 {
        let account = chain.chain().latest_state().unwrap().account(&Address::repeat_byte(of)).unwrap();
        account.map(|account| account.balance).unwrap_or_default()
    }

    #[test]
    fn a_payment_is_taken_back_and_comes_again_elsewhere() {
        let key = NetworkBuilder::validator_key(1, 0);
        let genesis = GenesisSpec::new(1_337).with_balance(key.address(), ether(1));
        let mut chain = ScriptedChain::new(genesis).unwrap();
        let payment = transfer(&key, 0, 0xaa);
        chain.produce("a", []).unwrap();
        chain.produce("paid", [payment.clone()]).unwrap();
        assert_eq!(balance(&chain, 0xaa), U256::from(7));

        chain.fork("a", "empty", []).unwrap();
        chain.fork("empty", "double spend", [transfer(&key, 0, 0xbb)]).unwrap();
        let change = chain.reorg("double spend").unwrap();
        assert!(change.is_reorg());
        assert_eq!((balance(&chain, 0xaa), balance(&chain, 0xbb)), (U256::ZERO, U256::from(7)));
        assert!(chain.chain().transaction(payment.hash()).unwrap().is_none());

        chain.reorg("paid").unwrap();
        chain.finalize("paid").unwrap();
        assert!(matches!(chain.reorg("double spend"), Err(ScriptError::Head(_))));
        assert_eq!((chain.head(), balance(&chain, 0xaa)), ("paid", U256::from(7)));
        assert_eq!(chain.chain().finalized().hash(), chain.block("paid").unwrap().hash());
    }

    #[test]
    fn wrong_lines_are_told_and_change_nothing() {
        let key = NetworkBuilder::validator_key(1, 0);
        let mut chain = ScriptedChain::new(GenesisSpec::new(1_337)).unwrap();
        chain.produce("a", []).unwrap();
        assert!(matches!(chain.produce("a", []), Err(ScriptError::Taken { .. })));
        assert!(matches!(chain.fork("nowhere", "b", []), Err(ScriptError::Unknown { .. })));
        let poor = chain.produce("b", [transfer(&key, 0, 1)]);
        assert!(matches!(poor, Err(ScriptError::Transaction { place: 0, .. })));
        assert!(matches!(chain.finalize("b"), Err(ScriptError::Unknown { .. })));
        assert_eq!(chain.head(), "a");
    }
}
