//! The authorization server beside the service: an access token of the code flow is a credential of every endpoint.

use std::sync::Arc;

use chainbox::{node::Node, platform::Mailbox};

use crate::http::Service;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[tokio::test]
async fn its_paths_are_served_with_and_without_version() {
    let service = Service::with(Node::new(), |config| config.with_mailbox(Arc::new(Mailbox::default()))).await;
    let metadata = service.send("GET", "/.well-known/oauth-authorization-server", &[], "").await;
    assert_eq!(metadata.status, 200, "{}", metadata.body);
    assert_eq!(metadata.json()["issuer"], format!("http://{}", service.address));
    for prefix in ["/oauth", "/v1/oauth"] {
        let page = service.send("GET", &format!("{prefix}/login"), &[], "").await;
        assert_eq!(page.status, 200, "{prefix}");
        assert!(page.header("content-security-policy").is_some());
        let refused = service.send("POST", &format!("{prefix}/token"), &[FORM], "grant_type=authorization_code").await;
        assert_eq!(
            (refused.status, refused.json()["error"].as_str()),
            (401, Some("invalid_client")),
            "{}",
            refused.body
        );
        assert_eq!(refused.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn another_method_than_post_is_refused_in_the_form_of_the_standard() {
    let service = Service::start().await;
    for path in ["/oauth/token", "/v1/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/register"] {
        for method in ["GET", "PUT", "DELETE"] {
            let refused = service.send(method, path, &[], "").await;
            assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")), "{method} {path}");
            let body = refused.json();
            assert_eq!(body["error"], "invalid_request", "{method} {path}: {body}");
            assert!(
                body["error_description"].as_str().unwrap().contains(&format!("{method} is not allowed")),
                "{body}"
            );
            assert_eq!(refused.header("cache-control"), Some("no-store"));
        }
    }
}

#[tokio::test]
async fn an_unknown_bearer_is_401_on_endpoints() {
    let service = Service::start().await;
    for token in ["cbt_unknown", "anything"] {
        let bearer = format!("Bearer {token}");
        let reply = service.send("GET", "/v1/workspaces", &[("authorization", &bearer)], "").await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (401, Some("UNAUTHORIZED")));
    }
}

/// A form of a page under the public URL is taken although the server listens elsewhere.
#[tokio::test]
async fn the_public_urls_name_and_origin_are_accepted() {
    let url = chainbox::platform::PublicUrl::new("https://chains.example.com").unwrap();
    let service = Service::with(Node::new(), |config| config.with_public_url(url)).await;
    let headers = [("host", "chains.example.com"), ("origin", "https://chains.example.com"), FORM];
    let refused = service.send("POST", "/oauth/token", &headers, "grant_type=authorization_code").await;
    assert_eq!(refused.status, 401, "{}", refused.body);
    let foreign = [("host", "evil.example.com"), FORM];
    assert_eq!(service.send("POST", "/oauth/token", &foreign, "").await.status, 403);
}
