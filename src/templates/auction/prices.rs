//! What the next bid has to be, and how a price falls.

use super::state::{Entry, Standing, Terms};
use crate::vm::contract::*;

/// Hundredths of a per cent in the whole.
const WHOLE: U256 = U256::from_limbs([10_000, 0, 0, 0]);

impl Terms {
    /// Returns the price of a Dutch auction at a time: between start and end on the line from the first price to the reserve price, rounded
    /// up.
    pub(super) fn price_at(&self, time: u64) -> Result<U256, Stop> {
        let (fall, duration) = (self.start_price.sub(self.reserve_price)?, U256::from(self.first_end.sub(self.start)?));
        let elapsed = U256::from(time.clamp(self.start, self.first_end).sub(self.start)?);
        self.start_price.sub(mul_div(fall, elapsed, duration, Rounding::Floor)?)
    }

    /// Returns the least bid after another one, or the least first one.
    pub(super) fn least_bid(&self, standing: &Standing) -> Result<U256, Stop> {
        if standing.bidder.is_zero() {
            return Ok(self.reserve_price.max(U256::ONE));
        }
        let raise = mul_div(standing.bid, U256::from(self.min_increment), WHOLE, Rounding::Ceil)?;
        standing.bid.add(raise.max(U256::ONE))
    }

    /// Returns the end of an English auction after a bid at a time.
    pub(super) fn end_after_bid(&self, end: u64, time: u64) -> u64 {
        end.max(time.saturating_add(self.time_extension))
    }
}

/// Returns the price of a Dutch auction now, or the least bid of an English one.
pub(super) fn current(host: &mut Host<'_>, id: U256) -> Result<U256, Stop> {
    let Entry { terms, standing, .. } = Entry::open(host, id)?;
    if terms.is_dutch { terms.price_at(super::state::now(host)) } else { terms.least_bid(&standing) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::templates::common::nft::TokenType;

    fn terms(start_price: U256, reserve_price: U256, start: u64, end: u64) -> Terms {
        Terms {
            creator: Address::ZERO,
            start,
            token_type: TokenType::Erc721,
            fee: 0,
            collection: Address::ZERO,
            first_end: end,
            is_dutch: true,
            currency: Address::ZERO,
            time_extension: 0,
            min_increment: 0,
            token_id: U256::ZERO,
            quantity: U256::ONE,
            start_price,
            reserve_price,
        }
    }

    proptest! {
        #[test]
        fn a_price_falls_along_a_line_and_never_below_the_reserve(
            prices in any::<[u128; 2]>(),
            start in 0_u64..1_000_000,
            duration in 1_u64..1_000_000,
            times in any::<[u64; 2]>().prop_map(|times| times.map(|time| time % 2_000_000)),
        ) {
            let (first, reserve) = (prices[0].max(prices[1]), prices[0].min(prices[1]));
            let terms = terms(U256::from(first), U256::from(reserve), start, start + duration);
            let price = |time| terms.price_at(time).unwrap();
            prop_assert_eq!((price(start), price(start + duration)), (U256::from(first), U256::from(reserve)));
            let (early, late) = (times[0].min(times[1]), times[0].max(times[1]));
            prop_assert!(price(early) >= price(late) && price(late) >= U256::from(reserve));
            // On the line, or less than a unit above it.
            let time = early.clamp(start, start + duration);
            let above = (price(time) - U256::from(reserve)) * U256::from(duration);
            let line = U256::from(first - reserve) * U256::from(start + duration - time);
            prop_assert!(above >= line && above - line < U256::from(duration));
        }

        #[test]
        fn a_bid_is_above_the_last_by_the_increment(bid in 1_u128.., min_increment: u16, reserve: u64) {
            let terms = Terms { min_increment, ..terms(U256::ZERO, U256::from(reserve), 0, 1) };
            let none = Standing { bidder: Address::ZERO, end: 1, is_settled: false, is_cancelled: false, bid: U256::ZERO };
            prop_assert_eq!(terms.least_bid(&none), Ok(U256::from(reserve.max(1))));
            let bid = U256::from(bid);
            let least = terms.least_bid(&Standing { bidder: Address::repeat_byte(1), bid, ..none }).unwrap();
            prop_assert!(least > bid && (least - bid) * WHOLE >= bid * U256::from(min_increment));
        }

        #[test]
        fn a_bid_leaves_time_for_another(end in 1_u64.., extension: u64, time: u64) {
            let terms = Terms { time_extension: extension, ..terms(U256::ZERO, U256::ZERO, 0, end) };
            let new = terms.end_after_bid(end, time);
            prop_assert!(new >= end && (new == u64::MAX || new - time.min(new) >= extension.min(new)));
        }
    }

    #[test]
    fn prices_of_any_size_fall() {
        let terms = terms(U256::MAX, U256::ZERO, 0, u64::MAX);
        assert_eq!(terms.price_at(u64::MAX), Ok(U256::ZERO));
        assert!(terms.price_at(u64::MAX / 2).unwrap() > U256::MAX >> 2);
    }
}
