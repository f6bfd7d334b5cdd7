//! Signed tokens: the compact serialisation (RFC 7515, 7.1), and signatures by published keys (RFC 7517, RFC 7518, RFC 8037).

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::IdTokenError;

/// Bytes of a token.
pub const TOKEN_LEN_MAX: usize = 16 << 10;

/// An algorithm of signatures (RFC 7518, 3.1; RFC 8037, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256. Every provider has it (OpenID Connect Core 1.0, 15.1).
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// EdDSA, here on Ed25519 alone.
    EdDsa,
}

impl Algorithm {
    /// Returns the algorithm of this name; `None` for those that are not accepted.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            // The name of RFC 9864 and that of RFC 8037, which leaves the curve open.
            "Ed25519" | "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }

    /// Name of the algorithm.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// A key as it is published (RFC 7517, 4), of a kind that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    pub(super) id: Option<String>,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// The uncompressed point: 4, x, y.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The members of a published key that matter here.
#[derive(Debug, Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl PublicKey {
    /// Reads a key; `None` for one that verifies no signature of an accepted algorithm. Providers publish others beside.
    pub(super) fn read(jwk: serde_json::Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(jwk).ok()?;
        if jwk.usage.is_some_and(|usage| usage != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| Base64UrlUnpadded::decode_vec(&text?).ok();
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: bytes(jwk.n)?, e: bytes(jwk.e)? },
            ("EC", Some("P-256")) => Material::P256([&[4], &bytes(jwk.x)?[..], &bytes(jwk.y)?[..]].concat()),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(jwk.x)?),
            _ => return None,
        };
        let key = Self { id: jwk.kid, material };
        // A key for another algorithm of its kind, such as PS256, is none for this one.
        jwk.alg.is_none_or(|alg| Algorithm::named(&alg) == Some(key.algorithm())).then_some(key)
    }

    /// The algorithm that the key's kind goes with: a key never verifies signatures of another.
    pub(super) const fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Rsa { .. } => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            Material::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature),
            Material::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

/// The header of a token (RFC 7515, 4.1).
#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

/// A token in three parts, whose signature is not yet checked.
#[derive(Debug)]
pub(super) struct SignedToken<'a> {
    /// Header and payload as they are signed.
    message: &'a str,
    payload: Vec<u8>,
    signature: Vec<u8>,
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
}

impl<'a> SignedToken<'a> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// [`IdTokenError::Format`], [`IdTokenError::Algorithm`], [`IdTokenError::Critical`].
    pub(super) fn read(token: &'a str) -> Result<Self, IdTokenError> {
        let format = |reason: &str| IdTokenError::Format { reason: reason.to_owned() };
        if token.len() > TOKEN_LEN_MAX {
            return Err(format(&format!("expected at most {TOKEN_LEN_MAX} bytes, got {}", token.len())));
        }
        let (message, signature) = token.rsplit_once('.').ok_or_else(|| format("expected three parts"))?;
        let (header, payload) = message.split_once('.').ok_or_else(|| format("expected three parts"))?;
        let decode = |part: &str| Base64UrlUnpadded::decode_vec(part).map_err(|_| format("a part is no base64url"));
        let (header, payload, signature) = (decode(header)?, decode(payload)?, decode(signature)?);
        let header: Header =
            serde_json::from_slice(&header).map_err(|_| format("its header is no JSON object with alg"))?;
        if header.crit.is_some() {
            return Err(IdTokenError::Critical);
        }
        let algorithm = Algorithm::named(&header.alg);
        let algorithm = algorithm.ok_or_else(|| IdTokenError::Algorithm { algorithm: shortened(&header.alg) })?;
        Ok(Self { message, payload, signature, algorithm, key_id: header.kid })
    }

    /// Returns whether a key may have signed the token: it is of the algorithm's kind and has the id that the header names.
    pub(super) fn may_be_signed_by(&self, key: &PublicKey) -> bool {
        key.algorithm() == self.algorithm && (self.key_id.is_none() || key.id == self.key_id)
    }

    /// Returns the payload when one of `keys` has signed it.
    ///
    /// # Errors
    /// [`IdTokenError::UnknownKey`], [`IdTokenError::Signature`].
    pub(super) fn verify(&self, keys: &[PublicKey]) -> Result<&[u8], IdTokenError> {
        let mut candidates = keys.iter().filter(|key| self.may_be_signed_by(key)).peekable();
        if candidates.peek().is_none() {
            return Err(IdTokenError::UnknownKey { key_id: self.key_id.as_deref().map(shortened) });
        }
        let verified = candidates.any(|key| key.verifies(self.message.as_bytes(), &self.signature));
        if verified { Ok(&self.payload) } else { Err(IdTokenError::Signature) }
    }
}

