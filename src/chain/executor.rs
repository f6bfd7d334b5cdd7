//! Executing the transactions of a block in order.

use alloy_consensus::Eip658Value;
use alloy_primitives::{Address, Bytes, U256};

use super::{
    error::InvalidTransaction,
    permissions::PermissionSlots,
    receipt::Receipt,
    validate::{self, Rules},
};
use crate::{
    primitives::{Gas, Transaction},
    state::{Journal, StateError},
    system::permissions::AccountPermissions,
    vm::{
        self, BlockContext, FrameOutcome, FrameResult, GasSchedule, Inspector, Message, MessageKind, TemplateRegistry,
    },
};

/// Executes the transactions of one block over one journal.
#[derive(Debug)]
pub(super) struct Executor<'a> {
    pub(super) journal: &'a mut Journal,
    pub(super) registry: &'a TemplateRegistry,
    pub(super) context: BlockContext,
    pub(super) rules: Rules,
    gas_used: Gas,
    logs: u32,
    /// Opened by the first transaction of a chain with permissions.
    permissions: Option<PermissionSlots>,
}

/// A transaction's receipt, with the outcome and output that the receipt leaves out.
#[derive(Clone, Debug)]
pub(super) struct Executed {
    pub(super) receipt: Receipt,
    pub(super) outcome: FrameOutcome,
    pub(super) output: Bytes,
}

/// An execution without a result.
#[derive(Debug)]
pub(super) enum Failure {
    /// The transaction is invalid; the journal is unchanged.
    Invalid(InvalidTransaction),
    /// The state can't be read; the journal must be discarded.
    State(StateError),
}

