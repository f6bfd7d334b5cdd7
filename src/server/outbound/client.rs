//! The client.

use core::{fmt, time::Duration};
use std::{error::Error, sync::Arc};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Request,
    body::{Body, Bytes, Incoming},
    header::{self, HeaderValue},
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, crypto::ring};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    OutboundError, OutboundPolicy, OutboundRequest, OutboundResponse, OutboundUrl, Resolve, TlsRoots,
    connector::{CheckedConnector, MadeAt, OutboundConnector},
};

/// Requests of a client at one time; a further one waits, within its time.
pub const REQUESTS_MAX: usize = 64;
/// Bytes of the header fields of a response. They are counted after each read, which may bring as many again.
pub const HEADER_BYTES_MAX: usize = 64 << 10;
/// Header fields of a response.
pub const HEADERS_MAX: usize = 100;
/// Connections to one origin that are kept while they are idle.
pub const IDLE_CONNECTIONS_MAX: usize = 2;
/// Time for which an idle connection is kept.
pub const IDLE_MAX: Duration = Duration::from_secs(30);
/// Age at which a connection is not used again, so that a name's new address is found.
pub const CONNECTION_AGE_MAX: Duration = Duration::from_secs(300);

/// Name and version of the sender.
const USER_AGENT: &str = concat!("chainbox/", env!("CARGO_PKG_VERSION"));

/// An HTTP client that connects to permitted addresses alone. Cloning it shares its connections and bounds.
#[derive(Clone)]
pub struct OutboundClient {
    policy: Arc<OutboundPolicy>,
    client: Client<OutboundConnector, Full<Bytes>>,
    places: Arc<Semaphore>,
}

impl OutboundClient {
    /// Creates a client. It connects to nothing before its first request; reading the machine's roots takes some milliseconds.
    ///
    /// # Errors
    /// [`OutboundError::Tls`] when no TLS can be spoken, which would be a fault of this build.
    pub fn new(policy: OutboundPolicy, resolver: Arc<dyn Resolve>, roots: &TlsRoots) -> Result<Self, OutboundError> {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions();
        let tls =
            tls.map_err(|cause| OutboundError::Tls { place: "this machine".to_owned(), reason: cause.to_string() })?;
        let tls = tls.with_root_certificates(roots.store()).with_no_client_auth();
        let policy = Arc::new(policy);
        let checked = CheckedConnector { policy: Arc::clone(&policy), resolver };
        let connector = OutboundConnector(HttpsConnector::from((checked, tls)));
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .http1_max_buf_size(HEADER_BYTES_MAX)
            .http1_max_headers(HEADERS_MAX)
            .build(connector);
        Ok(Self { policy, client, places: Arc::new(Semaphore::new(REQUESTS_MAX)) })
    }

    /// Checks what can be said of a URL before its name is resolved; for URLs that are kept until they are used.
    ///
    /// # Errors
    /// [`OutboundError::Url`], [`OutboundError::Refused`].
    pub fn check(&self, url: &OutboundUrl) -> Result<(), OutboundError> {
        self.policy.check(url)
    }

    /// Sends a request and returns what is answered, whatever its status: [`OutboundResponse::success`] tells 2xx from others.
    ///
    /// A request that was never written, because a kept connection had been closed, is sent on another one. Dropping the future gives the
    /// request up; whether the server has seen it is then unknown.
    ///
    /// # Errors
    /// [`OutboundError`], but [`OutboundError::Redirect`] and [`OutboundError::Status`].
    pub async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        self.check(&request.url)?;
        let (place, limit) = (request.url.place(), request.timeout);
        let exchange = async {
            let _place = self.places.acquire().await;
            self.exchange(request).await
        };
        timeout(limit, exchange).await.unwrap_or(Err(OutboundError::Timeout { place, limit }))
    }

    async fn exchange(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let OutboundRequest { method, url, headers, body, response_bytes_max, .. } = request;
        let place = url.place();
        let failed =
            |cause: &dyn fmt::Display| OutboundError::Exchange { place: place.clone(), reason: cause.to_string() };
        let mut request = Request::builder().method(method).uri(url.as_str());
        if let Some(fields) = request.headers_mut() {
            *fields = headers;
            fields.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
        }
        let mut request = request.body(Full::new(body)).map_err(|cause| failed(&cause))?;
        let connection = capture_connection(&mut request);
        let response = self.client.request(request).await.map_err(|cause| typed(&place, &cause))?;
        if let Some(connected) = &*connection.connection_metadata() {
            let mut extras = hyper::http::Extensions::new();
            connected.get_extras(&mut extras);
            // The connection ends with this response when it is old.
            if extras.get::<MadeAt>().is_none_or(|made| made.0.elapsed() > CONNECTION_AGE_MAX) {
                connected.poison();
            }
        }
        let (head, body) = response.into_parts();
        let body = read(&place, body, response_bytes_max).await?;
        Ok(OutboundResponse { place: place.clone(), status: head.status, headers: head.headers, body })
    }
}

impl fmt::Debug for OutboundClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboundClient").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Reads a body to its end, or to its bound.
async fn read(place: &str, body: Incoming, bytes_max: usize) -> Result<Bytes, OutboundError> {
    let too_large = || OutboundError::TooLarge { place: place.to_owned(), bytes_max };
    // Its announced length is enough to refuse it; what comes is counted whatever was announced.
    if body.size_hint().lower() > u64::try_from(bytes_max).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    match Limited::new(body, bytes_max).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => Err(too_large()),
        Err(cause) => Err(OutboundError::Exchange { place: place.to_owned(), reason: chain(&*cause) }),
    }
}

/// Returns the connector's error, where it is the cause.
fn typed(place: &str, cause: &(dyn Error + 'static)) -> OutboundError {
    let mut next = Some(cause);
    while let Some(error) = next {
        if let Some(own) = error.downcast_ref::<OutboundError>() {
            return own.clone();
        }
        next = error.source();
    }
    OutboundError::Exchange { place: place.to_owned(), reason: chain(cause) }
}

/// An error and what caused it, in one line.
fn chain(cause: &(dyn Error + 'static)) -> String {
    let mut text = cause.to_string();
    let mut next = cause.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}
