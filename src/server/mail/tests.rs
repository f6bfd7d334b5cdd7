//! Tests of the worker against a relay on this machine.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use zeroize::Zeroizing;

use super::{
    DELIVERY_TIMEOUT, MAIL_AGE_MAX, Mail, MailWorker, RenderError, RenderMail, SmtpConfig, SmtpCredentials,
    retry_delay, worker::Attempt,
};
use crate::{
    node::{Clock, ManualClock, Node},
    platform::{
        Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform,
        records::{AuditLine, Index, OutboxEntry, Owner, PageRequest, SortKey},
    },
    primitives::Timestamp,
    server::{
        clock::{ChainClock, WallClock},
        eth::rpc::EthRpc,
        outbound::{
            TlsRoots,
            testing::{Stream, TestCertificate},
        },
    },
};

/// What a relay was told on one connection, and the messages that it took.
#[derive(Debug, Default)]
struct Heard {
    commands: Vec<String>,
    messages: Vec<String>,
    /// Whether TLS stood when the mail came.
    was_encrypted: bool,
}

/// How a relay speaks: TLS at once or by STARTTLS, and answers other than the usual to what begins with a word.
#[derive(Clone, Default)]
struct Manner {
    tls: Option<Arc<TestCertificate>>,
    starttls: Option<Arc<TestCertificate>>,
    answers: Vec<(&'static str, &'static str)>,
}

struct FakeRelay {
    port: u16,
    heard: Arc<Mutex<Heard>>,
    manner: Arc<Mutex<Manner>>,
    task: JoinHandle<()>,
}

impl Drop for FakeRelay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeRelay {
    async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, manner) = (Arc::new(Mutex::new(Heard::default())), Arc::new(Mutex::new(manner)));
        let (told, asked) = (Arc::clone(&heard), Arc::clone(&manner));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let manner = asked.lock().unwrap().clone();
                let told = Arc::clone(&told);
                tokio::spawn(async move { serve(stream, manner, told).await });
            }
        });
        Self { port, heard, manner, task }
    }

    fn answer(&self, answers: &[(&'static str, &'static str)]) {
        self.manner.lock().unwrap().answers = answers.to_vec();
    }

    fn messages(&self) -> Vec<String> {
        self.heard.lock().unwrap().messages.clone()
    }

    fn commands(&self) -> Vec<String> {
        self.heard.lock().unwrap().commands.clone()
    }

    fn config(&self) -> SmtpConfig {
        self.config_at("smtp", "127.0.0.1", "?tls=none", TlsRoots::none())
    }

    fn config_at(&self, scheme: &str, host: &str, query: &str, roots: TlsRoots) -> SmtpConfig {
        let url = format!("{scheme}://{host}:{}{query}", self.port);
        SmtpConfig::new(&url, "Chainbox <noreply@chainbox.test>", roots).unwrap()
    }
}

async fn serve(stream: TcpStream, manner: Manner, heard: Arc<Mutex<Heard>>) {
    let mut stream: Box<dyn Stream> = match &manner.tls {
        None => Box::new(stream),
        Some(certificate) => match certificate.acceptor().accept(stream).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
    };
    let mut encrypted = manner.tls.is_some();
    let mut greeted = false;
    loop {
        let mut lines = BufReader::new(stream);
        let go_on = converse(&mut lines, &manner, &heard, &mut greeted, encrypted).await;
        let (true, Some(certificate)) = (go_on, &manner.starttls) else { return };
        match certificate.acceptor().accept(lines.into_inner()).await {
            Ok(upgraded) => stream = Box::new(upgraded),
            Err(_) => return,
        }
        encrypted = true;
    }
}

