//! The pages: forms, sessions, headers, bounds.

use core::time::Duration;

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use serde_json::json;

use super::site::{Browser, PASSWORD, REDIRECT, Site, URL};
use crate::platform::{
    DEFAULT_WORKSPACE_ID, Role, Workspace,
    records::{AuditLine, Index, SortKey},
};

const OTHER: &str = "staple correct horse";

/// Pages that everybody may load, with the form that is on each.
const FORMS: [(&str, &str); 6] = [
    ("/oauth/login", "/oauth/login"),
    ("/oauth/signup", "/oauth/signup"),
    ("/oauth/forgot", "/oauth/forgot"),
    ("/oauth/confirm?token=x", "/oauth/confirm"),
    ("/oauth/reset?token=x", "/oauth/reset"),
    ("/oauth/logout", "/oauth/logout"),
];

#[tokio::test]
async fn every_page_is_protected() {
    let site = Site::new();
    for path in FORMS.map(|(path, _)| path).into_iter().chain(["/oauth/mailbox", "/oauth/none", "/oauth/authorize"]) {
        let reply = Browser::default().get(&site, path).await;
        let policy = reply.header("content-security-policy");
        for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script"), "{policy}");
        for (name, want) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("content-type", "text/html; charset=utf-8"),
        ] {
            assert_eq!(reply.header(name), want, "{path} {name}");
        }
        assert!(!reply.body.contains("<script") && !reply.body.contains("style="), "{path}");
        // Every field that is typed in has a label.
        for tag in reply.body.split("<input").skip(1).map(|tag| tag.split('>').next().unwrap()) {
            let id = tag.split_once(" id=\"").map(|(_, rest)| rest.split('"').next().unwrap());
            let is_labelled = id.is_some_and(|id| reply.body.contains(&format!("<label for=\"{id}\"")));
            assert!(is_labelled || tag.contains("type=\"hidden\""), "{path}: {tag}");
        }
    }
    let style = Browser::default().get(&site, "/oauth/style.css").await;
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
}

#[tokio::test]
async fn a_form_without_its_browser_is_refused() {
    let site = Site::new();
    let mut ann = Browser::sign_up(&site, "ann@example.org").await;
    let forms = FORMS.into_iter().chain([("/oauth/account", "/oauth/account")]);
    for (path, action) in forms {
        let fields = [("email", "ann@example.org"), ("password", PASSWORD), ("new_password", OTHER)];
        let plain: Vec<_> = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let reply = ann.post(&site, action, &plain).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{action} without a token");
        assert!(reply.body.contains("This form has expired"), "{}", reply.body);
        // A token of another browser, and one without any cookie.
        let mut eve = Browser::default();
        let page = if path == "/oauth/account" { ann.get(&site, path).await } else { eve.get(&site, path).await };
        let token = page.body.split_once("name=\"form_token\" value=\"").unwrap().1.split('"').next().unwrap();
        let with: Vec<_> = plain.iter().cloned().chain([("form_token".to_owned(), token.to_owned())]).collect();
        let mut other = if path == "/oauth/account" { Browser::default() } else { ann.clone() };
        assert_eq!(other.post(&site, action, &with).await.status, StatusCode::FORBIDDEN, "{action}, another browser");
        assert_eq!(Browser::default().post(&site, action, &with).await.status, StatusCode::FORBIDDEN, "{action}");
    }
    for action in ["/oauth/authorize", "/oauth/invitations/accept"] {
        assert_eq!(ann.post(&site, action, &[]).await.status, StatusCode::FORBIDDEN, "{action}");
    }
    assert_eq!(ann.get(&site, "/oauth/account").await.status, StatusCode::OK, "nothing of it did anything");
    assert!(site.platform.users().log_in("ann@example.org", &crate::platform::Password::new(PASSWORD)).is_ok());
}

