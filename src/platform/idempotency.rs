//! What idempotent requests carry: the request until it is answered, then its response, each sealed by the vault.
//!
//! Either may show a secret, such as a new API key, which is shown once and of which the store otherwise has a hash alone. So all of
//! them are sealed, under the id of the request's record, in the unit of work that accepts or answers the request.

use zeroize::Zeroizing;

use super::{
    PlatformError,
    context::Context,
    principal::Principal,
    records::{
        Acceptance, Accepted, FormerContent, IdempotencyError, IdempotentRequest, Index, Owner, PageRequest, Records,
        Response, SortKey, Stored, Unit, WorkspaceId,
    },
    vault::Purpose,
};

/// Counter that is 1 once the contents of requests of former versions are sealed.
const SEALED: &str = "idempotency-sealed";
/// Requests of former versions that are sealed in one unit of work.
const SEALED_AT_ONCE: core::num::NonZeroUsize = core::num::NonZeroUsize::new(64).expect("not zero");

/// What becomes of a request under an idempotency key.
#[derive(Debug)]
pub enum Begun {
    /// It is the first: it is to be run.
    Run(Box<Accepted>),
    /// It is a repetition of one whose effect and response could not be written: it is to be run again, as at a start.
    Again(Box<Accepted>),
    /// It is a repetition: this is the response.
    Replay(Response),
}

/// Rules of idempotent requests.
#[derive(Clone, Copy, Debug)]
pub struct IdempotentRequests<'a> {
    pub(super) context: &'a Context,
}

