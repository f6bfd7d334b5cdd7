//! An endpoint as one value: method, path, who may call it, what it takes and answers, and its handler.
//!
//! The router, the OpenAPI document, authorisation, the published table and the tests that walk all routes are made from the same list. A
//! [`Draft`] becomes an [`Endpoint`] only with a handler, whose types are those of the document.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    App,
    answer::{Answer, ApiResponse, Change, Located},
    body::{Body, BodyType, ForeignBody, read_body},
    deprecation::Deprecation,
    error_code::ErrorCode,
    page::Page,
    parameter::Parameter,
    request::Request,
    type_schema::TypeSchema,
};
use crate::{platform::Scope, server::api_error::ApiError};

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Access {
    /// Everybody, without credentials.
    Public,
    /// Everybody; with credentials, which must be valid then, what they may see.
    Optional,
    /// Everybody with valid credentials; the answer has what they may see.
    Authenticated,
    /// Whose credentials have the scope.
    Scope(Scope),
    /// Whose credentials have all of the scopes.
    Scopes(&'static [Scope]),
    /// As [`Access::Scope`], by a bearer token alone: `X-API-Key` is refused.
    Bearer(Scope),
}

impl Access {
    /// Scopes that it needs, all of them.
    pub(super) const fn scopes(&self) -> &[Scope] {
        match self {
            Self::Public | Self::Optional | Self::Authenticated => &[],
            Self::Scope(scope) | Self::Bearer(scope) => core::slice::from_ref(scope),
            Self::Scopes(scopes) => scopes,
        }
    }
}

/// Group of endpoints in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) enum Tag {
    /// The service itself.
    Service,
    /// Workspaces and their members.
    Workspaces,
    /// API keys.
    ApiKeys,
    /// Clients of the authorization server.
    OAuthClients,
    /// Chains with contracts, from templates.
    Projects,
    /// Chains.
    Blockchains,
    /// Modules of chains.
    Modules,
    /// Blocks, transactions, accounts and events of chains.
    ChainData,
    /// Validators of chains.
    Validators,
    /// Proposals and votes.
    Governance,
    /// Contracts and templates.
    Contracts,
    /// Tokens.
    Tokens,
    /// dApps and their pages.
    Dapps,
    /// Subscriptions to events.
    Webhooks,
    /// JSON-RPC of the service and of chains.
    JsonRpc,
}

impl Tag {
    /// Every group, in the order of the document.
    pub(super) const ALL: [Self; 15] = [
        Self::Service,
        Self::Workspaces,
        Self::ApiKeys,
        Self::OAuthClients,
        Self::Projects,
        Self::Blockchains,
        Self::Modules,
        Self::ChainData,
        Self::Validators,
        Self::Governance,
        Self::Contracts,
        Self::Tokens,
        Self::Dapps,
        Self::Webhooks,
        Self::JsonRpc,
    ];

    /// Name of the group.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Workspaces => "Workspaces",
            Self::ApiKeys => "API keys",
            Self::OAuthClients => "OAuth clients",
            Self::Projects => "Projects",
            Self::Blockchains => "Blockchains",
            Self::Modules => "Modules",
            Self::ChainData => "Chain data",
            Self::Validators => "Validators",
            Self::Governance => "Governance",
            Self::Contracts => "Contracts",
            Self::Tokens => "Tokens",
            Self::Dapps => "dApps",
            Self::Webhooks => "Webhooks",
            Self::JsonRpc => "JSON-RPC",
        }
    }

    /// What is in the group, in a line.
    pub(super) const fn summary(self) -> &'static str {
        match self {
            Self::Service => "The service itself",
            Self::Workspaces => "Workspaces, their members and invitations",
            Self::ApiKeys => "Credentials of programs",
            Self::OAuthClients => "Programs that act for users who consent",
            Self::Projects => "Chains with contracts, each from a template",
            Self::Blockchains => "Chains of this process",
            Self::Modules => "Parts of the service that chains have on, with their contracts",
            Self::ChainData => "Blocks, transactions, accounts and events of chains",
            Self::Validators => "Validators of chains, as their protocols have them",
            Self::Governance => "Proposals and votes on chain",
            Self::Contracts => "Contracts from templates",
            Self::Tokens => {
                "Tokens of the standards ERC20, ERC721, ERC1155 and ERC4626, who has them, and their transfers"
            }
            Self::Dapps => "Contracts that know each other, deployed together, and their page",
            Self::Webhooks => "Subscriptions to events",
            Self::JsonRpc => "Queries and transactions",
        }
    }
}

