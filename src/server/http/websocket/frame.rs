//! Frames of the WebSocket protocol (RFC 6455, 5): reading a client's messages within a bound, and encoding the server's frames.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::server::http::budget::{BodyBudget, Reservation};

/// Opcodes (RFC 6455, 5.2).
const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;

/// Bit of the last frame of a message.
const FIN: u8 = 0x80;
/// Bit of a masked payload; every frame of a client has it, none of a server (RFC 6455, 5.1).
const MASKED: u8 = 0x80;
/// Bytes of a control frame's payload (RFC 6455, 5.5).
const CONTROL_BYTES_MAX: usize = 125;

/// A code with which an endpoint closes a session (RFC 6455, 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CloseCode(pub(super) u16);

impl CloseCode {
    /// The purpose of the session is fulfilled.
    pub(super) const NORMAL: Self = Self(1000);
    /// The server stops.
    pub(super) const GOING_AWAY: Self = Self(1001);
    /// The client breaks the protocol.
    pub(super) const PROTOCOL_ERROR: Self = Self(1002);
    /// The client may not use the session any more.
    pub(super) const POLICY_VIOLATION: Self = Self(1008);
    /// A message is longer than the bound.
    pub(super) const TOO_BIG: Self = Self(1009);
    /// The server failed.
    pub(super) const INTERNAL_ERROR: Self = Self(1011);
    /// The server can't serve the session now: try again later (IANA WebSocket close codes).
    pub(super) const TRY_AGAIN_LATER: Self = Self(1013);
}

/// What a client sent.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A whole text or binary message, with its share of the bytes that all clients may send at one time.
    Message(Vec<u8>, Reservation),
    /// A ping with its payload, which the pong repeats.
    Ping(Vec<u8>),
    /// A pong.
    Pong,
    /// A close frame.
    Close,
}

/// Why a client's frames are not read any further.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The connection ended or failed.
    Disconnected,
    /// The client is told this code and reason.
    Refused(CloseCode, String),
}

impl From<std::io::Error> for FrameError {
    fn from(_: std::io::Error) -> Self {
        Self::Disconnected
    }
}

/// Reads the frames of a client.
#[derive(Debug)]
pub(super) struct FrameReader<R> {
    io: R,
    budget: BodyBudget,
    message_bytes_max: usize,
    /// The message whose last frame has not arrived.
    partial: Option<(Vec<u8>, Reservation)>,
}

/// Head of a frame.
struct Head {
    is_last: bool,
    opcode: u8,
    len: u64,
    mask: [u8; 4],
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads messages of at most `message_bytes_max` bytes.
    pub(super) const fn new(io: R, budget: BodyBudget, message_bytes_max: usize) -> Self {
        Self { io, budget, message_bytes_max, partial: None }
    }

    /// Waits for the next message or control frame. After an error, or when the future was dropped, the reader is at no frame's start.
    pub(super) async fn next(&mut self) -> Result<Incoming, FrameError> {
        loop {
            let head = self.head().await?;
            if head.opcode >= CLOSE {
                return self.control(&head).await;
            }
            let (mut message, mut reservation) = match (head.opcode, self.partial.take()) {
                (TEXT | BINARY, None) => (Vec::new(), self.budget.empty()),
                (CONTINUATION, Some(partial)) => partial,
                (TEXT | BINARY, Some(_)) => return Err(protocol("a message began before the last one ended")),
                (CONTINUATION, None) => return Err(protocol("a continuation without a message")),
                _ => return Err(protocol("an unknown opcode")),
            };
            self.append(&mut message, &mut reservation, &head).await?;
            if head.is_last {
                return Ok(Incoming::Message(message, reservation));
            }
            self.partial = Some((message, reservation));
        }
    }

    /// Reads and drops what comes until the client closes the connection.
    pub(super) async fn discard(&mut self) {
        let _ = tokio::io::copy(&mut self.io, &mut tokio::io::sink()).await;
    }

