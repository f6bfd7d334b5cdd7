//! One sorted list over several types of records, read from their indices.

use core::{cmp::Ordering, ops::ControlFlow};
use std::collections::VecDeque;

use super::{Collection, Index, Owner, PageRequest, Record, RecordError, Records, SortKey, key, view::View};
use crate::store::Order;

/// Entries that are read from an index at once.
const READ_AT_ONCE: usize = 128;

/// The entries of an owner's group of an index, or its records by their ids, in order.
#[derive(Debug)]
pub struct Entries<'a> {
    view: View<'a>,
    prefix: Vec<u8>,
    order: Order,
    /// What was read and not taken: the rest of the key after the prefix, and the record's id.
    waiting: VecDeque<(Vec<u8>, String)>,
    /// The last key that was read; `None` before the first.
    last: Option<Vec<u8>>,
    is_at_end: bool,
}

impl<'a, T: Record> Collection<'a, T> {
    /// Returns the entries of an ordered index of an owner's records, whose group is that of all of them.
    pub fn entries(&self, index: &Index<T>, owner: &Owner, order: Order) -> Entries<'a> {
        let group = SortKey::new();
        let prefix = key::group(T::KIND, index.name(), index.reach_of(owner), group.as_bytes());
        Entries::new(self.view(), prefix, order)
    }

    /// Returns an owner's records by their ids.
    pub fn by_id(&self, owner: &Owner, order: Order) -> Entries<'a> {
        Entries::new(self.view(), key::record(T::KIND, owner, ""), order)
    }
}

impl Records {
    /// Returns what is no record as entries of an ordered index would be: each by its key, then by owner and id.
    pub fn listed<'l>(&self, list: impl Iterator<Item = (SortKey, &'l str, &'l str)>, order: Order) -> Entries<'_> {
        let key = |(key, owner, id): (SortKey, &str, &str)| {
            ([key.as_bytes(), owner.as_bytes(), b"\0", id.as_bytes()].concat(), id.to_owned())
        };
        let mut waiting: Vec<(Vec<u8>, String)> = list.map(key).collect();
        waiting.sort_unstable();
        if order == Order::Descending {
            waiting.reverse();
        }
        let entries = Entries::new(View::stored(self.store()), Vec::new(), order);
        Entries { waiting: waiting.into(), is_at_end: true, ..entries }
    }
}

impl<'a> Entries<'a> {
    const fn new(view: View<'a>, prefix: Vec<u8>, order: Order) -> Self {
        Self { view, prefix, order, waiting: VecDeque::new(), last: None, is_at_end: false }
    }

    /// Returns the next entry's key after the prefix, which sorts as the entry does in its index.
    fn peek(&mut self) -> Result<Option<&[u8]>, RecordError> {
        if self.waiting.is_empty() && !self.is_at_end {
            self.read()?;
        }
        Ok(self.waiting.front().map(|(key, _)| key.as_slice()))
    }

    /// Takes the next entry: the id of its record.
    pub fn take(&mut self) -> Result<Option<String>, RecordError> {
        self.peek()?;
        Ok(self.waiting.pop_front().map(|(_, id)| id))
    }

    fn read(&mut self) -> Result<(), RecordError> {
        let Self { view, prefix, order, waiting, last, is_at_end } = self;
        let from = last.take();
        *is_at_end = true;
        view.scan_from(prefix, from.as_deref(), *order, &mut |key, _| {
            if from.as_deref() == Some(key) {
                return ControlFlow::Continue(());
            }
            if waiting.len() == READ_AT_ONCE {
                *is_at_end = false;
                return ControlFlow::Break(());
            }
            // An id has no zero byte, which ends what is before it.
            let rest = &key[prefix.len()..];
            let id = rest.rsplit(|byte| *byte == 0).next().unwrap_or(rest);
            waiting.push_back((rest.to_vec(), String::from_utf8_lossy(id).into_owned()));
            *last = Some(key.to_vec());
            ControlFlow::Continue(())
        })?;
        Ok(())
    }
}

/// Returns the entries of a page of the merged list: for each the number of its source, and the id of its record. What is before the page is
/// walked over in the indices; no record is read. Equal entries are in the order of their sources.
///
/// # Errors
/// [`RecordError::Store`].
pub fn merged_page(
    sources: &mut [&mut Entries<'_>],
    request: &PageRequest,
) -> Result<Vec<(usize, String)>, RecordError> {
    let (mut skip, limit) = (request.skipped(), request.limit.get());
    let mut page = Vec::new();
    while page.len() < limit {
        let mut next: Option<(usize, Vec<u8>)> = None;
        for (number, source) in sources.iter_mut().enumerate() {
            let Some(key) = source.peek()? else { continue };
            let is_first = next.as_ref().is_none_or(|(_, least)| {
                let order = key.cmp(least.as_slice());
                order == if request.order == Order::Ascending { Ordering::Less } else { Ordering::Greater }
            });
            if is_first {
                next = Some((number, key.to_vec()));
            }
        }
        let Some((number, _)) = next else { break };
        let taken = sources.get_mut(number).map_or(Ok(None), |source| source.take())?;
        if skip > 0 {
            skip -= 1;
        } else if let Some(id) = taken {
            page.push((number, id));
        }
    }
    Ok(page)
}

/// As [`merged_page`], of sources one after another. Whole sources before the page are left out by their lengths.
///
/// # Errors
/// [`RecordError::Store`].
pub fn chained_page<'s, 'a: 's>(
    sources: impl IntoIterator<Item = (&'s mut Entries<'a>, u64)>,
    request: &PageRequest,
) -> Result<Vec<(usize, String)>, RecordError> {
    let (mut skip, limit) = (request.skipped(), request.limit.get());
    let mut page = Vec::new();
    for (number, (source, length)) in sources.into_iter().enumerate() {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if skip >= length {
            skip -= length;
            continue;
        }
        while page.len() < limit {
            let Some(id) = source.take()? else { break };
            if skip > 0 {
                skip -= 1;
            } else {
                page.push((number, id));
            }
        }
    }
    Ok(page)
}
