//! `/v1/dapps`.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{
    dapp_body::{CreateDapp, PlanDapp, UpdateDapp},
    dapp_site,
    dapp_view::{DappView, PlannedView},
    view::Deleted,
};
use crate::{
    platform::{CustomDomain, DEFAULT_BLOCKCHAIN_ID, PlatformError, Principal, Scope},
    server::{
        api_error::ApiError,
        domain_proof,
        rest::{
            App,
            answer::Change,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            request::Request,
        },
    },
};

const COMPOSED: &str = "\
The components are contracts of one transaction, which deploys all of them or none. A component means another by its symbol, its name, or its type \
where there is one of it alone. A template is a list of components; own components override those of its name, or without a name the only one of its \
type, member by member of `config`, and others are added: `defi`, `dao`, `nft`, `token-sale`. Without `blockchainId` the workspace's default network \
is taken, where a blockchain of the workspace has this id or name, else the service's default blockchain, if it is the workspace's, else its only one.\n\n\
One dApp of each workspace may claim a `customDomain`, with its own token; the one with the newest proof has it. The answer says what proves it.";

const SIGNED: &str = "\
Tells the nonce and the call data for the account `from`, which need not be one that the service can sign for. Sign it and make the dApp with \
`signedTransaction`, and the same body otherwise. Nothing is kept.";

const SITE: &str = "\
A page in HTML, without scripts: the theme, and each component with its address and its state at the newest block. A page that is `public` needs no \
credentials; another is for those who may read the blockchain, with the scope `blockchain:read`. A public page is also at `/` of its `customDomain`, \
once that is proved; any other path is 404 there.";

const VERIFIED: &str = "\
Looks for the token in the TXT record that the dApp tells, then in the file. 409 when it is in neither, and while the page is not public. From then on \
the page is served to requests whose `Host` is the domain. Another dApp that had proved it before has it no more: its domain is `pending` again, with \
another token. A workspace has two requests at a time that wait for the network, proofs and tests of webhooks together: 429 for a third.";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let (tag, all, one) = (Tag::Dapps, "/v1/dapps", "/v1/dapps/{dappId}");
    let (read, write) = (Access::Scope(Scope::BlockchainRead), Access::Scope(Scope::BlockchainDeploy));
    vec![
        Endpoint::post(all, "createDapp", tag, write, "Makes a dApp: its page, and the contracts of its components.")
            .described(COMPOSED)
            .fails_with(&[ErrorCode::NotFound, ErrorCode::InsufficientBalance])
            .runs(Runs::InTurnOf(|_, body| {
                let named = body.get("blockchainId").and_then(|id| id.as_str());
                Some(named.unwrap_or(DEFAULT_BLOCKCHAIN_ID).to_owned())
            }))
            .takes::<CreateDapp>()
            .creates(create),
        Endpoint::post(
            "/v1/dapps/plan",
            "planDapp",
            tag,
            write,
            "Returns the transaction that deploys a dApp's contracts, to be signed.",
        )
        .described(SIGNED)
        .fails_with(&[ErrorCode::NotFound])
        .takes::<PlanDapp>()
        .acts(plan),
        Endpoint::get(all, "listDapps", tag, read, "Lists the dApps of the workspace, oldest first.")
            .lists(&["createdAt"], list),
        Endpoint::get(one, "getDapp", tag, read, "Returns one dApp.").reads(get),
        Endpoint::patch(
            one,
            "updateDapp",
            tag,
            write,
            "Changes the name and the page of a dApp; its components are on the blockchain, and stay.",
        )
        .takes::<UpdateDapp>()
        .acts(update),
        Endpoint::delete(
            one,
            "deleteDapp",
            tag,
            write,
            "Deletes a dApp and its page. Its contracts stay on the blockchain.",
        )
        .acts(delete),
        Endpoint::get("/v1/dapps/{dappId}/site", "getDappSite", tag, Access::Optional, "Returns the page of a dApp.")
            .described(SITE)
            .may_need(&[(Scope::BlockchainRead, "for a page that is not public")])
            .runs(Runs::Long)
            .answers_page("The page", site),
        Endpoint::post(
            "/v1/dapps/{dappId}/domain/verify",
            "verifyDappDomain",
            tag,
            write,
            "Proves the domain of a dApp.",
        )
        .described(VERIFIED)
        .runs(Runs::Outbound)
        .acts(verify),
    ]
}

/// Returns the caller as it acts in the workspace of a dApp, with a scope that it needs there.
fn acting_on(app: &App, request: &Request, scope: Scope) -> Result<Principal, ApiError> {
    let principal = app.platform().dapps().acting_on(request.principal()?, request.path("dappId"))?;
    principal.require(scope)?;
    Ok(principal)
}

