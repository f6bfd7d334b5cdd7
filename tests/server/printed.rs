//! What a process prints, read as it comes.

use std::{
    io::Read,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use crate::binary::{LIMIT, now};

/// The output of a process that a thread reads, so that a test waits for a text no longer than it takes to come.
pub(crate) struct Printed {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Printed {
    /// Reads an output to its end from now on.
    pub(crate) fn of(mut output: impl Read + Send + 'static) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let kept = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4_096];
            while let Ok(len @ 1..) = output.read(&mut part) {
                kept.lock().unwrap().extend_from_slice(&part[..len]);
            }
        });
        Self { bytes, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Waits until it has a text.
    pub(crate) fn wait_for(&self, part: &str) {
        let deadline = now() + LIMIT;
        while !self.text().contains(part) {
            assert!(now() < deadline, "{part} is not printed within {LIMIT:?}: {}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns all of it, once the process has ended.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.reader.join().unwrap();
        self.bytes.lock().unwrap().clone()
    }
}
