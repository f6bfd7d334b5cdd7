//! The server from outside: methods without a socket, HTTP and WebSocket over a real one, and the real binary.

#![cfg(feature = "server")]

mod access;
mod analytics;
mod authenticity;
mod binary;
#[cfg(feature = "rocksdb")]
mod canary;
mod client;
mod dapps;
mod endpoint_table;
mod endpoints;
mod extremes;
mod filters;
mod forks;
mod framing;
mod front_end;
mod full_disk;
mod health;
mod http;
mod in_process;
#[cfg(feature = "rocksdb")]
mod killed;
#[cfg(feature = "rocksdb")]
mod killed_network;
mod limits;
mod load_state;
mod log;
#[cfg(feature = "rocksdb")]
mod master_key;
mod method_list;
mod methods;
mod metrics;
mod modules;
mod network;
mod network_figures;
mod network_governance;
mod network_validators;
mod network_world;
mod oauth;
mod oauth_clients;
mod openid;
mod pages;
mod panics;
mod parameters;
mod participants;
mod pending;
mod person;
mod plans;
mod pool_and_mining;
mod printed;
#[cfg(feature = "rocksdb")]
mod privacy;
mod projects;
mod refusals;
mod rest;
mod routes;
mod serve;
mod service_rpc;
mod serving;
mod shutdown;
mod signed_transactions;
mod snapshots;
mod specification;
mod specification_table;
mod standing;
mod starvation;
#[cfg(feature = "rocksdb")]
mod stored_data;
mod tls;
mod tokens;
mod transfer;
mod vesting;
mod webhooks;
mod websocket;
