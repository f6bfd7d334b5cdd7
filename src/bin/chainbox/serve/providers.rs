//! The OpenID provider that users may log in with.

use std::{error::Error, sync::Arc};

use chainbox::{
    platform::PublicUrl,
    server::{
        LogInProvider, WallClock,
        openid::{OpenIdConfig, OpenIdProvider},
        outbound::{Allowed, OutboundClient, OutboundPolicy, SystemResolver, TlsRoots},
    },
};
use zeroize::Zeroizing;

use super::args::ServeOptions;
use crate::files;

/// Segment of the provider's path.
const SEGMENT: &str = "provider";

/// Reads the description of the provider that is given.
///
/// # Errors
/// A file can't be read, or the provider can't be reached or relied on.
pub(super) async fn discover(options: &ServeOptions, url: &PublicUrl) -> Result<Vec<LogInProvider>, Box<dyn Error>> {
    let (Some(issuer), Some(client_id)) = (&options.openid_issuer, &options.openid_client_id) else {
        return Ok(Vec::new());
    };
    let mut config = OpenIdConfig::new(issuer, client_id, LogInProvider::redirect_uri(url, SEGMENT));
    if let Some(path) = &options.openid_client_secret_file {
        let secret =
            Zeroizing::new(std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?);
        config = config.with_client_secret(Zeroizing::new(secret.trim().to_owned()));
    }
    let policy = outbound_policy(options)?;
    let roots = TlsRoots::of_system().map_err(|cause| files::with_causes(&cause))?;
    let client = OutboundClient::new(policy, Arc::new(SystemResolver::default()), &roots);
    let client = client.map_err(|cause| files::with_causes(&cause))?;
    let provider = OpenIdProvider::discover(config, client, Arc::new(WallClock)).await;
    let provider = provider.map_err(|cause| format!("--openid-issuer {issuer}: {}", files::with_causes(&cause)))?;
    Ok(vec![LogInProvider::new(&options.openid_name, SEGMENT, provider)])
}

/// Reads which addresses requests to the outside may have beside public ones.
pub(super) fn outbound_policy(options: &ServeOptions) -> Result<OutboundPolicy, Box<dyn Error>> {
    options.allow_outbound.iter().try_fold(OutboundPolicy::default(), |policy, place| {
        let allowed: Allowed = place.parse().map_err(|cause| files::with_causes(&cause))?;
        Ok(policy.with_allowed(allowed))
    })
}
