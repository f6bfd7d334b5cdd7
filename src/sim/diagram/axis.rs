//! Time axis: linear where events occur, cut where none do.

/// A stretch of time with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) from: u64,
    pub(super) until: u64,
    /// Offset of its beginning from the left of the axis, in tenths of a pixel.
    pub(super) left: i64,
    /// Drawn width.
    pub(super) width: i64,
    /// Whether it has no events.
    pub(super) is_cut: bool,
}

/// The time axis of a diagram.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    stretches: Vec<Stretch>,
    width: i64,
}

/// Greatest drawn width of a cut.
const CUT: i64 = 240;
/// Shortest pause that is cut, as a part of the whole.
const CUT_PART: u64 = 110;

impl Axis {
    /// Creates an axis of `width` from `from` until `until`, with events at the instants `busy`, in ascending order. The stretch of the
    /// instant `focus` has at least a quarter of what has events.
    pub(super) fn new(busy: &[u64], focus: Option<u64>, from: u64, until: u64, width: i64) -> Self {
        let until = until.max(from.saturating_add(1));
        let least = (until - from) / CUT_PART;
        let pauses = pauses(busy, from, until, least.max(1));
        let quiet: u64 = pauses.iter().map(|(start, end)| end - start).sum();
        let loud = (until - from).saturating_sub(quiet).max(1);
        let cut = match pauses.len() as i64 {
            0 => 0,
            count => CUT.min(width * 2 / 5 / count),
        };
        let for_loud = width - cut * pauses.len() as i64;
        let ends = || pauses.iter().copied().chain([(until, until)]);
        let starts = core::iter::once(from).chain(pauses.iter().map(|(_, end)| *end));
        let focused = starts
            .zip(ends())
            .map(|(start, (end, _))| (start, end))
            .find(|(start, end)| focus.is_some_and(|focus| (*start..=*end).contains(&focus)) && start < end);
        // Time that the stretch of the focus counts for beyond its own.
        let extra =
            focused.map_or(0, |(start, end)| ((loud - (end - start).min(loud)) / 3).saturating_sub(end - start));
        let loud = loud + extra;
        let mut stretches: Vec<Stretch> = Vec::new();
        let (mut at, mut left, mut told) = (from, 0, 0_u64);
        for (start, end) in ends() {
            if start > at {
                // The sum is rounded, not its parts, so that the widths add up exactly.
                let before = scaled(told, loud, for_loud);
                told += start - at + if focused == Some((at, start)) { extra } else { 0 };
                let wide = scaled(told, loud, for_loud) - before;
                stretches.push(Stretch { from: at, until: start, left, width: wide, is_cut: false });
                left += wide;
            }
            if end > start {
                stretches.push(Stretch { from: start, until: end, left, width: cut, is_cut: true });
                left += cut;
            }
            at = end;
        }
        Self { stretches, width }
    }

    /// Returns the position of `at` from the left of the axis, clamped to its ends.
    pub(super) fn offset(&self, at: u64) -> i64 {
        match self.stretch(at) {
            Some(stretch) => stretch.left + scaled(at - stretch.from, stretch.until - stretch.from, stretch.width),
            None if self.stretches.first().is_some_and(|first| at < first.from) => 0,
            None => self.width,
        }
    }

    /// Returns whether `at` is in a cut.
    pub(super) fn is_cut(&self, at: u64) -> bool {
        self.stretch(at).is_some_and(|stretch| stretch.is_cut)
    }

    /// Returns all stretches, from left to right.
    pub(super) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    fn stretch(&self, at: u64) -> Option<&Stretch> {
        let after = self.stretches.partition_point(|stretch| stretch.until < at);
        self.stretches.get(after).filter(|stretch| stretch.from <= at)
    }
}

/// Returns the idle stretches longer than `least`, with a margin on both sides.
fn pauses(busy: &[u64], from: u64, until: u64, least: u64) -> Vec<(u64, u64)> {
    let margin = least / 3;
    let inside = busy.iter().copied().filter(|at| (from..=until).contains(at));
    let mut last = from;
    let mut pauses = Vec::new();
    for at in inside.chain([until]) {
        if at.saturating_sub(last) > least {
            pauses.push((last + margin, at - margin));
        }
        last = last.max(at);
    }
    pauses
}

fn scaled(part: u64, whole: u64, length: i64) -> i64 {
    let whole = u128::from(whole.max(1));
    let length = u128::from(length.unsigned_abs());
    i64::try_from((u128::from(part) * length + whole / 2) / whole).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_cut_and_the_rest_is_linear() {
        let ms = 1_000_000;
        let busy: Vec<u64> = (0..5).flat_map(|second| (0..30).map(move |at| (second * 1_000 + at) * ms)).collect();
        let axis = Axis::new(&busy, None, 0, 4_030 * ms, 10_000);
        assert_eq!(axis.stretches().iter().filter(|stretch| stretch.is_cut).count(), 4);
        let mut last = -1;
        for at in (0..=4_030).map(|at| at * ms) {
            let offset = axis.offset(at);
            assert!(offset >= last, "time goes right");
            last = offset;
        }
        assert_eq!((axis.offset(0), last), (0, 10_000));
        assert!(axis.is_cut(500 * ms) && !axis.is_cut(1_010 * ms));
        // Two of the last milliseconds are a third of the others' width.
        let focused =
            Axis::new(&[busy, vec![9_000 * ms, 9_002 * ms]].concat(), Some(9_001 * ms), 0, 9_002 * ms, 10_000);
        let last = focused.stretches().last().unwrap();
        assert!(last.width >= 1_500 && focused.offset(9_002 * ms) == 10_000, "{last:?}");
        assert_eq!((axis.offset(u64::MAX), Axis::new(&[], None, 5, 5, 100).offset(0)), (10_000, 0));
    }
}
