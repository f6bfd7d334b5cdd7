//! A chain with a contract of every template, whose accounts hold something in each.

use std::{cell::RefCell, collections::BTreeMap, ops::ControlFlow};

use alloy_json_abi::JsonAbi;
use alloy_primitives::I256;
use alloy_sol_types::SolCall;
use serde_json::{Map, Value, json};

use crate::{
    chain::{AccountDifference, CallRequest, Simulation, StateOverrides},
    node::{BlockRef, ContractError, Node, SimulateError, SnapshotId},
    primitives::{Address, B256, Bytes, Gas, U256},
    templates::{
        self, erc20::interface as erc20, erc721::interface as erc721, erc1155::interface as erc1155,
        erc4626::interface as vault, lending::interface as lending, multisig::interface as multisig,
        price_feed::interface as feed, record_registry::interface as registry, staking_pool::interface as staking,
    },
    vm::Descriptor,
};

/// Largest gas limit of a transaction (EIP-7825).
pub(super) const GAS_MAX: Gas = Gas::new(1 << 24);

/// Accounts that hold and send.
pub(super) const ACCOUNTS: usize = 4;

/// What each of them has of a token, and of each id.
const HOLDINGS: u64 = 10_000;

/// Least delay of timelocks.
const DELAY: &str = "1s";

/// From a proposal to its vote, and how long that takes, in blocks.
pub(super) const VOTING_DELAY: u64 = 1;
pub(super) const VOTING_PERIOD: u64 = 5;

/// Balance, nonce, code hash and slots of each account.
pub(super) type State = BTreeMap<Address, (U256, u64, B256, BTreeMap<U256, U256>)>;

/// A contract of a template.
#[derive(Clone, Debug)]
pub(super) struct Deployed {
    pub(super) name: String,
    pub(super) address: Address,
    pub(super) abi: JsonAbi,
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) node: Node,
    pub(super) contracts: Vec<Deployed>,
}

thread_local! {
    /// The world of a test's thread, and what it was when it was prepared.
    static PREPARED: RefCell<Option<(World, SnapshotId)>> = const { RefCell::new(None) };
}

impl World {
    /// Returns the world as it is at first. To prepare it takes hundreds of blocks: a thread does so once, and then takes back what the case
    /// before did.
    pub(super) fn new() -> Self {
        PREPARED.with_borrow_mut(|prepared| {
            let (world, snapshot) = prepared.get_or_insert_with(|| {
                let world = Self::prepare();
                let snapshot = world.node.snapshot();
                (world, snapshot)
            });
            assert!(world.node.revert(*snapshot).unwrap(), "a snapshot that there is");
            *snapshot = world.node.snapshot();
            world.clone()
        })
    }

    fn prepare() -> Self {
        let mut world = Self { node: Node::new(), contracts: Vec::new() };
        let mut all: Vec<_> = templates::builtin().iter().collect();
        // The vault trusts the forwarder, the router takes WETH9, and the market asks the feed.
        let is_late = |name: &str| !["erc2771-forwarder", "wrapped-native", "price-feed"].contains(&name);
        all.sort_by_key(|template| (is_late(template.name()), template.id()));
        for template in all {
            let descriptor = Descriptor::of(&**template);
            let init_code = world.init_code(&descriptor);
            let deployed = world.node.deploy(world.owner(), init_code);
            let deployed = deployed.unwrap_or_else(|error| panic!("{}: {error}", descriptor.name));
            world.contracts.push(Deployed { name: descriptor.name, address: deployed.address(), abi: descriptor.abi });
        }
        world.distribute();
        world.lend();
        world.open_market();
        world.open_auctions();
        world.fill_pools();
        world.schedule_some();
        world.govern();
        world
    }

    /// Who deployed all, and has all roles.
    pub(super) fn owner(&self) -> Address {
        self.node.accounts()[0]
    }

    pub(super) fn accounts(&self) -> &[Address] {
        &self.node.accounts()[..ACCOUNTS]
    }

