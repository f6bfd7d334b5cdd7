//! `chainbox keys` and `chainbox chains`: a service over its interface, from the command line.

pub(crate) mod args;

use std::{error::Error, sync::Arc, time::Duration};

use chainbox::server::outbound::{
    Allowed, OutboundClient, OutboundPolicy, OutboundRequest, OutboundResponse, OutboundUrl, SystemResolver, TlsRoots,
};
use hyper::{
    Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::args::{ChainsCommand, ChainsOptions, KeysCommand, KeysOptions, ServiceOptions};
use crate::{files, refused::Refused, table::Table};

/// Time for which an answer is waited: that which the service takes at most by default.
const ANSWER_MAX: Duration = Duration::from_secs(600);
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Items of a page of a list: the most that the service gives at once.
const PAGE_LIMIT: usize = 100;

/// Lists, makes and revokes API keys.
pub(crate) fn keys(options: &KeysOptions) -> Result<(), Box<dyn Error>> {
    let service = Service::new(&options.service)?;
    let columns = ["id", "name", "status", "scopes", "expiresAt"];
    let answer = match &options.command {
        KeysCommand::List => service.list("/auth/api-keys")?,
        KeysCommand::Create { name, scopes, expires_in } => {
            let body = json!({ "name": name, "scopes": scopes, "expiresIn": expires_in });
            let made = service.call(Method::POST, "/auth/api-keys", Some(&body))?;
            if !options.service.json {
                files::report(false, &format!("{}\nThe key is shown this once.\n", text(&made["key"])));
                return Ok(());
            }
            made
        }
        KeysCommand::Revoke { id } => {
            service.call(Method::DELETE, &format!("/auth/api-keys/{}", segment(id)?), None)?
        }
    };
    print(&answer, &columns, options.service.json)
}

/// Lists, makes and deletes blockchains.
pub(crate) fn chains(options: &ChainsOptions) -> Result<(), Box<dyn Error>> {
    let service = Service::new(&options.service)?;
    let columns = ["id", "name", "consensus", "chainId", "status", "currentBlock"];
    let answer = match &options.command {
        ChainsCommand::List => service.list("/blockchains")?,
        ChainsCommand::Create { name, consensus, chain_id, block_time } => {
            let config = json!({ "blockTime": block_time });
            let body = json!({ "name": name, "consensus": consensus, "chainId": chain_id, "config": config });
            service.call(Method::POST, "/blockchains", Some(&body))?
        }
        ChainsCommand::Delete { id } => {
            service.call(Method::DELETE, &format!("/blockchains/{}", segment(id)?), None)?
        }
    };
    print(&answer, &columns, options.service.json)
}

/// Prints what was answered: as JSON, or as a table of the columns that it has.
fn print(answer: &Value, columns: &[&str], is_json: bool) -> Result<(), Box<dyn Error>> {
    if is_json {
        files::report(false, &format!("{}\n", serde_json::to_string_pretty(answer)?));
        return Ok(());
    }
    let rows = answer.as_array().map_or(core::slice::from_ref(answer), Vec::as_slice);
    if answer["deleted"] == true {
        files::report(false, &format!("{} is deleted\n", text(&answer["id"])));
        return Ok(());
    }
    let mut table = Table::of_words(columns);
    for row in rows {
        table.row(columns.iter().map(|column| text(&row[*column])));
    }
    files::report(false, &table.to_string());
    Ok(())
}

/// Returns a value as a cell shows it.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Returns an id as a segment of a path.
fn segment(id: &str) -> Result<&str, Refused> {
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    is_id
        .then_some(id)
        .ok_or_else(|| Refused(format!("{id:?} is no id: expected letters, digits, _ and -, as a list shows it")))
}

/// A service and the caller's credentials.
struct Service {
    base: String,
    credentials: HeaderValue,
    client: OutboundClient,
    runtime: Runtime,
}

impl Service {
    fn new(options: &ServiceOptions) -> Result<Self, Box<dyn Error>> {
        if options.api_key.is_empty() {
            let message =
                "an API key is needed: set CHAINBOX_API_KEY to one of the workspace; `chainbox dev` prints one";
            return Err(Refused(message.to_owned()).into());
        }
        let base = options.url.trim_end_matches('/').to_owned();
        let url = OutboundUrl::parse(&base).map_err(|cause| Refused(format!("--url: {cause}")))?;
        let mut credentials = HeaderValue::from_str(&format!("Bearer {}", options.api_key))
            .map_err(|_| Refused("--api-key: expected a key as the service shows it, cbx_ and letters".to_owned()))?;
        credentials.set_sensitive(true);
        let roots = TlsRoots::of_system().unwrap_or_else(|_| TlsRoots::none());
        // The caller has named the service: it may be anywhere.
        let policy = OutboundPolicy::default().with_allowed(Allowed::origin_of(&url));
        let client = OutboundClient::new(policy, Arc::new(SystemResolver::default()), &roots)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { base, credentials, client, runtime })
    }

    /// Returns all items of a list, page by page.
    fn list(&self, path: &str) -> Result<Value, Box<dyn Error>> {
        let mut all = Vec::new();
        for page in 1.. {
            let found = self.call(Method::GET, &format!("{path}?limit={PAGE_LIMIT}&page={page}"), None)?;
            let items = found.as_array().map(Vec::as_slice).unwrap_or_default();
            all.extend_from_slice(items);
            if items.len() < PAGE_LIMIT {
                break;
            }
        }
        Ok(Value::Array(all))
    }

    /// Returns the `data` of an answer.
    fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Box<dyn Error>> {
        let url = OutboundUrl::parse(&format!("{}/v1{path}", self.base))?;
        let mut request = OutboundRequest::of(method, url)
            .with_header(AUTHORIZATION, self.credentials.clone())
            .with_timeout(ANSWER_MAX)
            .with_response_bytes_max(ANSWER_BYTES_MAX);
        if let Some(body) = body {
            request = request.with_header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request = request.with_body(body.to_string());
        }
        let response = self.runtime.block_on(self.client.send(request))?;
        data(&response).map_err(|message| format!("{}: {message}", self.base).into())
    }
}

/// Returns the `data` of an answer, or what its error says.
fn data(response: &OutboundResponse) -> Result<Value, String> {
    let mut body: Value = serde_json::from_slice(&response.body)
        .map_err(|_| format!("{} and no JSON: is it a chainbox service?", response.status))?;
    if response.status.is_success() {
        return Ok(body["data"].take());
    }
    let error = &body["error"];
    let mut message = format!("{} {}", text(&error["code"]), text(&error["message"]));
    for field in error["details"]["fields"].as_array().into_iter().flatten() {
        message += &format!(
            "\n  {}: expected {}, got {}",
            text(&field["path"]),
            text(&field["expected"]),
            text(&field["got"])
        );
    }
    Err(message)
}
