//! The endpoints of clients: errors, registration, discovery.

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use base64ct::{Base64, Encoding as _};
use serde_json::{Value, json};

use super::site::{REDIRECT, Site, URL};
use crate::platform::Scope;

#[tokio::test]
async fn errors_have_the_standards_bodies() {
    let site = Site::new();
    let (client, secret) = site.client("client_secret_post").await;
    let (public, _) = site.client("none").await;
    let secret = secret.unwrap();
    let (bad, unauthorized) = (StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED);
    let own = format!("client_id={client}&client_secret={secret}");
    for (path, form, status, error) in [
        ("token", String::new(), unauthorized, "invalid_client"),
        ("token", format!("client_id={client}&grant_type=authorization_code"), unauthorized, "invalid_client"),
        ("token", format!("client_id={client}&client_secret=x"), unauthorized, "invalid_client"),
        ("token", format!("client_id={public}&client_secret=x"), unauthorized, "invalid_client"),
        ("token", "client_id=cli_none".to_owned(), unauthorized, "invalid_client"),
        ("token", own.clone(), bad, "invalid_request"),
        ("token", format!("{own}&grant_type=authorization_code"), bad, "invalid_request"),
        ("token", format!("{own}&grant_type=password&username=a&password=b"), bad, "unsupported_grant_type"),
        ("token", format!("{own}&grant_type=refresh_token&grant_type=refresh_token"), bad, "invalid_request"),
        ("token", format!("{own}&grant_type=refresh_token&refresh_token=x&client_id={client}"), bad, "invalid_request"),
        ("token", format!("{own}&grant_type=refresh_token&refresh_token=x"), bad, "invalid_grant"),
        ("token", format!("{own}&grant_type=refresh_token&refresh_token=x&scope=x"), bad, "invalid_scope"),
        ("token", format!("{own}&grant_type=authorization_code&code=x&resource=a&resource=b"), bad, "invalid_grant"),
        ("revoke", own.clone(), bad, "invalid_request"),
        ("revoke", "token=x".to_owned(), unauthorized, "invalid_client"),
        ("introspect", format!("client_id={public}&token=x"), unauthorized, "invalid_client"),
        ("introspect", own.clone(), bad, "invalid_request"),
        ("token", "x".repeat(70_000), bad, "invalid_request"),
    ] {
        let reply = site.form(&format!("/oauth/{path}"), None, &form).await;
        assert_eq!((reply.status, reply.json()["error"].as_str().unwrap()), (status, error), "{path} {:.200}", form);
        assert_eq!((reply.header("cache-control"), reply.header("pragma")), ("no-store", "no-cache"), "{path}");
        assert_eq!(reply.header("www-authenticate").is_empty(), status != unauthorized, "{path}");
        assert!(!reply.json()["error_description"].as_str().unwrap().is_empty());
    }
    let basic = format!("Basic {}", Base64::encode_string(format!("{client}:{secret}").as_bytes()));
    let reply = site.form("/oauth/token", Some(&basic), &own).await;
    assert_eq!(reply.json()["error"], "invalid_request", "two methods at once");
    let request = Request::post("/oauth/token").header(header::CONTENT_TYPE, "application/json");
    let reply = site.send(request.body(Body::from("{}")).unwrap()).await;
    assert_eq!((reply.status, &reply.json()["error"]), (bad, &"invalid_request".into()));
    let reply = site.send(Request::get("/oauth/token").body(Body::empty()).unwrap()).await;
    assert_eq!((reply.status, reply.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
}

#[tokio::test]
async fn a_client_is_registered_with_workspace_write_alone() {
    let site = Site::new();
    let metadata = json!({ "client_name": "App", "redirect_uris": [REDIRECT], "software_id": "ignored" });
    let key = |scopes: &[Scope]| site.platform.create_api_key("k", scopes).unwrap().text().to_owned();
    let (writer, reader) = (key(&[Scope::WorkspaceWrite]), key(&[Scope::WorkspaceRead]));
    let (bearer, x_api_key) = (format!("Bearer {writer}"), writer.as_str());
    let low = format!("Bearer {reader}");
    for (headers, status, error) in [
        (vec![], StatusCode::UNAUTHORIZED, "invalid_token"),
        (vec![("authorization", "Bearer cbt_x")], StatusCode::UNAUTHORIZED, "invalid_token"),
        (vec![("authorization", "Basic eDp5")], StatusCode::UNAUTHORIZED, "invalid_token"),
        (vec![("authorization", low.as_str())], StatusCode::FORBIDDEN, "insufficient_scope"),
        (
            vec![("authorization", bearer.as_str()), ("x-api-key", x_api_key)],
            StatusCode::BAD_REQUEST,
            "invalid_request",
        ),
        (vec![("authorization", bearer.as_str())], StatusCode::CREATED, ""),
        (vec![("x-api-key", x_api_key)], StatusCode::CREATED, ""),
    ] {
        let request = headers
            .iter()
            .fold(Request::post("/oauth/register"), |request, (name, value)| request.header(*name, *value));
        let reply = site.send(request.body(Body::from(metadata.to_string())).unwrap()).await;
        let body = reply.json();
        assert_eq!(
            (reply.status, body.get("error").and_then(Value::as_str).unwrap_or_default()),
            (status, error),
            "{headers:?}: {}",
            reply.body
        );
        let challenges = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        assert_eq!(reply.header("www-authenticate").starts_with("Bearer"), challenges);
        assert_eq!(reply.header("cache-control"), "no-store");
    }
    for (metadata, error) in [
        (json!({ "client_name": "App" }), "invalid_redirect_uri"),
        (json!({ "client_name": "App", "redirect_uris": ["http://app.example/"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": [REDIRECT] }), "invalid_client_metadata"),
        (json!("text"), "invalid_client_metadata"),
    ] {
        let reply = site.register(&metadata).await;
        assert_eq!(
            (reply.status, reply.json()["error"].as_str()),
            (StatusCode::BAD_REQUEST, Some(error)),
            "{metadata}"
        );
    }
}

#[tokio::test]
async fn the_metadata_names_endpoints_that_are_there() {
    let site = Site::new();
    let reply = site.send(Request::get("/.well-known/oauth-authorization-server").body(Body::empty()).unwrap()).await;
    let metadata = reply.json();
    assert_eq!((reply.status, &metadata["issuer"]), (StatusCode::OK, &URL.into()));
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
    let endpoints = metadata.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint"));
    let mut count = 0;
    for (name, link) in endpoints {
        let path = link.as_str().unwrap().strip_prefix(URL).unwrap();
        for path in [path.to_owned(), format!("/v1{path}")] {
            let reply = site.form(&path, None, "").await;
            assert!(reply.status != StatusCode::NOT_FOUND && reply.status != StatusCode::METHOD_NOT_ALLOWED, "{name}");
        }
        count += 1;
    }
    assert_eq!(count, 5);
}
