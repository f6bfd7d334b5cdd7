//! Query parameters: pagination and sorting. Unknown parameters are refused by name.

use core::num::NonZeroUsize;
use std::{cmp::Ordering, collections::BTreeMap};

use super::schema::Pagination;
use crate::{platform::records::PageRequest, server::api_error::ApiError, store::Order};

const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 100;

/// Query parameters by name.
pub(super) type Params = BTreeMap<String, String>;

/// Requested page of a sorted list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    number: usize,
    limit: usize,
    sort_field: String,
    descending: bool,
}

impl Page {
    /// Reads `page`, `limit` and `sort`; the first of `sort_fields` is the default.
    pub(super) fn read(params: &Params, sort_fields: &[&str]) -> Result<Self, ApiError> {
        refuse_unknown(params, &["page", "limit", "sort"])?;
        let number = integer(params, "page", 1, usize::MAX, 1)?;
        let limit = integer(params, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT)?;
        let default_sort = format!("{}:asc", sort_fields.first().copied().unwrap_or_default());
        let sort = params.get("sort").unwrap_or(&default_sort);
        let (field, direction) = sort.split_once(':').unwrap_or((sort, "asc"));
        if !sort_fields.contains(&field) {
            return Err(ApiError::bad_request(format!(
                "sort: unknown field {field:?}, expected one of {}",
                sort_fields.join(", ")
            )));
        }
        if !matches!(direction, "asc" | "desc") {
            return Err(ApiError::bad_request(format!("sort: direction must be asc or desc, got {direction:?}")));
        }
        Ok(Self { number, limit, sort_field: field.to_owned(), descending: direction == "desc" })
    }

    /// Name of the field to sort by.
    pub(super) fn sort_field(&self) -> &str {
        &self.sort_field
    }

    /// The page as the platform's records take it.
    pub(super) fn request(&self) -> PageRequest {
        let order = if self.descending { Order::Descending } else { Order::Ascending };
        let nonzero = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        PageRequest::first(nonzero(self.limit)).with_number(nonzero(self.number)).in_order(order)
    }

    /// Position of the page in a list of `total` items.
    pub(super) fn position(&self, total: usize) -> Pagination {
        let total_pages = total.div_ceil(self.limit);
        Pagination {
            page: self.number,
            limit: self.limit,
            total,
            total_pages,
            has_next: self.number < total_pages,
            has_prev: self.number > 1 && total > 0,
        }
    }

    /// Sorts a list by `compare` and returns the page with its position.
    pub(super) fn select<T>(&self, mut all: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> (Vec<T>, Pagination) {
        all.sort_by(|a, b| if self.descending { compare(b, a) } else { compare(a, b) });
        let pagination = self.position(all.len());
        let page =
            all.into_iter().skip(self.number.saturating_sub(1).saturating_mul(self.limit)).take(self.limit).collect();
        (page, pagination)
    }
}

/// Refuses parameters that are not in `known`.
pub(super) fn refuse_unknown(params: &Params, known: &[&str]) -> Result<(), ApiError> {
    match params.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if known.is_empty() => {
            Err(ApiError::bad_request(format!("unknown query parameter {name:?}: this route takes none")))
        }
        Some(name) => Err(ApiError::bad_request(format!(
            "unknown query parameter {name:?}, expected one of {}",
            known.join(", ")
        ))),
    }
}

fn integer(params: &Params, name: &str, min: usize, max: usize, default: usize) -> Result<usize, ApiError> {
    let Some(text) = params.get(name) else { return Ok(default) };
    match text.parse() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ if max == usize::MAX => {
            Err(ApiError::bad_request(format!("{name} must be an integer of at least {min}, got {text:?}")))
        }
        _ => Err(ApiError::bad_request(format!("{name} must be an integer between {min} and {max}, got {text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_page_has_its_items_and_its_position() {
        let page = Page::read(&params(&[("page", "2"), ("limit", "3"), ("sort", "n:desc")]), &["n"]).unwrap();
        let (items, pagination) = page.select((1..=7).collect(), Ord::cmp);
        assert_eq!(items, [4, 3, 2]);
        assert_eq!((pagination.total, pagination.total_pages), (7, 3));
        assert!(pagination.has_next && pagination.has_prev);
    }

    #[test]
    fn errors_name_bounds_and_unknown_parameters() {
        for (pair, part) in [
            (("limit", "101"), "between 1 and 100"),
            (("page", "0"), "at least 1"),
            (("sort", "age:asc"), "unknown field \"age\""),
            (("sort", "n:up"), "asc or desc"),
            (("colour", "red"), "unknown query parameter \"colour\""),
        ] {
            let error = Page::read(&params(&[pair]), &["n"]).unwrap_err();
            assert!(error.message().contains(part), "{}", error.message());
        }
        assert!(Page::read(&params(&[("limit", "100")]), &["n"]).is_ok());
    }
}
