//! The judgement on a chain: its blocks, executed again on a fresh chain, give the same roots, receipts and accounts, and the server
//! answers what they say.

use std::sync::Arc;

use chainbox::{
    chain::{Block, Chain, ChainDump, ExecutedBlock, Retention},
    state::MemoryState,
    store::MemoryStore,
};
use serde_json::{Value, json};

/// Returns the chain of a node's dump.
pub(crate) fn chain_of(dump: &[u8]) -> ChainDump {
    let mut document: Value = serde_json::from_slice(dump).expect("a dump is JSON");
    serde_json::from_value(document["chain"].take()).expect("a dump has a chain")
}

/// Executes the blocks of a dump on a fresh chain and compares everything that follows from them.
pub(crate) fn replay(dump: &ChainDump) -> Result<Chain, String> {
    let builder = Chain::builder(dump.genesis.clone(), Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()));
    // Old states are not asked for; blocks are.
    let mut chain =
        builder.with_retention(Retention::new(Some(8), None)).open().map_err(|cause| format!("genesis: {cause}"))?;
    if chain.genesis().hash() != dump.genesis_hash {
        return Err("another genesis".to_owned());
    }
    for dumped in &dump.blocks {
        let at = |what: &dyn core::fmt::Display| format!("block {}: {what}", dumped.number);
        let block = Block::decode_stored(&dumped.block).map_err(|cause| at(&cause))?;
        let hash = block.hash();
        chain.insert(Arc::new(block)).map_err(|cause| at(&cause))?;
        chain.set_head(hash).map_err(|cause| at(&cause))?;
        chain.set_finality(hash, hash).map_err(|cause| at(&cause))?;
    }
    let again = chain.dump().map_err(|cause| cause.to_string())?;
    if let Some((stored, executed)) = dump.blocks.iter().zip(&again.blocks).find(|(stored, again)| stored != again) {
        return Err(format!("block {} is {stored:?}, executed again {executed:?}", stored.number));
    }
    if dump.head != again.head || dump.blocks.len() != again.blocks.len() {
        return Err(format!("the head is {}, executed again {}", dump.head, again.head));
    }
    let all = dump.accounts.keys().chain(again.accounts.keys());
    match all.clone().find(|address| dump.accounts.get(*address) != again.accounts.get(*address)) {
        Some(address) => {
            let (stored, executed) = (dump.accounts.get(address), again.accounts.get(address));
            Err(format!("account {address} is {stored:?}, executed again {executed:?}"))
        }
        None => Ok(chain),
    }
}

/// Returns what differs between two dumps of what must be one chain.
pub(crate) fn difference(left: &ChainDump, right: &ChainDump) -> Option<String> {
    if left == right {
        return None;
    }
    let heads = (left.head, left.safe, left.finalized, left.blocks.len());
    let others = (right.head, right.safe, right.finalized, right.blocks.len());
    if heads != others {
        return Some(format!("head, safe, finalized, blocks: {heads:?} against {others:?}"));
    }
    let block = left.blocks.iter().zip(&right.blocks).find(|(left, right)| left != right);
    let accounts = left.accounts.iter().zip(&right.accounts).find(|(left, right)| left != right);
    let interventions =
        (left.interventions != right.interventions).then_some((&left.interventions, &right.interventions));
    Some(format!("block {block:?}, account {accounts:?}, interventions {interventions:?}"))
}

fn quantity(number: impl core::fmt::LowerHex) -> Value {
    json!(format!("{number:#x}"))
}

/// What `eth_getBlockReceipts` must say about an executed block.
fn receipts(executed: &ExecutedBlock) -> Vec<Value> {
    let (block, mut log_index) = (executed.block(), 0_u64);
    let mut shown = Vec::new();
    for (index, (transaction, receipt)) in block.transactions().iter().zip(executed.receipts()).enumerate() {
        let logs: Vec<Value> = receipt
            .logs()
            .iter()
            .map(|log| {
                log_index += 1;
                json!({ "address": log.address, "topics": log.topics(), "data": log.data.data, "logIndex": quantity(log_index - 1) })
            })
            .collect();
        shown.push(json!({
            "transactionHash": transaction.hash(),
            "transactionIndex": quantity(index),
            "blockHash": executed.hash(),
            "blockNumber": quantity(executed.height().get()),
            "type": quantity(receipt.ty),
            "status": quantity(u8::from(receipt.is_success())),
            "gasUsed": quantity(receipt.gas_used.get()),
            "cumulativeGasUsed": quantity(receipt.cumulative_gas_used().get()),
            "effectiveGasPrice": quantity(receipt.effective_gas_price),
            "logsBloom": receipt.bloom(),
            "logs": logs,
        }));
    }
    shown
}

