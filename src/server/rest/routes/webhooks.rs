//! `/v1/webhooks`.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use utoipa::ToSchema;

use super::view::Deleted;
use crate::{
    platform::{
        FieldError, PlatformError, Scope, Webhook, WebhookChange, WebhookEvent,
        records::{Index, SortKey, Stored},
    },
    server::{
        api_error::ApiError,
        clock,
        outbound::{OutboundRequest, OutboundUrl},
        rest::{
            App,
            answer::{Change, Located},
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            page::Page,
            request::Request,
        },
    },
};

/// A subscription to make. Url and events are required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateWebhook {
    /// Receiver: https, to a public address.
    #[schema(min_length = 1, max_length = 2048, example = "https://example.com/hook")]
    url: String,
    /// What is delivered.
    #[schema(min_items = 1, max_items = 7)]
    events: Vec<EventName>,
    /// What signs the deliveries; drawn by the service by default. Shown in the answer to this request alone.
    #[schema(min_length = 16, max_length = 256, example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    secret: Option<String>,
    /// Whether anything is delivered; true by default.
    enabled: Option<bool>,
    /// What restricts the events.
    filters: Option<Filters>,
    /// As `filters.blockchainId`.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: Option<String>,
}

/// What restricts the events of a subscription.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Filters {
    /// The one chain whose events are delivered.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: Option<String>,
}

/// Changes of a subscription; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
struct UpdateWebhook {
    /// Receiver: https, to a public address.
    #[schema(min_length = 1, max_length = 2048, example = "https://example.com/hook")]
    url: Option<String>,
    /// What is delivered.
    #[schema(min_items = 1, max_items = 7)]
    events: Option<Vec<EventName>>,
    /// Whether anything is delivered.
    enabled: Option<bool>,
}

/// Type of an event. `transaction.confirmed` is another name of `blockchain.transaction.confirmed`; deliveries have the one that the
/// subscription has.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
enum EventName {
    #[serde(rename = "blockchain.block.created")]
    BlockCreated,
    #[serde(rename = "blockchain.transaction.confirmed")]
    TransactionConfirmed,
    #[serde(rename = "transaction.confirmed")]
    Confirmed,
    #[serde(rename = "contract.deployed")]
    ContractDeployed,
    #[serde(rename = "contract.event.emitted")]
    ContractEvent,
    #[serde(rename = "validator.status.changed")]
    ValidatorStatusChanged,
    #[serde(rename = "governance.proposal.created")]
    ProposalCreated,
}

impl From<EventName> for WebhookEvent {
    fn from(name: EventName) -> Self {
        match name {
            EventName::BlockCreated => Self::BlockCreated,
            EventName::TransactionConfirmed => Self::TransactionConfirmed,
            EventName::Confirmed => Self::ShortTransactionConfirmed,
            EventName::ContractDeployed => Self::ContractDeployed,
            EventName::ContractEvent => Self::ContractEvent,
            EventName::ValidatorStatusChanged => Self::ValidatorStatusChanged,
            EventName::ProposalCreated => Self::ProposalCreated,
        }
    }
}

/// Returns each event once, as it was spelled first.
fn events(names: Vec<EventName>) -> Vec<WebhookEvent> {
    let mut events: Vec<WebhookEvent> = Vec::new();
    for event in names.into_iter().map(WebhookEvent::from) {
        if events.iter().all(|known| known.canonical() != event.canonical()) {
            events.push(event);
        }
    }
    events
}

