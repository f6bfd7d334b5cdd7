//! Flags that `dev` and `serve` share.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use chainbox::server::{ServerConfig, SystemTxtResolver};
use clap::Args;

/// Where the server listens, and whom it serves.
#[derive(Args, Clone, Debug)]
pub(crate) struct ListenOptions {
    /// Address to listen on
    #[arg(long, env = "CHAINBOX_HOST", default_value = "127.0.0.1", help_heading = "Server")]
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, short, env = "CHAINBOX_PORT", default_value_t = 8545, help_heading = "Server")]
    pub(crate) port: u16,
    /// Host name to accept in requests beside localhost and IP addresses (protection against DNS rebinding); repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_HOST", value_name = "NAME", value_delimiter = ',', help_heading = "Server")]
    pub(crate) allow_host: Vec<String>,
    /// Origin of browser pages to accept beside the server's own; `*` for all; `dev` accepts all on loopback, and those of localhost
    /// elsewhere; repeatable
    #[arg(long, env = "CHAINBOX_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', help_heading = "Server")]
    pub(crate) allow_origin: Vec<String>,
    /// Name server that is asked for the TXT records of dApps' domains, such as 10.0.0.2:53; by default those of /etc/resolv.conf
    #[arg(long, env = "CHAINBOX_NAME_SERVER", value_name = "ADDRESS:PORT", help_heading = "Server")]
    pub(crate) name_server: Option<SocketAddr>,
}

impl ListenOptions {
    /// Returns the configuration of a server with these flags.
    pub(crate) fn config(&self) -> ServerConfig {
        let config = ServerConfig::new((self.host, self.port).into())
            .with_allowed_hosts(self.allow_host.clone())
            .with_allowed_origins(self.allow_origin.clone());
        match self.name_server {
            Some(server) => config.with_txt_resolver(Arc::new(SystemTxtResolver::at(server))),
            None => config,
        }
    }
}

/// How the database of `--db-path` is kept.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseOptions {
    /// File with the master key of the secrets in the database, 64 hex digits; also CHAINBOX_MASTER_KEY; by default CHAINBOX.key in the
    /// database's folder, which is made for a new database
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
    /// Free space of the disk below which the database takes no writes: a number of bytes, or of KiB, MiB, GiB or TiB as in 512MiB;
    /// reads go on, and so do writes once there is room [default: 256MiB]
    #[arg(long, env = "CHAINBOX_MIN_FREE_SPACE", value_name = "SIZE", value_parser = bytes, requires = "db_path", help_heading = "State")]
    pub(crate) min_free_space: Option<u64>,
    /// Folder for the backups that POST /v1/admin/backups writes of the database while it is served
    #[arg(long, env = "CHAINBOX_BACKUP_PATH", value_name = "FOLDER", requires = "db_path", help_heading = "State")]
    pub(crate) backup_path: Option<PathBuf>,
}

/// Parses a number of bytes, or one of a unit of IEC 80000-13.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let number = digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| "expected a number of bytes below 2^64, or of KiB, MiB, GiB or TiB, as in 256MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
