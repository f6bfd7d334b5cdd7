//! `--genesis FILE`: a specification of this crate's form or of geth's, made ready to develop on.

use std::path::Path;

use chainbox::{chain::GenesisSpec, consensus::ConsensusKind};
use serde_json::{Value, json};

use crate::files;

type Failure = Box<dyn std::error::Error>;

/// A genesis that was read from a file.
#[derive(Debug)]
pub(crate) struct GenesisFile {
    pub(crate) genesis: GenesisSpec,
    /// What was not taken over, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl GenesisFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The path, with the field or the place in the text that is wrong.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = files::read_text(path)?;
        Self::parse(&text).map_err(|cause| format!("{}: {cause}", path.display()).into())
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        if GenesisSpec::is_geth_json(text) {
            let mut read = GenesisSpec::from_geth_json(text)?;
            read.spec.allow_interventions = true;
            let notes = read.ignored.iter().map(|ignored| format!("not taken over: {ignored}")).collect();
            return Ok(Self { genesis: read.spec, notes });
        }
        let mut genesis = GenesisSpec::from_json(text)?;
        let given: Value = serde_json::from_str(text)?;
        // A development node is for changing state by hand; only a genesis that says so forbids it.
        genesis.allow_interventions |= given.get("allowInterventions").is_none();
        genesis.consensus = on_demand(genesis.consensus)?;
        Ok(Self { genesis, notes: Vec::new() })
    }
}

/// Returns a consensus section for blocks on demand: a protocol's name alone is one with its defaults, and a section without a period
/// has none.
fn on_demand(section: Value) -> Result<Value, Failure> {
    match section {
        Value::String(name) => {
            let kind = ConsensusKind::from_name(&name).ok_or_else(|| {
                let names = ConsensusKind::ALL.map(ConsensusKind::short_name).join(", ");
                format!("genesis field `consensus`: there is no protocol {name:?}; choose one of {names}")
            })?;
            Ok(kind.on_demand().section())
        }
        Value::Object(mut fields) if fields.contains_key("protocol") => {
            fields.entry("period").or_insert(json!(0));
            Ok(Value::Object(fields))
        }
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> GenesisSpec {
        GenesisFile::parse(text).unwrap().genesis
    }

    #[test]
    fn interventions_are_allowed_unless_the_file_says_no() {
        assert!(read(r#"{ "chainId": 1 }"#).allow_interventions);
        assert!(read(r#"{ "config": { "chainId": 1 } }"#).allow_interventions);
        assert!(!read(r#"{ "chainId": 1, "allowInterventions": false }"#).allow_interventions);
    }

    #[test]
    fn a_protocol_has_blocks_on_demand() {
        for (consensus, expected) in [
            (r#""pbft""#, ConsensusKind::Pbft.on_demand().section()),
            (r#"{ "protocol": "poa" }"#, json!({ "protocol": "poa", "period": 0 })),
            (r#"{ "protocol": "poa", "period": 5 }"#, json!({ "protocol": "poa", "period": 5 })),
        ] {
            assert_eq!(read(&format!(r#"{{ "chainId": 1, "consensus": {consensus} }}"#)).consensus, expected);
        }
        let unknown = GenesisFile::parse(r#"{ "chainId": 1, "consensus": "magic" }"#).unwrap_err().to_string();
        assert!(unknown.contains("\"magic\"; choose one of poa, "), "{unknown}");
    }

    #[test]
    fn the_example_is_read() {
        assert_eq!(read(GenesisSpec::EXAMPLE).chain_id, 1_337);
    }
}
