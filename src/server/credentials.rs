//! Credentials of a request to the service: an API key as `X-API-Key`; an access token, or an API key, as a bearer token (RFC 6750).

use hyper::header::{self, HeaderMap};

use super::api_error::ApiError;
use crate::platform::{ApiKeyValue, Platform, PlatformError, Principal};

/// Header of an API key.
const API_KEY: &str = "x-api-key";

/// Returns the principal whose API key or access token the headers carry; with `is_bearer_only` as a bearer token alone.
///
/// # Errors
/// 400 for two kinds of credentials, 401 for none, another authorization scheme or a key that is not valid.
pub(crate) fn authenticate(
    platform: &Platform,
    headers: &HeaderMap,
    is_bearer_only: bool,
) -> Result<Principal, ApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text(API_KEY), text(header::AUTHORIZATION.as_str())) {
        (Some(_), Some(_)) => Err(ApiError::bad_request("send X-API-Key or Authorization, not both")),
        (Some(_), None) if is_bearer_only => {
            Err(ApiError::unauthorized("this needs Authorization: Bearer with an access token, not X-API-Key"))
        }
        (Some(key), None) => by_api_key(platform, key),
        (None, Some(authorization)) => match authorization.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => by_bearer(platform, token.trim()),
            _ => Err(ApiError::unauthorized("Authorization must be a bearer token")),
        },
        (None, None) => Err(ApiError::unauthorized(
            "credentials are missing: send an API key as X-API-Key, or an access token as Authorization: Bearer",
        )),
    }
}

/// Returns whose credentials the headers carry, or carried before these ended: a principal that may do nothing. `None` for credentials that
/// are unknown, and for none.
///
/// # Errors
/// [`PlatformError`] of reading.
pub(crate) fn identify(platform: &Platform, headers: &HeaderMap) -> Result<Option<Principal>, PlatformError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let token = match (text(API_KEY), text(header::AUTHORIZATION.as_str())) {
        (Some(key), None) => return platform.api_keys().identify(key),
        (None, Some(authorization)) => authorization.split_once(' '),
        (None, None) | (Some(_), Some(_)) => None,
    };
    match token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim()) {
        Some(key) if key.starts_with(ApiKeyValue::PREFIX) => platform.api_keys().identify(key),
        Some(token) => platform.oauth().identify(token),
        None => Ok(None),
    }
}

/// Returns whether the headers carry credentials, valid or not.
pub(crate) fn are_given(headers: &HeaderMap) -> bool {
    headers.contains_key(API_KEY) || headers.contains_key(header::AUTHORIZATION)
}

fn by_api_key(platform: &Platform, key: &str) -> Result<Principal, ApiError> {
    let known = platform.api_keys().authenticate(key)?;
    known.ok_or_else(|| ApiError::unauthorized("the API key is not known here, was revoked or has expired"))
}

fn by_bearer(platform: &Platform, token: &str) -> Result<Principal, ApiError> {
    if token.starts_with(ApiKeyValue::PREFIX) {
        return by_api_key(platform, token);
    }
    let known = platform.oauth().authenticate(token)?;
    known.ok_or_else(|| ApiError::unauthorized("the access token is not known here, was revoked or has expired"))
}
