//! The entries of a batch, up to a bound: what comes past it is not read.

use core::fmt;

use serde::{
    Deserializer as _,
    de::{Error as _, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// Why a batch is not executed.
#[derive(Debug)]
pub(crate) enum BatchError {
    /// It has more entries than it may.
    TooMany,
    /// It is no JSON, before or at the bound.
    NoJson(serde_json::Error),
}

/// Returns whether a body is a batch: an array.
pub(crate) fn is_batch(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

/// Returns the texts of a batch's entries, of which there are at most so many. Reading ends at the first one past that.
///
/// # Errors
/// [`BatchError`].
pub(crate) fn entries(body: &[u8], calls_max: u32) -> Result<Vec<&RawValue>, BatchError> {
    let (mut entries, mut has_more) = (Vec::new(), false);
    let mut json = serde_json::Deserializer::from_slice(body);
    let visitor = Entries { entries: &mut entries, has_more: &mut has_more, calls_max: calls_max as usize };
    match json.deserialize_seq(visitor).and_then(|()| json.end()) {
        Ok(()) => Ok(entries),
        Err(_) if has_more => Err(BatchError::TooMany),
        Err(cause) => Err(BatchError::NoJson(cause)),
    }
}

/// Keeps the entries that it comes to, and notes whether one is past the bound.
struct Entries<'a, 'de> {
    entries: &'a mut Vec<&'de RawValue>,
    has_more: &'a mut bool,
    calls_max: usize,
}

impl<'de> Visitor<'de> for Entries<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a batch of calls")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut batch: A) -> Result<(), A::Error> {
        while let Some(entry) = batch.next_element()? {
            if self.entries.len() >= self.calls_max {
                *self.has_more = true;
                return Err(A::Error::custom("more entries than a batch may have"));
            }
            self.entries.push(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries' texts; an error's beginning otherwise.
    fn read(body: &str, calls_max: u32) -> Result<Vec<&str>, String> {
        match entries(body.as_bytes(), calls_max) {
            Ok(entries) => Ok(entries.into_iter().map(RawValue::get).collect()),
            Err(BatchError::TooMany) => Err("too many".to_owned()),
            Err(BatchError::NoJson(cause)) => Err(cause.to_string()),
        }
    }

    #[test]
    fn entries_are_kept_as_they_came() {
        assert_eq!(read(" [ {\"a\" : 1}, 5,[ [] ] ] ", 3), Ok(vec!["{\"a\" : 1}", "5", "[ [] ]"]));
        assert_eq!(read("[]", 0), Ok(vec![]));
    }

    #[test]
    fn reading_ends_at_the_first_entry_past_the_bound() {
        assert_eq!(read("[1,1]", 1), Err("too many".to_owned()));
        // What comes behind it is not looked at, whether it is JSON or not.
        assert_eq!(read("[1,1,1,no JSON", 2), Err("too many".to_owned()));
        assert_eq!(read("[1]", 0), Err("too many".to_owned()));
    }

    #[test]
    fn errors_up_to_the_bound_are_those_of_the_json() {
        for body in ["[1,", "[1 2]", "[1,]", "[1] 2", "[{\"a\":}]"] {
            let want = serde_json::from_str::<Vec<&RawValue>>(body).unwrap_err().to_string();
            assert_eq!(read(body, 5), Err(want), "{body}");
        }
    }

    #[test]
    fn an_array_is_a_batch() {
        for (body, want) in [("[", true), (" \n[1]", true), ("{}", false), ("", false), ("1[", false)] {
            assert_eq!(is_batch(body.as_bytes()), want, "{body}");
        }
    }
}
