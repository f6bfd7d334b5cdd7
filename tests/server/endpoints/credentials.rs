//! Every endpoint with no credentials, wrong, old, withdrawn and doubled ones, without each of its scopes and with them alone: as an API key in
//! either header, and as an access token of OAuth 2.0.

use core::time::Duration;
use std::{collections::BTreeMap, sync::Arc};

use chainbox::{
    node::ManualClock,
    platform::{
        ClientRegistration, DEFAULT_WORKSPACE_ID, OAuthClient, Parameters, Platform, PublicUrl, Role, Scope, ScopeSet,
        records::{Stored, WorkspaceId},
        scope_text,
    },
    primitives::Timestamp,
};
use serde_json::json;

use super::{Operation, check, details, key_with};
use crate::http::Service;

const REDIRECT: &str = "https://app.example/cb";

/// An application that acts for an owner of the default workspace.
pub(super) struct Application<'a> {
    platform: &'a Platform,
    client: Stored<OAuthClient>,
    user: String,
}

impl<'a> Application<'a> {
    pub(super) fn new(platform: &'a Platform) -> Self {
        let me = platform.service_principal();
        let user = platform.users().by_identity("https://id.example", "owner", Some("owner@example.org")).unwrap();
        let members = platform.workspaces().members();
        let (_, token) = platform.unit(|unit| members.invite(unit, &me, "owner@example.org", Role::Owner)).unwrap();
        platform.unit(|unit| members.accept(unit, user.id(), token.text())).unwrap();
        let scopes: Vec<&str> = Scope::ALL.into_iter().map(Scope::name).collect();
        let registration = ClientRegistration::read(&json!({
            "client_name": "Walker", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_post",
            "scope": scopes.join(" "),
        }));
        let (client, _) = platform.unit(|unit| platform.oauth().register(unit, &me, registration.unwrap())).unwrap();
        Self { platform, client, user: user.id().to_owned() }
    }

    /// Returns an access token with these scopes, by a code.
    pub(super) fn token(&self, scopes: impl IntoIterator<Item = Scope>) -> String {
        let (oauth, issuer) = (self.platform.oauth(), PublicUrl::new("https://chain.example").unwrap());
        let wanted: ScopeSet = scopes.into_iter().collect();
        let query = format!(
            "client_id={}&redirect_uri={REDIRECT}&response_type=code&state=s&scope={}",
            self.client.id(),
            scope_text(&wanted).replace(' ', "+")
        );
        let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &issuer).unwrap();
        let home = WorkspaceId::new(DEFAULT_WORKSPACE_ID).unwrap();
        let location = oauth.authorize(&request, &self.user, &home, &issuer).ok().unwrap().location;
        let (_, code) = location.split_once("code=").unwrap();
        let code = code.split('&').next().unwrap();
        let form = format!("grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}");
        let answer = oauth.token(&self.client, &Parameters::read(form.as_bytes())).ok().unwrap();
        // The scope admin is all of them.
        assert!(wanted.beyond(&answer.scopes).is_empty(), "the grant has what was asked for");
        assert!(wanted.allows(Scope::Admin) || answer.scopes.beyond(&wanted).is_empty(), "and no more");
        answer.access_token.text().to_owned()
    }

    fn revoke(&self, token: &str) {
        self.platform.oauth().revoke(&self.client, token).unwrap();
    }
}

fn revoked_key(service: &Service) -> String {
    let platform = &service.platform;
    let key = key_with(service, [Scope::Admin], None);
    let me = platform.service_principal();
    let id = platform.api_keys().authenticate(&key).unwrap().unwrap().subject().to_string();
    let id = id.split_once(':').map_or(id.as_str(), |(_, id)| id).to_owned();
    platform.unit(|unit| platform.api_keys().revoke(unit, &me, &id)).unwrap();
    key
}

