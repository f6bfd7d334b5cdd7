//! The platform of `dev`: in memory, or in the database of the default chain.

use core::num::NonZeroUsize;
use std::{error::Error, sync::Arc};

use chainbox::{
    node::{BlockRef, NetworkPool, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, DecidedBy, NativeToken, Platform},
    primitives::U256,
    server::{ChainClock, TravelClock, now_ms},
};

use super::{args::DevOptions, start::Started};
use crate::master_key;

/// Opens the platform of a node.
///
/// # Errors
/// The records can't be opened, or are under another master key.
pub(crate) fn open(options: &DevOptions, started: &Started) -> Result<Platform, Box<dyn Error>> {
    let node = started.node.clone();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), describe(options, &node), node.clone(), now_ms());
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let networks = NetworkPool::with_clock(threads, Arc::new(TravelClock::of(node.clone())))?;
    let builder = Platform::builder(Arc::new(ChainClock::of(node))).with_networks(networks);
    let opened = match (&started.store, &options.db_path) {
        (Some(store), Some(folder)) => {
            let given = options.database.master_key_file.as_deref();
            let (key, former) = master_key::read(given, &options.database.former_master_key_file, folder, &**store)?;
            let builder = match &options.database.backup_path {
                Some(backups) => builder.with_backups(backups.clone()),
                None => builder,
            };
            builder.with_store(Arc::clone(store)).open_with(chain, key, former)
        }
        _ => builder.open(chain),
    };
    Ok(opened?)
}

/// Returns the specification of the default chain for the service.
fn describe(options: &DevOptions, node: &Node) -> BlockchainSpec {
    let view = node.view();
    let balances = node.accounts().iter().filter_map(|account| view.balance(*account, BlockRef::Latest).ok());
    BlockchainSpec {
        name: "development".to_owned(),
        kind: "private".to_owned(),
        consensus: node.consensus(),
        chain_id: Some(view.chain_id()),
        block_time: options.block_time,
        block_gas_limit: Some(view.pool_context().gas_limit),
        native_token: NativeToken {
            premine: balances.fold(U256::ZERO, U256::saturating_add),
            ..NativeToken::default()
        },
        validators: Vec::new(),
        features: vec!["smart-contracts".to_owned()],
        upgrades: DecidedBy::default(),
        membership: DecidedBy::default(),
        starts: true,
    }
}
