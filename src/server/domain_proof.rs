//! Proof that a domain is its claimant's: a token in a TXT record below it, or in a file on its web server.
//!
//! | where | what |
//! |---|---|
//! | TXT record `_chainbox-challenge.<domain>` (an underscored name, RFC 8552) | the token, alone in one of the records |
//! | `https://<domain>/.well-known/chainbox-challenge/<token>` (RFC 8615), answered with 200 | the token, with white space around it or not |

use core::{fmt, future::Future, pin::Pin, time::Duration};
use std::{io, net::SocketAddr, sync::OnceLock};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
    proto::rr::RData,
};

use super::outbound::{OutboundClient, OutboundRequest, OutboundUrl};

/// First label of the TXT record's name.
const RECORD_LABEL: &str = "_chainbox-challenge";
/// Folder of the file.
const FILE_FOLDER: &str = "/.well-known/chainbox-challenge/";
/// Time of the look-up.
const LOOKUP_MAX: Duration = Duration::from_secs(5);
/// Time of the request for the file.
const FILE_MAX: Duration = Duration::from_secs(5);
/// Bytes of the file.
const FILE_BYTES_MAX: usize = 1 << 10;

/// The texts of a name, in the making.
pub type ResolvingTxt<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<String>>> + Send + 'a>>;

/// A source of names' TXT records. Object-safe, and stays so: a server takes an `Arc<dyn ResolveTxt>`, which tests replace.
pub trait ResolveTxt: fmt::Debug + Send + Sync {
    /// Returns the texts of a name's TXT records, each record's strings joined (RFC 7208, 3.3, does the same); none where it has none.
    /// Dropping the future gives the look-up up.
    fn texts<'a>(&'a self, name: &'a str) -> ResolvingTxt<'a>;
}

/// The name servers of the machine's configuration (`/etc/resolv.conf`), which are read at the first look-up, or one name server in their
/// place. Answers are not kept: a record that was just written is looked for.
#[derive(Debug, Default)]
pub struct SystemTxtResolver {
    server: Option<SocketAddr>,
    resolver: OnceLock<TokioResolver>,
}

impl SystemTxtResolver {
    /// Asks one name server, over UDP and, for long answers, TCP (RFC 1035, 4.2).
    pub const fn at(server: SocketAddr) -> Self {
        Self { server: Some(server), resolver: OnceLock::new() }
    }

    fn resolver(&self) -> io::Result<&TokioResolver> {
        if let Some(resolver) = self.resolver.get() {
            return Ok(resolver);
        }
        let mut builder = match self.server {
            Some(server) => TokioResolver::builder_with_config(of_server(server), TokioRuntimeProvider::default()),
            None => TokioResolver::builder_tokio().map_err(io::Error::other)?,
        };
        builder.options_mut().cache_size = 0;
        let made = builder.build().map_err(io::Error::other)?;
        Ok(self.resolver.get_or_init(|| made))
    }
}

fn of_server(server: SocketAddr) -> ResolverConfig {
    let mut connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
    connections.iter_mut().for_each(|connection| connection.port = server.port());
    ResolverConfig::from_name_servers(vec![NameServerConfig::new(server.ip(), true, connections.into())])
}

impl ResolveTxt for SystemTxtResolver {
    fn texts<'a>(&'a self, name: &'a str) -> ResolvingTxt<'a> {
        Box::pin(async move {
            // The dot of the root keeps the machine's search list out.
            match self.resolver()?.txt_lookup(format!("{name}.")).await {
                Ok(found) => Ok(found.answers().iter().filter_map(|record| text_of(&record.data)).collect()),
                Err(cause) if cause.is_no_records_found() => Ok(Vec::new()),
                Err(cause) => Err(io::Error::other(cause)),
            }
        })
    }
}

