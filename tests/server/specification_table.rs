//! The rows of the service specification and the paths of the authorization server, as `docs/service-api.md` shows them: what the document
//! of the service says of the operation that answers each.

use std::fs;

use chainbox::server::openapi_json;
use serde_json::Value;

/// The rows of the specification's table of endpoints, by their operations. Those of `/oauth` are among [`ROUTES`].
const ROWS: [(&str, &str); 21] = [
    ("POST /auth/api-keys", "createApiKey"),
    ("GET /health", "getHealth"),
    ("GET /resources", "listResources"),
    ("POST /rpc", "rpc"),
    ("POST /webhooks", "createWebhook"),
    ("POST /workspaces", "createWorkspace"),
    ("POST /workspaces/:workspaceId/projects", "createProject"),
    ("POST /dapps", "createDapp"),
    ("POST /blockchains", "createBlockchain"),
    ("POST /blockchains/:blockchainId/validators", "addValidator"),
    ("POST /blockchains/:blockchainId/modules", "enableModule"),
    ("GET /blockchains/:blockchainId/metrics", "getBlockchainMetrics"),
    ("POST /contracts/deploy", "deployContract"),
    ("GET /validators/:id/status", "getValidatorStatus"),
    ("PUT /validators/:id/stake", "setValidatorStake"),
    ("POST /validators/:id/slash", "slashValidator"),
    ("DELETE /validators/:id", "removeValidator"),
    ("POST /governance/proposals", "createProposal"),
    ("POST /governance/proposals/:proposalId/vote", "voteOnProposal"),
    ("POST /tokens", "createToken"),
    ("GET /analytics/timeseries", "getTimeSeries"),
];

/// The request shapes of the specification, by the operations that take them.
const SHAPES: [(&str, &str); 12] = [
    ("API key", "createApiKey"),
    ("Workspace", "createWorkspace"),
    ("Project", "createProject"),
    ("dApp", "createDapp"),
    ("Blockchain", "createBlockchain"),
    ("Contract deployment", "deployContract"),
    ("Validator", "addValidator"),
    ("Governance proposal", "createProposal"),
    ("Vote", "voteOnProposal"),
    ("Module", "enableModule"),
    ("Token", "createToken"),
    ("Webhook subscription", "createWebhook"),
];

/// The errors of the specification: code and status.
const ERRORS: [(&str, &str); 8] = [
    ("BAD_REQUEST", "400"),
    ("UNAUTHORIZED", "401"),
    ("FORBIDDEN", "403"),
    ("NOT_FOUND", "404"),
    ("VALIDATION_ERROR", "422"),
    ("RATE_LIMITED", "429"),
    ("INTERNAL_ERROR", "500"),
    ("INSUFFICIENT_BALANCE", "409"),
];

/// The paths of the authorization server: method, path, what it is for, what a request needs.
const ROUTES: [(&str, &str, &str, &str); 30] = [
    ("GET", "/oauth/authorize", "asks the user for consent; redirects to log in", "a browser's session"),
    ("POST", "/oauth/authorize", "takes the decision; redirects to the client with a code", "a browser's session"),
    ("POST", "/oauth/token", "codes and refresh tokens for access tokens", "the client's credentials"),
    ("POST", "/oauth/revoke", "revokes a token", "the client's credentials"),
    ("POST", "/oauth/introspect", "tells what a token is", "the client's credentials"),
    ("POST", "/oauth/register", "registers a client", "`workspace:write`"),
    ("GET", "/oauth/login", "the form to log in", "nothing"),
    ("POST", "/oauth/login", "logs in", "a password"),
    ("GET", "/oauth/logout", "the form to log out", "nothing"),
    ("POST", "/oauth/logout", "ends the session", "a browser's session"),
    ("GET", "/oauth/account", "who is logged in", "a browser's session"),
    ("POST", "/oauth/account", "changes the password", "a browser's session"),
    ("POST", "/oauth/account/api-keys", "creates an API key", "a browser's session"),
    ("GET", "/oauth/signup", "the form to sign up", "nothing"),
    ("POST", "/oauth/signup", "sends the mail of confirmation", "nothing"),
    ("GET", "/oauth/confirm", "the form that the mail leads to", "nothing"),
    ("POST", "/oauth/confirm", "makes the user, and logs in", "the mail's token, the password"),
    ("GET", "/oauth/forgot", "the form for a forgotten password", "nothing"),
    ("POST", "/oauth/forgot", "sends the mail with a link", "nothing"),
    ("GET", "/oauth/reset", "the form that the mail leads to", "nothing"),
    ("POST", "/oauth/reset", "sets another password", "the mail's token"),
    ("GET", "/oauth/invitations/accept", "shows an invitation to a workspace", "the mail's token"),
    ("POST", "/oauth/invitations/accept", "accepts it", "the mail's token, a browser's session"),
    ("GET", "/oauth/openid/{segment}", "begins the log-in at an outside provider", "nothing"),
    ("GET", "/oauth/openid/{segment}/callback", "ends it", "the provider's answer"),
    ("GET", "/oauth/mailbox", "the mails of a development service", "nothing"),
    ("GET", "/oauth/style.css", "the style of the pages", "nothing"),
    ("GET", "/.well-known/oauth-authorization-server", "metadata (RFC 8414)", "nothing"),
    ("GET", "/v1/oauth/authorize", "as without the version; so are all above but the metadata", "the same"),
    ("POST", "/v1/oauth/token", "likewise", "the same"),
];

