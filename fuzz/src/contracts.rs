//! A contract of every template, and arguments for its functions.

use std::sync::{Arc, LazyLock};

use alloy_dyn_abi::{DynSolType, DynSolValue, JsonAbiExt as _};
use alloy_json_abi::Function;
use alloy_primitives::{Address, B256, Bytes, I256, U256, keccak256};
use alloy_sol_types::SolCall;
use arbitrary::Unstructured;
use chainbox::{
    primitives::{Gas, Height, Timestamp},
    state::Journal,
    templates::{
        self, AuctionParams, Batch, Erc20Features, Erc20Params, Erc721Features, Erc721Params, Erc1155Features,
        Erc1155Params, Erc2771ForwarderParams, Erc4626Params, GovernanceDaoParams, LendingParams,
        LiquidityFactoryParams, LiquidityPoolParams, LiquidityRouterParams, MarketplaceParams, Multicall,
        MultisigParams, PriceFeedParams, RecordRegistryParams, StakingPoolParams, TimelockControllerParams,
        VestingWalletParams, WrappedNativeParams, erc20::interface as erc20, erc4626::interface as erc4626,
    },
    vm::{BlockContext, Message, Template, execute},
};

use crate::{Who, funded_state};

/// Calls inside each other's arguments, such as those of a multicall.
const NESTED_MAX: usize = 2;
/// Elements of an array argument.
const ELEMENTS_MAX: usize = 3;
/// Bytes of an argument that are drawn one by one.
const BYTES_MAX: usize = 40;

const NOW: u64 = 1_000_000;

/// A contract, and the functions of its template.
#[derive(Clone)]
pub struct Contract {
    pub name: &'static str,
    pub address: Address,
    pub functions: Vec<Function>,
}

/// A block, and a state in which each template has a contract: alice owns all, and everyone has tokens that the vault may take.
#[derive(Clone)]
pub struct World {
    pub journal: Journal,
    pub block: BlockContext,
    pub contracts: Vec<Contract>,
}

impl World {
    /// Returns the world at its start.
    pub fn start() -> Self {
        static START: LazyLock<World> = LazyLock::new(World::build);
        START.clone()
    }

    fn build() -> Self {
        let (chain_id, timestamp) = (31_337, Timestamp::from_secs(NOW));
        let block = BlockContext { chain_id, timestamp, height: Height::new(7), ..BlockContext::default() };
        let mut world = Self { journal: Journal::new(funded_state()), block, contracts: Vec::new() };
        for (nonce, template) in in_order().into_iter().enumerate() {
            let name: &'static str = String::from(template.name()).leak();
            let init_code = world.init_code(name);
            let gas = Gas::new(10_000_000);
            let creation = Message::create(Who::Alice.address(), nonce as u64, U256::ZERO, &init_code, gas);
            world.run(&creation);
            let functions = template.abi().functions().cloned().collect();
            world.contracts.push(Contract { name, address: creation.to, functions });
        }
        let (token, vault) = (world.address("erc20-token"), world.address("erc4626-vault"));
        let pool = world.address("staking-pool");
        for who in Who::ALL {
            world.call(Who::Alice, token, &erc20::transferCall { to: who.address(), value: U256::from(200) });
            for spender in [vault, pool, world.address("lending")] {
                world.call(who, token, &erc20::approveCall { spender, value: U256::MAX });
            }
        }
        world.call(
            Who::Alice,
            token,
            &erc20::transferCall { to: world.address("vesting-wallet"), value: U256::from(100) },
        );
        let trusted = erc4626::isTrustedForwarderCall { forwarder: world.address("erc2771-forwarder") };
        assert!(world.call(Who::Alice, vault, &trusted), "the vault trusts the forwarder");
        world
    }

