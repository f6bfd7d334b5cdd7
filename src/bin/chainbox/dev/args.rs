//! Flags of `dev`.

use std::{path::PathBuf, time::Duration};

use chainbox::{
    chain::Hardfork,
    consensus::ConsensusKind,
    node::MINING_INTERVAL_SECS_MAX,
    primitives::{DEFAULT_MNEMONIC, U256, parse_decimal},
};
use clap::Args;

use crate::server_args::{DatabaseOptions, ListenOptions};

/// Chain id of a development chain by default.
pub(crate) const DEFAULT_CHAIN_ID: u64 = 31_337;
/// Accounts that a development chain funds by default.
pub(crate) const DEFAULT_ACCOUNTS: u32 = 10;
/// Gas limit of a development chain's blocks by default.
pub(crate) const DEFAULT_GAS_LIMIT: u64 = 200_000_000;

/// Flags of `dev`. Those that a genesis decides, too, are optional: only what the user gave is compared with it.
#[derive(Args, Debug)]
pub(crate) struct DevOptions {
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Serve Ethereum JSON-RPC only to clients with this token: as Authorization: Bearer, or as the first WebSocket subprotocol
    #[arg(long, env = "CHAINBOX_RPC_TOKEN", value_name = "TOKEN", hide_env_values = true, help_heading = "Server")]
    pub(crate) rpc_token: Option<String>,
    /// Leave out the methods of a development node (anvil_*, evm_*, hardhat_*) and the unlocked accounts
    #[arg(long, env = "CHAINBOX_NO_DEV_RPC", help_heading = "Server")]
    pub(crate) no_dev_rpc: bool,

    /// Number of funded, unlocked accounts [default: 10]
    #[arg(long, short, env = "CHAINBOX_ACCOUNTS", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=100_000), help_heading = "Accounts")]
    pub(crate) accounts: Option<u32>,
    /// Balance of each account in tokens of 10^18 of the smallest unit, such as 1.5 [default: 10000]
    #[arg(long, env = "CHAINBOX_BALANCE", value_name = "TOKENS", value_parser = tokens, help_heading = "Accounts")]
    pub(crate) balance: Option<U256>,
    /// BIP-39 mnemonic that the accounts are derived from
    #[arg(long, short, env = "CHAINBOX_MNEMONIC", default_value = DEFAULT_MNEMONIC, hide_default_value = true, help_heading = "Accounts")]
    pub(crate) mnemonic: String,
    /// Send transactions of every address, without its key
    #[arg(long, env = "CHAINBOX_AUTO_IMPERSONATE", conflicts_with = "no_dev_rpc", help_heading = "Accounts")]
    pub(crate) auto_impersonate: bool,

    /// Chain id (EIP-155) [default: 31337]
    #[arg(long, env = "CHAINBOX_CHAIN_ID", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Chain")]
    pub(crate) chain_id: Option<u64>,
    /// Time of the genesis block, in seconds since 1970 [default: 2025-01-01]
    #[arg(long, env = "CHAINBOX_TIMESTAMP", value_name = "SECONDS", help_heading = "Chain")]
    pub(crate) timestamp: Option<u64>,
    /// Consensus protocol: poa, pos, dpos, pbft (1 validator, or 4 and more) or raft, or its whole name
    /// [default: that of the genesis or the database, else poa]
    #[arg(long, env = "CHAINBOX_CONSENSUS", value_name = "PROTOCOL", value_parser = protocol, help_heading = "Chain")]
    pub(crate) consensus: Option<ConsensusKind>,
    /// Number of validators [default: those of the genesis or the database, else 1]
    #[arg(long, env = "CHAINBOX_VALIDATORS", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Chain")]
    pub(crate) validators: Option<u32>,
    /// Gas limit of a block [default: 200000000]
    #[arg(long, env = "CHAINBOX_GAS_LIMIT", value_parser = clap::value_parser!(u64).range(5_000..), help_heading = "Chain")]
    pub(crate) gas_limit: Option<u64>,
    /// Base fee of the first block in wei per gas (EIP-1559); 0 turns base fees off
    #[arg(long, env = "CHAINBOX_BASE_FEE", value_name = "WEI", help_heading = "Chain")]
    pub(crate) base_fee: Option<u64>,
    /// Fork of Ethereum whose rules the chain follows: london, paris, shanghai, cancun, prague or osaka
    /// [default: that of the genesis or the database, else osaka]
    #[arg(long, env = "CHAINBOX_HARDFORK", value_name = "FORK", value_parser = hardfork, help_heading = "Chain")]
    pub(crate) hardfork: Option<Hardfork>,
    /// Refuse transactions with a gas limit above 2^24, as Osaka does (EIP-7825); without it there is no such bound
    #[arg(long, env = "CHAINBOX_TX_GAS_CAP", help_heading = "Chain")]
    pub(crate) tx_gas_cap: bool,
    /// Seed of the validators' keys and of all randomness; the same seed gives the same chain
    #[arg(long, env = "CHAINBOX_SEED", default_value_t = 0, help_heading = "Chain")]
    pub(crate) seed: u64,

