//! The one HTTP client of the service: for an outside OpenID provider, webhooks, and chains that are forked.
//!
//! Who names the address of a request may be a stranger, so the client keeps them from what only this machine can reach (server-side
//! request forgery): a URL is `https`, its name is resolved once, every address that it has is checked against the special-purpose ranges
//! ([`address::refusal`]), and the connection goes to a checked address, under the name for TLS and `Host`. A name that answers
//! differently the next time changes nothing: nobody asks twice. [`OutboundPolicy`] lists the exceptions.
//!
//! | bound | value |
//! |---|---|
//! | whole request, look-up and body included | [`OutboundRequest::with_timeout`], by default [`TIMEOUT`] |
//! | connecting, TLS included | [`CONNECT_TIMEOUT`] |
//! | bytes of a response's body, counted as they are read | [`OutboundRequest::with_response_bytes_max`], by default [`RESPONSE_BYTES_MAX`] |
//! | bytes and number of a response's header fields | [`HEADER_BYTES_MAX`], [`HEADERS_MAX`] |
//! | requests at one time; further ones wait within their time | [`REQUESTS_MAX`] |
//! | idle connections of one origin; time for which one is kept idle; its age | [`IDLE_CONNECTIONS_MAX`], [`IDLE_MAX`], [`CONNECTION_AGE_MAX`] |
//!
//! Redirects are never followed, proxies of the environment are not asked, and compressed responses are not asked for, so that the bound
//! of a body is that of what is read. A connection that is used again was made by the same client, so its address was checked by the same
//! policy.
//!
//! Certificates are checked against the machine's own roots ([`TlsRoots`]), not against a list in the binary: what an
//! organisation runs for itself, its OpenID provider and mail relay, has certificates of its own authority, which its machines know; and a
//! root that is withdrawn goes with the system's updates.

pub mod address;
mod client;
mod connector;
mod error;
mod policy;
mod request;
mod resolve;
mod roots;
mod target;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use client::{
    CONNECTION_AGE_MAX, HEADER_BYTES_MAX, HEADERS_MAX, IDLE_CONNECTIONS_MAX, IDLE_MAX, OutboundClient, REQUESTS_MAX,
};
pub use connector::CONNECT_TIMEOUT;
pub use error::{OutboundError, RetryClass};
pub use policy::{Allowed, InvalidAllowed, OutboundPolicy};
pub use request::{OutboundRequest, OutboundResponse, RESPONSE_BYTES_MAX, TIMEOUT};
pub use resolve::{LOOKUPS_MAX, Resolve, Resolving, SystemResolver};
pub use roots::{RootsError, TlsRoots};
pub use target::{OutboundUrl, URL_LEN_MAX};