    pub(super) fn contract(&self, template: &str) -> &Deployed {
        self.contracts.iter().find(|contract| contract.name == template).unwrap()
    }

    /// The contract at an address, or what a template is that was deployed there since.
    pub(super) fn abi_at(&self, address: Address) -> Option<JsonAbi> {
        let code = self.node.view().code(address, BlockRef::Latest).unwrap();
        let (marker, _) = crate::vm::Marker::split(&code)?;
        Some(templates::builtin().get(marker.0)?.abi())
    }

    pub(super) fn init_code(&self, descriptor: &Descriptor) -> Bytes {
        let init_code = descriptor.encode(&self.parameters(descriptor), self.owner());
        init_code.unwrap_or_else(|errors| panic!("{}: {errors:?}", descriptor.name))
    }

    /// The parameters without a default, all features, a wallet that may be revoked and a vault that trusts the forwarder.
    fn parameters(&self, descriptor: &Descriptor) -> Map<String, Value> {
        let start = self.node.now().as_secs().saturating_sub(1_000).to_string();
        let mut values = Map::new();
        for parameter in &descriptor.constructor {
            let value = match (descriptor.name.as_str(), parameter.name.as_str()) {
                (_, "features") => parameter.members.iter().map(|feature| json!(feature.name)).collect(),
                (_, "totalSupply") => json!("1000000"),
                (_, "asset" | "token" | "token0") => json!(self.contract("erc20-token").address),
                // Small amounts have a rate.
                ("staking-pool", "rewardsDuration") => json!("10s"),
                (_, "stakingToken") => json!(self.contract("erc20-token").address),
                (_, "owners") => json!(self.accounts()[..2]),
                (_, "threshold") => json!(2),
                (_, "rewards") => self.rewards(),
                (_, "trustedForwarder") => json!(self.contract("erc2771-forwarder").address),
                (_, "revocable") => json!(true),
                (_, "royaltyFee") => json!("5"),
                (_, "start") => json!(start),
                (_, "duration") => json!("100000"),
                (_, "oracle") => json!(self.contract("price-feed").address),
                (_, "token1" | "collateral") => json!(self.contract("erc4626-vault").address),
                (_, "factory") => json!(self.contract("liquidity-factory").address),
                (_, "WETH") => json!(self.contract("wrapped-native").address),
                ("marketplace" | "auction", "fee") => json!("2.5"),
                (_, "proposers") => json!([self.owner()]),
                (_, "admin") => json!(self.owner()),
                (_, "minDelay" | "timelockDelay") => json!(DELAY),
                (_, "votingDelay") => json!(VOTING_DELAY),
                (_, "votingPeriod") => json!(VOTING_PERIOD),
                (_, "beneficiary") => json!(self.node.accounts()[1]),
                ("erc2771-forwarder", "name") => continue,
                (_, "name") => json!("Gold"),
                (_, "symbol") => json!("GLD"),
                // As many decimals as the tokens have: a unit is worth units of the price.
                ("price-feed", "decimals") => json!(18),
                (_, "answer") => json!("2000000000000000000"),
                (_, "uri") => json!("https://example.org/{id}"),
                _ if parameter.is_optional() => continue,
                (template, name) => panic!("{template}: a value for parameter {name} is missing here"),
            };
            values.insert(parameter.name.clone(), value);
        }
        values
    }

    /// Rewards in the token that is staked, and in another one.
    fn rewards(&self) -> Value {
        let terms = |name: &str| json!({ "token": self.contract(name).address, "rate": "1" });
        json!([terms("erc20-token"), terms("erc4626-vault")])
    }

