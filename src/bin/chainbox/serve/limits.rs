//! The limits of the service: defaults, a file over them, flags over both.

use std::{error::Error, time::Duration};

use chainbox::server::{Limits, RateLimit};

use super::args::ServeOptions;

/// Reads the limits.
///
/// # Errors
/// The file can't be read, or has what no limit has.
pub(crate) fn read(options: &ServeOptions) -> Result<Limits, Box<dyn Error>> {
    let mut limits = match &options.limits {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|cause| format!("--limits {}: {cause}", path.display()))?;
            Limits::from_toml(&text).map_err(|cause| format!("--limits {}: {cause}", path.display()))?
        }
        None => Limits::default(),
    };
    if let Some(requests) = options.requests_per_minute {
        limits.server.rate = RateLimit { requests, window: Duration::from_secs(60) };
    }
    Ok(limits)
}
