//! Tests of the authorization server over HTTP, on its router.

mod endpoints;
mod flow;
mod openid;
mod pages;
mod site;
