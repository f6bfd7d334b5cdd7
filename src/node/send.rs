//! Sending transactions.

use std::sync::Arc;

use super::{
    BlockRef, Contract, ContractError, Deployed, MinedTransaction, Node, NodeView, QueryError, SendError,
    writer::Writer,
};
use crate::{
    chain::{CallRequest, StateOverrides},
    primitives::{Address, B256, Bytes, Gas, Transaction, TransactionError, TransactionRequest, U256},
    vm::CallTracer,
};

/// Margin over a gas estimate, as a divisor of it: a quarter, for a state that changes until the transaction is mined.
const ESTIMATE_MARGIN_DIVISOR: u64 = 4;

/// Least margin: three slots that are written first (EIP-2929 and EIP-2200), such as those of rewards that a block brings meanwhile.
const ESTIMATE_MARGIN_MIN: u64 = 3 * 22_100;

/// A transaction to be sent together with others; see [`Node::send_together`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Submission {
    /// A raw signed transaction (EIP-2718), as for [`Node::send_raw`].
    Raw(Bytes),
    /// A request for a transaction of one of the node's accounts or of an impersonated one, as for [`Node::send_request`].
    Request(Box<CallRequest>),
}

impl Submission {
    const fn raw(&self) -> Option<&Bytes> {
        if let Self::Raw(raw) = self { Some(raw) } else { None }
    }
}

impl From<CallRequest> for Submission {
    fn from(request: CallRequest) -> Self {
        Self::Request(Box::new(request))
    }
}

/// A [`Submission`] with its signature checked.
pub(super) enum Prepared {
    Signed(Result<Arc<Transaction>, TransactionError>),
    Request(Box<CallRequest>),
}

/// A transaction without nonce and signature.
struct Draft {
    from: Address,
    /// Nonce of the request; `None` for the sender's next one.
    nonce: Option<u64>,
    fields: TransactionRequest,
}

impl Node {
    /// Sends a signed transaction, and returns its hash. With [`Mining::EachTransaction`](super::Mining::EachTransaction) it is in
    /// a block when this returns.
    ///
    /// # Errors
    /// [`SendError::Pool`] with the reason; [`SendError::Mine`] when the pool took it and no block could be made.
    pub fn send(&self, transaction: Transaction) -> Result<B256, SendError> {
        let hash = transaction.hash();
        self.write().send(&self.inner, Arc::new(transaction))?;
        Ok(hash)
    }

    /// Decodes and sends a raw transaction (EIP-2718).
    ///
    /// # Errors
    /// [`SendError::Transaction`] for bytes that do not decode; else as [`Node::send`].
    pub fn send_raw(&self, raw: &[u8]) -> Result<B256, SendError> {
        self.send(self.inner.recovery.decode(raw)?)
    }

    /// Recovers the senders of raw transactions on all cores and remembers them, so that sending these soon recovers none. Bytes
    /// that are no transaction are left out.
    pub fn recover_senders(&self, raws: &[Bytes]) {
        drop(self.inner.recovery.decode_batch(raws));
    }

    /// As [`Node::send_together`], of raw transactions alone.
    pub fn send_raw_batch(&self, raws: &[Bytes]) -> Vec<Result<B256, SendError>> {
        self.send_together(raws.iter().cloned().map(Submission::Raw).collect())
    }

    /// Sends transactions as one command: they share a block as far as its gas limit allows, and none of another caller comes
    /// between them. Signatures are recovered on all cores.
    ///
    /// Results are in the order of `submissions`; a refused transaction does not affect the others. The gas of a request is
    /// estimated after those before it.
    ///
    /// ```
    /// use chainbox::{chain::CallRequest, node::Node};
    /// let node = Node::new();
    /// let request = CallRequest::call(node.accounts()[1], vec![]).with_from(node.accounts()[0]);
    /// let sent = node.send_together(vec![request.clone().into(), request.into()]);
    /// assert!(sent.iter().all(Result::is_ok));
    /// assert_eq!(node.view().head().block().transactions().len(), 2);
    /// ```
    pub fn send_together(&self, submissions: Vec<Submission>) -> Vec<Result<B256, SendError>> {
        let prepared = self.prepare(submissions);
        let mut writer = self.write();
        // One command for all, as a refused one changes nothing. When one of them fails it, only the failing ones are left out.
        let mut view = self.view();
        let submitted = writer.shared_command(&self.inner, |writer| {
            let submit = |one| self.submit_or_fail(writer, &mut view, one);
            prepared.iter().map(submit).collect::<Result<Vec<_>, SendError>>()
        });
        let mut results = submitted.unwrap_or_else(|_| {
            let mut view = self.view();
            let alone = |one| writer.shared_command(&self.inner, |writer| self.submit(writer, &mut view, one));
            prepared.iter().map(alone).collect()
        });
        if let Err(error) = writer.automine(&self.inner)
            && let Some(last) = results.last_mut()
        {
            *last = Err(error.into());
        }
        results
    }

