//! Memory of a long chain under bounds in bytes, measured from outside.

use std::sync::Arc;

use chainbox::{
    chain::{BlockAttributes, Chain, GenesisSpec, Retention},
    primitives::{Address, Gas, Timestamp, Transaction, TransactionRequest, U256, ether},
    state::MemoryState,
    store::MemoryStore,
};

const CHAIN_ID: u64 = 31_337;
const SENDER: Address = Address::repeat_byte(0x5e);

/// Resident memory of this process, in bytes; `None` where the system has no `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

fn transfer(nonce: u64) -> Arc<Transaction> {
    let request = TransactionRequest {
        chain_id: Some(CHAIN_ID),
        nonce,
        to: Some(Address::left_padding_from(&(1_000_000 + nonce % 5_000).to_be_bytes())),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 10_000_000_000,
        ..TransactionRequest::default()
    };
    Arc::new(request.impersonate(SENDER).unwrap())
}

fn mine(chain: &mut Chain, transactions: Vec<Arc<Transaction>>) {
    let timestamp = Timestamp::from_secs(chain.head().block().header().timestamp + 1);
    let mut attributes = BlockAttributes::default();
    attributes.timestamp = timestamp;
    let built = chain.build(chain.head().hash(), &attributes, &mut transactions.into_iter()).unwrap();
    assert!(built.left_out.is_empty(), "{:?}", built.left_out.first());
    let hash = built.block.hash();
    chain.insert(Arc::new(built.block)).unwrap();
    chain.set_head(hash).unwrap();
    chain.set_finality(hash, hash).unwrap();
}

/// The process grows by what the bounds say, within a factor of two either way. Takes up to 20 s, because four times as
/// much is mined as the bounds keep.
#[test]
fn the_bounds_in_bytes_are_those_of_the_process() {
    if resident_bytes().is_none() {
        eprintln!("skipped: this system does not tell a process's memory");
        return;
    }
    let mut spec = GenesisSpec::new(CHAIN_ID);
    spec.allow_interventions = true;
    spec.fund(SENDER, ether(1_000_000));
    let (states, blocks) = (16 << 20, 24 << 20);
    let retention = Retention::new(None, None).with_bytes(Some(states), Some(blocks));
    let builder = Chain::builder(spec, Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()));
    let mut chain = builder.with_retention(retention).open().unwrap();
    let mut nonce = 0;
    let mut block = |chain: &mut Chain| {
        let transactions = (nonce..nonce + 500).map(transfer).collect();
        nonce += 500;
        mine(chain, transactions);
    };
    // All recipients exist, and what is allocated once is there.
    (0..12).for_each(|_| block(&mut chain));
    let before = resident_bytes().unwrap();
    (0..140).for_each(|_| block(&mut chain));
    let grown = resident_bytes().unwrap().saturating_sub(before);
    assert!(chain.oldest_block().get() > 50, "blocks were pruned: the oldest is {}", chain.oldest_block());
    let bound = states + blocks;
    assert!((bound / 2..2 * bound).contains(&grown), "{grown} bytes for a bound of {bound}");
}
