//! Transactions, moves of the head and observed calls in words.

use std::io::Write;

use chainbox::{
    chain::{ExecutedBlock, Receipt},
    node::NodeView,
    primitives::{Address, Timestamp, Transaction, U256},
};
use serde_json::Value;

use super::{
    Call,
    names::{Names, short},
    screen::{Line, Screen},
};
use crate::dev::amounts;
use crate::styles::{ERROR, FAINT, GOOD, NOTICE};

/// Prints the transaction at `index` of a block: sender, recipient, what it does, gas, and the reason of a failure.
pub(super) fn transaction(
    names: &mut Names,
    view: &NodeView,
    executed: &ExecutedBlock,
    index: usize,
    screen: &mut Screen<impl Write>,
) {
    let block = executed.block();
    let (Some(transaction), Some(receipt)) = (block.transaction(index as u32), executed.receipts().get(index)) else {
        return;
    };
    let (hash, from) = (short(&transaction.hash().to_string()), names.of(view, transaction.sender()));
    let created = receipt.contract_address.filter(|_| receipt.is_success());
    let what = match (transaction.to(), created) {
        (Some(to), _) => format!("-> {} {}", names.of(view, to), action(names, view, transaction)),
        (None, Some(created)) => format!("creates {}", names.created(view, created)),
        (None, None) => "creates a contract".to_owned(),
    };
    let first = Line::plain(&format!("block {}: {hash} {from} {what}", block.height()));
    let gas = Line::plain(&format!("{} gas  ", receipt.gas_used.get()));
    let second = match failure_reason(names, view, transaction, receipt) {
        None => gas.and(GOOD, "ok"),
        Some(reason) => gas.and(ERROR, &format!("failed: {}", names.shorten(view, &reason))),
    };
    screen.pair(&first, &second);
    if let Some(address) = created {
        screen.line(&Line::styled(FAINT, &format!("  {} is at {address}", names.of(view, address))));
    }
}

/// Returns the decoded call, the amount of a transfer, or the length of unknown call data.
fn action(names: &mut Names, view: &NodeView, transaction: &Transaction) -> String {
    let value = transaction.value();
    match call_text(names, view, transaction.input()) {
        None => amounts::value(value),
        Some(call) if value.is_zero() => call,
        Some(call) => format!("{call} with {}", amounts::value(value)),
    }
}

/// Returns the decoded call data, or its length; `None` for none.
fn call_text(names: &mut Names, view: &NodeView, input: &[u8]) -> Option<String> {
    if input.is_empty() {
        return None;
    }
    Some(match names.templates().describe_call(input) {
        Some(call) => names.shorten(view, &call),
        None => format!("{} bytes of call data", input.len()),
    })
}

/// Returns the reason of a failed transaction: the one kept at its execution, else what the receipt tells.
fn failure_reason(names: &Names, view: &NodeView, transaction: &Transaction, receipt: &Receipt) -> Option<String> {
    if receipt.is_success() {
        return None;
    }
    let Some(outcome) = view.chain().failed_outcome(transaction.hash()) else {
        let is_halt = receipt.gas_used == transaction.gas_limit();
        return Some(if is_halt { "used all of its gas" } else { "reverted" }.to_owned());
    };
    let reason = outcome.revert_data().and_then(|data| match transaction.to() {
        _ if !data.is_empty() => names.templates().describe_error(data),
        Some(to) => {
            let code = view.code(to, chainbox::node::BlockRef::Latest).ok()?;
            names.templates().describe_call_problem(&code, transaction.input())
        }
        None => names.templates().describe_creation_problem(transaction.input()),
    });
    Some(reason.unwrap_or_else(|| outcome.describe()))
}

/// Returns what a move of the head to another branch did; `None` where the chain only grew.
pub(super) fn switch(removed: &[ExecutedBlock], added: &[ExecutedBlock]) -> Option<Line> {
    let (newest, oldest) = (removed.first()?.height().get(), removed.last()?.height().get());
    let left = heights(oldest, newest);
    let text = match (added.first(), added.last()) {
        (Some(first), Some(last)) => {
            let joined = heights(first.height().get(), last.height().get());
            format!("reorg: {left} left the chain, {joined} joined it")
        }
        _ => format!("back to block {}: {left} left the chain", oldest.saturating_sub(1)),
    };
    Some(Line::styled(NOTICE, &text))
}

/// Returns a range of heights, such as `4 to 13`.
fn heights(from: u64, to: u64) -> String {
    if from == to { to.to_string() } else { format!("{from} to {to}") }
}

/// Prints an observed call: what a development method changed, or the request that failed.
pub(super) fn call(names: &mut Names, call: &Call, screen: &mut Screen<impl Write>) {
    match &call.result {
        Ok(result) => screen.line(&Line::styled(FAINT, &change(names, call, result))),
        Err(message) => failed_request(names, call, message, screen),
    }
}

