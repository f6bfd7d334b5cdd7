//! Running a message without sending it, and a mined transaction again.

use super::{BlockRef, Node, NodeView, QueryError};
use crate::{
    chain::{BlockAttributes, CallContext, CallOutcome, CallRequest, StateOverrides},
    primitives::{AccessList, B256, Gas},
    vm::{CallTrace, CallTracer, Inspector},
};

impl NodeView {
    /// The state and the block that a message asked about `block` runs in: the block itself, or the next one for `Pending`.
    ///
    /// # Errors
    /// [`QueryError`] for a block or state that is not there.
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

    /// Runs `request` on the state after a block, with `overrides`, changing nothing. A revert is an answer.
    ///
    /// # Errors
    /// [`QueryError`] for a block or state that is not there, or a request that can't be run at all.
    pub fn call(
        &self,
        request: &CallRequest,
        block: BlockRef,
        overrides: &StateOverrides,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<CallOutcome, QueryError> {
        Ok(self.chain().call(&self.call_context(block)?, request, overrides, inspector)?)
    }

    /// A gas limit with which `request` succeeds; the inner answer is its outcome when no limit helps.
    ///
    /// # Errors
    /// As [`NodeView::call`].
    pub fn estimate_gas(
        &self,
        request: &CallRequest,
        block: BlockRef,
        overrides: &StateOverrides,
    ) -> Result<Result<Gas, CallOutcome>, QueryError> {
        Ok(self.chain().estimate_gas(&self.call_context(block)?, request, overrides)?)
    }

    /// The addresses and slots that `request` touches (EIP-2930), and how it ends.
    ///
    /// # Errors
    /// As [`NodeView::call`].
    pub fn access_list(&self, request: &CallRequest, block: BlockRef) -> Result<(AccessList, CallOutcome), QueryError> {
        Ok(self.chain().access_list(&self.call_context(block)?, request)?)
    }

    /// Runs a mined transaction again, telling `inspector` of every frame.
    ///
    /// # Errors
    /// [`QueryError::UnknownTransaction`]; [`QueryError::Pruned`] when the state before it is gone.
    pub fn replay(&self, hash: B256, inspector: &mut dyn Inspector) -> Result<CallOutcome, QueryError> {
        Ok(self.chain().trace_transaction(hash, inspector)?)
    }

    /// The calls that a mined transaction made.
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
    /// [`NodeView::call`] on the node as it is now.
    ///
    /// # Errors
    /// As [`NodeView::call`].
    pub fn call(&self, request: &CallRequest, block: BlockRef) -> Result<CallOutcome, QueryError> {
        self.view().call(request, block, &StateOverrides::new(), None)
    }
}
