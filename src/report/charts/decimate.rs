//! Fewer points than windows, with every peak and every trough still there.

/// Most points of a line: more than a picture has room for.
pub(super) const MOST_POINTS: usize = 1_000;

/// The indices to draw of `height`, in order: of each bucket the lowest and the highest, and
/// always the first and the last. At most `most` of them.
pub(super) fn decimate(heights: &[f64], most: usize) -> Vec<usize> {
    if heights.len() <= most {
        return (0..heights.len()).collect();
    }
    let buckets = (most.saturating_sub(2) / 2).max(1);
    let mut kept = vec![0];
    for bucket in 0..buckets {
        let from = bucket * heights.len() / buckets;
        let to = (bucket + 1) * heights.len() / buckets;
        let (mut low, mut high) = (from, from);
        for index in from..to {
            if heights[index] < heights[low] {
                low = index;
            }
            if heights[index] > heights[high] {
                high = index;
            }
        }
        kept.extend([low.min(high), low.max(high)]);
    }
    kept.push(heights.len() - 1);
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_of_one_window_survives() {
        let mut heights = vec![5.0; 3_720];
        heights[1_234] = 1_600.0;
        heights[2_222] = 0.0;
        let kept = decimate(&heights, MOST_POINTS);
        assert!(kept.len() <= MOST_POINTS);
        assert!(kept.contains(&1_234) && kept.contains(&2_222));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((kept[0], *kept.last().unwrap()), (0, 3_719));
    }

    #[test]
    fn short_series_are_kept_whole() {
        assert_eq!(decimate(&[], 10), Vec::<usize>::new());
        assert_eq!(decimate(&[1.0, 2.0], 10), [0, 1]);
    }
}
