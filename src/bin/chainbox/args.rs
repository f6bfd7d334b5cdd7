//! Flags of the command line; each is an environment variable `CHAINBOX_*` too.

#[cfg(not(feature = "server"))]
use clap::Args;
use clap::{Parser, Subcommand};

use crate::sim_args::{CampaignOptions, ReplayOptions, SimOptions};
#[cfg(feature = "server")]
use crate::{
    client::args::{ChainsOptions, KeysOptions},
    db::args::DbOptions,
    dev::args::DevOptions,
    serve::args::ServeOptions,
    templates::TemplatesOptions,
};

/// A blockchain network in a box.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "\
Examples:
  chainbox dev                    ten funded accounts at http://127.0.0.1:8545
  cast block-number               Ethereum clients work: ethers, viem, web3.py
  chainbox templates              the contracts that can be deployed
  chainbox sim --list             scenarios of five consensus protocols
  chainbox sim pbft-primary-crash --svg run.svg
                                  one of them, drawn as a space-time diagram

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
  chainbox dev                    a block for each transaction, in memory
  chainbox dev --block-time 0.5   two blocks a second
  chainbox dev --no-mining        blocks by evm_mine only
  chainbox dev --state a.dump     loads it if it is there, writes it at the end
  chainbox dev --db-path chain    the chain in a RocksDB database, if built in
  chainbox dev --db-path chain --min-free-space 1GiB
                                  writes stop while less space is free
  chainbox dev --genesis-example  a genesis for --genesis, to be changed
  chainbox dev --port 0 --quiet --config-out node.json
                                  for scripts: a free port, no console output,
                                  accounts, keys, URLs and API key in a file

A token by its template's name, with the API key that it prints:
  curl -H \"x-api-key: $KEY\" -H 'content-type: application/json' \\
    http://127.0.0.1:8545/v1/contracts/deploy -d '{\"blockchainId\":
    \"bc_default\", \"template\": \"erc20-token\",
    \"params\": {\"name\": \"Gold\", \"symbol\": \"GLD\", \"totalSupply\": \"1000\"}}'

Contracts are templates (`chainbox templates`); EVM bytecode does not run.
Every flag is also an environment variable: --block-time is CHAINBOX_BLOCK_TIME.")]
    #[cfg(feature = "server")]
    Dev(Box<DevOptions>),
    /// Run a development chain: not in this build
    #[cfg(not(feature = "server"))]
    Dev(NotBuilt),
    /// Run the service for many workspaces and chains: no development methods, no unlocked accounts
    #[command(after_help = "\
Examples:
  chainbox serve --db-path data                  everything in one RocksDB database
  chainbox serve --in-memory --port 0            for a try: everything is gone at the end
  chainbox serve --db-path data --host 0.0.0.0 --public-url https://chains.example.com --allow-host chains.example.com
                                                 behind a proxy that speaks TLS
  chainbox serve --db-path data --smtp-url smtps://mail.example.com --smtp-from chains@example.com
                                                 mails of confirmation, password reset and invitation

Until there is a user, a token on the console lets the first one sign up. Endpoints: docs/service-api.md, or /v1/docs of the service.
Every flag is also an environment variable: --db-path is CHAINBOX_DB_PATH.")]
    #[cfg(feature = "server")]
    Serve(Box<ServeOptions>),
    /// Run the service: not in this build
    #[cfg(not(feature = "server"))]
    Serve(NotBuilt),
    /// Check, back up, restore or prune the database of a stopped service or development node
    #[command(after_help = "\
Examples:
  chainbox db check --db-path data
  chainbox db backup --db-path data --to backups/monday
  chainbox db restore --from backups/monday --db-path restored
  chainbox db prune --db-path data --keep-states 10000")]
    #[cfg(feature = "server")]
    Db(DbOptions),
    /// Check, back up, restore or prune a database: not in this build
    #[cfg(not(feature = "server"))]
    Db(NotBuilt),
    /// List, make and revoke API keys of a running service
    #[command(after_help = "\
Examples:
  export CHAINBOX_API_KEY=cbx_...                a key of the workspace, as dev prints one
  chainbox keys list
  chainbox keys create ci --scope blockchain:read --scope blockchain:deploy --expires-in 90d
  chainbox keys revoke key_0123456789abcdef")]
    #[cfg(feature = "server")]
    Keys(KeysOptions),
    /// List, make and revoke API keys: not in this build
    #[cfg(not(feature = "server"))]
    Keys(NotBuilt),
    /// List, create and delete blockchains of a running service
    #[command(after_help = "\
Examples:
  export CHAINBOX_API_KEY=cbx_...                a key of the workspace, as dev prints one
  chainbox chains list --url https://chains.example.com
  chainbox chains create ledger --consensus proof-of-stake --block-time 2s
  chainbox chains list --json
  chainbox chains delete bc_0123456789abcdef")]
    #[cfg(feature = "server")]
    Chains(ChainsOptions),
    /// List, create and delete blockchains: not in this build
    #[cfg(not(feature = "server"))]
    Chains(NotBuilt),
    /// List the contract templates, or show one: parameters, functions, events, errors, storage
    #[command(after_help = "\
Examples:
  chainbox templates                       a line for each
  chainbox templates erc20-token           one in full
  chainbox templates erc20-token --json    the same for programs: ABI and solc's storageLayout
  chainbox templates --json                all of them for programs")]
    #[cfg(feature = "server")]
    Templates(TemplatesOptions),
    /// List the contract templates: not in this build
    #[cfg(not(feature = "server"))]
    Templates(NotBuilt),
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
  2  the command line is invalid: an unknown flag or scenario, or a number of validators that the scenario or protocol can't have
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

The exit status is 3 when the run shows a violation, and 2 when a flag is invalid.")]
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

Each finding is shrunk and written as a file for `chainbox replay`. The exit status is 3 when there are findings, 2 when a flag is
invalid, and 130 after Ctrl-C, which prints the command that goes on.")]
    Campaign(Box<CampaignOptions>),
}

/// What follows a command that this build lacks.
#[cfg(not(feature = "server"))]
#[derive(Args, Debug)]
pub(crate) struct NotBuilt {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _ignored: Vec<std::ffi::OsString>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
