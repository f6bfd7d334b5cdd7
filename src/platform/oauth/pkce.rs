//! Proof key for code exchange (RFC 7636), with the method S256 alone.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::{OAuthError, OAuthErrorCode, Parameters};

/// Characters of a challenge: those of a SHA-256 hash in base64url.
const CHALLENGE_LEN: usize = 43;

/// Reads the challenge of an authorization request.
///
/// # Errors
/// `invalid_request` for another method than `S256`, or a challenge that is none.
pub(super) fn read_challenge(parameters: &Parameters) -> Result<Option<String>, OAuthError> {
    let invalid = |message: &str| Err(OAuthError::new(OAuthErrorCode::InvalidRequest, message));
    let (challenge, method) = (parameters.get("code_challenge")?, parameters.get("code_challenge_method")?);
    match (challenge, method) {
        (None, None) => Ok(None),
        (None, Some(_)) => invalid("code_challenge_method was sent without code_challenge"),
        (Some(challenge), Some("S256")) => {
            if challenge.len() == CHALLENGE_LEN && challenge.bytes().all(is_base64url) {
                return Ok(Some(challenge.to_owned()));
            }
            invalid("code_challenge is not the base64url of a SHA-256 hash: 43 letters, digits, - and _")
        }
        // A missing method means plain (RFC 7636, 4.3), which shows the verifier to whoever reads the request.
        (Some(_), _) => invalid("transform algorithm not supported: send code_challenge_method=S256"),
    }
}

/// Verifies a code verifier against the challenge of its authorization request.
///
/// # Errors
/// `invalid_grant` when it does not match, when it is missing, and when there was no challenge (RFC 9700, 2.1.1 and 4.8.2: otherwise an
/// attacker could take the challenge out of the request).
pub(super) fn verify(challenge: Option<&str>, verifier: Option<&str>) -> Result<(), OAuthError> {
    let refuse = |message: &str| Err(OAuthError::new(OAuthErrorCode::InvalidGrant, message));
    match (challenge, verifier) {
        (None, None) => Ok(()),
        (Some(_), None) => refuse("code_verifier is missing: the authorization request had a code_challenge"),
        (None, Some(_)) => refuse("code_verifier was sent, but the authorization request had no code_challenge"),
        (Some(challenge), Some(verifier)) => {
            let is_verifier = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
            let computed = Base64UrlUnpadded::encode_string(&Sha256::digest(verifier.as_bytes()));
            if is_verifier && bool::from(computed.as_bytes().ct_eq(challenge.as_bytes())) {
                return Ok(());
            }
            refuse("code_verifier does not match the code_challenge of the authorization request")
        }
    }
}

const fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    /// RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_standards_example_verifies() {
        assert_eq!(verify(Some(CHALLENGE), Some(VERIFIER)), Ok(()));
        assert_eq!(verify(None, None), Ok(()));
        for (challenge, verifier) in [
            (Some(CHALLENGE), None),
            (None, Some(VERIFIER)),
            (Some(CHALLENGE), Some(CHALLENGE)),
            (Some(CHALLENGE), Some(&VERIFIER[..42])),
            (Some(VERIFIER), Some(VERIFIER)),
        ] {
            let refused = verify(challenge, verifier).unwrap_err();
            assert_eq!(refused.code, OAuthErrorCode::InvalidGrant, "{challenge:?} {verifier:?}");
        }
    }

    #[test]
    fn only_s256_is_taken() {
        let read = |query: String| read_challenge(&Parameters::read(query.as_bytes()));
        assert_eq!(read(String::new()), Ok(None));
        let whole = format!("code_challenge={CHALLENGE}&code_challenge_method=S256");
        assert_eq!(read(whole), Ok(Some(CHALLENGE.to_owned())));
        for query in [
            format!("code_challenge={CHALLENGE}"),
            format!("code_challenge={CHALLENGE}&code_challenge_method=plain"),
            format!("code_challenge={CHALLENGE}x&code_challenge_method=S256"),
            format!("code_challenge={}%3D&code_challenge_method=S256", &CHALLENGE[1..]),
            "code_challenge_method=S256".to_owned(),
        ] {
            assert_eq!(read(query.clone()).unwrap_err().code, OAuthErrorCode::InvalidRequest, "{query}");
        }
    }
}