impl<'a> IdempotentRequests<'a> {
    fn records(&self) -> &'a Records {
        &self.context.records
    }

    /// Accepts a principal's request under its key, or returns the response to the one that it repeats. The key is the sender's in whatever
    /// workspace it acts.
    ///
    /// # Errors
    /// Those of [`IdempotencyError`](super::records::IdempotencyError) and of the vault; [`PlatformError::Forbidden`] when the first request was
    /// permitted more than this one is.
    pub fn accept(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        key: &str,
        operation: &str,
        request: &[u8],
    ) -> Result<Begun, PlatformError> {
        let (owner, sender) = (principal.home(), principal.sender());
        let fingerprint = self.context.secret.hash(request);
        match unit.accept(&owner, &sender, key, operation, fingerprint) {
            Ok(Acceptance::Run(accepted)) => {
                let stored = accepted.request();
                // Of a request under the same key that has expired.
                self.context.vault.discard(unit, stored.owner(), stored.id())?;
                self.seal(unit, stored, Purpose::IdempotentRequest, request)?;
                Ok(Begun::Run(Box::new(accepted)))
            }
            Ok(Acceptance::Repeated(accepted)) => {
                check_scopes(principal, &accepted.request().value)?;
                self.response(accepted.request()).map(Begun::Replay)
            }
            Err(IdempotencyError::Running) => {
                let open = self.records().take_open_under(&owner, &sender, key)?;
                open.map(|open| Begun::Again(Box::new(open))).ok_or_else(|| IdempotencyError::Running.into())
            }
            Err(cause) => Err(cause.into()),
        }
    }

    /// Returns the response to the request that `sender` repeats. `workspace` is the one that the request names, in which former versions kept
    /// it. What the sender may do is not looked at: it is for a sender whose access the first request has ended, and for responses that nobody
    /// needs a scope to see.
    ///
    /// # Errors
    /// [`PlatformError`] of the records and of the vault.
    pub fn answered(
        &self,
        sender: &Principal,
        workspace: Option<&str>,
        key: &str,
        operation: &str,
        request: &[u8],
    ) -> Result<Option<Response>, PlatformError> {
        let (owner, mut known) = (sender.home(), sender.sender());
        known.workspace = workspace.and_then(WorkspaceId::new).or(known.workspace);
        let fingerprint = self.context.secret.hash(request);
        let found = self.records().answered_under(&owner, &known, key, operation, fingerprint)?;
        found.map(|accepted| self.response(accepted.request())).transpose()
    }

    /// Keeps the response to an accepted request, in the unit of its effect.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] when it has a response already, and those of the vault.
    pub fn respond(&self, unit: &mut Unit<'_>, accepted: &Accepted, response: &Response) -> Result<(), PlatformError> {
        unit.respond(accepted)?;
        let stored = accepted.request();
        self.context.vault.discard(unit, stored.owner(), stored.id())?;
        self.seal_response(unit, stored, response)
    }

    /// Forgets an accepted request that was refused before it had an effect, so that the key can be used again.
    ///
    /// # Errors
    /// As [`IdempotentRequests::respond`].
    pub fn withdraw(&self, unit: &mut Unit<'_>, accepted: &Accepted) -> Result<(), PlatformError> {
        unit.withdraw(accepted)?;
        let stored = accepted.request();
        Ok(self.context.vault.discard(unit, stored.owner(), stored.id())?)
    }

    /// Leaves an accepted request whose end could not be written: the next one under its key, or who takes what is left open, runs it again.
    pub fn leave_open(&self, accepted: &Accepted) {
        self.records().leave_open(accepted);
    }

    /// Returns a request that was accepted and has no response.
    ///
    /// # Errors
    /// Those of the vault.
    pub fn request(&self, accepted: &Accepted) -> Result<Zeroizing<Vec<u8>>, PlatformError> {
        self.open(accepted.request(), Purpose::IdempotentRequest)
    }

    /// Deletes responses that are kept long enough, at most as many as `page` takes; returns how many.
    ///
    /// # Errors
    /// [`PlatformError`] of the records.
    pub fn forget_expired(&self, page: &PageRequest) -> Result<usize, PlatformError> {
        self.records().unit(|unit| {
            let expired = unit.expired_requests(page)?;
            expired.iter().try_for_each(|accepted| self.withdraw(unit, accepted))?;
            Ok(expired.len())
        })
    }

    /// Seals the contents of requests of former versions, which held them in clear.
    ///
    /// # Errors
    /// [`PlatformError`] of the records and of the vault. What was sealed stays so.
    pub(super) fn seal_former(&self) -> Result<(), PlatformError> {
        if self.records().counter(&Owner::Service, SEALED)? > 0 {
            return Ok(());
        }
        for index in [IdempotentRequest::UNFINISHED, IdempotentRequest::EXPIRY] {
            let mut request = PageRequest::first(SEALED_AT_ONCE);
            while let Some(next) = self.records().unit(|unit| self.seal_page(unit, &index, &request))? {
                request = request.after(next);
            }
        }
        self.records().unit(|unit| Ok(unit.add(&Owner::Service, SEALED, 1).map(drop)?))
    }

    fn seal_page(
        &self,
        unit: &mut Unit<'_>,
        index: &Index<IdempotentRequest>,
        request: &PageRequest,
    ) -> Result<Option<super::records::Cursor>, PlatformError> {
        let page = unit.of::<IdempotentRequest>().page(index, &Owner::Service, &SortKey::new(), request)?;
        for mut stored in page.items {
            let Some(FormerContent { request, response }) = stored.value.former.take() else { continue };
            stored.value.fingerprint = self.context.secret.hash(&request);
            unit.replace(&stored)?;
            match response {
                Some(response) => self.seal_response(unit, &stored, &response)?,
                None => self.seal(unit, &stored, Purpose::IdempotentRequest, &request)?,
            }
        }
        Ok(page.next)
    }

    fn seal(
        &self,
        unit: &mut Unit<'_>,
        stored: &Stored<IdempotentRequest>,
        purpose: Purpose,
        content: &[u8],
    ) -> Result<(), PlatformError> {
        Ok(self.context.vault.seal(unit, stored.owner(), stored.id(), purpose, content)?)
    }

    fn seal_response(
        &self,
        unit: &mut Unit<'_>,
        stored: &Stored<IdempotentRequest>,
        response: &Response,
    ) -> Result<(), PlatformError> {
        let Response { status, body, request_id, location } = response;
        let content = postcard::to_allocvec(&(status, body.as_slice(), request_id, location));
        let content = Zeroizing::new(content.map_err(PlatformError::internal)?);
        self.seal(unit, stored, Purpose::IdempotentResponse, &content)
    }

    fn response(&self, stored: &Stored<IdempotentRequest>) -> Result<Response, PlatformError> {
        let content = self.open(stored, Purpose::IdempotentResponse)?;
        let read = postcard::from_bytes::<(u16, Vec<u8>, String, Option<String>)>(&content);
        let (status, body, request_id, location) = read.map_err(PlatformError::internal)?;
        Ok(Response { status, body: Zeroizing::new(body), request_id, location })
    }

    fn open(&self, stored: &Stored<IdempotentRequest>, purpose: Purpose) -> Result<Zeroizing<Vec<u8>>, PlatformError> {
        let opened = self.context.vault.open(self.records(), stored.owner(), stored.id(), purpose)?;
        Ok(Zeroizing::new(opened.bytes().to_vec()))
    }
}

/// Checks that a principal may do what the first request was permitted: the response may show what follows from that, such as a new key. A
/// token of the same grant may have fewer scopes, and a role may have changed since.
fn check_scopes(principal: &Principal, first: &IdempotentRequest) -> Result<(), PlatformError> {
    if let [beyond, ..] = first.scopes.beyond(principal.scopes())[..] {
        let message = format!(
            "the first request with this idempotency key was permitted {}, this one is not: repeat it with credentials that are",
            beyond.name()
        );
        return Err(PlatformError::Forbidden { message });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
