//! Simulated calls, gas estimates, and traces of mined transactions.

use super::{BlockRef, EstimateError, Node, NodeView, QueryError};
use crate::{
    chain::{CallContext, CallOutcome, CallRequest, StateOverrides},
    primitives::{AccessList, B256, Gas},
    vm::{CallTrace, CallTracer, Inspector},
};

impl NodeView {
    /// The block that `id` names and the state after it, in which a call runs: see [`NodeView::state`].
    ///
    /// # Errors
    /// [`QueryError`] for an unknown block or a pruned state.
    pub fn call_context(&self, id: BlockRef) -> Result<CallContext, QueryError> {
        match id {
            BlockRef::Pending => Ok(self.pending()?.call_context()),
            other => Ok(self.chain().call_context_over(&self.block(other)?, self.state(other)?)),
        }
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
