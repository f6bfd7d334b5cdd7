//! The templates of a chain.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use alloy_primitives::Log;

use super::{
    Decoded, Descriptor, Marker, Template, TemplateId, TemplateIdentity, TemplateMismatch,
    abi_index::{self, AbiIndex},
};
use crate::primitives::near_names::near_names;

/// Templates by id and version.
///
/// A new chain accepts any registry. One that is opened again, or loaded from a dump, needs the templates that its contracts run, as
/// they were ([`TemplateRegistry::check`]); others may come and go.
#[derive(Clone, Debug, Default)]
pub struct TemplateRegistry {
    templates: BTreeMap<TemplateId, Registered>,
    /// Of all templates, by which calls, errors and events are told in words.
    abis: OnceLock<Arc<AbiIndex>>,
}

/// A template, and its identity once somebody asked for it.
#[derive(Clone, Debug)]
struct Registered {
    template: Arc<dyn Template>,
    identity: OnceLock<TemplateIdentity>,
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
    /// Its storage layout has types of one id that are not the same, such as two structs of one name.
    #[error(
        "template {id} ({refused}) has different types called {} in its storage layout: give them names of their own",
        types.join(" and ")
    )]
    AmbiguousTypes {
        /// Id and version.
        id: TemplateId,
        /// Name of the refused template.
        refused: String,
        /// Ids of the types, such as `t_struct(Entry)_storage`.
        types: Vec<String>,
    },
    /// It would act in the name of whoever calls it.
    #[error(
        "template {id} ({refused}) acts for the signer, which only chainbox's own batch does; let it call as itself"
    )]
    ActsForSigner {
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
    /// [`RegistryError::Reserved`] for an id below [`USER_IDS_FROM`], [`RegistryError::Taken`] when its identity is in use,
    /// [`RegistryError::AmbiguousTypes`] when its storage layout has two types of one id.
    pub fn register(&mut self, template: Arc<dyn Template>) -> Result<(), RegistryError> {
        let id = template.id();
        if id.id < USER_IDS_FROM {
            return Err(RegistryError::Reserved { id, refused: template.name().to_owned() });
        }
        if template.acts_for_signer() {
            return Err(RegistryError::ActsForSigner { id, refused: template.name().to_owned() });
        }
        self.register_own(template)
    }

    /// As [`TemplateRegistry::register`], for one of chainbox's own templates.
    pub(crate) fn register_own(&mut self, template: Arc<dyn Template>) -> Result<(), RegistryError> {
        let id = template.id();
        if let Some(other) = self.get(id) {
            let (registered, refused) = (other.name().to_owned(), template.name().to_owned());
            return Err(RegistryError::Taken { id, registered, refused });
        }
        let ambiguous = template.storage_layout().ambiguous;
        if !ambiguous.is_empty() {
            let (refused, types) = (template.name().to_owned(), ambiguous.into_iter().collect());
            return Err(RegistryError::AmbiguousTypes { id, refused, types });
        }
        self.templates.insert(id, Registered { template, identity: OnceLock::new() });
        self.abis = OnceLock::new();
        Ok(())
    }

    /// Returns the template with this id and version.
    pub fn get(&self, id: TemplateId) -> Option<&Arc<dyn Template>> {
        self.templates.get(&id).map(|registered| &registered.template)
    }

    /// Returns the identity of the template with this id and version.
    pub fn identity(&self, id: TemplateId) -> Option<TemplateIdentity> {
        let Registered { template, identity } = self.templates.get(&id)?;
        Some(identity.get_or_init(|| Descriptor::of(&**template).identity()).clone())
    }

    /// Checks that contracts of the template `chain` run as they were deployed.
    ///
    /// # Errors
    /// [`TemplateMismatch`] when it is not registered, or another one by its id and version.
    pub fn check(&self, chain: &TemplateIdentity) -> Result<(), TemplateMismatch> {
        match self.identity(chain.id) {
            Some(program) if program == *chain => Ok(()),
            Some(program) => Err(TemplateMismatch::Changed { chain: chain.clone(), program }),
            None => {
                let namesakes = self.iter().filter(|template| template.name() == chain.name);
                let registered = namesakes.map(|template| template.id()).collect();
                Err(TemplateMismatch::Missing { chain: chain.clone(), registered })
            }
        }
    }

    /// Returns the newest version of the template called `name`.
    pub fn by_name(&self, name: &str) -> Option<&Arc<dyn Template>> {
        self.iter().filter(|template| template.name() == name).max_by_key(|template| template.id().version)
    }

    /// Returns the newest version of the template called `name`.
    ///
    /// # Errors
    /// The most similar names; none where none is similar.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Template>, Vec<&str>> {
        let names = || self.iter().map(|template| template.name());
        self.by_name(name).ok_or_else(|| near_names(&name.to_lowercase(), names()))
    }

    /// Returns all templates, by id and version.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Template>> {
        self.templates.values().map(|registered| &registered.template)
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
            self.iter().for_each(|template| index.add(&template.abi()));
            Arc::new(index)
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::JsonAbi;
    use alloy_primitives::Bytes;

    use super::*;
    use crate::vm::{Host, Stop, storage::StorageLayout};

    /// A template by version and name; that with the name `signer` would act for the signer.
    #[derive(Debug)]
    struct Named(u16, &'static str);

    impl Template for Named {
        fn id(&self) -> TemplateId {
            TemplateId::new(0x8000, self.0)
        }
        fn acts_for_signer(&self) -> bool {
            self.1 == "signer"
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
    fn templates_of_users_never_act_for_the_signer() {
        let error = TemplateRegistry::new().register(Arc::new(Named(1, "signer"))).unwrap_err();
        assert!(error.to_string().starts_with("template 32768.1 (signer) acts for the signer"), "{error}");
    }

    mod first {
        use alloy_primitives::U256;

        use crate::vm::contract::*;

        storage! {
            struct Entry {
                count: Slot<U256>,
            }
        }
        storage! {
            pub(super) contract First {
                entries: Mapping<Address, Entry>,
                more_entries: Array<Entry>,
            }
        }
    }

    mod second {
        use crate::vm::contract::*;

        record! {
            pub(super) struct Entry {
                owner: Address,
            }
        }
        storage! {
            pub(super) contract Second {
                entry: Slot<Entry>,
            }
        }
    }

    /// A template with the variables of `first`, and where it says so of `second` too.
    #[derive(Debug)]
    struct Laid(bool);

    impl Template for Laid {
        fn id(&self) -> TemplateId {
            TemplateId::new(USER_IDS_FROM, 1)
        }
        fn name(&self) -> &str {
            "laid"
        }
        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }
        fn storage_layout(&self) -> StorageLayout {
            let layout = StorageLayout::of::<first::First>();
            if self.0 { layout.and::<second::Second>() } else { layout }
        }
        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }
        fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            Ok(Bytes::new())
        }
    }

    #[test]
    fn two_structs_of_one_name_are_refused() {
        TemplateRegistry::new().register(Arc::new(Laid(false))).unwrap();
        let mut registry = TemplateRegistry::new();
        let error = registry.register(Arc::new(Laid(true))).unwrap_err();
        let types = vec!["t_struct(Entry)_storage".to_owned()];
        let id = TemplateId::new(USER_IDS_FROM, 1);
        assert_eq!(error, RegistryError::AmbiguousTypes { id, refused: "laid".to_owned(), types });
        assert!(error.to_string().contains("different types called t_struct(Entry)_storage"), "{error}");
        assert_eq!(registry.iter().count(), 0);
        // The first stays, whose places are right at least for its own variables.
        let layout = Laid(true).storage_layout();
        assert_eq!(layout.types["t_struct(Entry)_storage"].members.as_ref().unwrap()[0].label, "count");
    }

    #[test]
    fn what_a_chain_runs_must_be_there_as_it_was() {
        let chain = registry(&[(1, "a")]).identity(TemplateId::new(0x8000, 1)).unwrap();
        registry(&[(1, "a"), (2, "a"), (3, "b")]).check(&chain).unwrap();
        let refused = registry(&[(2, "a"), (3, "b")]).check(&chain).unwrap_err();
        let has_the_other = |registered: &[TemplateId]| *registered == [TemplateId::new(0x8000, 2)];
        assert!(matches!(&refused, TemplateMismatch::Missing { registered, .. } if has_the_other(registered)));
        assert!(refused.to_string().contains("template a 32768.1 with digest 0x"), "{refused}");
        assert!(refused.to_string().contains("(it has 32768.2)"), "{refused}");
        let refused = registry(&[(1, "b")]).check(&chain).unwrap_err();
        assert!(matches!(&refused, TemplateMismatch::Changed { program, .. } if program.name == "b"));
    }
}