impl Body for CreateWebhook {
    fn examples() -> Vec<(&'static str, Value)> {
        let required = json!({ "url": "https://example.com/hook", "events": ["blockchain.block.created"] });
        let mut all = required.clone();
        all["secret"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into();
        (all["enabled"], all["filters"]) = (true.into(), json!({ "blockchainId": "bc_default" }));
        vec![("all fields", all), ("required fields", required)]
    }

    fn check(&self) -> Vec<FieldError> {
        let inner = self.filters.as_ref().and_then(|filters| filters.blockchain_id.as_ref());
        match (&self.blockchain_id, inner) {
            (Some(outer), Some(inner)) if outer != inner => vec![FieldError {
                path: "blockchainId".to_owned(),
                expected: "the same as filters.blockchainId, or nothing".to_owned(),
                got: outer.clone(),
            }],
            _ => Vec::new(),
        }
    }
}

impl Body for UpdateWebhook {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({ "url": "https://example.com/hook", "events": ["contract.deployed"], "enabled": false });
        vec![("all fields", all), ("required fields", json!({}))]
    }
}

/// A subscription.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WebhookView {
    /// Id of the subscription.
    #[schema(example = "wh_0123456789abcdef")]
    id: String,
    /// Receiver.
    url: String,
    /// What is delivered, each as the subscription spelled it.
    events: Vec<&'static str>,
    /// Whether anything is delivered.
    enabled: bool,
    /// The one chain whose events are delivered; null for all.
    blockchain_id: Option<String>,
    /// What signs the deliveries, in the answer to its creation alone; null in others.
    secret: Option<String>,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time of the last change: ISO 8601, UTC.
    updated_at: String,
}

impl WebhookView {
    fn new(stored: &Stored<Webhook>) -> Self {
        Self {
            id: stored.id().to_owned(),
            url: stored.value.url.clone(),
            events: stored.value.events.iter().map(|event| event.name()).collect(),
            enabled: stored.value.is_enabled,
            blockchain_id: stored.value.blockchain_id.clone(),
            secret: None,
            created_at: clock::iso_8601(stored.created_at_ms()),
            updated_at: clock::iso_8601(stored.updated_at_ms()),
        }
    }
}

impl Located for WebhookView {
    fn location(&self) -> String {
        format!("/v1/webhooks/{}", self.id)
    }
}

/// What became of a delivery.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeliveryView {
    /// Id of the message.
    id: String,
    /// Whether the receiver answered with 2xx.
    delivered: bool,
    /// Status that it answered with; null where it did not answer.
    #[schema(example = 200)]
    status_code: Option<u16>,
    /// Why it was not delivered; null where it was.
    error: Option<String>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let (tag, all, one) = (Tag::Webhooks, "/v1/webhooks", "/v1/webhooks/{webhookId}");
    let (read, write) = (Access::Scope(Scope::WorkspaceRead), Access::Scope(Scope::WorkspaceWrite));
    vec![
        Endpoint::post(all, "createWebhook", tag, write, "Subscribes a receiver to events of the workspace's chains.")
            .described(
                "Deliveries are signed over the exact bytes sent: `Service-Signature: t=<seconds>,v1=<hex HMAC-SHA256 of the body>`, and \
                 by the headers of Standard Webhooks.",
            )
            .fails_with(&[crate::server::rest::error_code::ErrorCode::NotFound])
            .takes::<CreateWebhook>()
            .creates(create),
        Endpoint::get(all, "listWebhooks", tag, read, "Lists the subscriptions of the workspace, oldest first.")
            .lists(&["createdAt"], list),
        Endpoint::get(one, "getWebhook", tag, read, "Returns one subscription.").reads(get),
        Endpoint::patch(one, "updateWebhook", tag, write, "Changes a subscription.")
            .takes::<UpdateWebhook>()
            .acts(update),
        Endpoint::delete(one, "deleteWebhook", tag, write, "Deletes a subscription and its secret.").acts(delete),
        Endpoint::post(
            "/v1/webhooks/{webhookId}/test",
            "testWebhook",
            tag,
            write,
            "Delivers a signed event `webhook.test` at once, and answers what became of it.",
        )
        .runs(Runs::Long)
        .acts(test),
    ]
}

/// Refuses a receiver to which the service does not connect.
fn check_url(app: &App, url: &str) -> Result<(), ApiError> {
    let checked = OutboundUrl::parse(url).and_then(|url| app.outbound()?.check(&url));
    checked.map_err(|cause| PlatformError::field("url", cause.to_string(), url).into())
}