    /// Gives every account a part of everything.
    fn distribute(&self) {
        let [token, nft, multi, vault, records, wallet, pool, shared] = [
            "erc20-token",
            "erc721-nft",
            "erc1155-multi",
            "erc4626-vault",
            "record-registry",
            "vesting-wallet",
            "staking-pool",
            "multisig",
        ]
        .map(|name| self.contract(name).address);
        let amount = U256::from(HOLDINGS);
        let mut inputs = Vec::new();
        for (index, account) in (0_u64..).zip(self.accounts().iter().copied()) {
            let approve = erc20::approveCall { spender: vault, value: U256::MAX };
            let deposit = vault::depositCall { assets: U256::from(1_000), receiver: account };
            inputs.push((self.owner(), token, erc20::transferCall { to: account, value: amount }.abi_encode()));
            inputs.push((account, token, approve.abi_encode()));
            inputs.push((account, vault, deposit.abi_encode()));
            let approve = erc20::approveCall { spender: pool, value: U256::MAX };
            inputs.push((account, token, approve.abi_encode()));
            inputs.push((account, pool, staking::stakeCall { amount: U256::from(500) }.abi_encode()));
            for number in 0..3 {
                let token_id = U256::from(10 * index + number);
                let mint = erc721::safeMint_0Call { to: account, tokenId: token_id };
                let id = U256::from(number);
                let many = erc1155::mintCall { account, id, amount, data: Bytes::new() };
                inputs.push((self.owner(), nft, mint.abi_encode()));
                inputs.push((self.owner(), multi, many.abi_encode()));
            }
        }
        inputs.push((self.owner(), token, erc20::transferCall { to: wallet, value: amount }.abi_encode()));
        for _ in 0..3 {
            let (destination, data) = (self.accounts()[2], Bytes::new());
            let submit = multisig::submitTransactionCall { destination, value: U256::ZERO, data };
            inputs.push((self.owner(), shared, submit.abi_encode()));
        }
        let to_pool = vault::depositCall { assets: U256::from(1_000), receiver: pool };
        inputs.push((self.owner(), vault, to_pool.abi_encode()));
        let anyone = registry::Access::Anyone;
        let rules = registry::Rules { create: anyone, update: anyone, remove: anyone, transfer: anyone };
        for collection in words().into_iter().take(2) {
            let create = registry::createCollectionCall { collection, name: "books".to_owned(), rules: rules.clone() };
            inputs.push((self.owner(), records, create.abi_encode()));
            for id in words().into_iter().take(3) {
                let create = registry::createCall { collection, id, data: Bytes::from_static(b"data") };
                inputs.push((self.owner(), records, create.abi_encode()));
            }
        }
        self.send_all(inputs);
        self.node.transfer(self.owner(), wallet, amount).unwrap();
    }

    /// Accounts supply the token and put in the vault's shares, the last two borrow; then the price falls, so that the third may be liquidated,
    /// and the fourth is already, with a loss.
    fn lend(&self) {
        let [token, vault, market, feed] =
            ["erc20-token", "erc4626-vault", "lending", "price-feed"].map(|name| self.contract(name).address);
        let accounts = self.accounts();
        let mut inputs = Vec::new();
        for account in accounts.iter().copied() {
            let approve = erc20::approveCall { spender: market, value: U256::MAX }.abi_encode();
            inputs.extend([token, vault].map(|asset| (account, asset, approve.clone())));
            for (asset, amount) in [(token, 3_000_u64), (vault, 500)] {
                let amount = U256::from(amount);
                let supply = lending::supplyCall { asset, amount, onBehalfOf: account, referralCode: 0 };
                inputs.push((account, market, supply.abi_encode()));
            }
        }
        let price = |price: i64| {
            let answer = I256::unchecked_from(price * 1_000_000_000_000_000_000);
            (self.owner(), feed, feed::updateAnswerCall { _answer: answer }.abi_encode())
        };
        inputs.push(price(4));
        for account in &accounts[2..] {
            let (amount, interest_rate_mode) = (U256::from(1_490), U256::from(2));
            let (asset, referral_code) = (token, 0);
            inputs.push((
                *account,
                market,
                lending::borrowCall {
                    asset,
                    amount,
                    interestRateMode: interest_rate_mode,
                    referralCode: referral_code,
                    onBehalfOf: *account,
                }
                .abi_encode(),
            ));
        }
        inputs.push(price(3));
        let (collateral_asset, debt_asset) = (vault, token);
        inputs.push((
            self.owner(),
            market,
            lending::liquidationCallCall {
                collateralAsset: collateral_asset,
                debtAsset: debt_asset,
                user: accounts[3],
                debtToCover: U256::MAX,
                receiveAToken: false,
            }
            .abi_encode(),
        ));
        self.send_all(inputs);
    }

