//! Names to addresses.

use core::{fmt, future::Future, pin::Pin};
use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
};

use tokio::sync::Semaphore;

/// Look-ups that run at one time; further ones wait. A look-up can't be ended, so one that hangs keeps its thread.
pub const LOOKUPS_MAX: usize = 16;

/// The addresses of a name, in the making.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// A source of names' addresses. Object-safe, and stays so: a client takes an `Arc<dyn Resolve>`, which tests replace.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// Returns the addresses of a name in the order in which they are to be tried. Dropping the future gives the look-up up.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// The operating system's resolver (`getaddrinfo`), which knows `/etc/hosts` and the network's name servers.
#[derive(Debug)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                // The place is free when the look-up has ended, not when nobody waits for it any more.
                let _place = place;
                (name.as_str(), 0).to_socket_addrs().map(|addresses| addresses.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let resolver: Arc<dyn Resolve> = Arc::new(SystemResolver::default());
        let addresses = resolver.resolve("localhost").await.unwrap();
        assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
        assert!(resolver.resolve("no-such-name.invalid").await.is_err());
    }
}
