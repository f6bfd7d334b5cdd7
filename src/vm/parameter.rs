//! What a template says of its constructor's parameters beside the ABI.

use serde::Serialize;
use serde_json::Value;

use super::Unit;

/// Value of a parameter that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ParameterDefault {
    /// The account that deploys.
    Deployer,
    /// This value.
    #[serde(untagged)]
    Value(Value),
}

/// What a template adds to its ABI about a parameter of its constructor.
///
/// ```
/// use chainbox::vm::ParameterNote;
/// let note = ParameterNote::of("minDelay", "Time between scheduling and execution.").with_unit("seconds").with_default("86400");
/// assert_eq!(note.name(), "minDelay");
/// ```
#[derive(Clone, Debug)]
pub struct ParameterNote {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) unit: Option<Unit>,
    pub(super) default: Option<ParameterDefault>,
}

impl ParameterNote {
    /// Describes a parameter; `features.mintable` is a member of the struct `features`.
    pub const fn of(name: &'static str, description: &'static str) -> Self {
        Self { name, description, unit: None, default: None }
    }

    /// Sets the unit: in words, or one in which values are written for people.
    #[must_use]
    pub fn with_unit(self, unit: impl Into<Unit>) -> Self {
        Self { unit: Some(unit.into()), ..self }
    }

    /// Sets the value when it is left out, in the form of [`Descriptor::encode`](super::Descriptor::encode).
    #[must_use]
    pub fn with_default(self, default: impl Into<Value>) -> Self {
        Self { default: Some(ParameterDefault::Value(default.into())), ..self }
    }

    /// Makes the deploying account the value when it is left out.
    #[must_use]
    pub fn with_default_deployer(self) -> Self {
        Self { default: Some(ParameterDefault::Deployer), ..self }
    }

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}
