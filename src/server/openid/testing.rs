//! A provider for tests: documents that a test sets, and tokens that it signs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256},
};
use serde_json::{Value, json};

use super::{OnDemandProvider, OpenIdConfig, OpenIdError, OpenIdProvider};
use crate::{
    node::ManualClock,
    primitives::Timestamp,
    server::outbound::testing::{TestReply, TestRequest, TestServer, loopback_client},
};

/// Time of the tests, in seconds since 1970.
pub(in crate::server) const NOW: u64 = 1_700_000_000;

/// Key of a provider.
pub(in crate::server) struct SigningKey {
    id: Option<&'static str>,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// The private key of RFC 7515, appendix A.2: `ring` makes no RSA keys.
const RSA: [&str; 7] = [
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
    "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
    "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
    "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc",
    "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0",
    "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU",
    "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U",
];

impl SigningKey {
    pub(in crate::server) fn rsa(id: Option<&'static str>) -> Self {
        let [n, d, p, q, dp, dq, qi] = RSA.map(|text| Base64UrlUnpadded::decode_vec(text).unwrap());
        let public_key = PublicKeyComponents { n, e: vec![1, 0, 1] };
        let components = KeyPairComponents { public_key, d, p, q, dP: dp, dQ: dq, qInv: qi };
        Self { id, pair: Pair::Rsa(RsaKeyPair::from_components(&components).unwrap()) }
    }

    pub(in crate::server) fn p256(id: Option<&'static str>) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Self { id, pair: Pair::P256(pair) }
    }

    pub(in crate::server) fn ed25519(id: Option<&'static str>) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { id, pair: Pair::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()) }
    }

    /// The key as it is published.
    pub(in crate::server) fn published(&self) -> Value {
        let text = |bytes: &[u8]| Base64UrlUnpadded::encode_string(bytes);
        let mut jwk = match &self.pair {
            Pair::Rsa(_) => json!({ "kty": "RSA", "n": RSA[0], "e": "AQAB" }),
            Pair::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..]) })
            }
            Pair::Ed25519(pair) => json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref()) }),
        };
        if let Some(id) = self.id {
            jwk["kid"] = id.into();
        }
        jwk
    }

    /// Signs claims.
    pub(in crate::server) fn token(&self, claims: &Value) -> String {
        let algorithm = match &self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::P256(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
        };
        let mut header = json!({ "alg": algorithm, "typ": "JWT" });
        if let Some(id) = self.id {
            header["kid"] = id.into();
        }
        let message = format!(
            "{}.{}",
            Base64UrlUnpadded::encode_string(header.to_string().as_bytes()),
            Base64UrlUnpadded::encode_string(claims.to_string().as_bytes())
        );
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Pair::P256(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", Base64UrlUnpadded::encode_string(signature.as_ref()))
    }
}

/// What a provider answers by path, and what it was asked.
#[derive(Debug, Default)]
struct State {
    replies: BTreeMap<&'static str, TestReply>,
    requests: Vec<TestRequest>,
}

/// A provider on this machine.
pub(in crate::server) struct FakeProvider {
    server: TestServer,
    state: Arc<Mutex<State>>,
    pub(in crate::server) clock: Arc<ManualClock>,
}

pub(in crate::server) const DISCOVERY: &str = "/.well-known/openid-configuration";
pub(in crate::server) const TOKEN: &str = "/token";
pub(in crate::server) const KEYS: &str = "/keys";
pub(in crate::server) const USER_INFO: &str = "/me";

impl FakeProvider {
    pub(in crate::server) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let asked = Arc::clone(&state);
        let server = TestServer::http(None, move |request| {
            let mut state = asked.lock().unwrap();
            let reply = state.replies.get(request.path.as_str()).cloned();
            state.requests.push(request);
            reply.unwrap_or_else(|| TestReply::new(404, "no such page"))
        })
        .await;
        let provider = Self { server, state, clock: Arc::new(ManualClock::new(Timestamp::from_secs(NOW))) };
        provider.answer(DISCOVERY, 200, &provider.description());
        provider
    }

    pub(in crate::server) fn issuer(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub(in crate::server) fn description(&self) -> Value {
        let issuer = self.issuer();
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/auth?tenant=1"),
            "token_endpoint": format!("{issuer}{TOKEN}"),
            "jwks_uri": format!("{issuer}{KEYS}"),
            "userinfo_endpoint": format!("{issuer}{USER_INFO}"),
            "response_types_supported": ["code", "id_token"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA", "HS256"],
            "code_challenge_methods_supported": ["plain", "S256"],
        })
    }

    pub(in crate::server) fn answer(&self, path: &'static str, status: u16, body: &Value) {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        let reply = TestReply { headers, ..TestReply::new(status, body.to_string()) };
        self.state.lock().unwrap().replies.insert(path, reply);
    }

    pub(in crate::server) fn publish(&self, keys: &[&SigningKey]) {
        let keys: Vec<_> = keys.iter().map(|key| key.published()).collect();
        self.answer(KEYS, 200, &json!({ "keys": keys }));
    }

    pub(in crate::server) fn requests(&self, path: &str) -> Vec<TestRequest> {
        let state = self.state.lock().unwrap();
        state.requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    pub(in crate::server) fn config(&self) -> OpenIdConfig {
        OpenIdConfig::new(self.issuer(), "chainbox", "https://chainbox.test/callback")
    }

    pub(in crate::server) fn on_demand(&self, config: OpenIdConfig) -> Result<OnDemandProvider, OpenIdError> {
        OnDemandProvider::new(config, loopback_client(), self.clock.clone())
    }

    pub(in crate::server) async fn discover(&self, config: OpenIdConfig) -> Result<OpenIdProvider, OpenIdError> {
        OpenIdProvider::discover(config, loopback_client(), self.clock.clone()).await
    }
}
