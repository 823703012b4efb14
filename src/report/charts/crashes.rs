//! Crashes below a time axis, every one of them.
//!
//! Arrows as wide as the closest two of them allow: a few stand apart, hundreds run into a dark
//! bar, and none is left out.

use crate::report::charts::canvas::Canvas;
use crate::report::charts::frame::Place;
use crate::report::charts::palette::BLACK;
use crate::report::charts::palette::Fill;
use crate::report::number::count;

/// Half the width of an arrow that has room, and of the narrowest, in pixels.
const WIDEST: f64 = 4.0;
const NARROWEST: f64 = 0.5;
/// Height of an arrow.
const HEIGHT: f64 = 9.0;

/// `1 crash`, `120 crashes`.
pub(super) fn counted(crashes: u64) -> String {
    if crashes == 1 { "1 crash".into() } else { format!("{} crashes", count(crashes)) }
}

/// Draws a mark at each of `xs`, pixels in rising order, below a panel.
pub(super) fn marks(canvas: &mut Canvas<'_>, place: &Place, xs: &[f64]) {
    let half = half_width(xs);
    let y = place.bottom();
    for x in distinct(xs) {
        let tip = [(x, y), (x - half, y + HEIGHT), (x + half, y + HEIGHT)];
        canvas.polygon(&tip, Fill::Plain(BLACK));
    }
}

/// The positions that a picture can tell apart: marks on the same quarter of a pixel are one.
fn distinct(xs: &[f64]) -> Vec<f64> {
    let mut xs = xs.to_vec();
    xs.dedup_by(|next, kept| *next - *kept < 0.25);
    xs
}

/// Half the width at which no two arrows touch, within what can be seen.
fn half_width(xs: &[f64]) -> f64 {
    let closest = xs.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    (0.45 * closest).clamp(NARROWEST, WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_are_as_wide_as_the_closest_two_allow() {
        assert_eq!(half_width(&[10.0]), WIDEST);
        assert_eq!(half_width(&[10.0, 30.0, 36.0]), 0.45 * 6.0);
        assert_eq!(half_width(&[10.0, 10.1]), NARROWEST);
    }

    #[test]
    fn every_crash_that_can_be_seen_is_drawn() {
        let xs: Vec<_> = (0..700).map(|index| 50.0 + f64::from(index)).collect();
        assert_eq!(distinct(&xs).len(), 700, "one to the pixel, and none is left out");
        assert_eq!(distinct(&[10.0, 10.1, 10.2, 10.3]), [10.0, 10.3]);
    }
}
