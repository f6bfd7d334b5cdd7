//! Flags of `serve`.

use std::path::PathBuf;

use chainbox::server::ProxyNetwork;
use clap::Args;

use crate::server_args::{DatabaseOptions, ListenOptions};

/// Flags of `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// URL under which users reach the service: issuer of tokens, beginning of the links in pages and mails [default: that of the listener]
    #[arg(long, env = "CHAINBOX_PUBLIC_URL", value_name = "URL", help_heading = "Server")]
    pub(crate) public_url: Option<String>,
    /// File with the certificate to serve by TLS, and those of its authorities after it (PEM); it is read again when it changes
    #[arg(long, env = "CHAINBOX_TLS_CERT", value_name = "FILE", requires = "tls_key", help_heading = "Server")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// File with the private key of the certificate (PEM)
    #[arg(long, env = "CHAINBOX_TLS_KEY", value_name = "FILE", requires = "tls_cert", help_heading = "Server")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Address or network (CIDR) of proxies in front of the service, whose word on the client's address is taken; repeatable
    #[arg(long, env = "CHAINBOX_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', help_heading = "Server")]
    pub(crate) trusted_proxy: Vec<ProxyNetwork>,
    /// Header in which they name the client; the other is not read, since a client may have sent it
    #[arg(long, env = "CHAINBOX_TRUSTED_PROXY_HEADER", value_name = "NAME", default_value = "x-forwarded-for", requires = "trusted_proxy", value_parser = clap::builder::PossibleValuesParser::new(["x-forwarded-for", "forwarded"]), help_heading = "Server")]
    pub(crate) trusted_proxy_header: String,
    /// Requests that a caller may send in a minute; one more is 429 [default: 6000]
    #[arg(long, env = "CHAINBOX_REQUESTS_PER_MINUTE", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Server")]
    pub(crate) requests_per_minute: Option<u64>,
    /// TOML file with bounds of the server and quotas of plans, as docs/platform.md lists them
    #[arg(long, env = "CHAINBOX_LIMITS", value_name = "FILE", help_heading = "Server")]
    pub(crate) limits: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: crate::log::LogOptions,
    /// Print nothing but the log and, until there is an administrator, its token: both to standard error
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
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,

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
