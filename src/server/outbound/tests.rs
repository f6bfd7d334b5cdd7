//! Tests of the client against servers on this machine.

use core::time::Duration;
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    CONNECTION_AGE_MAX, HEADER_BYTES_MAX, HEADERS_MAX, OutboundClient, OutboundError, OutboundPolicy, OutboundRequest,
    OutboundUrl, RESPONSE_BYTES_MAX, SystemResolver, TlsRoots,
    testing::{ScriptedResolver, TestCertificate, TestReply, TestServer, client, loopback_client},
};

fn get(url: OutboundUrl) -> OutboundRequest {
    OutboundRequest::get(url).with_timeout(Duration::from_secs(5))
}

fn parse(url: &str) -> OutboundUrl {
    OutboundUrl::parse(url).unwrap()
}

fn allowing(origin: &str) -> OutboundPolicy {
    OutboundPolicy::default().with_allowed(origin.parse().unwrap())
}

#[tokio::test]
async fn a_request_arrives_as_it_was_made() {
    let seen = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&seen);
    let server = TestServer::http(None, move |request| {
        *kept.lock().unwrap() = Some(request);
        TestReply { headers: vec![("X-Answer", "yes".to_owned())], ..TestReply::new(201, "taken") }
    })
    .await;
    let request = OutboundRequest::post(server.url("/hook?a=1"), "body")
        .with_header(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let response = loopback_client().send(request).await.unwrap().success().unwrap();
    assert_eq!((response.status, &response.body[..]), (StatusCode::CREATED, &b"taken"[..]));
    assert_eq!(response.headers["x-answer"], "yes");
    let seen = seen.lock().unwrap().clone().unwrap();
    assert_eq!((&*seen.method, &*seen.path, &*seen.body), ("POST", "/hook?a=1", "body"));
    assert_eq!(seen.headers["host"], server.address.to_string());
    assert_eq!(seen.headers["content-type"], "text/plain");
    assert!(seen.headers["user-agent"].starts_with("chainbox/"));
    assert!(!seen.headers.contains_key("accept-encoding"));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hits);
    let server = TestServer::http(None, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        TestReply { headers: vec![("Location", "/elsewhere".to_owned())], ..TestReply::new(302, "") }
    })
    .await;
    let response = loopback_client().send(get(server.url("/"))).await.unwrap();
    let error = response.success().unwrap_err();
    assert!(matches!(error, OutboundError::Redirect { status: StatusCode::FOUND, .. }), "{error}");
    assert_eq!(hits.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_status_other_than_2xx_is_an_error_with_an_excerpt() {
    let server = TestServer::http(None, |_| TestReply::new(500, format!("no\r\n{}", "x".repeat(1000)))).await;
    let error = loopback_client().send(get(server.url("/secret"))).await.unwrap().success().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("500") && text.contains(": noxxx") && text.len() < 400, "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_slow_server_is_given_up() {
    // It takes the connection and says nothing; another dribbles a body without end.
    let silent = TestServer::start(None, |mut stream| async move {
        let mut bytes = [0; 1024];
        while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    })
    .await;
    let dribbling = TestServer::start(None, |mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    for server in [&silent, &dribbling] {
        let request = get(server.url("/")).with_timeout(Duration::from_millis(300));
        let error = loopback_client().send(request).await.unwrap_err();
        assert!(matches!(error, OutboundError::Timeout { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_body_is_bounded_as_it_is_read() {
    let served = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&served);
    let endless = TestServer::start(None, move |mut stream| {
        let counted = Arc::clone(&counted);
        async move {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096));
            while stream.write_all(chunk.as_bytes()).await.is_ok() {
                counted.fetch_add(4096, Ordering::Relaxed);
            }
        }
    })
    .await;
    let error = loopback_client().send(get(endless.url("/"))).await.unwrap_err();
    assert!(matches!(error, OutboundError::TooLarge { bytes_max: RESPONSE_BYTES_MAX, .. }), "{error}");
    // What was read ahead into buffers of the system and the client, and no more.
    assert!(served.load(Ordering::Relaxed) < 32 << 20, "{served:?}");

    let announced = TestServer::start(None, |mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    })
    .await;
    let error = loopback_client().send(get(announced.url("/"))).await.unwrap_err();
    assert!(matches!(error, OutboundError::TooLarge { .. }), "{error}");

    for (length, fits) in [(100, true), (101, false)] {
        let server = TestServer::http(None, move |_| TestReply::new(200, "x".repeat(length))).await;
        let answer = loopback_client().send(get(server.url("/")).with_response_bytes_max(100)).await;
        assert_eq!(answer.is_ok(), fits, "{length}");
    }
}

#[tokio::test]
async fn the_head_of_a_response_is_bounded() {
    let fields = |number: usize, length: usize| {
        let fields: String = (0..number).map(|index| format!("X-{index}: {}\r\n", "v".repeat(length))).collect();
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n")
    };
    for (name, head, fits) in [
        ("most fields", fields(HEADERS_MAX - 1, 1), true),
        ("one more", fields(HEADERS_MAX, 1), false),
        ("long", fields(1, HEADER_BYTES_MAX / 2), true),
        ("too long", fields(4, HEADER_BYTES_MAX), false),
        ("no HTTP", "SSH-2.0-OpenSSH\r\n\r\n".to_owned(), false),
    ] {
        let server = TestServer::start(None, move |mut stream| {
            let head = head.clone();
            async move {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        })
        .await;
        let answer = loopback_client().send(get(server.url("/"))).await;
        match answer {
            Ok(_) => assert!(fits, "{name}"),
            Err(error) => assert!(!fits && matches!(error, OutboundError::Exchange { .. }), "{name}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_refused_unless_it_is_a_root() {
    let certificate = TestCertificate::of(&["hooks.test"]);
    let server =
        TestServer::http(Some(&certificate), |request| TestReply::new(200, request.headers["host"].clone())).await;
    let port = server.address.port();
    let origin = format!("hooks.test:{port}");
    let url = || get(parse(&format!("https://{origin}/")));
    let resolver = || ScriptedResolver::answering(&[&["127.0.0.1"]]);

    let error = client(allowing(&origin), resolver(), &TlsRoots::none()).send(url()).await.unwrap_err();
    assert!(matches!(error, OutboundError::Tls { .. }) && error.to_string().contains("certificate"), "{error}");

    let trusting = client(allowing(&origin), resolver(), &certificate.roots());
    let response = trusting.send(url()).await.unwrap();
    assert_eq!(response.body, origin.as_bytes(), "name and port are in Host");

    // The certificate is for one name.
    let other = format!("other.test:{port}");
    let error =
        client(allowing(&other), resolver(), &certificate.roots()).send(get(parse(&format!("https://{other}/")))).await;
    let error = error.unwrap_err();
    assert!(matches!(error, OutboundError::Tls { .. }) && error.to_string().contains("not valid for name"), "{error}");
}

#[tokio::test]
async fn a_name_is_resolved_once_and_connected_to_where_it_was_checked() {
    let server = TestServer::http(None, |_| TestReply::new(200, "inside")).await;
    let port = server.address.port();
    // Public when it is asked first, then this machine: were the name resolved again for the connection, that would be made.
    let resolver = ScriptedResolver::answering(&[&["192.0.2.1"], &["127.0.0.1"]]);
    let policy = OutboundPolicy::default().with_allowed("192.0.2.0/24".parse().unwrap());
    let rebinding = client(policy.clone(), resolver.clone(), &TlsRoots::none());
    let request = || get(parse(&format!("https://rebind.test:{port}/"))).with_timeout(Duration::from_millis(500));
    let error = rebinding.send(request()).await.unwrap_err();
    assert!(matches!(error, OutboundError::Timeout { .. } | OutboundError::Unreachable { .. }), "{error}");
    assert_eq!(*resolver.asked.lock().unwrap(), ["rebind.test"]);
    // The next request asks again, and the answer is refused.
    let error = rebinding.send(request()).await.unwrap_err();
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    assert!(matches!(&error, OutboundError::Refused { address, .. } if *address == loopback), "{error}");
}

#[tokio::test]
async fn every_address_of_a_name_is_checked() {
    let server = TestServer::http(None, |_| TestReply::new(200, "inside")).await;
    let port = server.address.port();
    for addresses in
        [&["127.0.0.1"][..], &["8.8.8.8", "127.0.0.1"], &["::ffff:127.0.0.1"], &["64:ff9b::7f00:1"], &["::1"]]
    {
        let strict = client(OutboundPolicy::default(), ScriptedResolver::answering(&[addresses]), &TlsRoots::none());
        let error = strict.send(get(parse(&format!("https://name.test:{port}/")))).await.unwrap_err();
        assert!(matches!(error, OutboundError::Refused { .. }), "{addresses:?}: {error}");
    }
    // In development, a name that is not of this machine is no way to speak HTTP in clear.
    let dev = client(
        OutboundPolicy::default().with_loopback(),
        ScriptedResolver::answering(&[&["10.0.0.1"]]),
        &TlsRoots::none(),
    );
    let error = dev.send(get(parse(&format!("http://name.test:{port}/")))).await.unwrap_err();
    assert!(matches!(error, OutboundError::Refused { .. }), "{error}");
    let none = client(OutboundPolicy::default(), ScriptedResolver::answering(&[]), &TlsRoots::none());
    let error = none.send(get(parse("https://name.test/"))).await.unwrap_err();
    assert!(matches!(error, OutboundError::Unresolved { .. }), "{error}");
}

#[tokio::test]
async fn addresses_in_a_url_are_checked_without_a_look_up() {
    let resolver = ScriptedResolver::answering(&[&["8.8.8.8"]]);
    let strict = client(OutboundPolicy::default(), resolver.clone(), &TlsRoots::none());
    for host in
        ["127.0.0.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:169.254.169.254]", "169.254.169.254", "[fd00::1]"]
    {
        let url = parse(&format!("https://{host}/"));
        assert!(strict.check(&url).is_err(), "{host}");
        let error = strict.send(get(url)).await.unwrap_err();
        assert!(matches!(error, OutboundError::Refused { .. }), "{host}: {error}");
    }
    assert!(resolver.asked.lock().unwrap().is_empty());
}

/// Counts the connections of a server that answers on each for as long as it stands.
async fn counting_server() -> (TestServer, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let server = TestServer::start(None, move |mut stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            }
        }
    })
    .await;
    (server, connections)
}

async fn ask(client: &OutboundClient, url: OutboundUrl) {
    assert_eq!(client.send(get(url)).await.unwrap().body, "ok");
    // The connection goes back to the others in a task of its own.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn a_connection_is_used_again_and_ends_with_its_age() {
    let (server, connections) = counting_server().await;
    let client = loopback_client();
    ask(&client, server.url("/")).await;
    ask(&client, server.url("/")).await;
    assert_eq!(connections.load(Ordering::Relaxed), 1);
    // Each step is shorter than the time for which an idle connection is kept; the last makes it old.
    tokio::time::pause();
    let step = Duration::from_secs(20);
    for _ in 0..CONNECTION_AGE_MAX.as_secs() / step.as_secs() {
        tokio::time::advance(step).await;
        ask(&client, server.url("/")).await;
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1, "the response that finds it old is the last on it");
    ask(&client, server.url("/")).await;
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn debug_output_and_errors_hold_no_secret() {
    let client = client(OutboundPolicy::default(), Arc::new(SystemResolver::default()), &TlsRoots::none());
    let request = OutboundRequest::post(parse("https://127.0.0.1/secret?secret"), "secret")
        .with_header(header::AUTHORIZATION, HeaderValue::from_static("secret"));
    let debug = format!("{request:?} {client:?}");
    let error = client.send(request).await.unwrap_err();
    assert!(!format!("{debug} {error} {error:?}").contains("secret"), "{debug} {error}");
}