    /// Mine a block every SECONDS seconds, such as 0.5, instead of one for each transaction
    #[arg(long, short, env = "CHAINBOX_BLOCK_TIME", value_name = "SECONDS", value_parser = block_time, allow_negative_numbers = true, help_heading = "Mining")]
    pub(crate) block_time: Option<Duration>,
    /// Mine only on request (evm_mine)
    #[arg(long, env = "CHAINBOX_NO_MINING", conflicts_with = "block_time", help_heading = "Mining")]
    pub(crate) no_mining: bool,

    /// Keep the chain in a RocksDB database in this folder; needs a binary built with RocksDB (cargo feature rocksdb)
    #[arg(long, env = "CHAINBOX_DB_PATH", value_name = "FOLDER", help_heading = "State")]
    pub(crate) db_path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
    /// Genesis of the chain (JSON, also geth's form): docs/genesis.md, --genesis-example
    #[arg(long, env = "CHAINBOX_GENESIS", value_name = "FILE", conflicts_with = "load_state", help_heading = "State")]
    pub(crate) genesis: Option<PathBuf>,
    /// Print an example for --genesis, and nothing else
    #[arg(long, help_heading = "State")]
    pub(crate) genesis_example: bool,
    /// Load this dump if the file is there, and write it when the node stops
    #[arg(long, env = "CHAINBOX_STATE", value_name = "FILE", conflicts_with_all = ["load_state", "dump_state", "db_path"], help_heading = "State")]
    pub(crate) state: Option<PathBuf>,
    /// Write the file of --state every SECONDS seconds, too, when the chain has changed
    #[arg(long, env = "CHAINBOX_STATE_INTERVAL", value_name = "SECONDS", requires = "state", value_parser = clap::value_parser!(u64).range(1..=31_536_000), help_heading = "State")]
    pub(crate) state_interval: Option<u64>,
    /// Start from a dump made by --state, --dump-state or anvil_dumpState, with the genesis in it
    #[arg(long, env = "CHAINBOX_LOAD_STATE", value_name = "FILE", conflicts_with = "db_path", help_heading = "State")]
    pub(crate) load_state: Option<PathBuf>,
    /// Write a dump when the node stops
    #[arg(long, env = "CHAINBOX_DUMP_STATE", value_name = "FILE", help_heading = "State")]
    pub(crate) dump_state: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: crate::log::LogOptions,
    /// Print errors only
    #[arg(long, short, env = "CHAINBOX_QUIET", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Write accounts, keys, mnemonic, chain id, URLs and API key as JSON once the server accepts connections
    #[arg(long, env = "CHAINBOX_CONFIG_OUT", value_name = "FILE", help_heading = "Output")]
    pub(crate) config_out: Option<PathBuf>,
}

/// Digits of a token after its decimal point.
const TOKEN_DECIMALS: u8 = 18;

