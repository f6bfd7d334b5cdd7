//! One login: what the browser takes along, and what it brings back.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ring::digest::{SHA256, digest};
use zeroize::Zeroizing;

use super::OpenIdError;
use crate::platform::Entropy;

/// Random bytes of each value: 256 bits, as RFC 7636, 7.1 asks of a verifier.
const RANDOM_BYTES: usize = 32;

/// The values of a login that only this service and the browser's session know. The caller keeps them from
/// [`authorization_url`](super::OpenIdProvider::authorization_url) to [`exchange`](super::OpenIdProvider::exchange), bound to the browser by
/// a cookie, and uses them once.
#[expect(missing_debug_implementations, reason = "it holds secrets")]
pub struct OpenIdLogin {
    /// Ties the answer to the browser that was sent (RFC 6749, 10.12).
    pub state: Zeroizing<String>,
    /// Ties the ID token to this login (OpenID Connect Core 1.0, 15.5.2).
    pub nonce: Zeroizing<String>,
    /// Ties the code to this login (RFC 7636, 4.1).
    pub verifier: Zeroizing<String>,
}

impl OpenIdLogin {
    /// Draws a login.
    ///
    /// # Errors
    /// [`OpenIdError::Entropy`].
    pub fn draw(entropy: &dyn Entropy) -> Result<Self, OpenIdError> {
        let draw = || -> Result<Zeroizing<String>, OpenIdError> {
            let mut bytes = Zeroizing::new([0; RANDOM_BYTES]);
            entropy.fill(&mut *bytes)?;
            Ok(Zeroizing::new(Base64UrlUnpadded::encode_string(bytes.as_slice())))
        };
        Ok(Self { state: draw()?, nonce: draw()?, verifier: draw()? })
    }

    /// Returns the challenge of the verifier by S256 (RFC 7636, 4.2).
    pub(super) fn challenge(&self) -> String {
        Base64UrlUnpadded::encode_string(digest(&SHA256, self.verifier.as_bytes()).as_ref())
    }
}

/// Parameters with which the browser came back to the redirect URI (OpenID Connect Core 1.0, 3.1.2.5).
#[derive(Clone, Default)]
#[expect(missing_debug_implementations, reason = "it holds the code")]
pub struct Callback {
    /// `state`.
    pub state: Option<String>,
    /// `code`.
    pub code: Option<Zeroizing<String>>,
    /// `iss` (RFC 9207).
    pub issuer: Option<String>,
    /// `error`.
    pub error: Option<String>,
    /// `error_description`.
    pub error_description: Option<String>,
}

impl Callback {
    /// Reads the query of the redirect URI. Parameters of other names are ignored; of several of one name, the last counts.
    pub fn from_query(query: &str) -> Self {
        let mut callback = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.trim_start_matches('?').as_bytes()) {
            let value = value.into_owned();
            match &*name {
                "state" => callback.state = Some(value),
                "code" => callback.code = Some(Zeroizing::new(value)),
                "iss" => callback.issuer = Some(value),
                "error" => callback.error = Some(value),
                "error_description" => callback.error_description = Some(value),
                _ => {}
            }
        }
        callback
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::OsEntropy;

    /// RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        let text = |text: &str| Zeroizing::new(text.to_owned());
        let verifier = text("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let login = OpenIdLogin { state: text(""), nonce: text(""), verifier };
        assert_eq!(login.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn logins_differ_in_every_value() {
        let (one, other) = (OpenIdLogin::draw(&OsEntropy).unwrap(), OpenIdLogin::draw(&OsEntropy).unwrap());
        let values = [&one.state, &one.nonce, &one.verifier, &other.state, &other.nonce, &other.verifier];
        for (index, value) in values.iter().enumerate() {
            assert!(value.len() == 43 && !values[..index].contains(value), "{}", value.as_str());
        }
    }

    #[test]
    fn a_callback_is_read_from_a_query() {
        let read = Callback::from_query("?code=a%2Bb&state=s&iss=https%3A%2F%2Fop.test&other=1");
        let code = read.code.as_ref().map(|code| code.as_str());
        assert_eq!(
            (code, read.state.as_deref(), read.issuer.as_deref()),
            (Some("a+b"), Some("s"), Some("https://op.test"))
        );
        let refused = Callback::from_query("error=access_denied&error_description=not+now&state=s");
        assert_eq!(refused.error_description.as_deref(), Some("not now"));
        assert!(refused.code.is_none() && Callback::from_query("").state.is_none());
    }
}
