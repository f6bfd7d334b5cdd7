//! The figures of HTTP, for `/metrics`: requests by route and status, their durations, those in flight, and those past a quota.

use core::time::Duration;

use hyper::{Method, StatusCode};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

/// Upper bounds of the histogram of durations, in seconds.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Labels of a counted response: no client chooses any of them, so that there are only so many.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: &'static str,
    status: u16,
}

/// Label of a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Routed {
    route: &'static str,
}

/// The figures of HTTP. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct HttpFigures {
    answered: Family<Answered, Counter>,
    durations: Family<Routed, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    rate_limited: Counter,
}

impl Default for HttpFigures {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        Self {
            answered: Family::default(),
            durations: Family::new_with_constructor(histogram),
            in_flight: Gauge::default(),
            rate_limited: Counter::default(),
        }
    }
}

/// A request in flight, until it is dropped.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl HttpFigures {
    /// Counts a request as in flight.
    pub(super) fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Counts a response.
    pub(super) fn end(&self, method: &Method, route: &'static str, status: StatusCode, elapsed: Duration) {
        let labels = Answered { method: known(method), route, status: status.as_u16() };
        self.answered.get_or_create(&labels).inc();
        self.durations.get_or_create(&Routed { route }).observe(elapsed.as_secs_f64());
        if status == StatusCode::TOO_MANY_REQUESTS {
            self.rate_limited.inc();
        }
    }

    /// Adds the figures to a registry.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("http_requests", "Requests that were answered", self.answered.clone());
        let help = "Time from a request's head to its response";
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, self.durations.clone());
        registry.register("http_requests_in_flight", "Requests that are being answered", self.in_flight.clone());
        registry.register(
            "http_rate_limited",
            "Requests that were past their caller's quota",
            self.rate_limited.clone(),
        );
    }
}

/// Returns the name of a method; one for all that no route has.
fn known(method: &Method) -> &'static str {
    let all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    all.into_iter().find(|name| method.as_str() == *name).unwrap_or("OTHER")
}
