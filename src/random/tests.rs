//! Draws against published answers, samplers against their distribution functions, and the rule
//! that nothing else on the path from seed to counts calls a transcendental function.
//!
//! Statistical tests fix their seed. Kolmogorov–Smirnov at 100 000 draws: a correct sampler fails
//! at √n D > 2.23 once in 10 000 tests; moments at 4.5 standard errors, seven in a million.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rand_pcg::Pcg64;
use statrs::distribution::ContinuousCDF;
use statrs::distribution::Gamma;

use super::*;
use crate::units::Duration;

const DRAWS: u32 = 100_000;
const SECOND: Duration = Duration::from_secs(1);

/// One of each law, with mean 1 s; the name and the hash of 100 000 samples.
fn laws() -> [(Distribution, &'static str); 11] {
    let points = [(0.1, Duration::from_millis(200)), (0.5, SECOND), (1.0, SECOND.scale(2.2))];
    [
        (Distribution::constant(SECOND), "82d68192cd7c911a"),
        (Distribution::exponential(SECOND).unwrap(), "08f9f1668cb8dd20"),
        (Distribution::lognormal(SECOND, 0.5).unwrap(), "70cae008bd6fd6f9"),
        (Distribution::lognormal(SECOND, 2.0).unwrap(), "d35b7529264eb36d"),
        (Distribution::gamma(SECOND, 0.5).unwrap(), "f1ec694c044ee130"),
        (Distribution::gamma(SECOND, 2.0).unwrap(), "2a39b19c7e5534ed"),
        (Distribution::pareto(SECOND, 5.0).unwrap(), "1f97f55c3e896ade"),
        (Distribution::weibull(SECOND, 0.7).unwrap(), "e0a0a87713b38b79"),
        (Distribution::weibull(SECOND, 2.0).unwrap(), "3582551886a9044f"),
        (Distribution::uniform(SECOND.scale(0.5), SECOND.scale(1.5)).unwrap(), "d738cd35f231415f"),
        (Distribution::empirical(&points).unwrap(), "1c71c6956c5aa6ab"),
    ]
}

fn samples(law: &Distribution) -> Vec<f64> {
    let keys = Keys::new(20_261_129, 0);
    let sample = |entity| law.sample(keys.draw(Purpose::Work, entity, 0)).as_secs_f64();
    (0..u64::from(DRAWS)).map(sample).collect()
}

/// The largest distance between the samples and a distribution function, times √n. A sample stands
/// for every span that rounds to it, half a nanosecond on either side.
fn kolmogorov_smirnov(mut samples: Vec<f64>, share_below: impl Fn(f64) -> f64) -> f64 {
    const HALF: f64 = 0.5e-9;
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let (mut worst, mut below) = (0.0f64, 0.0);
    for equal in samples.chunk_by(|a, b| a == b) {
        let up_to = below + equal.len() as f64 / n;
        let (left, right) = ((equal[0] - HALF).max(0.0), equal[0] + HALF);
        worst =
            worst.max((share_below(left) - below).abs()).max((share_below(right) - up_to).abs());
        below = up_to;
    }
    worst * n.sqrt()
}

#[test]
fn every_law_follows_its_distribution_function() {
    #[track_caller]
    fn check(law: &Distribution, share_below: impl Fn(f64) -> f64) {
        let statistic = kolmogorov_smirnov(samples(law), &share_below);
        assert!(statistic < 2.23, "{law}: {statistic}");
        // And point by point, to the nanosecond: the share below the sample is the draw.
        for i in 1..2_000 {
            let u = f64::from(i) / 2_000.0;
            let x = law.sample(Draw::new(u).unwrap()).as_secs_f64();
            let (low, high) = (share_below((x - 1e-9).max(0.0)), share_below(x + 1e-9));
            assert!(low - 1e-9 < u && u < high + 1e-9, "{law} at {u}: {low} to {high}");
        }
    }
    let normal = |z: f64| 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
    let lognormal = |cv: f64| {
        let variance = (1.0 + cv * cv).ln();
        move |x: f64| normal((x.ln() + 0.5 * variance) / variance.sqrt())
    };
    let gamma = |cv: f64| {
        let shape = 1.0 / (cv * cv);
        move |x: f64| Gamma::new(shape, shape).unwrap().cdf(x)
    };
    let weibull = |shape: f64| {
        let scale = 1.0 / libm::tgamma(1.0 + 1.0 / shape);
        move |x: f64| 1.0 - (-(x / scale).powf(shape)).exp()
    };
    let second = SECOND;
    check(&Distribution::exponential(second).unwrap(), |x| 1.0 - (-x).exp());
    check(&Distribution::lognormal(second, 0.5).unwrap(), lognormal(0.5));
    check(&Distribution::lognormal(second, 2.0).unwrap(), lognormal(2.0));
    for cv in [0.05, 0.5, 1.0, 2.0, 5.0] {
        check(&Distribution::gamma(second, cv).unwrap(), gamma(cv));
    }
    check(&Distribution::pareto(second, 5.0).unwrap(), |x| 1.0 - (0.8 / x).powi(5));
    check(&Distribution::weibull(second, 0.7).unwrap(), weibull(0.7));
    check(&Distribution::weibull(second, 2.0).unwrap(), weibull(2.0));
    let uniform = Distribution::uniform(second.scale(0.5), second.scale(1.5)).unwrap();
    check(&uniform, |x| x - 0.5);
}

#[test]
fn a_measured_distribution_has_its_atom_and_its_lines() {
    let ms = Duration::from_millis;
    let law =
        Distribution::empirical(&[(0.25, ms(100)), (0.75, ms(200)), (1.0, ms(1_000))]).unwrap();
    #[track_caller]
    fn check(law: &Distribution, draw: f64, expected_ms: u64) {
        assert_eq!(law.sample(Draw::new(draw).unwrap()), Duration::from_millis(expected_ms));
    }
    check(&law, 0.0, 100);
    check(&law, 0.25, 100);
    check(&law, 0.5, 150);
    check(&law, 0.75, 200);
    check(&law, 0.875, 600);
    assert_eq!(law.mean(), ms(25 + 75 + 150));
    assert_eq!((law.smallest(), law.largest()), (ms(100), Some(ms(1_000))));
}

#[test]
fn two_moments_agree_with_what_each_law_says() {
    for (law, _) in laws() {
        let samples = samples(&law);
        let n = samples.len() as f64;
        let moment = |power: i32| samples.iter().map(|x| x.powi(power)).sum::<f64>() / n;
        let (first, second, fourth) = (moment(1), moment(2), moment(4));
        let expected = law.mean().as_secs_f64();
        let error = 4.5 * ((second - first * first) / n).sqrt() + 1e-9;
        assert!((first - expected).abs() <= error, "{law}: mean {first} for {expected}");
        let expected = law.second_moment().unwrap();
        let error = 4.5 * ((fourth - second * second) / n).sqrt() + 1e-9;
        assert!((second - expected).abs() <= error, "{law}: square {second} for {expected}");
    }
    assert_eq!(Distribution::pareto(SECOND, 2.0).unwrap().second_moment(), None);
}

/// Two samples, ours and another library's: √(n/2) D is below 2.23 as above.
#[test]
fn samplers_agree_with_another_library() {
    #[track_caller]
    fn check(law: &Distribution, other: impl rand_distr::Distribution<f64>) {
        let mut random = Pcg64::new(5, 6);
        let mut theirs: Vec<f64> = (0..DRAWS).map(|_| other.sample(&mut random)).collect();
        theirs.sort_by(f64::total_cmp);
        let share = |x: f64| theirs.partition_point(|y| *y <= x) as f64 / f64::from(DRAWS);
        let statistic = kolmogorov_smirnov(samples(law), share) / 2f64.sqrt();
        assert!(statistic < 2.23, "{law}: {statistic}");
    }
    let variance = 1.25f64.ln();
    check(
        &Distribution::lognormal(SECOND, 0.5).unwrap(),
        rand_distr::LogNormal::new(-0.5 * variance, variance.sqrt()).unwrap(),
    );
    check(&Distribution::gamma(SECOND, 2.0).unwrap(), rand_distr::Gamma::new(0.25, 4.0).unwrap());
    check(&Distribution::pareto(SECOND, 5.0).unwrap(), rand_distr::Pareto::new(0.8, 5.0).unwrap());
}

proptest! {
    /// A larger draw never gives a shorter span, on whatever law.
    #[test]
    fn samples_rise_with_the_draw(a in 0.0..1.0f64, b in 0.0..1.0f64, near in any::<bool>()) {
        // Neighbouring draws are the hardest case.
        let b = if near { f64::from_bits(a.to_bits() + 1).min(0.999_999) } else { b };
        let (low, high) = (Draw::new(a.min(b)).unwrap(), Draw::new(a.max(b)).unwrap());
        for (law, _) in laws() {
            prop_assert!(law.sample(low) <= law.sample(high), "{law}");
            prop_assert!(law.sample(low) >= law.smallest(), "{law}");
            prop_assert!(law.largest().is_none_or(|most| law.sample(high) <= most), "{law}");
        }
    }

    /// Siblings never share a key, and one step changes about half of the bits.
    #[test]
    fn mixing_is_one_to_one_and_thorough(parent in any::<u64>(), a in any::<u64>(), bit in 0..64) {
        let other = a ^ (1u64 << bit);
        prop_assert_ne!(mix(parent, a), mix(parent, other));
        let flipped = mix(parent ^ (1u64 << bit), a);
        prop_assert_ne!(mix(parent, a), flipped);
        prop_assert!((8..=56).contains(&(mix(parent, a) ^ flipped).count_ones()));
    }
}

#[test]
fn extreme_draws_give_finite_spans() {
    for (law, _) in laws() {
        for draw in [Draw::new(0.0).unwrap(), Draw::from_bits(0), Draw::from_bits(u64::MAX)] {
            let span = law.sample(draw);
            assert!(span < Duration::from_secs(86_400), "{law} gives {span}");
        }
    }
    let vast = Distribution::pareto(Duration::MAX, 1.5).unwrap();
    assert_eq!(vast.sample(Draw::from_bits(u64::MAX)), Duration::MAX);
}

/// The ends of what is allowed: 10⁶ phases, and a law of which nearly everything is zero.
#[test]
fn extreme_gammas_are_built_and_rise() {
    for cv in [0.001, 0.01, 10.0, 100.0] {
        let law = Distribution::gamma(SECOND, cv).unwrap();
        let sample = |i| law.sample(Draw::new(f64::from(i) / 10_000.0).unwrap());
        assert!((1..10_000).all(|i| sample(i) >= sample(i - 1)), "{law}");
        let median = sample(5_000).as_secs_f64();
        // Near 1 − cv²/3 for small spreads (Wilson and Hilferty), nothing for vast ones.
        let expected = if cv < 1.0 { 1.0 - cv * cv / 3.0 } else { 0.0 };
        assert!((median - expected).abs() < 1e-8, "{law}: {median}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (zero, ms) = (Duration::ZERO, Duration::from_millis(1));
    assert!(Distribution::exponential(zero).is_err());
    assert!(Distribution::lognormal(ms, 0.0).is_err());
    assert!(Distribution::lognormal(ms, f64::NAN).is_err());
    assert!(Distribution::gamma(ms, f64::INFINITY).is_err());
    assert!(Distribution::pareto(ms, 1.0).is_err());
    assert!(Distribution::weibull(ms, 0.01).is_err());
    assert!(Distribution::uniform(ms, ms).is_err());
    assert!(Distribution::empirical(&[]).is_err());
    assert!(Distribution::empirical(&[(0.5, ms)]).is_err());
    assert!(Distribution::empirical(&[(0.5, ms), (0.5, ms), (1.0, ms)]).is_err());
    assert!(Distribution::empirical(&[(f64::NAN, ms), (1.0, ms)]).is_err());
    assert!(Distribution::empirical(&[(0.5, ms), (1.0, zero)]).is_err());
}

#[test]
fn distributions_are_written_as_they_are_read() {
    #[track_caller]
    fn check(law: &Distribution, json: &str, text: &str) {
        assert_eq!(serde_json::to_string(law).unwrap(), json);
        assert_eq!(law.to_string(), text);
    }
    let ms = Duration::from_millis(1);
    check(&Distribution::constant(ms), r#"{"constant":"1ms"}"#, "1ms");
    check(
        &Distribution::lognormal(ms, 0.5).unwrap(),
        r#"{"lognormal":{"mean":"1ms","cv":0.5}}"#,
        "lognormal(mean 1ms, cv 0.5)",
    );
    check(
        &Distribution::weibull(ms, 2.0).unwrap(),
        r#"{"weibull":{"mean":"1ms","shape":2.0}}"#,
        "weibull(mean 1ms, shape 2)",
    );
    check(
        &Distribution::uniform(ms, SECOND).unwrap(),
        r#"{"uniform":{"low":"1ms","high":"1s"}}"#,
        "uniform(1ms to 1s)",
    );
    check(
        &Distribution::empirical(&[(0.5, ms), (1.0, SECOND)]).unwrap(),
        r#"{"empirical":[[0.5,"1ms"],[1.0,"1s"]]}"#,
        "empirical(2 points, mean 250.75ms)",
    );
}

/// The same bits on every platform: a change of any of these is a change of results.
#[test]
fn samples_are_the_same_bits_everywhere() {
    let keys = Keys::new(1, 0);
    let mut changed = Vec::new();
    for (law, golden) in laws() {
        let mut hash = blake3::Hasher::new();
        for entity in 0..u64::from(DRAWS) {
            let span = law.sample(keys.draw(Purpose::Work, entity, 0));
            hash.update(&span.as_nanos().to_le_bytes());
        }
        let found = hash.finalize().to_hex()[..16].to_string();
        if found != golden {
            changed.push(format!("{law}: {found}"));
        }
    }
    assert!(changed.is_empty(), "changed:\n{}", changed.join("\n"));
}

#[test]
fn a_draw_is_a_function_of_its_key_and_of_nothing_else() {
    let keys = Keys::new(7, 3);
    let draw = keys.draw(Purpose::Work, 42, 1);
    let _ = keys.draw(Purpose::Backoff, 42, 1);
    assert_eq!(keys.draw(Purpose::Work, 42, 1), draw);
    assert_ne!(keys.draw(Purpose::Backoff, 42, 1), draw);
    assert_ne!(keys.draw(Purpose::Work, 43, 1), draw);
    assert_ne!(keys.draw(Purpose::Work, 42, 2), draw);
    assert_ne!(Keys::new(7, 4).draw(Purpose::Work, 42, 1), draw);
    assert_ne!(Keys::new(8, 3).draw(Purpose::Work, 42, 1), draw);
    // The largest index still leaves room for the purpose.
    assert_ne!(keys.draw(Purpose::Work, 42, u32::MAX), keys.draw(Purpose::Shed, 42, u32::MAX));
}

/// Draws of one entity by purpose and index, and of neighbouring entities, do not move together:
/// correlations of 100 000 pairs within 4.5 / √n.
#[test]
fn neighbouring_draws_do_not_move_together() {
    let keys = Keys::new(1, 1);
    let centred = |purpose, entity, index| keys.draw(purpose, entity, index).get() - 0.5;
    let correlation = |pair: &dyn Fn(u64) -> (f64, f64)| {
        let sum: f64 = (0..u64::from(DRAWS)).map(pair).map(|(a, b)| a * b).sum();
        (12.0 * sum / f64::from(DRAWS)).abs() * f64::from(DRAWS).sqrt()
    };
    let first = |i| centred(Purpose::Work, i, 0);
    assert!(correlation(&|i| (first(i), centred(Purpose::Work, i + 1, 0))) < 4.5);
    assert!(correlation(&|i| (first(i), centred(Purpose::Work, i, 1))) < 4.5);
    assert!(correlation(&|i| (first(i), centred(Purpose::ServiceError, i, 0))) < 4.5);
    assert!(correlation(&|i| (first(i), centred(Purpose::Work, mix(i, 0), 0))) < 4.5);
    let other = Keys::new(1, 2);
    assert!(correlation(&|i| (first(i), other.draw(Purpose::Work, i, 0).get() - 0.5)) < 4.5);
}

/// The platform's own functions differ in their last bits between systems, and fused operations
/// between compilers. (Tests may use them: they run on one machine at a time.)
#[test]
fn the_path_from_seed_to_counts_uses_libm_alone() {
    const FORBIDDEN: [&str; 9] = [
        ".ln()", ".exp()", ".powf(", ".powi(", ".sin()", ".cos()", ".tanh()", "mul_add", ".ln_1p()",
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for module in ["engine", "policy", "random"] {
        let mut folders = vec![source.join(module)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.file_name().is_some_and(|name| name == "tests.rs") {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                for (number, line) in code.lines().enumerate() {
                    let line = line.split("//").next().unwrap_or_default();
                    let libm_elsewhere = module != "random" && line.contains("libm::");
                    if libm_elsewhere || FORBIDDEN.iter().any(|word| line.contains(word)) {
                        found.push(format!("{}:{}: {line}", path.display(), number + 1));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "not the same on every platform:\n{}", found.join("\n"));
}
