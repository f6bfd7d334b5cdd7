//! The templates of a chain.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use alloy_primitives::B256;
use sha3::{Digest, Keccak256};

use super::{Template, TemplateId};

/// Templates by id and version.
///
/// A chain accepts any registry, unless its genesis specification sets a registry digest, which must then equal
/// [`Self::digest`].
#[derive(Clone, Debug, Default)]
pub struct TemplateRegistry {
    templates: BTreeMap<TemplateId, Arc<dyn Template>>,
    digest: OnceLock<B256>,
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
}

impl TemplateRegistry {
    /// Creates a registry without templates. The ready-made ones are in `templates::builtin`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a template.
    ///
    /// # Errors
    /// [`RegistryError::Taken`] when its identity is in use.
    pub fn register(&mut self, template: Arc<dyn Template>) -> Result<(), RegistryError> {
        let id = template.id();
        if let Some(other) = self.templates.get(&id) {
            let (registered, refused) = (other.name().to_owned(), template.name().to_owned());
            return Err(RegistryError::Taken { id, registered, refused });
        }
        self.templates.insert(id, template);
        self.digest = OnceLock::new();
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
