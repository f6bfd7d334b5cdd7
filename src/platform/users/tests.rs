//! Tests of users, sessions and mails, and the world that the tests of the authorization server share.

use core::{num::NonZeroUsize, time::Duration};
use std::sync::Arc;

use serde_json::json;

use crate::{
    node::{ManualClock, Node},
    platform::{
        Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, DEFAULT_WORKSPACE_ID, Identity, Mailbox, Member, Password,
        PasswordCost, Platform, PlatformError, PublicUrl, Role, Session, User, Workspace,
        attempts::{Attempts, Bounded},
        records::{AuditLine, Index, Owner, PageRequest, RecordError, SortKey, Stored, Unit, WorkspaceId},
        users::MailedToken,
        vault::SealedSecret,
    },
    primitives::Timestamp,
    store::{KeyValue, MemoryStore, suite},
};

pub(in crate::platform) const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "staple correct horse";
const HOUR: Duration = Duration::from_secs(3_600);

pub(in crate::platform) struct World {
    pub(in crate::platform) clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    pub(in crate::platform) platform: Platform,
    mailbox: Mailbox,
}

fn password(text: &str) -> Password {
    Password::new(text)
}

pub(in crate::platform) fn url() -> PublicUrl {
    PublicUrl::new("https://chain.example").unwrap()
}

pub(in crate::platform) fn many() -> PageRequest {
    PageRequest::first(NonZeroUsize::new(100).unwrap())
}

