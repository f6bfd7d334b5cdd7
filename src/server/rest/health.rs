//! `GET /v1/health`.

use axum::extract::{Query, State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App,
    envelope::ApiResponse,
    query::{Params, refuse_unknown},
    schema::{Failure, Success},
};
use crate::server::api_error::ApiError;

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `operational`, or `degraded` when a part is unhealthy.
    #[schema(example = "operational")]
    status: &'static str,
    /// Version of the software.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// Always 100: the service measures no downtime, and a process that is down sends no response.
    #[schema(example = 100.0)]
    uptime: f64,
    /// The service's parts.
    services: Services,
}

/// Health of the service's parts: `healthy` or `unhealthy`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Services {
    /// The store of the default chain: its newest state can be read.
    #[schema(example = "healthy")]
    database: &'static str,
    /// The default chain: the state of its head can be read.
    #[schema(example = "healthy")]
    blockchain: &'static str,
    /// Always `healthy`: the service stores no files.
    #[schema(example = "healthy")]
    storage: &'static str,
}

/// Returns the health of the service. Needs no credentials.
#[utoipa::path(
    get, path = "/v1/health", tag = "Service", operation_id = "getHealth", security(()),
    responses((status = 200, description = "Health of the service", body = Success<Health>), (status = 400, description = "An unknown query parameter", body = Failure)),
)]
pub(super) async fn get(State(app): State<App>, Query(params): Query<Params>) -> Result<ApiResponse, ApiError> {
    refuse_unknown(&params, &[])?;
    let view = app.chains.platform().default_blockchain().node().view();
    let readable = view.state(crate::node::BlockRef::Latest).is_ok();
    let status_of = |healthy| if healthy { "healthy" } else { "unhealthy" };
    ApiResponse::ok(&Health {
        status: if readable { "operational" } else { "degraded" },
        version: env!("CARGO_PKG_VERSION"),
        uptime: 100.0,
        services: Services { database: status_of(readable), blockchain: status_of(readable), storage: status_of(true) },
    })
}
