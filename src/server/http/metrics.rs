//! `GET /metrics`: the figures of the process and of the chains that the caller may read, for Prometheus.
//!
//! A development service shows them to everybody who reaches it; otherwise they need the scope `admin`. The figures of HTTP are the
//! operator's: they are shown to the admins of the default workspace. A chain is named to those who may read it, and to nobody else.

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    header::{self, HeaderValue},
};
use prometheus_client::{
    encoding::{
        EncodeLabelSet,
        text::{encode_eof, encode_registry},
    },
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{Body, figures::HttpFigures, plain};
use crate::{
    platform::{Blockchains, Feature, PlatformError, Principal},
    server::{
        chains::Chains,
        commands::Length,
        rest::{self, RouteName},
    },
};

/// Path of the figures.
pub(super) const PATH: &str = "/metrics";
/// Content type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Content type of Prometheus' text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Before the name of every figure.
const PREFIX: &str = "chainbox";

/// What the figures are collected from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) app: &'a rest::App,
    pub(super) chains: &'a Chains,
    pub(super) figures: &'a HttpFigures,
    /// Whether they need no credentials.
    pub(super) is_open: bool,
}

/// Answers a request for the figures.
pub(super) async fn serve<B>(source: &Source<'_>, request: Request<B>) -> Response<Body> {
    let (parts, _) = request.into_parts();
    if let Some(route) = parts.extensions.get::<RouteName>() {
        route.set(PATH);
    }
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "the figures are read by GET".to_owned());
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let principal = match admit(source, &parts) {
        Ok(principal) => principal,
        Err(refused) => return refused,
    };
    let Source { is_open, .. } = *source;
    let (chains, figures) = (source.chains.clone(), source.figures.clone());
    let collected = source.chains.workers().read(Length::Long, move |_| {
        let mut registry = Registry::with_prefix(PREFIX);
        if principal.owner() == chains.platform().service_principal().owner() {
            figures.register(&mut registry);
            register_process(&mut registry, &chains);
        }
        register_chains(&mut registry, &chains.platform().blockchains(), &principal, is_open)?;
        let mut text = String::new();
        let encoded = encode_registry(&mut text, &registry).and_then(|()| encode_eof(&mut text));
        encoded.map(|()| text).map_err(PlatformError::internal)
    });
    match collected.await {
        Ok(Ok(text)) => rendered(&parts.headers, text),
        Ok(Err(cause)) => plain(StatusCode::INTERNAL_SERVER_ERROR, cause.to_string()),
        Err(busy) => plain(StatusCode::SERVICE_UNAVAILABLE, busy.to_string()),
    }
}

/// Returns for whom the figures are collected.
fn admit(source: &Source<'_>, parts: &hyper::http::request::Parts) -> Result<Principal, Response<Body>> {
    if source.is_open {
        return Ok(source.chains.platform().service_principal());
    }
    let admitted = rest::admit_admin(source.app, parts).map_err(|error| {
        let mut response = plain(error.status(), error.message().to_owned());
        let headers = response.headers_mut();
        if error.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"chainbox\""));
        }
        if let Some(secs) = error.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        response
    })?;
    Ok(admitted)
}

fn register_process(registry: &mut Registry, chains: &Chains) {
    let counter = |value: u64| {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        counter
    };
    let counters = chains.counters();
    registry.register("panics", "Panics of handlers, each answered", counter(counters.panics()));
    let help = "Connections and WebSocket sessions that were refused because too many were open";
    registry.register("refused_connections", help, counter(counters.refused_connections()));
    let help = "WebSocket sessions that were closed because their client was too slow";
    registry.register("slow_sessions", help, counter(counters.slow_sessions()));
    let open = Gauge::<i64>::default();
    open.set(i64::try_from(chains.platform().open_blockchains()).unwrap_or(i64::MAX));
    registry.register("blockchains", "Blockchains in memory, of all workspaces", open);
}

/// Label of a chain's figures.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfChain {
    blockchain_id: String,
}

