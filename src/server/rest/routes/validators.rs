//! `/v1/blockchains/{blockchainId}/validators` and `/v1/validators/{validatorId}`: adding, reading, stopping and starting.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::validator_body::{AddValidator, ProcessStatus, ValidatorStatus, ValidatorView, known_time};
use crate::{
    platform::{Scope, ValidatorId},
    server::{
        api_error::ApiError,
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

/// How a validator does its work.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ValidatorStatusView {
    /// Id of the validator.
    id: String,
    /// Its state.
    status: ValidatorStatus,
    /// Whether its replica runs in this process.
    process: ProcessStatus,
    /// Whether the protocol counts it now.
    validates: bool,
    /// Part of its duties in the newest blocks that it did, in percent; null without any, as with Raft, whose blocks say nothing of followers.
    /// Of proof of stake duties are the blocks that it sealed, and a vote in each epoch for which these blocks account.
    #[schema(minimum = 0, maximum = 100)]
    uptime: Option<f64>,
    /// Duties that it missed in these blocks: turns, votes or empty slots, as they say it; of proof of stake votes alone, one for an epoch, for
    /// no block names the proposer of an empty slot. 0 with Raft.
    missed_blocks: u64,
    /// Blocks of these that it sealed.
    sealed_blocks: u64,
    /// The newest blocks that were looked at: at most 100, since the newest change of validators where turns depend on it.
    window_blocks: u64,
    /// Absences in the chain's own downtime window, for which it is jailed; null on a chain without stake.
    downtime_blocks: Option<u64>,
    /// Rewards that it has not claimed, in the smallest unit; null on a chain without stake.
    rewards: Option<String>,
    /// Until when it is in jail: ISO 8601, UTC; null while it is not, and of one that is tombstoned, whose jail has no end.
    jailed_until: Option<String>,
    /// Height of its replica; null where that is not in this process.
    current_block: Option<u64>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Validators;
    let (read, write) = (Access::Scope(Scope::ValidatorRead), Access::Scope(Scope::ValidatorWrite));
    let all = "/v1/blockchains/{blockchainId}/validators";
    vec![
        Endpoint::post(all, "addValidator", tag, write, "Adds a validator to a blockchain with a block time.")
            .described(
                "The service draws its sealing key and runs its replica, unless `sealingAddress` names a key that is held elsewhere. \
                 Without stake the administrator of the validators' contract adds it. With stake the operator joins: as a wallet of the \
                 workspace, by its `consent` to another's paying, or by its own `signedTransaction`. It is `joining` until the protocol's \
                 next boundary.",
            )
            .fails_with(&[ErrorCode::InsufficientBalance])
            .runs(Runs::InTurnOf(of_path))
            .takes::<AddValidator>()
            .creates(add),
        Endpoint::get(all, "listValidators", tag, read, "Lists the validators of a blockchain, by address.")
            .fails_with(&[ErrorCode::Conflict])
            .runs(Runs::Long)
            .lists(&["address"], list),
        Endpoint::get("/v1/validators/{validatorId}", "getValidator", tag, read, "Returns one validator.")
            .fails_with(&[ErrorCode::Conflict])
            .runs(Runs::Long)
            .reads(get),
        Endpoint::get(
            "/v1/validators/{validatorId}/status",
            "getValidatorStatus",
            tag,
            read,
            "Measures a validator on the newest blocks of its chain.",
        )
        .fails_with(&[ErrorCode::Conflict])
        .runs(Runs::Long)
        .reads(status),
        Endpoint::post(
            "/v1/validators/{validatorId}/stop",
            "stopValidator",
            tag,
            write,
            "Stops a validator's replica, also over restarts of the service. Nothing keeps the protocol from losing its quorum by it.",
        )
        .runs(Runs::InTurnOf(of_validator))
        .acts(|app, request| command(app, request, true)),
        Endpoint::post(
            "/v1/validators/{validatorId}/start",
            "startValidator",
            tag,
            write,
            "Starts a validator's replica, which catches up from the others.",
        )
        .runs(Runs::InTurnOf(of_validator))
        .acts(|app, request| command(app, request, false)),
    ]
}

/// The chain in the path.
fn of_path(request: &Request, _: &Value) -> Option<String> {
    Some(request.path("blockchainId").to_owned())
}

/// The chain of the validator in the path.
pub(super) fn of_validator(request: &Request, _: &Value) -> Option<String> {
    Some(ValidatorId::read(request.path("validatorId")).ok()?.blockchain_id)
}

/// The validator in the path.
pub(super) fn id_of(request: &Request) -> Result<ValidatorId, ApiError> {
    Ok(ValidatorId::read(request.path("validatorId"))?)
}

fn add(app: &App, request: &Request, body: AddValidator) -> Result<Change<ValidatorView>, ApiError> {
    let (validators, principal) = (app.platform().validators(), request.principal()?);
    let sent_as = request.new_id(app.platform(), "tx")?;
    let (id, hash) = validators.add(principal, request.path("blockchainId"), &sent_as, &body.spec()?)?;
    let (_, validator) = validators.get(principal, &id)?;
    Ok(Change::done(ValidatorView::new(validator).with_transaction(hash)))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<ValidatorView>, u64), ApiError> {
    let all = app.platform().validators().list(request.principal()?, request.path("blockchainId"))?;
    let total = all.len() as u64;
    Ok((page.select(all).into_iter().map(ValidatorView::new).collect(), total))
}

fn get(app: &App, request: &Request) -> Result<ValidatorView, ApiError> {
    Ok(ValidatorView::new(app.platform().validators().get(request.principal()?, &id_of(request)?)?.1))
}

fn status(app: &App, request: &Request) -> Result<ValidatorStatusView, ApiError> {
    let validators = app.platform().validators();
    let (chain, validator) = validators.get(request.principal()?, &id_of(request)?)?;
    let duties = validators.duties(&chain, &validator)?;
    let stake = validator.stake.as_ref();
    let jailed_until = stake.and_then(|stake| stake.jailed_until);
    Ok(ValidatorStatusView {
        id: validator.id.text(),
        status: ValidatorStatus::of(&validator),
        process: ProcessStatus::of(&validator),
        validates: validator.validates,
        uptime: duties.uptime(),
        missed_blocks: duties.missed,
        sealed_blocks: duties.sealed,
        window_blocks: duties.blocks,
        downtime_blocks: stake.map(|stake| stake.missed_blocks),
        rewards: stake.map(|stake| stake.rewards_owed.saturating_add(stake.commission_owed).to_string()),
        jailed_until: jailed_until.and_then(known_time),
        current_block: validators.replica_head(&chain, &validator),
    })
}

fn command(app: &App, request: &Request, is_stop: bool) -> Result<Change<ValidatorView>, ApiError> {
    let (platform, principal, id) = (Arc::clone(app.platform()), request.principal()?.clone(), id_of(request)?);
    match is_stop {
        true => platform.validators().stop(&principal, &id)?,
        false => platform.validators().start(&principal, &id)?,
    }
    Ok(Change::unit(move |unit| {
        let validators = platform.validators();
        validators.note(unit, &principal, &id, is_stop)?;
        Ok(ValidatorView::new(validators.get(&principal, &id)?.1))
    }))
}