    /// Init code of a template with everything on.
    fn init_code(&self, name: &str) -> Bytes {
        let alice = Who::Alice.address();
        match name {
            "erc20-token" => Erc20Params {
                features: Erc20Features::ALL,
                ..Erc20Params::new("Gold", "GLD", U256::from(1_000), alice)
            }
            .init_code(),
            "erc721-nft" => {
                let features = Erc721Features { mintable: true, burnable: true, pausable: true, votes: true };
                Erc721Params { features, ..Erc721Params::new("Art", "ART", "ipfs://", alice) }.init_code()
            }
            "erc1155-multi" => {
                let features = Erc1155Features { mintable: true, burnable: true, pausable: true };
                Erc1155Params { features, ..Erc1155Params::new("ipfs://{id}", alice) }.init_code()
            }
            "erc4626-vault" => {
                let params = Erc4626Params::new("Shares", "SHR", self.address("erc20-token"), alice);
                let trusted_forwarder = Some(self.later("erc2771-forwarder"));
                Erc4626Params { entry_fee: 10, exit_fee: 10, trusted_forwarder, ..params }.init_code()
            }
            "vesting-wallet" => {
                let params = VestingWalletParams::new(Who::Bob.address(), Timestamp::from_secs(NOW - 50), 100);
                VestingWalletParams { revoker: Some(alice), ..params }.init_code()
            }
            "multicall" => Multicall::init_code(),
            "erc2771-forwarder" => Erc2771ForwarderParams::new("Forwarder").init_code(),
            "batch" => Batch::init_code(),
            "record-registry" => RecordRegistryParams::new(alice).init_code(),
            "governance-dao" => GovernanceDaoParams::new("Council", self.address("erc20-token")).init_code(),
            "timelock-controller" => TimelockControllerParams::new(0, vec![alice]).init_code(),
            "staking-pool" => {
                let token = self.address("erc20-token");
                StakingPoolParams::new(token, token, 1, alice).init_code()
            }
            "liquidity-pool" => {
                LiquidityPoolParams::new(self.address("erc20-token"), self.address("erc4626-vault")).init_code()
            }
            "liquidity-factory" => LiquidityFactoryParams::new(alice).init_code(),
            "liquidity-router" => {
                LiquidityRouterParams::new(self.address("liquidity-factory"), self.later("wrapped-native")).init_code()
            }
            "lending" => {
                let [token, collateral, oracle] =
                    ["erc20-token", "erc4626-vault", "price-feed"].map(|name| self.address(name));
                LendingParams::new(token, collateral, oracle, alice).init_code()
            }
            // As many decimals as the tokens have: a unit is worth units of the price.
            "price-feed" => {
                let params = PriceFeedParams::new("Shares in gold", 2_000_000_000_000_000_000, alice);
                PriceFeedParams { decimals: 18, ..params }.init_code()
            }
            "marketplace" => {
                let token = Some(self.address("erc20-token"));
                MarketplaceParams { fee: 250, token, ..MarketplaceParams::new(alice) }.init_code()
            }
            "auction" => {
                let token = Some(self.address("erc20-token"));
                AuctionParams { fee: 250, token, ..AuctionParams::new(alice) }.init_code()
            }
            "multisig" => MultisigParams::new(vec![alice, Who::Bob.address()], 1).init_code(),
            "wrapped-native" => WrappedNativeParams::default().init_code(),
            other => panic!("parameters of template {other} are missing here"),
        }
    }

    /// Returns the address of a contract that comes later: of alice's nonce that is its place in the order.
    fn later(&self, name: &str) -> Address {
        let place = in_order().into_iter().position(|template| template.name() == name);
        Who::Alice.address().create(place.expect("a template") as u64)
    }

    /// Returns the address of the contract of a template.
    pub fn address(&self, name: &str) -> Address {
        let found = self.contracts.iter().find(|contract| contract.name == name);
        found.unwrap_or_else(|| panic!("{name} has no contract yet")).address
    }

    fn call<C: SolCall>(&mut self, from: Who, to: Address, call: &C) -> C::Return {
        let output = self.run(&Message::call(from.address(), to, U256::ZERO, &call.abi_encode(), Gas::new(1_000_000)));
        C::abi_decode_returns(&output).expect("what it returns")
    }

    fn run(&mut self, message: &Message<'_>) -> Bytes {
        self.journal.begin_transaction();
        let result = execute(&mut self.journal, &self.block, templates::builtin(), message).expect("readable");
        assert!(result.is_success(), "{result:?}");
        result.output
    }

