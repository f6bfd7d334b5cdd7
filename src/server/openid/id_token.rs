//! The checks of an ID token (OpenID Connect Core 1.0, 3.1.3.7 and 3.1.3.8).

use core::time::Duration;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ring::digest::{SHA256, SHA512, digest};
use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::{
    IdTokenError,
    jws::{Algorithm, shortened},
};

/// Age of an ID token: it has just been issued for the code that was exchanged.
pub const ID_TOKEN_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// Characters of a subject (OpenID Connect Core 1.0, 2).
const SUBJECT_LEN_MAX: usize = 255;

/// Claims of an ID token that matter here.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    pub(super) sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: NumericDate,
    iat: NumericDate,
    nbf: Option<NumericDate>,
    nonce: Option<String>,
    at_hash: Option<String>,
    #[serde(flatten)]
    pub(super) profile: Profile,
}

/// What a token or the user information says of the person (OpenID Connect Core 1.0, 5.1).
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Profile {
    pub(super) email: Option<String>,
    pub(super) email_verified: Option<Flag>,
    pub(super) name: Option<String>,
}

/// A truth value, which some providers write as a string.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Flag {
    Plain(bool),
    Text(String),
}

impl Flag {
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Plain(flag) => *flag,
            Self::Text(text) => text == "true",
        }
    }
}

/// One or several audiences (RFC 7519, 4.1.3).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(audience) => core::slice::from_ref(audience),
            Self::Several(audiences) => audiences,
        }
    }
}

/// Seconds since 1970, perhaps with a fraction (RFC 7519, 2).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum NumericDate {
    Whole(u64),
    Fraction(f64),
}

impl NumericDate {
    fn secs(self) -> u64 {
        match self {
            Self::Whole(secs) => secs,
            // The conversion saturates: a date before 1970 is 0.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "meant to saturate")]
            Self::Fraction(secs) => secs as u64,
        }
    }
}

/// What the claims must agree with.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) access_token: Option<&'a str>,
    pub(super) algorithm: Algorithm,
    pub(super) now_secs: u64,
    pub(super) leeway_secs: u64,
}

/// Reads the claims of a payload whose signature was checked, and checks them.
///
/// # Errors
/// [`IdTokenError`] of the first check that fails.
pub(super) fn check(payload: &[u8], expected: &Expected<'_>) -> Result<Claims, IdTokenError> {
    let claims: Claims = serde_json::from_slice(payload)
        .map_err(|cause| IdTokenError::Format { reason: format!("its claims: {}", shortened(&cause.to_string())) })?;
    let Expected { issuer, client_id, .. } = expected;
    if claims.iss != *issuer {
        return Err(IdTokenError::Issuer { want: (*issuer).to_owned(), got: shortened(&claims.iss) });
    }
    check_receiver(&claims, client_id)?;
    check_times(&claims, expected.now_secs, expected.leeway_secs)?;
    let nonce = claims.nonce.as_deref().unwrap_or_default();
    if expected.nonce.is_empty() || !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
        return Err(IdTokenError::Nonce);
    }
    if let (Some(hash), Some(token)) = (&claims.at_hash, expected.access_token)
        && *hash != access_token_hash(expected.algorithm, token)
    {
        return Err(IdTokenError::AccessTokenHash);
    }
    if claims.sub.is_empty() || claims.sub.chars().count() > SUBJECT_LEN_MAX {
        return Err(IdTokenError::Subject);
    }
    Ok(claims)
}

/// The token is for this client. With other audiences beside, which this service has no reason to trust, the token must name this client as
/// the one that it was given to.
fn check_receiver(claims: &Claims, client_id: &str) -> Result<(), IdTokenError> {
    let audiences = claims.aud.as_slice();
    if !audiences.iter().any(|audience| audience == client_id) {
        let got = audiences.iter().take(8).map(|audience| shortened(audience)).collect();
        return Err(IdTokenError::Audience { want: client_id.to_owned(), got });
    }
    let is_party = match &claims.azp {
        Some(party) => party == client_id,
        None => audiences.len() == 1,
    };
    if is_party {
        return Ok(());
    }
    Err(IdTokenError::AuthorizedParty { want: client_id.to_owned(), got: claims.azp.as_deref().map(shortened) })
}

fn check_times(claims: &Claims, now: u64, leeway: u64) -> Result<(), IdTokenError> {
    let (expired_at, issued_at) = (claims.exp.secs(), claims.iat.secs());
    if expired_at.saturating_add(leeway) <= now {
        return Err(IdTokenError::Expired { expired_at, now });
    }
    let oldest = now.saturating_sub(leeway).saturating_sub(ID_TOKEN_AGE_MAX.as_secs());
    if issued_at > now.saturating_add(leeway) || issued_at < oldest {
        return Err(IdTokenError::IssuedAt { issued_at, now });
    }
    match claims.nbf.map(NumericDate::secs) {
        Some(from) if from > now.saturating_add(leeway) => Err(IdTokenError::NotYet { from, now }),
        _ => Ok(()),
    }
}

