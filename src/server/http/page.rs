//! The page for browsers on `/`: the chain, and the URLs of the interfaces.

use std::sync::Arc;

use hyper::{
    Response,
    header::{self, HeaderValue},
};

use super::Body;
use crate::{node::Node, platform::Platform, server::rest::TemplateView, vm::Template};

/// What is at `/` of a service without a default chain.
pub(super) const NO_CHAIN: &str = "no chain is served here: the service is under /v1, its description at /v1/docs";

/// Returns the page, which has no scripts. `base` is host and port for the URLs.
pub(super) fn welcome(platform: &Platform, base: &str) -> Response<Body> {
    let Some(chain) = platform.default_blockchain() else {
        return super::plain(hyper::StatusCode::NOT_FOUND, NO_CHAIN.to_owned());
    };
    let view = chain.node().view();
    let base = escape(base);
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>chainbox</title>\
         <style>body{{font:16px/1.5 system-ui;margin:3rem auto;max-width:42rem;padding:0 1rem}}code{{background:#8882;padding:.1em .3em}}</style></head><body>\
         <h1>chainbox {version}</h1><p>A development blockchain: chain id {chain_id}, block {height}.</p><ul>\
         <li>Ethereum JSON-RPC, over POST and WebSocket: <code>http://{base}/</code>, <code>ws://{base}/</code></li>\
         <li>Service API: <code>http://{base}/v1/health</code></li>\
         <li>Its description: <a href=\"/v1/openapi.json\"><code>/v1/openapi.json</code></a></li></ul>\
         <p>Contracts are templates; EVM bytecode does not run. Deploy one by its marker as bytecode, with the constructor's parameters \
         (<a href=\"/v1/templates\"><code>/v1/templates</code></a>):</p><ul>{templates}</ul>\
         <p>Instance <code>{genesis}</code> (the genesis hash).</p></body></html>",
        version = env!("CARGO_PKG_VERSION"),
        chain_id = view.chain_id(),
        height = view.head().height(),
        templates = templates(chain.node()),
        genesis = view.genesis_hash(),
    );
    let mut response = Response::new(Body::from(html));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns a list item for each template of a chain.
fn templates(node: &Node) -> String {
    let item = |template: &Arc<dyn Template>| {
        let TemplateView { name, bytecode, constructor, .. } = TemplateView::of(&**template);
        let parameters = constructor.iter().map(|parameter| format!("{} {}", parameter.ty, parameter.name));
        let parameters = escape(&parameters.collect::<Vec<_>>().join(", "));
        format!("<li>{}: <code>{bytecode}</code>, ({parameters})</li>", escape(&name))
    };
    node.templates().iter().map(item).collect()
}

/// Replaces the characters that mean something in HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
        assert_eq!(escape("localhost:8545"), "localhost:8545");
    }
}
