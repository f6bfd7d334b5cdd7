//! TLS by file, and the addresses of clients behind trusted proxies, with the real binary.

use std::{io::Read, net::TcpStream, path::Path, sync::Arc};

use base64ct::{Base64, Encoding as _};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, pki_types::CertificateDer};
use serde_json::Value;

use crate::{
    binary::chainbox,
    serving::{Serving, exchange, send},
};

fn certificate(folder: &Path, name: &str) -> (String, String, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let pem = |label: &str, der: &[u8]| {
        let text = Base64::encode_string(der);
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    };
    let (certificate, key) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
    std::fs::write(&certificate, pem("CERTIFICATE", made.cert.der())).unwrap();
    std::fs::write(&key, pem("PRIVATE KEY", &made.signing_key.serialize_der())).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    (path(&certificate), path(&key), made.cert.der().clone())
}

fn connect(address: &str, trusted: &CertificateDer<'static>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
    let connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    StreamOwned::new(connection, TcpStream::connect(address).unwrap())
}

#[test]
fn by_tls_everything_is_served_and_users_are_kept_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key, trusted) = certificate(folder.path(), "own");
    let (_, _, other) = certificate(folder.path(), "other");
    let service = Serving::start(&["--in-memory", "--tls-cert", &cert, "--tls-key", &key]);
    let address = &service.address;
    let get = |path: &str| exchange(connect(address, &trusted), address, "GET", path, "", "").unwrap();
    let health = get("/v1/health");
    assert_eq!(health.status, 200);
    assert!(health.head.contains("strict-transport-security: max-age="), "{}", health.head);
    let metadata: Value = get("/.well-known/oauth-authorization-server").json();
    assert_eq!(metadata["issuer"], format!("https://{address}"));
    let page = get("/oauth/login");
    let cookie = page.head.lines().find(|line| line.starts_with("set-cookie: ")).unwrap().to_owned();
    assert!(cookie.contains("__host-") && cookie.contains("; secure") && cookie.contains("; httponly"), "{cookie}");

    let in_clear = send(address, "GET", "/v1/health", "", "");
    assert!(in_clear.is_err(), "{in_clear:?}");
    let mut stranger = connect(address, &other);
    assert!(stranger.read(&mut [0]).is_err(), "a certificate that is not the service's");
    service.stop();
}

/// A WebSocket session of a chain's Ethereum JSON-RPC over TLS: the upgrade, a call, its answer.
#[cfg(feature = "rocksdb")]
#[test]
fn a_websocket_goes_over_tls() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let (cert, key, trusted) = certificate(folder.path(), "own");
    let data = folder.path().join("data");
    let mut chain = String::new();
    let api_key = crate::serving::database(&data, |platform| {
        let spec =
            chainbox::platform::BlockchainSpec::read(serde_json::json!({ "name": "x", "chainId": 4242 })).unwrap();
        chain = platform.blockchains().create(&platform.service_principal(), spec).unwrap().id().to_owned();
    });
    let flags = ["--db-path", data.to_str().unwrap(), "--tls-cert", &cert, "--tls-key", &key];
    let service = Serving::start(&flags);
    let mut stream = connect(&service.address, &trusted);
    write!(
        stream,
        "GET /v1/blockchains/{chain}/eth HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {api_key}\r\nconnection: Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        service.address
    )
    .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    // A masked text frame (RFC 6455, 5.2) with a mask of zeros.
    let frame = [&[0x81, 0x80 | u8::try_from(call.len()).unwrap(), 0, 0, 0, 0], &call[..]].concat();
    stream.write_all(&frame).unwrap();
    let mut header = [0; 2];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[1])];
    stream.read_exact(&mut payload).unwrap();
    let answer: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(answer["result"], "0x1092", "{answer}");
    service.stop();
}

#[test]
fn files_that_can_not_be_served_with_end_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let ((cert, _, _), (_, key, _)) = (certificate(folder.path(), "one"), certificate(folder.path(), "other"));
    for (flags, says, code) in [
        (&["--tls-cert", &cert, "--tls-key", &key][..], "can't be used together", 1),
        (&["--tls-cert", "/no/such/file", "--tls-key", &key], "/no/such/file", 1),
        (&["--tls-cert", &cert], "--tls-key", 2),
        (&["--trusted-proxy", "everyone"], "10.1.0.0/16", 2),
    ] {
        let output = chainbox(&[&["serve", "--in-memory", "--port", "0"], flags].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && said.contains(says), "{flags:?}: {said}");
    }
}

/// Rates are counted by the client's address: a trusted proxy's word is taken, anybody else's is not.
#[test]
fn rates_follow_the_address_that_a_trusted_proxy_names() {
    let limited = ["--in-memory", "--requests-per-minute", "3"];
    let statuses = |flags: &[&str], headers: &[&str]| -> Vec<u16> {
        let service = Serving::start(&[&limited, flags].concat());
        let send =
            |header: &&str| send(&service.address, "GET", "/v1/health", &format!("{header}\r\n"), "").unwrap().status;
        headers.iter().map(send).collect()
    };
    let from = ["x-forwarded-for: 203.0.113.1", "x-forwarded-for: 203.0.113.2", "x-forwarded-for: 203.0.113.3"];
    let all = [from[0], from[1], from[2], from[0], from[1], from[0], from[0]];
    let untrusted = statuses(&[], &all);
    assert_eq!(untrusted, [200, 200, 200, 429, 429, 429, 429], "nobody is believed by default");
    let trusted = ["--trusted-proxy", "127.0.0.0/8"];
    assert_eq!(statuses(&trusted, &all), [200, 200, 200, 200, 200, 200, 429]);
    // What a client writes itself is to the left of what the proxy appends.
    let forged = ["x-forwarded-for: 198.51.100.1, 203.0.113.9", "x-forwarded-for: 198.51.100.2, 203.0.113.9"];
    assert_eq!(statuses(&trusted, &[forged[0], forged[1], forged[0], forged[1]]), [200, 200, 200, 429]);
    let elsewhere = ["--trusted-proxy", "10.0.0.0/8"];
    assert_eq!(statuses(&elsewhere, &all)[3], 429, "the proxy is not in the network");
    let standard = ["--trusted-proxy", "127.0.0.1", "--trusted-proxy-header", "forwarded"];
    let mixed = ["forwarded: for=203.0.113.1", "forwarded: for=203.0.113.2", from[0], from[1], from[2], from[0]];
    assert_eq!(statuses(&standard, &mixed), [200, 200, 200, 200, 200, 429], "the other header is not read");
}