impl World {
    pub(in crate::platform) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let store = Arc::new(MemoryStore::new());
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let kept: Arc<dyn KeyValue> = store.clone();
        let cost = PasswordCost { memory_kib: 8, iterations: 1, lanes: 1 };
        let builder = Platform::builder(clock.clone()).with_store(kept).with_password_cost(cost);
        Self { clock, store, platform: builder.open(chain).unwrap(), mailbox: Mailbox::default() }
    }

    /// Delivers what is due; returns the mails.
    fn mails(&self) -> Vec<crate::platform::Mail> {
        self.platform.mails().deliver_to(&self.mailbox, &url(), &many()).unwrap()
    }

    /// Delivers one mail; returns its token.
    fn mailed_token(&self) -> String {
        let mails = self.mails();
        assert_eq!(mails.len(), 1);
        token_in(&mails[0].body)
    }

    /// A user with the password of these tests.
    pub(in crate::platform) fn user(&self, email: &str) -> Stored<User> {
        self.platform.users().sign_up(email, &password(PASSWORD)).unwrap();
        let token = self.mailed_token();
        self.platform.users().confirm(&token, &password(PASSWORD)).unwrap()
    }

    fn log_in(&self, email: &str, text: &str) -> Result<Stored<User>, PlatformError> {
        self.platform.users().log_in(email, &password(text))
    }

    /// Everything in the store, as bytes.
    pub(in crate::platform) fn bytes(&self) -> Vec<u8> {
        suite::dump(&*self.store).into_iter().flat_map(|(_, key, value)| [key, value].concat()).collect()
    }

    fn is_stored(&self, text: &str) -> bool {
        self.bytes().windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn token_in(body: &str) -> String {
    let (_, rest) = body.split_once("?token=").expect("a link with a token");
    rest.split_whitespace().next().unwrap().to_owned()
}

fn not_found<T>(result: Result<T, PlatformError>) -> bool {
    matches!(result, Err(PlatformError::NotFound { .. }))
}

fn home(user: &Stored<User>) -> WorkspaceId {
    user.value.home.clone().unwrap()
}

#[test]
fn a_sign_up_becomes_a_user_by_its_mail_and_its_password() {
    let world = World::new();
    let users = world.platform.users();
    users.sign_up("Ann@Example.org", &password(PASSWORD)).unwrap();
    assert_eq!(world.platform.records().verify::<User>().unwrap(), 0, "the address is not confirmed");
    assert_eq!(world.log_in("ann@example.org", PASSWORD), Err(PlatformError::WrongCredentials));
    let mails = world.mails();
    assert_eq!(
        (mails[0].to.as_str(), mails[0].subject.as_str()),
        ("ann@example.org", "Confirm your address of e-mail")
    );
    assert!(mails[0].body.contains("https://chain.example/oauth/confirm?token=cbm_"));
    let token = token_in(&mails[0].body);
    for secret in [&token[..20], PASSWORD] {
        assert!(!world.is_stored(secret), "{secret}");
    }
    assert!(world.is_stored("ann@example.org"), "the search finds what is there");
    assert_eq!(users.confirm(&token, &password(OTHER)), Err(PlatformError::WrongCredentials));
    assert!(not_found(users.confirm("guessed", &password(PASSWORD))));
    let user = users.confirm(&token, &password(PASSWORD)).unwrap();
    assert!(not_found(users.confirm(&token, &password(PASSWORD))), "it is used up");
    assert_eq!(world.log_in("ANN@example.org", PASSWORD).unwrap(), user);
    let memberships = users.memberships(&user).unwrap();
    assert_eq!((memberships.len(), memberships[0].name.as_str(), memberships[0].role), (1, "ann", Role::Owner));
    assert_eq!(memberships[0].workspace, home(&user));
    assert_eq!(world.platform.records().verify::<MailedToken>().unwrap(), 0);
    assert_eq!(world.platform.records().verify::<SealedSecret>().unwrap(), 3, "the service's own and two wallets'");
    assert!(world.mails().is_empty());
}

#[test]
fn invalid_sign_ups_are_refused() {
    let world = World::new();
    for (email, text, path) in [("no address", PASSWORD, "email"), ("a@b.example", "too short", "password")] {
        let refused = world.platform.users().sign_up(email, &password(text));
        let Err(PlatformError::Validation { fields }) = refused else { panic!("{email}") };
        assert_eq!(fields[0].path, path);
        assert!(!fields[0].got.contains(text), "no password is repeated");
    }
    assert!(world.mails().is_empty());
}

#[test]
fn a_sign_up_in_anothers_name_gains_nothing() {
    let world = World::new();
    let users = world.platform.users();
    users.sign_up("ann@example.org", &password(OTHER)).unwrap();
    let of_thief = world.mailed_token();
    users.sign_up("ann@example.org", &password(PASSWORD)).unwrap();
    let own = world.mailed_token();
    assert_eq!(users.confirm(&of_thief, &password(PASSWORD)), Err(PlatformError::WrongCredentials));
    users.confirm(&own, &password(PASSWORD)).unwrap();
    assert!(not_found(users.confirm(&of_thief, &password(OTHER))));
    assert!(world.log_in("ann@example.org", OTHER).is_err());
}

#[test]
fn a_known_address_is_told_by_mail_alone() {
    let world = World::new();
    world.user("ann@example.org");
    let users = world.platform.users();
    let records = world.platform.records();
    // As many records for a known address as for an unknown one.
    let kept = || records.verify::<MailedToken>().unwrap() + records.verify::<SealedSecret>().unwrap();
    let before = kept();
    assert_eq!(users.sign_up("ann@example.org", &password(OTHER)), Ok(()));
    let for_known = kept() - before;
    assert_eq!(users.sign_up("new@example.org", &password(OTHER)), Ok(()));
    assert_eq!(kept() - before, 2 * for_known);
    let mails = world.mails();
    let subjects: Vec<&str> = mails.iter().map(|mail| mail.subject.as_str()).collect();
    assert_eq!(subjects, ["You have an account already", "Confirm your address of e-mail"]);
    assert!(!mails[0].body.contains("token="));
    let before = kept();
    assert_eq!(users.request_reset("ann@example.org"), Ok(()));
    assert_eq!(users.request_reset("nobody@example.org"), Ok(()));
    assert_eq!(kept() - before, 4);
    let mails = world.mails();
    assert_eq!(mails.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(), ["ann@example.org"]);
}

#[test]
fn mailed_tokens_expire_and_are_bounded() {
    let world = World::new();
    let users = world.platform.users();
    users.sign_up("ann@example.org", &password(PASSWORD)).unwrap();
    let token = world.mailed_token();
    world.clock.advance(24 * HOUR);
    assert!(not_found(users.confirm(&token, &password(PASSWORD))));
    users.sign_up("late@example.org", &password(PASSWORD)).unwrap();
    world.clock.advance(25 * HOUR);
    assert!(world.mails().is_empty(), "what has expired is not sent");
    assert_eq!(users.forget_expired(&PageRequest::first(NonZeroUsize::MIN)).unwrap(), 2, "a token and a window");
    users.forget_expired(&many()).unwrap();
    assert_eq!(world.platform.records().verify::<MailedToken>().unwrap(), 0);
    assert_eq!(world.platform.records().verify::<Attempts>().unwrap(), 0);
    assert_eq!(world.platform.records().verify::<SealedSecret>().unwrap(), 2, "the service's own and a wallet's");

    for _ in 0..Bounded::Mail.attempts_max() {
        users.request_reset("bob@example.org").unwrap();
    }
    let Err(PlatformError::TooManyAttempts { retry_after_secs }) = users.request_reset("bob@example.org") else {
        panic!("must be refused")
    };
    assert_eq!(retry_after_secs, Bounded::Mail.window_ms() / 1000);
    assert!(users.sign_up("bob@example.org", &password(PASSWORD)).is_err(), "it is one bound");
    world.clock.advance(HOUR);
    users.request_reset("bob@example.org").unwrap();
}

#[test]
fn a_reset_ends_what_the_old_password_began() {
    let world = World::new();
    let (users, user) = (world.platform.users(), world.user("ann@example.org"));
    let session = users.start_session(user.id()).unwrap();
    users.request_reset("ann@example.org").unwrap();
    let token = world.mailed_token();
    users.request_reset("ann@example.org").unwrap();
    let second = world.mailed_token();
    assert!(not_found(users.confirm(&token, &password(OTHER))), "it is for another act");
    assert!(matches!(users.reset(&token, &password("short")), Err(PlatformError::Validation { .. })));
    assert!(users.session(session.text()).unwrap().is_some());
    users.reset(&token, &password(OTHER)).unwrap();
    assert!(users.session(session.text()).unwrap().is_none());
    assert!(not_found(users.reset(&token, &password(PASSWORD))), "it is used up");
    assert!(not_found(users.reset(&second, &password(PASSWORD))), "and so is every other one");
    assert_eq!(world.log_in("ann@example.org", PASSWORD), Err(PlatformError::WrongCredentials));
    world.log_in("ann@example.org", OTHER).unwrap();
    users.request_reset("ann@example.org").unwrap();
    let late = world.mailed_token();
    world.clock.advance(HOUR);
    assert!(not_found(users.reset(&late, &password(PASSWORD))));
}

#[test]
fn log_in_is_bounded_for_known_and_unknown_addresses_alike() {
    let world = World::new();
    world.user("ann@example.org");
    for email in ["ann@example.org", "nobody@example.org"] {
        for _ in 0..Bounded::LogIn.attempts_max() {
            assert_eq!(world.log_in(email, OTHER), Err(PlatformError::WrongCredentials), "{email}");
        }
        for text in [OTHER, PASSWORD] {
            let refused = world.log_in(email, text);
            assert_eq!(refused, Err(PlatformError::TooManyAttempts { retry_after_secs: 900 }), "{email}");
        }
    }
    assert_eq!(world.log_in("no address", OTHER), Err(PlatformError::WrongCredentials));
    world.clock.advance(Duration::from_secs(899));
    assert!(world.log_in("ann@example.org", PASSWORD).is_err());
    world.clock.advance(Duration::from_secs(1));
    world.log_in("ann@example.org", PASSWORD).unwrap();
    for _ in 0..3 * Bounded::LogIn.attempts_max() {
        world.log_in("ann@example.org", PASSWORD).unwrap();
    }
}

#[test]
fn log_ins_are_bounded_by_the_clients_address_too() {
    let world = World::new();
    world.user("ann@example.org");
    let client = |last: u8| world.platform.users().of_client(Some([203, 0, 113, last].into()));
    for number in 0..Bounded::LogInFrom.attempts_max() {
        let tried = client(1).log_in(&format!("somebody{number}@example.org"), &password(OTHER));
        assert_eq!(tried, Err(PlatformError::WrongCredentials), "{number}");
    }
    let log_in = |last| client(last).log_in("ann@example.org", &password(PASSWORD)).map(drop);
    assert_eq!(
        log_in(1),
        Err(PlatformError::TooManyAttempts { retry_after_secs: 900 }),
        "of whatever address of e-mail"
    );
    assert_eq!(log_in(2), Ok(()), "another client");
    world.log_in("ann@example.org", PASSWORD).unwrap();
    world.clock.advance(Duration::from_secs(900));
    assert_eq!(log_in(1), Ok(()));
}

/// An unknown address costs a hash as a wrong password does: otherwise the time of the answer would tell which addresses are known.
#[test]
fn an_unknown_address_takes_as_long_as_a_wrong_password() {
    let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    let cost = PasswordCost { memory_kib: 1024, iterations: 1, lanes: 1 };
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
    let platform = Platform::builder(clock).with_password_cost(cost).open(chain).unwrap();
    let (users, mailbox) = (platform.users(), Mailbox::default());
    users.sign_up("ann@example.org", &password(PASSWORD)).unwrap();
    let mails = platform.mails().deliver_to(&mailbox, &url(), &many()).unwrap();
    users.confirm(&token_in(&mails[0].body), &password(PASSWORD)).unwrap();
    // The least of several, so that a busy machine does not matter; the bound is wide, as a missing hash is a hundred times less.
    #[expect(clippy::disallowed_methods, reason = "the time that is measured is the machine's")]
    let least = |email: &str| {
        let once = |_| {
            let start = std::time::Instant::now();
            assert_eq!(users.log_in(email, &password(OTHER)), Err(PlatformError::WrongCredentials));
            start.elapsed()
        };
        (0..5).map(once).min().unwrap()
    };
    let (known, unknown) = (least("ann@example.org"), least("nobody@example.org"));
    assert!(unknown * 3 > known && known * 3 > unknown, "{known:?} against {unknown:?}");
}

#[test]
fn a_changed_password_ends_the_other_sessions_and_mailed_links() {
    let world = World::new();
    let (users, user) = (world.platform.users(), world.user("ann@example.org"));
    let [own, other] = [(); 2].map(|()| users.start_session(user.id()).unwrap());
    let session = users.session(own.text()).unwrap().unwrap();
    let change = |old: &str, new: &str| users.change_password(&session, &password(old), &password(new));
    assert_eq!(change(OTHER, OTHER), Err(PlatformError::WrongCredentials));
    assert!(matches!(change(PASSWORD, "short"), Err(PlatformError::Validation { .. })));
    users.request_reset("ann@example.org").unwrap();
    let mailed = world.mailed_token();
    users.request_reset("ann@example.org").unwrap();
    change(PASSWORD, OTHER).unwrap();
    assert!(users.session(own.text()).unwrap().is_some() && users.session(other.text()).unwrap().is_none());
    assert!(not_found(users.reset(&mailed, &password(PASSWORD))), "the link of a former mail");
    assert_eq!(world.mails().len(), 0, "a mail that was not sent yet is pointless");
    assert!(world.log_in("ann@example.org", PASSWORD).is_err() && world.log_in("ann@example.org", OTHER).is_ok());
}

#[test]
fn sessions_end_unused_at_their_longest_and_at_log_out() {
    let world = World::new();
    let (users, user) = (world.platform.users(), world.user("ann@example.org"));
    let start = || users.start_session(user.id()).unwrap();
    let is_live = |token: &crate::platform::Token| users.session(token.text()).unwrap().is_some();
    let (idle, used, ended) = (start(), start(), start());
    assert!(!world.is_stored(&idle.text()[..20]));
    users.end_session(ended.text()).unwrap();
    users.end_session(ended.text()).unwrap();
    assert!(is_live(&idle) && !is_live(&ended));
    let mut hours = 0;
    while is_live(&used) {
        world.clock.advance(7 * HOUR);
        hours += 7;
    }
    assert_eq!(hours, 24 * 7, "a session in use ends after seven days");
    assert!(!is_live(&idle));
    let idle = start();
    world.clock.advance(8 * HOUR - Duration::from_secs(1));
    let noted = users.session(idle.text()).unwrap().unwrap();
    assert_eq!(noted.revision(), 2, "its use is noted");
    assert_eq!(users.session(idle.text()).unwrap().unwrap().revision(), 2, "but not at every page");
    world.clock.advance(8 * HOUR);
    assert!(!is_live(&idle));
    assert!(users.forget_expired(&many()).unwrap() >= 2);
    assert_eq!(world.platform.records().verify::<Session>().unwrap(), 0);
    let first = start();
    world.clock.advance(Duration::from_secs(1));
    (0..20).for_each(|_| drop(start()));
    assert!(!is_live(&first), "a user has twenty at most");
    assert_eq!(world.platform.records().verify::<Session>().unwrap(), 20);
    assert!(users.start_session("usr_none").is_err() && users.session("cbw_").unwrap().is_none());
}

#[test]
fn a_form_belongs_to_one_browser() {
    let world = World::new();
    let users = world.platform.users();
    let [one, other] = [(); 2].map(|()| users.draw_browser_token().unwrap());
    let form = users.form_token(one.text());
    assert!(users.is_form_token(one.text(), &form));
    for (browser, presented) in [(other.text(), form.as_str()), (one.text(), ""), (one.text(), &form[1..])] {
        assert!(!users.is_form_token(browser, presented));
    }
}

#[test]
fn an_identity_finds_links_or_makes_a_user() {
    let world = World::new();
    let (users, ann) = (world.platform.users(), world.user("ann@example.org"));
    let issuer = "https://id.example";
    let refused = users.by_identity(issuer, "1", None);
    assert!(matches!(refused, Err(PlatformError::Forbidden { .. })), "an unverified address links nothing");
    assert_eq!(users.by_identity(issuer, "1", Some("Ann@Example.org")).unwrap(), ann);
    assert_eq!(users.by_identity(issuer, "1", None).unwrap(), ann, "it is linked now");
    assert_eq!(users.by_identity(issuer, "1", Some("other@example.org")).unwrap(), ann, "whatever the address becomes");
    let bob = users.by_identity(issuer, "2", Some("bob@example.org")).unwrap();
    assert!(bob.id() != ann.id() && !bob.value.has_password());
    assert_eq!(users.memberships(&bob).unwrap()[0].role, Role::Owner);
    assert_eq!(users.by_identity("https://other.example", "2", Some("ann@example.org")).unwrap(), ann);
    let refused = users.by_identity("https://third.example", "2", None);
    assert!(refused.is_err(), "a subject is one of its issuer");
    assert_eq!(world.log_in("bob@example.org", ""), Err(PlatformError::WrongCredentials), "there is no password");
    let records = world.platform.records();
    assert_eq!(records.verify::<Identity>().unwrap(), 3);
    let page =
        records.of::<Identity>().page(&Identity::BY_USER, &Owner::Service, &SortKey::new().text(ann.id()), &many());
    assert_eq!(page.unwrap().total, 2);
}

#[test]
fn the_first_user_comes_by_the_consoles_token() {
    let world = World::new();
    let users = world.platform.users();
    let former = users.bootstrap_token().unwrap().unwrap();
    let token = users.bootstrap_token().unwrap().unwrap();
    assert!(!world.is_stored(&token.text()[..20]));
    let sign_up = |token: &str, email: &str| users.sign_up_first(token, email, &password(PASSWORD));
    assert!(not_found(sign_up(former.text(), "root@example.org")), "the newest is valid");
    assert!(not_found(sign_up("", "root@example.org")));
    let user = sign_up(token.text(), "root@example.org").unwrap();
    assert_eq!(home(&user).as_str(), DEFAULT_WORKSPACE_ID);
    let memberships = users.memberships(&user).unwrap();
    assert_eq!((memberships.len(), memberships[0].role), (1, Role::Owner));
    assert_eq!(world.log_in("root@example.org", PASSWORD).unwrap(), user);
    assert!(not_found(sign_up(token.text(), "second@example.org")));
    assert!(users.bootstrap_token().unwrap().is_none());

    // Who signs up in the usual way meanwhile takes nothing from it.
    let late = World::new();
    let (users, token) = (late.platform.users(), late.platform.users().bootstrap_token().unwrap().unwrap());
    late.user("ann@example.org");
    let again = users.bootstrap_token().unwrap().expect("a later start shows one too");
    assert!(not_found(users.sign_up_first(token.text(), "root@example.org", &password(PASSWORD))));
    let root = users.sign_up_first(again.text(), "root@example.org", &password(PASSWORD)).unwrap();
    assert_eq!(home(&root).as_str(), DEFAULT_WORKSPACE_ID);
}

#[test]
fn a_user_who_is_there_becomes_the_administrator_by_its_password() {
    let world = World::new();
    let users = world.platform.users();
    let token = users.bootstrap_token().unwrap().unwrap();
    let ann = world.user("ann@example.org");
    let (members, service) = (world.platform.workspaces().members(), world.platform.service_principal());
    let (_, invitation) =
        world.platform.unit(|unit| members.invite(unit, &service, "ann@example.org", Role::Viewer)).unwrap();
    world.platform.unit(|unit| members.accept(unit, ann.id(), invitation.text())).unwrap();
    users.by_identity("https://id.example", "1", Some("bob@example.org")).unwrap();
    let sign_up = |email: &str, text: &str| users.sign_up_first(token.text(), email, &password(text));
    for email in ["ann@example.org", "bob@example.org"] {
        let Err(PlatformError::Validation { fields }) = sign_up(email, OTHER) else { panic!("{email}") };
        assert_eq!(fields[0].path, "password", "{email}");
    }
    assert!(not_found(users.sign_up_first("guessed", "ann@example.org", &password(PASSWORD))));
    assert!(!users.has_administrator().unwrap(), "a viewer of the default workspace is none");
    assert_eq!(sign_up("Ann@Example.org", PASSWORD).unwrap(), ann);
    assert!(users.has_administrator().unwrap());
    let places: Vec<_> =
        users.memberships(&ann).unwrap().into_iter().map(|place| (place.workspace.to_string(), place.role)).collect();
    let own = home(&ann).to_string();
    assert_eq!(places, [(own, Role::Owner), (DEFAULT_WORKSPACE_ID.to_owned(), Role::Owner)]);
    assert!(not_found(sign_up("ann@example.org", PASSWORD)), "it holds once");
    assert!(users.bootstrap_token().unwrap().is_none());
}

#[test]
fn an_invitation_is_for_the_invited_address() {
    let world = World::new();
    let (users, ann, eve) = (world.platform.users(), world.user("ann@example.org"), world.user("eve@example.org"));
    let (workspaces, id) = (world.platform.workspaces(), home(&ann));
    let owner = workspaces.principal(ann.id(), &id).unwrap().unwrap();
    let mut workspace = workspaces.get(&owner).unwrap();
    workspace.value.name = "two\r\nlines".to_owned();
    world.platform.unit(|unit| workspaces.update(unit, &owner, &workspace)).unwrap();
    let invite =
        |email: &str| world.platform.unit(|unit| workspaces.members().invite(unit, &owner, email, Role::Viewer));
    invite("bob@example.org").unwrap();
    let mails = world.mails();
    assert_eq!(
        (mails[0].to.as_str(), mails[0].subject.as_str()),
        ("bob@example.org", "Invitation to the workspace \"two  lines\"")
    );
    assert!(mails[0].body.contains("https://chain.example/oauth/invitations/accept?token="));
    let token = token_in(&mails[0].body);
    let members = workspaces.members();
    assert_eq!(members.find_invitation(&token).unwrap().unwrap().value.email, "bob@example.org");
    let accept = |user: &Stored<User>| world.platform.unit(|unit| members.accept(unit, user.id(), &token));
    assert!(not_found(accept(&eve)), "the mail was passed on");
    let bob = world.user("bob@example.org");
    accept(&bob).unwrap();
    assert!(members.find_invitation(&token).unwrap().is_none());
    let names: Vec<String> = users.memberships(&bob).unwrap().into_iter().map(|place| place.name).collect();
    assert_eq!(names, ["bob", "two\r\nlines"], "its own workspace is the first");
    let (withdrawn, _) = invite("carol@example.org").unwrap();
    world.platform.unit(|unit| members.withdraw(unit, &owner, withdrawn.id())).unwrap();
    assert!(world.mails().is_empty(), "what was withdrawn is not sent");
}

/// The list has 100 of a user's workspaces, and its own among them also where it has joined as many that are older.
#[test]
fn a_users_own_workspace_is_the_first_of_its_list_however_many_older_ones_it_has_joined() {
    let world = World::new();
    let old = |number: usize| Owner::from(&WorkspaceId::new(format!("ws_old_{number:03}")).unwrap());
    let insert = |unit: &mut Unit<'_>, owner: &Owner| unit.insert(owner, owner.as_str(), Workspace::named("old"));
    let made: Result<Vec<_>, RecordError> =
        world.platform.records().unit(|unit| (0..100).map(|number| insert(unit, &old(number))).collect());
    world.clock.advance(Duration::from_secs(1));
    let ann = world.user("ann@example.org");
    let join = |unit: &mut Unit<'_>| -> Result<(), RecordError> {
        made.unwrap().iter().try_for_each(|workspace| {
            unit.insert(workspace.owner(), ann.id(), Member::of(workspace, Role::Viewer)).map(drop)
        })
    };
    world.platform.records().unit(join).unwrap();
    let memberships = world.platform.users().memberships(&ann).unwrap();
    let ids: Vec<&str> = memberships.iter().map(|place| place.workspace.as_str()).collect();
    assert_eq!((ids.len(), ids[0], ids[1], ids[99]), (100, home(&ann).as_str(), "ws_old_000", "ws_old_098"));
}

