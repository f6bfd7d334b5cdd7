//! The OpenID provider that users may log in with.

use std::{error::Error, sync::Arc};

use chainbox::{
    platform::PublicUrl,
    server::{
        LogInProvider, WallClock,
        openid::{OnDemandProvider, OpenIdConfig, OpenIdError},
        outbound::{Allowed, OutboundClient, OutboundPolicy, SystemResolver, TlsRoots},
    },
};
use zeroize::Zeroizing;

use super::args::ServeOptions;
use crate::files;

/// Segment of the provider's path.
const SEGMENT: &str = "provider";

/// Returns the provider that is given, whose description is read now. Where it can't be reached the log says so, and a log-in asks it again.
///
/// # Errors
/// A file can't be read, the issuer is no URL that may be asked, or the provider is another issuer or lacks what this service needs.
pub(super) async fn read(options: &ServeOptions, url: &PublicUrl) -> Result<Vec<LogInProvider>, Box<dyn Error>> {
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
    let wrong = |cause: OpenIdError| format!("--openid-issuer {issuer}: {}", files::with_causes(&cause));
    let provider = OnDemandProvider::new(config, client, Arc::new(WallClock)).map_err(wrong)?;
    match provider.provider().await {
        Ok(_) => {}
        Err(cause @ (OpenIdError::Issuer { .. } | OpenIdError::Unsupported { .. })) => return Err(wrong(cause).into()),
        Err(cause) => {
            let cause = files::with_causes(&cause);
            tracing::warn!(
                issuer = issuer.as_str(),
                cause = cause.as_str(),
                "the OpenID provider can't be reached: log-ins with it fail until it can"
            );
        }
    }
    Ok(vec![LogInProvider::new(&options.openid_name, SEGMENT, provider)])
}

/// Reads which addresses requests to the outside may have beside public ones.
pub(super) fn outbound_policy(options: &ServeOptions) -> Result<OutboundPolicy, Box<dyn Error>> {
    options.allow_outbound.iter().try_fold(OutboundPolicy::default(), |policy, place| {
        let allowed: Allowed = place.parse().map_err(|cause| files::with_causes(&cause))?;
        Ok(policy.with_allowed(allowed))
    })
}
