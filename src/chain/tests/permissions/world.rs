//! A chain with permissions, a contract that creates others, and a second replica that follows.

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::super::fixture::*;
use crate::{
    chain::{Block, Chain, GenesisContract, HeadChange, InsertOutcome},
    primitives::{Gas, Transaction, TransactionRequest},
    system::permissions::{
        PERMISSIONS_ADDRESS, PermissionsConfig,
        interface::{PermissionsInfo, setPermissionsCall},
    },
    templates::{self, BATCH_ADDRESS, Batch},
    vm::{Host, Marker, Stop, Template, TemplateId, TemplateRegistry},
};

/// Number of the administrator's key.
pub(super) const ADMIN: u64 = 0;
pub(super) const TO: Address = Address::repeat_byte(7);
/// A contract that creates another from its call data.
pub(super) const CREATOR: Address = Address::repeat_byte(0xc0);

const CREATOR_ID: TemplateId = TemplateId::new(0x8010, 1);

#[derive(Debug)]
struct Creator;

impl Template for Creator {
    fn id(&self) -> TemplateId {
        CREATOR_ID
    }
    fn name(&self) -> &str {
        "creator"
    }
    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }
    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let (_, created) = host.create(input, U256::ZERO)?;
        created.or_revert()
    }
}

fn registry() -> Arc<TemplateRegistry> {
    let mut registry = templates::builtin().clone();
    registry.register(Arc::new(Creator)).unwrap();
    Arc::new(registry)
}

pub(super) fn address(number: u64) -> Address {
    key(number).address()
}

/// The section with both lists off.
pub(super) fn config() -> PermissionsConfig {
    PermissionsConfig::new(address(ADMIN))
}

pub(super) fn creator_init_code() -> Bytes {
    Marker(CREATOR_ID).init_code(&[])
}

pub(super) fn creation(from: u64, nonce: u64) -> Arc<Transaction> {
    let request = TransactionRequest { to: None, ..with_input(nonce, Address::ZERO, creator_init_code(), 200_000) };
    Arc::new(request.sign(&key(from)).unwrap())
}

pub(super) fn call_creator(from: u64, nonce: u64) -> Arc<Transaction> {
    world_call_with_gas(from, nonce, CREATOR, creator_init_code(), 200_000)
}

pub(super) fn world_call(from: u64, nonce: u64, to: Address, call: &impl SolCall) -> Arc<Transaction> {
    world_call_with_gas(from, nonce, to, call.abi_encode().into(), 300_000)
}

pub(super) fn world_call_with_gas(from: u64, nonce: u64, to: Address, input: Bytes, gas: u64) -> Arc<Transaction> {
    Arc::new(with_input(nonce, to, input, gas).sign(&key(from)).unwrap())
}

fn with_input(nonce: u64, to: Address, input: Bytes, gas: u64) -> TransactionRequest {
    TransactionRequest { input, gas_limit: Gas::new(gas), ..request(nonce, to, 0) }
}

pub(super) struct World {
    pub(super) chain: Chain,
    /// A replica that executes every block by itself.
    other: Chain,
}

impl World {
    pub(super) fn new(config: PermissionsConfig) -> Self {
        let contract = |address, template: &str| GenesisContract {
            address,
            template: template.to_owned(),
            params: Default::default(),
            deployer: Address::ZERO,
        };
        let spec = spec()
            .with_permissions(config)
            .with_contract(contract(CREATOR, "creator"))
            .with_contract(contract(BATCH_ADDRESS, Batch::NAME));
        let open = || builder_of(spec.clone()).with_registry(registry()).open().unwrap();
        Self { chain: open(), other: open() }
    }

    /// Builds a block of these transactions, all of which are valid, and makes it the head of both replicas.
    pub(super) fn mine(&mut self, transactions: Vec<Arc<Transaction>>) -> HeadChange {
        let head = self.chain.head();
        let built = build_on(&self.chain, head.hash(), head.timestamp().as_secs() + 1, transactions);
        assert!(built.left_out.is_empty(), "{:?}", built.left_out);
        self.adopt(built.block)
    }

    /// Makes a block the head of both replicas.
    pub(super) fn adopt(&mut self, block: Block) -> HeadChange {
        let block = Arc::new(block);
        assert_eq!(self.other.insert(block.clone()).unwrap(), InsertOutcome::New);
        self.other.set_head(block.hash()).unwrap();
        self.chain.insert(block.clone()).unwrap();
        let change = self.chain.set_head(block.hash()).unwrap();
        assert_eq!(self.other.head().commit().root, self.chain.head().commit().root);
        change
    }

    pub(super) fn nonce(&self, number: u64) -> u64 {
        let state = self.chain.state_of(self.chain.head().hash()).unwrap();
        state.account(&address(number)).unwrap().unwrap_or_default().nonce
    }

    /// The administrator's next transaction, which sets an account's lists.
    pub(super) fn setting(&self, account: Address, is_account: bool, is_deployer: bool) -> Arc<Transaction> {
        let call = setPermissionsCall { account, isAccount: is_account, isDeployer: is_deployer };
        world_call(ADMIN, self.nonce(ADMIN), PERMISSIONS_ADDRESS, &call)
    }

    pub(super) fn set(&mut self, account: Address, is_account: bool, is_deployer: bool) -> HeadChange {
        self.mine(vec![self.setting(account, is_account, is_deployer)])
    }

    pub(super) fn permissions(&self, account: Address) -> PermissionsInfo {
        self.chain.permissions_of(self.chain.head(), account).unwrap()
    }
}
