//! The mailbox of a development service, as a page or as JSON.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::html;
use serde_json::json;

use super::{
    AuthorizationServer,
    failure::Answer,
    page::{Page, not_found, plain, protect},
};
use crate::platform::{Mailbox, PublicUrl, ReceivedMail, records::PageRequest};

/// Mails that are taken out of the outbox at once.
const DELIVERED_AT_ONCE: core::num::NonZeroUsize = core::num::NonZeroUsize::new(Mailbox::MAILS_MAX).expect("not zero");

/// `GET /oauth/mailbox`: what is due is delivered first. There is none outside of development.
pub(super) async fn show(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Answer {
    let Some(mailbox) = &server.mailbox else { return Ok(not_found().await) };
    server.platform.mails().deliver_to(mailbox, &server.url, &PageRequest::first(DELIVERED_AT_ONCE))?;
    let mails = mailbox.mails();
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("application/json") { Ok(as_json(&mails)) } else { Ok(as_page(&mails, &server.url)) }
}

fn as_json(mails: &[ReceivedMail]) -> Response {
    let mails: Vec<_> = mails
        .iter()
        .map(|ReceivedMail { received_at_ms, mail, .. }| {
            json!({ "receivedAtMs": received_at_ms, "to": mail.to, "subject": mail.subject, "body": *mail.body })
        })
        .collect();
    let mut response = Json(json!({ "mails": mails })).into_response();
    protect(response.headers_mut(), "");
    response
}

fn as_page(mails: &[ReceivedMail], url: &PublicUrl) -> Response {
    let is_link = |line: &str| line.strip_prefix(url.as_str()).is_some_and(|rest| rest.starts_with('/'));
    let content = html! {
        p { "Mails that this development service would send. Everybody who reaches it sees them." }
        @if mails.is_empty() { p { "There is none." } }
        @for ReceivedMail { mail, .. } in mails {
            h2 { (mail.subject) }
            p { "To " (mail.to) }
            pre {
                @for line in mail.body.lines() {
                    @if is_link(line) { a href=(line) { (line) } } @else { (line) }
                    "\n"
                }
            }
        }
    };
    plain(Page { status: StatusCode::OK, title: "Mailbox", wide: true }, content)
}