impl From<InvalidTransaction> for Failure {
    fn from(reason: InvalidTransaction) -> Self {
        Self::Invalid(reason)
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// The gas and prices of a transaction, fixed before its message runs.
#[derive(Clone, Copy, Debug)]
struct GasPurchase {
    /// Gas for the message: the gas limit minus the intrinsic gas.
    gas: Gas,
    /// Least gas that the transaction uses (EIP-7623).
    floor: Gas,
    /// Effective gas price, in the smallest unit per unit of gas.
    price: U256,
    /// The part of the price that the author gets.
    tip: U256,
}

impl<'a> Executor<'a> {
    /// Starts a block.
    pub(super) const fn new(
        journal: &'a mut Journal,
        registry: &'a TemplateRegistry,
        context: BlockContext,
        rules: Rules,
    ) -> Self {
        Self { journal, registry, context, rules, gas_used: Gas::ZERO, logs: 0, permissions: None }
    }

    /// Continues a block after transactions that used `gas_used` and made `logs`.
    pub(super) const fn after(self, gas_used: Gas, logs: u32) -> Self {
        Self { gas_used, logs, ..self }
    }

    /// Number of logs of the transactions so far.
    pub(super) const fn logs(&self) -> u32 {
        self.logs
    }

    /// Gas used by the transactions so far.
    pub(super) const fn gas_used(&self) -> Gas {
        self.gas_used
    }

    /// Executes one transaction.
    ///
    /// In the order of the Yellow Paper, 6: validate, with the sender's permissions, buy gas, run the message, refund, pay the author. The base fee is burned.
    pub(super) fn run(
        &mut self,
        transaction: &Transaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Executed, Failure> {
        self.journal.begin_transaction();
        let permissions = self.permissions_of(transaction.sender())?;
        let purchase = self.buy_gas(transaction, permissions)?;
        self.warm_access_list(transaction)?;
        let message = message_of(transaction, purchase.gas).with_deployments(permissions.may_deploy);
        let result = match inspector {
            Some(inspector) => vm::execute_inspected(self.journal, &self.context, self.registry, &message, inspector)?,
            None => vm::execute(self.journal, &self.context, self.registry, &message)?,
        };
        let created = (message.kind == MessageKind::Create).then_some(message.to);
        let used = self.settle_gas(transaction, &purchase, &result)?;
        self.gas_used = self.gas_used.saturating_add(used);
        let receipt = self.receipt(transaction, used, purchase.price, &result, created);
        Ok(Executed { receipt, outcome: result.outcome, output: result.output })
    }

    /// Returns what an account may do now, that is at the start of a transaction.
    fn permissions_of(&mut self, account: Address) -> Result<AccountPermissions, StateError> {
        let has_deployments = self.rules.has_deployments;
        if !self.rules.has_permissions {
            return Ok(AccountPermissions::ALL.where_deployments(has_deployments));
        }
        let slots = match self.permissions {
            Some(slots) => slots,
            None => *self.permissions.insert(PermissionSlots::open(self.journal)?),
        };
        Ok(slots.permissions_of(self.journal, account)?.where_deployments(has_deployments))
    }

    fn buy_gas(&mut self, transaction: &Transaction, permissions: AccountPermissions) -> Result<GasPurchase, Failure> {
        let intrinsic = validate::check_fields(transaction, &self.rules)?;
        let (have, limit) = (transaction.gas_limit(), self.context.gas_limit);
        if have > limit {
            return Err(InvalidTransaction::GasLimitAboveBlock { have, limit }.into());
        }
        let left = limit.saturating_sub(self.gas_used);
        if have > left {
            return Err(InvalidTransaction::BlockFull { left, want: have }.into());
        }
        let (address, base_fee) = (transaction.sender(), self.context.base_fee);
        let Some(tip) = transaction.effective_tip_per_gas(base_fee) else {
            let max_fee = transaction.max_fee_per_gas();
            return Err(InvalidTransaction::FeeBelowBaseFee { address, max_fee, base_fee }.into());
        };
        let account = self.journal.account(&address)?;
        check_nonce(transaction, account.nonce)?;
        validate::check_sender_code(transaction, account.code_hash)?;
        validate::check_permissions(transaction, permissions)?;
        validate::check_funds(transaction, account.balance)?;
        let (tip, price) = (U256::from(tip), U256::from(tip) + U256::from(base_fee));
        // `check_funds` covers it: the effective price is at most the largest fee.
        self.journal.set_balance(&address, account.balance - price * U256::from(have.get()))?;
        self.journal.set_nonce(&address, account.nonce + 1)?;
        Ok(GasPurchase { gas: have.saturating_sub(intrinsic.gas), floor: intrinsic.floor, price, tip })
    }

    fn warm_access_list(&mut self, transaction: &Transaction) -> Result<(), StateError> {
        for item in transaction.access_list().into_iter().flat_map(|list| &list.0) {
            self.journal.access_account(&item.address)?;
            for slot in &item.storage_keys {
                self.journal.access_slot(&item.address, &U256::from_be_bytes(slot.0))?;
            }
        }
        Ok(())
    }

    /// Refunds unused gas to the sender and pays the author; returns the gas used.
    fn settle_gas(
        &mut self,
        transaction: &Transaction,
        purchase: &GasPurchase,
        result: &FrameResult,
    ) -> Result<Gas, StateError> {
        let spent = transaction.gas_limit().saturating_sub(result.gas_left);
        let refund = GasSchedule::STANDARD.capped_refund(spent, self.journal.refund());
        let used = spent.saturating_sub(refund).max(purchase.floor);
        let back = transaction.gas_limit().saturating_sub(used);
        // Both amounts were in the sender's balance: the sums can't overflow while the supply fits 256 bits.
        self.journal.add_balance(&transaction.sender(), purchase.price * U256::from(back.get()))?;
        if !purchase.tip.is_zero() {
            let author = self.rules.tips_to.unwrap_or(self.context.beneficiary);
            self.journal.add_balance(&author, purchase.tip * U256::from(used.get()))?;
        }
        Ok(used)
    }

    fn receipt(
        &mut self,
        transaction: &Transaction,
        gas_used: Gas,
        price: U256,
        result: &FrameResult,
        created: Option<Address>,
    ) -> Receipt {
        let logs = if result.is_success() { self.journal.take_logs() } else { Vec::new() };
        let first_log_index = self.logs;
        self.logs = self.logs.saturating_add(u32::try_from(logs.len()).unwrap_or(u32::MAX));
        Receipt {
            ty: transaction.ty(),
            inner: alloy_consensus::Receipt {
                status: Eip658Value::Eip658(result.is_success()),
                cumulative_gas_used: self.gas_used.get(),
                logs,
            },
            gas_used,
            effective_gas_price: price.saturating_to(),
            contract_address: created,
            first_log_index,
        }
    }
}

fn check_nonce(transaction: &Transaction, want: u64) -> Result<(), InvalidTransaction> {
    let (address, got) = (transaction.sender(), transaction.nonce());
    match got.cmp(&want) {
        core::cmp::Ordering::Less => Err(InvalidTransaction::NonceTooLow { address, got, want }),
        core::cmp::Ordering::Greater => Err(InvalidTransaction::NonceTooHigh { address, got, want }),
        core::cmp::Ordering::Equal => Ok(()),
    }
}

fn message_of(transaction: &Transaction, gas: Gas) -> Message<'_> {
    let (caller, value, input) = (transaction.sender(), transaction.value(), transaction.input());
    match transaction.to() {
        Some(to) => Message::call(caller, to, value, input, gas),
        None => Message::create(caller, transaction.nonce(), value, input, gas),
    }
}
