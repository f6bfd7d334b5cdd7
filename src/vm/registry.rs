//! The templates of a chain.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use alloy_primitives::{B256, Log};
use sha3::{Digest, Keccak256};

use super::{
    Decoded, Marker, Template, TemplateId,
    abi_index::{self, AbiIndex},
};

/// Templates by id and version.
///
/// A chain accepts any registry, unless its genesis specification sets a registry digest, which must then equal
/// [`Self::digest`].
#[derive(Clone, Debug, Default)]
pub struct TemplateRegistry {
    templates: BTreeMap<TemplateId, Arc<dyn Template>>,
    digest: OnceLock<B256>,
    /// Of all templates, by which calls, errors and events are told in words.
    abis: OnceLock<Arc<AbiIndex>>,
}

/// Error of registering a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Another template has this id and version.
    #[error("template {id} is registered already, as {registered}; give {refused} another id or version")]
    Taken {
        /// Id and version.
        id: TemplateId,
        /// Name of the registered template.
        registered: String,
        /// Name of the refused template.
        refused: String,
    },
    /// The id is one of chainbox's own.
    #[error(
        "template {id} ({refused}) has an id below {USER_IDS_FROM:#06x}: those are chainbox's own; give it a higher one"
    )]
    Reserved {
        /// Id and version.
        id: TemplateId,
        /// Name of the refused template.
        refused: String,
    },
}

/// The lowest id that a user's template may have; those below are chainbox's own.
pub const USER_IDS_FROM: u16 = 0x8000;

impl TemplateRegistry {
    /// Creates a registry without templates. The ready-made ones are in `templates::builtin`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a template.
    ///
    /// # Errors
    /// [`RegistryError::Reserved`] for an id below [`USER_IDS_FROM`], [`RegistryError::Taken`] when its identity is in use.
    pub fn register(&mut self, template: Arc<dyn Template>) -> Result<(), RegistryError> {
        let id = template.id();
        if id.id < USER_IDS_FROM {
            return Err(RegistryError::Reserved { id, refused: template.name().to_owned() });
        }
        self.register_own(template)
    }

    /// As [`TemplateRegistry::register`], for one of chainbox's own templates.
    pub(crate) fn register_own(&mut self, template: Arc<dyn Template>) -> Result<(), RegistryError> {
        let id = template.id();
        if let Some(other) = self.templates.get(&id) {
            let (registered, refused) = (other.name().to_owned(), template.name().to_owned());
            return Err(RegistryError::Taken { id, registered, refused });
        }
        self.templates.insert(id, template);
        (self.digest, self.abis) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// Returns the template with this id and version.
    pub fn get(&self, id: TemplateId) -> Option<&Arc<dyn Template>> {
        self.templates.get(&id)
    }

    /// Returns the newest version of the template called `name`.
    pub fn by_name(&self, name: &str) -> Option<&Arc<dyn Template>> {
        self.templates.values().filter(|template| template.name() == name).max_by_key(|template| template.id().version)
    }

    /// Returns all templates, by id and version.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Template>> {
        self.templates.values()
    }

    /// Returns `transfer(0x..., 5)` for call data of a function in a template's ABI.
    pub fn describe_call(&self, input: &[u8]) -> Option<String> {
        self.abis().call_text(input)
    }

    /// Returns the text of revert data: `Error(string)`, `Panic(uint256)`, or an error in a template's ABI.
    ///
    /// ```
    /// use alloy_sol_types::SolError;
    /// use chainbox::{primitives::{Address, U256}, templates::{self, erc20::interface::ERC20InvalidReceiver}};
    /// let error = ERC20InvalidReceiver { receiver: Address::ZERO };
    /// let text = templates::builtin().describe_error(&error.abi_encode());
    /// assert_eq!(text.as_deref(), Some("ERC20InvalidReceiver(0x0000000000000000000000000000000000000000)"));
    /// ```
    pub fn describe_error(&self, output: &[u8]) -> Option<String> {
        self.abis().error_text(output)
    }

    /// Returns `Transfer(from: 0x..., to: 0x..., value: 5)` for a log of an event in a template's ABI.
    pub fn describe_event(&self, log: &Log) -> Option<String> {
        self.abis().event_text(log)
    }

    /// Decodes revert data: `Error(string)`, `Panic(uint256)`, or an error in a template's ABI.
    pub fn decode_error(&self, output: &[u8]) -> Option<Decoded> {
        self.abis().error(output)
    }

    /// Decodes a log of an event in a template's ABI.
    pub fn decode_event(&self, log: &Log) -> Option<Decoded> {
        self.abis().event(log)
    }

