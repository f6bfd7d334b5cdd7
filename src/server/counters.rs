//! Counts of what went wrong at the server's edges.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the server was made. They only grow; reading one takes no lock.
#[derive(Debug, Default)]
pub struct Counters {
    panics: AtomicU64,
    refused_connections: AtomicU64,
    lost_pending: AtomicU64,
    slow_sessions: AtomicU64,
}

impl Counters {
    /// Panics of handlers and of the server's tasks, each answered or restarted.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Connections and WebSocket sessions refused because their bound was reached.
    pub fn refused_connections(&self) -> u64 {
        self.refused_connections.load(Ordering::Relaxed)
    }

    /// Notifications and filter entries of pending transactions that were lost because their reader was too slow.
    pub fn lost_pending(&self) -> u64 {
        self.lost_pending.load(Ordering::Relaxed)
    }

    /// WebSocket sessions closed because their client was too slow or silent.
    pub fn slow_sessions(&self) -> u64 {
        self.slow_sessions.load(Ordering::Relaxed)
    }

    pub(crate) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_refused_connection(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_lost_pending(&self, lost: u64) {
        self.lost_pending.fetch_add(lost, Ordering::Relaxed);
    }

    pub(crate) fn count_slow_session(&self) {
        self.slow_sessions.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the text of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
