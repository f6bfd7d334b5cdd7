//! What a project is made by.

use alloy_primitives::Bytes;

use super::{
    kind::{ProjectKind, ProjectNetwork},
    templates::{ProjectTemplate, TEMPLATES, Wanted},
};
use crate::{
    consensus::ConsensusKind,
    platform::{Feature, FieldError, blockchain::FEATURES, contract_plan::PlannedContract},
};

/// Where the contracts of a project go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectChain {
    /// A new chain of a protocol.
    New(ConsensusKind),
    /// The chain with this id.
    Known(String),
}

impl ProjectChain {
    /// Reads a protocol's whole name or the id of a chain; `None` for another text.
    pub fn read(text: &str) -> Option<Self> {
        let protocol = ConsensusKind::ALL.into_iter().find(|kind| kind.name() == text);
        protocol.map(Self::New).or_else(|| text.starts_with("bc_").then(|| Self::Known(text.to_owned())))
    }
}

/// Specification of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectSpec {
    /// Its name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Its type.
    pub kind: ProjectKind,
    /// Name of its template; the type's default without.
    pub template: Option<String>,
    /// Its chain, as a request names it: a protocol or a chain's id; proof of authority without.
    pub blockchain: Option<String>,
    /// Name of its network; the workspace's default without.
    pub network: Option<String>,
    /// Features of its chain, and optional parts of its template, by name.
    pub features: Vec<String>,
    /// The transaction that makes its contracts on a chain that is there, signed by somebody else; one of the chain's treasury without.
    pub signed_transaction: Option<Bytes>,
}

impl ProjectSpec {
    /// A project with a name, and the default of everything else.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            kind: ProjectKind::default(),
            template: None,
            blockchain: None,
            network: None,
            features: Vec::new(),
            signed_transaction: None,
        }
    }

    /// Returns what is wrong with it, apart from what the workspace has.
    pub fn check(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut refuse = |path: String, expected: String, got: &str| {
            errors.push(FieldError { path, expected, got: got.to_owned() });
        };
        let of_kind = TEMPLATES.iter().filter(|template| template.kinds.contains(&self.kind));
        let names: Vec<&str> = of_kind.map(|template| template.name).collect();
        if let Some(name) = self.template.as_deref().filter(|name| !names.contains(name)) {
            let expected = format!("a template of the type {}: one of {}", self.kind.name(), names.join(", "));
            refuse("template".to_owned(), expected, name);
        }
        let chain = self.blockchain.as_deref().map(|text| (text, ProjectChain::read(text)));
        if let Some((text, None)) = &chain {
            let names = ConsensusKind::ALL.map(ConsensusKind::name).join(", ");
            refuse("config.blockchain".to_owned(), format!("one of {names}, or the id of a blockchain"), text);
        }
        let networks = ProjectNetwork::ALL.map(ProjectNetwork::name);
        let is_known = matches!(chain, Some((_, Some(ProjectChain::Known(_)))));
        match self.network.as_deref() {
            Some(network) if is_known => {
                let expected = "no value: the chain that `blockchain` names is there already";
                refuse("config.network".to_owned(), expected.to_owned(), network);
            }
            Some(network) if !networks.contains(&network) => {
                refuse("config.network".to_owned(), format!("one of {}", networks.join(", ")), network);
            }
            _ => {}
        }
        let of_chain = if is_known { &[][..] } else { &FEATURES[..] };
        let known: Vec<&str> = of_chain.iter().copied().chain(self.template().options.iter().copied()).collect();
        for (index, feature) in self.features.iter().enumerate() {
            if !known.contains(&feature.as_str()) {
                let names = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                let expected = format!("one of {names}, with the template {}", self.template().name);
                refuse(format!("config.features[{index}]"), expected, feature);
            }
        }
        errors.extend(self.check_signed());
        errors
    }

    /// Returns why it can't have the signed transaction that it has.
    fn check_signed(&self) -> Option<FieldError> {
        self.signed_transaction.as_ref()?;
        let expected = match self.chain() {
            ProjectChain::New(_) => {
                "no value: nobody can have signed for a new chain, whose chain id is not known before; name one that is there in \
                 config.blockchain"
                    .to_owned()
            }
            ProjectChain::Known(_) if self.contracts().is_empty() => {
                format!("no value: the template {} has no contracts", self.template().name)
            }
            ProjectChain::Known(_) => return None,
        };
        Some(FieldError { path: "signedTransaction".to_owned(), expected, got: "a value".to_owned() })
    }

    /// Its contracts.
    pub(super) fn contracts(&self) -> Vec<PlannedContract> {
        self.template().contracts(&Wanted { name: &self.name, features: &self.features })
    }

    /// Its template.
    pub(super) fn template(&self) -> &'static ProjectTemplate {
        let named = self.template.as_deref().and_then(ProjectTemplate::from_name);
        named.unwrap_or_else(|| ProjectTemplate::default_of(self.kind))
    }

    /// Its chain.
    pub(super) fn chain(&self) -> ProjectChain {
        let named = self.blockchain.as_deref().and_then(ProjectChain::read);
        named.unwrap_or(ProjectChain::New(ConsensusKind::Poa))
    }

    /// Features of its chain: those that it names, those of the template, and `smart-contracts` where neither has any.
    pub(super) fn chain_features(&self) -> Vec<String> {
        let is_of_chain = |name: &&String| FEATURES.iter().any(|one| one == name);
        let named = self.features.iter().filter(is_of_chain).cloned();
        let of_template = self.template().chain_features.iter().map(|feature| feature.name().to_owned());
        let mut features: Vec<String> = Vec::new();
        for name in named.chain(of_template) {
            if !features.contains(&name) {
                features.push(name);
            }
        }
        if features.is_empty() {
            features.push(Feature::SmartContracts.name().to_owned());
        }
        features
    }
}
