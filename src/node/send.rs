//! Sending transactions.

use std::sync::Arc;

use super::{BlockRef, Contract, ContractError, Located, Mined, Node, QueryError, SendError};
use crate::{
    chain::{CallRequest, StateOverrides},
    primitives::{Address, B256, Bytes, Transaction, TransactionRequest, U256},
    vm::CallTracer,
};

/// Room above an estimate, so that a state which moves on meanwhile does not run it out: a quarter.
const ESTIMATE_ROOM: u64 = 4;

/// A transaction that lacks only its nonce and signature.
struct Draft {
    from: Address,
    /// The nonce that was asked for; otherwise the sender's next one.
    nonce: Option<u64>,
    fields: TransactionRequest,
}

impl Node {
    /// Sends a signed transaction; with [`Mining::EachTransaction`](super::Mining::EachTransaction) it is in a block when this returns.
    ///
    /// # Errors
    /// [`SendError::Pool`] with the reason; [`SendError::Mine`] when it was taken and no block could be made.
    pub fn send(&self, transaction: Transaction) -> Result<B256, SendError> {
        let hash = transaction.hash();
        let mut writer = self.write();
        writer.submit(&self.shared, Arc::new(transaction))?;
        writer.settle(&self.shared)?;
        Ok(hash)
    }

    /// Decodes and sends a raw transaction (EIP-2718).
    ///
    /// # Errors
    /// [`SendError::Transaction`] for bytes that are none; else as [`Node::send`].
    pub fn send_raw(&self, raw: &[u8]) -> Result<B256, SendError> {
        self.send(self.shared.recovery.decode(raw)?)
    }

    /// Sends many raw transactions, which share a block where one holds them. Signatures are recovered on all cores.
    ///
    /// Answers are in the order of `raws`; one that is refused does not hold up the others.
    pub fn send_raw_batch(&self, raws: &[Bytes]) -> Vec<Result<B256, SendError>> {
        let decoded = self.shared.recovery.decode_batch(raws);
        let mut writer = self.write();
        let mut answers: Vec<_> = decoded
            .into_iter()
            .map(|decoded| {
                let transaction = Arc::new(decoded?);
                let hash = transaction.hash();
                writer.submit(&self.shared, transaction).map(|()| hash)
            })
            .collect();
        if let Err(error) = writer.settle(&self.shared)
            && let Some(last) = answers.last_mut()
        {
            *last = Err(error.into());
        }
        answers
    }

    /// Sends a transaction of one of the node's accounts, or of an impersonated one; what is left out is filled in.
    ///
    /// It is simulated first, then gets its nonce, then is sent, so that no nonce is spent on what is not sent.
    ///
    /// # Errors
    /// [`SendError::UnknownAccount`], [`SendError::WouldFail`] when its gas is to be estimated and it would fail, else as [`Node::send`].
    pub fn send_request(&self, request: CallRequest) -> Result<B256, SendError> {
        let draft = self.draft(request)?;
        // The nonce is taken under the writer's lock, so that two callers never get the same one.
        let mut writer = self.write();
        let transaction = self.finish(draft)?;
        let hash = transaction.hash();
        writer.submit(&self.shared, Arc::new(transaction))?;
        writer.settle(&self.shared)?;
        Ok(hash)
    }

    /// Makes the transaction that [`Node::send_request`] would send, without sending it.
    ///
    /// # Errors
    /// As [`Node::send_request`].
    pub fn fill(&self, request: CallRequest) -> Result<Transaction, SendError> {
        let draft = self.draft(request)?;
        self.finish(draft)
    }

