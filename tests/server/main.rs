//! The server from outside: methods without a socket, HTTP and WebSocket over a real one, and the real binary.

#![cfg(feature = "server")]

mod access;
mod authenticity;
mod binary;
mod endpoints;
mod extremes;
mod filters;
mod forks;
mod framing;
mod front_end;
mod full_disk;
mod http;
mod in_process;
mod limits;
mod method_list;
mod methods;
mod network;
mod oauth;
mod panics;
mod pending;
mod pool_and_mining;
mod refusals;
mod rest;
mod serve;
mod service_rpc;
mod starvation;
mod websocket;
