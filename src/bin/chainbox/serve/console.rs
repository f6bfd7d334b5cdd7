//! What `serve` prints at its start.

use std::{error::Error, path::Path};

use chainbox::{platform::Platform, server::Server};

use crate::files;

/// Prints the URLs and, until there is a user, how the first one signs up.
///
/// # Errors
/// The records can't be read.
pub(super) fn print(server: &Server, platform: &Platform, folder: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let url = server.public_url();
    let mut lines = vec![
        format!("chainbox {} serves on {}", env!("CARGO_PKG_VERSION"), server.local_addr()),
        format!("  service    {}", url.link("/v1/docs")),
        format!("  log in     {}", url.link("/oauth/login")),
        match folder {
            Some(folder) => format!("  database   {}", folder.display()),
            None => "  database   none: everything is gone when the process ends".to_owned(),
        },
    ];
    if let Some(token) = platform.users().bootstrap_token()? {
        lines.push(format!("  first user sign up at {} with this token, which holds once:", url.link("/oauth/signup")));
        lines.push(format!("             {}", token.text()));
    }
    files::report(false, &(lines.join("\n") + "\n"));
    Ok(())
}