    /// Returns what is wrong with the call data of a contract with this code, such as an unknown selector; `None` when the code is
    /// no template's, or the call data decodes.
    pub fn describe_call_problem(&self, code: &[u8], input: &[u8]) -> Option<String> {
        let (Marker(id), _) = Marker::split(code)?;
        let template = self.get(id)?;
        abi_index::call_problem(&template.abi(), template.name(), input)
    }

    /// Returns what is wrong with init code: parameters of a template's constructor that do not decode.
    pub fn describe_creation_problem(&self, init_code: &[u8]) -> Option<String> {
        let (Marker(id), params) = Marker::split(init_code)?;
        let template = self.get(id)?;
        abi_index::constructor_problem(&template.abi(), template.name(), params)
    }

    fn abis(&self) -> &AbiIndex {
        self.abis.get_or_init(|| {
            let mut index = AbiIndex::default();
            self.templates.values().for_each(|template| index.add(&template.abi()));
            Arc::new(index)
        })
    }

    /// Returns the keccak over id, version, name and JSON ABI of each template, sorted by id and version.
    ///
    /// Numbers are big-endian in 2 bytes; a text follows its length in 8 bytes.
    pub fn digest(&self) -> B256 {
        *self.digest.get_or_init(|| {
            let mut hasher = Keccak256::new();
            for (id, template) in &self.templates {
                hasher.update(id.id.to_be_bytes());
                hasher.update(id.version.to_be_bytes());
                // An ABI is strings, lists and maps with string keys: it always has a JSON form.
                let abi = serde_json::to_string(&template.abi()).unwrap_or_default();
                for text in [template.name(), &abi] {
                    hasher.update((text.len() as u64).to_be_bytes());
                    hasher.update(text);
                }
            }
            B256::from_slice(&hasher.finalize())
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::JsonAbi;
    use alloy_primitives::Bytes;

    use super::*;
    use crate::vm::{Host, Stop};

    #[derive(Debug)]
    struct Named(u16, &'static str);

    impl Template for Named {
        fn id(&self) -> TemplateId {
            TemplateId::new(0x8000, self.0)
        }
        fn name(&self) -> &str {
            self.1
        }
        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }
        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }
        fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            Ok(Bytes::new())
        }
    }

    fn registry(templates: &[(u16, &'static str)]) -> TemplateRegistry {
        let mut registry = TemplateRegistry::new();
        for (version, name) in templates {
            registry.register(Arc::new(Named(*version, name))).unwrap();
        }
        registry
    }

    #[test]
    fn an_identity_is_taken_once_and_the_newest_version_found() {
        let mut two = registry(&[(2, "a"), (1, "a")]);
        assert_eq!(two.by_name("a").unwrap().id().version, 2);
        assert!(two.by_name("b").is_none());
        let error = two.register(Arc::new(Named(1, "b"))).unwrap_err();
        assert!(error.to_string().contains("32768.1"), "{error}");
    }

    #[test]
    fn ids_of_chainbox_itself_are_refused() {
        #[derive(Debug)]
        struct Low;
        impl Template for Low {
            fn id(&self) -> TemplateId {
                TemplateId::new(USER_IDS_FROM - 1, 1)
            }
            fn name(&self) -> &str {
                "low"
            }
            fn abi(&self) -> JsonAbi {
                JsonAbi::new()
            }
            fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
                Ok(())
            }
            fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
                Ok(Bytes::new())
            }
        }
        let mut registry = TemplateRegistry::new();
        let error = registry.register(Arc::new(Low)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "template 32767.1 (low) has an id below 0x8000: those are chainbox's own; give it a higher one"
        );
        assert_eq!(registry.iter().count(), 0);
        registry.register(Arc::new(Named(1, "lowest"))).unwrap();
    }

    #[test]
    fn the_digest_covers_versions_and_names_and_no_order() {
        let digests = [&[(1, "a"), (2, "a")][..], &[(1, "a")], &[(1, "b")], &[]].map(|list| registry(list).digest());
        for (i, digest) in digests.iter().enumerate() {
            assert_eq!(digests.iter().filter(|other| *other == digest).count(), 1, "{i}");
        }
        assert_eq!(registry(&[(2, "a"), (1, "a")]).digest(), digests[0]);
        let mut grown = registry(&[(1, "a")]);
        grown.digest();
        grown.register(Arc::new(Named(2, "a"))).unwrap();
        assert_eq!(grown.digest(), digests[0]);
    }
}
