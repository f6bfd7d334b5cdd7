//! Pages of dApps under domains of their own: what is answered to a request whose `Host` is such a domain.

use axum::{
    body::Body,
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};

use super::{
    App,
    answer::ApiResponse,
    endpoint::Access,
    envelope::Rendered,
    request::RequestId,
    routes,
    service::{self, PeerAddress},
};
use crate::server::{api_error::ApiError, commands::Length};

impl App {
    /// Answers a request to a domain that a dApp has proved: its page at `/`, 404 anywhere else. `None` for another domain, which is in lower
    /// case.
    pub(in crate::server) async fn serve_domain(&self, domain: &str, parts: &Parts) -> Option<Response> {
        let found = self.platform().dapps().site_of_domain(domain).ok()??;
        let (id, peer) = (parts.extensions.get::<RequestId>().cloned(), parts.extensions.get::<PeerAddress>().copied());
        let id = id.unwrap_or_else(|| self.request_ids.of(&parts.headers));
        let admitted = match service::admit(self, Access::Public, &parts.headers, peer, None) {
            Ok(admitted) => admitted,
            Err(refused) => return Some(refused.into_response(&id, self.now_ms())),
        };
        if parts.uri.path() != "/" {
            return Some(text(StatusCode::NOT_FOUND, "there is nothing at this path\n"));
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "the page is read by GET\n");
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(response);
        }
        let app = self.clone();
        let read = self.chains.workers().clone().read(Length::Long, move |_: &_| routes::dapp_page(&app, &found)).await;
        let page = read.map_err(ApiError::from).and_then(|page| Ok(ApiResponse::html(page?)));
        let mut response = Rendered::of(page, &id, self.now_ms()).into_response();
        admitted.tell(response.headers_mut());
        Some(response)
    }
}

fn text(status: StatusCode, message: &'static str) -> Response {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}
