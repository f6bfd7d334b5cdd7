//! Lists of transactions.

use super::{call_data::allocate, interface as sol, state::WALLET};
use crate::{templates::common::ds_math::invalid, vm::contract::*};

/// Bytes of a word.
const WORD: U256 = U256::from_limbs([32, 0, 0, 0]);

pub(super) fn transaction(host: &mut Host<'_>, id: U256) -> Result<sol::transactionsReturn, Stop> {
    let transaction = WALLET.transactions.at(host, id)?;
    Ok(sol::transactionsReturn {
        destination: transaction.destination.get(host)?,
        value: transaction.value.get(host)?,
        data: transaction.data.get(host)?,
        executed: transaction.executed.get(host)?,
    })
}

/// Returns how many transactions are of the kinds that are asked for.
pub(super) fn count(host: &mut Host<'_>, pending: bool, executed: bool) -> Result<U256, Stop> {
    Ok(U256::from(numbers(host, pending, executed)?.len()))
}

/// Returns the encoded list of `getTransactionIds`: of the numbers of those kinds, the ones at positions `from` to `to`. Behind the last of them,
/// up to the number of all transactions, there are zeros; beyond, it is INVALID.
///
/// As there, a `from` behind `to` makes a list whose length wraps, without numbers.
pub(super) fn ids(host: &mut Host<'_>, call: &sol::getTransactionIdsCall) -> Result<Bytes, Stop> {
    let sol::getTransactionIdsCall { from, to, pending, executed } = *call;
    let mut numbers = numbers(host, pending, executed)?;
    let all = WALLET.transaction_count.get(host)?;
    let length = to.wrapping_sub(from);
    let words = allocate(host, length.wrapping_mul(WORD))? / 32;
    let mut listed = vec![U256::ZERO; words];
    if from < to {
        if to > all {
            return Err(invalid());
        }
        numbers.resize(all.saturating_to(), U256::ZERO);
        listed.copy_from_slice(&numbers[from.saturating_to()..to.saturating_to()]);
    }
    let mut encoded = [WORD, length].map(|word| word.to_be_bytes::<32>()).concat();
    listed.iter().for_each(|word| encoded.extend_from_slice(&word.to_be_bytes::<32>()));
    Ok(encoded.into())
}

fn numbers(host: &mut Host<'_>, pending: bool, executed: bool) -> Result<Vec<U256>, Stop> {
    let all: u64 = WALLET.transaction_count.get(host)?.saturating_to();
    let mut numbers = Vec::new();
    for number in (0..all).map(U256::from) {
        let is_executed = WALLET.transactions.at(host, number)?.executed.get(host)?;
        if if is_executed { executed } else { pending } {
            numbers.push(number);
        }
    }
    Ok(numbers)
}