#[test]
fn a_user_of_the_first_version_is_read() {
    let world = World::new();
    let old = postcard::to_allocvec(&("ann@example.org",)).unwrap();
    let user = <User as crate::platform::records::Record>::upgrade(1, &old).unwrap();
    assert_eq!(user, User::new("ann@example.org").unwrap());
    let user = world.platform.unit(|unit| Ok(unit.insert(&Owner::Service, "usr_1", user)?)).unwrap();
    assert_eq!(world.log_in("ann@example.org", PASSWORD), Err(PlatformError::WrongCredentials));
    world.platform.users().request_reset("ann@example.org").unwrap();
    world.platform.users().reset(&world.mailed_token(), &password(PASSWORD)).unwrap();
    assert_eq!(world.log_in("ann@example.org", PASSWORD).unwrap().id(), user.id());
}

#[test]
fn what_users_do_is_in_the_audit_log() {
    let world = World::new();
    let user = world.user("ann@example.org");
    let client = Some([203, 0, 113, 7].into());
    let session = world.platform.users().of_client(client).start_session(user.id()).unwrap();
    world.platform.users().end_session(session.text()).unwrap();
    let lines = world.platform.records().of::<AuditLine>();
    let page = lines.page(&Index::CREATED, &Owner::Service, &SortKey::new(), &many()).unwrap();
    let actions: Vec<_> = page.items.iter().map(|line| (line.value.action.as_str(), line.value.client)).collect();
    assert_eq!(actions, [("user.confirm", None), ("user.log-in", client), ("user.log-out", None)]);
}

#[test]
fn a_new_workspace_has_the_users_name() {
    let world = World::new();
    let user = world.user(&format!("{}@example.org", "é".repeat(80)));
    let workspace = world.platform.records().of::<Workspace>();
    let home = home(&user);
    let workspace = workspace.require(&Owner::from(&home), home.as_str()).unwrap();
    assert_eq!(workspace.value.name, "é".repeat(64));
}