type Figure = Family<OfChain, Gauge<f64, std::sync::atomic::AtomicU64>>;

/// Adds the figures of the chains that a principal may read, from where the metrics' route has them.
fn register_chains(
    registry: &mut Registry,
    blockchains: &Blockchains<'_>,
    principal: &Principal,
    is_open: bool,
) -> Result<(), PlatformError> {
    let figures: [(&str, &str, Figure); 7] = [
        ("block_height", "Height of the newest block", Figure::default()),
        ("block_time_seconds", "Mean time between the last 100 blocks", Figure::default()),
        ("transactions_per_second", "Transactions per second over the last 100 blocks", Figure::default()),
        ("active_validators", "Validators that the protocol counts now", Figure::default()),
        ("average_gas_price_wei", "Mean price per unit of gas in the last 100 blocks", Figure::default()),
        ("validator_uptime_percent", "Part of the validators' duties that were done", Figure::default()),
        ("mempool_transactions", "Transactions in the pool", Figure::default()),
    ];
    let transactions = Family::<OfChain, Counter>::default();
    blockchains.each_readable(principal, &mut |chain, _| {
        // Nobody has shown who reads the open figures: a participant or somebody else.
        if is_open && chain.spec().has(Feature::Privacy) {
            return Ok(core::ops::ControlFlow::Continue(()));
        }
        let metrics = blockchains.metrics(chain)?;
        let label = OfChain { blockchain_id: chain.id().to_owned() };
        let values = [
            metrics.current_block as f64,
            metrics.block_time_secs,
            metrics.transactions_per_second,
            metrics.active_validators as f64,
            metrics.average_gas_price as f64,
            metrics.uptime_percent(),
            metrics.mempool_size as f64,
        ];
        for ((_, _, figure), value) in figures.iter().zip(values) {
            figure.get_or_create(&label).set(value);
        }
        transactions.get_or_create(&label).inc_by(metrics.total_transactions);
        Ok(core::ops::ControlFlow::Continue(()))
    })?;
    let of_chains = registry.sub_registry_with_prefix("chain");
    for (name, help, figure) in figures {
        of_chains.register(name, help, figure);
    }
    of_chains.register("transactions", "Transactions in all blocks", transactions);
    Ok(())
}

/// Returns the figures in the format that the client prefers: OpenMetrics where it names it, else Prometheus' own.
fn rendered(headers: &HeaderMap, text: String) -> Response<Body> {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let takes_open_metrics = accepted.into_iter().any(|accept| accept.contains("application/openmetrics-text"));
    let (kind, text) = if takes_open_metrics { (OPEN_METRICS, text) } else { (TEXT, prometheus_text(&text)) };
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Converts OpenMetrics to Prometheus' text format, version 0.0.4: a counter's family has the name of its samples, and neither unit nor end
/// is said.
fn prometheus_text(open_metrics: &str) -> String {
    let (mut text, mut help) = (String::new(), None);
    for line in open_metrics.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        if let Some(of) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            help = Some(of);
            continue;
        }
        match line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            Some((name, kind)) => {
                let suffix = if kind == "counter" { "_total" } else { "" };
                if let Some((_, help)) = help.take() {
                    text.push_str(&format!("# HELP {name}{suffix} {help}\n"));
                }
                text.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
            }
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_text_names_a_counter_as_its_samples() {
        let open = "# HELP a_b Help it.\n# TYPE a_b counter\na_b_total{x=\"1\"} 2\n# HELP c_seconds Time.\n# TYPE c_seconds gauge\n# UNIT c_seconds seconds\nc_seconds 0.5\n# EOF\n";
        let text = "# HELP a_b_total Help it.\n# TYPE a_b_total counter\na_b_total{x=\"1\"} 2\n# HELP c_seconds Time.\n# TYPE c_seconds gauge\nc_seconds 0.5\n";
        assert_eq!(prometheus_text(open), text);
    }
}
