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
    /// Its number: the mails of a mailbox are numbered from 1 in the order in which they came.
    pub number: u64,
    /// Time of its delivery, in milliseconds since the Unix epoch.
    pub received_at_ms: u64,
    /// The mail.
    pub mail: Mail,
}

/// The newest mails, in memory.
#[derive(Default)]
pub struct Mailbox(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The oldest first.
    mails: VecDeque<ReceivedMail>,
    /// Number of the newest mail; 0 for none.
    last_number: u64,
}

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
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.mails.len() >= Self::MAILS_MAX {
            kept.mails.pop_front();
        }
        let number = kept.last_number.saturating_add(1);
        kept.last_number = number;
        kept.mails.push_back(ReceivedMail { number, received_at_ms, mail });
    }

    /// Returns the mails, the newest first.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).mails.iter().rev().cloned().collect()
    }

    /// Returns the mails that came after the one with this number, the oldest first; 0 for all of them. So a reader sees each mail once, whoever
    /// else reads.
    pub fn newer_than(&self, number: u64) -> Vec<ReceivedMail> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.mails.iter().filter(|received| received.number > number).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    fn mail_to(address: &str) -> Mail {
        Mail { to: address.to_owned(), subject: String::new(), body: Zeroizing::default() }
    }

    #[test]
    fn a_reader_is_told_of_each_mail_once_and_in_order() {
        let mailbox = Mailbox::default();
        assert!(mailbox.newer_than(0).is_empty());
        let newer = |number| -> Vec<(u64, String)> {
            mailbox.newer_than(number).into_iter().map(|received| (received.number, received.mail.to)).collect()
        };
        mailbox.receive(5, mail_to("ann"));
        mailbox.receive(4, mail_to("bob"));
        assert_eq!(newer(0), [(1, "ann".to_owned()), (2, "bob".to_owned())]);
        assert_eq!(newer(1), [(2, "bob".to_owned())]);
        assert!(newer(2).is_empty());
        for _ in 0..Mailbox::MAILS_MAX {
            mailbox.receive(6, mail_to("eve"));
        }
        assert_eq!(newer(2).len(), Mailbox::MAILS_MAX);
        assert_eq!(newer(0).first().map(|(number, _)| *number), Some(3), "older ones are not kept");
    }

    #[test]
    fn the_newest_mails_are_kept() {
        let mailbox = Mailbox::default();
        for number in 0..=Mailbox::MAILS_MAX {
            mailbox.receive(u64::try_from(number).unwrap(), mail_to(&format!("{number}")));
        }
        let mails = mailbox.mails();
        assert_eq!(mails.len(), Mailbox::MAILS_MAX);
        assert_eq!((mails[0].mail.to.as_str(), mails.last().unwrap().mail.to.as_str()), ("100", "1"));
    }
}