    /// Decodes the raw ones on all cores.
    pub(super) fn prepare(&self, submissions: Vec<Submission>) -> Vec<Prepared> {
        let raws: Vec<Bytes> = submissions.iter().filter_map(Submission::raw).cloned().collect();
        let mut decoded = self.inner.recovery.decode_batch(&raws).into_iter();
        let prepared = submissions.into_iter().map(|submission| match submission {
            Submission::Raw(_) => {
                Prepared::Signed(decoded.next().expect("one result for each raw transaction").map(Arc::new))
            }
            Submission::Request(request) => Prepared::Request(request),
        });
        prepared.collect()
    }

    pub(super) fn submit(
        &self,
        writer: &mut Writer,
        view: &mut Arc<NodeView>,
        prepared: &Prepared,
    ) -> Result<B256, SendError> {
        let transaction = match prepared {
            Prepared::Signed(decoded) => decoded.clone()?,
            Prepared::Request(request) => Arc::new(self.filled(writer, view, (**request).clone())?),
        };
        let hash = transaction.hash();
        writer.submit(&self.inner, transaction).map(|()| hash)
    }

    /// As [`Node::submit`]; the outer error is that of a failure, after which the writer may be changed.
    fn submit_or_fail(
        &self,
        writer: &mut Writer,
        view: &mut Arc<NodeView>,
        prepared: &Prepared,
    ) -> Result<Result<B256, SendError>, SendError> {
        match self.submit(writer, view, prepared) {
            Err(failure @ SendError::Mine(_)) => Err(failure),
            result => Ok(result),
        }
    }

    /// The transaction that a request asks for, after all that the writer has. `view` becomes the view of that.
    fn filled(
        &self,
        writer: &Writer,
        view: &mut Arc<NodeView>,
        request: CallRequest,
    ) -> Result<Transaction, SendError> {
        let now = writer.view(self.inner.replica(), Arc::clone(&self.inner.clock)).map_err(QueryError::from)?;
        *view = Arc::new(now.following(view));
        self.finish(self.draft(view, request)?, view)
    }

    /// Sends a transaction of one of the node's accounts, or of an impersonated one; fills in missing fields.
    ///
    /// It is simulated before it gets its nonce, so that a transaction that is not sent uses none.
    ///
    /// # Errors
    /// [`SendError::UnknownAccount`], [`SendError::WouldFail`] when its gas is to be estimated and it would fail, else as
    /// [`Node::send`].
    pub fn send_request(&self, request: CallRequest) -> Result<B256, SendError> {
        self.send_draft(self.draft(&self.view(), request)?)
    }

    /// As [`Node::send_request`], of one of the node's accounts alone: impersonation does not count. For callers other than
    /// development tools, such as the service.
    ///
    /// # Errors
    /// As [`Node::send_request`]; [`SendError::UnknownAccount`] for an impersonated sender too.
    pub fn send_as_account(&self, request: CallRequest) -> Result<B256, SendError> {
        let draft = self.draft(&self.view(), request)?;
        let address = draft.from;
        if self.inner.key_of(address).is_none() {
            return Err(SendError::UnknownAccount { address });
        }
        self.send_draft(draft)
    }

    fn send_draft(&self, draft: Draft) -> Result<B256, SendError> {
        // The nonce is read under the writer's lock, so that two callers never get the same one.
        let mut writer = self.write();
        let transaction = self.finish(draft, &self.view())?;
        let hash = transaction.hash();
        writer.send(&self.inner, Arc::new(transaction))?;
        Ok(hash)
    }

