//! Reading long JSON without holding up other connections.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Bytes of JSON that are read where they came; the other connections of a thread wait for that, a fraction of a millisecond.
pub(crate) const INLINE_BYTES_MAX: usize = 64 << 10;

/// Runs `read`, whose work grows with so many bytes of JSON. Where they are many, the thread's other connections go on on another thread
/// meanwhile; a runtime with one thread has none to give them.
pub(crate) fn read_aside<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    if bytes <= INLINE_BYTES_MAX {
        return read();
    }
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        _ => read(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A task that waits for another one of the same thread, which therefore has to go on on another.
    async fn waits_for_another_task(bytes: usize) -> bool {
        let (sender, receiver) = mpsc::channel();
        let waiting = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            read_aside(bytes, || receiver.recv_timeout(core::time::Duration::from_secs(10)).is_ok())
        });
        waiting.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_while_a_long_text_is_read() {
        assert!(waits_for_another_task(INLINE_BYTES_MAX + 1).await);
    }

    #[tokio::test]
    async fn a_runtime_with_one_thread_reads_where_it_is() {
        assert_eq!(read_aside(INLINE_BYTES_MAX + 1, || 7), 7);
    }

    #[test]
    fn no_runtime_is_needed() {
        assert_eq!(read_aside(usize::MAX, || 7), 7);
    }
}
