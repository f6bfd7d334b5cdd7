//! Simulated calls, gas estimates, and traces of mined transactions.

use super::{BlockRef, EstimateError, Node, NodeView, QueryError};
use crate::{
    chain::{BlockAttributes, CallContext, CallOutcome, CallRequest, StateOverrides},
    primitives::{AccessList, B256, Gas},
    vm::{CallTrace, CallTracer, Inspector},
};

impl NodeView {
    /// The state and the block in which a call at `block` runs: the block itself, or the next one for `Pending`.
    ///
    /// # Errors
    /// [`QueryError`] for an unknown block or a pruned state.
    pub fn call_context(&self, block: BlockRef) -> Result<CallContext, QueryError> {
        if block == BlockRef::Pending {
            let head = self.head().block();
            let attributes = BlockAttributes {
                timestamp: head.timestamp(),
                beneficiary: head.header().beneficiary,
                ..BlockAttributes::default()
            };
            return Ok(self.chain().next_call_context(&attributes)?);
        }
        Ok(self.chain().call_context(&self.block(block)?)?)
    }

    /// Runs `request` on the state after a block, with `overrides`, and discards its changes. A revert is a result, no error.
    ///
    /// # Errors
    /// [`QueryError`] for an unknown block, a pruned state, or a request that can't be executed at all.
    pub fn call(
        &self,
        request: &CallRequest,
        block: BlockRef,
        overrides: &StateOverrides,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<CallOutcome, QueryError> {
        Ok(self.chain().call(&self.call_context(block)?, request, overrides, inspector)?)
    }

    /// Returns a gas limit with which `request` succeeds, at most 1/64 above the smallest.
    ///
    /// # Errors
    /// [`EstimateError::Query`] as [`NodeView::call`]; [`EstimateError::Failed`] when it fails with any gas limit.
    pub fn estimate_gas(
        &self,
        request: &CallRequest,
        block: BlockRef,
        overrides: &StateOverrides,
    ) -> Result<Gas, EstimateError> {
        Ok(self.chain().estimate_gas(&self.call_context(block)?, request, overrides)?)
    }

    /// The addresses and slots that `request` touches (EIP-2930), and its outcome.
    ///
    /// # Errors
    /// As [`NodeView::call`].
    pub fn access_list(&self, request: &CallRequest, block: BlockRef) -> Result<(AccessList, CallOutcome), QueryError> {
        Ok(self.chain().access_list(&self.call_context(block)?, request)?)
    }

    /// Executes a mined transaction again, with `inspector` called for every frame.
    ///
    /// # Errors
    /// [`QueryError::UnknownTransaction`]; [`QueryError::Pruned`] when the state before it was pruned.
    pub fn replay(&self, hash: B256, inspector: &mut dyn Inspector) -> Result<CallOutcome, QueryError> {
        Ok(self.chain().trace_transaction(hash, inspector)?)
    }

    /// The call trace of a mined transaction.
    ///
    /// # Errors
    /// As [`NodeView::replay`].
    pub fn trace(&self, hash: B256) -> Result<CallTrace, QueryError> {
        let mut tracer = CallTracer::new().with_logs(true);
        self.replay(hash, &mut tracer)?;
        tracer.into_trace().ok_or(QueryError::UnknownTransaction { hash })
    }
}

impl Node {
    /// [`NodeView::call`] on the present view.
    ///
    /// # Errors
    /// As [`NodeView::call`].
    pub fn call(&self, request: &CallRequest, block: BlockRef) -> Result<CallOutcome, QueryError> {
        self.view().call(request, block, &StateOverrides::new(), None)
    }
}