#[tokio::test]
async fn a_log_in_gives_a_new_cookie_that_a_log_out_ends() {
    let site = Site::new();
    let mut browser = Browser::sign_up(&site, "ann@example.org").await;
    let own = browser.get(&site, "/oauth/account").await;
    assert!(own.body.contains("ann@example.org") && own.body.contains("ann (owner)"), "{}", own.body);
    let mut second = Browser::default();
    second.get(&site, "/oauth/login").await;
    let before = second.cookie.clone();
    let reply = second.log_in(&site, "ann@example.org", PASSWORD).await;
    assert_eq!(reply.location(), "/oauth/account");
    let set = reply.header("set-cookie");
    assert!(set.starts_with("__Host-chainbox-session=cbw_"), "{set}");
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{set}");
    assert_ne!(before, second.cookie, "a session that was planted before is not carried on");
    let former = Browser { cookie: before };
    assert!(former.clone().get(&site, "/oauth/account").await.location().starts_with("/oauth/login"));
    assert_eq!(second.get(&site, "/oauth/login").await.location(), "/oauth/account");
    let ended = second.clone();
    let reply = second.submit(&site, "/oauth/account", "/oauth/logout", &[]).await;
    assert!(reply.header("set-cookie").contains("Max-Age=0"));
    assert!(ended.clone().get(&site, "/oauth/account").await.location().starts_with("/oauth/login"));
    assert_eq!(browser.get(&site, "/oauth/account").await.status, StatusCode::OK, "the other one goes on");
    site.clock.advance(Duration::from_secs(8 * 3_600));
    assert!(browser.get(&site, "/oauth/account").await.location().starts_with("/oauth/login"), "unused");

    let plain = Site::at("http://127.0.0.1:8545", true);
    let reply = Browser::default().get(&plain, "/oauth/login").await;
    let set = reply.header("set-cookie");
    assert!(set.starts_with("chainbox-session=") && set.ends_with("SameSite=Lax"), "{set}");
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_are_answered_alike_and_bounded() {
    let site = Site::new();
    Browser::sign_up(&site, "ann@example.org").await;
    let mut pages = Vec::new();
    for email in ["ann@example.org", "bob@example.org"] {
        let mut browser = Browser::default();
        for _ in 0..10 {
            let reply = browser.log_in(&site, email, OTHER).await;
            assert_eq!(reply.status, StatusCode::FORBIDDEN);
            assert!(reply.body.contains("The address of e-mail or the password is wrong."), "{}", reply.body);
        }
        let reply = browser.log_in(&site, email, PASSWORD).await;
        assert_eq!((reply.status, reply.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "900"));
        let token = reply.body.split_once("name=\"form_token\" value=\"").unwrap().1.split('"').next().unwrap();
        pages.push(reply.body.replace(token, "").replace(email, ""));
    }
    assert_eq!(pages[0], pages[1]);
    site.clock.advance(Duration::from_secs(900));
    Browser::default().log_in(&site, "ann@example.org", PASSWORD).await.location();
}

#[tokio::test]
async fn a_log_in_leads_to_no_other_server() {
    let site = Site::new();
    Browser::sign_up(&site, "ann@example.org").await;
    for (place, want) in [
        ("/oauth/logout", "/oauth/logout"),
        ("https://evil.example/oauth/", "/oauth/account"),
        ("//evil.example/oauth/", "/oauth/account"),
        ("/oauth/%5cevil", "/oauth/account"),
        ("/v1/health", "/oauth/account"),
        ("", "/oauth/account"),
    ] {
        let path = format!("/oauth/login?return_to={place}");
        let typed = [("email", "ann@example.org"), ("password", PASSWORD)];
        let reply = Browser::default().submit(&site, &path, "/oauth/login", &typed).await;
        assert_eq!(reply.location(), want, "{place}");
    }
}

#[tokio::test]
async fn a_forgotten_password_is_reset_by_mail() {
    let site = Site::new();
    let mut ann = Browser::sign_up(&site, "ann@example.org").await;
    let mut browser = Browser::default();
    let mut asked = Vec::new();
    for email in ["nobody@example.org", "ann@example.org"] {
        let reply = browser.submit(&site, "/oauth/forgot", "/oauth/forgot", &[("email", email)]).await;
        asked.push((reply.status, reply.body));
    }
    assert_eq!(asked[0], asked[1], "the pages don't tell who is known");
    let link = site.mailed_link().await;
    let reset = async |password: &str| {
        Browser::default().submit(&site, &link, "/oauth/reset", &[("new_password", password)]).await
    };
    let short = reset("short").await;
    assert_eq!(short.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(short.body.contains("expected 12 to 256 characters"), "{}", short.body);
    assert!(reset(OTHER).await.body.contains("The password is changed"));
    assert_eq!(reset(PASSWORD).await.status, StatusCode::NOT_FOUND, "the link is used up");
    assert!(ann.get(&site, "/oauth/account").await.location().starts_with("/oauth/login"), "its sessions have ended");
    assert_eq!(browser.log_in(&site, "ann@example.org", PASSWORD).await.status, StatusCode::FORBIDDEN);
    browser.log_in(&site, "ann@example.org", OTHER).await.location();
}

#[tokio::test]
async fn forms_are_shown_again_with_what_is_wrong() {
    let site = Site::new();
    let mut browser = Browser::default();
    let mut sign_up = async |email: &str, password: &str| {
        let typed = [("email", email), ("new_password", password)];
        browser.submit(&site, "/oauth/signup", "/oauth/signup", &typed).await
    };
    let wrong = sign_up("\"><script>@example.org", "short").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("role=\"alert\"") && !wrong.body.contains("<script>"), "{}", wrong.body);
    assert!(!wrong.body.contains("value=\"short\""), "a password is never sent back");
    sign_up("ann@example.org", PASSWORD).await;
    let link = site.mailed_link().await;
    let reply = browser.submit(&site, &link, "/oauth/confirm", &[("password", OTHER)]).await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN);
    assert!(reply.body.contains("not the password of the sign-up"), "{}", reply.body);
    let reply = browser.fill(&site, &reply, "/oauth/confirm", &[("password", PASSWORD)]).await;
    assert_eq!(reply.location(), "/oauth/account");
    let reply = Browser::default().submit(&site, &link, "/oauth/confirm", &[("password", PASSWORD)]).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND, "the link is used up");
    let change = [("password", OTHER), ("new_password", OTHER)];
    let reply = browser.submit(&site, "/oauth/account", "/oauth/account", &change).await;
    assert!(reply.body.contains("The present password is wrong."), "{}", reply.body);
    let told = "applications must ask for access again, and the API keys that they made are revoked.";
    assert!(reply.body.contains(told), "what a change ends is told before: {}", reply.body);
    let change = [("password", PASSWORD), ("new_password", OTHER)];
    let reply = browser.submit(&site, "/oauth/account", "/oauth/account", &change).await;
    assert!(reply.body.contains("The password is changed") && reply.body.contains(told), "{}", reply.body);
}