    async fn head(&mut self) -> Result<Head, FrameError> {
        let [first, second] = self.array().await?;
        if first & 0x70 != 0 {
            return Err(protocol("reserved bits are set, but no extension was agreed on"));
        }
        if second & MASKED == 0 {
            return Err(protocol("frames of a client must be masked"));
        }
        let len = match second & !MASKED {
            126 => u64::from(u16::from_be_bytes(self.array().await?)),
            127 => u64::from_be_bytes(self.array().await?),
            short => u64::from(short),
        };
        Ok(Head { is_last: first & FIN != 0, opcode: first & 0x0F, len, mask: self.array().await? })
    }

    async fn control(&mut self, head: &Head) -> Result<Incoming, FrameError> {
        let len = usize::try_from(head.len).unwrap_or(usize::MAX);
        if len > CONTROL_BYTES_MAX || !head.is_last {
            return Err(protocol("control frames have at most 125 bytes and no continuation"));
        }
        let mut payload = vec![0; len];
        self.io.read_exact(&mut payload).await?;
        unmask(&mut payload, head.mask);
        match head.opcode {
            CLOSE => Ok(Incoming::Close),
            PING => Ok(Incoming::Ping(payload)),
            PONG => Ok(Incoming::Pong),
            _ => Err(protocol("an unknown opcode")),
        }
    }

    /// Appends the payload of a frame to its message.
    async fn append(
        &mut self,
        message: &mut Vec<u8>,
        reservation: &mut Reservation,
        head: &Head,
    ) -> Result<(), FrameError> {
        let start = message.len();
        let end = usize::try_from(head.len).ok().and_then(|len| start.checked_add(len));
        let Some(end) = end.filter(|end| *end <= self.message_bytes_max) else {
            let reason = format!("messages have at most {} bytes", self.message_bytes_max);
            return Err(FrameError::Refused(CloseCode::TOO_BIG, reason));
        };
        if !reservation.grow_to(end) {
            let reason = "too many bytes of requests are being received: try again later".to_owned();
            return Err(FrameError::Refused(CloseCode::TRY_AGAIN_LATER, reason));
        }
        message.resize(end, 0);
        self.io.read_exact(&mut message[start..]).await?;
        unmask(&mut message[start..], head.mask);
        Ok(())
    }

    async fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], FrameError> {
        let mut bytes = [0; LEN];
        self.io.read_exact(&mut bytes).await?;
        Ok(bytes)
    }
}

fn protocol(reason: &str) -> FrameError {
    FrameError::Refused(CloseCode::PROTOCOL_ERROR, reason.to_owned())
}

/// Undoes the mask of a payload (RFC 6455, 5.3).
fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// Returns the head of a server's frame with a payload of `len` bytes.
fn encode_head(opcode: u8, len: usize) -> Vec<u8> {
    let mut head = vec![FIN | opcode];
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(short @ 0..=125), _) => head.push(short),
        (_, Ok(medium)) => {
            head.push(126);
            head.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            head.push(127);
            head.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    head
}

/// Returns the head of a text frame whose payload is written after it.
pub(super) fn text_head(len: usize) -> Vec<u8> {
    encode_head(TEXT, len)
}

/// Returns an empty ping frame.
pub(super) fn ping() -> Vec<u8> {
    encode_head(PING, 0)
}

/// Returns the pong frame for a ping's payload.
pub(super) fn pong(payload: &[u8]) -> Vec<u8> {
    let mut frame = encode_head(PONG, payload.len());
    frame.extend_from_slice(payload);
    frame
}