/// Whether every value of `wanted` is in `got`, which may have more fields; letters of hex may be of either case.
fn contains(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| got.get(name).is_some_and(|got| contains(got, value)))
        }
        (Value::Array(got), Value::Array(wanted)) => {
            got.len() == wanted.len() && got.iter().zip(wanted).all(|(got, wanted)| contains(got, wanted))
        }
        (Value::String(got), Value::String(wanted)) => got.eq_ignore_ascii_case(wanted),
        _ => got == wanted,
    }
}

/// Compares the response to `eth_getBlockReceipts` with an executed block.
pub(crate) fn check_receipts(executed: &ExecutedBlock, got: &Value) -> Result<(), String> {
    let wanted = Value::Array(receipts(executed));
    match contains(got, &wanted) {
        true => Ok(()),
        false => Err(format!("receipts of block {}: {got}, executed again {wanted}", executed.height())),
    }
}

mod tests {
    use chainbox::{
        node::{Database, Node},
        primitives::{Address, U256},
        store::testing::MemoryDisk,
    };

    use super::*;

    /// A database that goes back to one of its own blocks by a dump builds on a state that it has.
    #[test]
    fn a_dump_of_a_block_below_the_head_is_loaded_over_a_database() {
        let disk = Arc::new(MemoryDisk::new());
        let build = || Node::builder().with_database(Database::Store(disk.clone())).build().unwrap();
        let node = build();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        node.transfer(alice, bob, U256::from(5)).unwrap();
        let dump = node.dump().unwrap();
        node.mine(2).unwrap();
        for value in 1..20_u64 {
            node.load(&dump).unwrap();
            node.set_balance(Address::repeat_byte(9), U256::from(value)).unwrap();
            node.transfer(alice, bob, U256::from(value)).unwrap();
        }
        let before = dump_of(&node);
        replay(&before).unwrap();
        drop(node);
        assert_eq!(difference(&before, &dump_of(&build())), None);
    }

    fn dump_of(node: &Node) -> ChainDump {
        chain_of(node.dump().unwrap().as_bytes())
    }

    fn sample() -> ChainDump {
        let node = Node::new();
        for _ in 0..3 {
            node.transfer(node.accounts()[0], node.accounts()[1], U256::from(5)).unwrap();
        }
        dump_of(&node)
    }

    #[test]
    fn a_dump_is_what_its_blocks_give() {
        assert_eq!(replay(&sample()).map(|chain| chain.head().height().get()), Ok(3));
    }

    /// The judge can say no: one byte of a receipt, one wei of an account, one block that is missing.
    #[test]
    fn what_was_changed_is_found() {
        let fails = |change: fn(&mut ChainDump)| {
            let mut dump = sample();
            change(&mut dump);
            replay(&dump).unwrap_err()
        };
        let receipt = fails(|dump| {
            let mut receipts = dump.blocks[1].receipts.to_vec();
            *receipts.last_mut().unwrap() ^= 1;
            dump.blocks[1].receipts = receipts.into();
        });
        assert!(receipt.starts_with("block 2 is"), "{receipt}");
        let account = fails(|dump| {
            let account = dump.accounts.values_mut().next().unwrap();
            account.balance += U256::from(1);
        });
        assert!(account.starts_with("account"), "{account}");
        let missing = fails(|dump| drop(dump.blocks.remove(1)));
        assert!(missing.starts_with("block 3: "), "{missing}");
    }

    #[test]
    fn a_wrong_receipt_in_a_response_is_found() {
        let chain = replay(&sample()).unwrap();
        let executed = chain.block_at(chainbox::primitives::Height::new(2)).unwrap();
        let mut response = Value::Array(receipts(&executed));
        assert_eq!(check_receipts(&executed, &response), Ok(()));
        response[0]["gasUsed"] = json!("0x5209");
        assert!(check_receipts(&executed, &response).unwrap_err().contains("block 2"));
    }
}