#[tokio::test]
async fn an_invitation_is_accepted_by_the_invited_one() {
    let site = Site::new();
    let (workspaces, service) = (site.platform.workspaces(), site.platform.service_principal());
    let members = workspaces.members();
    site.platform.unit(|unit| members.invite(unit, &service, "bob@example.org", Role::Developer)).unwrap();
    let link = site.mailed_link().await;
    let login = Browser::default().get(&site, &link).await;
    let back = login.redirected("return_to").unwrap();
    assert_eq!(back, link, "who is not logged in comes back after the log-in");
    let mut eve = Browser::sign_up(&site, "eve@example.org").await;
    let page = eve.get(&site, &link).await;
    assert!(page.body.contains("This invitation is for <strong>bob@example.org</strong>"), "{}", page.body);
    let own = eve.get(&site, "/oauth/account").await;
    let token = link.split_once("token=").unwrap().1;
    let form = own.body.split_once("name=\"form_token\" value=\"").unwrap().1.split('"').next().unwrap();
    let fields = [("form_token", form), ("token", token)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let refused = eve.post(&site, "/oauth/invitations/accept", &fields).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "the mail was passed on");
    let mut bob = Browser::sign_up(&site, "bob@example.org").await;
    let page = bob.get(&site, &link).await;
    assert!(page.body.contains("<strong>default</strong> as <strong>developer</strong>"), "{}", page.body);
    let accepted = bob.fill(&site, &page, "/oauth/invitations/accept", &[]).await;
    assert_eq!(accepted.location(), "/oauth/account");
    assert!(bob.get(&site, "/oauth/account").await.body.contains("default (developer)"));
    assert_eq!(bob.get(&site, &link).await.status, StatusCode::NOT_FOUND, "it is used up");
}

