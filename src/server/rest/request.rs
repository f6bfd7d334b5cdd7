//! What handlers get of a request: its id, its principal, the variables of its path, its query.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::http::{HeaderMap, request::Parts};

use super::parameter::Parameter;
use crate::{
    platform::{Platform, Principal},
    server::{api_error::ApiError, clock},
};

/// Header that repeats `meta.requestId`.
pub(in crate::server) const REQUEST_ID: &str = "x-request-id";
/// Characters of a request id that the client sent.
const REQUEST_ID_LEN_MAX: usize = 128;
/// Query parameter that asks for a simulation.
const SIMULATE: &str = "simulate";

/// Id of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) struct RequestId(pub(in crate::server) String);

/// Name of the route that answers a request, once it is known: a path as the document has it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(in crate::server) struct RouteName(Arc<OnceLock<&'static str>>);

impl RouteName {
    /// Names the route. The first name stays.
    pub(in crate::server) fn set(&self, name: &'static str) {
        let _ = self.0.set(name);
    }

    /// Returns the name; one for all requests that no route answers.
    pub(in crate::server) fn get(&self) -> &'static str {
        self.0.get().copied().unwrap_or("none")
    }
}

/// Source of request ids: `req_`, the start of the process in milliseconds as hex digits, a counter.
#[derive(Clone, Debug)]
pub(in crate::server) struct RequestIds {
    started_ms: u64,
    count: Arc<AtomicU64>,
}

impl Default for RequestIds {
    fn default() -> Self {
        Self { started_ms: clock::now_ms(), count: Arc::default() }
    }
}

impl RequestIds {
    /// Returns the client's `X-Request-Id` when it is printable ASCII of at most 128 characters, else a new id.
    pub(in crate::server) fn of(&self, headers: &HeaderMap) -> RequestId {
        let own = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        let is_fine =
            |id: &&str| (1..=REQUEST_ID_LEN_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
        RequestId(match own.filter(is_fine) {
            Some(id) => id.to_owned(),
            None => format!("req_{:x}{:06x}", self.started_ms, self.count.fetch_add(1, Ordering::Relaxed)),
        })
    }
}

/// A request that is let in.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) principal: Option<Principal>,
    pub(super) path: BTreeMap<String, String>,
    pub(super) query: BTreeMap<String, String>,
    /// Seed of new ids of a request that runs to its end even when it is run again; without one they are random.
    pub(super) id_seed: Option<String>,
}

impl Request {
    /// The principal; an endpoint for everybody has none.
    pub(super) fn principal(&self) -> Result<&Principal, ApiError> {
        self.principal.as_ref().ok_or_else(|| ApiError::internal(&"this endpoint has no principal"))
    }

    /// A variable of the path; empty where the path has none of this name.
    pub(super) fn path(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// A query parameter.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// Refuses unknown query parameters by name, and values that a parameter may not have.
    pub(super) fn check_query(&self, parameters: &[Parameter]) -> Result<(), ApiError> {
        for (name, value) in &self.query {
            match parameters.iter().find(|parameter| parameter.name == name) {
                Some(parameter) => parameter.check(value)?,
                None => return Err(unknown(name, parameters)),
            }
        }
        parameters.iter().try_for_each(|parameter| parameter.check_presence(self.query.contains_key(parameter.name)))
    }

    /// Returns the id of what the request creates. A request that is run again after a crash creates the same.
    pub(super) fn new_id(&self, platform: &Platform, prefix: &str) -> Result<String, ApiError> {
        match &self.id_seed {
            Some(seed) => Ok(format!("{prefix}_{}", seed.get(..16).unwrap_or(seed))),
            None => Ok(platform.new_id(prefix)?),
        }
    }

    /// A request with nothing but a query.
    #[cfg(test)]
    pub(super) fn of_query(query: &[(&str, &str)]) -> Self {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let id = RequestId("req_test".to_owned());
        Self { id, principal: None, path: BTreeMap::new(), query, id_seed: None }
    }
}

/// Refuses any query parameter: of a request to an endpoint that takes none.
pub(super) fn refuse_query(parts: &Parts) -> Result<(), ApiError> {
    match parse_query(parts.uri.query().unwrap_or_default()).first_key_value() {
        Some((name, _)) => Err(unknown(name, &[])),
        None => Ok(()),
    }
}

/// Splits a query into its parameters; of one that is repeated the last counts.
pub(super) fn parse_query(query: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn unknown(name: &str, parameters: &[Parameter]) -> ApiError {
    if name == SIMULATE {
        return ApiError::bad_request("simulate: this operation can't be simulated; nothing was done");
    }
    if parameters.is_empty() {
        return ApiError::bad_request(format!("unknown query parameter {name:?}: this route takes none"));
    }
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
    ApiError::bad_request(format!("unknown query parameter {name:?}, expected one of {}", names.join(", ")))
}
