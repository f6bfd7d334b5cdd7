//! Decoded values as text of a bounded length, whatever their size.

use core::fmt::{self, Write};

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::hex;

/// Characters of one value in the text.
const SHOWN_MAX: usize = 66;

/// Returns a value as text: integers decimal, addresses with their checksum, bytes hex, lists in brackets and structs in parentheses;
/// what is longer ends in `...`.
pub(super) fn value_text(value: &DynSolValue) -> String {
    let mut shown = Shown { text: String::new(), left: SHOWN_MAX };
    if write_value(&mut shown, value).is_err() {
        shown.text.push_str("...");
    }
    shown.text
}

/// Takes so many characters and refuses the next one.
struct Shown {
    text: String,
    left: usize,
}

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.char_indices().nth(self.left).map(|(end, _)| end);
        self.text.push_str(&text[..end.unwrap_or(text.len())]);
        self.left = self.left.saturating_sub(text.chars().take(self.left).count());
        if end.is_none() { Ok(()) } else { Err(fmt::Error) }
    }
}

fn write_value(out: &mut Shown, value: &DynSolValue) -> fmt::Result {
    match value {
        DynSolValue::Address(address) => out.write_str(&address.to_checksum(None)),
        DynSolValue::Uint(number, _) => write!(out, "{number}"),
        DynSolValue::Int(number, _) => write!(out, "{number}"),
        DynSolValue::Bool(flag) => write!(out, "{flag}"),
        DynSolValue::String(text) => write_string(out, text),
        DynSolValue::Bytes(bytes) => write_bytes(out, bytes),
        DynSolValue::FixedBytes(word, length) => write_bytes(out, &word[..*length]),
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) => write_list(out, "[", values, "]"),
        DynSolValue::Tuple(values) => write_list(out, "(", values, ")"),
        other => write!(out, "{other:?}"),
    }
}

fn write_list(out: &mut Shown, open: &str, values: &[DynSolValue], close: &str) -> fmt::Result {
    out.write_str(open)?;
    for (index, value) in values.iter().enumerate() {
        out.write_str(if index == 0 { "" } else { ", " })?;
        write_value(out, value)?;
    }
    out.write_str(close)
}

fn write_string(out: &mut Shown, text: &str) -> fmt::Result {
    out.write_char('"')?;
    text.chars().try_for_each(|character| write!(out, "{}", character.escape_debug()))?;
    out.write_char('"')
}

fn write_bytes(out: &mut Shown, bytes: &[u8]) -> fmt::Result {
    // Two characters a byte: the bytes after these are never shown.
    out.write_str(&hex::encode_prefixed(&bytes[..bytes.len().min(SHOWN_MAX)]))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    #[test]
    fn values_are_shown_up_to_a_bound() {
        let number = |number: u64| DynSolValue::Uint(U256::from(number), 256);
        let shown = [
            (DynSolValue::Tuple(vec![number(1), DynSolValue::Bool(true)]), "(1, true)".to_owned()),
            (DynSolValue::Array(vec![]), "[]".to_owned()),
            (DynSolValue::String("a \"b\"\n".to_owned()), r#""a \"b\"\n""#.to_owned()),
            (DynSolValue::FixedBytes([0xab; 32].into(), 32), format!("0x{}", "ab".repeat(32))),
            (DynSolValue::Bytes(vec![0xab; 33]), format!("0x{}...", "ab".repeat(32))),
            (DynSolValue::Bytes(vec![0xab; 1 << 20]), format!("0x{}...", "ab".repeat(32))),
            (DynSolValue::String("é".repeat(1 << 20)), format!("\"{}...", "é".repeat(SHOWN_MAX - 1))),
            (DynSolValue::Array(vec![number(7); 1 << 20]), format!("[{}...", "7, ".repeat(22).trim_end_matches(' '))),
        ];
        for (value, want) in shown {
            assert_eq!(value_text(&value), want);
        }
    }
}
