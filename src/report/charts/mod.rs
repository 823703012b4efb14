//! Pictures for slides: load, goodput, state of each variant, and all variants side by side.
//!
//! Every chart says in its title what one sees, and in its caption which runs it shows. A picture
//! is drawn once, as SVG; the PNG is that SVG rasterised.

mod axis;
mod canvas;
mod comparison;
mod decimate;
mod frame;
mod goodput;
mod load;
mod palette;
mod state;

use rayon::prelude::*;

use crate::report::Material;
use crate::report::View;
use crate::report::charts::canvas::Picture;
use crate::report::files::Output;
use crate::report::files::safe_name;

/// Why a picture could not be drawn: a bug of ours, since what is drawn has been checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// Plotters would not draw.
    #[error("a chart could not be drawn: {0}")]
    Drawing(String),
    /// The SVG could not be turned into a PNG.
    #[error("a chart could not be turned into a PNG: {0}")]
    Raster(String),
}

/// A picture of one variant.
type Draw = fn(&View<'_>) -> Result<Picture, ChartError>;

/// The pictures of a variant, by the first part of their names.
const OF_A_VARIANT: [(&str, Draw); 3] =
    [("load", load::draw), ("goodput", goodput::draw), ("state", state::draw)];

/// Every chart of a scenario, as `charts/NAME.svg` and `charts/NAME.png`, drawn on every core.
///
/// # Errors
/// When a picture could not be drawn.
pub fn draw(material: &Material<'_>) -> Result<Vec<Output>, ChartError> {
    let views: Vec<_> = material.views().collect();
    let all: Vec<(Draw, String, View<'_>)> = views
        .iter()
        .flat_map(|view| {
            OF_A_VARIANT
                .map(|(kind, draw)| (draw, format!("{kind}-{}", safe_name(view.name())), *view))
        })
        .collect();
    let drawn: Result<Vec<_>, _> =
        all.par_iter().map(|(draw, name, view)| outputs(name, &draw(view)?)).collect();
    let mut pairs = drawn?;
    pairs.push(outputs("comparison", &comparison::draw(material)?)?);
    Ok(pairs.into_iter().flatten().collect())
}

/// A picture in both its forms.
fn outputs(name: &str, picture: &Picture) -> Result<[Output; 2], ChartError> {
    let png = canvas::png(&picture.svg)?;
    Ok([
        Output::new(format!("charts/{name}.svg"), picture.svg.clone().into_bytes()),
        Output::new(format!("charts/{name}.png"), png),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::Made;
    use crate::report::synthetic::made;
    use crate::report::synthetic::made_of;
    use crate::report::synthetic::model;

    /// Every picture of a report.
    fn pictures(made: &Made) -> Vec<(String, Picture)> {
        let material = made.material();
        let mut all = vec![("comparison".to_owned(), comparison::draw(&material).unwrap())];
        for view in material.views() {
            let name = view.name();
            all.push((format!("load-{name}"), load::draw(&view).unwrap()));
            all.push((format!("goodput-{name}"), goodput::draw(&view).unwrap()));
            all.push((format!("state-{name}"), state::draw(&view).unwrap()));
        }
        all
    }

    /// No text overlaps another one or leaves the page, and no coordinate went astray.
    #[track_caller]
    fn check(made: &Made) {
        for (name, picture) in pictures(made) {
            let texts = &picture.texts;
            for (index, ((left, top, right, bottom), text)) in texts.iter().enumerate() {
                assert!(*left >= 0.0 && *right <= frame::WIDTH, "{name}: {text} leaves the page");
                for ((l, t, r, b), other) in &texts[..index] {
                    let apart = l >= right || r <= left || t + 1.0 >= *bottom || b - 1.0 <= *top;
                    assert!(apart, "{name}: {text:?} over {other:?}");
                }
            }
            assert!(!picture.svg.contains("NaN"), "{name}");
            assert!(picture.svg.len() < 1_500_000, "{name}: {} bytes", picture.svg.len());
        }
    }

    #[test]
    fn words_never_overlap() {
        check(&made(&[1.0, 0.3, 0.0, 0.0, 0.9]));
    }

    #[test]
    fn thirty_variants_with_long_names_have_room() {
        let mut made = made(&[0.4; 30]);
        for (index, variant) in made.scenario.variants.iter_mut().enumerate() {
            variant.name = format!("{index}-{}", "a-very-long-name".repeat(8));
            made.summary.variants[index].0.clone_from(&variant.name);
        }
        made.results.truncate(2); // The charts of single variants need not be drawn thirty times.
        check(&made);
        let made = super::tests::made(&[0.4; 60]);
        let picture = comparison::draw(&made.material()).unwrap();
        assert!(picture.svg.contains("height=\"1480\""), "the page grows with its rows");
    }

    /// The words of the comparison.
    fn comparison_texts(made: &Made) -> Vec<String> {
        let picture = comparison::draw(&made.material()).unwrap();
        picture.texts.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_recovery_at_once_is_drawn_with_the_width_of_its_window() {
        let mut made = made(&[0.0]);
        let time = &mut made.summary.variants[0].1.recovery_time_s;
        (time.median.estimate, time.restricted_mean.estimate) = (Some(0.0), Some(0.0));
        let texts = comparison_texts(&made);
        assert_eq!(texts.iter().filter(|text| *text == "< 24 s").count(), 2, "{texts:?}");
        assert!(texts.iter().all(|text| !text.contains("tuck runs count")), "{texts:?}");
    }

    #[test]
    fn the_comparison_says_where_requests_were_shed() {
        let mut made = made(&[0.3, 0.0]);
        let noted = |made: &Made| {
            comparison_texts(made).iter().any(|text| text.contains("the operator shed aside."))
        };
        assert!(!noted(&made));
        made.summary.variants[1].1.requests.failed = vec![("shed".into(), 5)];
        assert!(noted(&made));
        check(&made);
    }

    #[test]
    fn every_load_panel_keeps_its_unit_where_there_is_room() {
        let made = made(&[1.0]);
        let view = made.material().views().next().unwrap();
        let texts = load::draw(&view).unwrap().texts;
        let units = texts.iter().filter(|(_, text)| text.starts_with(", attempts")).count();
        assert_eq!(units, 8, "four services, each whole and from close by: {texts:?}");
    }

    #[test]
    fn many_triggers_and_services_have_room() {
        check(&made_of(&model(16, 30), &[0.2]));
    }

    #[test]
    fn nothing_to_see_is_drawn_as_such() {
        let mut made = made_of(&model(0, 0), &[0.0]);
        made.results[0].band = Default::default();
        made.results[0].runs.clear();
        made.results[0].example.series = Default::default();
        made.summary.variants[0].1.stuck_share = Default::default();
        made.summary.variants[0].1.recovery_time_s.restricted_mean = Default::default();
        check(&made);
        made.results.clear();
        check(&made);
    }

    #[test]
    fn very_small_and_very_large_values_keep_their_scale() {
        let mut made = made(&[0.5, 0.5]);
        for (index, factor) in [(0, 1e9), (1, 1e-9)] {
            for (_, service) in &mut made.summary.variants[index].1.amplification {
                let scaled = service.peak.estimate.map(|value| value * factor);
                service.peak.estimate = scaled;
                service.peak.low = scaled;
                service.peak.high = scaled;
            }
            for value in &mut made.results[index].band.goodput_high_rps {
                *value *= factor;
            }
        }
        check(&made);
    }

    #[test]
    fn the_same_results_give_the_same_bytes_and_a_picture_of_the_size_of_a_slide() {
        let made = made(&[1.0]);
        let view = made.material().views().next().unwrap();
        let (one, two) = (load::draw(&view).unwrap().svg, load::draw(&view).unwrap().svg);
        assert_eq!(one, two);
        let png = canvas::png(&one).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (1_600, 900));
    }
}