/// Where an endpoint's work runs.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) enum Runs {
    /// At most as long as a few records are read: on the connection's own thread. What may change records, only while nothing else does, and
    /// another thread is free to serve; else in the queue of such changes.
    Briefly,
    /// Longer: on the threads for long reads.
    Long,
    /// As long as somebody else takes to answer: on threads that no other request waits for, a bounded number of each workspace.
    Outbound,
    /// In turn with the other commands of the chain whose id is found in path or body.
    InTurnOf(fn(&Request, &Value) -> Option<String>),
}

/// Items of a page, and the length of the whole list.
type Listed<T> = Result<(Vec<T>, u64), ApiError>;

/// What a handler came to.
pub(super) enum Outcome {
    /// It is done.
    Done(ApiResponse),
    /// It is done by these changes, which belong in one unit of work with the response.
    Pending(Change<ApiResponse>),
}

type Handler = Arc<dyn Fn(&App, &Request, Value) -> Result<Outcome, ApiError> + Send + Sync>;

/// A method on a path, whole.
#[derive(Clone)]
pub(in crate::server) struct Endpoint {
    pub(super) about: About,
    pub(super) body: Option<BodyType>,
    /// Body in a format of its own.
    pub(super) foreign_body: Option<ForeignBody>,
    pub(super) answer: Answer,
    /// `None` for one that speaks another format and is served outside this router.
    pub(super) handler: Option<Handler>,
}

/// What is said of an endpoint before its handler is known.
#[derive(Clone, Debug)]
pub(in crate::server) struct About {
    pub(in crate::server) method: Method,
    pub(in crate::server) path: &'static str,
    pub(in crate::server) operation: &'static str,
    pub(in crate::server) tag: Tag,
    pub(in crate::server) access: Access,
    /// Scopes that some of its requests need beside, each with what for.
    pub(super) may_need: &'static [(Scope, &'static str)],
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: Vec<Parameter>,
    /// Whether it takes `simulate=true`, and then only tells what it would do.
    pub(super) simulates: bool,
    /// Whether it is answered though requests or bytes of the workspace's plan are used up.
    pub(super) is_answered_past_plan: bool,
    /// Whether operators call it from their own workspace, whatever workspace its path names.
    pub(super) is_of_operators: bool,
    /// Whether its caller may end its own access by it: by the same request again, which is refused then, it gets the first response. That
    /// has no secret in it.
    pub(super) may_end_access: bool,
    pub(super) errors: Vec<ErrorCode>,
    pub(super) runs: Runs,
    /// Bytes of its body.
    pub(super) body_bytes_max: Option<usize>,
    /// What is said of it when it is going to end.
    pub(super) deprecation: Option<Deprecation>,
}

impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint").field("about", &self.about).finish_non_exhaustive()
    }
}

/// Declares the functions that start an endpoint, one for each method.
macro_rules! starts {
    ($($name:ident $method:ident),*) => {
        impl Endpoint {
            $(
                #[doc = concat!("Starts a `", stringify!($method), "`.")]
                pub(super) fn $name(
                    path: &'static str,
                    operation: &'static str,
                    tag: Tag,
                    access: Access,
                    summary: &'static str,
                ) -> Draft {
                    Draft::new(Method::$method, path, operation, tag, access, summary)
                }
            )*
        }
    };
}

starts!(get GET, post POST, put PUT, patch PATCH, delete DELETE);

impl Endpoint {
    /// Names of the variables in its path, in order.
    pub(super) fn path_variables(&self) -> impl Iterator<Item = &'static str> {
        self.about.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Whether it changes something, so that it takes an `Idempotency-Key`.
    pub(super) fn is_idempotent(&self) -> bool {
        self.about.method != Method::GET
    }

