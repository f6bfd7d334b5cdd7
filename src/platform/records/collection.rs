//! Reading the records of one type.

use core::{marker::PhantomData, num::NonZeroUsize, ops::ControlFlow};

use super::{
    Cursor, Index, Page, PageRequest, PageStart, Record, RecordError, SortKey, Stored,
    key::{self, Owner},
    view::View,
};
use crate::store::{KeyValue, Order};

/// The records of one type, for reading: as they are stored, or with the changes of a unit of work.
#[derive(Clone, Copy, Debug)]
pub struct Collection<'a, T> {
    view: View<'a>,
    of: PhantomData<T>,
}

impl<'a, T: Record> Collection<'a, T> {
    pub(super) const fn over(view: View<'a>) -> Self {
        Self { view, of: PhantomData }
    }

    /// Returns the records of a type in a store that is not opened yet, for a migration.
    pub(in crate::platform) fn stored_in(store: &'a dyn KeyValue) -> Self {
        Self::over(View::stored(store))
    }

    pub(super) const fn view(&self) -> View<'a> {
        self.view
    }

    /// Returns an owner's record with this id. A record of another owner is not there, and a text that can be no id has none.
    ///
    /// # Errors
    /// [`RecordError::Store`], [`RecordError::Corrupt`], [`RecordError::NewerRecord`].
    pub fn get(&self, owner: &Owner, id: &str) -> Result<Option<Stored<T>>, RecordError> {
        if !key::is_id(id) {
            return Ok(None);
        }
        let bytes = self.view.get(&key::record(T::KIND, owner, id))?;
        bytes.map(|bytes| Stored::decode(owner.clone(), id, &bytes)).transpose()
    }

    /// As [`Collection::get`], with an error for a record that is not there.
    ///
    /// # Errors
    /// [`RecordError::Missing`], and as [`Collection::get`].
    pub fn require(&self, owner: &Owner, id: &str) -> Result<Stored<T>, RecordError> {
        self.get(owner, id)?.ok_or_else(|| RecordError::Missing { kind: T::KIND, id: id.to_owned() })
    }

    /// Returns the record of a group of a unique index. `owner` does not matter in an index of the whole service.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn find(&self, index: &Index<T>, owner: &Owner, group: &SortKey) -> Result<Option<Stored<T>>, RecordError> {
        let key = key::group(T::KIND, index.name(), index.reach_of(owner), group.as_bytes());
        let Some(place) = self.view.get(&key)? else { return Ok(None) };
        let (owner, id) = decode_place::<T>(index, &place)?;
        self.get(&owner, &id)
    }

    /// Returns the number of records of a group of an ordered index, which is kept beside it.
    ///
    /// # Errors
    /// [`RecordError::Store`], [`RecordError::Corrupt`].
    pub fn count(&self, index: &Index<T>, owner: &Owner, group: &SortKey) -> Result<u64, RecordError> {
        let key = key::count(T::KIND, index.name(), index.reach_of(owner), group.as_bytes());
        number(&self.view, &key)
    }

    /// Returns a page of the records of a group of an index. Only the page's records are read, and of a page with a number the entries
    /// of the index before it. A record that is deleted while the page is read is left out.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn page(
        &self,
        index: &Index<T>,
        owner: &Owner,
        group: &SortKey,
        request: &PageRequest,
    ) -> Result<Page<T>, RecordError> {
        Ok(self.page_from(index, owner, group, request, None)?.0)
    }

    /// As [`Collection::page`], of a group that has no key before `front`; with the key that was found first, where the scan began at the group's
    /// own beginning or its front.
    pub(super) fn page_from(
        &self,
        index: &Index<T>,
        owner: &Owner,
        group: &SortKey,
        request: &PageRequest,
        front: Option<&[u8]>,
    ) -> Result<(Page<T>, Option<Vec<u8>>), RecordError> {
        let total = self.count(index, owner, group)?;
        let (mut skip, limit) = (request.skipped(), request.limit.get());
        let is_after = matches!(request.start, PageStart::After(_));
        let is_counted = request.is_counted && !is_after;
        if u64::try_from(skip).is_ok_and(|skip| (skip > 0 || is_counted) && skip >= total) {
            return Ok((Page { items: Vec::new(), total, next: None }, None));
        }
        let prefix = key::group(T::KIND, index.name(), index.reach_of(owner), group.as_bytes());
        let from = match &request.start {
            PageStart::Number(_) | PageStart::Skipping(_) => front.map(<[u8]>::to_vec),
            PageStart::After(cursor) => Some([&prefix, cursor.as_bytes()].concat()),
        };
        let mut first = None;
        let (mut places, mut has_more, mut last) = (Vec::new(), false, Vec::new());
        let counted = usize::try_from(total).unwrap_or(usize::MAX).min(skip.saturating_add(limit));
        let mut ahead = if is_counted { counted } else { usize::MAX };
        self.view.scan_from(&prefix, from.as_deref(), request.order, &mut |key, place| {
            first.get_or_insert_with(|| key.to_vec());
            if skip > 0 {
                skip -= 1;
            } else if is_after && from.as_deref() == Some(key) {
                // The cursor's own record was on the page before.
            } else if places.len() == limit {
                has_more = true;
                return ControlFlow::Break(());
            } else {
                last = key[prefix.len()..].to_vec();
                places.push(place.to_vec());
            }
            ahead = ahead.saturating_sub(1);
            if ahead == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let mut items = Vec::with_capacity(places.len());
        for place in places {
            let (owner, id) = decode_place::<T>(index, &place)?;
            items.extend(self.get(&owner, &id)?);
        }
        Ok((Page { items, total, next: has_more.then(|| Cursor::after(last)) }, first))
    }

    /// Returns a page of the records of a group of an ordered index and of one record more, which has the place among them that the index's
    /// order gives it, and the length of that list. A group that has the record itself has it once. Beside the page, the entries of the index
    /// before the page and before that record are walked over.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn page_with(
        &self,
        index: &Index<T>,
        owner: &Owner,
        group: &SortKey,
        more: Option<Stored<T>>,
        request: &PageRequest,
    ) -> Result<(Vec<Stored<T>>, u64), RecordError> {
        let Some(more) = more.filter(|more| index.group_of(more).as_ref() != Some(group)) else {
            let page = self.page(index, owner, group, request)?;
            return Ok((page.items, page.total));
        };
        let (others, before) = (self.count(index, owner, group)?, self.count_before(index, owner, group, &more)?);
        let place = match request.order {
            Order::Ascending => before,
            Order::Descending => others.saturating_sub(before),
        };
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let (skipped, limit) = (request.skipped(), request.limit.get());
        let is_on_page = (skipped..skipped.saturating_add(limit)).contains(&place);
        let mut items = Vec::new();
        if let Some(limit) = NonZeroUsize::new(limit.saturating_sub(usize::from(is_on_page))) {
            let skipped = skipped.saturating_sub(usize::from(skipped > place));
            let request = PageRequest::first(limit).skipping(skipped).in_order(request.order);
            items = self.page(index, owner, group, &request)?.items;
        }
        if is_on_page {
            items.insert(place.saturating_sub(skipped).min(items.len()), more);
        }
        Ok((items, others.saturating_add(1)))
    }

    /// Returns how many records of a group of an ordered index come before the place that the order gives another one.
    fn count_before(
        &self,
        index: &Index<T>,
        owner: &Owner,
        group: &SortKey,
        other: &Stored<T>,
    ) -> Result<u64, RecordError> {
        let prefix = key::group(T::KIND, index.name(), index.reach_of(owner), group.as_bytes());
        let place = [&prefix[..], index.order_of(other).as_bytes(), &encode_place(other)[..]].concat();
        let mut before = 0_u64;
        self.view.scan_from(&prefix, None, Order::Ascending, &mut |key, _| {
            if key >= place.as_slice() {
                return ControlFlow::Break(());
            }
            before = before.saturating_add(1);
            ControlFlow::Continue(())
        })?;
        Ok(before)
    }

    /// Returns all records of a group of an index in its order; for groups that are known to be small.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn all(&self, index: &Index<T>, owner: &Owner, group: &SortKey) -> Result<Vec<Stored<T>>, RecordError> {
        let mut found = Vec::new();
        self.for_each(index, owner, group, |stored| {
            found.push(stored);
            Ok::<_, RecordError>(())
        })?;
        Ok(found)
    }

    /// Returns all records of a chain, by an index whose groups are the ids of chains.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub(in crate::platform) fn of_chain(
        &self,
        index: &Index<T>,
        owner: &Owner,
        chain: &str,
    ) -> Result<Vec<Stored<T>>, RecordError> {
        self.all(index, owner, &SortKey::new().text(chain))
    }

    /// Calls `visit` with every record of a group of an index in its order, until it breaks; for rules and for work at boot, over groups
    /// that are known to be small or that must be walked whole.
    ///
    /// # Errors
    /// As [`Collection::get`], and those of `visit`.
    pub fn for_each<E: From<RecordError>>(
        &self,
        index: &Index<T>,
        owner: &Owner,
        group: &SortKey,
        mut visit: impl FnMut(Stored<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut request = PageRequest::first(WALKED_AT_ONCE);
        loop {
            let page = self.page(index, owner, group, &request)?;
            page.items.into_iter().try_for_each(&mut visit)?;
            let Some(next) = page.next else { return Ok(()) };
            request = request.after(next);
        }
    }
}

/// Records that [`Collection::for_each`] reads at once.
const WALKED_AT_ONCE: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// Encodes owner and id of a record, the value of its index entries.
pub(super) fn encode_place<T: Record>(stored: &Stored<T>) -> Vec<u8> {
    [stored.owner().as_str().as_bytes(), b"\0", stored.id().as_bytes()].concat()
}

fn decode_place<T: Record>(index: &Index<T>, bytes: &[u8]) -> Result<(Owner, String), RecordError> {
    let (owner, id) = key::owner_and_id(bytes).ok_or_else(|| {
        RecordError::corrupt(T::KIND, index.name(), "an entry of this index names no record".to_owned())
    })?;
    Ok((owner, id.to_owned()))
}

/// Reads a number of 8 bytes; 0 where there is none.
pub(super) fn number(view: &View<'_>, key: &[u8]) -> Result<u64, RecordError> {
    let Some(bytes) = view.get(key)? else { return Ok(0) };
    let bytes = <[u8; 8]>::try_from(&bytes[..]).map_err(|_| RecordError::Corrupt {
        kind: "number",
        id: alloy_primitives::hex::encode(key),
        reason: "it has not 8 bytes".to_owned(),
    })?;
    Ok(u64::from_be_bytes(bytes))
}