#[tokio::test]
async fn every_endpoint_needs_its_credentials_and_its_scope() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let service = Service::timed(clock.clone()).await;
    let (document, operations) = Operation::all();
    let application = Application::new(&service.platform);
    let expired_key = key_with(&service, [Scope::Admin], Some(60_000));
    let expired_token = application.token([Scope::Admin]);
    // An access token lives for an hour.
    clock.advance(Duration::from_secs(3_600));
    let (revoked_key, revoked_token) = (revoked_key(&service), application.token([Scope::Admin]));
    application.revoke(&revoked_token);
    let token = application.token([Scope::Admin]);
    let bearer = |value: &str| ("authorization", format!("Bearer {value}"));
    let in_header = |value: &str| ("x-api-key", value.to_owned());
    let refused = [
        ("none", vec![]),
        ("a wrong bearer", vec![bearer("cbx_wrong")]),
        ("a wrong key", vec![in_header("cbx_wrong")]),
        ("an access token that nobody has", vec![bearer("cbt_wrong")]),
        ("an access token as a key", vec![in_header(&token)]),
        ("basic", vec![("authorization", "Basic abc".to_owned())]),
        ("no token", vec![("authorization", "Bearer".to_owned())]),
        ("an expired key", vec![in_header(&expired_key)]),
        ("an expired key as a bearer", vec![bearer(&expired_key)]),
        ("a revoked key", vec![in_header(&revoked_key)]),
        ("a revoked key as a bearer", vec![bearer(&revoked_key)]),
        ("an expired access token", vec![bearer(&expired_token)]),
        ("a revoked access token", vec![bearer(&revoked_token)]),
    ];
    let doubled = [
        ("a key twice", vec![in_header(&service.api_key), bearer(&service.api_key)]),
        ("a key and an access token", vec![in_header(&service.api_key), bearer(&token)]),
        ("a key and a wrong bearer", vec![in_header(&service.api_key), bearer("cbx_wrong")]),
    ];
    let send = async |operation: &Operation, headers: &[(&str, String)], body: &str| {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        operation.send(&service, &headers, body).await
    };
    for operation in &operations {
        if operation.is_public() {
            let reply = operation.send(&service, &[], "").await;
            assert_eq!(reply.status, 200, "{}: {}", operation.name(), reply.body);
            check(&document, operation, &reply);
            continue;
        }
        let all = refused.iter().map(|case| (case, 401)).chain(doubled.iter().map(|case| (case, 400)));
        for ((what, headers), status) in all {
            let reply = send(operation, headers, &operation.body()).await;
            assert_eq!(reply.status, status, "{} with {what}: {}", operation.name(), reply.body);
            assert_eq!(reply.header("www-authenticate").is_some(), status == 401, "{}", operation.name());
        }
    }
    let others =
        |scope: Scope| Scope::ALL.into_iter().filter(move |other| !matches!(other, Scope::Admin) && *other != scope);
    for scope in Scope::ALL {
        let (without, token_without) = (key_with(&service, others(scope), None), application.token(others(scope)));
        let mut with: BTreeMap<Vec<Scope>, (String, String)> = BTreeMap::new();
        for operation in operations.iter().filter(|operation| operation.scopes().contains(&scope)) {
            let needed = operation.scopes();
            let (with, token_with) = &*with.entry(needed.clone()).or_insert_with(|| {
                (key_with(&service, needed.iter().copied(), None), application.token(needed.iter().copied()))
            });
            let takes_key = operation.value["security"].as_array().unwrap().iter().any(|one| one["apiKey"].is_array());
            for headers in [[bearer(&without)], [bearer(&token_without)], [in_header(&without)]] {
                let reply = send(operation, &headers, &operation.body()).await;
                if headers[0].0 == "x-api-key" && !takes_key {
                    assert_eq!(reply.status, 401, "{}: {}", operation.name(), reply.body);
                    continue;
                }
                assert_eq!(reply.status, 403, "{}: {}", operation.name(), reply.body);
                assert_eq!(details(&reply)["requiredScope"], scope.name());
                check(&document, operation, &reply);
            }
            for headers in [[bearer(with)], [bearer(token_with)], [in_header(with)]] {
                let reply = send(operation, &headers, "").await;
                // The member of its path is another than who asks, for which it may need more.
                let needs_more = operation.name() == "removeMember";
                let is_refused = needs_more || headers[0].0 == "x-api-key" && !takes_key;
                assert_eq!(matches!(reply.status, 401 | 403), is_refused, "{}: {}", operation.name(), reply.body);
            }
        }
    }
}

/// Each of several scopes alone, with a body that would do, is refused by the name of the first that is missing; all of them together do it.
#[tokio::test]
async fn an_endpoint_of_several_scopes_needs_them_all() {
    let service = Service::start().await;
    let (document, operations) = Operation::all();
    let application = Application::new(&service.platform);
    let mut walked = Vec::new();
    for operation in operations.iter().filter(|operation| operation.scopes().len() > 1) {
        let needed = operation.scopes();
        let send = async |credential: &str| {
            let bearer = format!("Bearer {credential}");
            let reply = operation.send(&service, &[("authorization", bearer.as_str())], &operation.body()).await;
            check(&document, operation, &reply);
            reply
        };
        for scope in &needed {
            let missing = needed.iter().find(|other| *other != scope).unwrap();
            for credential in [key_with(&service, [*scope], None), application.token([*scope])] {
                let reply = send(&credential).await;
                assert_eq!(reply.status, 403, "{} with {}: {}", operation.name(), scope.name(), reply.body);
                assert_eq!(details(&reply)["requiredScope"], missing.name(), "{}", reply.body);
            }
        }
        let all = || needed.iter().copied();
        for credential in [key_with(&service, all(), None), application.token(all())] {
            let reply = send(&credential).await;
            assert_eq!(reply.status, 201, "{}: {}", operation.name(), reply.body);
        }
        walked.push(operation.name());
    }
    assert_eq!(walked, ["createProject"]);
}