    /// All codes of errors that it may answer, in the order of their status.
    pub(super) fn errors(&self) -> Vec<ErrorCode> {
        let mut codes =
            vec![ErrorCode::BadRequest, ErrorCode::RateLimited, ErrorCode::Internal, ErrorCode::Unavailable];
        codes.extend(&self.about.errors);
        if self.about.access != Access::Public {
            codes.push(ErrorCode::Unauthorized);
        }
        if !self.about.access.scopes().is_empty() || !self.about.may_need.is_empty() {
            codes.push(ErrorCode::Forbidden);
        }
        if self.path_variables().next().is_some() {
            codes.push(ErrorCode::NotFound);
        }
        if self.body.is_some() {
            codes.extend([
                ErrorCode::RequestTimeout,
                ErrorCode::PayloadTooLarge,
                ErrorCode::UnsupportedMediaType,
                ErrorCode::Validation,
            ]);
        }
        if self.is_idempotent() {
            codes.extend([ErrorCode::Conflict, ErrorCode::Validation]);
        }
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

/// An endpoint without a handler.
#[derive(Debug)]
pub(super) struct Draft(About);

impl Draft {
    fn new(
        method: Method,
        path: &'static str,
        operation: &'static str,
        tag: Tag,
        access: Access,
        summary: &'static str,
    ) -> Self {
        let (parameters, errors) = (Vec::new(), Vec::new());
        let (description, runs, body_bytes_max, deprecation) = ("", Runs::Briefly, None, None);
        Self(About {
            method,
            path,
            operation,
            tag,
            access,
            may_need: &[],
            summary,
            description,
            parameters,
            simulates: false,
            is_answered_past_plan: false,
            is_of_operators: false,
            may_end_access: false,
            errors,
            runs,
            body_bytes_max,
            deprecation,
        })
    }

    /// Says more than the summary, in Markdown.
    pub(super) fn described(mut self, description: &'static str) -> Self {
        self.0.description = description;
        self
    }

    /// Needs further scopes for some requests; says what for, such as `to send transactions`.
    pub(super) fn may_need(mut self, scopes: &'static [(Scope, &'static str)]) -> Self {
        self.0.may_need = scopes;
        self
    }

    /// Takes a query parameter.
    pub(super) fn parameter(mut self, parameter: Parameter) -> Self {
        self.0.parameters.push(parameter);
        self
    }

    /// Takes `simulate=true`: its handler then only tells what it would do.
    #[cfg_attr(not(test), expect(dead_code, reason = "no endpoint simulates yet"))]
    pub(super) fn simulates(mut self) -> Self {
        self.0.simulates = true;
        self
    }

    /// Is answered though requests or bytes of the workspace's plan are used up: by it the workspace gets out of that, or sees why.
    pub(super) fn answered_past_plan(mut self) -> Self {
        self.0.is_answered_past_plan = true;
        self
    }

    /// Is called by operators from their own workspace, whatever workspace its path names. To others it is as if it were in that one.
    pub(super) fn of_operators(mut self) -> Self {
        self.0.is_of_operators = true;
        self
    }

    /// May end the access of who calls it: a repetition under its idempotency key gets the first response, though it is refused otherwise.
    /// Only for answers without secrets.
    pub(super) fn may_end_access(mut self) -> Self {
        self.0.may_end_access = true;
        self
    }

    /// May answer these codes beside those that follow from its other parts.
    pub(super) fn fails_with(mut self, codes: &[ErrorCode]) -> Self {
        self.0.errors.extend(codes);
        self
    }

    /// Says where it runs.
    pub(super) fn runs(mut self, runs: Runs) -> Self {
        self.0.runs = runs;
        self
    }

    /// Is going to end: every answer says so.
    #[cfg_attr(not(test), expect(dead_code, reason = "no endpoint is deprecated yet"))]
    pub(super) fn deprecated(mut self, deprecation: Deprecation) -> Self {
        self.0.deprecation = Some(deprecation);
        self
    }

