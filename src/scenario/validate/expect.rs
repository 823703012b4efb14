//! `expect`: variants and services that exist, measures with what they need.

use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::Source;
use crate::scenario::file::WrittenExpectation;
use crate::scenario::file::WrittenMeasure;
use crate::scenario::model::Expectation;
use crate::scenario::model::ExpectedMeasure;
use crate::scenario::reader;
use crate::units::Duration;

/// Looks names up. `variants` begins with `base`; services are the same in every variant that an
/// expectation can speak of, so their indices are looked up per variant.
pub(in crate::scenario) fn expectations(
    written: &[WrittenExpectation],
    variants: &[&str],
    services: &[Vec<&str>],
    source: &Source<'_>,
    problems: &mut Problems,
) -> Vec<Expectation> {
    written
        .iter()
        .filter_map(|expectation| meant(expectation, variants, services, source, problems))
        .collect()
}

fn meant(
    written: &WrittenExpectation,
    variants: &[&str],
    services: &[Vec<&str>],
    source: &Source<'_>,
    problems: &mut Problems,
) -> Option<Expectation> {
    let variant = match &written.variant {
        None => 0,
        Some(name) => {
            let found = variants.iter().position(|known| *known == name.value);
            if found.is_none() {
                reader::unknown(name.place, "variant", &name.value, variants, problems);
            }
            found?
        }
    };
    let needs_service = matches!(
        written.measure,
        WrittenMeasure::PeakAmplification | WrittenMeasure::WholeAmplification
    );
    let may_name_one = matches!(
        written.measure,
        WrittenMeasure::DuplicateEffects
            | WrittenMeasure::Conflicts
            | WrittenMeasure::Mismatches
            | WrittenMeasure::Results(_)
    );
    let names_service = needs_service || may_name_one;
    let service = match (&written.service, names_service) {
        (None, true) if needs_service => {
            problems.push_with(
                written.place,
                "amplification is that of one service",
                "add `service: NAME` to the line",
            );
            return None;
        }
        (Some(name), true) => {
            // A variant with problems of its own has no services; its problems are enough.
            let known = services.get(variant).filter(|known| !known.is_empty())?;
            let found = known.iter().position(|known| *known == name.value);
            if found.is_none() {
                reader::unknown(name.place, "service", &name.value, known, problems);
            }
            found?
        }
        _ => 0,
    };
    let one = written.service.as_ref().map(|_| service);
    let within = written.within.map(|within| within.value);
    let measure = match &written.measure {
        WrittenMeasure::StuckShare => ExpectedMeasure::StuckShare,
        WrittenMeasure::RecoveredShare => ExpectedMeasure::RecoveredShare(within),
        WrittenMeasure::RecoveredAfterActionShare => {
            if within.is_none() {
                problems.push_with(
                    written.place,
                    "how soon after the action?",
                    "add `within: 2min` or the like to the line",
                );
            }
            ExpectedMeasure::RecoveredAfterActionShare(within?)
        }
        WrittenMeasure::ControlHealthyShare => ExpectedMeasure::ControlHealthyShare,
        WrittenMeasure::RecoveryMedian => ExpectedMeasure::RecoveryMedian,
        WrittenMeasure::RecoveryRestrictedMean => ExpectedMeasure::RecoveryRestrictedMean,
        WrittenMeasure::PeakAmplification => ExpectedMeasure::PeakAmplification(service),
        WrittenMeasure::WholeAmplification => ExpectedMeasure::WholeAmplification(service),
        WrittenMeasure::GoodputRatio(phase) => ExpectedMeasure::GoodputRatio(*phase),
        WrittenMeasure::LostShare => ExpectedMeasure::LostShare,
        WrittenMeasure::DuplicateEffects => ExpectedMeasure::DuplicateEffects(one),
        WrittenMeasure::Conflicts => ExpectedMeasure::Conflicts(one),
        WrittenMeasure::Mismatches => ExpectedMeasure::Mismatches(one),
        WrittenMeasure::Results(which) => ExpectedMeasure::Results(one, *which),
        WrittenMeasure::Finding(name) => ExpectedMeasure::Finding(name.clone()),
    };
    Some(Expectation {
        variant,
        text: text(written, names_service, within),
        measure,
        comparison: written.comparison,
        line: source.line_of(written.place.start),
    })
}

/// The expectation in words: `peak_amplification of database >= 10`.
fn text(written: &WrittenExpectation, names_service: bool, within: Option<Duration>) -> String {
    let (key, bound) = written.text.split_once(' ').unwrap_or((&written.text, ""));
    let mut text = key.to_owned();
    if let (true, Some(service)) = (names_service, &written.service) {
        text += &format!(" of {}", service.value);
    }
    let timed = matches!(
        written.measure,
        WrittenMeasure::RecoveredShare | WrittenMeasure::RecoveredAfterActionShare
    );
    if let (true, Some(within)) = (timed, within) {
        text += &format!(" within {within}");
    }
    format!("{text} {bound}")
}
