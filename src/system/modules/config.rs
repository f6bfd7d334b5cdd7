//! The section `modules` of a genesis.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{MODULES_MAX, name};
use crate::primitives::{Address, B256};

/// Authority and modules at genesis. In JSON the names are camelCase, unknown ones are refused.
///
/// ```
/// # use chainbox::system::modules::ModulesConfig;
/// let config: ModulesConfig = serde_json::from_str(r#"{
///     "authority": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
///     "enabled": [{
///         "name": "defi",
///         "version": 1,
///         "configHash": "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
///     }]
/// }"#)?;
/// assert_eq!(config.enabled[0].name, "defi");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModulesConfig {
    /// Account or contract that enables and disables modules.
    pub authority: Address,
    /// Modules that are on from genesis on.
    #[serde(default)]
    pub enabled: Vec<ModuleConfig>,
}

/// A module that genesis enables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModuleConfig {
    /// Name of the module: 1 to 32 lowercase letters, digits and dashes.
    pub name: String,
    /// Version of the module.
    pub version: u32,
    /// Hash of its configuration, zero for one without.
    #[serde(default)]
    pub config_hash: B256,
}

/// An invalid section `modules`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModulesConfigError {
    /// The authority is the zero address, which nobody has.
    #[error("`authority` is the zero address; name an account or a contract that can call")]
    NoAuthority,
    /// A name is none of a module.
    #[error("{name:?} is no name of a module; write 1 to 32 lowercase letters, digits and dashes, such as \"defi\"")]
    Name {
        /// The name.
        name: String,
    },
    /// A module is listed twice.
    #[error("`enabled` has {name:?} twice; remove one")]
    Twice {
        /// Name of the module.
        name: String,
    },
    /// There are too many modules.
    #[error("`enabled` has {count} modules; list at most {MODULES_MAX}")]
    TooMany {
        /// Number of modules.
        count: usize,
    },
}

impl ModulesConfig {
    /// Creates the section without modules.
    pub const fn new(authority: Address) -> Self {
        Self { authority, enabled: Vec::new() }
    }

    /// Enables a module, after those before.
    #[must_use]
    pub fn with_module(mut self, name: &str, version: u32, config_hash: B256) -> Self {
        self.enabled.push(ModuleConfig { name: name.to_owned(), version, config_hash });
        self
    }

    /// Checks the authority and the modules.
    ///
    /// # Errors
    /// [`ModulesConfigError`] for the first fault.
    pub fn check(&self) -> Result<(), ModulesConfigError> {
        if self.authority.is_zero() {
            return Err(ModulesConfigError::NoAuthority);
        }
        let count = self.enabled.len();
        if count as u64 > MODULES_MAX {
            return Err(ModulesConfigError::TooMany { count });
        }
        let mut names = BTreeSet::new();
        for ModuleConfig { name, .. } in &self.enabled {
            if name::parse(name).is_none() {
                return Err(ModulesConfigError::Name { name: name.clone() });
            }
            if !names.insert(name) {
                return Err(ModulesConfigError::Twice { name: name.clone() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(1);

    #[test]
    fn modules_come_back_from_json() {
        let config =
            ModulesConfig::new(A).with_module("defi", 3, B256::repeat_byte(7)).with_module("nft", 1, B256::ZERO);
        assert_eq!(config.check(), Ok(()));
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<ModulesConfig>(&json).unwrap(), config);
        for wrong in [r#"{"enabled": []}"#, r#"{"authority": "0x01"}"#] {
            assert!(serde_json::from_str::<ModulesConfig>(wrong).is_err(), "{wrong}");
        }
        let unknown =
            format!(r#"{{"authority": "{A}", "enabled": [{{"name": "defi", "version": 1, "config": {{}}}}]}}"#);
        assert!(serde_json::from_str::<ModulesConfig>(&unknown).unwrap_err().to_string().contains("unknown field"));
    }

    #[test]
    fn faults_are_named() {
        let many = |count: u64| {
            (0..count)
                .fold(ModulesConfig::new(A), |config, number| config.with_module(&format!("m{number}"), 1, B256::ZERO))
        };
        assert_eq!(many(MODULES_MAX).check(), Ok(()));
        let one = |name: &str| ModulesConfig::new(A).with_module(name, 1, B256::ZERO);
        for (config, words) in [
            (ModulesConfig::new(Address::ZERO), "zero address"),
            (one("DeFi"), "\"DeFi\" is no name"),
            (one("dao").with_module("dao", 2, B256::ZERO), "\"dao\" twice"),
            (many(MODULES_MAX + 1), "257 modules"),
        ] {
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
