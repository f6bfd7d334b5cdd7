//! Tests of the authorization server over HTTP, on its router.

mod endpoints;
mod flow;
mod pages;
mod site;
