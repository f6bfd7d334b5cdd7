//! What `serve` prints at its start.

use std::{error::Error, path::Path};

use chainbox::{
    platform::{Platform, PlatformError},
    server::Server,
};

use crate::files;

/// Prints the URLs and, until there is an administrator, how it signs up. Quietly it prints the latter alone, beside the log: nobody could
/// administer the service otherwise.
///
/// # Errors
/// The records can't be read.
pub(super) fn print(
    server: &Server,
    platform: &Platform,
    folder: Option<&Path>,
    is_quiet: bool,
) -> Result<(), Box<dyn Error>> {
    let url = server.public_url();
    let mut lines = if is_quiet { Vec::new() } else { about(server, folder) };
    match platform.users().bootstrap_token() {
        Ok(Some(token)) => {
            let place = url.link("/oauth/signup");
            lines.push(format!("  first user sign up at {place} with this token, which holds once:"));
            lines.push(format!("             {}", token.text()));
        }
        Ok(None) => {}
        // Reads go on when the disk is full.
        Err(PlatformError::StorageFull { .. }) => {
            lines.push("  first user no new token: the disk is full".to_owned());
        }
        Err(cause) => return Err(cause.into()),
    }
    lines.iter().for_each(|line| files::report(is_quiet, &format!("{line}\n")));
    Ok(())
}

/// Returns what the service is and where.
fn about(server: &Server, folder: Option<&Path>) -> Vec<String> {
    let url = server.public_url();
    vec![
        format!("chainbox {} serves on {}", env!("CARGO_PKG_VERSION"), server.local_addr()),
        format!("  service    {}", url.link("/v1/docs")),
        format!("  log in     {}", url.link("/oauth/login")),
        match folder {
            Some(folder) => format!("  database   {}", folder.display()),
            None => "  database   none: everything is gone when the process ends".to_owned(),
        },
    ]
}
