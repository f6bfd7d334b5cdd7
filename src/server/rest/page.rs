//! Pages of lists: the query parameters that ask for one, and its position.

use core::num::NonZeroUsize;

use super::{answer::Pagination, parameter::Parameter, request::Request};
use crate::{
    platform::records::PageRequest,
    server::{api_error::ApiError, limits::PAGE_LIMIT_MAX},
    store::Order,
};

const LIMIT_DEFAULT: u64 = 20;
/// Name of the parameter with the items on a page.
const LIMIT: &str = "limit";
/// Number of the last page that can be asked for.
const PAGE_MAX: u64 = 1_000_000_000;

/// Requested page of a sorted list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    number: u64,
    limit: u64,
    sort_field: String,
    descending: bool,
}

impl Page {
    /// The parameters of a list that can be sorted by `sorts`.
    pub(super) fn parameters(sorts: &[&'static str]) -> [Parameter; 3] {
        let choices =
            sorts.iter().flat_map(|field| [format!("{field}:asc"), format!("{field}:desc"), (*field).to_owned()]);
        let first = sorts.first().map(|field| format!("{field}:asc"));
        [
            Parameter::integer("page", "Number of the page, from 1.", 1, PAGE_MAX, 1),
            Self::limit(PAGE_LIMIT_MAX),
            Parameter::one_of("sort", "Field to sort by, with :asc or :desc.", choices, first.as_deref()),
        ]
    }

    fn limit(max: u64) -> Parameter {
        Parameter::integer(LIMIT, "Items on the page.", 1, max, LIMIT_DEFAULT)
    }

    /// Sets the bound of the items on a page in the parameters of a list.
    pub(super) fn bound(parameters: &mut [Parameter], limit_max: u64) {
        let limits = parameters.iter_mut().filter(|parameter| parameter.name == LIMIT);
        limits.for_each(|parameter| *parameter = Self::limit(limit_max));
    }

    /// Reads a page from parameters that were checked.
    pub(super) fn read(request: &Request, sorts: &[&'static str]) -> Result<Self, ApiError> {
        let number = |name, default| request.query(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        let sort = request.query("sort").unwrap_or_else(|| sorts.first().copied().unwrap_or_default());
        let (field, direction) = sort.split_once(':').unwrap_or((sort, "asc"));
        Ok(Self {
            number: number("page", 1),
            limit: number(LIMIT, LIMIT_DEFAULT),
            sort_field: field.to_owned(),
            descending: direction == "desc",
        })
    }

    /// Name of the field to sort by.
    pub(super) fn sort_field(&self) -> &str {
        &self.sort_field
    }

    /// The page as the platform's records take it.
    pub(super) fn request(&self) -> PageRequest {
        let order = if self.descending { Order::Descending } else { Order::Ascending };
        let nonzero =
            |number: u64| NonZeroUsize::new(usize::try_from(number).unwrap_or(usize::MAX)).unwrap_or(NonZeroUsize::MIN);
        PageRequest::first(nonzero(self.limit)).with_number(nonzero(self.number)).in_order(order)
    }

    /// Items before the page, items on it at most, and whether the order is descending.
    pub(super) const fn window(&self) -> (u64, u64, bool) {
        (self.number.saturating_sub(1).saturating_mul(self.limit), self.limit, self.descending)
    }

    /// Position of the page in a list of `total` items.
    pub(super) fn position(&self, total: u64) -> Pagination {
        let total_pages = total.div_ceil(self.limit.max(1));
        Pagination {
            page: usize::try_from(self.number).unwrap_or(usize::MAX),
            limit: usize::try_from(self.limit).unwrap_or(usize::MAX),
            total,
            total_pages,
            has_next: self.number < total_pages,
            has_prev: self.number > 1 && total > 0,
        }
    }

    /// Returns the page of a whole list that is already in ascending order.
    pub(super) fn select<T>(&self, mut all: Vec<T>) -> Vec<T> {
        if self.descending {
            all.reverse();
        }
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let skipped = place(self.number.saturating_sub(1).saturating_mul(self.limit));
        all.into_iter().skip(skipped).take(place(self.limit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &[(&str, &str)]) -> Result<Page, ApiError> {
        let request = Request::of_query(query);
        request.check_query(&Page::parameters(&["name", "createdAt"]), false)?;
        Page::read(&request, &["name", "createdAt"])
    }

    #[test]
    fn a_page_has_its_bounds() {
        assert_eq!(page(&[]).unwrap().limit, 20);
        assert_eq!(page(&[("limit", "100")]).unwrap().limit, 100);
        for (query, says) in [
            (("limit", "101"), "between 1 and 100"),
            (("limit", "0"), "between 1 and 100"),
            (("page", "0"), "between 1 and"),
            (("page", "x"), "an integer"),
            (("sort", "colour"), "one of name:asc"),
            (("sort", "name:up"), "one of name:asc"),
            (("colour", "red"), "unknown query parameter"),
            (("simulate", "true"), "can't be simulated"),
        ] {
            let error = page(&[query]).unwrap_err();
            assert!(error.message().contains(says), "{query:?}: {}", error.message());
        }
    }

    #[test]
    fn positions_count_pages() {
        let page = page(&[("page", "2"), ("limit", "3"), ("sort", "name:desc")]).unwrap();
        let position = page.position(7);
        assert_eq!((position.total_pages, position.has_next, position.has_prev), (3, true, true));
        assert_eq!(page.select((1..=7).collect()), [4, 3, 2]);
        assert_eq!(page.position(0).total_pages, 0);
    }
}
