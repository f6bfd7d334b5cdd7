//! Text form of a trace: one JSON value a line.

use serde::{Deserialize, Serialize};

use super::{TRACE_RECORD_BYTES_MAX, TRACE_VERSION, Trace, TraceEntry, TraceError, TraceHeader, end::TraceEnd};

/// Beginning of the last line.
const END: &[u8] = b"{\"end\":";

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    end: TraceEnd,
}

impl Trace {
    /// Returns the header line, then a line for each entry, then the end.
    pub fn to_ndjson(&self) -> String {
        let mut out = String::new();
        line(&mut out, &self.header);
        for entry in &self.entries {
            line(&mut out, entry);
        }
        line(&mut out, &EndLine { end: TraceEnd::of(self) });
        out
    }

    /// Reads the form of [`Trace::to_ndjson`].
    ///
    /// # Errors
    /// [`TraceError`] with the number of the line, or with what is missing.
    pub fn from_ndjson(bytes: &[u8]) -> Result<Self, TraceError> {
        let (trace, end) = Self::parse_ndjson(bytes)?;
        trace.ended_by(end)
    }

    /// Returns the trace without its outcome, and its end.
    pub(super) fn parse_ndjson(bytes: &[u8]) -> Result<(Self, Option<TraceEnd>), TraceError> {
        let mut lines = (1..).zip(bytes.trim_ascii_end().split(|byte| *byte == b'\n'));
        let header = header(lines.next().map_or(&[][..], |(_, line)| line))?;
        let mut end = None;
        let mut entries = Vec::new();
        for (record, line) in lines {
            let malformed = |reason| TraceError::Malformed { record, reason };
            if line.len() > TRACE_RECORD_BYTES_MAX {
                return Err(malformed(format!("{} bytes; at most {TRACE_RECORD_BYTES_MAX} are read", line.len())));
            }
            if end.is_some() {
                return Err(malformed("expected nothing after the end".to_owned()));
            }
            if line.starts_with(END) {
                let line: EndLine = serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))?;
                end = Some(line.end);
            } else {
                entries.push(serde_json::from_slice::<TraceEntry>(line).map_err(|error| malformed(error.to_string()))?);
            }
        }
        Ok((Self { header, entries, outcome: Default::default() }.checked()?, end))
    }
}

/// The version is checked before anything that another version may have changed.
fn header(line: &[u8]) -> Result<TraceHeader, TraceError> {
    let failed = |error: serde_json::Error| TraceError::Header { reason: error.to_string() };
    let value: serde_json::Value = serde_json::from_slice(line).map_err(failed)?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(TRACE_VERSION) => serde_json::from_value(value).map_err(failed),
        Some(version) => Err(TraceError::Version { got: u32::try_from(version).unwrap_or(u32::MAX) }),
        None => Err(TraceError::Header { reason: "its first line has no field `version`".to_owned() }),
    }
}

fn line(out: &mut String, value: &impl Serialize) {
    // Both types always encode as JSON.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
    out.push('\n');
}