/// Answers commands; returns whether STARTTLS came.
async fn converse(
    stream: &mut BufReader<Box<dyn Stream>>,
    manner: &Manner,
    heard: &Mutex<Heard>,
    greeted: &mut bool,
    encrypted: bool,
) -> bool {
    let said = |word: &str| manner.answers.iter().find(|(command, _)| *command == word).map(|(_, answer)| *answer);
    if !*greeted {
        *greeted = true;
        let greeting = said("").unwrap_or("220 relay.test");
        let _ = stream.write_all(format!("{greeting}\r\n").as_bytes()).await;
    }
    let mut line = String::new();
    while matches!(stream.read_line(&mut line).await, Ok(1..)) {
        let command = line.trim_end().to_owned();
        line.clear();
        heard.lock().unwrap().commands.push(command.clone());
        let word = command.split([' ', ':']).next().unwrap_or_default().to_owned();
        let starttls = if manner.starttls.is_some() && !encrypted { "250-STARTTLS\r\n" } else { "" };
        let usual = match word.as_str() {
            "EHLO" => format!("250-relay.test\r\n{starttls}250-8BITMIME\r\n250 AUTH PLAIN LOGIN"),
            "STARTTLS" => "220 go on".to_owned(),
            "AUTH" => "235 welcome".to_owned(),
            "DATA" => "354 go on".to_owned(),
            "QUIT" => "221 bye".to_owned(),
            _ => "250 fine".to_owned(),
        };
        let answer = said(&word).map_or(usual, str::to_owned);
        if answer == "silence" {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        let _ = stream.write_all(format!("{answer}\r\n").as_bytes()).await;
        let _ = stream.flush().await;
        match word.as_str() {
            "STARTTLS" => return true,
            "QUIT" => return false,
            "DATA" if answer.starts_with("354") => {
                let mut message = String::new();
                while matches!(stream.read_line(&mut message).await, Ok(1..)) && !message.ends_with("\r\n.\r\n") {}
                let answer = said("message").unwrap_or("250 taken");
                if answer.starts_with("250") {
                    let mut heard = heard.lock().unwrap();
                    heard.messages.push(message);
                    heard.was_encrypted = encrypted;
                }
                let _ = stream.write_all(format!("{answer}\r\n").as_bytes()).await;
                let _ = stream.flush().await;
            }
            _ => {}
        }
    }
    false
}

struct World<C = ManualClock> {
    clock: Arc<C>,
    platform: Arc<Platform>,
}

impl World {
    fn new() -> Self {
        Self::over(Node::new(), ManualClock::new(Timestamp::from_secs(1_700_000_000)))
    }
}

impl<C: Clock + 'static> World<C> {
    fn over(node: Node, clock: C) -> Self {
        let clock = Arc::new(clock);
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
        Self { platform: Arc::new(Platform::builder(clock.clone()).open(chain).unwrap()), clock }
    }

    fn publish(&self, topic: &str, payload: &str) {
        let published = self.platform.records().unit(|unit| unit.publish(&Owner::Service, topic, payload.into()));
        published.unwrap();
    }

    fn worker(&self, config: SmtpConfig) -> MailWorker {
        MailWorker::new(Arc::clone(&self.platform), config, Arc::new(to_payload)).unwrap()
    }

    fn waiting(&self) -> Vec<OutboxEntry> {
        let all = PageRequest::first(1000.try_into().unwrap());
        let records = self.platform.records();
        let page = records.of::<OutboxEntry>().page(&Index::CREATED, &Owner::Service, &SortKey::new(), &all);
        page.unwrap().items.into_iter().map(|entry| entry.value).collect()
    }

    fn audit(&self) -> Vec<AuditLine> {
        let all = PageRequest::first(1000.try_into().unwrap());
        let records = self.platform.records();
        let page = records.of::<AuditLine>().page(&Index::CREATED, &Owner::Service, &SortKey::new(), &all);
        page.unwrap().items.into_iter().map(|line| line.value).collect()
    }
}

/// A mail to the payload's address; of `gone` there is none, and `broken` can't be made.
fn to_payload(entry: &crate::platform::records::Stored<OutboxEntry>) -> Result<Option<Mail>, RenderError> {
    match std::str::from_utf8(&entry.value.payload).unwrap() {
        "gone" => Ok(None),
        "broken" => Err(RenderError::new("no such text")),
        "panics" => panic!("as planned"),
        to => Ok(Some(Mail {
            to: to.to_owned(),
            subject: "Grüße".to_owned(),
            text: Zeroizing::new("Your link: https://a.test/?token=1\n.\nEnd".to_owned()),
            html: to.starts_with("html").then(|| Zeroizing::new("<p>Your link</p>".to_owned())),
        })),
    }
}