/// The left half of the hash of the algorithm's own hash function (OpenID Connect Core 1.0, 3.1.3.6); that of Ed25519 is SHA-512.
pub(super) fn access_token_hash(algorithm: Algorithm, token: &str) -> String {
    let function = match algorithm {
        Algorithm::Rs256 | Algorithm::Es256 => &SHA256,
        Algorithm::EdDsa => &SHA512,
    };
    let hash = digest(function, token.as_bytes());
    let half = hash.as_ref().len() / 2;
    Base64UrlUnpadded::encode_string(&hash.as_ref()[..half])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: u64 = 1_700_000_000;
    const LEEWAY: u64 = 60;

    fn claims() -> Value {
        json!({
            "iss": "https://op.test", "sub": "248289761001", "aud": "chainbox", "exp": NOW + 300, "iat": NOW, "nonce": "n-0S6_WzA2Mj",
        })
    }

    fn judge(claims: &Value, access_token: Option<&str>) -> Result<Claims, IdTokenError> {
        let expected = Expected {
            issuer: "https://op.test",
            client_id: "chainbox",
            nonce: "n-0S6_WzA2Mj",
            access_token,
            algorithm: Algorithm::Rs256,
            now_secs: NOW,
            leeway_secs: LEEWAY,
        };
        check(claims.to_string().as_bytes(), &expected)
    }

    #[test]
    fn each_violated_check_has_its_own_error() {
        assert!(judge(&claims(), None).is_ok());
        let client = || "chainbox".to_owned();
        let party =
            |got: Option<&str>| Err(IdTokenError::AuthorizedParty { want: client(), got: got.map(str::to_owned) });
        let audience = |got: &[&str]| {
            Err(IdTokenError::Audience { want: client(), got: got.iter().map(|text| (*text).to_owned()).collect() })
        };
        let issuer = |got: &str| Err(IdTokenError::Issuer { want: "https://op.test".to_owned(), got: got.to_owned() });
        let oldest = NOW - LEEWAY - ID_TOKEN_AGE_MAX.as_secs();
        for (name, changes, want) in [
            ("other issuer", json!({ "iss": "https://op.test/" }), issuer("https://op.test/")),
            ("other audience", json!({ "aud": "other" }), audience(&["other"])),
            ("no audience", json!({ "aud": [] }), audience(&[])),
            ("audience in a list", json!({ "aud": ["chainbox"] }), Ok(())),
            ("several audiences", json!({ "aud": ["chainbox", "other"] }), party(None)),
            ("several, given to us", json!({ "aud": ["chainbox", "other"], "azp": "chainbox" }), Ok(())),
            ("given to another", json!({ "azp": "other" }), party(Some("other"))),
            (
                "expired",
                json!({ "exp": NOW - LEEWAY }),
                Err(IdTokenError::Expired { expired_at: NOW - LEEWAY, now: NOW }),
            ),
            ("expired within the leeway", json!({ "exp": NOW - LEEWAY + 1 }), Ok(())),
            ("fraction of a second", json!({ "exp": 1_700_000_001.5 }), Ok(())),
            ("before 1970", json!({ "exp": -1 }), Err(IdTokenError::Expired { expired_at: 0, now: NOW })),
            (
                "from the future",
                json!({ "iat": NOW + LEEWAY + 1 }),
                Err(IdTokenError::IssuedAt { issued_at: NOW + LEEWAY + 1, now: NOW }),
            ),
            ("future within the leeway", json!({ "iat": NOW + LEEWAY }), Ok(())),
            ("old", json!({ "iat": oldest }), Ok(())),
            ("too old", json!({ "iat": oldest - 1 }), Err(IdTokenError::IssuedAt { issued_at: oldest - 1, now: NOW })),
            (
                "not yet valid",
                json!({ "nbf": NOW + LEEWAY + 1 }),
                Err(IdTokenError::NotYet { from: NOW + LEEWAY + 1, now: NOW }),
            ),
            ("valid within the leeway", json!({ "nbf": NOW + LEEWAY }), Ok(())),
            ("other nonce", json!({ "nonce": "other" }), Err(IdTokenError::Nonce)),
            ("no nonce", json!({ "nonce": null }), Err(IdTokenError::Nonce)),
            ("empty subject", json!({ "sub": "" }), Err(IdTokenError::Subject)),
            ("longest subject", json!({ "sub": "s".repeat(SUBJECT_LEN_MAX) }), Ok(())),
            ("too long a subject", json!({ "sub": "s".repeat(SUBJECT_LEN_MAX + 1) }), Err(IdTokenError::Subject)),
        ] {
            let mut claims = claims();
            for (name, value) in changes.as_object().unwrap() {
                claims[name] = value.clone();
            }
            assert_eq!(judge(&claims, None).map(drop), want, "{name}");
        }
        for required in ["iss", "sub", "aud", "exp", "iat"] {
            let mut claims = claims();
            claims.as_object_mut().unwrap().remove(required);
            let error = judge(&claims, None).unwrap_err();
            assert!(matches!(&error, IdTokenError::Format { .. }), "{required}: {error}");
        }
    }

    /// The access token and `at_hash` of OpenID Connect Core 1.0, A.4.
    #[test]
    fn the_hash_of_the_access_token_is_that_of_the_specification() {
        let (token, hash) = ("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y", "77QmUPtjPfzWtF2AnpK9RQ");
        let mut claims = claims();
        claims["at_hash"] = hash.into();
        assert!(judge(&claims, Some(token)).is_ok());
        assert_eq!(judge(&claims, Some("other")).map(drop), Err(IdTokenError::AccessTokenHash));
    }

    #[test]
    fn a_verified_address_is_one_that_the_provider_calls_so() {
        for (value, verified) in
            [(json!(true), true), (json!("true"), true), (json!(false), false), (json!("false"), false)]
        {
            let mut claims = claims();
            claims["email_verified"] = value.clone();
            assert_eq!(judge(&claims, None).unwrap().profile.email_verified.unwrap().is_true(), verified, "{value}");
        }
        let mut claims = claims();
        claims["email_verified"] = json!(1);
        assert!(judge(&claims, None).is_err());
    }
}
