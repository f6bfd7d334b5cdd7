//! Binary form of a trace: length-prefixed records in postcard's wire format.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    TRACE_RECORD_BYTES_MAX, TRACE_VERSION, Trace, TraceEntry, TraceError, TraceHeader, end::TraceEnd,
    framing::push_record,
};

/// First bytes of every binary trace.
pub(super) const MAGIC: &[u8; 8] = b"CBXTRACE";

impl Trace {
    /// Returns the binary form; see [the module](super::super::trace) for its layout.
    pub fn to_binary(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        push_record(&mut out, &self.header);
        for entry in &self.entries {
            push_record(&mut out, &Record::Entry(entry));
        }
        push_record(&mut out, &Record::<&TraceEntry>::End(TraceEnd::of(self)));
        out
    }

    /// Reads the form of [`Trace::to_binary`].
    ///
    /// # Errors
    /// [`TraceError`] with the number of the record, or with what is missing.
    pub fn from_binary(bytes: &[u8]) -> Result<Self, TraceError> {
        let (trace, end) = Self::parse_binary(bytes)?;
        trace.ended_by(end)
    }

    /// Returns the trace without its outcome, and its end.
    pub(super) fn parse_binary(bytes: &[u8]) -> Result<(Self, Option<TraceEnd>), TraceError> {
        let header = |reason: String| TraceError::Header { reason };
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| header("it does not begin with CBXTRACE".to_owned()))?;
        let first = take_record(&mut rest, 1)?.ok_or_else(|| header("it is empty".to_owned()))?;
        // The version is the header's first field.
        let (version, _) = postcard::take_from_bytes::<u32>(first).map_err(|error| header(error.to_string()))?;
        if version != TRACE_VERSION {
            return Err(TraceError::Version { got: version });
        }
        let header = decode::<TraceHeader>(first, 1)?;
        let mut trace = Self { header, entries: Vec::new(), outcome: Default::default() };
        let mut end = None;
        while let Some(record) = take_record(&mut rest, trace.entries.len() + 2)? {
            let number = trace.entries.len() + 2;
            if end.is_some() {
                let reason = "expected nothing after the end".to_owned();
                return Err(TraceError::Malformed { record: number + 1, reason });
            }
            match decode(record, number)? {
                Record::Entry(entry) => trace.entries.push(entry),
                Record::End(last) => end = Some(last),
            }
        }
        Ok((trace.checked()?, end))
    }
}

/// A record after the header.
#[derive(Debug, Serialize, Deserialize)]
enum Record<E> {
    Entry(E),
    End(TraceEnd),
}

/// Returns the next record; `None` at the end.
fn take_record<'a>(rest: &mut &'a [u8], record: usize) -> Result<Option<&'a [u8]>, TraceError> {
    if rest.is_empty() {
        return Ok(None);
    }
    let mut length = 0_usize;
    for shift in (0..28).step_by(7) {
        let (byte, after) = rest.split_first().ok_or(TraceError::Truncated { record })?;
        *rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            if length > TRACE_RECORD_BYTES_MAX {
                break;
            }
            let (taken, after) = rest.split_at_checked(length).ok_or(TraceError::Truncated { record })?;
            *rest = after;
            return Ok(Some(taken));
        }
    }
    let reason = format!("its length is more than {TRACE_RECORD_BYTES_MAX} bytes");
    Err(TraceError::Malformed { record, reason })
}

fn decode<T: DeserializeOwned>(bytes: &[u8], record: usize) -> Result<T, TraceError> {
    let malformed = |reason: String| TraceError::Malformed { record, reason };
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|error| malformed(error.to_string()))?;
    match rest.len() {
        0 => Ok(value),
        count => Err(malformed(format!("{count} bytes are left over"))),
    }
}
