//! What clients know of the chain, drawn for the parameters of their calls.

use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use chainbox::{
    alloy::primitives::hex,
    primitives::{Address, Gas, KeyPair, TransactionRequest, U256},
};
use serde_json::{Value, json};

use crate::draws::Draws;

/// Values of one kind that are remembered; older ones are forgotten.
const REMEMBERED_MAX: usize = 64;
/// Characters of a dump that a client loads again.
const DUMP_CHARS_MAX: usize = 3 << 20;
/// Addresses without a key, which clients set balances, nonces and code of.
const ADDRESSES: u64 = 32;

/// Knowledge that all clients share. What is outdated by a revert stays: it makes calls that fail as they must.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) chain_id: u64,
    /// Addresses of unlocked accounts.
    pub(crate) accounts: Vec<Address>,
    pub(crate) token: Address,
    pub(crate) height: AtomicU64,
    pub(crate) time: AtomicU64,
    /// Whether blocks may be taken back.
    pub(crate) is_destructive: AtomicBool,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    hashes: Vec<String>,
    transactions: Vec<String>,
    filters: Vec<String>,
    snapshots: Vec<String>,
    dump: String,
}

fn remember(list: &mut Vec<String>, value: &Value) {
    let Some(text) = value.as_str() else { return };
    if list.len() == REMEMBERED_MAX {
        list.remove(0);
    }
    list.push(text.to_owned());
}

fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// Returns an address as an ABI word, in hex.
fn word(address: Address) -> String {
    format!("{:0>64}", hex::encode(address))
}

/// Returns the call data of an ERC-20 transfer, in hex.
fn transfer(to: Address, amount: u64) -> String {
    format!("a9059cbb{}{amount:064x}", word(to))
}

impl World {
    pub(crate) fn new(chain_id: u64, accounts: Vec<Address>, token: Address, dump: String) -> Self {
        let recent = Recent { dump, ..Recent::default() };
        Self {
            chain_id,
            accounts,
            token,
            height: AtomicU64::new(0),
            time: AtomicU64::new(0),
            is_destructive: AtomicBool::new(true),
            recent: Mutex::new(recent),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap()
    }

    /// Remembers what a result says.
    pub(crate) fn learn(&self, method: &str, result: &Value) {
        match method {
            "eth_blockNumber" => {
                number(result).into_iter().for_each(|height| self.height.store(height, Ordering::Relaxed));
            }
            "eth_getBlockByNumber" | "eth_getHeaderByNumber" => {
                number(&result["timestamp"]).into_iter().for_each(|time| {
                    self.time.fetch_max(time, Ordering::Relaxed);
                });
                remember(&mut self.recent().hashes, &result["hash"]);
            }
            "eth_sendTransaction" | "eth_sendRawTransaction" => remember(&mut self.recent().transactions, result),
            "eth_newFilter" | "eth_newBlockFilter" | "eth_newPendingTransactionFilter" => {
                remember(&mut self.recent().filters, result);
            }
            "evm_snapshot" | "anvil_snapshot" => remember(&mut self.recent().snapshots, result),
            "anvil_dumpState" | "hardhat_dumpState" => {
                result.as_str().filter(|dump| dump.len() < DUMP_CHARS_MAX).into_iter().for_each(|dump| {
                    dump.clone_into(&mut self.recent().dump);
                });
            }
            _ => {}
        }
    }

    fn address(&self, draws: &mut Draws) -> Address {
        Address::left_padding_from(&(0x1000_0000 + draws.below(ADDRESSES)).to_be_bytes())
    }

    fn number(&self, draws: &mut Draws) -> Value {
        match draws.below(10) {
            0..=3 => json!("latest"),
            4 => json!("pending"),
            5 => json!(draws.pick(&["safe", "finalized", "earliest"])),
            _ => json!(format!("{:#x}", draws.below(self.height.load(Ordering::Relaxed) + 2))),
        }
    }

    /// Draws the value of a name in a template, for the client that has this key and next nonce.
    pub(crate) fn draw(&self, name: &str, draws: &mut Draws, key: &KeyPair, nonce: u64) -> Value {
        let some = |list: &[String], draws: &mut Draws, other: &str| match list.is_empty() {
            true => json!(other),
            false => json!(draws.pick(list)),
        };
        let zero = format!("0x{}", "0".repeat(64));
        match name {
            "$account" => json!(draws.pick(&self.accounts)),
            "$address" => json!(self.address(draws)),
            "$token" => json!(self.token),
            "$number" => self.number(draws),
            "$block" if draws.one_in(16) => {
                let hash = some(&self.recent().hashes, draws, &zero);
                json!({ "blockHash": hash, "requireCanonical": draws.one_in(2) })
            }
            "$block" => self.number(draws),
            "$hash" => some(&self.recent().hashes, draws, &zero),
            "$transaction" => some(&self.recent().transactions, draws, &zero),
            "$filter" => some(&self.recent().filters, draws, "0x1"),
            "$snapshot" => some(&self.recent().snapshots, draws, "0x1"),
            "$dump" => json!(self.recent().dump),
            "$small" => json!(format!("{:#x}", 1 + draws.below(4))),
            "$wei" => json!(format!("{:#x}", draws.below(1 << 40))),
            "$slot" => json!(format!("{:#x}", draws.below(8))),
            "$word" => json!(format!("{:#066x}", draws.bits())),
            "$data" => json!(format!("{:#018x}", draws.bits())),
            "$time" => json!(format!("{:#x}", self.time.load(Ordering::Relaxed) + draws.below(100))),
            "$transfer" => json!(format!("0x{}", transfer(self.address(draws), draws.below(2_000)))),
            "$balance_of" => json!(format!("0x70a08231{}", word(self.address(draws)))),
            "$raw" => json!(self.raw(draws, key, nonce)),
            other => panic!("no value is named {other}"),
        }
    }

    /// Signs a transfer of ether or of the token.
    fn raw(&self, draws: &mut Draws, key: &KeyPair, nonce: u64) -> String {
        let is_token = draws.one_in(2);
        let input = match is_token {
            true => transfer(self.address(draws), 0),
            false => String::new(),
        };
        let request = TransactionRequest {
            chain_id: Some(self.chain_id),
            nonce,
            to: Some(if is_token { self.token } else { self.address(draws) }),
            value: U256::from(if is_token { 0 } else { draws.below(1_000) }),
            gas_limit: Gas::new(if is_token { 100_000 } else { 21_000 }),
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: u128::from(draws.below(1_000)),
            input: hex::decode(input).unwrap().into(),
            ..TransactionRequest::default()
        };
        request.sign(key).unwrap().encoded().to_string()
    }
}