async fn first_attempt(worker: &MailWorker) -> Attempt {
    let entry = worker.due().await.into_iter().next().expect("a mail is due");
    worker.attempt(entry).await
}

#[tokio::test]
async fn a_due_mail_is_sent_and_forgotten() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    world.publish("webhook.block", "none of ours");
    world.publish("mail.invitation", "bob@example.org");
    world.publish("mail.invitation", "html@example.org");
    let worker = world.worker(relay.config());
    for entry in worker.due().await {
        assert_eq!(worker.attempt(entry).await, Attempt::Done);
    }
    let messages = relay.messages();
    assert_eq!(messages.len(), 2);
    for field in [
        "Message-ID: <msg_0000000000000002.-.1700000000000@chainbox.test>\r\n",
        "Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n",
        "From: Chainbox <noreply@chainbox.test>\r\n",
        "To: bob@example.org\r\n",
        "Auto-Submitted: auto-generated\r\n",
        "Subject: =?utf-8?b?",
        "token=1",
        "\r\n..\r\n",
    ] {
        assert!(messages[0].contains(field), "{field}: {}", messages[0]);
    }
    assert!(
        messages[1].contains("multipart/alternative") && messages[1].contains("<p>Your link</p>"),
        "{}",
        messages[1]
    );
    let commands = relay.commands();
    assert!(commands.starts_with(&["EHLO chainbox.test".to_owned(), "MAIL FROM:<noreply@chainbox.test>".to_owned()]));
    assert!(commands.contains(&"RCPT TO:<bob@example.org>".to_owned()) && commands.contains(&"QUIT".to_owned()));
    assert_eq!(world.waiting().len(), 1, "the other topic's entry waits for its own worker");
    assert_eq!((worker.status().sent(), worker.status().last_failure()), (2, None));
}

#[tokio::test]
async fn mails_behind_many_entries_of_others_are_found() {
    let world = World::new();
    for _ in 0..150 {
        world.publish("webhook.block", "");
    }
    world.publish("mail.test", "bob@example.org");
    let config = SmtpConfig::new("smtp://127.0.0.1?tls=none", "a@b.test", TlsRoots::none()).unwrap();
    assert_eq!(world.worker(config).due().await.len(), 1);
}

#[tokio::test]
async fn credentials_are_shown_to_the_relay_and_nobody_else() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    world.publish("mail.test", "bob@example.org");
    let credentials = SmtpCredentials::from_text("user:hunter2", "test").unwrap();
    let worker = world.worker(relay.config().with_credentials(credentials).unwrap());
    relay.answer(&[("AUTH", "535 hunter who?")]);
    assert_eq!(first_attempt(&worker).await, Attempt::RelayFailed);
    let failure = worker.status().last_failure().unwrap();
    assert!(failure.contains("535"), "{failure}");
    // PLAIN: "\0user\0hunter2" (RFC 4616).
    assert!(relay.commands().contains(&"AUTH PLAIN AHVzZXIAaHVudGVyMg==".to_owned()));
    assert!(!format!("{worker:?} {failure}").contains("hunter2") && !failure.contains("AHVz"));
    relay.answer(&[]);
    world.clock.advance(retry_delay(1));
    assert_eq!(first_attempt(&worker).await, Attempt::Done);
}