fn text_of(data: &RData) -> Option<String> {
    let RData::TXT(txt) = data else { return None };
    let bytes: Vec<u8> = txt.txt_data.iter().flat_map(|part| part.iter().copied()).collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the name of a domain's TXT record.
pub(super) fn record_name(domain: &str) -> String {
    format!("{RECORD_LABEL}.{domain}")
}

/// Returns the URL of the file on a domain's web server.
pub(super) fn file_url(domain: &str, token: &str) -> String {
    format!("https://{domain}{FILE_FOLDER}{token}")
}

/// Looks for a domain's token in its TXT record, then in its file.
///
/// # Errors
/// What was found in both places, in words.
pub(super) async fn prove(
    resolver: &dyn ResolveTxt,
    client: &OutboundClient,
    domain: &str,
    token: &str,
) -> Result<(), String> {
    let Err(record) = by_record(resolver, domain, token).await else { return Ok(()) };
    let Err(file) = by_file(client, domain, token).await else { return Ok(()) };
    Err(format!("{record}; {file}"))
}

async fn by_record(resolver: &dyn ResolveTxt, domain: &str, token: &str) -> Result<(), String> {
    let name = record_name(domain);
    match tokio::time::timeout(LOOKUP_MAX, resolver.texts(&name)).await {
        Err(_) => Err(format!("the TXT records of {name} were not found within {LOOKUP_MAX:?}")),
        Ok(Err(cause)) => Err(format!("the TXT records of {name} could not be looked up: {cause}")),
        Ok(Ok(texts)) if texts.iter().any(|text| text.trim() == token) => Ok(()),
        Ok(Ok(texts)) if texts.is_empty() => Err(format!("{name} has no TXT record")),
        Ok(Ok(texts)) => Err(format!("none of the {} TXT records of {name} is the token", texts.len())),
    }
}

async fn by_file(client: &OutboundClient, domain: &str, token: &str) -> Result<(), String> {
    let url = file_url(domain, token);
    let failed = |cause: &dyn fmt::Display| format!("{url} was not read: {cause}");
    let parsed = OutboundUrl::parse(&url).map_err(|cause| failed(&cause))?;
    let request = OutboundRequest::get(parsed).with_timeout(FILE_MAX).with_response_bytes_max(FILE_BYTES_MAX);
    let answered = client.send(request).await.and_then(|response| response.success());
    let body = answered.map_err(|cause| failed(&cause))?.body;
    if String::from_utf8_lossy(&body).trim() == token { Ok(()) } else { Err(format!("{url} is not the token")) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::server::outbound::{
        Allowed, OutboundPolicy,
        testing::{ScriptedResolver, TestCertificate, TestReply, TestServer, client},
    };

    /// The texts of every name.
    #[derive(Debug)]
    struct Texts(Vec<&'static str>);

    impl ResolveTxt for Texts {
        fn texts<'a>(&'a self, name: &'a str) -> ResolvingTxt<'a> {
            let texts = if name == "_chainbox-challenge.shop.example" { self.0.clone() } else { Vec::new() };
            Box::pin(async move { Ok(texts.into_iter().map(str::to_owned).collect()) })
        }
    }

    fn nowhere() -> OutboundClient {
        let certificate = TestCertificate::of(&["shop.example"]);
        client(OutboundPolicy::default(), ScriptedResolver::answering(&[&["127.0.0.1"]]), &certificate.roots())
    }

    #[tokio::test]
    async fn a_domain_is_proved_by_the_token_in_a_record() {
        for (texts, is_proved) in [
            (vec!["t0ken"], true),
            (vec!["v=spf1 -all", " t0ken "], true),
            (vec![], false),
            (vec!["t0ken2", "a t0ken"], false),
        ] {
            let proved = prove(&Texts(texts.clone()), &nowhere(), "shop.example", "t0ken").await;
            assert_eq!(proved.is_ok(), is_proved, "{texts:?}: {proved:?}");
        }
        let elsewhere = prove(&Texts(vec!["t0ken"]), &nowhere(), "other.example", "t0ken").await.unwrap_err();
        assert!(elsewhere.contains("_chainbox-challenge.other.example has no TXT record"), "{elsewhere}");
        assert!(elsewhere.contains("127.0.0.1"), "a file on this machine is not asked for: {elsewhere}");
    }

    /// Answers a query with one TXT record of the name that it asks for (RFC 1035, 4.1).
    fn answer(query: &[u8], text: &[u8]) -> Vec<u8> {
        let name_end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap();
        let length = u8::try_from(text.len()).unwrap();
        let header = [query[0], query[1], 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
        let record = [0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0, 0, length + 1, length];
        [&header, &query[12..name_end + 5], &record, text].concat()
    }

    #[tokio::test]
    async fn a_name_server_of_ones_own_is_asked() {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let resolver = SystemTxtResolver::at(socket.local_addr().unwrap());
        tokio::spawn(async move {
            let mut query = [0; 512];
            loop {
                let (length, client) = socket.recv_from(&mut query).await.unwrap();
                // The name as it is on the wire: labels with their lengths.
                let is_asked = query[..length].windows(6).any(|part| part == b"\x04shop\x07");
                let text: &[u8] = if is_asked { b"t0ken" } else { b"another" };
                socket.send_to(&answer(&query[..length], text), client).await.unwrap();
            }
        });
        assert_eq!(resolver.texts("_chainbox-challenge.shop.example").await.unwrap(), ["t0ken"]);
        prove(&resolver, &nowhere(), "shop.example", "t0ken").await.unwrap();
        prove(&resolver, &nowhere(), "other.example", "t0ken").await.unwrap_err();
    }

    /// A name server that answers every query with a code and no record (RFC 1035, 4.1.1), or not at all.
    async fn name_server(code: Option<u8>) -> SystemTxtResolver {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let resolver = SystemTxtResolver::at(socket.local_addr().unwrap());
        tokio::spawn(async move {
            let mut query = [0; 512];
            loop {
                let (length, client) = socket.recv_from(&mut query).await.unwrap();
                let Some(code) = code else { continue };
                let name_end = 12 + query[12..length].iter().position(|byte| *byte == 0).unwrap();
                let header = [query[0], query[1], 0x85, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0];
                let empty = [&header, &query[12..name_end + 5]].concat();
                socket.send_to(&empty, client).await.unwrap();
            }
        });
        resolver
    }

    #[tokio::test]
    async fn a_name_that_is_not_there_has_no_record_and_a_failing_server_is_named() {
        const NO_ERROR: u8 = 0;
        const NXDOMAIN: u8 = 3;
        const REFUSED: u8 = 5;
        for code in [NO_ERROR, NXDOMAIN] {
            let resolver = name_server(Some(code)).await;
            assert!(resolver.texts("_chainbox-challenge.shop.example").await.unwrap().is_empty(), "code {code}");
            let missing = by_record(&resolver, "shop.example", "t0ken").await.unwrap_err();
            assert_eq!(missing, "_chainbox-challenge.shop.example has no TXT record", "code {code}");
        }
        let failed = by_record(&name_server(Some(REFUSED)).await, "shop.example", "t0ken").await.unwrap_err();
        assert!(
            failed.starts_with("the TXT records of _chainbox-challenge.shop.example could not be looked up: "),
            "{failed}"
        );
    }

    /// Takes the five seconds of the look-up.
    #[tokio::test]
    async fn a_name_server_that_is_silent_is_given_up() {
        let resolver = name_server(None).await;
        let proof = by_record(&resolver, "shop.example", "t0ken");
        let silent = tokio::time::timeout(2 * LOOKUP_MAX, proof).await.unwrap().unwrap_err();
        assert!(silent.starts_with("the TXT records of _chainbox-challenge.shop.example "), "{silent}");
    }

    #[tokio::test]
    async fn a_domain_is_proved_by_a_file_over_tls() {
        let certificate = TestCertificate::of(&["shop.example"]);
        let server = TestServer::http(Some(&certificate), |request| {
            let is_file = request.path == "/.well-known/chainbox-challenge/t0ken";
            if is_file { TestReply::new(200, "t0ken\n") } else { TestReply::new(200, "welcome") }
        })
        .await;
        let port = server.address.port();
        let origin = Allowed::Origin { http: false, host: "shop.example".to_owned(), port };
        let resolver: Arc<ScriptedResolver> =
            ScriptedResolver::answering(&[&["127.0.0.1"], &["127.0.0.1"], &["127.0.0.1"]]);
        let client = client(OutboundPolicy::default().with_allowed(origin), resolver, &certificate.roots());
        let host = format!("shop.example:{port}");
        by_file(&client, &host, "t0ken").await.unwrap();
        let other = by_file(&client, &host, "other").await.unwrap_err();
        assert!(other.contains("is not the token"), "{other}");
        // Without a record the file is enough; without either both are named.
        let no_record = Texts(Vec::new());
        prove(&no_record, &client, &host, "t0ken").await.unwrap();
        let neither = prove(&no_record, &client, &host, "other").await.unwrap_err();
        assert!(neither.contains("has no TXT record; ") && neither.ends_with("is not the token"), "{neither}");
    }
}
