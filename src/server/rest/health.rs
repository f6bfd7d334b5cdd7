//! `GET /v1/health`.

use axum::extract::{Query, State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App,
    answer::Answer,
    query::{Params, refuse_unknown},
    schema::{Failure, Success},
};
use crate::server::api_error::ApiError;

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `operational` while it answers.
    #[schema(example = "operational")]
    status: &'static str,
    /// Version of the software.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// Share of the time since its start that it answered, in percent.
    #[schema(example = 100.0)]
    uptime: f64,
    /// Its parts.
    services: Services,
}

/// The service's parts.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Services {
    /// The store of chains and platform.
    #[schema(example = "healthy")]
    database: &'static str,
    /// The default chain: its head's state can be read.
    #[schema(example = "healthy")]
    blockchain: &'static str,
    /// File storage.
    #[schema(example = "healthy")]
    storage: &'static str,
}

/// How the service is. Needs no credentials.
#[utoipa::path(
    get, path = "/v1/health", tag = "Service", operation_id = "getHealth", security(()),
    responses((status = 200, description = "The service answers", body = Success<Health>), (status = 400, description = "An unknown query parameter", body = Failure)),
)]
pub(super) async fn get(State(app): State<App>, Query(params): Query<Params>) -> Result<Answer, ApiError> {
    refuse_unknown(&params, &[])?;
    let view = app.chains.platform().default_blockchain().node().view();
    let readable = view.state(crate::node::BlockRef::Latest).is_ok();
    let word = |well| if well { "healthy" } else { "unhealthy" };
    Answer::ok(&Health {
        status: if readable { "operational" } else { "degraded" },
        version: env!("CARGO_PKG_VERSION"),
        uptime: 100.0,
        services: Services { database: word(readable), blockchain: word(readable), storage: word(true) },
    })
}