    /// Mines a call that pays some wei, and succeeds.
    pub(super) fn run(&self, from: Address, to: Address, value: u64, call: &impl SolCall) {
        let request = CallRequest::call(to, call.abi_encode()).with_from(from).with_value(amount(value));
        let mined = self.node.send_and_mine(request).unwrap();
        assert!(mined.is_success(), "{mined:?}");
    }

    /// Mines a call that may fail, as where a token is paused by now.
    pub(super) fn try_run(&self, from: Address, to: Address, input: Vec<u8>) {
        let request = CallRequest::call(to, input).with_from(from).with_gas(GAS_MAX);
        let mined = self.node.send_and_mine(request);
        assert!(matches!(mined, Ok(_) | Err(ContractError::Reverted { .. })), "{mined:?}");
    }

    fn send_all(&self, inputs: Vec<(Address, Address, Vec<u8>)>) {
        for (from, to, input) in inputs {
            let mined = self.node.send_and_mine(CallRequest::call(to, input).with_from(from)).unwrap();
            assert!(mined.is_success(), "{mined:?}");
        }
    }

    pub(super) fn simulate(&self, operation: &CallRequest, block: BlockRef) -> Result<Simulation, SimulateError> {
        let operations = core::slice::from_ref(operation);
        let simulations = self.node.view().simulate(operations, block, &StateOverrides::new())?;
        Ok(simulations.into_iter().next().unwrap())
    }

    /// Returns what a view returns now; `None` when it fails.
    pub(super) fn read<C: SolCall>(&self, to: Address, call: &C) -> Option<C::Return> {
        let request = CallRequest::call(to, call.abi_encode());
        let outcome = self.node.view().call(&request, BlockRef::Latest, &StateOverrides::new(), None).unwrap();
        C::abi_decode_returns(outcome.success_output()?).ok()
    }

    pub(super) fn state(&self, block: BlockRef) -> State {
        let state = self.node.view().state(block).unwrap();
        let mut accounts = BTreeMap::new();
        state
            .for_each_account(&mut |address, account| {
                accounts.insert(address, (account.balance, account.nonce, account.code_hash, BTreeMap::new()));
                ControlFlow::Continue(())
            })
            .unwrap();
        for (address, (.., slots)) in &mut accounts {
            state
                .for_each_slot(address, &mut |slot, value| {
                    slots.insert(slot, value);
                    ControlFlow::Continue(())
                })
                .unwrap();
        }
        accounts
    }
}

pub(super) fn amount(value: u64) -> U256 {
    U256::from(value)
}

/// Ids of collections and records.
pub(super) fn words() -> [B256; 5] {
    [1, 2, 3, 4, 5].map(B256::with_last_byte)
}

/// Applies the differences of a simulation to the state before it.
pub(super) fn apply(state: &mut State, changes: &[AccountDifference]) {
    for change in changes {
        let empty = (U256::ZERO, 0, crate::state::EMPTY_CODE_HASH, BTreeMap::new());
        let (balance, nonce, code_hash, slots) = state.entry(change.address).or_insert(empty);
        if let Some(changed) = &change.balance {
            assert_eq!(*balance, changed.before, "{}", change.address);
            *balance = changed.after;
        }
        if let Some(changed) = &change.nonce {
            assert_eq!(*nonce, changed.before, "{}", change.address);
            *nonce = changed.after;
        }
        if let Some(changed) = &change.code_hash {
            assert_eq!(*code_hash, changed.before, "{}", change.address);
            *code_hash = changed.after;
        }
        for slot in &change.storage {
            assert_eq!(slots.remove(&slot.slot).unwrap_or_default(), slot.word.before, "{}", change.address);
            if !slot.word.after.is_zero() {
                slots.insert(slot.slot, slot.word.after);
            }
        }
    }
}