#[tokio::test]
async fn each_refusal_has_its_consequence() {
    for (name, answers, outcome, waits) in [
        ("later", &[("RCPT", "450 greylisted")][..], Attempt::Failed, true),
        ("content later", &[("message", "451 busy")], Attempt::Failed, true),
        ("no such mailbox", &[("RCPT", "550 unknown")], Attempt::Failed, false),
        ("content refused", &[("message", "554 spam")], Attempt::Failed, false),
        ("sender refused", &[("MAIL", "553 not yours")], Attempt::RelayFailed, true),
        ("greeting", &[("", "554 no service")], Attempt::RelayFailed, true),
        ("closing", &[("EHLO", "421 closing")], Attempt::RelayFailed, true),
        ("no SMTP", &[("", "HTTP/1.1 400 Bad Request")], Attempt::RelayFailed, true),
    ] {
        let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
        relay.answer(answers);
        world.publish("mail.test", "bob@example.org");
        let worker = world.worker(relay.config());
        assert_eq!(first_attempt(&worker).await, outcome, "{name}");
        let status = worker.status();
        assert!(status.last_failure().is_some(), "{name}");
        if waits {
            let [entry] = &world.waiting()[..] else { panic!("{name}: it does not wait") };
            assert_eq!((entry.failures, entry.due_at_ms), (1, 1_700_000_030_000), "{name}");
            assert!(worker.due().await.is_empty(), "{name}: not before it is due");
            assert!(world.audit().is_empty(), "{name}");
        } else {
            assert!(world.waiting().is_empty(), "{name}");
            let line = world.audit().pop().unwrap();
            let line = (line.subject.as_str(), line.action.as_str(), line.target.as_str());
            assert_eq!(line, ("service", "mail.undeliverable", "mail.test msg_0000000000000001"), "{name}");
            assert_eq!(status.undeliverable(), 1, "{name}");
        }
    }
}

#[tokio::test]
async fn a_mail_that_nobody_takes_ends_with_its_age() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    relay.answer(&[("RCPT", "450 later")]);
    world.publish("mail.test", "bob@example.org");
    let worker = world.worker(relay.config());
    let mut attempts = 0;
    while !world.waiting().is_empty() {
        attempts += 1;
        first_attempt(&worker).await;
        world.clock.advance(retry_delay(attempts));
    }
    assert_eq!(attempts, 31, "the first, 29 within four days, and the one that finds it too old");
    assert_eq!((worker.status().undeliverable(), worker.status().postponed()), (1, 30));
    assert_eq!(world.audit().len(), 1);
    assert!(relay.messages().is_empty());
    assert!(MAIL_AGE_MAX >= Duration::from_secs(4 * 86_400));
}

/// As in `chainbox dev`, whose platform goes by the clock of the default chain.
#[tokio::test]
async fn time_travel_of_the_default_chain_brings_a_retry() {
    let node = Node::builder().with_clock(Arc::new(WallClock)).build().unwrap();
    let world = World::over(node.clone(), ChainClock::of(node.clone()));
    let relay = FakeRelay::start(Manner::default()).await;
    relay.answer(&[("RCPT", "450 later")]);
    world.publish("mail.test", "bob@example.org");
    let worker = world.worker(relay.config());
    assert_eq!(first_attempt(&worker).await, Attempt::Failed);
    relay.answer(&[]);
    assert!(worker.due().await.is_empty(), "not before it is due");
    let secs = retry_delay(1).as_secs() + 1;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "evm_increaseTime", "params": [secs] });
    let (response, _) = EthRpc::new(node).methods().raw_json_request(&call.to_string(), 1).await.unwrap();
    assert!(response.get().contains(&format!("\"result\":{secs}")), "{response}");
    assert_eq!(first_attempt(&worker).await, Attempt::Done);
    assert_eq!((relay.messages().len(), world.waiting().len()), (1, 0));
}

#[tokio::test]
async fn what_can_not_be_made_into_a_mail_is_not_sent() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    for (payload, waits, failure) in [
        ("gone", false, None),
        ("broken", true, Some("no such text")),
        ("panics", true, Some("panicked")),
        ("nobody", false, Some("no address")),
        ("a@b.test\r\nRCPT TO:<c@d.test>", false, Some("no address")),
    ] {
        let world_before = world.waiting().len();
        world.publish("mail.test", payload);
        let worker = world.worker(relay.config());
        first_attempt(&worker).await;
        assert_eq!(world.waiting().len() - world_before, usize::from(waits), "{payload}");
        match (failure, worker.status().last_failure()) {
            (None, None) => {}
            (Some(says), Some(reason)) => assert!(reason.contains(says), "{payload}: {reason}"),
            other => panic!("{payload}: {other:?}"),
        }
    }
    assert!(relay.messages().is_empty());
}

