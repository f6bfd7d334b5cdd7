//! The node of `dev`: from flags, a genesis, a database or a dump.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chainbox::{
    chain::{DumpError, GenesisSpec, LoadSummary},
    consensus::ConsensusKind,
    node::{Database, LoadError, Mining, Node, NodeBuilder},
    primitives::{Gas, Timestamp, U256},
    server::WallClock,
    store::KeyValue,
};

use crate::dev::{
    args::{DEFAULT_ACCOUNTS, DEFAULT_CHAIN_ID, DEFAULT_GAS_LIMIT, DevOptions},
    database,
    genesis_file::GenesisFile,
    held_chain::HeldChain,
    state_files::LoadedFile,
};
use crate::files;

type Failure = Box<dyn std::error::Error>;

/// Balance of a funded account, in whole tokens.
const DEFAULT_TOKENS: u64 = 10_000;

/// A node that is ready to be served.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) node: Node,
    /// The database that holds it.
    pub(crate) store: Option<Arc<dyn KeyValue>>,
    /// The dump that it was loaded from.
    pub(crate) loaded: Option<(PathBuf, LoadSummary)>,
    /// What its user should know, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// Builds the node.
///
/// # Errors
/// Flags that contradict each other or the chain that is there already; a file or a database that can't be used.
pub(crate) fn start(options: &DevOptions) -> Result<Started, Failure> {
    let (mut builder, mut notes) = (by_flags(options), Vec::new());
    let loaded = LoadedFile::read(options)?;
    if let Some(path) = &options.genesis {
        let file = GenesisFile::read(path)?;
        builder = with_checked_genesis(builder, options, format!("the genesis {}", path.display()), file.genesis)?;
        notes = file.notes;
    } else if let Some(loaded) = &loaded {
        let genesis = loaded.genesis().map_err(|cause| not_a_dump(&loaded.path, &cause))?;
        builder = with_checked_genesis(builder, options, format!("the dump {}", loaded.path.display()), genesis)?;
    }
    let (mut stored, mut store) = (None, None);
    if let Some(path) = &options.db_path {
        let opened = database::open(path, options)?;
        if let Some(genesis) = opened.genesis {
            let held = HeldChain::new(format!("the database at {}", path.display()), genesis.clone());
            held.check(options)?;
            builder = with_genesis(builder, options, genesis);
            stored = Some(held);
        }
        store = Some(Arc::clone(&opened.store));
        builder = builder.with_database(Database::Store(opened.store));
    }
    let node = builder.build().map_err(|cause| files::with_causes(&cause))?;
    if let Some(held) = stored {
        held.check_accounts_of(options, &node)?;
    }
    let loaded = loaded.map(|file| load(options, &node, file)).transpose()?;
    set_time(options, &node, loaded.is_some())?;
    if options.auto_impersonate {
        node.set_auto_impersonate(true).map_err(|cause| format!("--auto-impersonate: {cause}"))?;
    }
    Ok(Started { node, store, loaded, notes })
}

/// The options of a new chain, and those of the node.
fn by_flags(options: &DevOptions) -> NodeBuilder {
    let mining = match options.block_time {
        Some(interval) => Mining::Interval(interval),
        None if options.no_mining => Mining::Manual,
        None => Mining::EachTransaction,
    };
    let default_balance = || U256::from(DEFAULT_TOKENS) * U256::from(10).pow(U256::from(18));
    let mut builder = Node::builder()
        .with_clock(Arc::new(WallClock))
        .with_chain_id(options.chain_id.unwrap_or(DEFAULT_CHAIN_ID))
        .with_mnemonic(options.mnemonic.as_str())
        .with_accounts(options.accounts.unwrap_or(DEFAULT_ACCOUNTS))
        .with_balance(options.balance.unwrap_or_else(default_balance))
        .with_seed(options.seed)
        .with_gas_limit(Gas::new(options.gas_limit.unwrap_or(DEFAULT_GAS_LIMIT)))
        .with_transaction_gas_cap(options.tx_gas_cap)
        .with_mining(mining);
    if let Some(consensus) = options.consensus.map(ConsensusKind::on_demand) {
        builder = builder.with_consensus(consensus);
    }
    if let Some(validators) = options.validators {
        builder = builder.with_validators(validators);
    }
    if let Some(hardfork) = options.hardfork {
        builder = builder.with_hardfork(hardfork);
    }
    if let Some(base_fee) = options.base_fee {
        builder = builder.with_base_fee((base_fee > 0).then_some(base_fee));
    }
    if let Some(timestamp) = options.timestamp {
        builder = builder.with_timestamp(Timestamp::from_secs(timestamp));
    }
    builder
}

/// Adds a genesis that no flag contradicts.
fn with_checked_genesis(
    builder: NodeBuilder,
    options: &DevOptions,
    source: String,
    genesis: GenesisSpec,
) -> Result<NodeBuilder, Failure> {
    let held = HeldChain::new(source, genesis.clone());
    held.check(options)?;
    held.check_accounts(options)?;
    Ok(with_genesis(builder, options, genesis))
}

/// Adds a genesis. Its list of validators is the default for `--validators`, and its protocol for `--consensus`, with its parameters.
fn with_genesis(builder: NodeBuilder, options: &DevOptions, genesis: GenesisSpec) -> NodeBuilder {
    let listed = u32::try_from(genesis.validators.len()).ok().filter(|count| *count > 0);
    let builder = match (options.validators, listed) {
        (None, Some(listed)) => builder.with_validators(listed),
        _ => builder,
    };
    builder.with_genesis(genesis)
}

/// Returns the complaint about a file that is no dump.
fn not_a_dump(path: &Path, cause: &LoadError) -> String {
    format!(
        "cannot load {}: it is no chainbox dump, as `--dump-state`, `--state` and anvil_dumpState of this program write it ({cause})",
        path.display()
    )
}

fn load(options: &DevOptions, node: &Node, file: LoadedFile) -> Result<(PathBuf, LoadSummary), Failure> {
    let loaded = node.load(&file.dump);
    let summary = loaded.map_err(|cause| match (&cause, &options.genesis) {
        (LoadError::Dump(DumpError::OtherGenesis { .. }), Some(genesis)) => format!(
            "cannot load {}: it is of another genesis than {}. Leave out --genesis, for a dump brings its own, or choose another --state",
            file.path.display(),
            genesis.display()
        ),
        (LoadError::Malformed { .. }, _) => not_a_dump(&file.path, &cause),
        _ => format!("cannot load {}: {}", file.path.display(), files::with_causes(&cause)),
    })?;
    Ok((file.path, summary))
}

/// With `--timestamp`, time runs on from genesis or from the head of a database; a dump has its own time.
fn set_time(options: &DevOptions, node: &Node, is_loaded: bool) -> Result<(), Failure> {
    if options.timestamp.is_none() || is_loaded {
        return Ok(());
    }
    let head = node.view().head().block().timestamp();
    node.set_time(head).map_err(|cause| format!("--timestamp: {cause}").into())
}
