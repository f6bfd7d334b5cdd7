//! What is kept of a chain at a moment, and over a time. Values are integers: rates and percentages in thousandths.

use serde::{Deserialize, Serialize};

use crate::platform::ChainMetrics;

/// A figure of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Metric {
    /// Transactions in blocks.
    Transactions,
    /// Transactions a second, over the last 100 blocks.
    Tps,
    /// Time between blocks, over the last 100, in seconds.
    BlockTime,
    /// Gas used by blocks.
    GasUsed,
    /// Mean price of gas over the last 100 blocks, in wei.
    GasPrice,
    /// Validators that the protocol counts.
    ActiveValidators,
    /// Transactions in the pool.
    MempoolSize,
    /// Part of the validators' duties that were done over the last 100 blocks, in percent.
    ValidatorUptime,
}

/// Number of figures.
pub(super) const METRICS: usize = 8;
/// Parts of one in which rates are kept.
const THOUSANDTHS: f64 = 1_000.0;
/// Greatest number of validators, or of transactions in a pool, that is kept: 32 bits.
const COUNT_MAX: u64 = 0xffff_ffff;

impl Metric {
    /// Every figure, in the order of its values.
    pub const ALL: [Self; METRICS] = [
        Self::Transactions,
        Self::Tps,
        Self::BlockTime,
        Self::GasUsed,
        Self::GasPrice,
        Self::ActiveValidators,
        Self::MempoolSize,
        Self::ValidatorUptime,
    ];

    /// Name of the figure.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Tps => "tps",
            Self::BlockTime => "blockTime",
            Self::GasUsed => "gasUsed",
            Self::GasPrice => "gasPrice",
            Self::ActiveValidators => "activeValidators",
            Self::MempoolSize => "mempoolSize",
            Self::ValidatorUptime => "validatorUptime",
        }
    }

    /// Returns whether values of a longer time are the sum of those of its parts; else their mean.
    pub const fn is_sum(self) -> bool {
        matches!(self, Self::Transactions | Self::GasUsed)
    }

    /// Returns the greatest value that is kept, which no chain goes beyond: it bounds the bytes of a point.
    const fn kept_max(self) -> u64 {
        match self {
            Self::ValidatorUptime => 100_000,
            Self::ActiveValidators | Self::MempoolSize => COUNT_MAX,
            _ => u64::MAX,
        }
    }

    /// Converts a kept value.
    pub(super) fn shown(self, kept: f64) -> f64 {
        match self {
            Self::Tps | Self::BlockTime | Self::ValidatorUptime => kept / THOUSANDTHS,
            _ => kept,
        }
    }
}

/// A sample, and the totals to which the next one adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) values: [u64; METRICS],
    total_transactions: u64,
    total_gas: u64,
}

impl Sample {
    /// Samples figures. Transactions and gas are those since the sample before, however long ago that was.
    pub(super) fn of(figures: &ChainMetrics, before: Option<&Self>) -> Self {
        let thousandths = |value: f64| (value * THOUSANDTHS).round() as u64;
        let since = |total: u64, before: Option<u64>| total.saturating_sub(before.unwrap_or(0));
        let gas = figures.total_gas_used;
        let measured = |metric: Metric| match metric {
            Metric::Transactions => since(figures.total_transactions, before.map(|it| it.total_transactions)),
            Metric::GasUsed => since(gas, before.map(|it| it.total_gas)),
            Metric::Tps => thousandths(figures.transactions_per_second),
            Metric::BlockTime => thousandths(figures.block_time_secs),
            Metric::GasPrice => u64::try_from(figures.average_gas_price).unwrap_or(u64::MAX),
            Metric::ActiveValidators => figures.active_validators,
            Metric::MempoolSize => figures.mempool_size,
            Metric::ValidatorUptime => thousandths(figures.uptime_percent()),
        };
        let values = Metric::ALL.map(|metric| measured(metric).min(metric.kept_max()));
        Self { values, total_transactions: figures.total_transactions, total_gas: gas }
    }

    /// The totals to which the next sample adds after blocks were taken back, without figures: those of this one, where the chain has not
    /// gone below them. `None` where they are this one's.
    pub(super) fn lowered(&self, figures: &ChainMetrics) -> Option<Self> {
        let total_transactions = self.total_transactions.min(figures.total_transactions);
        let total_gas = self.total_gas.min(figures.total_gas_used);
        let is_lower = total_transactions < self.total_transactions || total_gas < self.total_gas;
        is_lower.then_some(Self { values: [0; METRICS], total_transactions, total_gas })
    }

    /// The lower totals of two, without figures.
    pub(super) fn lower(&self, other: &Self) -> Self {
        Self {
            values: [0; METRICS],
            total_transactions: self.total_transactions.min(other.total_transactions),
            total_gas: self.total_gas.min(other.total_gas),
        }
    }

    /// The totals to which this sample has added, without figures.
    pub(super) fn before(&self) -> Self {
        let added = |metric: Metric| self.values[metric as usize];
        Self {
            values: [0; METRICS],
            total_transactions: self.total_transactions.saturating_sub(added(Metric::Transactions)),
            total_gas: self.total_gas.saturating_sub(added(Metric::GasUsed)),
        }
    }
}

/// Samples of a time, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) samples: u32,
    pub(super) figures: [Figure; METRICS],
}

/// Values of one figure over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Figure {
    pub(super) least: u64,
    pub(super) greatest: u64,
    pub(super) last: u64,
    pub(super) sum: u128,
}

impl Summary {
    /// Adds a sample that is later than those before.
    pub(super) fn add(&mut self, sample: &Sample) {
        let one = |value: u64| Figure { least: value, greatest: value, last: value, sum: u128::from(value) };
        self.join(&Self { samples: 1, figures: sample.values.map(one) });
    }

    /// Adds what is later than what is there.
    pub(super) fn join(&mut self, later: &Self) {
        if self.samples == 0 {
            *self = later.clone();
            return;
        }
        self.samples = self.samples.saturating_add(later.samples);
        for (figure, later) in self.figures.iter_mut().zip(&later.figures) {
            figure.least = figure.least.min(later.least);
            figure.greatest = figure.greatest.max(later.greatest);
            figure.last = later.last;
            figure.sum = figure.sum.saturating_add(later.sum);
        }
    }
}
