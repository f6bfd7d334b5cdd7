//! The service's own audit log: what users did that is of no workspace, such as to log in, and mails that could not be delivered.

use crate::platform::{
    Platform, PlatformError, Principal, Scope,
    records::{AuditLine, Index, Owner, Page, PageRequest, SortKey},
};

impl Platform {
    /// Returns a page of the service's own audit log, in the order of time. Those of workspaces are apart.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`] without `admin`; [`PlatformError::Forbidden`] for principals of other workspaces than the default one:
    /// the log is of the users of all; [`PlatformError::Internal`] when the store fails.
    pub fn service_log(&self, principal: &Principal, request: &PageRequest) -> Result<Page<AuditLine>, PlatformError> {
        principal.require(Scope::Admin)?;
        if !principal.is_operator() {
            let message = "the log is of the users of all workspaces: it takes credentials of the default workspace";
            return Err(PlatformError::Forbidden { message: message.to_owned() });
        }
        let lines = self.records().of::<AuditLine>();
        Ok(lines.page(&Index::CREATED, &Owner::Service, &SortKey::new(), request)?)
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroUsize;
    use std::sync::Arc;

    use super::*;
    use crate::{node::ManualClock, primitives::Timestamp};

    #[test]
    fn operators_alone_read_the_log_of_the_service() {
        let platform = Platform::builder(Arc::new(ManualClock::new(Timestamp::from_secs(1_000)))).open(None).unwrap();
        let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
        platform.users().start_session(user.id()).unwrap();
        let page = |principal: &Principal| platform.service_log(principal, &PageRequest::first(NonZeroUsize::MIN));
        let read = page(&platform.service_principal()).unwrap();
        assert_eq!((read.items.len(), read.total), (1, 2));
        assert_eq!(read.items[0].value.target, format!("user {}", user.id()));
        // An owner of another workspace may do everything there.
        let home = user.value.home.as_ref().unwrap();
        let ann = platform.workspaces().principal(user.id(), home).unwrap().unwrap();
        assert!(ann.may(Scope::Admin));
        let Err(PlatformError::Forbidden { message }) = page(&ann) else { panic!("the log is not hers") };
        assert!(message.contains("credentials of the default workspace"), "{message}");
        let reader = platform.create_api_key("reader", &[Scope::WorkspaceRead]).unwrap();
        let reader = platform.api_keys().authenticate(reader.text()).unwrap().unwrap();
        assert_eq!(page(&reader).map(drop), Err(PlatformError::MissingScope { scope: Scope::Admin }));
    }
}
