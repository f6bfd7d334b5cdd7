//! Flags of the command line; each is an environment variable `CHAINBOX_*` too.

use std::{net::IpAddr, path::PathBuf};

use chainbox::{
    chain::Hardfork, consensus::ConsensusKind, node::MINING_INTERVAL_SECS_MAX, primitives::DEFAULT_MNEMONIC,
};
use clap::{Args, Parser, Subcommand};

use crate::sim_args::{CampaignOptions, ReplayOptions, SimOptions};

/// Chain id of a development chain by default.
pub(crate) const DEFAULT_CHAIN_ID: u64 = 31_337;

/// A blockchain network in a box.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "\
Examples:
  chainbox dev                                   a chain at http://127.0.0.1:8545 with ten funded accounts
  cast block-number                              any Ethereum client works: ethers, viem, web3.py, cast, wallets
  chainbox sim --list                            scenarios of five consensus protocols, with their expected outcome
  chainbox sim pbft-primary-crash --svg run.svg  one of them, drawn as a space-time diagram

`chainbox dev --help` explains every flag."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a development chain: one process, funded accounts, Ethereum JSON-RPC and the service API on one port
    #[command(after_help = "\
Examples:
  chainbox dev                                   a block for each transaction, everything in memory
  chainbox dev --block-time 5                    a block every five seconds
  chainbox dev --no-mining                       blocks by evm_mine only
  chainbox dev --db-path ./chain                 the chain survives a restart (needs a binary with RocksDB)
  chainbox dev --db-path ./chain --min-free-space 1GiB
                                                 it stops writing, and goes on reading, when less space is free
  chainbox dev --load-state a.dump --dump-state a.dump
                                                 start from a file, write it back on Ctrl-C
  chainbox dev --port 0 --quiet --config-out node.json
                                                 for scripts: a free port, no console output, and a file
                                                 with accounts, keys, URLs and API key once it serves

Every flag is also an environment variable: --block-time is CHAINBOX_BLOCK_TIME.")]
    Dev(Box<DevOptions>),
    /// Run a scenario, or a network with planned faults, in virtual time, and check its outcome
    #[command(after_help = "\
Examples:
  chainbox sim --list                            every scenario with its expected outcome
  chainbox sim raft-leader-crash --svg run.svg   run one and draw it
  chainbox sim poa-double-signing --trace run.ndjson
                                                 record every event, for `chainbox replay`
  chainbox sim --protocol pbft --validators 7 --plan faults.toml --for 2m
                                                 seven validators and the faults of a file, for two minutes

Exit status:
  0  the outcome is as expected, and every invariant holds
  1  the command failed: a plan that can't be read, a file that can't be written
  2  the command line is invalid: an unknown flag or scenario, or a number of validators that the scenario can't have
  3  the outcome is not as expected, or an invariant is violated

With --json, statuses 1 and 2 print {\"error\": \"...\"}, unless a flag is invalid.")]
    Sim(Box<SimOptions>),
    /// Replay a recorded trace, or a finding of a campaign, step by step
    #[command(after_help = "\
Examples:
  chainbox replay run.ndjson                     run the trace again and compare every output
  chainbox replay run.ndjson --step --until 3s   print the steps of the first three seconds
  chainbox replay run.ndjson --step --kind prepare,timer --replica 2
                                                 print what replica 2 does about prepares, and its timers
  chainbox replay regressions/pbft-17.toml       a finding of a campaign, with its shrunk plan

The exit status is 3 when the run shows a violation.")]
    Replay(ReplayOptions),
    /// Run many seeds with planned faults, in two phases each, on all cores, or a shard of the seeds on each of several machines
    #[command(after_help = "\
Examples:
  chainbox campaign --protocol pbft --seeds 0..10000 --out pbft.ndjson
  chainbox campaign --protocol pbft --seeds 0..10000 --out pbft.ndjson --resume
                                                 continue a stopped campaign with the missing seeds
  chainbox campaign --protocol raft --seeds 0..10000 --shard 2/4 --out raft-2.ndjson
                                                 every fourth seed; the environment variables of schedulers set it too
  chainbox campaign merge raft-*.ndjson --expect 0..10000
  chainbox campaign --protocol pbft --seeds 0..1000 --validators 4..7 --transactions 40 --history
                                                 other sizes, more clients, and what they read is checked
  chainbox campaign --demo-bug pbft-forgets-promises
                                                 what a finding looks like; without a name: the planted bugs

Each finding is shrunk and written as a file for `chainbox replay`. The exit status is 3 when there are findings, and 130 after
Ctrl-C, which prints the command that goes on.")]
    Campaign(Box<CampaignOptions>),
}

