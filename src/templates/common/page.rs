//! Pages of lists whose ids count from 0.

use alloy_primitives::U256;

/// Returns the ids from one on, at most so many, of those below `count`.
pub fn page(count: U256, from: U256, most: U256) -> impl Iterator<Item = U256> {
    let end: u64 = count.min(from.saturating_add(most)).saturating_to();
    (from.saturating_to()..end).map(U256::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_where_the_list_does() {
        let ids = |from: U256, most: U256| page(U256::from(5), from, most).map(|id| id.to::<u64>()).collect::<Vec<_>>();
        assert_eq!(ids(U256::ZERO, U256::from(2)), [0, 1]);
        assert_eq!(ids(U256::from(3), U256::MAX), [3, 4]);
        assert_eq!(ids(U256::from(5), U256::ONE), Vec::<u64>::new());
        assert_eq!(ids(U256::MAX, U256::MAX), Vec::<u64>::new());
        assert_eq!(ids(U256::ONE, U256::ZERO), Vec::<u64>::new());
    }
}
