//! Text form of a trace: one JSON value a line.

use serde::Serialize;

use super::{TRACE_RECORD_BYTES_MAX, TRACE_VERSION, Trace, TraceEntry, TraceError, TraceHeader};

impl Trace {
    /// Returns the header line, then a line for each entry.
    pub fn to_ndjson(&self) -> String {
        let mut out = String::new();
        line(&mut out, &self.header);
        for entry in &self.entries {
            line(&mut out, entry);
        }
        out
    }

    /// Reads the form of [`Trace::to_ndjson`].
    ///
    /// # Errors
    /// [`TraceError`] with the number of the line.
    pub fn from_ndjson(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(bytes.trim_ascii_end().split(|byte| *byte == b'\n'));
        let header = header(lines.next().map_or(&[][..], |(_, line)| line))?;
        let entries = lines.map(|(record, line)| {
            let malformed = |reason| TraceError::Malformed { record, reason };
            if line.len() > TRACE_RECORD_BYTES_MAX {
                return Err(malformed(format!("{} bytes; at most {TRACE_RECORD_BYTES_MAX} are read", line.len())));
            }
            serde_json::from_slice::<TraceEntry>(line).map_err(|error| malformed(error.to_string()))
        });
        Self { header, entries: entries.collect::<Result<_, _>>()? }.checked()
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
