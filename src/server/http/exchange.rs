//! What every request goes through, once: its id, the figures of HTTP, a span of tracing, the checks of host and origin, the deadline, the
//! answer to a panic, the rest of a body that nobody has read, and that no cache keeps the answer.
//!
//! A span has the request's id, method, route, status and time, and nothing that a client may hold secret: no credentials, body, path or
//! query. Ethereum JSON-RPC on `/` is counted and has neither id nor span, which would cost it more than the rest of its way.

use core::time::Duration;
use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};
use tracing::{Instrument as _, Span, field::Empty, info_span};

use super::{
    Body, cors, domains, guard, plain,
    refusal::Format,
    request_body::RequestBody,
    route::{self, ServerContext},
};
use crate::server::{
    clock::{MonotonicClock, Ticks as _},
    counters::panic_text,
    rest::{REQUEST_ID, RequestId, RouteName},
};

/// Users come by `https` alone for a year (RFC 6797), where the public URL is one.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// A request under way.
struct Exchange {
    format: Format,
    method: Method,
    id: RequestId,
    route: RouteName,
    span: Span,
    started: MonotonicClock,
}

/// Returns the response to one request.
pub(super) async fn respond(context: Arc<ServerContext>, mut request: Request<Incoming>) -> Response<Body> {
    let _in_flight = context.figures().begin();
    let exchange = Exchange::begin(&context, &mut request);
    let (request, unread) = RequestBody::watched(request);
    let answered = AssertUnwindSafe(checked(&context, &exchange, request)).catch_unwind();
    let answered = answered.instrument(exchange.span.clone()).await;
    let mut response = answered.unwrap_or_else(|payload| {
        context.count_panic();
        tracing::error!(parent: &exchange.span, "the handler panicked");
        let message = format!("internal error: the handler panicked: {}", panic_text(payload.as_ref()));
        exchange.refusal(&context, StatusCode::INTERNAL_SERVER_ERROR, message)
    });
    unread.read_or_close(&mut response).await;
    exchange.end(&context, response)
}

impl Exchange {
    fn begin(context: &ServerContext, request: &mut Request<Incoming>) -> Self {
        let started = MonotonicClock::default();
        let (method, path) = (request.method().clone(), request.uri().path());
        let (format, route) = (Format::of(path), RouteName::default());
        if path == "/" {
            route.set("/");
            let id = RequestId(String::new());
            return Self { format, method, id, route, span: Span::none(), started };
        }
        let id = context.request_id(request.headers());
        let span = info_span!("request", id = %id.0, %method, route = Empty, status = Empty, duration_ms = Empty);
        request.extensions_mut().insert(id.clone());
        request.extensions_mut().insert(route.clone());
        Self { format, method, id, route, span, started }
    }

    fn refusal(&self, context: &ServerContext, status: StatusCode, message: String) -> Response<Body> {
        self.format.refusal(status, message, &self.id, context.now_ms())
    }

    /// Counts and logs the response, and tells the client the request's id.
    fn end(self, context: &ServerContext, mut response: Response<Body>) -> Response<Body> {
        let (status, route, elapsed) = (response.status(), self.route.get(), self.started.elapsed());
        context.figures().end(&self.method, route, status, elapsed);
        if context.is_https() {
            response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
        }
        self.format.keep_out_of_caches(response.headers_mut());
        if self.id.0.is_empty() {
            return response;
        }
        self.span.record("route", route).record("status", status.as_u16());
        self.span.record("duration_ms", elapsed.as_secs_f64() * 1000.0);
        if status.is_server_error() {
            tracing::warn!(parent: &self.span, "failed");
        } else {
            tracing::info!(parent: &self.span, "answered");
        }
        if !response.headers().contains_key(REQUEST_ID)
            && let Ok(id) = HeaderValue::try_from(self.id.0)
        {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }
}

/// Checks host and origin, and answers within the deadline.
async fn checked(context: &Arc<ServerContext>, exchange: &Exchange, request: Request<RequestBody>) -> Response<Body> {
    let (version, headers) = (request.version(), request.headers());
    let checked = guard::check_count(version, headers)
        .and_then(|()| guard::check(headers, context.config(), context.is_on_loopback()));
    if let Err(refusal) = checked {
        if let guard::Refusal::Host(host) = &refusal
            && let Some(response) = domains::serve(context, host, request).await
        {
            exchange.route.set("/v1/dapps/{dappId}/site");
            return response;
        }
        let (status, message) = (refusal.status(), refusal.message());
        // A page of another site learns as little as it can.
        return if exchange.id.0.is_empty() {
            plain(status, message)
        } else {
            exchange.refusal(context, status, message)
        };
    }
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return dispatched(context, exchange, request).await;
    };
    let host = request.headers().get(header::HOST).cloned();
    let mut response = if request.method() == Method::OPTIONS {
        exchange.route.set("preflight");
        cors::preflight(request.headers())
    } else {
        dispatched(context, exchange, request).await
    };
    cors::allow(&origin, host.as_ref(), context.config(), context.is_on_loopback(), response.headers_mut());
    response
}

async fn dispatched(
    context: &Arc<ServerContext>,
    exchange: &Exchange,
    request: Request<RequestBody>,
) -> Response<Body> {
    let limit = context.limits().request_timeout;
    in_time(limit, route::dispatch(context, request))
        .await
        .unwrap_or_else(|message| exchange.refusal(context, StatusCode::SERVICE_UNAVAILABLE, message))
}

/// Returns what a handler answers; one that takes as long as `limit` is in time.
///
/// # Errors
/// What the client is told once the handler takes longer.
async fn in_time<T>(limit: Duration, handler: impl Future<Output = T>) -> Result<T, String> {
    let answered = tokio::time::timeout(limit, handler).await;
    answered.map_err(|_| format!("no response within {limit:?}: what has begun goes on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_takes_the_limit_answers_and_one_that_takes_a_millisecond_more_does_not() {
        let (limit, least) = (Duration::from_secs(600), Duration::from_millis(1));
        for (time, is_answered) in [(limit - least, true), (limit, true), (limit + least, false)] {
            let answered = in_time(limit, async {
                tokio::time::sleep(time).await;
                "done"
            });
            let want = if is_answered {
                Ok("done")
            } else {
                Err("no response within 600s: what has begun goes on".to_owned())
            };
            assert_eq!(answered.await, want, "{time:?}");
        }
    }
}
