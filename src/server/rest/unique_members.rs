//! JSON whose objects have each member once (I-JSON, RFC 7493, 2.3): of a member that is there twice, readers take the first, the last or neither,
//! so that who checked a request before may have seen another one.

use std::{collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Any JSON value, read for its members' names alone. An error names the member that is there twice.
#[derive(Debug)]
pub(super) struct UniqueMembers;

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = UniqueMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueMembers, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format_args!("the member {name:?} is there twice")));
            }
            names.insert(name);
            map.next_value::<UniqueMembers>()?;
        }
        Ok(UniqueMembers)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueMembers, A::Error> {
        while items.next_element::<UniqueMembers>()?.is_some() {}
        Ok(UniqueMembers)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<UniqueMembers, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| UniqueMembers)
    }

    fn visit_unit<E>(self) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(), String> {
        serde_json::from_str::<UniqueMembers>(text).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_member_that_is_there_twice_is_named_with_its_place() {
        for (text, name) in [
            (r#"{"name":5,"name":"b"}"#, "name"),
            (r#"{"settings":{"x":1,"y":2,"x":1}}"#, "x"),
            (r#"[{"a":1},{"a":{"b":[{"c":null,"c":null}]}}]"#, "c"),
            (r#"{"a":1,"\u0061":2}"#, "a"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(&format!("the member \"{name}\" is there twice at line 1 column ")), "{error}");
        }
    }

    #[test]
    fn every_other_json_is_read() {
        for text in
            ["null", "true", "-1", "1.5e300", "\"text\"", "[]", "{}", r#"[{"a":1},{"a":1}]"#, r#"{"a":{"a":1}}"#]
        {
            assert_eq!(read(text), Ok(()), "{text}");
        }
        for text in ["", "{", "[1,]", "{\"a\"}", "1 2"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
