//! How a client authenticates itself (RFC 6749, 2.3.1): HTTP Basic, or parameters of the form.

use axum::http::{HeaderMap, header};
use base64ct::{Base64, Encoding as _};
use zeroize::Zeroizing;

use crate::platform::{ClientCredentials, OAuthError, OAuthErrorCode, Parameters};

/// Credentials that a request shows. They are overwritten when they are dropped.
pub(super) struct Shown {
    id: String,
    secret: Option<Zeroizing<String>>,
}

impl Shown {
    /// Reads the credentials of a request.
    ///
    /// # Errors
    /// `invalid_request` for two methods at once, `invalid_client` for none or one that is unknown.
    pub(super) fn read(headers: &HeaderMap, form: &Parameters) -> Result<Self, OAuthError> {
        let refuse = |message: &str| Err(OAuthError::new(OAuthErrorCode::InvalidRequest, message));
        let (id, secret) = (form.get("client_id")?, form.get("client_secret")?);
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let Some(authorization) = shown.next() else {
            let id = id.ok_or_else(|| unauthenticated("send client_id and, if the client has one, client_secret"))?;
            return Ok(Self { id: id.to_owned(), secret: secret.map(|secret| Zeroizing::new(secret.to_owned())) });
        };
        if shown.next().is_some() {
            return refuse("the Authorization header was sent more than once");
        }
        if secret.is_some() {
            return refuse("the client shows its secret both in the Authorization header and in the form: choose one");
        }
        let basic = authorization.to_str().ok().and_then(read_basic);
        let basic =
            basic.ok_or_else(|| unauthenticated("expected Authorization: Basic with client_id and client_secret"))?;
        match id {
            Some(id) if id != basic.id => refuse("client_id is not that of the Authorization header"),
            _ => Ok(basic),
        }
    }

    /// The credentials for the platform.
    pub(super) fn credentials(&self) -> ClientCredentials<'_> {
        ClientCredentials { id: &self.id, secret: self.secret.as_deref().map(String::as_str) }
    }
}

fn unauthenticated(message: &str) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidClient, message)
}

/// Reads HTTP Basic (RFC 7617), whose parts are encoded as in a form (RFC 6749, 2.3.1).
fn read_basic(authorization: &str) -> Option<Shown> {
    let (scheme, encoded) = authorization.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = Zeroizing::new(Base64::decode_vec(encoded.trim()).ok()?);
    let (id, secret) = core::str::from_utf8(&decoded).ok()?.split_once(':')?;
    let secret = Zeroizing::new(decoded_part(secret)?);
    Some(Shown { id: decoded_part(id)?, secret: (!secret.is_empty()).then_some(secret) })
}

/// Decodes one value of a form.
fn decoded_part(text: &str) -> Option<String> {
    // `&` and `=` end a value in a form, and are never in an encoded one.
    if text.contains(['&', '=']) {
        return None;
    }
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    Some(pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authorization: &[&str], form: &str) -> Result<(String, Option<String>), OAuthErrorCode> {
        let mut headers = HeaderMap::new();
        for line in authorization {
            headers.append(header::AUTHORIZATION, line.parse().unwrap());
        }
        let shown = Shown::read(&headers, &Parameters::read(form.as_bytes())).map_err(|error| error.code)?;
        Ok((shown.id.clone(), shown.secret.as_deref().cloned()))
    }

    #[test]
    fn both_methods_are_read_and_never_together() {
        use OAuthErrorCode::{InvalidClient, InvalidRequest};
        let basic = |text: &str| format!("Basic {}", Base64::encode_string(text.as_bytes()));
        let both = Ok(("a".to_owned(), Some("s e".to_owned())));
        assert_eq!(read(&[], "client_id=a&client_secret=s+e"), both);
        assert_eq!(read(&[&basic("a:s+e")], ""), both);
        assert_eq!(read(&[&basic("a:s%20e").replace("Basic", "basic")], "client_id=a"), both);
        assert_eq!(read(&[], "client_id=a"), Ok(("a".to_owned(), None)));
        assert_eq!(read(&[&basic("a:")], ""), Ok(("a".to_owned(), None)));
        for (lines, form, want) in [
            (vec![], "", InvalidClient),
            (vec![], "client_secret=s", InvalidClient),
            (vec![], "client_id=a&client_id=a", InvalidRequest),
            (vec![basic("a:s")], "client_secret=s", InvalidRequest),
            (vec![basic("a:s")], "client_id=b", InvalidRequest),
            (vec![basic("a:s"), basic("a:s")], "", InvalidRequest),
            (vec!["Bearer x".to_owned()], "client_id=a", InvalidClient),
            (vec!["Basic".to_owned()], "client_id=a", InvalidClient),
            (vec!["Basic ???".to_owned()], "client_id=a", InvalidClient),
            (vec![basic("no colon")], "client_id=a", InvalidClient),
            (vec![basic("a&b:s")], "", InvalidClient),
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(read(&lines, form), Err(want), "{lines:?} {form}");
        }
    }
}
