//! Flags of `serve`.

use std::{net::IpAddr, path::PathBuf};

use clap::Args;

/// Flags of `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeOptions {
    /// Address to listen on
    #[arg(long, env = "CHAINBOX_HOST", default_value = "127.0.0.1", help_heading = "Server")]
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, short, env = "CHAINBOX_PORT", default_value_t = 8545, help_heading = "Server")]
    pub(crate) port: u16,
    /// URL under which users reach the service: issuer of tokens, beginning of the links in pages and mails [default: that of the listener]
    #[arg(long, env = "CHAINBOX_PUBLIC_URL", value_name = "URL", help_heading = "Server")]
    pub(crate) public_url: Option<String>,
    /// Host name to accept in requests beside localhost and IP addresses (protection against DNS rebinding); repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_HOST", value_name = "NAME", value_delimiter = ',', help_heading = "Server")]
    pub(crate) allow_host: Vec<String>,
    /// Origin of browser pages to accept when not on loopback, beside those of localhost; `*` for all; repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', help_heading = "Server")]
    pub(crate) allow_origin: Vec<String>,
    /// Requests that a caller may send in a minute; one more is 429 [default: 6000]
    #[arg(long, env = "CHAINBOX_REQUESTS_PER_MINUTE", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Server")]
    pub(crate) requests_per_minute: Option<u64>,
    /// TOML file with bounds of the server and quotas of plans, as docs/platform.md lists them
    #[arg(long, env = "CHAINBOX_LIMITS", value_name = "FILE", help_heading = "Server")]
    pub(crate) limits: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: crate::log::LogOptions,
    /// Print nothing but the log
    #[arg(long, short, env = "CHAINBOX_QUIET", help_heading = "Server")]
    pub(crate) quiet: bool,

    /// Keep everything in a RocksDB database in this folder; needs a binary built with RocksDB (cargo feature rocksdb)
    #[arg(
        long,
        env = "CHAINBOX_DB_PATH",
        value_name = "FOLDER",
        required_unless_present = "in_memory",
        help_heading = "State"
    )]
    pub(crate) db_path: Option<PathBuf>,
    /// Keep nothing: all is gone when the process ends
    #[arg(long, env = "CHAINBOX_IN_MEMORY", conflicts_with = "db_path", help_heading = "State")]
    pub(crate) in_memory: bool,
    /// File with the master key of the secrets in the database, 64 hex digits; also CHAINBOX_MASTER_KEY; by default CHAINBOX.key in the
    /// database's folder, which is made when there is none
    #[arg(long, env = "CHAINBOX_MASTER_KEY_FILE", value_name = "FILE", requires = "db_path", help_heading = "State")]
    pub(crate) master_key_file: Option<PathBuf>,
    /// File with a master key that the secrets may still be under; they are then put under the present one; repeatable
    #[arg(
        long,
        env = "CHAINBOX_FORMER_MASTER_KEY_FILE",
        value_name = "FILE",
        value_delimiter = ',',
        requires = "db_path",
        help_heading = "State"
    )]
    pub(crate) former_master_key_file: Vec<PathBuf>,
    /// Free space of the disk below which the database takes no writes, such as 512MiB; reads go on [default: 256MiB]
    #[arg(long, env = "CHAINBOX_MIN_FREE_SPACE", value_name = "SIZE", value_parser = crate::dev::args::bytes, requires = "db_path", help_heading = "State")]
    pub(crate) min_free_space: Option<u64>,

    /// Relay that takes the service's mails: smtps://HOST, or smtp://HOST:PORT
    #[arg(long, env = "CHAINBOX_SMTP_URL", value_name = "URL", requires = "smtp_from", help_heading = "Mail")]
    pub(crate) smtp_url: Option<String>,
    /// Address that the mails come from
    #[arg(long, env = "CHAINBOX_SMTP_FROM", value_name = "ADDRESS", requires = "smtp_url", help_heading = "Mail")]
    pub(crate) smtp_from: Option<String>,
    /// File with the relay's user and password, one line each; also CHAINBOX_SMTP_CREDENTIALS
    #[arg(
        long,
        env = "CHAINBOX_SMTP_CREDENTIALS_FILE",
        value_name = "FILE",
        requires = "smtp_url",
        help_heading = "Mail"
    )]
    pub(crate) smtp_credentials_file: Option<PathBuf>,

    /// OpenID provider that users may log in with, such as https://accounts.example.com
    #[arg(
        long,
        env = "CHAINBOX_OPENID_ISSUER",
        value_name = "URL",
        requires = "openid_client_id",
        help_heading = "Log-in"
    )]
    pub(crate) openid_issuer: Option<String>,
    /// Client id of this service at the provider; its redirect URI is PUBLIC_URL/oauth/openid/provider/callback
    #[arg(
        long,
        env = "CHAINBOX_OPENID_CLIENT_ID",
        value_name = "ID",
        requires = "openid_issuer",
        help_heading = "Log-in"
    )]
    pub(crate) openid_client_id: Option<String>,
    /// File with the client's secret; without one the client is public
    #[arg(
        long,
        env = "CHAINBOX_OPENID_CLIENT_SECRET_FILE",
        value_name = "FILE",
        requires = "openid_issuer",
        help_heading = "Log-in"
    )]
    pub(crate) openid_client_secret_file: Option<PathBuf>,
    /// Name of the provider, as the login page shows it
    #[arg(
        long,
        env = "CHAINBOX_OPENID_NAME",
        value_name = "NAME",
        default_value = "your organisation",
        help_heading = "Log-in"
    )]
    pub(crate) openid_name: String,
    /// HOST:PORT, http://HOST:PORT or CIDR that requests to the outside may go to although it is not public, such as a provider in one's own network; repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_OUTBOUND", value_name = "PLACE", value_delimiter = ',', help_heading = "Log-in")]
    pub(crate) allow_outbound: Vec<String>,
}
