//! The gas schedule: the cost of every operation, in one table.

use alloy_primitives::U256;

use super::forks::ForkRules;
use crate::{
    primitives::{AccessList, Gas},
    state::{Access, SlotWrite},
};

/// Tokens of a byte of call data that is not zero; a zero byte is one (EIP-7623).
const NONZERO_BYTE_TOKENS: u64 = 4;

/// Gas that a transaction pays for what it is, before execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntrinsicGas {
    /// Gas paid before execution, in gas units.
    pub gas: Gas,
    /// Least gas that the transaction uses, whatever it executes and however much is refunded, in gas units (EIP-7623); 0 before
    /// Prague.
    pub floor: Gas,
}

impl IntrinsicGas {
    /// Returns the smallest valid gas limit.
    pub fn gas_limit_min(self) -> Gas {
        self.gas.max(self.floor)
    }
}

/// Costs in gas units. [`GasSchedule::STANDARD`] has Ethereum's after the Cancun fork; what a fork changes about whole
/// transactions is in [`ForkRules`].
///
/// | what | gas | rule |
/// |---|---|---|
/// | transaction, creating one | 21,000, + 32,000 | Yellow Paper G, EIP-2 |
/// | calldata byte, zero or not | 4, 16 | EIP-2028 |
/// | calldata byte, zero or not, at least (Prague) | 10, 40 | EIP-7623 |
/// | init code word (Shanghai) | 2 | EIP-3860 |
/// | access list: address, slot | 2,400, 1,900 | EIP-2930 |
/// | slot read, cold or warm | 2,100, 100 | EIP-2929 |
/// | slot write: set, changed, again | 20,000, 2,900, 100 (+ 2,100 cold) | EIP-2200, EIP-2929 |
/// | slot cleared | refunds 4,800 | EIP-3529 |
/// | account accessed, cold or warm | 2,600, 100 | EIP-2929 |
/// | call with value, to no account | + 9,000, + 25,000 | EIP-150, EIP-161 |
/// | creation by a contract, code byte | 32,000, 200 | Yellow Paper G |
/// | log, topic, data byte | 375, 375, 8 | Yellow Paper G |
/// | hash, word hashed | 30, 6 | Yellow Paper G |
/// | signer recovered | 3,000 | Yellow Paper E |
/// | compute unit | 1 | chainbox: processor work of a template |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasSchedule {
    /// Cost of every transaction.
    pub transaction: u64,
    /// Additional cost of a transaction that creates a contract.
    pub transaction_creation: u64,
    /// Cost of a zero byte of call data or init code.
    pub calldata_zero_byte: u64,
    /// Cost of a non-zero byte of call data or init code.
    pub calldata_nonzero_byte: u64,
    /// Cost of 32 bytes of init code, rounded up.
    pub init_code_word: u64,
    /// Cost of an address in the access list.
    pub access_list_address: u64,
    /// Cost of a slot in the access list.
    pub access_list_slot: u64,
    /// Cost of the first access to a slot in a transaction.
    pub slot_cold: u64,
    /// Cost of reading a warm slot, or of a write without change or after the first change.
    pub slot_warm: u64,
    /// Cost of the first write to a slot that was zero.
    pub slot_set: u64,
    /// Cost of the first write to a slot that was not zero.
    pub slot_change: u64,
    /// Refund for a slot that becomes zero.
    pub slot_clear_refund: u64,
    /// Gas that must be left for a write (EIP-2200: more than the stipend).
    pub slot_write_reserve: u64,
    /// Cost of the first access to an account in a transaction.
    pub account_cold: u64,
    /// Cost of reading the balance of a warm account or calling it.
    pub account_warm: u64,
    /// Cost of a call with value.
    pub call_value: u64,
    /// Gas added for the callee of a call with value.
    pub call_stipend: u64,
    /// Cost of transferring value to an absent account.
    pub new_account: u64,
    /// Cost of a creation by a contract.
    pub create: u64,
    /// Cost of a byte of deployed code.
    pub code_deposit_byte: u64,
    /// Cost of a log.
    pub log: u64,
    /// Cost of a topic of a log.
    pub log_topic: u64,
    /// Cost of a byte of a log's data.
    pub log_data_byte: u64,
    /// Cost of a keccak.
    pub hash: u64,
    /// Cost of 32 bytes under a keccak, rounded up.
    pub hash_word: u64,
    /// Cost of recovering a signer, that of the `ecrecover` precompile.
    pub recover: u64,
    /// Cost of one unit of processor work that a template declares: about one cheap EVM operation.
    pub compute_unit: u64,
    /// Divisor of the used gas that bounds the refund (EIP-3529).
    pub refund_cap_divisor: u64,
    /// Divisor of the gas left that a caller must keep (EIP-150).
    pub kept_share_divisor: u64,
    /// Maximum number of open frames.
    pub call_depth_max: u32,
}

