//! Signatures of deliveries.
//!
//! | header | value |
//! |---|---|
//! | `Service-Signature` | `t=<seconds>,v1=<HMAC-SHA256 of the body, in lower-case hex>`, under the secret's UTF-8 bytes |
//! | `webhook-id`, `webhook-timestamp`, `webhook-signature` | those of [Standard Webhooks](https://www.standardwebhooks.com): `v1,` and the HMAC-SHA256 of `<id>.<seconds>.<body>` in base64, under the decoded part of a `whsec_` secret, else the secret's bytes |

use alloy_primitives::hex;
use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Before the base64 of a secret.
const SECRET_PREFIX: &str = "whsec_";

/// A body with the headers that sign it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedDelivery {
    /// Id of the event, the same over all attempts and in the body.
    pub id: String,
    /// The exact bytes to send.
    pub body: Vec<u8>,
    /// Names and values of the headers.
    pub headers: Vec<(&'static str, String)>,
}

impl SignedDelivery {
    /// Signs a body.
    pub(super) fn new(id: String, now_secs: u64, secret: &[u8], body: Vec<u8>) -> Self {
        let own = hex::encode(hmac(secret, &[&body]));
        let head = format!("{id}.{now_secs}.");
        let standard = Base64::encode_string(&hmac(&standard_key(secret), &[head.as_bytes(), &body]));
        let headers = vec![
            ("service-signature", format!("t={now_secs},v1={own}")),
            ("webhook-id", id.clone()),
            ("webhook-timestamp", now_secs.to_string()),
            ("webhook-signature", format!("v1,{standard}")),
        ];
        Self { id, body, headers }
    }
}

/// Writes a drawn secret.
pub(super) fn secret_text(bytes: &[u8]) -> String {
    format!("{SECRET_PREFIX}{}", Base64::encode_string(bytes))
}

/// The key of Standard Webhooks.
fn standard_key(secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let encoded = secret.strip_prefix(SECRET_PREFIX.as_bytes()).and_then(|text| core::str::from_utf8(text).ok());
    Zeroizing::new(encoded.and_then(|text| Base64::decode_vec(text).ok()).unwrap_or_else(|| secret.to_vec()))
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length (RFC 2104, 2).
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Standard Webhooks' specification and of its published verifiers.
    #[test]
    fn the_standards_example_is_signed_as_published() {
        let secret = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#.to_vec();
        let signed = SignedDelivery::new("msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(), 1_614_265_330, secret, body);
        let value = |name| signed.headers.iter().find(|(header, _)| *header == name).map(|(_, value)| value.as_str());
        assert_eq!(value("webhook-signature"), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(value("webhook-timestamp"), Some("1614265330"));
    }

    /// RFC 4231, test case 2, as the body of a delivery.
    #[test]
    fn the_services_own_signature_is_hmac_sha256_of_the_body_in_hex() {
        let signed = SignedDelivery::new("msg_1".to_owned(), 7, b"Jefe", b"what do ya want for nothing?".to_vec());
        let want = "t=7,v1=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signed.headers[0], ("service-signature", want.to_owned()));
    }
}
