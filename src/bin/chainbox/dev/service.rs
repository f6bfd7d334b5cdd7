//! The platform of `dev`: in memory, or in the database of the default chain.

use core::num::NonZeroUsize;
use std::{error::Error, path::Path, sync::Arc};

use chainbox::{
    node::{BlockRef, NetworkPool, Node},
    platform::{
        Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, NativeToken, OsEntropy, Platform,
        vault::{MasterKey, VaultError},
    },
    primitives::U256,
    server::{ChainClock, now_ms},
};

use super::{args::DevOptions, start::Started};
use crate::files;

/// Environment variable with the master key.
const MASTER_KEY: &str = "CHAINBOX_MASTER_KEY";
/// File with the master key of a database for which none is given, in its folder.
const MASTER_KEY_FILE: &str = "CHAINBOX.key";

/// Opens the platform of a node.
///
/// # Errors
/// The records can't be opened, or are under another master key.
pub(crate) fn open(options: &DevOptions, started: &Started) -> Result<Platform, Box<dyn Error>> {
    let node = started.node.clone();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), describe(options, &node), node.clone(), now_ms());
    // Time travel of the default chain does not move the others.
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let builder = Platform::builder(Arc::new(ChainClock::of(node))).with_networks(NetworkPool::new(threads)?);
    let opened = match (&started.store, &options.db_path) {
        (Some(store), Some(folder)) => {
            let key = master_key(options, folder).map_err(|cause| files::with_causes(&cause))?;
            let former = options.former_master_key_file.iter().map(|path| MasterKey::from_file(path));
            let former = former.collect::<Result<Vec<_>, _>>().map_err(|cause| files::with_causes(&cause))?;
            builder.with_store(Arc::clone(store)).open_with(chain, key, former)
        }
        _ => builder.open(chain),
    };
    Ok(opened?)
}

/// Returns the master key that is given, or that of the folder, which is made at its first use.
fn master_key(options: &DevOptions, folder: &Path) -> Result<MasterKey, VaultError> {
    if let Some(path) = &options.master_key_file {
        return MasterKey::from_file(path);
    }
    match MasterKey::from_env(MASTER_KEY)? {
        Some(key) => Ok(key),
        None => MasterKey::from_file_or_new(&folder.join(MASTER_KEY_FILE), &OsEntropy),
    }
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
    }
}