/// Returns a close frame. The reason is cut to what a control frame holds.
pub(super) fn close(code: CloseCode, reason: &str) -> Vec<u8> {
    let mut end = reason.len().min(CONTROL_BYTES_MAX - 2);
    while !reason.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let mut frame = encode_head(CLOSE, end.saturating_add(2));
    frame.extend_from_slice(&code.0.to_be_bytes());
    frame.extend_from_slice(&reason.as_bytes()[..end]);
    frame
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes a client's frame.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let mut frame = encode_head(0, payload.len());
        (frame[0], frame[1]) = (first, frame[1] | MASKED);
        frame.extend_from_slice(&mask);
        let start = frame.len();
        frame.extend_from_slice(payload);
        unmask(&mut frame[start..], mask);
        frame
    }

    async fn read(bytes: &[u8], message_bytes_max: usize) -> Result<Incoming, FrameError> {
        FrameReader::new(bytes, BodyBudget::new(1 << 20), message_bytes_max).next().await
    }

    fn refused(result: Result<Incoming, FrameError>) -> CloseCode {
        match result {
            Err(FrameError::Refused(code, _)) => code,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn messages_at_the_bound_are_read_and_one_past_it_is_too_big() {
        for (len, fits) in [(0, true), (125, true), (126, true), (70_000, true), (70_001, false)] {
            let frame = masked(FIN | TEXT, &vec![7; len]);
            match read(&frame, 70_000).await {
                Ok(Incoming::Message(message, _)) if fits => assert_eq!(message, vec![7; len]),
                other if !fits => assert_eq!(refused(other), CloseCode::TOO_BIG),
                other => panic!("{len}: {other:?}"),
            }
        }
        let huge = [&[FIN | TEXT, MASKED | 127][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat();
        assert_eq!(refused(read(&huge, 70_000).await), CloseCode::TOO_BIG);
    }

    #[tokio::test]
    async fn a_message_in_parts_may_have_a_ping_between_them() {
        let bytes = [
            masked(TEXT, b"on"),
            masked(FIN | PING, b"?"),
            masked(CONTINUATION, b"e "),
            masked(FIN | CONTINUATION, b"two"),
            masked(FIN | CLOSE, b""),
        ]
        .concat();
        let mut reader = FrameReader::new(&bytes[..], BodyBudget::new(1 << 20), 7);
        assert!(matches!(reader.next().await, Ok(Incoming::Ping(payload)) if payload == b"?"));
        assert!(matches!(reader.next().await, Ok(Incoming::Message(message, _)) if message == b"one two"));
        assert!(matches!(reader.next().await, Ok(Incoming::Close)));
        assert!(matches!(reader.next().await, Err(FrameError::Disconnected)));
    }

    #[tokio::test]
    async fn breaches_of_the_protocol_are_refused() {
        for (name, bytes) in [
            ("not masked", encode_head(TEXT, 0)),
            ("reserved bits", masked(FIN | 0x40 | TEXT, b"")),
            ("no message to continue", masked(FIN | CONTINUATION, b"")),
            ("a message in a message", [masked(TEXT, b"a"), masked(TEXT, b"b")].concat()),
            ("an unknown opcode", masked(FIN | 0x3, b"")),
            ("an unknown control frame", masked(FIN | 0xB, b"")),
            ("a long ping", masked(FIN | PING, &[0; 126])),
            ("a ping in parts", masked(PING, b"")),
        ] {
            assert_eq!(refused(read(&bytes, 100).await), CloseCode::PROTOCOL_ERROR, "{name}");
        }
    }

    #[tokio::test]
    async fn bytes_past_the_budget_of_all_clients_are_refused() {
        let budget = BodyBudget::new(200_000);
        let bytes = masked(FIN | TEXT, &[1; 150_000]);
        let mut first = FrameReader::new(&bytes[..], budget.clone(), 1 << 20);
        let held = first.next().await.unwrap();
        let mut second = FrameReader::new(&bytes[..], budget.clone(), 1 << 20);
        assert_eq!(refused(second.next().await), CloseCode::TRY_AGAIN_LATER);
        drop(held);
        assert!(FrameReader::new(&bytes[..], budget, 1 << 20).next().await.is_ok());
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let frame = close(CloseCode::NORMAL, &"é".repeat(100));
        assert_eq!(frame.len(), 2 + usize::from(frame[1]));
        assert!(frame.len() <= 2 + CONTROL_BYTES_MAX && std::str::from_utf8(&frame[4..]).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut reader = FrameReader::new(&bytes[..], BodyBudget::new(1 << 20), 100);
                while reader.next().await.is_ok() {}
            });
        }
    }
}