impl GasSchedule {
    /// The schedule of all chains.
    pub const STANDARD: Self = Self {
        transaction: 21_000,
        transaction_creation: 32_000,
        calldata_zero_byte: 4,
        calldata_nonzero_byte: 16,
        init_code_word: 2,
        access_list_address: 2_400,
        access_list_slot: 1_900,
        slot_cold: 2_100,
        slot_warm: 100,
        slot_set: 20_000,
        slot_change: 2_900,
        slot_clear_refund: 4_800,
        slot_write_reserve: 2_300,
        account_cold: 2_600,
        account_warm: 100,
        call_value: 9_000,
        call_stipend: 2_300,
        new_account: 25_000,
        create: 32_000,
        code_deposit_byte: 200,
        log: 375,
        log_topic: 375,
        log_data_byte: 8,
        hash: 30,
        hash_word: 6,
        recover: 3_000,
        compute_unit: 1,
        refund_cap_divisor: 5,
        kept_share_divisor: 64,
        call_depth_max: 64,
    };

    /// Returns the intrinsic gas of a transaction at a fork: its kind, its bytes, its access list.
    pub fn intrinsic(
        &self,
        rules: &ForkRules,
        input: &[u8],
        is_creation: bool,
        access_list: Option<&AccessList>,
    ) -> IntrinsicGas {
        let zeros = zero_bytes(input);
        let others = input.len() as u64 - zeros;
        let init_code = rules.init_code_bytes_max.map_or(0, |_| self.init_code_word * words(input.len()));
        let creation = if is_creation { self.transaction_creation + init_code } else { 0 };
        let listed = access_list.map_or(0, |list| {
            let slots = list.0.iter().map(|item| item.storage_keys.len() as u64).sum::<u64>();
            self.access_list_address * list.0.len() as u64 + self.access_list_slot * slots
        });
        let calldata = self.calldata_zero_byte * zeros + self.calldata_nonzero_byte * others;
        let tokens = zeros + NONZERO_BYTE_TOKENS * others;
        let floor = rules.calldata_floor_per_token.map_or(0, |per_token| self.transaction + per_token * tokens);
        IntrinsicGas { gas: Gas::new(self.transaction + creation + calldata + listed), floor: Gas::new(floor) }
    }

    /// Returns the part of `refund` that is granted after `used` gas (EIP-3529: at most a fifth of it).
    pub fn capped_refund(&self, used: Gas, refund: Gas) -> Gas {
        refund.min(Gas::new(used.get() / self.refund_cap_divisor))
    }

    /// Returns the most gas that a caller with `left` may forward (EIP-150: all but a 64th).
    pub const fn forwardable(&self, left: Gas) -> Gas {
        Gas::new(left.get() - left.get() / self.kept_share_divisor)
    }

    /// Returns the cost of reading a slot.
    pub const fn slot_read(&self, access: Access) -> Gas {
        Gas::new(if access.is_cold() { self.slot_cold } else { self.slot_warm })
    }