fn failed_request(names: &mut Names, call: &Call, message: &str, screen: &mut Screen<impl Write>) {
    let view = &call.view;
    let request = call.params.first().filter(|request| request.is_object());
    let mut first = call.method.clone();
    if let Some(request) = request {
        let address =
            |field: &str| request.get(field).and_then(Value::as_str).and_then(|text| text.parse::<Address>().ok());
        let input = request.get("input").or(request.get("data")).and_then(Value::as_str);
        let input = input.and_then(|input| chainbox::primitives::hex::decode(input).ok()).unwrap_or_default();
        if let Some(from) = address("from") {
            first = format!("{first} {}", names.of(view, from));
        }
        match address("to") {
            Some(to) => first = format!("{first} -> {}", names.of(view, to)),
            None => first.push_str(" creates a contract"),
        }
        if let Some(text) = address("to").and_then(|_| call_text(names, view, &input)) {
            first = format!("{first} {text}");
        }
    }
    let reason = message.strip_prefix("execution reverted: ").unwrap_or(message);
    let second = format!("failed: {}", names.shorten(view, reason));
    screen.pair(&Line::plain(&first), &Line::styled(NOTICE, &second));
}

/// Returns what a method of a development node changed.
fn change(names: &mut Names, call: &Call, result: &Value) -> String {
    let view = &call.view;
    let name = call.method.split_once('_').map_or(call.method.as_str(), |(_, name)| name);
    let parameter = |index: usize| call.params.get(index).unwrap_or(&Value::Null);
    let text = |index: usize| parameter(index).as_str().map_or_else(|| parameter(index).to_string(), str::to_owned);
    let time = || quantity(parameter(0)).map_or_else(|| text(0), date);
    let of = |names: &mut Names| names.shorten(view, &text(0));
    match name {
        "setBalance" => {
            let balance = parameter(1).as_str().and_then(|balance| balance.parse::<U256>().ok()).map(amounts::value);
            format!("{}: balance set to {}", of(names), balance.unwrap_or_else(|| text(1)))
        }
        "setNonce" => format!("{}: nonce set to {}", of(names), number(parameter(1))),
        "setCode" => match text(1).len().saturating_sub(2) / 2 {
            0 => format!("{}: code removed", of(names)),
            bytes => format!("{}: code set, {}", of(names), amounts::counted(bytes, "byte")),
        },
        "setStorageAt" => {
            let (slot, value) = (names.shorten(view, &text(1)), names.shorten(view, &text(2)));
            format!("{}: storage slot {slot} set to {value}", of(names))
        }
        "impersonateAccount" => format!("{}: impersonated", of(names)),
        "stopImpersonatingAccount" => format!("{}: not impersonated any more", of(names)),
        "autoImpersonateAccount" if *parameter(0) == Value::Bool(true) => "every address is impersonated".to_owned(),
        "autoImpersonateAccount" => "only named addresses are impersonated".to_owned(),
        "increaseTime" => format!("time moved by {} s, to {}", number(parameter(0)), amounts::date(view.now())),
        "setTime" => format!("time set to {}", amounts::date(view.now())),
        "setNextBlockTimestamp" => format!("time of the next block set to {}", time()),
        "setBlockTimestampInterval" => format!("blocks are {} s apart", number(parameter(0))),
        "removeBlockTimestampInterval" => "blocks have the clock's time".to_owned(),
        "snapshot" => format!("snapshot {} at block {}", plain(result), view.head().height()),
        "setAutomine" if *parameter(0) == Value::Bool(true) => "a block for each transaction".to_owned(),
        "setAutomine" => "no block for each transaction".to_owned(),
        "setIntervalMining" => match quantity(parameter(0)) {
            Some(0) => "blocks on request only".to_owned(),
            _ => format!("a block every {} s", number(parameter(0))),
        },
        "setNextBlockBaseFeePerGas" => {
            let fee = quantity(parameter(0)).map_or_else(|| text(0), amounts::gwei);
            format!("base fee of the next block set to {fee}")
        }
        "setBlockGasLimit" => format!("gas limit of blocks set to {}", number(parameter(0))),
        "setPrevRandao" => format!("prevRandao of the next block set to {}", of(names)),
        "dropTransaction" if result.is_null() => format!("transaction {} is not in the pool", of(names)),
        "dropTransaction" => format!("transaction {} dropped", of(names)),
        "dropAllTransactions" => "all transactions of the pool dropped".to_owned(),
        "removePoolTransactions" => format!("{}: transactions dropped from the pool", of(names)),
        _ => call.method.clone(),
    }
}

fn date(secs: u64) -> String {
    amounts::date(Timestamp::from_secs(secs))
}

/// Returns a number or a hexadecimal quantity.
fn quantity(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse::<U256>().ok()?.try_into().ok())
}

/// Returns a quantity in decimal digits; other values as they came.
fn number(value: &Value) -> String {
    quantity(value).map_or_else(|| plain(value), |number| number.to_string())
}

/// Returns text without its quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
