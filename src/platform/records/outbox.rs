//! The outbox: messages to the outside, kept in the batch of what they tell of until they are delivered.
//!
//! Delivery is at least once: an entry is deleted after the receiver has taken it, so a crash between both sends it again, with the same
//! id. See Richardson, "Microservices Patterns" (2018), 3.3, "transactional outbox".

use serde::{Deserialize, Serialize};

use super::{Index, Owner, PageRequest, Reach, Record, RecordError, Records, SortKey, Stored, Unit};

/// A message that waits for its delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxEntry {
    /// Kind of the message, such as `mail.invitation`.
    pub topic: String,
    /// The message, in the form that its topic has.
    pub payload: Vec<u8>,
    /// Deliveries that failed.
    pub failures: u32,
    /// Time from which it may be delivered, in milliseconds since the Unix epoch.
    pub due_at_ms: u64,
}

impl OutboxEntry {
    /// All entries of the service by the time at which they are due.
    const BY_DUE: Index<Self> = Index::ordered(
        "due",
        Reach::Service,
        |_| Some(SortKey::new()),
        |entry| SortKey::new().number(entry.value.due_at_ms).text(entry.id()),
    );
}

impl Record for OutboxEntry {
    const KIND: &'static str = "outbox";
    const INDICES: &'static [Index<Self>] = &[Self::BY_DUE];
}

/// Counter of an owner's messages: their ids follow it, so that messages of one millisecond keep their order.
const MESSAGES: &str = "outbox-messages";

impl Unit<'_> {
    /// Adds a message that may be delivered at once.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn publish(
        &mut self,
        owner: &Owner,
        topic: &str,
        payload: Vec<u8>,
    ) -> Result<Stored<OutboxEntry>, RecordError> {
        let number = self.add(owner, MESSAGES, 1)?;
        let entry = OutboxEntry { topic: topic.to_owned(), payload, failures: 0, due_at_ms: self.now_ms() };
        self.insert(owner, &format!("msg_{number:016x}"), entry)
    }

    /// Notes that a delivery failed; the next is due at `due_at_ms`.
    ///
    /// # Errors
    /// [`RecordError::Missing`] when the message was delivered or withdrawn meanwhile, and those of reading.
    pub fn postpone(&mut self, entry: &Stored<OutboxEntry>, due_at_ms: u64) -> Result<(), RecordError> {
        let mut entry = entry.clone();
        entry.value.failures = entry.value.failures.saturating_add(1);
        entry.value.due_at_ms = due_at_ms;
        self.replace(&entry).map(drop)
    }
}

impl Records {
    /// Returns the messages that are due, the longest due first, at most as many as `request` takes.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn due_messages(&self, request: &PageRequest) -> Result<Vec<Stored<OutboxEntry>>, RecordError> {
        let now_ms = self.clock().now_ms();
        let page = self.of().page(&OutboxEntry::BY_DUE, &Owner::Service, &SortKey::new(), request)?;
        Ok(page.items.into_iter().take_while(|entry| entry.value.due_at_ms <= now_ms).collect())
    }
}
