//! A connection that is kept alive, with one request at a time, for load. It makes nothing of a response but its status and where its body
//! is, so that on a machine that serves and asks, most of the work is the service's.

use std::{
    io::{Error, ErrorKind, Result},
    net::SocketAddr,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Bytes that there is room for at each read.
const READ_BYTES: usize = 16 << 10;
const VERSION: &[u8] = b"HTTP/1.1 ";
const HEAD_END: &[u8] = b"\r\n\r\n";
const CONTENT_LENGTH: &[u8] = b"content-length:";

/// Returns the bytes of a request. Each line of `headers` ends with CR and LF.
pub(super) fn request(host: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{headers}{length}\r\n{body}").into_bytes()
}

fn broken(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

/// A response, in the bytes of its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Response<'c> {
    pub(super) status: u16,
    pub(super) head: &'c [u8],
    pub(super) body: &'c [u8],
}

/// What the head of a response says of its status and of its place among the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    status: u16,
    body_start: usize,
    end: usize,
}

/// Returns the frame of a response; `None` until its whole head is there.
fn frame(received: &[u8]) -> Result<Option<Frame>> {
    let Some(head_len) = received.windows(HEAD_END.len()).position(|bytes| bytes == HEAD_END) else { return Ok(None) };
    let head = &received[..head_len];
    let unreadable = |what: &str| broken(format!("a response without {what}: {}", String::from_utf8_lossy(head)));
    let status = head.strip_prefix(VERSION).and_then(|rest| number(rest.get(..3)?));
    let status = status.and_then(|status| u16::try_from(status).ok()).ok_or_else(|| unreadable("status"))?;
    let body_len = head.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(CONTENT_LENGTH.len())?;
        name.eq_ignore_ascii_case(CONTENT_LENGTH).then(|| number(value))?
    });
    let body_len = body_len.ok_or_else(|| unreadable("content-length"))?;
    let body_start = head_len + HEAD_END.len();
    Ok(Some(Frame { status, body_start, end: body_start + body_len }))
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.trim().parse().ok()
}

/// A connection, and what it has received of the present response.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    pub(super) async fn connect(host: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(2 * READ_BYTES) })
    }

    /// Sends the bytes of a request and returns its response.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<Response<'_>> {
        self.received.clear();
        self.stream.write_all(request).await?;
        let Frame { status, body_start, end } = loop {
            self.read().await?;
            if let Some(frame) = frame(&self.received)? {
                break frame;
            }
        };
        while self.received.len() < end {
            self.read().await?;
        }
        if self.received.len() > end {
            return Err(broken(format!("a response of {end} bytes, but {} came", self.received.len())));
        }
        let (head, body) = self.received.split_at(body_start);
        Ok(Response { status, head, body })
    }

    async fn read(&mut self) -> Result<()> {
        self.received.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_response_is_framed_once_its_head_is_there() {
    let head = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n";
    let whole = [head.as_slice(), b"{}"].concat();
    for len in 0..=whole.len() {
        let expected = (len >= head.len()).then_some(Frame { status: 201, body_start: head.len(), end: whole.len() });
        assert_eq!(frame(&whole[..len]).unwrap(), expected, "of {len} bytes");
    }
    for (head, lacks) in [
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "content-length"),
        ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "content-length"),
        ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", "status"),
    ] {
        let cause = frame(head.as_bytes()).unwrap_err().to_string();
        assert!(cause.contains(&format!("without {lacks}")), "{head:?}: {cause}");
    }
}
