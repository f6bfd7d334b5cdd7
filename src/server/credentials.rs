//! Credentials of a request to the service: an API key as `X-API-Key` or as a bearer token (RFC 6750).

use hyper::header::{self, HeaderMap};

use super::api_error::ApiError;
use crate::platform::{Platform, Principal};

/// Header of an API key.
const API_KEY: &str = "x-api-key";

/// Returns the principal whose API key the headers carry; with `is_bearer_only` as a bearer token alone.
///
/// # Errors
/// 400 for two kinds of credentials, 401 for none, another authorization scheme or a key that is not valid.
pub(crate) fn authenticate(
    platform: &Platform,
    headers: &HeaderMap,
    is_bearer_only: bool,
) -> Result<Principal, ApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let key = match (text(API_KEY), text(header::AUTHORIZATION.as_str())) {
        (Some(_), Some(_)) => return Err(ApiError::bad_request("send X-API-Key or Authorization, not both")),
        (Some(_), None) if is_bearer_only => {
            return Err(ApiError::unauthorized("this needs Authorization: Bearer with an access token, not X-API-Key"));
        }
        (Some(key), None) => key,
        (None, Some(authorization)) => match authorization.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return Err(ApiError::unauthorized("Authorization must be a bearer token")),
        },
        (None, None) => {
            return Err(ApiError::unauthorized("credentials are missing: send an API key as X-API-Key"));
        }
    };
    let known = platform.api_keys().authenticate(key)?;
    known.ok_or_else(|| ApiError::unauthorized("the API key is not known here, was revoked or has expired"))
}
