//! ERC-20 and plain transfers by chainbox and by revm, side by side: the same token (the template against the contract that its tests
//! compare it with, compiled by solc as they do), the same accounts, the same transactions, execution alone: no signatures, roots or
//! commits. Checks that both leave the same balances, then runs each in processes of its own, in turn, and prints transactions a
//! second and their ratio (medians over the processes).
//!
//! `cargo bench --manifest-path tests/outside/Cargo.toml --bench vm`

use std::{
    env, fs, mem,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, Bytes, TxKind, U256, hex, keccak256};
use alloy_sol_types::{SolCall, sol};
use chainbox::{
    primitives::{Gas, Height},
    state::{CommitId, Journal, MemoryState, StateStore},
    store::Batch,
    templates::{self, Erc20Features, Erc20Params},
    vm::{BlockContext, GasSchedule, Hardfork, Message, execute, mapping_slot},
};
use revm::{
    Context, Database as _, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext,
    context::TxEnv,
    database::{CacheDB, EmptyDB},
    state::{AccountInfo, EvmState},
};

/// What OpenZeppelin's wizard prints for a token that is mintable, burnable and pausable, with a cap.
const SOLIDITY: &str = "Erc20WithoutVotes";

const ACCOUNTS: u64 = 100_000;
const TRANSACTIONS: u64 = 10_000;
const GAS_LIMIT: u64 = 100_000;
const ROUNDS: usize = 15;

/// How many processes each engine gets.
const PROCESSES: usize = 5;

/// Names one engine to a process that has it alone.
const ENGINE: &str = "--engine";
const OURS: &str = "chainbox";
const THEIRS: &str = "revm";

/// Settings of glibc with which a process gives no memory back.
const KEEPS_MEMORY: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "1073741824"), ("MALLOC_TRIM_THRESHOLD_", "4294967296")];
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

/// Slot of an account's tokens.
fn token_slot(address: Address) -> U256 {
    mapping_slot(address.into_word().into(), U256::ZERO)
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
        journal.set_storage(&create.to, &token_slot(account(n)), U256::from(1_000_000)).expect("memory");
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
    let code = [creation_code(SOLIDITY), params().encode()].concat();
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
        database.insert_account_storage(token, token_slot(account(n)), U256::from(1_000_000)).expect("memory");
    }
    (evm, token)
}

/// Returns the code that creates a contract of `openzeppelin/contracts`, without the constructor's parameters.
fn creation_code(name: &str) -> Vec<u8> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("openzeppelin/compile");
    let ended = Command::new(&script).output().expect("openzeppelin/compile runs");
    assert!(ended.status.success(), "openzeppelin/compile failed:\n{}", String::from_utf8_lossy(&ended.stderr));
    let path = String::from_utf8(ended.stdout).expect("a path");
    let compiled = fs::read(path.trim()).expect("the file whose path openzeppelin/compile printed");
    let compiled: serde_json::Value = serde_json::from_slice(&compiled).expect("JSON");
    hex::decode(compiled["contracts"][name]["creationCode"].as_str().expect("a contract")).expect("linked code")
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

/// What a comparison reads: nonce, and ether or tokens.
type Holding = [U256; 2];

fn our_holding(journal: &mut Journal, token: Option<Address>, address: Address) -> Holding {
    let nonce = U256::from(journal.nonce(&address).expect("memory"));
    let amount = match token {
        Some(token) => journal.storage(&token, &token_slot(address)).expect("memory"),
        None => journal.balance(&address).expect("memory"),
    };
    [nonce, amount]
}

/// Reads the database, and `changes` that are not in it yet.
fn their_holding(evm: &mut Evm, changes: &EvmState, token: Option<Address>, address: Address) -> Holding {
    let database = &mut evm.ctx.journaled_state.database;
    let changed = changes.get(&address).map(|account| account.info.clone());
    let info = changed.or_else(|| database.basic(address).expect("memory")).unwrap_or_default();
    let Some(token) = token else { return [U256::from(info.nonce), info.balance] };
    let slot = token_slot(address);
    let changed = changes.get(&token).and_then(|account| account.storage.get(&slot)).map(|value| value.present_value);
    [U256::from(info.nonce), changed.unwrap_or_else(|| database.storage(token, slot).expect("memory"))]
}

/// Checks that what was executed changed nonces, and ether or tokens, alike. Ether pays for gas, of which compiled Solidity uses another
/// amount than a template, so that it is compared in plain transfers only.
fn compare(ours: [&Journal; 2], theirs: [&mut Evm; 2], token: Option<Address>, transactions: &[Unsigned]) {
    let [mut our_before, mut our_after] = ours.map(Journal::clone);
    let [their_before, their_after] = theirs;
    let (nothing, changes) = (EvmState::default(), their_after.finalize());
    for address in transactions.iter().flat_map(|transaction| [transaction.from, recipient(transaction)]) {
        let before = our_holding(&mut our_before, token, address);
        let after = our_holding(&mut our_after, token, address);
        let their_before = their_holding(their_before, &nothing, token, address);
        let their_after = their_holding(their_after, &changes, token, address);
        let change = |[before, after]: [Holding; 2]| [0, 1].map(|index| after[index].wrapping_sub(before[index]));
        assert_eq!(change([before, after]), change([their_before, their_after]), "{address}");
    }
}

/// Returns who receives ether, or tokens.
fn recipient(transaction: &Unsigned) -> Address {
    transferCall::abi_decode(&transaction.input).map_or(transaction.to, |call| call.to)
}

