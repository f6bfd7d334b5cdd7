//! The work of a transaction around its execution: nonce, fee, intrinsic gas, refund.

use chainbox::{
    primitives::{Address, Gas, U256},
    state::Journal,
    templates::builtin,
    vm::{BlockContext, GasSchedule, Hardfork, Message, execute},
};

/// Gas limit of every transaction, in gas units: ample.
const GAS_LIMIT: u64 = 1_000_000;

/// One transaction, unsigned.
pub(crate) struct Unsigned {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
    pub(crate) input: Vec<u8>,
}

/// Executes all transactions, as a block does, and returns the number of their events.
pub(crate) fn run(journal: &mut Journal, block: &BlockContext, transactions: &[Unsigned]) -> usize {
    transactions.iter().map(|transaction| transact(journal, block, transaction)).sum()
}

fn transact(journal: &mut Journal, block: &BlockContext, transaction: &Unsigned) -> usize {
    let schedule = &GasSchedule::STANDARD;
    let Unsigned { from, to, value, input } = transaction;
    let price = U256::from(block.base_fee + 1);
    journal.begin_transaction();
    journal.increment_nonce(from).expect("memory").expect("a small nonce");
    assert!(journal.sub_balance(from, U256::from(GAS_LIMIT) * price).expect("memory"));
    let intrinsic = schedule.intrinsic(&Hardfork::default().rules(), input, false, None).gas;
    let gas = Gas::new(GAS_LIMIT).saturating_sub(intrinsic);
    let result = execute(journal, block, builtin(), &Message::call(*from, *to, *value, input, gas)).expect("memory");
    assert!(result.is_success(), "{result:?}");
    let used = Gas::new(GAS_LIMIT).saturating_sub(result.gas_left);
    let used = used.saturating_sub(schedule.capped_refund(used, journal.refund()));
    journal.add_balance(from, U256::from(GAS_LIMIT - used.get()) * price).expect("memory");
    journal.add_balance(&block.beneficiary, U256::from(used.get())).expect("memory");
    journal.take_logs().len()
}