fn create(app: &App, request: &Request, body: CreateWebhook) -> Result<Change<WebhookView>, ApiError> {
    check_url(app, &body.url)?;
    let (platform, principal) = (Arc::clone(app.platform()), request.principal()?.clone());
    let id = request.new_id(&platform, "wh")?;
    let secret = match body.secret {
        Some(secret) => zeroize::Zeroizing::new(secret),
        None => platform.webhooks().draw_secret()?,
    };
    let webhook = Webhook {
        url: body.url,
        events: events(body.events),
        is_enabled: body.enabled.unwrap_or(true),
        blockchain_id: body.blockchain_id.or_else(|| body.filters?.blockchain_id),
    };
    Ok(Change::unit(move |unit| {
        let stored = platform.webhooks().create(unit, &principal, &id, webhook, &secret)?;
        Ok(WebhookView { secret: Some(secret.to_string()), ..WebhookView::new(&stored) })
    }))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<WebhookView>, u64), ApiError> {
    let owner = request.principal()?.owner();
    let found = app.platform().webhooks().all().page(&Index::CREATED, &owner, &SortKey::new(), &page.request())?;
    Ok((found.items.iter().map(WebhookView::new).collect(), found.total))
}

fn get(app: &App, request: &Request) -> Result<WebhookView, ApiError> {
    let webhooks = app.platform().webhooks();
    let stored = webhooks.all().require(&request.principal()?.owner(), request.path("webhookId"))?;
    Ok(WebhookView::new(&stored))
}

fn update(app: &App, request: &Request, body: UpdateWebhook) -> Result<Change<WebhookView>, ApiError> {
    if let Some(url) = &body.url {
        check_url(app, url)?;
    }
    let (platform, principal) = (Arc::clone(app.platform()), request.principal()?.clone());
    let id = request.path("webhookId").to_owned();
    let change = WebhookChange { url: body.url, events: body.events.map(events), is_enabled: body.enabled };
    Ok(Change::unit(move |unit| Ok(WebhookView::new(&platform.webhooks().update(unit, &principal, &id, change)?))))
}

fn delete(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let (platform, principal) = (Arc::clone(app.platform()), request.principal()?.clone());
    let id = request.path("webhookId").to_owned();
    Ok(Change::unit(move |unit| {
        platform.webhooks().delete(unit, &principal, &id)?;
        Ok(Deleted::of(&id))
    }))
}

fn test(app: &App, request: &Request) -> Result<Change<DeliveryView>, ApiError> {
    let webhooks = app.platform().webhooks();
    let stored = webhooks.all().require(&request.principal()?.owner(), request.path("webhookId"))?;
    let data = json!({ "webhookId": stored.id(), "timestamp": clock::iso_8601(app.now_ms()) });
    let body = json!({ "event": "webhook.test", "data": data }).to_string().into_bytes();
    let signed = webhooks.sign(&stored, body)?;
    let internal = |cause: &dyn core::fmt::Display| ApiError::internal(&format_args!("{cause}"));
    let url = OutboundUrl::parse(&stored.value.url).map_err(|cause| internal(&cause))?;
    let mut delivery = OutboundRequest::post(url, signed.body)
        .with_header(axum::http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in signed.headers {
        let value = HeaderValue::from_str(&value).map_err(|cause| internal(&cause))?;
        delivery = delivery.with_header(HeaderName::from_static(name), value);
    }
    let client = app.outbound().map_err(|cause| internal(&cause))?;
    let runtime = Handle::try_current().map_err(|cause| internal(&cause))?;
    let answered = runtime.block_on(client.send(delivery));
    let status_code = answered.as_ref().ok().map(|response| response.status.as_u16());
    let error = answered.and_then(|response| response.success()).err().map(|cause| cause.to_string());
    Ok(Change::done(DeliveryView { id: signed.id, delivered: error.is_none(), status_code, error }))
}
