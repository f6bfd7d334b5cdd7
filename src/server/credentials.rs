//! Credentials of a request to the service: an API key as `X-API-Key` or as a bearer token (RFC 6750).

use hyper::header::{self, HeaderMap};

use super::api_error::ApiError;
use crate::platform::{Caller, Platform, Scope};

/// Header of an API key.
const API_KEY: &str = "x-api-key";

/// Returns the caller whose API key the headers carry.
///
/// # Errors
/// 400 for two kinds of credentials, 401 for none, another authorization scheme or an unknown key.
pub(crate) fn authenticate(platform: &Platform, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let key = match (text(API_KEY), text(header::AUTHORIZATION.as_str())) {
        (Some(_), Some(_)) => return Err(ApiError::bad_request("send X-API-Key or Authorization, not both")),
        (Some(key), None) => key,
        (None, Some(authorization)) => match authorization.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return Err(ApiError::unauthorized("Authorization must be a bearer token")),
        },
        (None, None) => {
            return Err(ApiError::unauthorized("credentials are missing: send an API key as X-API-Key"));
        }
    };
    platform.authenticate(key).ok_or_else(|| ApiError::unauthorized("the API key is not known here"))
}

/// As [`authenticate`], with 403 for a caller that lacks `scope`.
pub(crate) fn authorize(platform: &Platform, headers: &HeaderMap, scope: Scope) -> Result<Caller, ApiError> {
    let caller = authenticate(platform, headers)?;
    if caller.may(scope) { Ok(caller) } else { Err(ApiError::forbidden(scope.name())) }
}