    /// Returns the cost of accessing an account: its balance, its code, a call to it.
    pub const fn account_access(&self, access: Access) -> Gas {
        Gas::new(if access.is_cold() { self.account_cold } else { self.account_warm })
    }

    /// Returns the cost of writing `new` and the change of the refund counter, in gas units (EIP-2200, EIP-2929,
    /// EIP-3529).
    pub fn slot_write(&self, write: &SlotWrite, new: U256) -> (Gas, i64) {
        let cold = if write.access.is_cold() { self.slot_cold } else { 0 };
        let cost = |warm| Gas::new(cold + warm);
        let SlotWrite { original, current, .. } = *write;
        if new == current {
            return (cost(self.slot_warm), 0);
        }
        let clear = self.slot_clear_refund as i64;
        if current == original {
            return if original.is_zero() {
                (cost(self.slot_set), 0)
            } else {
                (cost(self.slot_change), if new.is_zero() { clear } else { 0 })
            };
        }
        let mut refund = 0;
        if !original.is_zero() {
            if current.is_zero() {
                refund -= clear;
            } else if new.is_zero() {
                refund += clear;
            }
        }
        if new == original {
            let first_write = if original.is_zero() { self.slot_set } else { self.slot_change };
            refund += (first_write - self.slot_warm) as i64;
        }
        (cost(self.slot_warm), refund)
    }

    /// Returns the cost of a log.
    pub const fn log_cost(&self, topics: usize, data_len: usize) -> Gas {
        Gas::new(self.log + self.log_topic * topics as u64 + self.log_data_byte * data_len as u64)
    }

    /// Returns the cost of hashing `len` bytes.
    pub const fn hash_cost(&self, len: usize) -> Gas {
        Gas::new(self.hash + self.hash_word * words(len))
    }
}

/// Returns the number of zero bytes, counted in bytes so that the compiler compares many at once.
fn zero_bytes(input: &[u8]) -> u64 {
    let of_chunk = |chunk: &[u8]| chunk.iter().map(|byte| u8::from(*byte == 0)).sum::<u8>();
    input.chunks(u8::MAX.into()).map(|chunk| u64::from(of_chunk(chunk))).sum()
}

/// Returns the number of 32-byte words in `len` bytes.
const fn words(len: usize) -> u64 {
    len.div_ceil(32) as u64
}

#[cfg(test)]
mod tests {
    use alloy_eips::eip2930::AccessListItem;
    use alloy_eips::eip7623::{tokens_in_calldata, transaction_floor_cost};
    use alloy_primitives::{Address, B256};
    use proptest::prelude::*;

    use super::*;
    use crate::vm::Hardfork;

    const GAS: GasSchedule = GasSchedule::STANDARD;

    #[test]
    fn intrinsic_gas_counts_bytes_creation_and_access_list() {
        let rules = Hardfork::default().rules();
        let intrinsic = |input: &[u8], is_creation, list| GAS.intrinsic(&rules, input, is_creation, list).gas.get();
        assert_eq!(intrinsic(&[], false, None), 21_000);
        assert_eq!(intrinsic(&[0, 1, 0], false, None), 21_000 + 4 + 16 + 4);
        assert_eq!(intrinsic(&[1; 33], true, None), 21_000 + 32_000 + 2 * 2 + 33 * 16);
        let item = |slots| AccessListItem { address: Address::ZERO, storage_keys: vec![B256::ZERO; slots] };
        let list = AccessList(vec![item(0), item(2)]);
        assert_eq!(intrinsic(&[], false, Some(&list)), 21_000 + 2 * 2_400 + 2 * 1_900);
    }

