//! The mailbox of a development service: it keeps the mails that it would send.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use super::Mail;

/// A mail in a mailbox.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
#[derive(Clone)]
pub struct ReceivedMail {
    /// Time of its delivery, in milliseconds since the Unix epoch.
    pub received_at_ms: u64,
    /// The mail.
    pub mail: Mail,
}

/// The newest mails, in memory.
#[derive(Default)]
pub struct Mailbox(Mutex<VecDeque<ReceivedMail>>);

/// Leaves the mails out.
impl core::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl Mailbox {
    /// Mails that are kept; the oldest goes when there is one more.
    pub const MAILS_MAX: usize = 100;

    /// Adds a mail.
    pub fn receive(&self, received_at_ms: u64, mail: Mail) {
        let mut mails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if mails.len() >= Self::MAILS_MAX {
            mails.pop_front();
        }
        mails.push_back(ReceivedMail { received_at_ms, mail });
    }

    /// Returns the mails, the newest first.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    #[test]
    fn the_newest_mails_are_kept() {
        let mailbox = Mailbox::default();
        for number in 0..=Mailbox::MAILS_MAX {
            let mail = Mail { to: format!("{number}"), subject: String::new(), body: Zeroizing::default() };
            mailbox.receive(u64::try_from(number).unwrap(), mail);
        }
        let mails = mailbox.mails();
        assert_eq!(mails.len(), Mailbox::MAILS_MAX);
        assert_eq!((mails[0].mail.to.as_str(), mails.last().unwrap().mail.to.as_str()), ("100", "1"));
    }
}
