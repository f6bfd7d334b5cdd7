//! The page for browsers on `/`: the chain, and the URLs of the interfaces.

use hyper::{
    Response,
    header::{self, HeaderValue},
};

use super::Body;
use crate::platform::Platform;

/// Returns the page, which has no scripts. `base` is host and port for the URLs.
pub(super) fn welcome(platform: &Platform, base: &str) -> Response<Body> {
    let chain = platform.default_blockchain();
    let view = chain.node().view();
    let base = escape(base);
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>chainbox</title>\
         <style>body{{font:16px/1.5 system-ui;margin:3rem auto;max-width:42rem;padding:0 1rem}}code{{background:#8882;padding:.1em .3em}}</style></head><body>\
         <h1>chainbox {version}</h1><p>A development blockchain: chain id {chain_id}, block {height}.</p><ul>\
         <li>Ethereum JSON-RPC, over POST and WebSocket: <code>http://{base}/</code>, <code>ws://{base}/</code></li>\
         <li>Service API: <code>http://{base}/v1/health</code></li>\
         <li>Its description: <a href=\"/v1/openapi.json\"><code>/v1/openapi.json</code></a></li></ul>\
         <p>Instance <code>{genesis}</code> (the genesis hash).</p></body></html>",
        version = env!("CARGO_PKG_VERSION"),
        chain_id = view.chain_id(),
        height = view.head().height(),
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
