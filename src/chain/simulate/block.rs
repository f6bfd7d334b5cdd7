//! The next block, built and executed without being kept, and continued when further transactions come.

use core::{fmt, ops::ControlFlow};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use imbl::Vector;

use super::CallContext;
use crate::{
    chain::{
        BlockExecutionError, Candidates, Chain, ExecutedBlock, InvalidTransaction, Receipt,
        context::ChainContext,
        execution::{self, Filled, Opened, Progress, total_difficulty},
        rules::BlockAttributes,
        version::Version,
    },
    primitives::{Timestamp, Transaction},
    state::{Account, AccountProof, Commit, CommitId, Journal, StateError, StateView},
};

/// A child of the head that no chain contains, with the state after it. Cloning is O(1).
#[derive(Clone)]
pub struct SimulatedBlock {
    context: Arc<ChainContext>,
    opened: Arc<Opened>,
    total_difficulty: U256,
    /// The parent's state with the interventions applied.
    parent: CommitId,
    transactions: Vector<Arc<Transaction>>,
    receipts: Vector<Receipt>,
    progress: Progress,
    /// Lowest effective tip of the candidates tried; `None` without any.
    tip_min: Option<u128>,
    state: Arc<HeldState>,
    /// The block with its roots, once somebody asks for it.
    block: Arc<OnceLock<ExecutedBlock>>,
}

impl fmt::Debug for SimulatedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("SimulatedBlock");
        debug.field("transactions", &self.transactions.len()).field("state", &self.state.commit());
        debug.finish_non_exhaustive()
    }
}

impl Chain {
    /// Builds the block that [`Chain::build`] would build on the head, and returns it with its receipts and state instead of
    /// keeping it for [`Chain::insert`].
    ///
    /// It records the pending interventions; those of `attributes` are left out.
    ///
    /// # Errors
    /// As [`Chain::build`].
    pub fn simulate_block(
        &self,
        attributes: &BlockAttributes,
        candidates: &mut dyn Candidates,
    ) -> Result<SimulatedBlock, BlockExecutionError> {
        let (context, parent, over) = (&self.context, &self.head, self.latest_version()?);
        let interventions: Vec<_> = self.pending_interventions().cloned().collect();
        let draft = execution::draft(context, parent, attributes, &interventions, self)?;
        let mut journal = Journal::new(over.view()?);
        let opened = execution::open(context, parent, attributes, draft, interventions, &mut journal)?;
        let base_fee = opened.header.base_fee_per_gas.unwrap_or(0);
        let mut tried = Tried { candidates, base_fee, tip_min: None };
        let progress = Progress::of_empty(context, &opened.header);
        let filled = execution::fill(context, &opened, &mut journal, progress, &mut tried)?;
        let version = context.commit_changes(over, &journal.take_changes())?;
        Ok(SimulatedBlock {
            context: Arc::clone(context),
            total_difficulty: total_difficulty(parent, &opened.header),
            opened: Arc::new(opened),
            parent: over.commit().id,
            transactions: filled.transactions.into(),
            receipts: filled.receipts.into(),
            progress: filled.progress,
            tip_min: tried.tip_min,
            state: Arc::new(HeldState::new(Vector::unit(Arc::clone(over)), version)?),
            block: Arc::default(),
        })
    }
}