/// Returns the caller as it acts in the workspace that a body names.
fn acting_in(app: &App, request: &Request, workspace: Option<&str>) -> Result<Principal, ApiError> {
    let principal = request.principal()?;
    let Some(workspace) = workspace else { return Ok(principal.clone()) };
    let principal = app.platform().workspaces().acting_in(principal, workspace)?;
    principal.require(Scope::BlockchainDeploy)?;
    Ok(principal)
}

fn create(app: &App, request: &Request, body: CreateDapp) -> Result<Change<DappView>, ApiError> {
    let platform = app.platform();
    let principal = acting_in(app, request, body.workspace_id())?;
    let id = request.new_id(platform, "dapp")?;
    let stored = platform.dapps().create(&principal, &id, &body.spec()?, app.own_hosts())?;
    Ok(Change::done(DappView::new(app, &principal, &stored)?))
}

fn plan(app: &App, request: &Request, body: PlanDapp) -> Result<Change<PlannedView>, ApiError> {
    let principal = acting_in(app, request, body.workspace_id())?;
    let planned = app.platform().dapps().plan(&principal, &body.spec()?)?;
    Ok(Change::done(PlannedView::new(&planned)))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<DappView>, u64), ApiError> {
    let principal = request.principal()?;
    let found = app.platform().dapps().page(principal, &page.request())?;
    let views = found.items.iter().map(|stored| DappView::new(app, principal, stored));
    Ok((views.collect::<Result<_, _>>()?, found.total))
}

fn get(app: &App, request: &Request) -> Result<DappView, ApiError> {
    let principal = acting_on(app, request, Scope::BlockchainRead)?;
    let stored = app.platform().dapps().require(&principal, request.path("dappId"))?;
    Ok(DappView::new(app, &principal, &stored)?)
}

fn update(app: &App, request: &Request, body: UpdateDapp) -> Result<Change<DappView>, ApiError> {
    let principal = acting_on(app, request, Scope::BlockchainDeploy)?;
    let (id, app) = (request.path("dappId").to_owned(), app.clone());
    app.platform().dapps().index_domains()?;
    Ok(Change::unit(move |unit| {
        let stored = app.platform().dapps().update(unit, &principal, &id, body.change(), app.own_hosts())?;
        DappView::new(&app, &principal, &stored)
    }))
}

fn delete(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let principal = acting_on(app, request, Scope::BlockchainDeploy)?;
    let (id, platform) = (request.path("dappId").to_owned(), Arc::clone(app.platform()));
    Ok(Change::unit(move |unit| {
        platform.dapps().delete(unit, &principal, &id)?;
        Ok(Deleted::of(&id))
    }))
}

fn site(app: &App, request: &Request) -> Result<String, ApiError> {
    let (dapps, id) = (app.platform().dapps(), request.path("dappId"));
    let found = dapps.site(request.principal.as_ref(), id).map_err(|cause| match (cause, &request.principal) {
        (PlatformError::NotFound { .. }, None) => {
            ApiError::unauthorized("there is no public page here: send an API key as X-API-Key, or an access token")
        }
        (cause, _) => cause.into(),
    })?;
    Ok(dapp_site::page(app, &found)?)
}

fn verify(app: &App, request: &Request) -> Result<Change<DappView>, ApiError> {
    let principal = acting_on(app, request, Scope::BlockchainDeploy)?;
    let (id, app) = (request.path("dappId").to_owned(), app.clone());
    let (_, domain) = app.platform().dapps().unproved(&principal, &id)?;
    if !domain.is_verified {
        prove(&app, &domain)?;
    }
    Ok(Change::unit(move |unit| {
        let stored = app.platform().dapps().note_proof(unit, &principal, &id, &domain)?;
        DappView::new(&app, &principal, &stored)
    }))
}

fn prove(app: &App, domain: &CustomDomain) -> Result<(), ApiError> {
    let internal = |cause: &dyn core::fmt::Display| ApiError::internal(&format_args!("{cause}"));
    let client = app.outbound().map_err(|cause| internal(&cause))?;
    let runtime = Handle::try_current().map_err(|cause| internal(&cause))?;
    let proof = domain_proof::prove(app.txt_resolver(), client, &domain.name, &domain.token);
    runtime.block_on(proof).map_err(|reason| {
        let message = format!("the domain {} is not proved: {reason}", domain.name);
        PlatformError::Conflict { message }.into()
    })
}
