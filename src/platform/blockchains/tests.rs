//! Tests of chains by rule, without HTTP: networks in real time by an injected clock, states, access, figures, deployments.

mod access;
mod chain_ids;
mod dapps;
mod delegators;
mod deployments;
mod figures;
mod requests;
mod snapshots;
mod states;
mod tokens;
mod transfers;
mod usage;
mod validators;

use core::time::Duration;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use serde_json::json;

use crate::{
    chain::CallRequest,
    node::{Database, ManualClock, Node, testing::run_for},
    platform::{
        Blockchain, BlockchainSpec, ChainCommand, ChainState, DEFAULT_BLOCKCHAIN_ID, Plan, Plans, Platform,
        PlatformError, Principal, Role, Subject, Workspace, entropy::testing::SeededEntropy, vault::MasterKey,
    },
    primitives::Timestamp,
    store::{KeyValue, testing::MemoryDisk},
};

/// A platform on a disk, and its clock.
struct World {
    disk: Arc<MemoryDisk>,
    clock: Arc<ManualClock>,
    platform: Platform,
}

impl World {
    fn new() -> Self {
        Self::on(Arc::new(MemoryDisk::new()), Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000))))
    }

    fn on(disk: Arc<MemoryDisk>, clock: Arc<ManualClock>) -> Self {
        let platform = Self::platform_on(disk.clone(), clock.clone());
        Self { disk, clock, platform }
    }

    fn platform_on(store: Arc<dyn KeyValue>, clock: Arc<ManualClock>) -> Platform {
        let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
        Self::platform_over(node, store, clock)
    }

    /// A platform whose default chain is that of a node.
    fn platform_over(node: Node, store: Arc<dyn KeyValue>, clock: Arc<ManualClock>) -> Platform {
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), named("default"), node, 0);
        let plan = Plan { transactions_max: 100, ..Plan::UNLIMITED };
        let builder = Platform::builder(clock).with_store(store).with_entropy(Arc::new(SeededEntropy::of_thread()));
        let builder = builder.with_plans(Plans::default().with(Plans::DEFAULT, plan));
        builder.open_with(chain, MasterKey::new([7; 32].into()), Vec::new()).unwrap()
    }

    /// The process is killed, and started again after a while.
    fn restarted(self, after: Duration) -> Self {
        let (disk, clock) = (self.disk.crashed(), self.clock.clone());
        drop(self.platform);
        clock.advance(after);
        Self::on(disk, clock)
    }

    fn me(&self) -> Principal {
        self.platform.service_principal()
    }

    fn create(&self, body: serde_json::Value) -> Arc<Blockchain> {
        self.platform.blockchains().create(&self.me(), BlockchainSpec::read(body).unwrap()).unwrap()
    }

    /// Lets the time pass, and a chain run in it as a punctual pool would let it.
    fn run(&self, chain: &Blockchain, secs: u64) {
        run_for(chain.network().expect("it has a block time"), &self.clock, Duration::from_secs(secs));
    }

    /// Pays somebody from a chain's treasury.
    fn pay(&self, chain: &Blockchain) -> Result<B256, PlatformError> {
        let request = CallRequest::call(Address::repeat_byte(7), []).with_from(chain.treasury().unwrap());
        self.platform.blockchains().send(&self.me(), chain.id(), request.with_value(U256::from(5)))
    }

    fn state(&self, id: &str) -> ChainState {
        let chains = self.platform.blockchains();
        chains.state(&chains.record(&self.me(), id).unwrap())
    }

    fn command(&self, id: &str, command: ChainCommand) -> Option<Arc<Blockchain>> {
        self.platform.blockchains().carry_out(&self.me(), id, command).unwrap()
    }

    /// A user and what it is in a workspace of its own.
    fn user(&self, email: &str) -> Principal {
        let user = self.platform.unit(|unit| self.platform.workspaces().add_user(unit, email)).unwrap();
        let workspaces = self.platform.workspaces();
        let made = self.platform.unit(|unit| workspaces.create(unit, user.id(), Workspace::named(email)));
        let workspace = made.unwrap();
        let id = workspace.owner().workspace().unwrap();
        self.platform.workspaces().principal(user.id(), id).unwrap().unwrap()
    }

    /// Another member of the default workspace.
    fn member(&self, name: &str) -> Principal {
        let me = self.me();
        Principal::new(Subject::User(name.to_owned()), me.workspace().clone(), Role::Owner.cap())
    }
}

fn named(name: &str) -> BlockchainSpec {
    BlockchainSpec::read(json!({ "name": name })).unwrap()
}

/// The body of a chain with four validators and a block a second.
fn of_four(consensus: &str) -> serde_json::Value {
    let validator = |byte: u8| json!({ "address": Address::repeat_byte(byte).to_string(), "name": format!("v{byte}") });
    let validators: Vec<_> = (1..=4).map(validator).collect();
    json!({ "name": consensus, "consensus": consensus, "config": { "blockTime": "1s" }, "validators": validators })
}

fn height(chain: &Blockchain) -> u64 {
    chain.node().view().head().height().get()
}

fn conflict<T>(result: Result<T, PlatformError>) -> String {
    match result.map(drop) {
        Err(PlatformError::Conflict { message }) => message,
        other => panic!("{other:?}"),
    }
}
