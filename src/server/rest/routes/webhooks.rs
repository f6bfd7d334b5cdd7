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
    /// What signs the deliveries; drawn by the service by default. Shown in the answer to this request alone; `rotate-secret` replaces it.
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
#[serde(rename_all = "camelCase")]
struct UpdateWebhook {
    /// Receiver: https, to a public address.
    #[schema(min_length = 1, max_length = 2048, example = "https://example.com/hook")]
    url: Option<String>,
    /// What is delivered.
    #[schema(min_items = 1, max_items = 7)]
    events: Option<Vec<EventName>>,
    /// Whether anything is delivered.
    enabled: Option<bool>,
    /// The one chain whose events are delivered; null for those of all.
    #[serde(default, deserialize_with = "crate::server::rest::body::present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: Option<Option<String>>,
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
        let all = json!({
            "url": "https://example.com/hook", "events": ["contract.deployed"], "enabled": false, "blockchainId": "bc_default",
        });
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
    /// What signs the deliveries, in the answers to its creation and to `rotate-secret` alone; null in others.
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
    /// Id of the event: `id` in the body, and the header `webhook-id`.
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
        Endpoint::post(
            "/v1/webhooks/{webhookId}/rotate-secret",
            "rotateWebhookSecret",
            tag,
            write,
            "Replaces the secret of a subscription by a drawn one, which is shown once.",
        )
        .described("The former secret is gone at once: the new one alone signs whatever is sent from then on.")
        .acts(rotate_secret),
        Endpoint::delete(one, "deleteWebhook", tag, write, "Deletes a subscription and its secret.").acts(delete),
        Endpoint::post(
            "/v1/webhooks/{webhookId}/test",
            "testWebhook",
            tag,
            write,
            "Delivers a signed event `webhook.test` at once, and answers what became of it.",
        )
        .described(
            "The body has what every delivery has: `event`, `data`, and beside them `id`, which is the header `webhook-id`, `timestamp`, \
             `blockchainId` (the subscription's; null for all chains) and `sequence` (null: a test is in no chain's sequence). `data` \
             has the `webhookId`. A subscription that is disabled is sent nothing: 409 until `enabled` is true. A workspace has two \
             requests at a time that wait for the network, tests and proofs of domains together: 429 for a third.",
        )
        .runs(Runs::Outbound)
        .acts(test),
    ]
}

/// Refuses a receiver to which the service does not connect. Of control characters reading the URL would drop some, such as line breaks: it
/// would be shown otherwise than it is used.
fn check_url(app: &App, url: &str) -> Result<(), ApiError> {
    if url.chars().any(char::is_control) {
        let expected = "a URL without control characters, such as line breaks and tabs";
        return Err(PlatformError::field("url", expected, url.escape_debug().to_string()).into());
    }
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
    let UpdateWebhook { url, events: names, enabled, blockchain_id } = body;
    let change = WebhookChange { url, events: names.map(events), is_enabled: enabled, blockchain_id };
    Ok(Change::unit(move |unit| Ok(WebhookView::new(&platform.webhooks().update(unit, &principal, &id, change)?))))
}

fn rotate_secret(app: &App, request: &Request) -> Result<Change<WebhookView>, ApiError> {
    let (platform, principal) = (Arc::clone(app.platform()), request.principal()?.clone());
    let id = request.path("webhookId").to_owned();
    Ok(Change::unit(move |unit| {
        let (secret, stored) = platform.webhooks().rotate_secret(unit, &principal, &id)?;
        Ok(WebhookView { secret: Some(secret.to_string()), ..WebhookView::new(&stored) })
    }))
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
    let stored = webhooks.require_enabled(request.principal()?, request.path("webhookId"))?;
    let id = request.new_id(app.platform(), "msg")?;
    let body = json!({
        "id": id,
        "event": "webhook.test",
        "timestamp": clock::iso_8601(app.now_ms()),
        "blockchainId": stored.value.blockchain_id,
        "sequence": null,
        "data": { "webhookId": stored.id() },
    });
    let signed = webhooks.sign(&stored, id, body.to_string().into_bytes())?;
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

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU8, Ordering};
    use std::sync::Mutex;

    use super::*;
    use crate::{
        node::ManualClock,
        platform::{Entropy, EntropyError, Platform},
        primitives::Timestamp,
        server::{
            chains::Chains,
            limits::ServerLimits,
            outbound::{
                OutboundPolicy,
                testing::{TestReply, TestRequest, TestServer},
            },
            rest::{Outside, Routes},
        },
    };

    /// Repeats one byte in each call, one more in every next call.
    #[derive(Debug, Default)]
    struct CountingEntropy(AtomicU8);

    impl Entropy for CountingEntropy {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
            bytes.fill(self.0.fetch_add(1, Ordering::Relaxed));
            Ok(())
        }
    }

    /// Tests a subscription of a new platform; returns what its receiver got, and what was answered.
    async fn tested() -> (TestRequest, Value) {
        let received: Arc<Mutex<Vec<TestRequest>>> = Arc::default();
        let requests = Arc::clone(&received);
        let receiver = TestServer::http(None, move |request| {
            requests.lock().unwrap().push(request);
            TestReply::new(200, "")
        })
        .await;
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
        let entropy = Arc::new(CountingEntropy::default());
        let platform = Platform::builder(clock).with_entropy(entropy).open(None).unwrap();
        let admin = platform.create_api_key("admin", &[Scope::Admin]).unwrap().text().to_owned();
        let outside = Outside { policy: OutboundPolicy::default().with_loopback(), ..Outside::default() };
        let routes = Routes::new(App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), outside));
        let post = async |path: &str, body: &str| -> Value {
            let request = axum::http::Request::post(path)
                .header("authorization", format!("Bearer {admin}"))
                .header("content-type", "application/json")
                .body(axum::body::Body::from(body.to_owned()));
            let response = routes.answer(request.unwrap()).await;
            let status = response.status();
            let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
            let answer: Value = serde_json::from_slice(&body).unwrap();
            assert!(status.is_success(), "{path}: {answer}");
            answer["data"].clone()
        };
        let hook = json!({ "url": format!("http://{}/hook", receiver.address), "events": ["contract.deployed"] });
        let made = post("/v1/webhooks", &hook.to_string()).await;
        let id = made["id"].as_str().unwrap();
        let answered = post(&format!("/v1/webhooks/{id}/test"), "").await;
        let request = received.lock().unwrap().pop().unwrap();
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body["data"], json!({ "webhookId": id }));
        (request, answered)
    }

    /// Neither the machine's clock nor its generator is in it: two platforms with the same of their own send the same.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_test_event_has_its_id_and_its_time_from_the_platform() {
        let (request, answered) = tested().await;
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!((&answered["delivered"], &answered["id"]), (&json!(true), &body["id"]), "{answered}");
        assert!(body["id"].as_str().unwrap().starts_with("msg_"), "{body}");
        assert_eq!((&body["event"], &body["timestamp"]), (&json!("webhook.test"), &json!("2025-06-15T15:06:40.000Z")));
        let fields: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        for field in ["blockchainId", "sequence"] {
            assert!(fields.contains(&field) && body[field].is_null(), "{field}: {body}");
        }
        assert_eq!(fields.len(), 6, "{body}");
        assert_eq!(json!(request.headers["webhook-id"]), body["id"]);
        assert_eq!(request.headers["webhook-timestamp"], "1750000000");
        let (again, answered_again) = tested().await;
        assert_eq!((&again.body, &answered_again), (&request.body, &answered));
        for signature in ["service-signature", "webhook-signature"] {
            assert_eq!(again.headers[signature], request.headers[signature]);
        }
    }
}
