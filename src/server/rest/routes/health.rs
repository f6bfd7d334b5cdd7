//! `GET /v1/health`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::server::{
    api_error::ApiError,
    rest::{
        App,
        endpoint::{Access, Endpoint, Tag},
        request::Request,
    },
};

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Health {
    /// State of the whole.
    #[schema(example = "operational")]
    status: HealthStatus,
    /// Version of the software.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// Version of the interface.
    #[schema(example = "v1")]
    api_version: &'static str,
    /// Part of the probes that found every part healthy, in percent: one every 15 seconds, and one for a request of this route where the
    /// newest was made a second ago or earlier.
    #[schema(example = 100.0, minimum = 0, maximum = 100)]
    uptime: f64,
    /// The service's parts.
    services: Services,
}

/// State of the service: `operational` leads to `degraded` when a probe finds a part unhealthy, and back when all are healthy again.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum HealthStatus {
    Operational,
    Degraded,
}

/// Health of the service's parts: `healthy` or `unhealthy`.
#[derive(Debug, Serialize, ToSchema)]
struct Services {
    /// The store takes writes.
    #[schema(example = "healthy")]
    database: &'static str,
    /// No chain has failed, and those with a block time make blocks.
    #[schema(example = "healthy")]
    blockchain: &'static str,
    /// The disk has room.
    #[schema(example = "healthy")]
    storage: &'static str,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/v1/health", "getHealth", Tag::Service, Access::Public, "Returns the health of the service.")
            .reads(get),
    ]
}

fn get(app: &App, _: &Request) -> Result<Health, ApiError> {
    let health = app.platform().health();
    let word = |is_healthy| if is_healthy { "healthy" } else { "unhealthy" };
    Ok(Health {
        status: if health.is_operational() { HealthStatus::Operational } else { HealthStatus::Degraded },
        version: env!("CARGO_PKG_VERSION"),
        api_version: "v1",
        uptime: health.uptime_percent,
        services: Services {
            database: word(health.is_database_healthy),
            blockchain: word(health.is_blockchain_healthy),
            storage: word(health.is_storage_healthy),
        },
    })
}
