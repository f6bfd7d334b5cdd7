//! Drives what the service sends out, for `openid.mjs` and `mail.mjs` beside this file, which start the servers.
//!
//! ```text
//! outbound login ISSUER CLIENT_ID REDIRECT_URI    prints where the browser goes, reads where it came back, prints who logged in
//! outbound mail SMTP_URL TO [ROOTS]               sends a mail through the outbox, prints what became of it
//! ```
//!
//! The client's secret is in `OUTBOUND_CLIENT_SECRET`, the relay's credentials are in `OUTBOUND_SMTP_CREDENTIALS`.

use std::{
    error::Error,
    io::{BufRead, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};

use chainbox::{
    node::Node,
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, OsEntropy, Platform, records::Owner},
    server::{
        WallClock,
        mail::{Mail, MailWorker, RenderError, SmtpConfig, SmtpCredentials},
        openid::{Callback, OpenIdConfig, OpenIdLogin, OpenIdProvider},
        outbound::{OutboundClient, OutboundPolicy, SystemResolver, TlsRoots},
    },
};
use tokio::{sync::oneshot, time};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match &arguments[..] {
        ["login", issuer, client_id, redirect_uri] => login(issuer, client_id, redirect_uri).await,
        ["mail", url, to] => mail(url, to, TlsRoots::none()).await,
        ["mail", url, to, roots] => mail(url, to, TlsRoots::none().with_file(Path::new(roots))?).await,
        _ => Err("expected: outbound login ISSUER CLIENT_ID REDIRECT_URI, or outbound mail SMTP_URL TO [ROOTS]".into()),
    };
    // The message for people, which tests read.
    if let Err(error) = &outcome {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        eprintln!("{error}{cause}");
        std::process::exit(1);
    }
    Ok(())
}

async fn login(issuer: &str, client_id: &str, redirect_uri: &str) -> Result<(), Box<dyn Error>> {
    let mut policy = OutboundPolicy::default();
    if issuer.starts_with("http://") {
        policy = policy.with_allowed(issuer.parse()?);
    }
    let client = OutboundClient::new(policy, Arc::new(SystemResolver::default()), &TlsRoots::none())?;
    let mut config = OpenIdConfig::new(issuer, client_id, redirect_uri);
    if let Ok(secret) = std::env::var("OUTBOUND_CLIENT_SECRET") {
        config = config.with_client_secret(secret.into());
    }
    let provider = OpenIdProvider::discover(config, client, Arc::new(WallClock)).await?;
    let login = OpenIdLogin::draw(&OsEntropy)?;
    println!("{}", provider.authorization_url(&login)?);
    std::io::stdout().flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (_, query) = line.split_once('?').ok_or("expected a URL with a query")?;
        let who = provider.exchange(&login, &Callback::from_query(query)).await;
        match who {
            Ok(who) => println!(
                "{}",
                serde_json::json!({
                    "issuer": who.issuer, "subject": who.subject, "email": who.email,
                    "emailVerified": who.email_verified, "name": who.name,
                })
            ),
            Err(error) => println!("{}", serde_json::json!({ "error": error.to_string() })),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

async fn mail(url: &str, to: &str, roots: TlsRoots) -> Result<(), Box<dyn Error>> {
    let mut config = SmtpConfig::new(url, "Chainbox <noreply@chainbox.test>", roots)?;
    if let Some(credentials) = SmtpCredentials::from_env("OUTBOUND_SMTP_CREDENTIALS")? {
        config = config.with_credentials(credentials)?;
    }
    let spec = BlockchainSpec::read(serde_json::json!({ "name": "outbound" }))?;
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    let platform = Arc::new(Platform::builder(Arc::new(WallClock)).open(chain)?);
    platform.records().unit(|unit| unit.publish(&Owner::Service, "mail.test", to.into()))?;
    let render = |entry: &chainbox::platform::records::Stored<_>| -> Result<Option<Mail>, RenderError> {
        let entry: &chainbox::platform::records::OutboxEntry = &entry.value;
        let to = String::from_utf8(entry.payload.clone()).map_err(|cause| RenderError::new(cause.to_string()))?;
        let text = "Grüße.\n\n.A line that begins with a dot\nhttps://chainbox.test/?token=1234567890".to_owned();
        let html = "<p>Grüße</p>".to_owned();
        Ok(Some(Mail { to, subject: "Bestätigung ✓".to_owned(), text: text.into(), html: Some(html.into()) }))
    };
    let worker = MailWorker::new(Arc::clone(&platform), config, Arc::new(render))?;
    let status = worker.status();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async move {
        let _ = stopped.await;
    }));
    while status.sent() + status.postponed() + status.undeliverable() == 0 {
        time::sleep(Duration::from_millis(20)).await;
    }
    let _ = stop.send(());
    running.await?;
    let (sent, postponed, undeliverable) = (status.sent(), status.postponed(), status.undeliverable());
    let report = serde_json::json!({
        "sent": sent, "postponed": postponed, "undeliverable": undeliverable, "failure": status.last_failure(),
    });
    println!("{report}");
    Ok(())
}
