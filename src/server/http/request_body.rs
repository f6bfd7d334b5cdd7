//! The body of a request on its way through the handlers: what they leave unread of it is not in the way of the connection's next request.
//!
//! A handler that refuses a request drops its body. hyper then closes the connection unless the rest has come already, and the client, which
//! may have sent its next request behind it, is not told. So the rest comes back when it is dropped: it is read where it is short and comes
//! at once, and otherwise the response says that the connection ends (RFC 9112, 9.6).

use core::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::BodyExt as _;
use hyper::{
    Request, Response, StatusCode,
    body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint},
    header::{self, HeaderValue},
};

use super::Body;

/// Bytes of an unread rest that are read, at most.
const REST_BYTES_MAX: u64 = 64 << 10;
/// Time for that.
const REST_TIME_MAX: Duration = Duration::from_secs(1);

/// The body of a request. Dropped before its end, it gives the rest to [`UnreadBody`].
#[derive(Debug)]
pub(super) struct RequestBody {
    /// `None` once it is at its end.
    incoming: Option<Incoming>,
    /// Whether the client waits for somebody to read before it sends it (RFC 9110, 10.1.1).
    is_held_back: bool,
    unread: UnreadBody,
}

/// What the handlers have left unread of a request's body.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreadBody(Arc<Mutex<Option<Rest>>>);

#[derive(Debug)]
struct Rest {
    incoming: Incoming,
    is_held_back: bool,
}

impl RequestBody {
    /// Returns a request whose body gives its unread rest to what is returned beside it.
    pub(super) fn watched(request: Request<Incoming>) -> (Request<Self>, UnreadBody) {
        let unread = UnreadBody::default();
        let is_held_back = request.headers().contains_key(header::EXPECT);
        let request = request.map(|incoming| Self {
            incoming: (!incoming.is_end_stream()).then_some(incoming),
            is_held_back,
            unread: unread.clone(),
        });
        (request, unread)
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.is_held_back = false;
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let polled = Pin::new(incoming).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.incoming = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take().filter(|incoming| !incoming.is_end_stream()) {
            let rest = Rest { incoming, is_held_back: self.is_held_back };
            *self.unread.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
        }
    }
}

impl UnreadBody {
    /// Reads what is left of the body before its response is sent; where it does not end soon, the response says that the connection does.
    pub(super) async fn read_or_close(&self, response: &mut Response<Body>) {
        let rest = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(rest) = rest else { return };
        // A client that was too slow already is not waited for again.
        let is_late = response.status() == StatusCode::REQUEST_TIMEOUT;
        let is_read = !is_late && tokio::time::timeout(REST_TIME_MAX, rest.read_to_end()).await == Ok(true);
        if !is_read {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

impl Rest {
    /// Reads the rest; returns `false` where it is longer than what is read, breaks off, or is not sent unless it is asked for.
    async fn read_to_end(mut self) -> bool {
        if self.is_held_back || self.incoming.size_hint().lower() > REST_BYTES_MAX {
            return false;
        }
        let mut left = REST_BYTES_MAX;
        while let Some(frame) = self.incoming.frame().await {
            let Ok(frame) = frame else { return false };
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX)) else { return false };
            left = rest;
        }
        true
    }
}
