//! ERC-20 and plain transfers by chainbox and by revm, side by side: the same token (compiled Solidity against its template), the same
//! accounts, the same transactions, execution alone: no signatures, roots or commits. Prints transactions a second and their ratio.
//!
//! `cargo bench --manifest-path tests/outside/Cargo.toml --bench vm`

use std::time::{Duration, Instant};

use alloy_primitives::{Address, Bytes, TxKind, U256, hex, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use chainbox::{
    primitives::{Gas, Height},
    state::{CommitId, Journal, MemoryState, StateStore},
    store::Batch,
    templates::{self, Erc20Features, Erc20Params},
    vm::{BlockContext, GasSchedule, Hardfork, Message, execute, mapping_slot},
};
use revm::{
    Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext,
    context::TxEnv,
    database::{CacheDB, EmptyDB},
    state::AccountInfo,
};

const SOLIDITY: &str = include_str!("../fixtures/Token.hex");
const ACCOUNTS: u64 = 100_000;
const TRANSACTIONS: u64 = 10_000;
const GAS_LIMIT: u64 = 100_000;
const ROUNDS: usize = 15;
const BALANCE: U256 = U256::from_limbs([0, 1, 0, 0]);

sol! {
    function transfer(address to, uint256 value);
}

type Evm = revm::MainnetEvm<revm::handler::MainnetContext<CacheDB<EmptyDB>>>;

/// One transaction.
struct Unsigned {
    from: Address,
    to: Address,
    value: U256,
    input: Bytes,
}

fn account(n: u64) -> Address {
    Address::from_slice(&keccak256(n.to_be_bytes())[12..])
}

fn params() -> Erc20Params {
    let features = Erc20Features { mintable: true, burnable: true, pausable: true, ..Erc20Features::default() };
    Erc20Params { features, ..Erc20Params::new("Gold", "GLD", BALANCE, account(0)) }
}

/// The last tenth of the accounts holds no tokens.
fn holders() -> u64 {
    ACCOUNTS - TRANSACTIONS
}

fn balance_slot(n: u64) -> U256 {
    mapping_slot(account(n).into_word().into(), U256::ZERO)
}

fn ours() -> (Journal, Address, BlockContext) {
    let store = MemoryState::new();
    let mut journal = Journal::new(store.view(CommitId::EMPTY).expect("empty"));
    for n in 0..ACCOUNTS {
        journal.set_balance(&account(n), BALANCE).expect("memory");
    }
    let block = BlockContext { chain_id: 1, height: Height::new(1), gas_limit: Gas::MAX, ..BlockContext::default() };
    let init_code = params().init_code();
    let create = Message::create(account(0), 0, U256::ZERO, &init_code, Gas::new(10_000_000));
    assert!(execute(&mut journal, &block, templates::builtin(), &create).expect("memory").is_success());
    for n in 0..holders() {
        journal.set_storage(&create.to, &balance_slot(n), U256::from(1_000_000)).expect("memory");
    }
    let commit = store.commit(CommitId::EMPTY, &journal.take_changes(), &mut Batch::new()).expect("memory");
    journal.advance_to(store.view(commit.id).expect("made")).expect("memory");
    (journal, create.to, block)
}

fn theirs() -> (Evm, Address) {
    let mut evm = evm_over(CacheDB::new(EmptyDB::default()));
    for n in 0..ACCOUNTS {
        let info = AccountInfo { balance: BALANCE, ..AccountInfo::default() };
        evm.ctx.journaled_state.database.insert_account_info(account(n), info);
    }
    let Erc20Params { name, symbol, decimals, total_supply, owner, .. } = params();
    let arguments = (name, symbol, total_supply, U256::from(decimals), owner, [true; 3], U256::MAX);
    let code = [hex::decode(SOLIDITY.trim()).expect("hex"), arguments.abi_encode_params()].concat();
    let create = TxEnv {
        caller: account(0),
        kind: TxKind::Create,
        data: code.into(),
        gas_limit: 10_000_000,
        gas_price: 0,
        ..TxEnv::default()
    };
    assert!(evm.transact_commit(create).expect("valid").is_success());
    let token = account(0).create(0);
    for n in 0..holders() {
        let database = &mut evm.ctx.journaled_state.database;
        database.insert_account_storage(token, balance_slot(n), U256::from(1_000_000)).expect("memory");
    }
    (evm, token)
}

fn transactions(token: Option<Address>, is_fresh: bool) -> Vec<Unsigned> {
    let one = |n: u64| {
        let from = account(n * 7_919 % holders());
        let to = match (is_fresh, token) {
            (true, Some(_)) => account(holders() + n),
            (true, None) => account(ACCOUNTS + n),
            (false, _) => account(n * 104_729 % holders()),
        };
        match token {
            Some(token) => Unsigned {
                from,
                to: token,
                value: U256::ZERO,
                input: transferCall { to, value: U256::from(1) }.abi_encode().into(),
            },
            None => Unsigned { from, to, value: U256::from(1), input: Bytes::new() },
        }
    };
    (0..TRANSACTIONS).map(one).collect()
}

fn run_ours(journal: &mut Journal, block: &BlockContext, transactions: &[Unsigned]) -> u64 {
    let schedule = &GasSchedule::STANDARD;
    let mut total = 0;
    for Unsigned { from, to, value, input } in transactions {
        let price = U256::from(1);
        journal.begin_transaction();
        journal.increment_nonce(from).expect("memory");
        assert!(journal.sub_balance(from, U256::from(GAS_LIMIT) * price).expect("memory"));
        let gas = Gas::new(GAS_LIMIT)
            .saturating_sub(schedule.intrinsic(&Hardfork::default().rules(), input, false, None).gas);
        let message = Message::call(*from, *to, *value, input, gas);
        let result = execute(journal, block, templates::builtin(), &message).expect("memory");
        assert!(result.is_success());
        let spent = Gas::new(GAS_LIMIT).saturating_sub(result.gas_left);
        let used = spent.saturating_sub(schedule.capped_refund(spent, journal.refund()));
        journal.add_balance(from, U256::from(GAS_LIMIT - used.get()) * price).expect("memory");
        journal.add_balance(&block.beneficiary, U256::from(used.get())).expect("memory");
        total += used.get() + journal.take_logs().len() as u64;
    }
    total
}

fn run_theirs(evm: &mut Evm, transactions: Vec<TxEnv>) -> u64 {
    let mut total = 0;
    for transaction in transactions {
        let result = evm.transact_one(transaction).expect("valid");
        assert!(result.is_success());
        total += result.logs().len() as u64;
    }
    total
}

/// A clone has no spare room, which a chain's journal has: it grows once, outside the timing.
fn with_room(journal: &Journal) -> Journal {
    let mut journal = journal.clone();
    journal.account(&Address::repeat_byte(0xee)).expect("memory");
    journal.storage(&Address::repeat_byte(0xee), &U256::MAX).expect("memory");
    journal
}

fn main() {
    let (mut journal, token, block) = ours();
    // A block of transfers between holders came before: their slots are known.
    run_ours(&mut journal, &block, &transactions(Some(token), false));
    journal.take_changes();
    let (evm, their_token) = theirs();
    assert_eq!(token, their_token);
    for (name, token) in [("plain", None), ("erc20", Some(token))] {
        for (recipients, is_fresh) in [("known", false), ("fresh", true)] {
            let transactions = transactions(token, is_fresh);
            let for_them: Vec<TxEnv> = transactions
                .iter()
                .map(|t| TxEnv {
                    caller: t.from,
                    kind: TxKind::Call(t.to),
                    value: t.value,
                    data: t.input.clone(),
                    gas_limit: GAS_LIMIT,
                    gas_price: 1,
                    ..TxEnv::default()
                })
                .collect();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let mut journal = with_room(&journal);
                let begun = Instant::now();
                run_ours(&mut journal, &block, &transactions);
                ours.push(begun.elapsed());
                let (mut evm, batch) = (evm_over(evm.ctx.journaled_state.database.clone()), for_them.clone());
                let begun = Instant::now();
                run_theirs(&mut evm, batch);
                theirs.push(begun.elapsed());
            }
            let median = |times: &mut Vec<Duration>| {
                times.sort_unstable();
                (times[0], times[ROUNDS / 2])
            };
            let ((our_best, our_median), (their_best, their_median)) = (median(&mut ours), median(&mut theirs));
            let rate = |time: Duration| TRANSACTIONS as f64 / time.as_secs_f64();
            println!(
                "{name} to {recipients}: best {:.0}/s against {:.0}/s = {:.2}x; median {:.0}/s against {:.0}/s = {:.2}x",
                rate(our_best),
                rate(their_best),
                rate(our_best) / rate(their_best),
                rate(our_median),
                rate(their_median),
                rate(our_median) / rate(their_median)
            );
        }
    }
}

fn evm_over(database: CacheDB<EmptyDB>) -> Evm {
    Context::mainnet()
        .with_db(database)
        .modify_cfg_chained(|cfg| {
            cfg.disable_nonce_check = true;
            cfg.tx_gas_limit_cap = Some(u64::MAX);
        })
        .modify_block_chained(|block| {
            block.number = U256::from(1);
            block.gas_limit = u64::MAX;
        })
        .build_mainnet()
}