/// An operation of the document, with its method and path.
fn operation<'a>(document: &'a Value, id: &str) -> (String, &'a str, &'a Value) {
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths
        .flat_map(|(path, methods)| methods.as_object().unwrap().iter().map(move |(method, it)| (method, path, it)));
    let found = all.into_iter().find(|(.., it)| it["operationId"] == id);
    let (method, path, it) = found.unwrap_or_else(|| panic!("there is no operation {id}"));
    (method.to_uppercase(), path, it)
}

/// Returns what a request of the operation needs.
fn needs(operation: &Value) -> String {
    let ways = operation["security"].as_array().unwrap();
    let scopes = ways.iter().find_map(|way| way["oauth2"].as_array()).into_iter().flatten();
    let scopes: Vec<String> = scopes.map(|scope| format!("`{}`", scope.as_str().unwrap())).collect();
    let takes_key = ways.iter().any(|way| way["apiKey"].is_array());
    match scopes.join(", ") {
        scopes if scopes.is_empty() && ways.is_empty() => "nothing".to_owned(),
        scopes if scopes.is_empty() => "credentials".to_owned(),
        scopes if takes_key => scopes,
        scopes => format!("{scopes}, Bearer"),
    }
}

/// Returns the rows of the service specification in Markdown: endpoints with what answers them, request shapes with the fields that their
/// bodies have, and errors. The first cell names the row.
pub(crate) fn specification_table() -> String {
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    let mut tables = "| endpoint of the specification | operation | needs |\n|---|---|---|\n".to_owned();
    for (row, id) in ROWS {
        let needs = needs(operation(&document, id).2);
        tables.push_str(&format!("| {row} | {id} | {needs} |\n"));
    }
    tables.push_str("\n| request shape | operation | fields |\n|---|---|---|\n");
    for (shape, id) in SHAPES {
        let mut fields = Vec::new();
        let body = &operation(&document, id).2["requestBody"]["content"]["application/json"]["schema"];
        add_fields(&document, body, "", &mut fields);
        tables.push_str(&format!("| {shape} | {id} | {} |\n", fields.join(", ")));
    }
    tables.push_str("\n| error | status | when |\n|---|---|---|\n");
    for (code, status) in ERRORS {
        // An operation that has them all.
        let responses = &operation(&document, "deployContract").2["responses"];
        let meanings = responses[status]["description"].as_str().unwrap_or_else(|| panic!("no {status}"));
        // Of several codes of a status, the one that the specification names is told last.
        let meaning = meanings.rsplit(". ").next().unwrap_or_default();
        tables.push_str(&format!("| {code} | {status} | {meaning} |\n"));
    }
    tables
}

fn add_fields(document: &Value, schema: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        return add_fields(document, document.pointer(reference.trim_start_matches('#')).unwrap(), path, found);
    }
    // An optional type is null or itself.
    for choice in ["oneOf", "anyOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten() {
        add_fields(document, choice, path, found);
    }
    if schema["items"].is_object() {
        add_fields(document, &schema["items"], &format!("{path}[]"), found);
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let before = found.len();
        add_fields(document, member, &at, found);
        if found.len() == before {
            found.push(format!("`{at}`"));
        }
    }
}

/// Returns the table of the authorization server's paths in Markdown. The first cell names the row.
pub(crate) fn authorization_table() -> String {
    let mut table = "| path | what | needs |\n|---|---|---|\n".to_owned();
    for (method, path, what, needs) in ROUTES {
        table.push_str(&format!("| {method} `{path}` | {what} | {needs} |\n"));
    }
    table
}

/// The paths of the rows are those of the operations; the names of their variables are the service's own.
#[test]
fn rows_name_the_operations_of_their_paths() {
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    let words = |path: &str| -> Vec<String> {
        path.split('/').map(|word| if word.starts_with([':', '{']) { ":" } else { word }.to_owned()).collect()
    };
    for (row, id) in ROWS {
        let (wanted, path) = row.split_once(' ').unwrap();
        let (method, found, _) = operation(&document, id);
        assert_eq!((method.as_str(), words(found)), (wanted, words(&format!("/v1{path}"))), "{id}");
    }
    let table = specification_table();
    assert!(table.contains("`settings.defaultNetwork`") && table.contains("`validators[].address`"), "{table}");
}

/// Every route of the authorization server's router is in the table.
#[test]
fn every_path_of_the_authorization_server_is_listed() {
    let source = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/oauth.rs")).unwrap();
    let mut routes = 0;
    for (_, route) in source.lines().filter_map(|line| line.split_once(".route(\"")) {
        let (path, methods) = route.split_once('"').unwrap();
        let path = if path.starts_with("/.") { path.to_owned() } else { format!("/oauth{path}") };
        for (word, method) in [("get(", "GET"), ("post(", "POST")] {
            let is_listed = ROUTES.iter().any(|(of, listed, ..)| *of == method && *listed == path);
            assert_eq!(methods.contains(word), is_listed, "{method} {path}");
        }
        routes += 1;
    }
    assert!(routes > 15, "{routes}");
}
