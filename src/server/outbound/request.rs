//! Requests to the outside, and what is answered.

use core::{fmt, time::Duration};

use hyper::{
    HeaderMap, Method, StatusCode,
    body::Bytes,
    header::{HeaderName, HeaderValue},
};

use super::{OutboundError, OutboundUrl};

/// Time of a whole request, by default.
pub const TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of a response's body, by default.
pub const RESPONSE_BYTES_MAX: usize = 256 << 10;
/// Characters of a response's body in an error.
const EXCERPT_LEN_MAX: usize = 200;

/// A request to the outside.
#[derive(Clone)]
pub struct OutboundRequest {
    pub(super) method: Method,
    pub(super) url: OutboundUrl,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) timeout: Duration,
    pub(super) response_bytes_max: usize,
}

impl OutboundRequest {
    /// Asks for a resource.
    pub fn get(url: OutboundUrl) -> Self {
        Self::of(Method::GET, url)
    }

    /// A request of any method, without a body.
    pub fn of(method: Method, url: OutboundUrl) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: TIMEOUT,
            response_bytes_max: RESPONSE_BYTES_MAX,
        }
    }

    /// Sends a body.
    pub fn post(url: OutboundUrl, body: impl Into<Bytes>) -> Self {
        Self::of(Method::POST, url).with_body(body)
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Adds a header field in place of others of its name.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets the time of the whole request.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the bound of the response's body, in bytes.
    #[must_use]
    pub fn with_response_bytes_max(self, response_bytes_max: usize) -> Self {
        Self { response_bytes_max, ..self }
    }
}

/// Leaves header fields and body out, which may hold secrets.
impl fmt::Debug for OutboundRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, url, timeout, .. } = self;
        f.debug_struct("OutboundRequest")
            .field("method", method)
            .field("url", url)
            .field("timeout", timeout)
            .finish_non_exhaustive()
    }
}

/// What was answered.
#[derive(Clone)]
pub struct OutboundResponse {
    pub(super) place: String,
    /// Status.
    pub status: StatusCode,
    /// Header fields.
    pub headers: HeaderMap,
    /// Body, whole.
    pub body: Bytes,
}

impl OutboundResponse {
    /// Returns the response when its status is 2xx.
    ///
    /// # Errors
    /// [`OutboundError::Redirect`], [`OutboundError::Status`].
    pub fn success(self) -> Result<Self, OutboundError> {
        let Self { status, .. } = self;
        if status.is_success() {
            return Ok(self);
        }
        let place = self.place.clone();
        if status.is_redirection() {
            return Err(OutboundError::Redirect { place, status });
        }
        Err(OutboundError::Status { place, status, excerpt: self.excerpt() })
    }

    /// Beginning of the body, without control characters.
    pub fn excerpt(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        text.chars().filter(|character| !character.is_control()).take(EXCERPT_LEN_MAX).collect()
    }
}

/// Leaves header fields and body out, which may hold secrets.
impl fmt::Debug for OutboundResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, status, body, .. } = self;
        f.debug_struct("OutboundResponse")
            .field("place", place)
            .field("status", status)
            .field("bytes", &body.len())
            .finish_non_exhaustive()
    }
}
