//! Servers and resolvers for tests of what is sent out.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use super::{OutboundClient, OutboundPolicy, OutboundUrl, Resolve, Resolving, SystemResolver, TlsRoots};

/// A byte stream of a test server.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A listener on a free loopback port that ends with the value.
#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServer {
    /// Hands each connection to `serve`, after a TLS handshake where there is a certificate.
    pub(crate) async fn start<F, S>(certificate: Option<&TestCertificate>, serve: S) -> Self
    where
        S: Fn(Box<dyn Stream>) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = certificate.map(TestCertificate::acceptor);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                match &acceptor {
                    None => drop(tokio::spawn(serve(Box::new(stream)))),
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            drop(tokio::spawn(serve(Box::new(stream))));
                        }
                    }
                }
            }
        });
        Self { address, task }
    }

    /// Answers HTTP requests, several on a connection.
    pub(crate) async fn http(
        certificate: Option<&TestCertificate>,
        answer: impl Fn(TestRequest) -> TestReply + Send + Sync + 'static,
    ) -> Self {
        let answer = Arc::new(answer);
        Self::start(certificate, move |stream| {
            let answer = Arc::clone(&answer);
            async move {
                let mut stream = BufReader::new(stream);
                while let Some(request) = read_request(&mut stream).await {
                    let bytes = answer(request).encode();
                    if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                        break;
                    }
                }
            }
        })
        .await
    }

    pub(crate) fn url(&self, path: &str) -> OutboundUrl {
        OutboundUrl::parse(&format!("http://{}{path}", self.address)).unwrap()
    }
}

/// A request as a test server has read it.
#[derive(Clone, Debug)]
pub(crate) struct TestRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What a test server answers.
#[derive(Clone, Debug)]
pub(crate) struct TestReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl TestReply {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    fn encode(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Text\r\nContent-Length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        format!("{head}\r\n{}", self.body).into_bytes()
    }
}

async fn read_request(stream: &mut BufReader<Box<dyn Stream>>) -> Option<TestRequest> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(TestRequest { method, path, headers, body: String::from_utf8(body).unwrap() })
}

/// A self-signed certificate, which is its own authority.
pub(crate) struct TestCertificate {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl TestCertificate {
    pub(crate) fn of(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap().der().clone();
        Self { certificate, key }
    }

    pub(crate) fn roots(&self) -> TlsRoots {
        TlsRoots::none().with_certificate(self.certificate.to_vec()).unwrap()
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Gives a row of answers, one for each question, and counts the questions.
#[derive(Debug, Default)]
pub(crate) struct ScriptedResolver {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl ScriptedResolver {
    /// The last answer is repeated.
    pub(crate) fn answering(answers: &[&[&str]]) -> Arc<Self> {
        let answers = answers.iter().rev().map(|answer| answer.iter().map(|text| text.parse().unwrap()).collect());
        Arc::new(Self { answers: Mutex::new(answers.collect()), asked: Mutex::default() })
    }
}

impl Resolve for ScriptedResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop() } else { answers.last().cloned() };
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// A client for servers on this machine.
pub(crate) fn loopback_client() -> OutboundClient {
    client(OutboundPolicy::default().with_loopback(), Arc::new(SystemResolver::default()), &TlsRoots::none())
}

pub(crate) fn client(policy: OutboundPolicy, resolver: Arc<dyn Resolve>, roots: &TlsRoots) -> OutboundClient {
    OutboundClient::new(policy, resolver, roots).unwrap()
}
