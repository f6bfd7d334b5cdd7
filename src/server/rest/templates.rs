//! `GET /v1/templates`: the contracts that can be deployed.

use alloy_json_abi::{Function, JsonAbi, Param};
use axum::extract::{Query, State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App,
    envelope::ApiResponse,
    query::{Page, Params},
    schema::{Failure, SuccessPage},
};
use crate::{
    primitives::Bytes,
    server::api_error::ApiError,
    vm::{Marker, Template},
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
    /// The marker: code of a deployed contract, and what stands in the place of bytecode where one is deployed. The ABI-encoded parameters of
    /// the constructor follow on it, as on compiled Solidity.
    #[schema(value_type = String, example = "0xefcb00010001")]
    pub bytecode: Bytes,
    /// Parameters of the constructor, in order.
    pub constructor: Vec<TemplateParameter>,
    /// JSON ABI.
    #[schema(value_type = Vec<Object>)]
    pub abi: JsonAbi,
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
}

impl TemplateView {
    /// Describes a template.
    pub fn of(template: &dyn Template) -> Self {
        let (id, abi) = (template.id(), template.abi());
        let inputs = abi.constructor.as_ref().map(|constructor| constructor.inputs.as_slice()).unwrap_or_default();
        let parameter = |input: &Param| TemplateParameter { name: input.name.clone(), ty: type_text(input) };
        Self {
            name: template.name().to_owned(),
            id: id.id,
            version: id.version,
            bytecode: Marker(id).init_code(&[]),
            constructor: inputs.iter().map(parameter).collect(),
            abi,
        }
    }

    /// Returns the signatures of the functions, such as `transfer(address,uint256)`, by name.
    pub fn functions(&self) -> Vec<String> {
        self.abi.functions().map(Function::signature).collect()
    }
}

/// Returns the type of a parameter in the form of human-readable ABIs: `tuple(bool mintable, bool burnable)` for a struct.
fn type_text(input: &Param) -> String {
    match input.ty.strip_prefix("tuple") {
        Some(array) => {
            let members = input.components.iter().map(|member| format!("{} {}", type_text(member), member.name));
            format!("tuple({}){array}", members.collect::<Vec<_>>().join(", "))
        }
        None => input.ty.clone(),
    }
}

/// Lists the contract templates. Needs no credentials.
#[utoipa::path(
    get, path = "/v1/templates", tag = "Contracts", operation_id = "listTemplates", security(()),
    params(
        ("page" = Option<usize>, Query, description = "Number of the page, from 1"), ("limit" = Option<usize>, Query, description = "Items on a page, 1 to 100; 20 by default"),
        ("sort" = Option<String>, Query, description = "name or id, then :asc or :desc"),
    ),
    responses(
        (status = 200, description = "A page of the templates of the default chain", body = SuccessPage<TemplateView>),
        (status = 400, description = "An unknown or invalid query parameter", body = Failure),
    ),
)]
pub(super) async fn list(State(app): State<App>, Query(params): Query<Params>) -> Result<ApiResponse, ApiError> {
    let page = Page::read(&params, &["name", "id"])?;
    let chain = app.chains.platform().default_blockchain();
    let all: Vec<TemplateView> =
        chain.node().templates().iter().map(|template| TemplateView::of(&**template)).collect();
    let by_name = page.sort_field() == "name";
    let (views, pagination) = page.select(all, |a, b| {
        let numbers = (a.id, a.version).cmp(&(b.id, b.version));
        if by_name { a.name.cmp(&b.name).then(numbers) } else { numbers }
    });
    ApiResponse::page(&views, pagination)
}