#[tokio::test]
async fn the_first_user_signs_up_with_the_consoles_token() {
    let site = Site::at(URL, false);
    let token = site.platform.users().bootstrap_token().unwrap().unwrap();
    site.platform.users().by_identity("https://id.example", "1", Some("eve@example.org")).unwrap();
    let mut browser = Browser::default();
    let theirs = [("email", "eve@example.org"), ("new_password", PASSWORD), ("bootstrap_token", token.text())];
    let refused = browser.submit(&site, "/oauth/signup", "/oauth/signup", &theirs).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("the password of the account that this address has already"), "{}", refused.body);
    let typed = |token| [("email", "root@example.org"), ("new_password", PASSWORD), ("bootstrap_token", token)];
    let wrong = browser.submit(&site, "/oauth/signup", "/oauth/signup", &typed("guessed")).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let reply = browser.fill(&site, &wrong, "/oauth/signup", &typed(token.text())).await;
    assert_eq!(reply.location(), "/oauth/account");
    assert!(browser.get(&site, "/oauth/account").await.body.contains(DEFAULT_WORKSPACE_ID));
    let page = Browser::default().get(&site, "/oauth/signup").await;
    assert!(!page.body.contains("bootstrap_token"), "the next one is nobody special");
    assert_eq!(Browser::default().get(&site, "/oauth/mailbox").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_people_do_is_in_the_audit_log_with_their_address() {
    let client = std::net::IpAddr::from([203, 0, 113, 7]);
    let site = Site::new().reached_from(client);
    let (members, service) = (site.platform.workspaces().members(), site.platform.service_principal());
    site.platform.unit(|unit| members.invite(unit, &service, "ann@example.org", Role::Owner)).unwrap();
    let link = site.mailed_link().await;
    let mut ann = Browser::sign_up(&site, "ann@example.org").await;
    ann.submit(&site, &link, "/oauth/invitations/accept", &[]).await.location();
    let typed = [("name", "ci"), ("workspace", DEFAULT_WORKSPACE_ID), ("scope", "workspace:write")];
    let made = ann.submit(&site, "/oauth/account", "/oauth/account/api-keys", &typed).await;
    let (_, rest) = made.body.split_once("<code>cbx_").expect("a key");
    let key = format!("cbx_{}", rest.split_once('<').unwrap().0);
    let metadata = json!({ "client_name": "App", "redirect_uris": [REDIRECT] }).to_string();
    let request = Request::post("/oauth/register").header("x-api-key", key).body(Body::from(metadata)).unwrap();
    let registered = site.send(request).await;
    assert_eq!(registered.status, StatusCode::CREATED, "{}", registered.body);
    let lines = site.platform.records().of::<AuditLine>();
    let lines = lines.all(&Index::CREATED, &service.owner(), &SortKey::new()).unwrap();
    for action in ["member.accept", "key.create", "oauth-client.register"] {
        let line = lines.iter().find(|line| line.value.action == action).expect(action);
        assert_eq!(line.value.client, Some(client), "{action} of {}", line.value.subject);
    }
}

#[tokio::test]
async fn the_mailbox_shows_mails_as_text() {
    let site = Site::new();
    let mut ann = Browser::sign_up(&site, "ann@example.org").await;
    let user = site.platform.users().log_in("ann@example.org", &crate::platform::Password::new(PASSWORD)).unwrap();
    let named = Workspace::named("<b>bold</b>");
    let workspace = site.platform.unit(|unit| site.platform.workspaces().create(unit, user.id(), named)).unwrap();
    let id = workspace.owner().workspace().unwrap();
    let owner = site.platform.workspaces().principal(user.id(), id).unwrap().unwrap();
    let members = site.platform.workspaces().members();
    site.platform.unit(|unit| members.invite(unit, &owner, "bob@example.org", Role::Viewer)).unwrap();
    let page = ann.get(&site, "/oauth/mailbox").await;
    assert!(page.body.contains("Invitation to the workspace &quot;&lt;b&gt;bold"), "{}", page.body);
    assert!(page.body.contains("<a href=\"https://chain.example/oauth/invitations/accept?token="), "{}", page.body);
}

#[tokio::test]
async fn an_api_key_is_made_on_ones_own_page_and_shown_once() {
    let site = Site::new();
    let mut ann = Browser::sign_up(&site, "ann@example.org").await;
    let page = ann.get(&site, "/oauth/account").await;
    let user = site.platform.users().log_in("ann@example.org", &crate::platform::Password::new(PASSWORD)).unwrap();
    let own = site.platform.users().memberships(&user).unwrap()[0].workspace.to_string();
    assert!(page.body.contains(&format!("<option value=\"{own}\">")), "{}", page.body);
    let typed = |workspace, scope| [("name", "ci"), ("workspace", workspace), ("scope", scope)];
    for (workspace, scope, status) in [
        (DEFAULT_WORKSPACE_ID, "admin", StatusCode::NOT_FOUND),
        (own.as_str(), "everything", StatusCode::UNPROCESSABLE_ENTITY),
        (own.as_str(), " ", StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let refused = ann.fill(&site, &page, "/oauth/account/api-keys", &typed(workspace, scope)).await;
        assert_eq!(refused.status, status, "{workspace} {scope}: {}", refused.body);
    }
    let made = ann.fill(&site, &page, "/oauth/account/api-keys", &typed(&own, "blockchain:read workspace:read")).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.body);
    let (_, rest) = made.body.split_once("<code>cbx_").unwrap();
    let key = format!("cbx_{}", rest.split_once('<').unwrap().0);
    let principal = site.platform.api_keys().authenticate(&key).unwrap().unwrap();
    assert_eq!((principal.workspace().as_str(), principal.scopes().iter().count()), (own.as_str(), 2));
    assert!(!ann.get(&site, "/oauth/account").await.body.contains(&key));
    let stranger = Browser::default().fill(&site, &page, "/oauth/account/api-keys", &typed(&own, "admin")).await;
    assert_eq!(stranger.status, StatusCode::FORBIDDEN, "{}", stranger.body);
}
