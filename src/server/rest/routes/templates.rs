//! `GET /v1/templates`: the contracts that can be deployed.

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use serde::Serialize;
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{ObjectBuilder, Schema, Type, schema::SchemaType},
};

use crate::{
    primitives::{B256, Bytes},
    server::{
        api_error::ApiError,
        rest::{
            App,
            endpoint::{Access, Endpoint, Tag},
            page::Page,
            request::Request,
        },
    },
    templates,
    vm::{Descriptor, Parameter, Template, storage::StorageLayout},
};

/// A contract template, as clients see it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TemplateView {
    /// Name of the template in the service.
    #[schema(example = "erc20-token")]
    pub name: String,
    /// Number of the template.
    #[schema(example = 1)]
    pub id: u16,
    /// Version of its behaviour and storage layout.
    #[schema(example = 1)]
    pub version: u16,
    /// What its contracts are, in a line; may be empty.
    #[schema(example = "ERC-20 token with roles, votes, flash loans")]
    pub summary: String,
    /// Keccak of name, ABI, storage layout and gas table, which are fixed with the version.
    #[schema(value_type = String)]
    pub digest: B256,
    /// The marker: code of a deployed contract, and what stands in the place of bytecode where one is deployed. The ABI-encoded parameters of
    /// the constructor follow on it, as on compiled Solidity.
    #[schema(value_type = String, example = "0xefcb00010002")]
    pub bytecode: Bytes,
    /// Parameters of the constructor, in order.
    pub constructor: Vec<TemplateParameter>,
    /// JSON ABI.
    #[schema(value_type = Vec<Object>)]
    pub abi: JsonAbi,
    /// Variables in storage, in the form of solc's storageLayout: label, slot, offset and type of each.
    #[schema(value_type = Object)]
    pub storage_layout: StorageLayout,
}

/// A parameter of a constructor.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct TemplateParameter {
    /// Name of the parameter.
    #[schema(example = "symbol")]
    pub name: String,
    /// Solidity type; a struct is a tuple with its members.
    #[serde(rename = "type")]
    #[schema(example = "string")]
    pub ty: String,
    /// What it is for.
    #[schema(example = "Symbol of the token.")]
    pub description: String,
    /// Unit of a value; null without one. A value in per cent is `"2.5"`, `"2.5%"` or 2.5; a duration is a number of seconds, or
    /// `"30d"`; what the contract counts in is then the ABI's concern.
    #[schema(example = "wei")]
    pub unit: Option<String>,
    /// Value when it is left out, `deployer` for the deploying account; null where it is required.
    #[schema(schema_with = any_value)]
    pub default: Option<Value>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Members of a struct.
    #[schema(no_recursion)]
    pub members: Vec<TemplateParameter>,
}

impl TemplateView {
    /// Describes a template.
    pub fn of(template: &dyn Template) -> Self {
        let Descriptor { name, id, version, summary, digest, bytecode, constructor, abi, storage_layout, .. } =
            Descriptor::of(template);
        let constructor = constructor.iter().map(TemplateParameter::of).collect();
        Self { name, id, version, summary, digest, bytecode, constructor, abi, storage_layout }
    }
}

impl TemplateParameter {
    fn of(parameter: &Parameter) -> Self {
        let Parameter { name, ty, description, unit, default, members, .. } = parameter;
        Self {
            name: name.clone(),
            ty: ty.clone(),
            description: description.clone(),
            unit: unit.map(|unit| unit.name().to_owned()),
            default: default.as_ref().and_then(|default| serde_json::to_value(default).ok()),
            optional: parameter.is_optional(),
            members: members.iter().map(Self::of).collect(),
        }
    }
}

/// Schema of a value of any type.
pub(super) fn any_value() -> Schema {
    let types = [Type::String, Type::Number, Type::Boolean, Type::Array, Type::Object, Type::Null];
    ObjectBuilder::new().schema_type(SchemaType::from_iter(types)).build().into()
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get(
            "/v1/templates",
            "listTemplates",
            Tag::Contracts,
            Access::Public,
            "Lists the contract templates.",
        )
        .lists(&["id", "name"], list),
    ]
}

fn list(app: &App, _: &Request, page: &Page) -> Result<(Vec<TemplateView>, u64), ApiError> {
    let view = |template: &Arc<dyn Template>| TemplateView::of(&**template);
    let mut all: Vec<TemplateView> = match app.platform().default_blockchain() {
        Some(chain) => chain.node().templates().iter().map(view).collect(),
        None => templates::builtin().iter().map(view).collect(),
    };
    match page.sort_field() {
        "name" => all.sort_by(|a, b| (&a.name, a.id, a.version).cmp(&(&b.name, b.id, b.version))),
        _ => all.sort_by_key(|template| (template.id, template.version)),
    }
    let total = all.len() as u64;
    Ok((page.select(all), total))
}
