//! Flags of `keys` and `chains`.

use core::fmt;

use clap::{Args, Subcommand};

/// Flags of `keys`.
#[derive(Args, Debug)]
pub(crate) struct KeysOptions {
    #[command(flatten)]
    pub(crate) service: ServiceOptions,
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

/// Flags of `chains`.
#[derive(Args, Debug)]
pub(crate) struct ChainsOptions {
    #[command(flatten)]
    pub(crate) service: ServiceOptions,
    #[command(subcommand)]
    pub(crate) command: ChainsCommand,
}

/// Which service is asked, by whom, and how its answer is printed.
#[derive(Args)]
pub(crate) struct ServiceOptions {
    /// URL of the service
    #[arg(long, env = "CHAINBOX_URL", default_value = "http://127.0.0.1:8545", value_name = "URL", global = true)]
    pub(crate) url: String,
    /// API key, which the workspace is of; better in the environment than on the command line, where other users of the machine see it
    #[arg(
        long,
        env = "CHAINBOX_API_KEY",
        default_value = "",
        hide_default_value = true,
        hide_env_values = true,
        value_name = "KEY",
        global = true
    )]
    pub(crate) api_key: String,
    /// Print the service's answer as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Leaves the key out.
impl fmt::Debug for ServiceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceOptions").field("url", &self.url).field("json", &self.json).finish_non_exhaustive()
    }
}

/// What is done with API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// List the API keys of the workspace, without their values
    List,
    /// Make an API key, and print its value, which nobody sees again
    Create {
        /// Label of the key
        name: String,
        /// What it permits, such as blockchain:read; may be given more than once
        #[arg(long = "scope", value_name = "SCOPE", default_value = "blockchain:read")]
        scopes: Vec<String>,
        /// Time after which it expires, such as 90d; it does not by default
        #[arg(long, value_name = "TIME")]
        expires_in: Option<String>,
    },
    /// Revoke an API key: what is asked with it is refused from then on
    Revoke {
        /// Id of the key
        id: String,
    },
}

/// What is done with blockchains.
#[derive(Debug, Subcommand)]
pub(crate) enum ChainsCommand {
    /// List the blockchains of the workspace
    List,
    /// Create a blockchain and start it
    Create {
        /// Name of the blockchain
        name: String,
        /// Consensus protocol by its whole name, such as proof-of-stake [default: proof-of-authority]
        #[arg(long, value_name = "PROTOCOL")]
        consensus: Option<String>,
        /// Chain id (EIP-155) [default: the next free one]
        #[arg(long, value_name = "NUMBER")]
        chain_id: Option<u64>,
        /// Time between blocks, such as 2s [default: a block for each transaction]
        #[arg(long, value_name = "TIME")]
        block_time: Option<String>,
    },
    /// Delete a blockchain with its blocks, keys and deployments
    Delete {
        /// Id of the blockchain
        id: String,
    },
}