    /// Returns the transaction that [`Node::send_request`] would send, without sending it.
    ///
    /// # Errors
    /// As [`Node::send_request`].
    pub fn fill(&self, request: CallRequest) -> Result<Transaction, SendError> {
        let view = self.view();
        self.finish(self.draft(&view, request)?, &view)
    }

    /// Returns the transaction that a request asks for, to be signed elsewhere: any sender's, with every missing field filled in, the
    /// nonce by the pool. It is simulated first, where its gas is to be estimated. Nothing is sent, and the nonce is not taken.
    ///
    /// # Errors
    /// As [`Node::send_request`]; [`SendError::UnknownAccount`] never.
    pub fn unsigned(&self, request: CallRequest) -> Result<TransactionRequest, SendError> {
        let view = self.view();
        let nonce = request.nonce;
        let Draft { from, fields, .. } = Self::completed(&view, request.from.unwrap_or_default(), request)?;
        let nonce = nonce.map_or_else(|| view.nonce(from, BlockRef::Pending), Ok)?;
        Ok(TransactionRequest { nonce, ..fields })
    }

    /// Checks the sender, and fills in all fields but the nonce.
    fn draft(&self, view: &NodeView, request: CallRequest) -> Result<Draft, SendError> {
        let from = request.from.or_else(|| self.accounts().first().copied()).unwrap_or_default();
        if self.inner.key_of(from).is_none() && !view.impersonates(from) {
            return Err(SendError::UnknownAccount { address: from });
        }
        Self::completed(view, from, request)
    }

    fn completed(view: &NodeView, from: Address, request: CallRequest) -> Result<Draft, SendError> {
        let gas_limit = match request.gas {
            Some(gas) => gas,
            None => estimate_with_margin(view, &CallRequest { from: Some(from), ..request.clone() })?,
        };
        let fees = Fees::of(&request, view);
        let fields = TransactionRequest {
            chain_id: Some(request.chain_id.unwrap_or_else(|| view.chain_id())),
            nonce: 0,
            to: request.to,
            value: request.value,
            input: request.input,
            gas_limit,
            gas_price: fees.gas_price,
            max_fee_per_gas: fees.max_fee_per_gas,
            max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
            access_list: request.access_list,
        };
        Ok(Draft { from, nonce: request.nonce, fields })
    }

    /// Sets a draft's nonce and signs it.
    fn finish(&self, draft: Draft, view: &NodeView) -> Result<Transaction, SendError> {
        let nonce = match draft.nonce {
            Some(nonce) => nonce,
            None => view.nonce(draft.from, BlockRef::Pending)?,
        };
        let fields = TransactionRequest { nonce, ..draft.fields };
        Ok(match self.inner.key_of(draft.from) {
            Some(key) => fields.sign(key)?,
            None => fields.impersonate(draft.from)?,
        })
    }

    /// A tip that gets a transaction into the next block, in the smallest unit per unit of gas: 1 gwei, or 0 without base fee.
    pub fn suggested_tip(&self) -> u128 {
        suggested_tip(&self.view())
    }

    /// The receipt of a mined transaction, with its block and index; `None` while it is not mined. See
    /// [`NodeView::receipt`](super::NodeView::receipt).
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the store fails.
    pub fn receipt(&self, hash: B256) -> Result<Option<MinedTransaction>, QueryError> {
        self.view().receipt(hash)
    }

    /// Sends a request that is mined at once, and returns it in its block. A node of a [`SharedNetwork`](super::SharedNetwork) lets the
    /// network run until the node's replica has it in a block, for at most [`MINED_WITHIN_MAX`](super::MINED_WITHIN_MAX).
    ///
    /// # Errors
    /// [`ContractError`]: it would or did revert or halt, or was not mined at once.
    pub fn send_and_mine(&self, request: CallRequest) -> Result<MinedTransaction, ContractError> {
        let hash = match self.send_request(request.clone()) {
            Err(SendError::WouldFail { outcome }) => return Err(self.contract_error(&request, *outcome)),
            sent => sent?,
        };
        self.run_until_mined(hash)?;
        let mined = self.receipt(hash)?.ok_or(ContractError::NotMined { hash })?;
        if mined.is_success() {
            return Ok(mined);
        }
        // The reason is found by executing it again.
        Err(self.contract_error(&request, self.view().replay(hash, &mut CallTracer::new())?))
    }