    /// Checks who sends, and fills in all but the nonce.
    fn draft(&self, request: CallRequest) -> Result<Draft, SendError> {
        let from = request.from.or_else(|| self.accounts().first().copied()).unwrap_or_default();
        let impersonated = {
            let writer = self.write();
            writer.impersonates_all || writer.impersonated.contains(&from)
        };
        if self.shared.key_of(from).is_none() && !impersonated {
            return Err(SendError::UnknownAccount { address: from });
        }
        let view = self.view();
        let gas_limit = match request.gas {
            Some(gas) => gas.get(),
            None => self.estimate_with_room(&CallRequest { from: Some(from), ..request.clone() })?,
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

    /// Gives a draft its nonce and signs it.
    fn finish(&self, draft: Draft) -> Result<Transaction, SendError> {
        let nonce = match draft.nonce {
            Some(nonce) => nonce,
            None => self.view().nonce(draft.from, BlockRef::Pending)?,
        };
        let fields = TransactionRequest { nonce, ..draft.fields };
        Ok(match self.shared.key_of(draft.from) {
            Some(key) => fields.sign(key)?,
            None => fields.impersonate(draft.from)?,
        })
    }

    /// The tip that gets a transaction into the next block, in the smallest unit a unit of gas: 1 gwei, or nothing without a base fee.
    pub fn suggested_tip(&self) -> u128 {
        if self.view().next_base_fee() == 0 { 0 } else { 1_000_000_000 }
    }

    /// An estimate with room for a state that moves on meanwhile, never above the block's gas limit.
    fn estimate_with_room(&self, request: &CallRequest) -> Result<u64, SendError> {
        let view = self.view();
        match view.estimate_gas(request, BlockRef::Pending, &StateOverrides::new())? {
            Ok(gas) => {
                let (gas, most) = (gas.get(), view.pool_context().gas_limit.get());
                // A plain transfer's cost never moves.
                let room = if request.input.is_empty() { 0 } else { gas / ESTIMATE_ROOM };
                Ok(gas.saturating_add(room).min(most.max(gas)))
            }
            Err(outcome) => Err(SendError::WouldFail { outcome: Box::new(outcome) }),
        }
    }

    /// Where a transaction was mined; `None` while it is not.
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the store fails.
    pub fn mined(&self, hash: B256) -> Result<Option<Mined>, QueryError> {
        Ok(match self.view().transaction(hash)? {
            Some(Located::Mined { block, index }) => Some(Mined::new(block, index)),
            _ => None,
        })
    }

    /// Sends a request and answers where it was mined.
    ///
    /// # Errors
    /// [`ContractError`]: it would or did revert or halt, or was not mined at once.
    pub fn send_and_mine(&self, request: CallRequest) -> Result<Mined, ContractError> {
        let hash = self.send_request(request)?;
        let mined = self.mined(hash)?.ok_or(ContractError::NotMined { hash })?;
        if mined.is_success() { Ok(mined) } else { Err(self.failure_of(hash)?) }
    }

    /// Moves `value` of the native token, in its smallest unit.
    ///
    /// # Errors
    /// As [`Node::send_and_mine`].
    pub fn transfer(&self, from: Address, to: Address, value: U256) -> Result<Mined, ContractError> {
        self.send_and_mine(CallRequest { from: Some(from), to: Some(to), value, ..Default::default() })
    }

    /// Deploys a contract from init code: a template's marker and its encoded parameters.
    ///
    /// # Errors
    /// As [`Node::send_and_mine`]; the constructor's revert among them.
    pub fn deploy(&self, from: Address, init_code: Bytes) -> Result<Contract, ContractError> {
        let request = CallRequest { from: Some(from), input: init_code, ..Default::default() };
        let mined = self.send_and_mine(request)?;
        let created = mined
            .receipt()
            .contract_address
            .ok_or_else(|| ContractError::Halted { reason: "the creation's receipt names no contract".to_owned() })?;
        Ok(self.contract(created, from))
    }

    /// A handle to a contract, called by `sender`.
    pub fn contract(&self, address: Address, sender: Address) -> Contract {
        Contract::new(self.clone(), address, sender)
    }

    /// Why a mined transaction failed, found by running it again.
    fn failure_of(&self, hash: B256) -> Result<ContractError, QueryError> {
        let outcome = self.view().replay(hash, &mut CallTracer::new())?;
        Ok(SendError::WouldFail { outcome: Box::new(outcome) }.into())
    }
}
