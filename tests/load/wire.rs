//! Connections of clients: HTTP/1.1 that is kept alive, and WebSocket (RFC 6455).

use std::{
    io::{Error, ErrorKind, Result},
    net::SocketAddr,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::TcpStream,
};

/// One connection over which requests follow each other.
#[derive(Debug)]
pub(crate) struct Http {
    stream: BufStream<TcpStream>,
    host: SocketAddr,
}

/// Status and body of a response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

fn broken(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

impl Http {
    pub(crate) async fn connect(host: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufStream::new(stream), host })
    }

    /// Sends a request without waiting for its response.
    pub(crate) async fn begin(&mut self, method: &str, path: &str, api_key: &str, body: &str) -> Result<()> {
        let key = if api_key.is_empty() { String::new() } else { format!("x-api-key: {api_key}\r\n") };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{key}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        self.stream.write_all(head.as_bytes()).await?;
        self.stream.write_all(body.as_bytes()).await?;
        self.stream.flush().await
    }

    /// Sends a request and returns the response.
    pub(crate) async fn request(&mut self, method: &str, path: &str, api_key: &str, body: &str) -> Result<Reply> {
        self.begin(method, path, api_key, body).await?;
        self.finish().await
    }

    /// Posts JSON-RPC to `/`.
    pub(crate) async fn post(&mut self, body: &str) -> Result<Reply> {
        self.request("POST", "/", "", body).await
    }

    /// Sends the beginning of a request of `len` bytes of body, and no more.
    pub(crate) async fn begin_and_stop(&mut self, body: &str, len: usize) -> Result<()> {
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {len}\r\n\r\n",
            self.host
        );
        self.stream.write_all(head.as_bytes()).await?;
        self.stream.write_all(body.as_bytes()).await?;
        self.stream.flush().await
    }

    /// Reads some bytes of a response; 0 at its end.
    pub(crate) async fn read_some(&mut self, bytes: &mut [u8]) -> Result<usize> {
        self.stream.read(bytes).await
    }

    async fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Reads the response to a request that was begun.
    pub(crate) async fn finish(&mut self) -> Result<Reply> {
        let status_line = self.line().await?;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| broken(format!("no status in {status_line:?}")))?;
        let (mut len, mut is_chunked) = (0, false);
        loop {
            let line = self.line().await?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                len = value.parse().map_err(|_| broken(line.clone()))?;
            }
            is_chunked |= line == "transfer-encoding: chunked";
        }
        let mut body = Vec::new();
        if is_chunked {
            loop {
                let size = usize::from_str_radix(&self.line().await?, 16).map_err(|cause| broken(cause.to_string()))?;
                let start = body.len();
                body.resize(start + size, 0);
                self.stream.read_exact(&mut body[start..]).await?;
                self.line().await?;
                if size == 0 {
                    break;
                }
            }
        } else {
            body.resize(len, 0);
            self.stream.read_exact(&mut body).await?;
        }
        let body = String::from_utf8(body).map_err(|cause| broken(cause.to_string()))?;
        Ok(Reply { status, body })
    }
}

/// What a WebSocket session receives.
#[derive(Debug)]
pub(crate) enum Message {
    Text(String),
    Closed(u16),
}

/// A WebSocket session.
#[derive(Debug)]
pub(crate) struct Socket(BufStream<TcpStream>);

impl Socket {
    pub(crate) async fn connect(host: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let mut http = Http { stream: BufStream::new(stream), host };
        let request = format!(
            "GET / HTTP/1.1\r\nhost: {host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        http.stream.write_all(request.as_bytes()).await?;
        http.stream.flush().await?;
        let status = http.line().await?;
        if !status.contains(" 101 ") {
            return Err(broken(status));
        }
        while !http.line().await?.is_empty() {}
        Ok(Self(http.stream))
    }

    /// Sends a text frame, masked with zero, which leaves the text as it is.
    pub(crate) async fn send(&mut self, text: &str) -> Result<()> {
        self.send_frame(0x81, text.as_bytes()).await
    }

    async fn send_frame(&mut self, first: u8, payload: &[u8]) -> Result<()> {
        let mut head = vec![first];
        match payload.len() {
            short @ 0..=125 => head.push(0x80 | short as u8),
            long @ 126..=0xffff => {
                head.push(0x80 | 126);
                head.extend_from_slice(&(long as u16).to_be_bytes());
            }
            longer => {
                head.push(0x80 | 127);
                head.extend_from_slice(&(longer as u64).to_be_bytes());
            }
        }
        head.extend_from_slice(&[0; 4]);
        self.0.write_all(&head).await?;
        self.0.write_all(payload).await?;
        self.0.flush().await
    }

    /// Reads some bytes, whatever frames they belong to; 0 at the end.
    pub(crate) async fn read_some(&mut self, bytes: &mut [u8]) -> Result<usize> {
        self.0.read(bytes).await
    }

    /// Returns the next text, or the code of a close frame; answers pings.
    pub(crate) async fn receive(&mut self) -> Result<Message> {
        loop {
            let (first, second) = (self.0.read_u8().await?, self.0.read_u8().await?);
            let len = match second & 0x7f {
                126 => u64::from(self.0.read_u16().await?),
                127 => self.0.read_u64().await?,
                short => u64::from(short),
            };
            let mut payload = vec![0; len as usize];
            self.0.read_exact(&mut payload).await?;
            match first & 0x0f {
                1 => {
                    return String::from_utf8(payload).map(Message::Text).map_err(|cause| broken(cause.to_string()));
                }
                8 => return Ok(Message::Closed(payload.first_chunk().copied().map_or(0, u16::from_be_bytes))),
                9 => self.send_frame(0x8a, &payload).await?,
                10 => {}
                other => return Err(broken(format!("a frame of kind {other}"))),
            }
        }
    }
}
