//! A latency histogram that merges without loss.
//!
//! Buckets are whole numbers below 256 and, above, 256 equal parts of each power of two: at most
//! 1/256 (0.4 %) wide, from a nanosecond to the end of time. Only counts are kept, so merging is
//! addition: the order of runs and threads leaves no trace, and percentiles of many runs come from
//! all their values together. (An average of percentiles is biased.)
//!
//! Invariant: percentiles rise with the share asked for and lie between the smallest and the
//! largest value recorded.
//! Source: the bucket layout of HdrHistogram.

/// Counts of whole nanoseconds in buckets at most 0.4 % wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>, // As long as the highest bucket in use demands.
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Parts of each power of two, as a power of two.
const BITS: u32 = 8;
const PARTS: u64 = 1 << BITS;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        let bucket = bucket_of(nanos);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds every value of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Values recorded.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Is nothing recorded?
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact sum of all values.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value; `None` of nothing.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value; `None` of nothing.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The value, in nanoseconds, below which a share `p` of the values lies: exact to the bucket,
    /// and a straight line inside it. `None` of nothing, and for a `p` outside `[0, 1]`.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if self.count == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let wanted = p * self.count as f64;
        let mut below = 0;
        for (low, width, count) in self.filled() {
            if (below + count) as f64 >= wanted {
                let part = ((wanted - below as f64) / count as f64).max(0.0);
                let value = low as f64 + part * (width - 1) as f64;
                return Some(value.clamp(self.min as f64, self.max as f64));
            }
            below += count;
        }
        Some(self.max as f64)
    }

    /// The share of values above `nanos`, with a straight line inside its bucket; `None` of
    /// nothing.
    pub fn share_above(&self, nanos: u64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let mut above = 0.0;
        for (low, width, count) in self.filled() {
            let part = match nanos.checked_sub(low) {
                None => 1.0,
                Some(inside) if inside < width => (width - 1 - inside) as f64 / width as f64,
                Some(_) => 0.0,
            };
            above += part * count as f64;
        }
        Some(above / self.count as f64)
    }

    /// The buckets that hold anything, lowest first: smallest value, largest value, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.filled().map(|(low, width, count)| (low, low + (width - 1), count))
    }

    /// The buckets that hold anything: smallest value, width, count.
    fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let with_index = self.counts.iter().enumerate();
        with_index.filter(|(_, count)| **count > 0).map(|(index, count)| {
            let (low, width) = range_of(index);
            (low, width, *count)
        })
    }
}

/// The bucket of a value.
#[inline]
const fn bucket_of(value: u64) -> usize {
    // Values of BITS + 1 binary digits and fewer have a bucket of their own.
    let shift = (u64::BITS - (value | PARTS).leading_zeros()) - (BITS + 1);
    ((shift as u64 * PARTS) + (value >> shift)) as usize
}

/// Smallest value and width of a bucket.
const fn range_of(bucket: usize) -> (u64, u64) {
    let (octave, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    if octave < 2 {
        return (bucket as u64, 1);
    }
    let shift = octave - 1;
    ((part + PARTS) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_one_another_and_are_narrow() {
        let (mut next, mut bucket) = (0u64, 0);
        loop {
            let (low, width) = range_of(bucket);
            assert_eq!(low, next, "bucket {bucket} begins where the last one ended");
            assert!(width == 1 || width as f64 / low as f64 <= 0.004, "{low}: {width}");
            assert_eq!((bucket_of(low), bucket_of(low + (width - 1))), (bucket, bucket));
            let Some(after) = low.checked_add(width) else { break };
            (next, bucket) = (after, bucket + 1);
        }
        assert_eq!(bucket_of(u64::MAX), bucket);
    }

    #[test]
    fn small_whole_numbers_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(0.5), Some(50.0));
        assert_eq!(histogram.quantile(0.99), Some(99.0));
        assert_eq!(histogram.quantile(1.0), Some(100.0));
        assert_eq!(histogram.mean(), Some(50.5));
        assert_eq!(histogram.share_above(90), Some(0.1));
        assert_eq!(histogram.quantile(1.5), None);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn the_end_of_time_has_a_place() {
        let mut histogram = Histogram::default();
        histogram.record(u64::MAX);
        histogram.record(0);
        assert_eq!(histogram.quantile(1.0), Some(u64::MAX as f64));
        assert_eq!((histogram.min(), histogram.max()), (Some(0), Some(u64::MAX)));
        assert_eq!(histogram.buckets().last().map(|b| b.1), Some(u64::MAX));
    }

    proptest! {
        /// Merging in any grouping gives what recording everything at once gives.
        #[test]
        fn merging_loses_nothing(values in vec(any::<u64>(), 0..300), cut in 0usize..300) {
            let cut = cut.min(values.len());
            let of = |part: &[u64]| {
                let mut histogram = Histogram::default();
                part.iter().for_each(|value| histogram.record(*value));
                histogram
            };
            let (mut left, right, all) = (of(&values[..cut]), of(&values[cut..]), of(&values));
            left.merge(&right);
            prop_assert_eq!(left, all);
        }

        /// A percentile is within a bucket of the order statistic, and percentiles rise.
        #[test]
        fn percentiles_are_close_and_rise(
            mut values in vec(0u64..10_000_000_000, 1..300),
            p in 0.0..1.0f64,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            values.sort_unstable();
            let rank = (p * values.len() as f64).ceil().max(1.0) as usize;
            let exact = values[rank - 1] as f64;
            let found = histogram.quantile(p).unwrap();
            prop_assert!((found - exact).abs() <= exact / 256.0, "{found} for {exact}");
            let further = histogram.quantile(p + (1.0 - p) / 2.0).unwrap();
            prop_assert!(further >= found && further <= histogram.max().unwrap() as f64);
        }
    }
}
