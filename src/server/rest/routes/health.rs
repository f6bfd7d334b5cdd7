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
    /// `operational`, or `degraded` when a part is unhealthy.
    #[schema(example = "operational")]
    status: &'static str,
    /// Version of the software.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// Version of the interface.
    #[schema(example = "v1")]
    api_version: &'static str,
    /// Always 100: the service measures no downtime, and a process that is down sends no response.
    #[schema(example = 100.0, minimum = 0, maximum = 100)]
    uptime: f64,
    /// The service's parts.
    services: Services,
}

/// Health of the service's parts: `healthy` or `unhealthy`.
#[derive(Debug, Serialize, ToSchema)]
struct Services {
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

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/v1/health", "getHealth", Tag::Service, Access::Public, "Returns the health of the service.")
            .reads(get),
    ]
}

fn get(app: &App, _: &Request) -> Result<Health, ApiError> {
    let view = app.platform().default_blockchain().node().view();
    let readable = view.state(crate::node::BlockRef::Latest).is_ok();
    let status_of = |healthy| if healthy { "healthy" } else { "unhealthy" };
    Ok(Health {
        status: if readable { "operational" } else { "degraded" },
        version: env!("CARGO_PKG_VERSION"),
        api_version: "v1",
        uptime: 100.0,
        services: Services { database: status_of(readable), blockchain: status_of(readable), storage: status_of(true) },
    })
}
