//! The paths of the authorization server, each once, by a person with a browser at the real binary.

use serde_json::json;

use crate::{
    person::{PASSWORD, Person},
    serving::send,
    specification::{Site, access_token},
};

const EMAIL: &str = "ann@example.org";

#[test]
fn a_person_goes_through_every_page() {
    let site = Site::start();
    let plain = |path: &str| send(&site.address, "GET", path, "", "").unwrap();
    assert_eq!(plain("/oauth/style.css").status, 200);
    assert_eq!(plain("/.well-known/oauth-authorization-server").json()["issuer"], format!("http://{}", site.address));
    for path in ["/oauth/signup", "/oauth/confirm?token=none", "/oauth/mailbox"] {
        assert_eq!(plain(path).status, 200, "{path}");
    }
    // No provider is configured.
    for path in ["/oauth/openid/none", "/oauth/openid/none/callback"] {
        assert_eq!(plain(path).status, 404, "{path}");
    }
    let mut person = Person::at(&site.address);
    assert_eq!(person.get("/oauth/account").location(), Some("/oauth/login?return_to=%2foauth%2faccount"));
    person.signs_up(EMAIL);
    let account = person.get("/oauth/account");
    assert!(account.status == 200 && account.body.contains(EMAIL), "{}", account.body);

    let made = person.submit(&account, "/oauth/account/api-keys", &[("name", "ci"), ("scope", "workspace:read")]);
    let (_, key) = made.body.split_once("<code>cbx_").unwrap_or_else(|| panic!("{}", made.body));
    let header = format!("x-api-key: cbx_{}\r\n", key.split('<').next().unwrap());
    assert_eq!(send(&site.address, "GET", "/v1/workspaces", &header, "").unwrap().status, 200);

    let another = "another correct horse";
    let changed = person.submit(&account, "/oauth/account", &[("password", PASSWORD), ("new_password", another)]);
    assert!(changed.status == 200 && changed.body.contains("is changed"), "{}", changed.body);

    site.make("/v1/workspaces/ws_default/invitations", json!({ "email": EMAIL, "role": "viewer" }));
    let link = person.mailed_link(EMAIL, "/oauth/invitations/accept");
    let invitation = person.get(&link);
    let accepted = person.submit(&invitation, "/oauth/invitations/accept", &[]);
    assert_eq!(accepted.location(), Some("/oauth/account"), "{}", accepted.body);
    assert!(person.get("/oauth/account").body.contains("ws_default"));

    let (token, credentials) = access_token(&site, &mut person);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let body = format!("token={token}&{credentials}");
    let is_active = || send(&site.address, "POST", "/oauth/introspect", form, &body).unwrap().json()["active"].clone();
    assert_eq!(is_active(), true);
    assert_eq!(send(&site.address, "POST", "/oauth/revoke", form, &body).unwrap().status, 200);
    assert_eq!(is_active(), false);
    // Without the version, too; the code is used up.
    let again = format!("grant_type=authorization_code&code=cbc_none&{credentials}");
    let refused = send(&site.address, "POST", "/oauth/token", form, &again).unwrap();
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_grant")), "{}", refused.body);

    let page = person.get("/oauth/logout");
    assert_eq!(person.submit(&page, "/oauth/logout", &[]).location(), Some("/oauth/login"));
    let page = person.get("/oauth/login");
    let wrong = person.submit(&page, "/oauth/login", &[("email", EMAIL), ("password", PASSWORD)]);
    assert!(wrong.status == 401 || wrong.status == 403, "{}: {}", wrong.status, wrong.body);
    let page = person.get("/oauth/login");
    let entered = person.submit(&page, "/oauth/login", &[("email", EMAIL), ("password", another)]);
    assert_eq!(entered.location(), Some("/oauth/account"), "{}", entered.body);

    let page = person.get("/oauth/forgot");
    assert_eq!(person.submit(&page, "/oauth/forgot", &[("email", EMAIL)]).status, 200);
    let link = person.mailed_link(EMAIL, "/oauth/reset");
    let page = person.get(&link);
    let reset = person.submit(&page, "/oauth/reset", &[("new_password", PASSWORD)]);
    assert!(reset.status == 200 && reset.body.contains("is changed"), "{}", reset.body);
    let page = person.get("/oauth/login");
    let entered = person.submit(&page, "/oauth/login", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(entered.location(), Some("/oauth/account"), "{}", entered.body);
}
