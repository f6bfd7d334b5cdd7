//! Requests to domains of dApps, whose `Host` is none of the service's own names.

use hyper::{Request, Response};

use super::{Body, request_body::RequestBody, route::ServerContext};

/// Bytes of a domain name, with the dot of the root (RFC 1035, 2.3.4).
const NAME_LEN_MAX: usize = 254;

/// Answers a request to a domain that a dApp has proved; `None` for another host. It takes no body.
pub(super) async fn serve(
    context: &ServerContext,
    host: &str,
    request: Request<RequestBody>,
) -> Option<Response<Body>> {
    if host.len() > NAME_LEN_MAX {
        return None;
    }
    let domain = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let (parts, _) = request.into_parts();
    let work = context.app().serve_domain(&domain, &parts);
    let served = tokio::time::timeout(context.limits().request_timeout, work).await.ok()??;
    Some(served.map(Body::new))
}