impl SimulatedBlock {
    /// The block's timestamp.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_secs(self.opened.header.timestamp)
    }

    /// Lowest effective tip of the candidates that were tried; `None` without any.
    pub(crate) const fn tip_min(&self) -> Option<u128> {
        self.tip_min
    }

    /// The state after it.
    pub fn state(&self) -> Arc<dyn StateView> {
        Arc::clone(&self.state) as Arc<dyn StateView>
    }

    /// The unsealed block with the result of its execution. Its roots are computed when it is first asked for.
    pub fn block(&self) -> &ExecutedBlock {
        self.block.get_or_init(|| {
            let filled = Filled {
                transactions: self.transactions.iter().cloned().collect(),
                receipts: self.receipts.iter().cloned().collect(),
                left_out: Vec::new(),
                progress: self.progress,
            };
            let version = Arc::clone(&self.state.version);
            let built = execution::close(&self.context, (*self.opened).clone(), filled, version, self.parent);
            ExecutedBlock::new(Arc::new(built.block), built.execution, self.total_difficulty)
        })
    }

    /// The context of a call after the block's transactions.
    pub fn call_context(&self) -> CallContext {
        CallContext { state: self.state(), block: self.opened.block }
    }

    /// Returns the block with further candidates tried after those before, in this order. It costs what they cost: nothing is executed
    /// again. Those whose nonce is not their sender's next one are passed over.
    ///
    /// # Errors
    /// [`BlockExecutionError::Read`] when the state can't be read.
    pub fn continued(&self, candidates: Vec<Arc<Transaction>>) -> Result<Self, BlockExecutionError> {
        let context = &self.context;
        let base_fee = self.opened.header.base_fee_per_gas.unwrap_or(0);
        let mut in_turn = InTurn::new(&*self.state, candidates)?;
        let mut tried = Tried { candidates: &mut in_turn, base_fee, tip_min: self.tip_min };
        let mut journal = Journal::new(Arc::clone(&self.state.view));
        let filled = execution::fill(context, &self.opened, &mut journal, self.progress, &mut tried)?;
        let tip_min = tried.tip_min;
        if filled.transactions.is_empty() {
            return Ok(Self { progress: filled.progress, tip_min, ..self.clone() });
        }
        let version = context.commit_changes(&self.state.version, &journal.take_changes())?;
        let mut next = Self { progress: filled.progress, tip_min, block: Arc::default(), ..self.clone() };
        next.transactions.extend(filled.transactions);
        next.receipts.extend(filled.receipts);
        next.state = Arc::new(self.state.followed_by(version)?);
        Ok(next)
    }
}

/// Candidates, with the lowest effective tip of those that were tried.
struct Tried<'a> {
    candidates: &'a mut dyn Candidates,
    base_fee: u64,
    tip_min: Option<u128>,
}

impl Candidates for Tried<'_> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        let next = self.candidates.next()?;
        let tip = next.effective_tip_per_gas(self.base_fee).unwrap_or(0);
        self.tip_min = Some(self.tip_min.map_or(tip, |lowest| lowest.min(tip)));
        Some(next)
    }

    fn mark_invalid(&mut self, transaction: &Transaction, reason: &InvalidTransaction) {
        self.candidates.mark_invalid(transaction, reason);
    }
}

/// Transactions in a fixed order, without those whose nonce is not their sender's next one.
struct InTurn {
    transactions: std::vec::IntoIter<Arc<Transaction>>,
    /// Next nonce of each sender.
    nonces: BTreeMap<Address, u64>,
}

impl InTurn {
    fn new(state: &dyn StateView, transactions: Vec<Arc<Transaction>>) -> Result<Self, StateError> {
        let mut nonces = BTreeMap::new();
        for sender in transactions.iter().map(|transaction| transaction.sender()) {
            nonces.insert(sender, state.account(&sender)?.map_or(0, |account| account.nonce));
        }
        Ok(Self { transactions: transactions.into_iter(), nonces })
    }
}

impl Candidates for InTurn {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        let nonces = &mut self.nonces;
        self.transactions.by_ref().find(|transaction| {
            let next = nonces.get_mut(&transaction.sender()).filter(|next| **next == transaction.nonce());
            next.map(|next| *next = next.saturating_add(1)).is_some()
        })
    }

    fn mark_invalid(&mut self, transaction: &Transaction, _reason: &InvalidTransaction) {
        self.nonces.insert(transaction.sender(), transaction.nonce());
    }
}

/// A state that keeps its version, and those that this was made from: that of a block in no chain is discarded with the last
/// reference to it.
#[derive(Debug)]
struct HeldState {
    view: Arc<dyn StateView>,
    version: Arc<Version>,
    before: Vector<Arc<Version>>,
}

impl HeldState {
    fn new(before: Vector<Arc<Version>>, version: Arc<Version>) -> Result<Self, StateError> {
        Ok(Self { view: version.view()?, version, before })
    }

    fn followed_by(&self, version: Arc<Version>) -> Result<Self, StateError> {
        let mut before = self.before.clone();
        before.push_back(Arc::clone(&self.version));
        Self::new(before, version)
    }
}

impl StateView for HeldState {
    fn commit(&self) -> Commit {
        self.view.commit()
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.view.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.view.storage(address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.view.code(hash)
    }

    fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError> {
        self.view.proof(address, slots)
    }

    fn for_each_account(&self, visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>) -> Result<(), StateError> {
        self.view.for_each_account(visit)
    }

    fn for_each_slot(
        &self,
        address: &Address,
        visit: &mut dyn FnMut(U256, U256) -> ControlFlow<()>,
    ) -> Result<(), StateError> {
        self.view.for_each_slot(address, visit)
    }
}
