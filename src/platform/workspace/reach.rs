//! The lists of the workspaces that callers reach. A page of one costs what is on it.
//!
//! A member keeps the origin of its workspace, so that each list is a group of an index in order: of a user who is present all memberships; of an
//! API key of a user, or of the tokens of a grant, the memberships in what was created by it, and the one in its own workspace; of a key for which
//! the service answers the workspaces that it created, and its own.

use super::{
    Member, Workspace, Workspaces,
    behind::{Behind, is_present},
    made_by,
};
use crate::{
    platform::{
        PlatformError,
        principal::{Principal, Subject},
        records::{Owner, PageRequest, RecordError, Stored},
    },
    store::Order,
};

/// Workspaces of a page, and the length of the whole list.
type Found = (Vec<Stored<Workspace>>, u64);

impl Workspaces<'_> {
    /// Returns the workspaces in which a sender may act by [`Workspaces::acting_in`], the oldest first.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn of_caller(&self, caller: &Principal) -> Result<Vec<Stored<Workspace>>, PlatformError> {
        let Some(behind) = self.behind(caller)? else { return Ok(Vec::new()) };
        let (records, home) = (&self.context.records, caller.home());
        let workspaces = records.of::<Workspace>();
        let mut found = Vec::new();
        match &behind.answering {
            Subject::User(user) => {
                let group = Member::of_user(user);
                records.of::<Member>().for_each(&Member::BY_USER, &Owner::Service, &group, |member| {
                    let workspace = workspaces.require(member.owner(), member.owner().as_str())?;
                    found.extend(behind.reaches(records, caller, &workspace)?.then_some(workspace));
                    Ok::<_, PlatformError>(())
                })?;
            }
            Subject::Service => {
                found.push(workspaces.require(&home, home.as_str())?);
                for creator in behind.creators(caller) {
                    workspaces.for_each(&Workspace::BY_CREATOR, &Owner::Service, &made_by(creator), |created| {
                        found.extend((created.owner() != &home).then_some(created));
                        Ok::<_, PlatformError>(())
                    })?;
                }
            }
            Subject::ApiKey(_) => {}
        }
        found.sort_by(|a, b| (a.created_at_ms(), a.id()).cmp(&(b.created_at_ms(), b.id())));
        Ok(found)
    }

    /// Returns a page of [`Workspaces::of_caller`], by time of creation, and the length of the whole list. A workspace that is deleted while the
    /// page is read is left out.
    ///
    /// # Errors
    /// As [`Workspaces::of_caller`].
    pub fn page_of_caller(&self, caller: &Principal, request: &PageRequest) -> Result<Found, PlatformError> {
        let Some(behind) = self.behind(caller)? else { return Ok((Vec::new(), 0)) };
        let found = match &behind.answering {
            Subject::User(user) if is_present(caller) => Some(self.page_of_user(user, request)?),
            Subject::User(user) => self.page_of_users_credentials(&behind, caller, user, request)?,
            Subject::Service => self.page_of_services_credentials(&behind, caller, request)?,
            Subject::ApiKey(_) => Some((Vec::new(), 0)),
        };
        match found {
            Some(found) => Ok(found),
            None => self.part_of_whole(caller, request),
        }
    }

    /// Returns a page of all the workspaces of a user.
    fn page_of_user(&self, user: &str, request: &PageRequest) -> Result<Found, RecordError> {
        let members = self.context.records.of::<Member>();
        let page = members.page(&Member::BY_USER, &Owner::Service, &Member::of_user(user), request)?;
        Ok((self.of_members(&page.items)?, page.total))
    }

    /// Returns a page of what the credentials of a user are for: their own workspace, for as long as the user is a member, and what was created by
    /// them. `None` where that is kept as of two creators.
    fn page_of_users_credentials(
        &self,
        behind: &Behind,
        caller: &Principal,
        user: &str,
        request: &PageRequest,
    ) -> Result<Option<Found>, RecordError> {
        let (members, index) = (self.context.records.of::<Member>(), &Member::BY_CREATOR);
        let group = |creator: &Subject| Member::in_created_by(user, creator, caller.grant());
        let count = |creator: &Subject| members.count(index, &Owner::Service, &group(creator));
        let Some(creator) = behind.only_creator(caller, count)? else { return Ok(None) };
        let own = members.get(&caller.home(), user)?;
        let (page, total) = members.page_with(index, &Owner::Service, &group(creator), own, request)?;
        Ok(Some((self.of_members(&page)?, total)))
    }

    /// Returns a page of what a key for which the service answers created, and of its own workspace, which is among them where both are the
    /// service's. `None` where what it created is kept as of two creators.
    fn page_of_services_credentials(
        &self,
        behind: &Behind,
        caller: &Principal,
        request: &PageRequest,
    ) -> Result<Option<Found>, RecordError> {
        let (workspaces, index) = (self.context.records.of::<Workspace>(), &Workspace::BY_CREATOR);
        let count = |creator: &Subject| workspaces.count(index, &Owner::Service, &made_by(creator));
        let Some(creator) = behind.only_creator(caller, count)? else { return Ok(None) };
        let home = caller.home();
        let own = Some(workspaces.require(&home, home.as_str())?);
        workspaces.page_with(index, &Owner::Service, &made_by(creator), own, request).map(Some)
    }

    /// Returns a part of the whole list: of a key of a former version's store, which kept as the key's own what is now kept as of the first of
    /// those that it follows by rotation. It has few.
    fn part_of_whole(&self, caller: &Principal, request: &PageRequest) -> Result<Found, PlatformError> {
        let mut all = self.of_caller(caller)?;
        let total = all.len() as u64;
        if request.order == Order::Descending {
            all.reverse();
        }
        Ok((all.into_iter().skip(request.skipped()).take(request.limit.get()).collect(), total))
    }

    /// Returns the workspaces of memberships.
    fn of_members(&self, members: &[Stored<Member>]) -> Result<Vec<Stored<Workspace>>, RecordError> {
        let workspaces = self.context.records.of::<Workspace>();
        let found = members.iter().map(|member| workspaces.get(member.owner(), member.owner().as_str()));
        found.filter_map(Result::transpose).collect()
    }
}