/// Flags of `dev`.
#[derive(Args, Debug)]
pub(crate) struct DevOptions {
    /// Address to listen on
    #[arg(long, env = "CHAINBOX_HOST", default_value = "127.0.0.1", help_heading = "Server")]
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, short, env = "CHAINBOX_PORT", default_value_t = 8545, help_heading = "Server")]
    pub(crate) port: u16,
    /// Host name to accept in requests beside localhost and IP addresses (protection against DNS rebinding); repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_HOST", value_name = "NAME", value_delimiter = ',', help_heading = "Server")]
    pub(crate) allow_host: Vec<String>,
    /// Origin of browser pages to accept when not on loopback, beside those of localhost; `*` for all; repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', help_heading = "Server")]
    pub(crate) allow_origin: Vec<String>,
    /// Serve Ethereum JSON-RPC only to clients with this token: as Authorization: Bearer, or as the first WebSocket subprotocol
    #[arg(long, env = "CHAINBOX_RPC_TOKEN", value_name = "TOKEN", hide_env_values = true, help_heading = "Server")]
    pub(crate) rpc_token: Option<String>,
    /// Leave out the methods of a development node (anvil_*, evm_*, hardhat_*) and the unlocked accounts
    #[arg(long, env = "CHAINBOX_NO_DEV_RPC", help_heading = "Server")]
    pub(crate) no_dev_rpc: bool,

    /// Number of funded, unlocked accounts
    #[arg(long, short, env = "CHAINBOX_ACCOUNTS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100_000), help_heading = "Accounts")]
    pub(crate) accounts: u32,
    /// Balance of each account, in whole tokens (10^18 of the smallest unit)
    #[arg(long, env = "CHAINBOX_BALANCE", default_value_t = 10_000, help_heading = "Accounts")]
    pub(crate) balance: u64,
    /// BIP-39 mnemonic that the accounts are derived from
    #[arg(long, short, env = "CHAINBOX_MNEMONIC", default_value = DEFAULT_MNEMONIC, hide_default_value = true, help_heading = "Accounts")]
    pub(crate) mnemonic: String,

    /// Chain id (EIP-155)
    #[arg(long, env = "CHAINBOX_CHAIN_ID", default_value_t = DEFAULT_CHAIN_ID, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Chain")]
    pub(crate) chain_id: u64,
    /// Consensus protocol: poa, pos, dpos, pbft (1 validator, or 4 and more) or raft, or its whole name
    /// [default: that of the genesis or the database, else poa]
    #[arg(long, env = "CHAINBOX_CONSENSUS", value_name = "PROTOCOL", value_parser = protocol, help_heading = "Chain")]
    pub(crate) consensus: Option<ConsensusKind>,
    /// Number of validators [default: those of the genesis or the database, else 1]
    #[arg(long, env = "CHAINBOX_VALIDATORS", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Chain")]
    pub(crate) validators: Option<u32>,
    /// Gas limit of a block
    #[arg(long, env = "CHAINBOX_GAS_LIMIT", default_value_t = 200_000_000, value_parser = clap::value_parser!(u64).range(5_000..), help_heading = "Chain")]
    pub(crate) gas_limit: u64,
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
    /// Seed of the chain's randomness; the same seed gives the same chain
    #[arg(long, env = "CHAINBOX_SEED", default_value_t = 0, help_heading = "Chain")]
    pub(crate) seed: u64,

    /// Mine a block every SECONDS seconds instead of one for each transaction
    #[arg(long, short, env = "CHAINBOX_BLOCK_TIME", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=MINING_INTERVAL_SECS_MAX), help_heading = "Mining")]
    pub(crate) block_time: Option<u64>,
    /// Mine only on request (evm_mine)
    #[arg(long, env = "CHAINBOX_NO_MINING", conflicts_with = "block_time", help_heading = "Mining")]
    pub(crate) no_mining: bool,

    /// Keep the chain in a RocksDB database in this folder; needs a binary built with RocksDB (cargo feature rocksdb)
    #[arg(long, env = "CHAINBOX_DB_PATH", value_name = "FOLDER", help_heading = "State")]
    pub(crate) db_path: Option<PathBuf>,
    /// Free space of the disk below which the database takes no writes: a number of bytes, or of KiB, MiB, GiB or TiB as in 512MiB;
    /// reads go on, and so do writes once there is room [default: 256MiB]
    #[arg(long, env = "CHAINBOX_MIN_FREE_SPACE", value_name = "SIZE", value_parser = bytes, requires = "db_path", help_heading = "State")]
    pub(crate) min_free_space: Option<u64>,
    /// Genesis specification (JSON), which replaces the options for balance and chain
    #[arg(long, env = "CHAINBOX_GENESIS", value_name = "FILE", conflicts_with = "load_state", help_heading = "State")]
    pub(crate) genesis: Option<PathBuf>,
    /// Start from a dump made by --dump-state or anvil_dumpState
    #[arg(long, env = "CHAINBOX_LOAD_STATE", value_name = "FILE", conflicts_with = "db_path", help_heading = "State")]
    pub(crate) load_state: Option<PathBuf>,
    /// Write a dump when the node stops
    #[arg(long, env = "CHAINBOX_DUMP_STATE", value_name = "FILE", help_heading = "State")]
    pub(crate) dump_state: Option<PathBuf>,

    /// Print errors only
    #[arg(long, short, env = "CHAINBOX_QUIET", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Write accounts, keys, mnemonic, chain id, URLs and API key as JSON once the server accepts connections
    #[arg(long, env = "CHAINBOX_CONFIG_OUT", value_name = "FILE", help_heading = "Output")]
    pub(crate) config_out: Option<PathBuf>,
}

/// Parses a number of bytes, or one of a unit of IEC 80000-13.
fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let number = digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| "expected a number of bytes below 2^64, or of KiB, MiB, GiB or TiB, as in 256MiB".to_owned())
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_a_unit_or_are_bytes() {
        for (text, expected) in [
            ("0", 0),
            ("1000", 1_000),
            ("7B", 7),
            ("3KiB", 3 << 10),
            ("256MiB", 256 << 20),
            ("2 GiB", 2 << 30),
            ("1TiB", 1 << 40),
            ("16777215TiB", 16_777_215 << 40),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "MiB", "-1", "1.5GiB", "256MB", "256mib", "16777216TiB", "18446744073709551616"] {
            assert!(bytes(text).unwrap_err().contains("256MiB"), "{text}");
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
        ] {
            let error = Cli::try_parse_from(["chainbox", "dev"].iter().chain(flags)).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