    /// Takes longer bodies than others, of callers with its scopes.
    pub(super) fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.0.body_bytes_max = Some(bytes);
        self
    }

    /// Takes a JSON body of this type.
    pub(super) fn takes<B: Body>(self) -> WithBody<B> {
        WithBody { about: self.0, of: core::marker::PhantomData }
    }

    /// Answers one resource.
    pub(super) fn reads<T: Serialize + ToSchema + 'static>(
        self,
        handler: fn(&App, &Request) -> Result<T, ApiError>,
    ) -> Endpoint {
        let run = move |app: &App, request: &Request, _| Ok(Outcome::Done(ApiResponse::ok(&handler(app, request)?)?));
        self.finish(Answer::one::<T>(StatusCode::OK), run)
    }

    /// Answers one page of a list that can be sorted by `sorts`, by the first of them by default. The handler returns the page's items and
    /// the length of the whole list.
    pub(super) fn lists<T: Serialize + ToSchema + 'static>(
        mut self,
        sorts: &'static [&'static str],
        handler: fn(&App, &Request, &Page) -> Listed<T>,
    ) -> Endpoint {
        self.0.parameters.extend(Page::parameters(sorts));
        let run = move |app: &App, request: &Request, _| {
            let page = Page::read(request, sorts)?;
            let (items, total) = handler(app, request, &page)?;
            Ok(Outcome::Done(ApiResponse::page(&items, page.position(total))?))
        };
        self.finish(Answer::page::<T>(), run)
    }

    /// Changes something without a body, and answers 200.
    pub(super) fn acts<T: Serialize + ToSchema + 'static>(
        self,
        handler: fn(&App, &Request) -> Result<Change<T>, ApiError>,
    ) -> Endpoint {
        let run = move |app: &App, request: &Request, _| {
            Ok(Outcome::Pending(handler(app, request)?.map(|value| ApiResponse::ok(&value))))
        };
        self.finish(Answer::one::<T>(StatusCode::OK), run)
    }

    /// Answers a JSON document without the envelope.
    pub(super) fn answers_document(
        self,
        schema: Value,
        description: &'static str,
        handler: fn(&App, &Request) -> Result<Vec<u8>, ApiError>,
    ) -> Endpoint {
        let run =
            move |app: &App, request: &Request, _| Ok(Outcome::Done(ApiResponse::document(handler(app, request)?)));
        self.finish(Answer::Document { content_type: "application/json", schema, description }, run)
    }

    /// Answers a page for a browser, without the envelope.
    pub(super) fn answers_page(
        self,
        description: &'static str,
        handler: fn(&App, &Request) -> Result<String, ApiError>,
    ) -> Endpoint {
        let run = move |app: &App, request: &Request, _| Ok(Outcome::Done(ApiResponse::html(handler(app, request)?)));
        let schema = serde_json::json!({ "type": "string" });
        self.finish(Answer::Document { content_type: "text/html", schema, description }, run)
    }

    /// Is served elsewhere, in the format of `answer`.
    pub(super) fn speaks(self, body: ForeignBody, answer: Answer) -> Endpoint {
        Endpoint { about: self.0, body: None, foreign_body: Some(body), answer, handler: None }
    }

    fn finish(
        self,
        answer: Answer,
        run: impl Fn(&App, &Request, Value) -> Result<Outcome, ApiError> + Send + Sync + 'static,
    ) -> Endpoint {
        Endpoint { about: self.0, body: None, foreign_body: None, answer, handler: Some(Arc::new(run)) }
    }
}

/// An endpoint with a body and without a handler.
#[derive(Debug)]
pub(super) struct WithBody<B> {
    about: About,
    of: core::marker::PhantomData<B>,
}

impl<B: Body> WithBody<B> {
    /// Creates a resource: 201 with its path.
    pub(super) fn creates<T: Serialize + ToSchema + Located + 'static>(
        self,
        handler: fn(&App, &Request, B) -> Result<Change<T>, ApiError>,
    ) -> Endpoint {
        let run = move |app: &App, request: &Request, body| {
            let change = handler(app, request, read_body(body)?)?;
            Ok(Outcome::Pending(change.map(|value| ApiResponse::created(&value, value.location()))))
        };
        self.finish(Answer::created::<T>(), run)
    }

    /// Changes something that is there, and answers 200.
    pub(super) fn acts<T: Serialize + ToSchema + 'static>(
        self,
        handler: fn(&App, &Request, B) -> Result<Change<T>, ApiError>,
    ) -> Endpoint {
        let run = move |app: &App, request: &Request, body| {
            let change = handler(app, request, read_body(body)?)?;
            Ok(Outcome::Pending(change.map(|value| ApiResponse::ok(&value))))
        };
        self.finish(Answer::one::<T>(StatusCode::OK), run)
    }

    fn finish(
        self,
        answer: Answer,
        run: impl Fn(&App, &Request, Value) -> Result<Outcome, ApiError> + Send + Sync + 'static,
    ) -> Endpoint {
        let body = Some(BodyType::of::<B>());
        Endpoint { about: self.about, body, foreign_body: None, answer, handler: Some(Arc::new(run)) }
    }
}

impl Answer {
    fn one<T: ToSchema>(status: StatusCode) -> Self {
        Self::Resource { status, schema: TypeSchema::of::<T>(), has_location: false }
    }

    fn created<T: ToSchema>() -> Self {
        Self::Resource { status: StatusCode::CREATED, schema: TypeSchema::of::<T>(), has_location: true }
    }

    fn page<T: ToSchema>() -> Self {
        Self::Page { schema: TypeSchema::of::<T>() }
    }
}
