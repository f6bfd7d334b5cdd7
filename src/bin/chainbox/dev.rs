//! `chainbox dev`: the node, its server, and their shutdown.

use std::{error::Error, path::Path, sync::Arc, time::Duration};

use chainbox::{
    chain::{GenesisSpec, LoadSummary},
    consensus::ConsensusKind,
    node::{Dump, Mining, Node, NodeBuilder},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, NativeToken, OsEntropy, Platform, Scope, Secret},
    primitives::{Gas, U256},
    server::{self, Chains, Server, ServerConfig, WallClock},
};

use crate::{args::DevOptions, banner, config_out::Config, console, database, files};

type Failure = Box<dyn Error>;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(options: &DevOptions) -> Result<(), Failure> {
    let node = build_node(options)?;
    let loaded = options.load_state.as_deref().map(|path| load(&node, path)).transpose()?;
    // Half of the cores serve requests: fewer threads exchange less work, and the other cores recover signers, execute blocks and
    // run clients. At least two, so that one is free while the other executes a transaction.
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads((cores / 2).max(2)).enable_all().build()?;
    let result = runtime.block_on(serve(options, node.clone(), loaded));
    // Calls that still run on blocking threads are not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result?;
    if let Some(path) = &options.dump_state {
        let dump = node.dump().map_err(|cause| files::with_causes(&cause))?;
        write(path, dump.as_bytes())?;
    }
    Ok(())
}

async fn serve(options: &DevOptions, node: Node, loaded: Option<LoadSummary>) -> Result<(), Failure> {
    let secret = Secret::generate(&OsEntropy)?;
    let chain =
        Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), describe(options, &node), node.clone(), server::now_ms());
    let platform = Arc::new(Platform::new(secret, chain));
    let api_key = platform.create_api_key("dev", &[Scope::Admin])?;
    let chains = match options.no_dev_rpc {
        true => Chains::without_development(platform.clone()),
        false => Chains::new(platform.clone()),
    };
    let config = server_config(options)?;
    let server = Server::bind(chains.clone(), config).await.map_err(|cause| files::with_causes(&cause))?;
    let address = server.local_addr();
    let stop = stop_signal()?;
    tokio::spawn(server::drive(chains.default_rpc().clone()));
    if !options.quiet {
        console::start(&node)?;
    }
    let serving = tokio::spawn(server.serve(stop));
    if let Some(path) = &options.config_out {
        let config = Config::new(&node, &platform, address, &api_key);
        write(path, &serde_json::to_vec_pretty(&config)?)?;
    }
    if !options.quiet {
        anstream::print!("{}", banner::banner(&node, options, loaded, address, &api_key));
    }
    serving.await?;
    Ok(())
}

fn server_config(options: &DevOptions) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::new((options.host, options.port).into())
        .with_allowed_hosts(options.allow_host.clone())
        .with_allowed_origins(options.allow_origin.clone());
    match &options.rpc_token {
        Some(token) => config.with_rpc_token(token).map_err(|cause| format!("--rpc-token: {cause}").into()),
        None => Ok(config),
    }
}

fn build_node(options: &DevOptions) -> Result<Node, Failure> {
    let mining = match options.block_time {
        Some(secs) => Mining::Interval(Duration::from_secs(secs)),
        None if options.no_mining => Mining::Manual,
        None => Mining::EachTransaction,
    };
    let balance = U256::from(options.balance) * U256::from(1_000_000_000_000_000_000_u64);
    let mut builder = Node::builder()
        .with_clock(Arc::new(WallClock))
        .with_chain_id(options.chain_id)
        .with_mnemonic(options.mnemonic.as_str())
        .with_accounts(options.accounts)
        .with_balance(balance)
        .with_seed(options.seed)
        .with_gas_limit(Gas::new(options.gas_limit))
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
    if let Some(path) = &options.genesis {
        let text = String::from_utf8(files::read(path)?).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let genesis = GenesisSpec::from_json(&text).map_err(|cause| format!("{}: {cause}", path.display()))?;
        builder = with_genesis(builder, options, genesis);
    }
    if let Some(path) = &options.db_path {
        let opened = database::open(path, options)?;
        if let Some(genesis) = opened.genesis {
            builder = with_genesis(builder, options, genesis);
        }
        builder = builder.with_database(opened.database);
    }
    builder.build().map_err(|cause| files::with_causes(&cause).into())
}

fn load(node: &Node, path: &Path) -> Result<LoadSummary, Failure> {
    let dump = Dump::from_bytes(files::read(path)?);
    node.load(&dump).map_err(|cause| files::with_causes(&cause).into())
}

/// Adds a genesis. Its list of validators is the default for `--validators`.
fn with_genesis(builder: NodeBuilder, options: &DevOptions, genesis: GenesisSpec) -> NodeBuilder {
    let listed = u32::try_from(genesis.validators.len()).ok().filter(|count| *count > 0);
    let builder = match (options.validators, listed) {
        (None, Some(listed)) => builder.with_validators(listed),
        _ => builder,
    };
    builder.with_genesis(genesis)
}

/// Returns the specification of the default chain for the service.
fn describe(options: &DevOptions, node: &Node) -> BlockchainSpec {
    let view = node.view();
    BlockchainSpec {
        name: "development".to_owned(),
        kind: "private".to_owned(),
        consensus: node.consensus(),
        chain_id: Some(view.chain_id()),
        block_time: options.block_time.map(Duration::from_secs),
        block_gas_limit: Some(view.pool_context().gas_limit),
        native_token: NativeToken {
            premine: U256::from(options.balance) * U256::from(10).pow(U256::from(18)) * U256::from(options.accounts),
            ..NativeToken::default()
        },
        validators: Vec::new(),
        features: vec!["smart-contracts".to_owned()],
    }
}

/// Completes on SIGINT or SIGTERM. The handlers are installed when this returns, before the server accepts connections.
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    files::write_atomically(path, bytes).map_err(|cause| format!("cannot write {}: {cause}", path.display()).into())
}
