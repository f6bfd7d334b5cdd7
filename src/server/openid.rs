//! Relying party of an outside OpenID provider: OpenID Connect Core 1.0's code flow with PKCE (RFC 7636), `state`, `nonce` and `iss`
//! (RFC 9207).
//!
//! ```text
//! OpenIdProvider::discover(config)          once: the provider's endpoints and algorithms (OpenID Connect Discovery 1.0);
//!                                           OnDemandProvider does it when a login needs it, and again after a failure
//! OpenIdLogin::draw(entropy)                a login: state, nonce and verifier, which the caller keeps with the browser's session
//! provider.authorization_url(&login)        where the browser is sent
//! provider.exchange(&login, &callback)      who has come back: an Identity
//! ```
//!
//! The ID token is checked by Core, 3.1.3.7: signature (RS256, ES256 or EdDSA, of a key that the provider publishes), `iss`, `aud`, `azp`,
//! `exp`, `iat`, `nbf`, `nonce`, and `at_hash` where there is one. Each has an error of its own. `none` and algorithms with a shared key are
//! never accepted.
//!
//! Tokens are checked with `ring`, which TLS brings along. The libraries for it were weighed: `jsonwebtoken` without its own cryptography
//! wants a provider for the whole process and reads the machine's clock, and `openidconnect` brings a second implementation of RSA and
//! elliptic curves; what remains of JOSE for a relying party is three parts in base64url.
//!
//! | bound | value |
//! |---|---|
//! | bytes of a document of the provider | [`DOCUMENT_BYTES_MAX`] |
//! | keys of the provider that are kept | [`KEYS_MAX`] |
//! | time for which keys are kept | [`KEYS_AGE_MAX`] |
//! | time between two discoveries, when one has failed | [`DISCOVERY_AGE_MIN`] |
//! | time between two requests for keys, when a token names an unknown one | [`KEYS_AGE_MIN`] |
//! | bytes of an ID token | [`TOKEN_LEN_MAX`] |
//! | age of an ID token | [`ID_TOKEN_AGE_MAX`] |

mod config;
mod discovery;
mod error;
mod id_token;
mod identity;
mod jws;
mod key_set;
mod login;
mod on_demand;
mod provider;
#[cfg(test)]
pub(in crate::server) mod testing;
#[cfg(test)]
mod tests;

pub use config::OpenIdConfig;
pub use discovery::DOCUMENT_BYTES_MAX;
pub use error::{IdTokenError, OpenIdError};
pub use id_token::ID_TOKEN_AGE_MAX;
pub use identity::Identity;
pub use jws::TOKEN_LEN_MAX;
pub use key_set::{KEYS_AGE_MAX, KEYS_AGE_MIN, KEYS_MAX};
pub use login::{Callback, OpenIdLogin};
pub use on_demand::{DISCOVERY_AGE_MIN, OnDemandProvider};
pub use provider::OpenIdProvider;
