//! Parameters of a request, in the form of `application/x-www-form-urlencoded`.

use std::collections::BTreeMap;

use url::form_urlencoded;
use zeroize::Zeroizing;

use super::{OAuthError, OAuthErrorCode};

/// Distinct parameters that are read of a request; the rest is ignored as what is unknown.
const PARAMETERS_MAX: usize = 64;

/// The parameters of a query or a form. One without a value counts as left out, and what nobody asks for is ignored (RFC 6749, 3.1 and
/// 3.2). They may hold secrets and are overwritten when they are dropped.
#[expect(missing_debug_implementations, reason = "it holds secrets")]
#[derive(Clone, Default)]
pub struct Parameters(BTreeMap<String, Vec<Zeroizing<String>>>);

impl Parameters {
    /// Reads a query or the body of a form.
    pub fn read(form: &[u8]) -> Self {
        let mut parameters = BTreeMap::<String, Vec<_>>::new();
        for (name, value) in form_urlencoded::parse(form).filter(|(_, value)| !value.is_empty()) {
            if parameters.len() < PARAMETERS_MAX || parameters.contains_key(&*name) {
                parameters.entry(name.into_owned()).or_default().push(Zeroizing::new(value.into_owned()));
            }
        }
        Self(parameters)
    }

    /// Returns a parameter.
    ///
    /// # Errors
    /// `invalid_request` for one that was sent twice (RFC 6749, 3.1 and 3.2).
    pub fn get(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        match self.0.get(name).map_or(&[][..], Vec::as_slice) {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            _ => {
                let message = format!("the parameter {name} was sent more than once");
                Err(OAuthError::new(OAuthErrorCode::InvalidRequest, message))
            }
        }
    }

    /// Returns a parameter that must be there.
    ///
    /// # Errors
    /// `invalid_request`.
    pub fn require(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name)?
            .ok_or_else(|| OAuthError::new(OAuthErrorCode::InvalidRequest, format!("the parameter {name} is missing")))
    }

    /// Returns the first value of a parameter, for a form of the service's own pages.
    pub fn first(&self, name: &str) -> &str {
        self.0.get(name).and_then(|values| values.first()).map_or("", |value| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_come_once() {
        let parameters = Parameters::read(b"a=1+%C3%A9&b=&c=1&c=2&d&%ff=x");
        assert_eq!(parameters.get("a"), Ok(Some("1 é")));
        assert_eq!((parameters.get("b"), parameters.get("d"), parameters.get("e")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(parameters.get("c").unwrap_err().description, "the parameter c was sent more than once");
        assert_eq!(parameters.require("b").unwrap_err().description, "the parameter b is missing");
        assert_eq!((parameters.first("c"), parameters.first("e")), ("1", ""));
        let many: Vec<String> = (0..100).map(|number| format!("p{number}={number}")).collect();
        assert_eq!(Parameters::read(many.join("&").as_bytes()).0.len(), PARAMETERS_MAX);
    }
}
