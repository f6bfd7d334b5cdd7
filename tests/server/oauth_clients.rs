//! OAuth clients of a workspace by the service's routes.

use serde_json::{Value, json};

use crate::{endpoints::check_answer, http::Service};

async fn register(service: &Service, client: Value) -> Value {
    let bearer = format!("Bearer {}", service.api_key);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let reply = service.send("POST", "/oauth/register", &headers, &client.to_string()).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()
}

#[tokio::test]
async fn clients_are_listed_without_their_secrets_and_end_when_they_are_deleted() {
    let service = Service::start().await;
    let uris = json!(["https://app.example/back"]);
    let kept = register(&service, json!({ "client_name": "kept", "redirect_uris": uris })).await;
    let public = json!({ "client_name": "public", "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let public = register(&service, public).await;
    let secret = kept["client_secret"].as_str().unwrap();
    let list = service.rest("GET", "/v1/oauth-clients", Value::Null).await;
    check_answer("listOAuthClients", &list);
    let clients = list.json()["data"].clone();
    assert_eq!([&clients[0]["id"], &clients[1]["id"]], [&kept["client_id"], &public["client_id"]]);
    assert_eq!([&clients[0]["public"], &clients[1]["public"]], [&json!(false), &json!(true)]);
    let path = format!("/v1/oauth-clients/{}", kept["client_id"].as_str().unwrap());
    let one = service.rest("GET", &path, Value::Null).await;
    check_answer("getOAuthClient", &one);
    assert_eq!(one.json()["data"], clients[0]);
    assert_eq!((&clients[0]["name"], &clients[0]["redirectUris"]), (&json!("kept"), &uris));
    assert!(![&list.body, &one.body].iter().any(|body| body.contains(secret) || body.contains("ecret")));
    let introspect = async || {
        let form = format!("token=x&client_id={}&client_secret={secret}", kept["client_id"].as_str().unwrap());
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        service.send("POST", "/oauth/introspect", &headers, &form).await.status
    };
    assert_eq!(introspect().await, 200);
    let gone = service.rest("DELETE", &path, Value::Null).await;
    assert_eq!((gone.status, &gone.json()["data"]["deleted"]), (200, &json!(true)), "{}", gone.body);
    check_answer("deleteOAuthClient", &gone);
    assert_eq!(introspect().await, 401, "it is no client any more");
    assert_eq!(service.rest("GET", &path, Value::Null).await.status, 404);
    assert_eq!(service.rest("DELETE", &path, Value::Null).await.status, 404);
    let left = service.rest("GET", "/v1/oauth-clients", Value::Null).await.json()["data"].clone();
    assert_eq!(left.as_array().unwrap().len(), 1);
}