    /// Draws call data for a contract: of one of its functions with arguments of their types, with any bytes, or any bytes alone.
    pub fn input(&self, contract: &Contract, u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
        self.nested_input(contract, u, NESTED_MAX)
    }

    fn nested_input(&self, contract: &Contract, u: &mut Unstructured<'_>, depth: usize) -> arbitrary::Result<Vec<u8>> {
        let kind = u.int_in_range(0..=7)?;
        if kind == 0 {
            return bytes(u);
        }
        let function = u.choose(&contract.functions)?;
        if kind == 1 {
            return Ok([function.selector().as_slice(), &bytes(u)?].concat());
        }
        let mut arguments = Vec::with_capacity(function.inputs.len());
        for input in &function.inputs {
            let ty: DynSolType = input.selector_type().parse().expect("a type of an ABI");
            arguments.push(self.argument(&ty, u, depth)?);
        }
        Ok(function.abi_encode_input(&arguments).expect("arguments of its types"))
    }

    fn argument(&self, ty: &DynSolType, u: &mut Unstructured<'_>, depth: usize) -> arbitrary::Result<DynSolValue> {
        Ok(match ty {
            DynSolType::Bool => DynSolValue::Bool(u.arbitrary()?),
            DynSolType::Address => DynSolValue::Address(self.any_address(u)?),
            DynSolType::Uint(bits) => {
                let near = U256::from(u.arbitrary::<u8>()?);
                let number = if u.ratio(1, 8)? { U256::MAX - near } else { near };
                DynSolValue::Uint(number & (U256::MAX >> (256 - *bits)), *bits)
            }
            DynSolType::Int(bits) => {
                let near = I256::unchecked_from(u.arbitrary::<i16>()?);
                DynSolValue::Int(
                    if u.ratio(1, 8)? { I256::MIN.wrapping_sub(near) } else { near }.asr(256 - bits),
                    *bits,
                )
            }
            DynSolType::FixedBytes(len) => {
                let roles = ["MINTER_ROLE", "PAUSER_ROLE", "URI_SETTER_ROLE", "WRITER_ROLE"].map(keccak256);
                let any = B256::repeat_byte(u.arbitrary()?);
                let words = [B256::ZERO, any, roles[0], roles[1], roles[2], roles[3]];
                DynSolValue::FixedBytes(*u.choose(&words)?, *len)
            }
            DynSolType::Bytes if depth > 0 && u.ratio(3, 4)? => {
                let contract = u.choose(&self.contracts)?;
                DynSolValue::Bytes(self.nested_input(contract, u, depth - 1)?)
            }
            DynSolType::Bytes => DynSolValue::Bytes(bytes(u)?),
            DynSolType::String => DynSolValue::String("word ".repeat(u.int_in_range(0..=9)?)),
            DynSolType::Array(element) => {
                let len = u.int_in_range(0..=ELEMENTS_MAX)?;
                DynSolValue::Array((0..len).map(|_| self.argument(element, u, depth)).collect::<Result<_, _>>()?)
            }
            DynSolType::Tuple(members) => {
                let members = members.iter().map(|member| self.argument(member, u, depth));
                DynSolValue::Tuple(members.collect::<Result<_, _>>()?)
            }
            other => panic!("values of type {other} are missing here"),
        })
    }

    fn any_address(&self, u: &mut Unstructured<'_>) -> arbitrary::Result<Address> {
        let people = Who::ALL.map(Who::address);
        let contracts = self.contracts.iter().map(|contract| contract.address);
        let known: Vec<_> = people.into_iter().chain(contracts).chain([Address::ZERO]).collect();
        u.choose(&known).copied()
    }
}

/// Returns the templates in the order of their contracts' creation: as in the registry, but a market comes after the feed that it asks.
fn in_order() -> Vec<&'static Arc<dyn Template>> {
    let mut all: Vec<_> = templates::builtin().iter().collect();
    all.sort_by_key(|template| template.name() == "lending");
    all
}

fn bytes(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let len = u.int_in_range(0..=BYTES_MAX)?.min(u.len());
    Ok(u.bytes(len)?.to_vec())
}
