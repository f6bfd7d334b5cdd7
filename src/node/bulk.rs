//! Operations of one account as one transaction, all or none.

use alloy_sol_types::{SolCall, SolValue};

use super::{BlockRef, ContractError, MinedTransaction, Node};
use crate::{
    chain::{CallRequest, StateOverrides},
    primitives::{Address, Bytes},
    templates::{
        BATCH_ADDRESS,
        batch::{Operation, interface::Batch},
    },
    vm::{CallTracer, REVERTED},
};

/// Operations that were mined as one transaction.
#[derive(Clone, Debug)]
pub struct MinedBulk {
    mined: MinedTransaction,
    results: Vec<Bytes>,
    /// Whether each operation was a creation.
    are_creations: Vec<bool>,
}

impl MinedBulk {
    /// The transaction.
    pub const fn mined(&self) -> &MinedTransaction {
        &self.mined
    }

    /// What each operation returned, in their order; for a creation, the address as a word.
    pub fn results(&self) -> &[Bytes] {
        &self.results
    }

    /// Returns the address of the contract that the operation at `index` created, if it is a creation.
    pub fn created(&self, index: usize) -> Option<Address> {
        let result = self.results.get(index).filter(|_| self.are_creations[index])?;
        Address::abi_decode_validate(result).ok()
    }
}

/// Why operations had no effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// One of them failed, and all were undone.
    #[error("operation {index} failed, and all were undone: {source}")]
    Operation {
        /// Its index.
        index: usize,
        /// Why it failed.
        #[source]
        source: ContractError,
    },
    /// One of them is a creation without init code, as is a transfer to the zero address; nothing was sent.
    #[error(
        "operation {index} has the zero address as its target, which stands for a creation, and no init code: a transfer to the zero \
         address cannot be one of several operations"
    )]
    NoInitCode {
        /// Its index.
        index: usize,
    },
    /// The transaction was not sent, not mined, or ran out of gas.
    #[error(transparent)]
    Contract(#[from] ContractError),
}

impl Node {
    /// Runs operations as one transaction of `from`, in whose name each of them runs, and mines it: either all have their effect or none.
    ///
    /// ```
    /// use chainbox::{node::Node, primitives::U256, templates::{Erc20Params, batch::Operation, erc20::interface::Erc20Token}};
    /// let node = Node::new();
    /// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    /// let gold = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code())?;
    /// let send = |value| Operation::call(gold.address(), &Erc20Token::transferCall { to: bob, value: U256::from(value) });
    /// let sent = node.bulk(alice, &[send(40), Operation::transfer(bob, U256::from(1)), send(60)])?;
    /// assert_eq!((sent.results().len(), sent.mined().logs().len()), (3, 2));
    /// let refused = node.bulk(alice, &[Operation::transfer(bob, U256::from(1)), send(1)]).unwrap_err();
    /// assert!(refused.to_string().starts_with("operation 1 failed, and all were undone: execution reverted: ERC20InsufficientBalance"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BulkError::Operation`] for the first that fails, with the reason of a halt; [`BulkError::NoInitCode`]; [`BulkError::Contract`] as [`Node::send_and_mine`], with
    /// [`ContractError::NoCode`] on a chain whose genesis does not have the template `batch` at [`BATCH_ADDRESS`].
    pub fn bulk(&self, from: Address, operations: &[Operation]) -> Result<MinedBulk, BulkError> {
        self.bulk_at(from, None, operations)
    }

    /// As [`Node::bulk`], with a nonce that the operations depend on.
    pub(super) fn bulk_at(
        &self,
        from: Address,
        nonce: Option<u64>,
        operations: &[Operation],
    ) -> Result<MinedBulk, BulkError> {
        if let Some(index) = operations.iter().position(|one| one.target.is_zero() && one.data.is_empty()) {
            return Err(BulkError::NoInitCode { index });
        }
        self.check_batch()?;
        let input = Batch::executeCall { operations: operations.to_vec() }.abi_encode();
        let request = CallRequest { nonce, ..CallRequest::call(BATCH_ADDRESS, input).with_from(from) };
        let mined = self.send_and_mine(request.clone());
        let mined = mined.map_err(|error| self.bulk_error(error, &request, operations))?;
        let outcome =
            self.view().replay(mined.transaction().hash(), &mut CallTracer::new()).map_err(ContractError::from)?;
        let results = Batch::executeCall::abi_decode_returns(&outcome.output).unwrap_or_default();
        let are_creations = operations.iter().map(|operation| operation.target.is_zero()).collect();
        Ok(MinedBulk { mined, results, are_creations })
    }

    /// Checks that the chain has the template `batch` at its address.
    pub(super) fn check_batch(&self) -> Result<(), BulkError> {
        if self.view().code(BATCH_ADDRESS, BlockRef::Latest).map_err(ContractError::from)?.is_empty() {
            return Err(ContractError::NoCode { address: BATCH_ADDRESS }.into());
        }
        Ok(())
    }

    /// Tries the request of operations on the pending block.
    pub(super) fn check_bulk(&self, request: CallRequest, operations: &[Operation]) -> Result<(), BulkError> {
        let outcome = self.view().call(&request, BlockRef::Pending, &StateOverrides::new(), None);
        let outcome = outcome.map_err(ContractError::from)?;
        if outcome.is_success() {
            return Ok(());
        }
        let error = self.contract_error(&request, outcome);
        Err(self.bulk_error(error, &request, operations))
    }

    fn bulk_error(&self, error: ContractError, bulk: &CallRequest, operations: &[Operation]) -> BulkError {
        let Some(Batch::OperationFailed { index, reason }) = error.decode() else { return error.into() };
        let index = index.saturating_to::<usize>();
        if reason.is_empty()
            && let Some(reason) = self.halt_of(bulk, index)
        {
            return BulkError::Operation { index, source: ContractError::Halted { reason } };
        }
        let request = operations.get(index).map(|operation| CallRequest {
            from: bulk.from,
            to: (!operation.target.is_zero()).then_some(operation.target),
            value: operation.value,
            input: operation.data.clone(),
            ..CallRequest::default()
        });
        BulkError::Operation { index, source: self.reverted(&request.unwrap_or_default(), reason) }
    }

    /// Returns why the operation at `index` halts; `None` when it reverts. The contract tells no more than that it failed.
    fn halt_of(&self, bulk: &CallRequest, index: usize) -> Option<String> {
        let mut tracer = CallTracer::new();
        self.view().call(bulk, BlockRef::Pending, &StateOverrides::new(), Some(&mut tracer)).ok()?;
        let trace = tracer.into_trace()?;
        trace.calls.get(index)?.error.clone().filter(|error| error != REVERTED)
    }
}
