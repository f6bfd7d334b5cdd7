//! The template erc20-token against compiled Solidity (OpenZeppelin 5.4.0, `fixtures/`) in revm: the same creation and the same
//! calls give the same output, revert data, events and storage slots.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, Bytes, Log, TxKind, U256, hex, keccak256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall, eip712_domain, sol};
use chainbox::{
    primitives::{Gas, Height, Timestamp},
    state::{Journal, MemoryState, StateStore},
    templates::{self, Erc20Features, Erc20Params},
    vm::{BlockContext, FrameOutcome, Message, execute},
};
use revm::{
    Context, ExecuteCommitEvm, MainBuilder, MainContext,
    context::{TxEnv, result::ExecutionResult},
    database::{CacheDB, EmptyDB},
};

const SOLIDITY: &str = include_str!("../fixtures/Token.hex");
const GAS: u64 = 5_000_000;
const TIME: u64 = 1_000_000;
const CALLS: u32 = 1_500;

sol! {
    function transfer(address to, uint256 value);
    function approve(address spender, uint256 value);
    function transferFrom(address from, address to, uint256 value);
    function mint(address to, uint256 amount);
    function burn(uint256 value);
    function burnFrom(address account, uint256 value);
    function pause();
    function unpause();
    function transferOwnership(address newOwner);
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s);
    function nonces(address owner);
    function balanceOf(address account);
    function allowance(address owner, address spender);

    struct Permit {
        address owner;
        address spender;
        uint256 value;
        uint256 nonce;
        uint256 deadline;
    }
}

/// How a call ended, as a caller sees it.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Success { output: Bytes, logs: Vec<Log> },
    Revert { output: Bytes },
    Halt,
}

type Evm = revm::MainnetEvm<revm::handler::MainnetContext<CacheDB<EmptyDB>>>;

/// The same token in both engines.
struct Pair {
    evm: Evm,
    journal: Journal,
    block: BlockContext,
    token: Address,
    slots: BTreeSet<U256>,
}

impl Pair {
    fn deploy(params: &Erc20Params) -> Self {
        let db = CacheDB::new(EmptyDB::default());
        let evm = Context::mainnet()
            .with_db(db)
            .modify_cfg_chained(|cfg| {
                cfg.disable_nonce_check = true;
                cfg.tx_gas_limit_cap = Some(u64::MAX);
            })
            .modify_block_chained(|block| {
                block.number = U256::from(1);
                block.timestamp = U256::from(TIME);
                block.gas_limit = u64::MAX;
            })
            .build_mainnet();
        let store = MemoryState::new();
        let journal = Journal::new(store.view(chainbox::state::CommitId::EMPTY).expect("the empty version"));
        let block = BlockContext {
            chain_id: 1,
            height: Height::new(1),
            timestamp: Timestamp::from_secs(TIME),
            ..BlockContext::default()
        };
        let deployer = person(0).address();
        let mut pair = Self { evm, journal, block, token: deployer.create(0), slots: BTreeSet::new() };

        let code = [hex::decode(SOLIDITY.trim()).expect("hex"), params.encode()].concat();
        let theirs = pair.run_evm(deployer, TxKind::Create, code.into());
        let init_code = params.init_code();
        let ours = pair.run_template(&Message::create(deployer, 0, U256::ZERO, &init_code, Gas::new(GAS)));
        match (ours, theirs) {
            // The output of a creation is its code, which is what differs.
            (Ended::Success { logs: ours, .. }, Ended::Success { logs: theirs, .. }) => assert_eq!(ours, theirs),
            (ours, theirs) => assert_eq!(ours, theirs),
        }
        pair.compare_storage("creation");
        pair
    }

    fn call(&mut self, what: &str, from: Address, input: Vec<u8>) {
        let theirs = self.run_evm(from, TxKind::Call(self.token), input.clone().into());
        let ours = self.run_template(&Message::call(from, self.token, U256::ZERO, &input, Gas::new(GAS)));
        assert_eq!(ours, theirs, "{what}: {}", hex::encode(&input));
        self.compare_storage(what);
    }

    fn run_evm(&mut self, from: Address, kind: TxKind, data: Bytes) -> Ended {
        let transaction = TxEnv { caller: from, kind, data, gas_limit: GAS, gas_price: 0, ..TxEnv::default() };
        match self.evm.transact_commit(transaction).expect("a valid transaction") {
            ExecutionResult::Success { output, logs, .. } => Ended::Success { output: output.into_data(), logs },
            ExecutionResult::Revert { output, .. } => Ended::Revert { output },
            ExecutionResult::Halt { .. } => Ended::Halt,
        }
    }

    fn run_template(&mut self, message: &Message<'_>) -> Ended {
        self.journal.begin_transaction();
        let result =
            execute(&mut self.journal, &self.block, templates::builtin(), message).expect("memory is readable");
        match result.outcome {
            FrameOutcome::Success => Ended::Success { output: result.output, logs: self.journal.take_logs() },
            FrameOutcome::Revert => Ended::Revert { output: result.output },
            FrameOutcome::Halt(_) => Ended::Halt,
        }
    }

    /// Every slot that the Solidity contract ever touched holds the same in both.
    fn compare_storage(&mut self, what: &str) {
        let account = &self.evm.ctx.journaled_state.database.cache.accounts[&self.token];
        self.slots.extend(account.storage.keys().copied());
        for slot in &self.slots {
            let theirs = account.storage.get(slot).copied().unwrap_or_default();
            let ours = self.journal.storage(&self.token, slot).expect("memory is readable");
            assert_eq!(ours, theirs, "{what}: slot {slot:#x}");
        }
    }
}

