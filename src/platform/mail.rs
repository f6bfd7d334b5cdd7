//! Mails: texts made of the outbox's entries when they are sent, so that no token is in the store in clear.

mod mailbox;

use core::num::NonZeroUsize;

use zeroize::Zeroizing;

pub use self::mailbox::{Mailbox, ReceivedMail};
use super::{
    PlatformError, PublicUrl,
    context::Context,
    records::{OutboxEntry, Owner, PageRequest, RecordError, SortKey, Stored},
    users::{MailedAct, MailedToken},
    vault::{Opened, Purpose, VaultError},
    workspace::{INVITATION_MAIL, Invitation, User, Workspace},
};

/// Characters of a name that a mail repeats: a name is chosen by others than the reader.
const NAME_MAX: usize = 80;

/// A mail as it is sent: plain text to one address. Its body may have a token and is overwritten when it is dropped.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
#[derive(Clone)]
pub struct Mail {
    /// Address of the receiver.
    pub to: String,
    /// Subject, one line.
    pub subject: String,
    /// Plain text.
    pub body: Zeroizing<String>,
}

/// The mails that wait in the outbox.
#[derive(Clone, Copy, Debug)]
pub struct Mails<'a> {
    pub(super) context: &'a Context,
}

impl Mails<'_> {
    /// Returns whether an entry of the outbox is a mail.
    pub fn is_mail(entry: &OutboxEntry) -> bool {
        [INVITATION_MAIL, MailedToken::CONFIRMATION_MAIL, MailedToken::RESET_MAIL].contains(&entry.topic.as_str())
    }

    /// Returns the mail of an entry of the outbox; `None` when it has become pointless: what it tells of was used, withdrawn or has expired,
    /// or nobody has the address. Such an entry is to be deleted as if it had been delivered.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when store or vault fail.
    pub fn render(&self, entry: &Stored<OutboxEntry>, url: &PublicUrl) -> Result<Option<Mail>, PlatformError> {
        let Ok(id) = core::str::from_utf8(&entry.value.payload) else { return Ok(None) };
        match entry.value.topic.as_str() {
            INVITATION_MAIL => self.invitation(entry.owner(), id, url),
            MailedToken::CONFIRMATION_MAIL | MailedToken::RESET_MAIL => self.mailed_token(id, url),
            _ => Ok(None),
        }
    }

    /// Delivers mails that are due into a mailbox of the process, the longest due first and at most as many as `request` takes; returns them.
    /// Other entries of the outbox stay.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when store or vault fail; what was delivered before stays so.
    pub fn deliver_to(
        &self,
        mailbox: &Mailbox,
        url: &PublicUrl,
        request: &PageRequest,
    ) -> Result<Vec<Mail>, PlatformError> {
        let (records, mut delivered) = (&self.context.records, Vec::new());
        for entry in self.due(request)? {
            let mail = self.render(&entry, url)?;
            // Deleted first: a mailbox in memory loses nothing that it would keep over a crash.
            match records.unit(|unit| unit.delete(&entry)) {
                Ok(()) => {}
                // Another call delivers it.
                Err(RecordError::Missing { .. }) => continue,
                Err(cause) => return Err(cause.into()),
            }
            if let Some(mail) = mail {
                mailbox.receive(records.clock().now_ms(), mail.clone());
                delivered.push(mail);
            }
        }
        Ok(delivered)
    }

    /// Returns the mails that are due. Entries of other topics may lie between them.
    fn due(&self, request: &PageRequest) -> Result<Vec<Stored<OutboxEntry>>, PlatformError> {
        let (mut mails, mut number) = (Vec::new(), NonZeroUsize::MIN);
        let mails_max = request.limit.get();
        loop {
            let due = self.context.records.due_messages(&request.clone().with_number(number))?;
            let is_last = due.len() < mails_max;
            mails.extend(due.into_iter().filter(|entry| Self::is_mail(&entry.value)));
            if is_last || mails.len() >= mails_max {
                mails.truncate(mails_max);
                return Ok(mails);
            }
            number = number.saturating_add(1);
        }
    }

    fn invitation(&self, owner: &Owner, id: &str, url: &PublicUrl) -> Result<Option<Mail>, PlatformError> {
        let records = &self.context.records;
        let Some(invitation) = records.of::<Invitation>().get(owner, id)? else { return Ok(None) };
        let Some(token) = self.open(owner, id, Purpose::InvitationToken)? else { return Ok(None) };
        if invitation.value.expires_at_ms <= records.clock().now_ms() {
            return Ok(None);
        }
        let workspace = records.of::<Workspace>().require(owner, owner.as_str())?;
        let (name, role) = (shown(&workspace.value.name), invitation.value.role.name());
        let link = link(url, "/oauth/invitations/accept", &token);
        let body = format!(
            "You are invited to the workspace \"{name}\" on {url}, as {role}.\n\n\
             To accept, follow this link, and log in or sign up with this address of e-mail:\n\n{}\n\n\
             The invitation holds for seven days. If you don't know the workspace, ignore this mail.\n",
            *link
        );
        let subject = format!("Invitation to the workspace \"{name}\"");
        Ok(Some(Mail { to: invitation.value.email, subject, body: Zeroizing::new(body) }))
    }

    fn mailed_token(&self, id: &str, url: &PublicUrl) -> Result<Option<Mail>, PlatformError> {
        let records = &self.context.records;
        let found = records.of::<MailedToken>().get(&Owner::Service, id)?;
        let now_ms = records.clock().now_ms();
        let Some(mailed) = found.filter(|found| now_ms < found.value.expires_at_ms) else { return Ok(None) };
        let Some(token) = self.open(&Owner::Service, id, Purpose::MailedToken)? else { return Ok(None) };
        let group = SortKey::new().text(&mailed.value.email);
        let has_user = records.of::<User>().find(&User::BY_EMAIL, &Owner::Service, &group)?.is_some();
        let (subject, body) = match (&mailed.value.act, has_user) {
            (MailedAct::Confirm(_), false) => ("Confirm your address of e-mail", confirmation(url, &token)),
            (MailedAct::Confirm(_), true) => ("You have an account already", known(url)),
            (MailedAct::Reset, true) => ("Reset your password", reset(url, &token)),
            (MailedAct::Reset, false) => return Ok(None),
        };
        Ok(Some(Mail { to: mailed.value.email, subject: subject.to_owned(), body: Zeroizing::new(body) }))
    }

    /// Opens the token of a mail; `None` when it is gone.
    fn open(&self, owner: &Owner, id: &str, purpose: Purpose) -> Result<Option<Opened>, PlatformError> {
        match self.context.vault.open(&self.context.records, owner, id, purpose) {
            Ok(opened) => Ok(Some(opened)),
            Err(VaultError::Missing { .. }) => Ok(None),
            Err(cause) => Err(cause.into()),
        }
    }
}

