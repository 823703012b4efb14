//! Pictures for slides: load, goodput, state of each variant, and all variants side by side.
//!
//! Every chart says in its title what one sees, and in its caption which runs it shows. A picture
//! is drawn once, as SVG; the PNG is that SVG rasterised.

mod axis;
mod canvas;
mod comparison;
mod crashes;
mod decimate;
mod frame;
mod goodput;
mod jobs;
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
const OF_A_VARIANT: [(&str, Draw); 4] =
    [("load", load::draw), ("goodput", goodput::draw), ("state", state::draw), (JOBS, jobs::draw)];

/// The picture that only variants with queues of jobs have.
const JOBS: &str = "jobs";

/// Has a variant a picture of that kind?
fn has(view: &View<'_>, kind: &str) -> bool {
    kind != JOBS || !view.model().queues.is_empty()
}

/// Every chart of a scenario, as `charts/NAME.svg` and `charts/NAME.png`, drawn on every core.
///
/// # Errors
/// When a picture could not be drawn.
pub fn draw(material: &Material<'_>) -> Result<Vec<Output>, ChartError> {
    let views: Vec<_> = material.views().collect();
    let all: Vec<(Draw, String, View<'_>)> = views
        .iter()
        .flat_map(|view| {
            let kinds = OF_A_VARIANT.into_iter().filter(|(kind, _)| has(view, kind));
            kinds.map(|(kind, draw)| (draw, format!("{kind}-{}", safe_name(view.name())), *view))
        })
        .collect();
    let drawn: Result<Vec<_>, _> =
        all.par_iter().map(|(draw, name, view)| outputs(name, &draw(view)?)).collect();
    let mut pairs = drawn?;
    pairs.push(outputs("comparison", &comparison::draw(material)?)?);
    Ok(pairs.into_iter().flatten().collect())
}

/// The pictures that can be asked for by name: of one variant, and last that of all.
pub(crate) const KINDS: [&str; 5] =
    [OF_A_VARIANT[0].0, OF_A_VARIANT[1].0, OF_A_VARIANT[2].0, JOBS, "comparison"];

/// One picture as PNG: of a kind and a variant, or of all variants side by side. `None` where
/// there is no such kind, or the variant was not run.
pub(crate) fn one(
    material: &Material<'_>,
    kind: &str,
    variant: &str,
) -> Result<Option<Vec<u8>>, ChartError> {
    let picture = match OF_A_VARIANT.iter().find(|(name, _)| *name == kind) {
        None if kind == "comparison" => comparison::draw(material)?,
        None => return Ok(None),
        Some((_, draw)) => match material.views().find(|view| view.name() == variant) {
            Some(view) if has(&view, kind) => draw(&view)?,
            _ => return Ok(None),
        },
    };
    canvas::png(&picture.svg).map(Some)
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
    use crate::policy::breaker::BreakerConfig;
    use crate::policy::breaker::LateResults;
    use crate::policy::breaker::Trip;
    use crate::policy::outcome::ClassSet;
    use crate::policy::stack::Scope;
    use crate::policy::stack::Scoped;
    use crate::report::synthetic::Made;
    use crate::report::synthetic::made;
    use crate::report::synthetic::made_of;
    use crate::report::synthetic::model;
    use crate::scenario::model::Action;
    use crate::scenario::model::Deed;
    use crate::units::Duration;
    use crate::units::Share;

    /// Every picture of a report.
    fn pictures(made: &Made) -> Vec<(String, Picture)> {
        let material = made.material();
        let mut all = vec![("comparison".to_owned(), comparison::draw(&material).unwrap())];
        for view in material.views() {
            let name = view.name();
            all.push((format!("load-{name}"), load::draw(&view).unwrap()));
            all.push((format!("goodput-{name}"), goodput::draw(&view).unwrap()));
            all.push((format!("state-{name}"), state::draw(&view).unwrap()));
            all.push((format!("jobs-{name}"), jobs::draw(&view).unwrap()));
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

    /// A storm that people end by shedding, under a description of several lines.
    fn helped() -> Made {
        let mut model = model(0, 1);
        model.operator = vec![Action {
            at: Duration::from_secs(2_700),
            what: Deed::Shed {
                population: 0,
                share: Share::new(0.9).unwrap(),
                lasts: Duration::from_secs(120),
            },
        }];
        let mut made = made_of(&model, &[0.3]);
        made.scenario.variants[0].about = "All good ones at once, and people. ".repeat(12);
        made
    }

    fn breaker() -> Scoped<BreakerConfig> {
        let config = BreakerConfig {
            trip: Trip::Consecutive(5),
            open_for: Duration::from_secs(5),
            probes: 1,
            counts: ClassSet::TRANSIENT,
            late_results: LateResults::Ignore,
            ..BreakerConfig::PLAIN
        };
        Scoped { config, per: Scope::DEFAULT }
    }

    /// The words of a picture.
    fn words(picture: &Picture) -> Vec<&str> {
        picture.texts.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn what_people_do_is_shown_from_close_by_and_shaded() {
        let made = helped();
        check(&made);
        let view = made.material().views().next().unwrap();
        let load = load::draw(&view).unwrap();
        let label = "operator sheds 90% of web for 2min";
        let shown = words(&load).iter().filter(|text| **text == label).count();
        assert_eq!(shown, 2, "in the whole run and from close by: {:?}", words(&load));
        assert!(words(&load).contains(&"shedding"));
        for picture in [&load, &goodput::draw(&view).unwrap(), &state::draw(&view).unwrap()] {
            let grounds = picture.svg.matches("url(#hatch3)").count();
            assert!(grounds > 1, "no ground but that of the legend for the time of shedding");
        }
    }

    #[test]
    fn a_long_description_is_wrapped_and_kept_whole() {
        let made = helped();
        let view = made.material().views().next().unwrap();
        for picture in [load::draw(&view), goodput::draw(&view), state::draw(&view)] {
            let picture = picture.unwrap();
            let said = words(&picture).join(" ");
            assert_eq!(said.matches("All good ones at once, and people.").count(), 12, "{said}");
        }
    }

    #[test]
    fn what_never_happens_has_no_panel() {
        let made = made(&[1.0]);
        let view = made.material().views().next().unwrap();
        let picture = state::draw(&view).unwrap();
        let texts = words(&picture);
        let said = texts.join(" ");
        assert!(said.contains("Never any: calls to gateway in back-off."), "{said}");
        assert!(!texts.contains(&"calls to gateway in back-off"), "{texts:?}");
        assert!(!texts.contains(&"0.5"), "an empty panel has no axis: {texts:?}");
        assert!(texts.iter().any(|text| text.contains("crashes")), "{texts:?}");

        let mut quiet = made_of(&model(0, 0), &[0.0]);
        quiet.scenario.variants[0].model.policies[0].breaker = Some(breaker());
        check(&quiet);
        let view = quiet.material().views().next().unwrap();
        let picture = state::draw(&view).unwrap();
        let said = words(&picture).join(" ");
        let never = "Never any: calls to gateway, orders, repository, database in back-off; breakers \
                     open before gateway, orders, repository, database.";
        assert!(said.contains(never), "{said}");
    }

    #[test]
    fn two_groups_of_runs_have_no_median() {
        let texts = |share: f64| {
            let made = made(&[share]);
            let view = made.material().views().next().unwrap();
            words(&goodput::draw(&view).unwrap()).join(" ")
        };
        let two = texts(0.3);
        assert!(
            two.contains("70 come back and 30 do not, so there is neither band nor median"),
            "{two}"
        );
        assert!(two.contains("goodput that 90% of the runs exceed"), "{two}");
        assert!(!two.contains("goodput, median"), "{two}");
        let few = texts(0.1);
        assert!(few.contains("goodput, median of the runs"), "{few}");
        assert!(
            few.contains("90 come back and 10 do not: the median shows those that do."),
            "{few}"
        );
        assert!(!texts(0.0).contains("do not"), "{}", texts(0.0));
    }

    #[test]
    fn a_mean_that_counts_runs_still_down_is_a_lower_bound() {
        let texts = comparison_texts(&made(&[1.0, 0.0]));
        assert!(texts.contains(&"≥ 53.5 min".to_owned()), "{texts:?}");
        assert!(texts.contains(&"2 min".to_owned()), "{texts:?}");
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
