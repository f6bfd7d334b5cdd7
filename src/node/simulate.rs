//! Simulated calls, gas estimates, and traces of mined transactions.

use super::{BlockRef, EstimateError, Node, NodeView, QueryError, SimulateError};
use crate::{
    chain::{CallContext, CallOutcome, CallRequest, Simulation, StateOverrides},
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
            other => Ok(self.chain().call_context_over(&self.block(other)?, self.state(other)?)?),
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

    /// Returns a request as it is tried before it is sent: with no more gas than a transaction of the next block may have. One that names no gas
    /// and pays for it is bound by what its sender can pay.
    #[must_use]
    pub fn as_sent(&self, request: &CallRequest) -> CallRequest {
        let tried = request.clone();
        let is_free = request.max_fee_per_gas.or(request.gas_price).unwrap_or(0) == 0;
        match (request.gas, self.pool_context().fork.tx_gas_limit_max) {
            (Some(gas), Some(max)) => tried.with_gas(gas.min(max)),
            (None, Some(max)) if is_free => tried.with_gas(max),
            _ => tried,
        }
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

    /// Runs operations one after another in a block, on the state after it, and returns what each would do: gas, exact estimate, events,
    /// differences, frames. All changes are discarded.
    ///
    /// ```
    /// use chainbox::{chain::{CallRequest, Simulation, StateOverrides}, node::{BlockRef, Node}, primitives::{Gas, U256}};
    /// let node = Node::new();
    /// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    /// let gift = CallRequest::call(bob, vec![]).with_from(alice).with_value(U256::from(5));
    /// let [gift] = &node.view().simulate(&[gift], BlockRef::Latest, &StateOverrides::new())?[..] else { unreachable!("one each") };
    /// assert_eq!(gift.gas_estimate, Some(Gas::new(21_000)));
    /// let balances: Vec<_> = gift.changes.iter().map(|account| (account.address, account.balance.is_some())).collect();
    /// assert!(balances.contains(&(bob, true)));
    /// # Ok::<(), chainbox::node::SimulateError>(())
    /// ```
    ///
    /// # Errors
    /// [`SimulateError::Query`] for an unknown block or a pruned state; [`SimulateError::Override`] for an override that contradicts
    /// itself; [`SimulateError::Operation`] for the first operation that can't be executed at all.
    pub fn simulate(
        &self,
        operations: &[CallRequest],
        block: BlockRef,
        overrides: &StateOverrides,
    ) -> Result<Vec<Simulation>, SimulateError> {
        Ok(self.chain().simulate(&self.call_context(block)?, operations, overrides)?)
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
