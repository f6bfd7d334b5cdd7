//! Plain and ERC-20 transfers.
//!
//! 10,000 transactions over 100,000 accounts. `journal=carried` has the accounts cached already, as after a block;
//! `journal=new` reads them from the state in memory.

use std::sync::Arc;

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Address, Gas, Height, U256, keccak256},
    state::{CommitId, Journal, MemoryState, StateStore, StateView},
    store::Batch,
    templates::{Erc20Params, builtin, erc20::interface::transferCall},
    vm::{BlockContext, Message, execute, mapping_slot},
};
use criterion::{BatchSize, Criterion, Throughput};

use crate::transaction::{Unsigned, run};

const ACCOUNTS: u64 = 100_000;
const TRANSACTIONS: u64 = 10_000;
const BASE_FEE: u64 = 7;
const SUPPLY: U256 = U256::from_limbs([0, 1, 0, 0]);

/// A state and its accounts.
struct Setting {
    view: Arc<dyn StateView>,
    accounts: Vec<Address>,
    token: Address,
    block: BlockContext,
}

fn account(n: u64) -> Address {
    Address::from_slice(&keccak256(n.to_be_bytes())[12..])
}

/// Accounts with native token, all but the last tenth of them with tokens too.
fn setting() -> Setting {
    let accounts: Vec<_> = (0..ACCOUNTS).map(account).collect();
    let store = MemoryState::new();
    let mut journal = Journal::new(store.view(CommitId::EMPTY).expect("the empty version"));
    for account in &accounts {
        journal.set_balance(account, SUPPLY).expect("memory");
    }
    let block = BlockContext { height: Height::new(1), base_fee: BASE_FEE, gas_limit: Gas::MAX, ..Default::default() };
    let params = Erc20Params::new("Gold", "GLD", SUPPLY, accounts[0]);
    let init_code = params.init_code();
    let create = Message::create(accounts[0], 0, U256::ZERO, &init_code, Gas::new(10_000_000));
    assert!(execute(&mut journal, &block, builtin(), &create).expect("memory").is_success());
    for account in &accounts[..holders() as usize] {
        let slot = mapping_slot(account.into_word().into(), U256::ZERO);
        journal.set_storage(&create.to, &slot, U256::from(1_000_000)).expect("memory");
    }
    let commit = store.commit(CommitId::EMPTY, &journal.take_changes(), &mut Batch::new()).expect("memory");
    Setting { view: store.view(commit.id).expect("just made"), accounts, token: create.to, block }
}

const fn holders() -> u64 {
    ACCOUNTS - TRANSACTIONS
}

impl Setting {
    /// Recipients that exist (and hold tokens), or that never received anything.
    fn transactions(&self, is_token: bool, is_fresh: bool) -> Vec<Unsigned> {
        let one = |n: u64| {
            let from = self.accounts[(n * 7_919 % holders()) as usize];
            let to = match (is_fresh, is_token) {
                (true, true) => self.accounts[(holders() + n) as usize],
                (true, false) => account(ACCOUNTS + n),
                (false, _) => self.accounts[(n * 104_729 % holders()) as usize],
            };
            if is_token {
                let input = transferCall { to, value: U256::from(1) }.abi_encode();
                Unsigned { from, to: self.token, value: U256::ZERO, input }
            } else {
                Unsigned { from, to, value: U256::from(1), input: Vec::new() }
            }
        };
        (0..TRANSACTIONS).map(one).collect()
    }

    /// A journal that has read everything that `transactions` touch. Balances differ by one block, which costs nothing.
    fn carried(&self, transactions: &[Unsigned]) -> Journal {
        let mut journal = Journal::new(self.view.clone());
        run(&mut journal, &self.block, transactions);
        let taken = journal.take_changes();
        assert!(taken.accounts.len() > 1_000);
        journal
    }
}

pub(crate) fn transfers(c: &mut Criterion) {
    let setting = setting();
    for (name, is_token) in [("execute_transfers", false), ("execute_erc20_transfers", true)] {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
        for (recipients, is_fresh) in [("known", false), ("fresh", true)] {
            let transactions = setting.transactions(is_token, is_fresh);
            let new = Journal::new(setting.view.clone());
            let run_all = |mut journal: Journal| {
                run(&mut journal, &setting.block, &transactions);
                journal
            };
            group.bench_function(format!("recipients={recipients} journal=new"), |b| {
                b.iter_batched(|| new.clone(), run_all, BatchSize::PerIteration);
            });
            if !is_fresh {
                let carried = setting.carried(&transactions);
                group.bench_function(format!("recipients={recipients} journal=carried"), |b| {
                    b.iter_batched(|| carried.clone(), run_all, BatchSize::PerIteration);
                });
            }
        }
        group.finish();
    }
}