    /// Transfers `value` of the native token, in its smallest unit.
    ///
    /// # Errors
    /// As [`Node::send_and_mine`].
    pub fn transfer(&self, from: Address, to: Address, value: U256) -> Result<MinedTransaction, ContractError> {
        self.send_and_mine(CallRequest { from: Some(from), to: Some(to), value, ..Default::default() })
    }

    /// Deploys a contract from init code: a template's marker and its encoded parameters.
    ///
    /// # Errors
    /// As [`Node::send_and_mine`], such as for a revert of the constructor.
    pub fn deploy(&self, from: Address, init_code: Bytes) -> Result<Deployed, ContractError> {
        self.deploy_with_value(from, init_code, U256::ZERO)
    }

    /// As [`Node::deploy`], with `value` of the native token for the contract, in its smallest unit.
    ///
    /// # Errors
    /// As [`Node::deploy`].
    pub fn deploy_with_value(&self, from: Address, init_code: Bytes, value: U256) -> Result<Deployed, ContractError> {
        let request = CallRequest { from: Some(from), input: init_code, value, ..Default::default() };
        let mined = self.send_and_mine(request)?;
        let created = mined.receipt().contract_address.ok_or_else(|| ContractError::Halted {
            reason: "the receipt of the creation has no contract address".to_owned(),
        })?;
        Ok(Deployed::new(self.contract(created, from), mined))
    }

    /// A handle to a contract, called by `sender`.
    pub fn contract(&self, address: Address, sender: Address) -> Contract {
        Contract::new(self.clone(), address, sender)
    }
}

/// The fee fields of a transaction, by which its type is chosen as in geth.
struct Fees {
    /// Set for the types before EIP-1559.
    gas_price: Option<u128>,
    max_fee_per_gas: u128,
    max_priority_fee_per_gas: u128,
}

impl Fees {
    /// Fills in missing fees. Without any, they are those of EIP-1559 where the next block has London's rules.
    fn of(request: &CallRequest, view: &NodeView) -> Self {
        let (fee, tip) = (request.max_fee_per_gas, request.max_priority_fee_per_gas);
        let suggested = suggested_tip(view);
        let gas_price = request.gas_price.or_else(|| {
            let is_before_london = fee.is_none() && tip.is_none() && !view.pool_context().fork.has_base_fee;
            is_before_london.then_some(suggested)
        });
        // A tip that overflows the sum is no lower for that: the pool refuses what the sender can't pay.
        let twice_base_fee = u128::from(view.next_base_fee()).saturating_mul(2);
        let max_fee_per_gas = fee.unwrap_or_else(|| twice_base_fee.saturating_add(tip.unwrap_or(suggested)));
        let max_priority_fee_per_gas = tip.unwrap_or_else(|| suggested.min(max_fee_per_gas));
        Self { gas_price, max_fee_per_gas, max_priority_fee_per_gas }
    }
}

fn suggested_tip(view: &NodeView) -> u128 {
    if view.next_base_fee() == 0 { 0 } else { 1_000_000_000 }
}

/// A gas estimate with a margin, at most the block's gas limit and a transaction's.
fn estimate_with_margin(view: &NodeView, request: &CallRequest) -> Result<Gas, SendError> {
    let gas = view.estimate_gas(&view.as_sent(request), BlockRef::Pending, &StateOverrides::new())?.get();
    let context = view.pool_context();
    let gas_max = context.fork.tx_gas_limit_max.map_or(context.gas_limit, |max| max.min(context.gas_limit)).get();
    // A plain transfer's cost is constant.
    let margin = if request.input.is_empty() { 0 } else { (gas / ESTIMATE_MARGIN_DIVISOR).max(ESTIMATE_MARGIN_MIN) };
    Ok(Gas::new(gas.saturating_add(margin).min(gas_max.max(gas))))
}