    /// EIP-7623: 10 gas a token from Prague on. EIP-3860: init code is paid by the word from Shanghai on.
    #[test]
    fn forks_change_the_floor_and_the_price_of_init_code() {
        let paid = |fork: Hardfork, input: &[u8], is_creation| {
            let intrinsic = GAS.intrinsic(&fork.rules(), input, is_creation, None);
            (intrinsic.gas.get(), intrinsic.floor.get())
        };
        assert_eq!(paid(Hardfork::Cancun, &[0, 1, 0], false), (21_024, 0));
        assert_eq!(paid(Hardfork::Prague, &[0, 1, 0], false), (21_024, 21_000 + 10 * (1 + 4 + 1)));
        assert_eq!(paid(Hardfork::Prague, &[1; 100], true), (21_000 + 32_000 + 2 * 4 + 1_600, 21_000 + 4_000));
        assert_eq!(paid(Hardfork::Paris, &[1; 100], true), (21_000 + 32_000 + 1_600, 0));
        let limit_min = |input: &[u8]| GAS.intrinsic(&Hardfork::Osaka.rules(), input, false, None).gas_limit_min();
        assert_eq!((limit_min(&[]).get(), limit_min(&[1]).get()), (21_000, 21_040));
    }

    /// EIP-3529, "Test Cases": used gas less the 6 of each write's two pushes, and the refund.
    #[test]
    fn writes_cost_and_refund_as_eip_3529_lists() {
        let cases: [(u64, &[u64], u64, i64); 17] = [
            (0, &[0, 0], 200, 0),
            (0, &[0, 1], 20_100, 0),
            (0, &[1, 0], 20_100, 19_900),
            (0, &[1, 2], 20_100, 0),
            (0, &[1, 1], 20_100, 0),
            (1, &[0, 0], 3_000, 4_800),
            (1, &[0, 1], 3_000, 2_800),
            (1, &[0, 2], 3_000, 0),
            (1, &[2, 0], 3_000, 4_800),
            (1, &[2, 3], 3_000, 0),
            (1, &[2, 1], 3_000, 2_800),
            (1, &[2, 2], 3_000, 0),
            (1, &[1, 0], 3_000, 4_800),
            (1, &[1, 2], 3_000, 0),
            (1, &[1, 1], 200, 0),
            (0, &[1, 0, 1], 40_100, 19_900),
            (1, &[0, 1, 0], 5_900, 7_600),
        ];
        for (original, writes, want_gas, want_refund) in cases {
            let (mut gas, mut refund, mut current) = (0, 0, U256::from(original));
            for new in writes.iter().copied().map(U256::from) {
                let write = SlotWrite { original: U256::from(original), current, access: Access::Warm };
                let (cost, change) = GAS.slot_write(&write, new);
                (gas, refund, current) = (gas + cost.get(), refund + change, new);
            }
            assert_eq!((gas, refund), (want_gas, want_refund), "{original} then {writes:?}");
        }
    }

    #[test]
    fn a_cold_write_pays_the_access_too() {
        let write = SlotWrite { original: U256::ZERO, current: U256::ZERO, access: Access::Cold };
        assert_eq!(GAS.slot_write(&write, U256::from(1)), (Gas::new(22_100), 0));
        assert_eq!(GAS.slot_write(&write, U256::ZERO), (Gas::new(2_200), 0));
    }

    #[test]
    fn refunds_are_capped_at_a_fifth_and_a_64th_is_kept() {
        assert_eq!(GAS.capped_refund(Gas::new(100), Gas::new(19)).get(), 19);
        assert_eq!(GAS.capped_refund(Gas::new(100), Gas::new(21)).get(), 20);
        assert_eq!(GAS.forwardable(Gas::new(6_400)).get(), 6_300);
        assert_eq!(GAS.forwardable(Gas::new(63)).get(), 63);
    }

    proptest! {
        /// Against alloy's floor and EIP-2028's price of a token, four gas.
        #[test]
        fn the_floor_is_that_of_eip_7623(input in proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..300)) {
            let tokens = tokens_in_calldata(&input);
            let IntrinsicGas { gas, floor } = GAS.intrinsic(&Hardfork::Prague.rules(), &input, false, None);
            prop_assert_eq!(floor.get(), transaction_floor_cost(tokens));
            prop_assert_eq!(gas.get(), 21_000 + 4 * tokens);
        }
    }
}