/// A clone has no spare room, which a chain's journal has: it grows once, outside the timing.
fn with_room(journal: &Journal) -> Journal {
    let mut journal = journal.clone();
    journal.account(&Address::repeat_byte(0xee)).expect("memory");
    journal.storage(&Address::repeat_byte(0xee), &U256::MAX).expect("memory");
    journal
}

fn main() {
    let mut arguments = env::args().skip_while(|argument| argument != ENGINE).skip(1);
    match arguments.next() {
        Some(engine) => print_times(&engine),
        None => {
            compare_engines();
            print_rates();
        }
    }
}

/// Tokens and recipients of each kind of transactions, and its name.
fn kinds(token: Address) -> [(&'static str, Option<Address>, bool); 4] {
    [
        ("plain to known", None, false),
        ("plain to fresh", None, true),
        ("erc20 to known", Some(token), false),
        ("erc20 to fresh", Some(token), true),
    ]
}

/// Our accounts and token; a block of transfers between holders came before, so that their slots are known.
fn ours_warm() -> (Journal, Address, BlockContext) {
    let (mut journal, token, block) = ours();
    run_ours(&mut journal, &block, &transactions(Some(token), false));
    journal.take_changes();
    (journal, token, block)
}

/// Runs both engines beside each other and compares what they leave.
fn compare_engines() {
    let (our_before, token, block) = ours_warm();
    let (mut their_before, their_token) = theirs();
    assert_eq!(token, their_token);
    for (_, token, is_fresh) in kinds(token) {
        let transactions = transactions(token, is_fresh);
        let mut journal = our_before.clone();
        run_ours(&mut journal, &block, &transactions);
        let mut evm = evm_over(their_before.ctx.journaled_state.database.clone());
        run_theirs(&mut evm, for_them(&transactions));
        compare([&our_before, &journal], [&mut their_before, &mut evm], token, &transactions);
    }
}

fn for_them(transactions: &[Unsigned]) -> Vec<TxEnv> {
    let one = |t: &Unsigned| TxEnv {
        caller: t.from,
        kind: TxKind::Call(t.to),
        value: t.value,
        data: t.input.clone(),
        gas_limit: GAS_LIMIT,
        gas_price: 1,
        ..TxEnv::default()
    };
    transactions.iter().map(one).collect()
}

/// Prints the fastest and the median time of each kind in nanoseconds, of one engine that has the process to itself.
fn print_times(engine: &str) {
    let times: Vec<Vec<Duration>> = match engine {
        OURS => {
            let (journal, token, block) = ours_warm();
            let measure = |(_, token, is_fresh)| {
                let transactions = transactions(token, is_fresh);
                timed(|| with_room(&journal), |journal| run_ours(journal, &block, &transactions))
            };
            kinds(token).map(measure).into()
        }
        THEIRS => {
            let (before, token) = theirs();
            let measure = |(_, token, is_fresh)| {
                let transactions = for_them(&transactions(token, is_fresh));
                let prepare = || (evm_over(before.ctx.journaled_state.database.clone()), transactions.clone());
                timed(prepare, |(evm, transactions)| run_theirs(evm, mem::take(transactions)))
            };
            kinds(token).map(measure).into()
        }
        other => panic!("the engines are {OURS} and {THEIRS}, not {other}"),
    };
    for times in times {
        println!("{} {}", times[0].as_nanos(), times[ROUNDS / 2].as_nanos());
    }
}

/// Returns the times of some rounds, the shortest first; preparation is not counted, nor what is dropped.
fn timed<T>(prepare: impl Fn() -> T, run: impl Fn(&mut T) -> u64) -> Vec<Duration> {
    let round = |_| {
        let mut prepared = prepare();
        let begun = Instant::now();
        run(&mut prepared);
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..ROUNDS).map(round).collect();
    times.sort_unstable();
    times
}

/// Runs the engines in turn, each time in a process of its own: an allocator reacts to the sizes that a process asked for, so
/// that engines in one process change each other's speed.
fn print_rates() {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..PROCESSES {
        ours.push(rates_alone(OURS));
        theirs.push(rates_alone(THEIRS));
    }
    for (index, (name, ..)) in kinds(Address::ZERO).into_iter().enumerate() {
        let median = |runs: &[Vec<[f64; 2]>], which: usize| {
            let mut rates: Vec<f64> = runs.iter().map(|run| run[index][which]).collect();
            rates.sort_unstable_by(f64::total_cmp);
            rates[PROCESSES / 2]
        };
        let told = |which| {
            let (ours, theirs) = (median(&ours, which), median(&theirs, which));
            format!("{ours:.0}/s against {theirs:.0}/s = {:.2}x", ours / theirs)
        };
        println!("{name}: best {}; median {}", told(0), told(1));
    }
}

/// Returns the best and the median rate of each kind, of one engine in a process of its own.
///
/// The process keeps what it frees, as one that runs for long does (settings of glibc; elsewhere they do nothing): else each round's clone
/// comes on pages that the system gives anew, and faults on them, which the journal of a chain's blocks has not, are counted.
fn rates_alone(engine: &str) -> Vec<[f64; 2]> {
    let program = env::current_exe().expect("the benchmark's path");
    let ended = Command::new(program).args([ENGINE, engine]).envs(KEEPS_MEMORY).output().expect("the benchmark runs");
    assert!(ended.status.success(), "{engine} failed:\n{}", String::from_utf8_lossy(&ended.stderr));
    let printed = String::from_utf8(ended.stdout).expect("numbers");
    let rate = |nanos: &str| TRANSACTIONS as f64 * 1e9 / nanos.parse::<f64>().expect("nanoseconds");
    let line = |line: &str| line.split_once(' ').map(|(best, median)| [rate(best), rate(median)]).expect("two numbers");
    printed.lines().map(line).collect()
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