#[test]
fn the_template_is_indistinguishable_from_compiled_solidity() {
    for seed in 0..3 {
        let mut random = Random(seed);
        let owner = person(0).address();
        // A name above 31 bytes is stored in another form.
        let name = ["Gold", "A token whose name does not fit into one word"][seed as usize % 2];
        let features = Erc20Features { mintable: true, burnable: true, pausable: true };
        let params = Erc20Params {
            features,
            cap: Some(U256::from(5_000)),
            decimals: 6,
            ..Erc20Params::new(name, "GLD", U256::from(1_000), owner)
        };
        let mut pair = Pair::deploy(&params);
        for view in [
            "name()",
            "symbol()",
            "decimals()",
            "totalSupply()",
            "cap()",
            "owner()",
            "paused()",
            "DOMAIN_SEPARATOR()",
            "eip712Domain()",
        ] {
            pair.call(view, owner, keccak256(view)[..4].to_vec());
        }
        for _ in 0..CALLS {
            let (from, (what, input)) = (random.person().address(), random_call(&mut random, name, pair.token));
            pair.call(what, from, input);
        }
    }
}

#[test]
fn refused_constructions_revert_alike() {
    let params = |change: fn(&mut Erc20Params)| {
        let mut params = Erc20Params::new("Gold", "GLD", U256::from(1_000), person(0).address());
        params.features = Erc20Features { mintable: true, burnable: true, pausable: true };
        change(&mut params);
        params
    };
    for refused in [
        params(|params| params.owner = Address::ZERO),
        params(|params| params.cap = Some(U256::ZERO)),
        params(|params| params.cap = Some(U256::from(999))),
    ] {
        Pair::deploy(&refused);
    }
}

/// One of the calls that the interface has, often a sensible one, or garbage.
fn random_call(random: &mut Random, name: &'static str, token: Address) -> (&'static str, Vec<u8>) {
    let (a, b) = (random.address(), random.address());
    let value = random.amount();
    match random.below(16) {
        0..=3 => ("transfer", transferCall { to: a, value }.abi_encode()),
        4 => ("approve", approveCall { spender: a, value }.abi_encode()),
        5 | 6 => ("transferFrom", transferFromCall { from: a, to: b, value }.abi_encode()),
        7 => ("mint", mintCall { to: a, amount: value }.abi_encode()),
        8 => ("burn", burnCall { value }.abi_encode()),
        9 => ("burnFrom", burnFromCall { account: a, value }.abi_encode()),
        10 if random.below(4) == 0 => ("pause", pauseCall {}.abi_encode()),
        10 => ("unpause", unpauseCall {}.abi_encode()),
        11 if random.below(8) == 0 => ("transferOwnership", transferOwnershipCall { newOwner: a }.abi_encode()),
        11 => ("nonces", noncesCall { owner: a }.abi_encode()),
        12 => ("balanceOf", balanceOfCall { account: a }.abi_encode()),
        13 => ("allowance", allowanceCall { owner: a, spender: b }.abi_encode()),
        14 => ("permit", random_permit(random, name, token)),
        _ => ("garbage", random_garbage(random, value)),
    }
}

fn random_permit(random: &mut Random, name: &'static str, token: Address) -> Vec<u8> {
    let signer = random.person();
    let owner = if random.below(8) == 0 { random.address() } else { signer.address() };
    let deadline = if random.below(8) == 0 { TIME - 1 } else { TIME + random.below(2) };
    let permit = Permit {
        owner,
        spender: random.address(),
        value: random.amount(),
        // Right only while this signer has given few: a replay and a gap are both common.
        nonce: U256::from(random.below(3)),
        deadline: U256::from(deadline),
    };
    let domain = eip712_domain! { name: name, version: "1", chain_id: 1, verifying_contract: token, };
    let signature = signer.sign_typed_data_sync(&permit, &domain).expect("a local key signs");
    let v = if random.below(10) == 0 { 26 } else { 27 + u8::from(signature.v()) };
    let (r, mut s) = (B256::from(signature.r()), signature.s());
    if random.below(10) == 0 {
        s = U256::MAX - s;
    }
    let Permit { owner, spender, value, deadline, .. } = permit;
    permitCall { owner, spender, value, deadline, v, r, s: B256::from(s) }.abi_encode()
}

fn random_garbage(random: &mut Random, value: U256) -> Vec<u8> {
    let full = transferCall { to: random.address(), value }.abi_encode();
    match random.below(5) {
        0 => full[..random.below(68) as usize].to_vec(),
        1 => [full.as_slice(), &[1, 2, 3]].concat(),
        2 => [&keccak256("transfer(address,uint256)")[..4], &[0xFF; 64]].concat(),
        3 => random.word().to_be_bytes::<32>().to_vec(),
        _ => Vec::new(),
    }
}

fn person(index: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(index + 1)).expect("a valid key")
}

/// Splitmix64: the same calls in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn word(&mut self) -> U256 {
        U256::from_limbs([self.next(), self.next(), self.next(), self.next()])
    }

    fn person(&mut self) -> PrivateKeySigner {
        person(self.below(4) as u8)
    }

    /// Mostly one of four people, at times nobody.
    fn address(&mut self) -> Address {
        if self.below(12) == 0 { Address::ZERO } else { self.person().address() }
    }

    /// Mostly small, at times nothing, everything, or anything.
    fn amount(&mut self) -> U256 {
        match self.below(12) {
            0 => U256::ZERO,
            1 => U256::MAX,
            2 => self.word(),
            _ => U256::from(self.below(400)),
        }
    }
}
