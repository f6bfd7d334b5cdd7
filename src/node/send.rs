//! Sending transactions.

use std::sync::Arc;

use super::{BlockRef, Contract, ContractError, MinedTransaction, Node, QueryError, SendError};
use crate::{
    chain::{CallRequest, StateOverrides},
    primitives::{Address, B256, Bytes, Gas, Transaction, TransactionRequest, U256},
    vm::CallTracer,
};

/// Margin over a gas estimate, as a divisor of it: a quarter, for a state that changes until the transaction is mined.
const ESTIMATE_MARGIN_DIVISOR: u64 = 4;

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

    /// Sends many raw transactions, which share a block as far as its gas limit allows. Signatures are recovered on all cores.
    ///
    /// Results are in the order of `raws`; a refused transaction does not affect the others.
    pub fn send_raw_batch(&self, raws: &[Bytes]) -> Vec<Result<B256, SendError>> {
        let decoded = self.inner.recovery.decode_batch(raws);
        let mut writer = self.write();
        let mut results: Vec<_> = decoded
            .into_iter()
            .map(|decoded| {
                let transaction = Arc::new(decoded?);
                let hash = transaction.hash();
                writer.command(&self.inner, |writer| writer.submit(transaction)).map(|()| hash)
            })
            .collect();
        if let Err(error) = writer.automine(&self.inner)
            && let Some(last) = results.last_mut()
        {
            *last = Err(error.into());
        }
        results
    }

    /// Sends a transaction of one of the node's accounts, or of an impersonated one; fills in missing fields.
    ///
    /// It is simulated before it gets its nonce, so that a transaction that is not sent uses none.
    ///
    /// # Errors
    /// [`SendError::UnknownAccount`], [`SendError::WouldFail`] when its gas is to be estimated and it would fail, else as
    /// [`Node::send`].
    pub fn send_request(&self, request: CallRequest) -> Result<B256, SendError> {
        self.send_draft(self.draft(request)?)
    }

    /// As [`Node::send_request`], of one of the node's accounts alone: impersonation does not count. For callers other than
    /// development tools, such as the service.
    ///
    /// # Errors
    /// As [`Node::send_request`]; [`SendError::UnknownAccount`] for an impersonated sender too.
    pub fn send_as_account(&self, request: CallRequest) -> Result<B256, SendError> {
        let draft = self.draft(request)?;
        let address = draft.from;
        if self.inner.key_of(address).is_none() {
            return Err(SendError::UnknownAccount { address });
        }
        self.send_draft(draft)
    }

    fn send_draft(&self, draft: Draft) -> Result<B256, SendError> {
        // The nonce is read under the writer's lock, so that two callers never get the same one.
        let mut writer = self.write();
        let transaction = self.finish(draft)?;
        let hash = transaction.hash();
        writer.send(&self.inner, Arc::new(transaction))?;
        Ok(hash)
    }

    /// Returns the transaction that [`Node::send_request`] would send, without sending it.
    ///
    /// # Errors
    /// As [`Node::send_request`].
    pub fn fill(&self, request: CallRequest) -> Result<Transaction, SendError> {
        let draft = self.draft(request)?;
        self.finish(draft)
    }

    /// Checks the sender, and fills in all fields but the nonce.
    fn draft(&self, request: CallRequest) -> Result<Draft, SendError> {
        let from = request.from.or_else(|| self.accounts().first().copied()).unwrap_or_default();
        let view = self.view();
        if self.inner.key_of(from).is_none() && !view.impersonates(from) {
            return Err(SendError::UnknownAccount { address: from });
        }
        let gas_limit = match request.gas {
            Some(gas) => gas,
            None => self.estimate_with_margin(&CallRequest { from: Some(from), ..request.clone() })?,
        };
        let tip = request.max_priority_fee_per_gas.unwrap_or_else(|| self.suggested_tip());
        let fields = TransactionRequest {
            chain_id: Some(request.chain_id.unwrap_or_else(|| view.chain_id())),
            nonce: 0,
            to: request.to,
            value: request.value,
            input: request.input,
            gas_limit,
            gas_price: request.gas_price,
            max_fee_per_gas: request.max_fee_per_gas.unwrap_or_else(|| 2 * u128::from(view.next_base_fee()) + tip),
            max_priority_fee_per_gas: request.max_fee_per_gas.map_or(tip, |most| tip.min(most)),
            access_list: request.access_list.unwrap_or_default(),
        };
        Ok(Draft { from, nonce: request.nonce, fields })
    }

    /// Sets a draft's nonce and signs it.
    fn finish(&self, draft: Draft) -> Result<Transaction, SendError> {
        let nonce = match draft.nonce {
            Some(nonce) => nonce,
            None => self.view().nonce(draft.from, BlockRef::Pending)?,
        };
        let fields = TransactionRequest { nonce, ..draft.fields };
        Ok(match self.inner.key_of(draft.from) {
            Some(key) => fields.sign(key)?,
            None => fields.impersonate(draft.from)?,
        })
    }

    /// A tip that gets a transaction into the next block, in the smallest unit per unit of gas: 1 gwei, or 0 without base fee.
    pub fn suggested_tip(&self) -> u128 {
        if self.view().next_base_fee() == 0 { 0 } else { 1_000_000_000 }
    }

    /// A gas estimate with a margin, at most the block's gas limit.
    fn estimate_with_margin(&self, request: &CallRequest) -> Result<Gas, SendError> {
        let view = self.view();
        let gas = view.estimate_gas(request, BlockRef::Pending, &StateOverrides::new())?.get();
        let gas_max = view.pool_context().gas_limit.get();
        // A plain transfer's cost is constant.
        let margin = if request.input.is_empty() { 0 } else { gas / ESTIMATE_MARGIN_DIVISOR };
        Ok(Gas::new(gas.saturating_add(margin).min(gas_max.max(gas))))
    }

    /// The receipt of a mined transaction, with its block and index; `None` while it is not mined. See
    /// [`NodeView::receipt`](super::NodeView::receipt).
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the store fails.
    pub fn receipt(&self, hash: B256) -> Result<Option<MinedTransaction>, QueryError> {
        self.view().receipt(hash)
    }

    /// Sends a request that is mined at once, and returns it in its block.
    ///
    /// # Errors
    /// [`ContractError`]: it would or did revert or halt, or was not mined at once.
    pub fn send_and_mine(&self, request: CallRequest) -> Result<MinedTransaction, ContractError> {
        let hash = self.send_request(request)?;
        let mined = self.receipt(hash)?.ok_or(ContractError::NotMined { hash })?;
        if mined.is_success() { Ok(mined) } else { Err(self.failure_of(hash)?) }
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
    pub fn deploy(&self, from: Address, init_code: Bytes) -> Result<Contract, ContractError> {
        let request = CallRequest { from: Some(from), input: init_code, ..Default::default() };
        let mined = self.send_and_mine(request)?;
        let created = mined.receipt().contract_address.ok_or_else(|| ContractError::Halted {
            reason: "the receipt of the creation has no contract address".to_owned(),
        })?;
        Ok(self.contract(created, from))
    }

    /// A handle to a contract, called by `sender`.
    pub fn contract(&self, address: Address, sender: Address) -> Contract {
        Contract::new(self.clone(), address, sender)
    }

    /// The reason for which a mined transaction failed, found by executing it again.
    fn failure_of(&self, hash: B256) -> Result<ContractError, QueryError> {
        let outcome = self.view().replay(hash, &mut CallTracer::new())?;
        Ok(SendError::WouldFail { outcome: Box::new(outcome) }.into())
    }
}