/// A text of a stranger, fit for a message.
pub(super) fn shortened(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const RSA_N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";

    /// RFC 7515, appendices A.2 and A.3; RFC 8037, appendix A.4: key and token.
    fn vectors() -> [(Value, &'static str); 3] {
        [
            (
                json!({ "kty": "RSA", "n": RSA_N, "e": "AQAB" }),
                "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
            ),
            (
                json!({
                    "kty": "EC", "crv": "P-256",
                    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
                }),
                "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            ),
            (
                json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }),
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            ),
        ]
    }

    #[test]
    fn the_rfcs_signatures_verify_under_their_own_key_alone() {
        let keys = vectors().map(|(jwk, _)| PublicKey::read(jwk).unwrap());
        for (index, (_, token)) in vectors().iter().enumerate() {
            let read = SignedToken::read(token).unwrap();
            assert!(read.verify(&keys[index..=index]).is_ok(), "{token}");
            assert!(read.verify(&keys).is_ok(), "the key is found among others");
            let other = &keys[(index + 1) % 3];
            let others = std::slice::from_ref(other);
            assert!(matches!(read.verify(others), Err(IdTokenError::UnknownKey { .. })), "a key of another kind");
            // Any change of a signed part breaks it.
            for place in [token.find('.').unwrap() + 2, token.rfind('.').unwrap() + 2] {
                let changed = if token.as_bytes()[place] == b'A' { "B" } else { "A" };
                let mut forged = (*token).to_owned();
                forged.replace_range(place..=place, changed);
                let read = SignedToken::read(&forged).unwrap();
                assert_eq!(read.verify(&keys), Err(IdTokenError::Signature), "{forged}");
            }
        }
    }

    fn header(header: &Value) -> String {
        format!("{}.e30.AAAA", Base64UrlUnpadded::encode_string(header.to_string().as_bytes()))
    }

    #[test]
    fn tokens_without_an_accepted_signature_are_refused() {
        for algorithm in ["none", "None", "HS256", "RS384", "PS256", "ES384", "rs256", ""] {
            let error = SignedToken::read(&header(&json!({ "alg": algorithm }))).unwrap_err();
            assert_eq!(error, IdTokenError::Algorithm { algorithm: algorithm.to_owned() });
        }
        let critical = header(&json!({ "alg": "RS256", "crit": ["b64"], "b64": false }));
        assert_eq!(SignedToken::read(&critical).unwrap_err(), IdTokenError::Critical);
        for token in
            ["", "a", "a.b", "a.b.c.d", "!.e30.AAAA", "e30.e30.AAAA", "W10.e30.AAAA", "eyJhbGciOiJSUzI1NiJ9.e30.A=="]
        {
            let error = SignedToken::read(token).unwrap_err();
            assert!(matches!(error, IdTokenError::Format { .. }), "{token}: {error}");
        }
        assert!(SignedToken::read(&"a".repeat(TOKEN_LEN_MAX + 1)).unwrap_err().to_string().contains("at most"));
    }

    #[test]
    fn a_token_is_verified_by_the_key_that_it_names() {
        let [(jwk, token), ..] = vectors();
        let named = |id: &str| {
            let mut jwk = jwk.clone();
            jwk["kid"] = id.into();
            PublicKey::read(jwk).unwrap()
        };
        // The RFC's token names none: any key of the kind may be its own.
        assert!(SignedToken::read(token).unwrap().verify(&[named("a")]).is_ok());
        let naming = header(&json!({ "alg": "RS256", "kid": "b" }));
        let read = SignedToken::read(&naming).unwrap();
        assert_eq!(read.verify(&[named("a")]), Err(IdTokenError::UnknownKey { key_id: Some("b".to_owned()) }));
        assert_eq!(read.verify(&[named("a"), named("b")]), Err(IdTokenError::Signature));
    }

    #[test]
    fn keys_for_other_uses_are_left_out() {
        let [(rsa, _), (ec, _), (okp, _)] = vectors();
        let with = |jwk: &Value, name: &str, value: &str| {
            let mut jwk = jwk.clone();
            jwk[name] = value.into();
            jwk
        };
        for (name, jwk) in [
            ("encryption", with(&rsa, "use", "enc")),
            ("another algorithm", with(&rsa, "alg", "PS256")),
            ("another curve", with(&ec, "crv", "P-384")),
            ("X25519", with(&okp, "crv", "X25519")),
            ("symmetric", json!({ "kty": "oct", "k": "AAAA" })),
            ("without n", json!({ "kty": "RSA", "e": "AQAB" })),
            ("no base64url", with(&rsa, "n", "!")),
            ("no object", json!("key")),
        ] {
            assert_eq!(PublicKey::read(jwk), None, "{name}");
        }
        assert!(PublicKey::read(with(&with(&rsa, "use", "sig"), "alg", "RS256")).is_some());
    }

    /// Keys below 2048 bits are no keys (RFC 7518, 3.3).
    #[test]
    fn a_short_rsa_key_verifies_nothing() {
        let [(_, token), ..] = vectors();
        let short = PublicKey::read(json!({ "kty": "RSA", "n": &RSA_N[..168], "e": "AQAB" })).unwrap();
        assert_eq!(SignedToken::read(token).unwrap().verify(&[short]), Err(IdTokenError::Signature));
    }
}
