//! What a dApp is made by, and how its components are read.

use alloy_primitives::{Address, Bytes};
use serde_json::Value;

use super::{record::DappTheme, templates};
use crate::{
    node::{Component, ComposeError},
    platform::{FieldError, PlatformError},
    vm::ParameterError,
};

/// Bytes of all components as JSON text, those of the template with them.
const COMPONENTS_BYTES_MAX: usize = 64 << 10;
/// Objects and arrays in each other in a configuration.
const CONFIG_DEPTH_MAX: usize = 8;

/// Specification of a dApp.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DappSpec {
    /// Name of the dApp.
    pub name: String,
    /// Id of the chain; see [`Dapps::create`](super::Dapps::create) for the default.
    pub blockchain_id: Option<String>,
    /// Name of a set of components.
    pub template: Option<String>,
    /// Components, each an object with `type`, `config` and, by choice, `name`; they override and extend those of the template.
    pub components: Vec<Value>,
    /// Colours of the page.
    pub theme: DappTheme,
    /// Whether everybody may read the page.
    pub is_public: bool,
    /// Domain for the page.
    pub domain: Option<String>,
    /// Account that deploys; the default sender by default.
    pub from: Option<Address>,
    /// The deploying transaction, signed by somebody else.
    pub signed_transaction: Option<Bytes>,
}

impl DappSpec {
    /// A dApp without components.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Returns its components with those of its template.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with all that is wrong, by its path.
    pub(super) fn components(&self) -> Result<Vec<Component>, PlatformError> {
        let deep = |(index, component): (usize, &Value)| {
            let depth = depth_of(component);
            (depth > CONFIG_DEPTH_MAX.saturating_add(1)).then(|| FieldError {
                path: format!("components[{index}].config"),
                expected: format!("objects and arrays at most {CONFIG_DEPTH_MAX} deep"),
                got: format!("{} levels", depth.saturating_sub(1)),
            })
        };
        let fields: Vec<FieldError> = self.components.iter().enumerate().filter_map(deep).collect();
        if !fields.is_empty() {
            return Err(PlatformError::Validation { fields });
        }
        let all = templates::extended(self.template.as_deref(), &self.components)?;
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let all = Value::from(all);
        let bytes = all.to_string().len();
        if bytes > COMPONENTS_BYTES_MAX {
            let expected = format!("at most {COMPONENTS_BYTES_MAX} bytes of JSON in all");
            return Err(PlatformError::field("components", expected, format!("{bytes} bytes")));
        }
        Component::read_list(&all).map_err(|errors| self.invalid(errors))
    }

    /// Converts what is wrong with components: own ones have their path, for those of the template `template` has.
    fn invalid(&self, errors: Vec<ParameterError>) -> PlatformError {
        let fields = errors.into_iter().map(|ParameterError { path, expected, got }| {
            if self.is_own(&path) {
                return FieldError { path, expected, got };
            }
            FieldError { path: "template".to_owned(), expected: format!("{expected} (at {path})"), got }
        });
        PlatformError::Validation { fields: fields.collect() }
    }

    /// Whether a path such as `components[3].config.token` is of the dApp's own component, which are the first ones.
    fn is_own(&self, path: &str) -> bool {
        let index = path.strip_prefix("components[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        index.is_none_or(|index| index < self.components.len())
    }

    /// Converts why a dApp can't be deployed.
    pub(super) fn refused(&self, error: ComposeError) -> PlatformError {
        match error {
            ComposeError::Invalid(errors) => self.invalid(errors),
            ComposeError::Step { step, source } => {
                let (path, what) = step.split_once(": ").unwrap_or(("components", &step));
                let expected = format!("{what} that succeeds");
                self.invalid(vec![ParameterError { path: path.to_owned(), expected, got: source.to_string() }])
            }
            ComposeError::Bulk(cause) => {
                PlatformError::Conflict { message: format!("the dApp can't be deployed: {cause}") }
            }
        }
    }
}

fn depth_of(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth_of).max(),
        Value::Object(members) => members.values().map(depth_of).max(),
        _ => return 0,
    };
    deepest.unwrap_or_default().saturating_add(1)
}
