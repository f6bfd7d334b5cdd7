//! What a template was when contracts were deployed from it, and whether a program still has it.

use core::fmt;

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

use super::TemplateId;

/// Id, version, name and [digest](super::Descriptor::digest) of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateIdentity {
    /// Id and version.
    #[serde(flatten)]
    pub id: TemplateId,
    /// Name.
    pub name: String,
    /// Keccak of what is fixed with the version.
    pub digest: B256,
}

impl fmt::Display for TemplateIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} with digest {}", self.name, self.id, self.digest)
    }
}

/// A template that a chain's contracts run and that the program does not have as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateMismatch {
    /// No template of this id and version is registered.
    #[error(
        "contracts of the chain run template {chain}, which this program does not have ({}): register this version, or \
         use the program that deployed them", versions(.registered)
    )]
    Missing {
        /// The template as the chain has it.
        chain: TemplateIdentity,
        /// Ids and versions of the program's templates of the same name.
        registered: Vec<TemplateId>,
    },
    /// Another template of this id and version is registered.
    #[error(
        "contracts of the chain run template {chain}, this program has {program}, which is not the same: register the \
         other one too, or use the program that deployed them; a template whose ABI, storage or gas changes needs another version"
    )]
    Changed {
        /// The template as the chain has it.
        chain: TemplateIdentity,
        /// The template as the program has it.
        program: TemplateIdentity,
    },
}

fn versions(registered: &[TemplateId]) -> String {
    let texts: Vec<String> = registered.iter().map(TemplateId::to_string).collect();
    if texts.is_empty() { "nor another of this name".to_owned() } else { format!("it has {}", texts.join(", ")) }
}