/// Returns a link with a token, whose characters need no escape.
fn link(url: &PublicUrl, path: &str, token: &Opened) -> Zeroizing<String> {
    let token = Zeroizing::new(String::from_utf8_lossy(token.bytes()).into_owned());
    Zeroizing::new(url.link(&format!("{path}?token={}", *token)))
}

fn confirmation(url: &PublicUrl, token: &Opened) -> String {
    format!(
        "Somebody, probably you, signed up on {url} with this address.\n\n\
         To confirm it, follow this link and enter the password that you have chosen:\n\n{}\n\n\
         The link holds for 24 hours. If it was not you, ignore this mail: without the password the link does nothing.\n",
        *link(url, "/oauth/confirm", token)
    )
}

fn known(url: &PublicUrl) -> String {
    format!(
        "Somebody, probably you, signed up on {url} with this address, which has an account already.\n\n\
         Log in at {}, or choose a new password at {}.\n\n\
         If it was not you, ignore this mail: nothing was changed.\n",
        url.link("/oauth/login"),
        url.link("/oauth/forgot"),
    )
}

fn reset(url: &PublicUrl, token: &Opened) -> String {
    format!(
        "Somebody, probably you, asked for a new password on {url}.\n\n\
         To choose it, follow this link:\n\n{}\n\n\
         The link holds for an hour and once. If it was not you, ignore this mail: your password stays as it is.\n",
        *link(url, "/oauth/reset", token)
    )
}

/// Returns a name in one line and shortened, so that it can neither add headers to a mail nor fill it.
fn shown(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(NAME_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::users::tests::{PASSWORD, World, url};

    #[test]
    fn entries_of_other_topics_do_not_hide_mails() {
        let world = World::new();
        let records = world.platform.records();
        let publish = || records.unit(|unit| unit.publish(&Owner::Service, "other.topic", Vec::new())).unwrap();
        (0..5).for_each(|_| drop(publish()));
        let password = crate::platform::Password::new(PASSWORD);
        let addresses = ["ann@example.org", "bob@example.org", "eve@example.org"];
        for address in addresses {
            world.platform.users().sign_up(address, &password).unwrap();
            publish();
        }
        let (mailbox, request) = (Mailbox::default(), PageRequest::first(NonZeroUsize::new(2).unwrap()));
        let deliver = || -> Vec<String> {
            let mails = world.platform.mails().deliver_to(&mailbox, &url(), &request).unwrap();
            mails.into_iter().map(|mail| mail.to).collect()
        };
        assert_eq!(deliver(), addresses[..2], "as many as are asked for, in their order");
        assert_eq!(deliver(), addresses[2..]);
        assert!(deliver().is_empty());
        let left = records.due_messages(&PageRequest::first(NonZeroUsize::new(100).unwrap())).unwrap();
        assert_eq!(left.len(), 8, "what is no mail stays");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(shown("a\r\nBcc: b@example.org"), "a  Bcc: b@example.org");
        assert_eq!(shown(&"x".repeat(200)).len(), 80);
    }
}