#[tokio::test]
async fn tls_is_asked_for_and_checked() {
    let certificate = Arc::new(TestCertificate::of(&["localhost"]));
    let trusted = certificate.roots();
    let with = |tls: bool, starttls: bool| Manner {
        tls: tls.then(|| Arc::clone(&certificate)),
        starttls: starttls.then(|| Arc::clone(&certificate)),
        answers: Vec::new(),
    };
    for (name, manner, scheme, roots, says) in [
        ("at once", with(true, false), "smtps", trusted.clone(), ""),
        ("by STARTTLS", with(false, true), "smtp", trusted.clone(), ""),
        ("unknown authority", with(true, false), "smtps", TlsRoots::none(), "certificate"),
        ("unknown authority, STARTTLS", with(false, true), "smtp", TlsRoots::none(), "certificate"),
        ("no STARTTLS", with(false, false), "smtp", trusted.clone(), "offers no STARTTLS"),
    ] {
        let (world, relay) = (World::new(), FakeRelay::start(manner).await);
        world.publish("mail.test", "bob@example.org");
        let worker = world.worker(relay.config_at(scheme, "localhost", "", roots));
        let attempt = first_attempt(&worker).await;
        let failure = worker.status().last_failure();
        if says.is_empty() {
            assert_eq!((attempt, &failure), (Attempt::Done, &None), "{name}: {failure:?}");
            assert!(relay.heard.lock().unwrap().was_encrypted, "{name}");
        } else {
            let failure = failure.unwrap();
            assert!(attempt == Attempt::RelayFailed && failure.contains(says), "{name}: {failure}");
            assert!(relay.messages().is_empty() && !relay.commands().iter().any(|command| command.starts_with("MAIL")));
        }
    }
}

#[tokio::test]
async fn a_silent_relay_is_given_up() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    relay.answer(&[("RCPT", "silence")]);
    world.publish("mail.test", "bob@example.org");
    let worker = world.worker(relay.config());
    let attempt = tokio::spawn(async move { (first_attempt(&worker).await, worker) });
    // Until the relay has been told whom the mail is for; then its time passes.
    while !relay.commands().iter().any(|command| command.starts_with("RCPT")) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::pause();
    tokio::time::advance(DELIVERY_TIMEOUT).await;
    let (attempt, worker) = attempt.await.unwrap();
    assert_eq!(attempt, Attempt::RelayFailed);
    assert!(worker.status().last_failure().unwrap().contains("no answer within 60 s"));
}

#[tokio::test]
async fn a_running_worker_sends_what_comes_and_stops_when_told() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    world.publish("mail.test", "first@example.org");
    let worker = world.worker(relay.config());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async move {
        let _ = stopped.await;
    }));
    while relay.messages().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.publish("mail.test", "second@example.org");
    while relay.messages().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
    world.publish("mail.test", "third@example.org");
    assert_eq!(world.waiting().len(), 1);
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_finishes_its_mail() {
    let (world, relay) = (World::new(), FakeRelay::start(Manner::default()).await);
    let (entered, has_entered) = oneshot::channel::<()>();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(Some((entered, released)));
    // Rendering waits, so that the stop comes while a mail is under way.
    let render = move |entry: &crate::platform::records::Stored<OutboxEntry>| {
        if let Some((entered, released)) = gate.lock().unwrap().take() {
            entered.send(()).unwrap();
            released.recv().unwrap();
        }
        to_payload(entry)
    };
    world.publish("mail.test", "first@example.org");
    world.publish("mail.test", "second@example.org");
    let render: Arc<dyn RenderMail> = Arc::new(render);
    let worker = MailWorker::new(Arc::clone(&world.platform), relay.config(), render).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async move {
        let _ = stopped.await;
    }));
    has_entered.await.unwrap();
    stop.send(()).unwrap();
    tokio::task::yield_now().await;
    release.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
    assert_eq!((relay.messages().len(), world.waiting().len()), (1, 1), "the one under way, and no other");
}
