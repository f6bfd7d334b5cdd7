//! What handlers get of a request: its id, its principal, the variables of its path, its query.

use std::{
    collections::{BTreeMap, BTreeSet},
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

    /// Refuses unknown query parameters by name, values that a parameter may not have, and a simulation by an endpoint that does not simulate.
    pub(super) fn check_query(&self, parameters: &[Parameter], simulates: bool) -> Result<(), ApiError> {
        for (name, value) in &self.query {
            match parameters.iter().find(|parameter| parameter.name == name) {
                Some(parameter) => parameter.check(value)?,
                None if simulates && name == SIMULATE => simulate().check(value)?,
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

/// The parameter by which an endpoint that simulates is asked to.
pub(super) fn simulate() -> Parameter {
    let choices = ["true", "false"].map(str::to_owned);
    Parameter::one_of(SIMULATE, "With true nothing is done: the answer tells what would be.", choices, Some("false"))
}

/// Splits a query into its parameters; of one that is repeated, which [`refuse_repeated`] finds, the last counts.
pub(super) fn parse_query(query: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Refuses a query with a parameter that is there more than once: no parameter takes several values, and which of them is meant nobody knows.
pub(super) fn refuse_repeated(query: &str) -> Result<(), ApiError> {
    let mut names = BTreeSet::new();
    let mut parameters = url::form_urlencoded::parse(query.as_bytes());
    let repeated = parameters.find_map(|(name, _)| (!names.insert(name.clone())).then_some(name));
    repeated.map_or(Ok(()), |name| {
        let message = format!("query parameter {name:?} is there more than once: give it one value");
        Err(ApiError::bad_request(message))
    })
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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use axum::{body::Bytes, http::Request as HttpRequest};
    use serde_json::Value;

    use super::SIMULATE;
    use crate::{
        platform::Platform,
        server::{
            chains::Chains,
            clock::WallClock,
            limits::ServerLimits,
            rest::{
                App, Outside,
                catalogue::Catalogue,
                endpoint::{Access, Endpoint, Tag},
                openapi, service,
            },
        },
    };

    fn endpoint(simulates: bool) -> Endpoint {
        let draft = Endpoint::get("/v1/one", "getOne", Tag::Service, Access::Public, "Returns one.");
        let draft = if simulates { draft.simulates() } else { draft };
        draft.reads(|_, request| Ok(request.query(SIMULATE).unwrap_or("for good").to_owned()))
    }

    #[tokio::test]
    async fn an_endpoint_is_asked_to_simulate_where_it_says_that_it_does() {
        let platform = Platform::builder(Arc::new(WallClock)).open(None).unwrap();
        let app = App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default());
        for (simulates, target, status, says) in [
            (false, "/v1/one", 200, "for good"),
            (false, "/v1/one?simulate=true", 400, "can't be simulated; nothing was done"),
            (false, "/v1/one?simulate=false", 400, "can't be simulated; nothing was done"),
            (true, "/v1/one", 200, "for good"),
            (true, "/v1/one?simulate=true", 200, "true"),
            (true, "/v1/one?simulate=yes", 400, "simulate must be one of true, false"),
            (true, "/v1/one?other=1", 400, "unknown query parameter"),
            (true, "/v1/one?simulate=true&simulate=true", 400, "\"simulate\" is there more than once"),
            (true, "/v1/one?simulate=true&simulat%65=false", 400, "\"simulate\" is there more than once"),
        ] {
            let (parts, ()) = HttpRequest::get(target).body(()).unwrap().into_parts();
            let endpoint = Arc::new(endpoint(simulates));
            let answer = service::serve(app.clone(), endpoint, BTreeMap::new(), parts, Bytes::new()).await;
            let answered = answer.status().as_u16();
            let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let told = body["data"].as_str().or_else(|| body["error"]["message"].as_str()).unwrap();
            assert_eq!(answered, status, "{target}: {told}");
            assert!(told.contains(says), "{target}: {told}");
        }
    }

    #[test]
    fn the_document_has_simulate_where_the_endpoint_simulates() {
        let (catalogue, mut components) = (Catalogue::new(100), BTreeMap::new());
        let mut is_told = |endpoint: &Endpoint| {
            let operation = openapi::operation(endpoint, &catalogue, &mut components);
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            parameters.iter().any(|one| one["name"] == SIMULATE && one["in"] == "query")
        };
        assert_eq!([true, false].map(|simulates| is_told(&endpoint(simulates))), [true, false]);
        for endpoint in catalogue.iter() {
            assert_eq!(is_told(endpoint), endpoint.about.simulates, "{}", endpoint.about.operation);
        }
    }
}