/// Parses an amount of tokens with up to 18 decimals, into the smallest unit.
fn tokens(text: &str) -> Result<U256, String> {
    parse_decimal(text, TOKEN_DECIMALS).ok_or_else(|| {
        format!("expected a number of tokens with at most {TOKEN_DECIMALS} decimals, such as 10000 or 1.5")
    })
}

/// Parses an interval in seconds with up to three decimals.
fn block_time(text: &str) -> Result<Duration, String> {
    let interval = parse_decimal(text, 3).and_then(|millis| millis.try_into().ok()).map(Duration::from_millis);
    let fitting =
        interval.filter(|interval| !interval.is_zero() && *interval <= Duration::from_secs(MINING_INTERVAL_SECS_MAX));
    fitting.ok_or_else(|| {
        format!("expected seconds from 0.001 to {MINING_INTERVAL_SECS_MAX} (a year) with at most 3 decimals, such as 5 or 0.5")
    })
}

/// Parses the name of a fork.
fn hardfork(name: &str) -> Result<Hardfork, String> {
    Hardfork::from_name(name).ok_or_else(|| format!("choose one of {}", Hardfork::ALL.map(Hardfork::name).join(", ")))
}

/// Parses the name of a protocol.
fn protocol(name: &str) -> Result<ConsensusKind, String> {
    ConsensusKind::from_name(name).ok_or_else(|| {
        let names = ConsensusKind::ALL.map(|kind| match kind.short_name() {
            short if short == kind.name() => short.to_owned(),
            short => format!("{short} ({})", kind.name()),
        });
        format!("choose one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    #[test]
    fn tokens_and_seconds_have_decimals() {
        let ether = U256::from(1_000_000_000_000_000_000_u64);
        for (text, expected) in [
            ("0", U256::ZERO),
            ("1", ether),
            ("1.5", ether * U256::from(3) / U256::from(2)),
            ("0.000000000000000001", U256::from(1)),
            ("18446744073709551616", ether << 64),
        ] {
            assert_eq!(tokens(text), Ok(expected), "{text}");
        }
        for text in ["", ".", "1.", ".5", "-1", "1e3", "1.5.0", "0.0000000000000000001", &"9".repeat(70)] {
            assert!(tokens(text).unwrap_err().contains("such as 10000 or 1.5"), "{text}");
        }
        for (text, millis) in [("1", 1_000), ("0.5", 500), ("0.001", 1), ("31536000", 31_536_000_000)] {
            assert_eq!(block_time(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["0", "0.0", "0.0001", "31536000.001", "31536001", "-1", "soon", "99999999999999999999"] {
            assert!(block_time(text).unwrap_err().contains("such as 5 or 0.5"), "{text}");
        }
    }

    /// Columns of the narrowest terminal whose lines hold.
    const COLUMNS: usize = 80;

    #[test]
    fn examples_fit_a_terminal() {
        let command = Cli::command();
        let dev = command.find_subcommand("dev").unwrap();
        for help in [command.get_after_help(), dev.get_after_help()] {
            let help = help.unwrap().to_string();
            assert!(help.lines().all(|line| line.chars().count() <= COLUMNS), "{help}");
        }
    }

    #[test]
    fn invalid_flags_are_refused_by_name() {
        for (flags, named) in [
            (&["--port", "70000"][..], "--port"),
            (&["--chain-id", "0"], "--chain-id"),
            (&["--block-time", "5", "--no-mining"], "--no-mining"),
            (&["--consensus", "magic"], "--consensus"),
            (&["--hardfork", "berlin"], "--hardfork"),
            (&["--db-path", "chain", "--min-free-space", "much"], "--min-free-space"),
            (&["--min-free-space", "1GiB"], "--db-path"),
            (&["--balance", "1,5"], "--balance"),
            (&["--block-time", "0"], "--block-time"),
            (&["--block-time", "-1"], "expected seconds from 0.001"),
            (&["--state", "a", "--load-state", "b"], "--load-state"),
            (&["--state-interval", "5"], "--state"),
            (&["--auto-impersonate", "--no-dev-rpc"], "--no-dev-rpc"),
        ] {
            let error = Cli::try_parse_from(["chainbox", "dev"].iter().chain(flags)).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
