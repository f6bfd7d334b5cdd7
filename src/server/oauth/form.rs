//! Reading the body of a form.

use axum::{
    body,
    http::{HeaderMap, Request, header},
};

use super::{AuthorizationServer, browser::Browser, failure::Failure};
use crate::{
    platform::{OAuthError, OAuthErrorCode, Parameters},
    server::rest::PeerAddress,
};

/// Bytes of a form.
pub(super) const FORM_BYTES_MAX: usize = 64 * 1024;

/// Returns the headers and the parameters of a request with a form.
///
/// # Errors
/// `invalid_request` for another media type, or a body that is too long.
pub(super) async fn read(request: Request<body::Body>) -> Result<(HeaderMap, Parameters), OAuthError> {
    let (parts, body) = request.into_parts();
    let refuse = |message: String| OAuthError::new(OAuthErrorCode::InvalidRequest, message);
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("nothing");
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(refuse(format!("expected a body of application/x-www-form-urlencoded, got {kind}")));
    }
    let bytes = body::to_bytes(body, FORM_BYTES_MAX).await;
    let bytes =
        bytes.map_err(|_| refuse(format!("the body could not be read, or has more than {FORM_BYTES_MAX} bytes")))?;
    Ok((parts.headers, Parameters::read(&bytes)))
}

/// Returns the browser and the fields of a form of this server's own pages.
///
/// # Errors
/// [`Failure::ForeignForm`] for one that did not come from a page that this browser was given.
pub(super) async fn read_own(
    server: &AuthorizationServer,
    request: Request<body::Body>,
) -> Result<(Browser, Parameters), Failure> {
    let client = request.extensions().get::<PeerAddress>().copied();
    let (headers, form) = read(request).await?;
    let browser = Browser::of(server, &headers)?.with_client(client);
    if browser.is_own_form(server, &form) { Ok((browser, form)) } else { Err(Failure::ForeignForm) }
}
