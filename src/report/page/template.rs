//! A template as it is written: text, and what stands between double braces.
//!
//! Scenario files are named relative to the template. A placeholder says what it wants in words
//! apart; which words there are is written in `docs/mission/README.md`.

use std::ops::Range;

use crate::report::charts;
use crate::scenario::asked;
use crate::scenario::asked::Asked;
use crate::scenario::asked::Refused;
use crate::scenario::diagnostic::Diagnostic;
use crate::scenario::model::Expectation;
use crate::scenario::model::Scenario;
use crate::scenario::suggest;

/// What a placeholder looks like, for those who got it wrong.
const FORMS: &str = "write `{{ FILE VARIANT MEASURE }}`, `{{ table FILE | VARIANTS | MEASURES }}`, \
     `{{ chart FILE VARIANT KIND | words }}`, `{{ runs FILE NUMBER }}` or `{{ commands }}`";
/// How a number may be shown, besides as it is.
const SHOWN: [&str; 3] = ["number", "interval", "whole"];
/// The column of a table that holds the words of a variant.
pub(super) const ABOUT: &str = "about";
/// Runs of one variant that a page may ask for.
const MOST_RUNS: u32 = 1_000;

/// A template, read.
#[derive(Clone, Debug)]
pub struct Template {
    /// The file as it was named.
    file: String,
    text: String,
    pieces: Vec<Piece>,
    files: Vec<Used>,
    /// The replications of files that it says nothing else of.
    replications: Option<u32>,
}

/// A scenario file that a template uses.
#[derive(Clone, Debug)]
struct Used {
    name: String,
    replications: Option<u32>,
    /// Where it is named first.
    place: Range<usize>,
}

/// A part of a template; scenario files by their index.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(Range<usize>),
    Value { file: usize, variant: String, wanted: Wanted },
    Table { file: usize, variants: Vec<String>, columns: Vec<Column>, place: Range<usize> },
    Chart { file: usize, variant: String, kind: String, words: String, place: Range<usize> },
    Commands,
}

/// A measure and how to show it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) measure: String,
    pub(super) keys: Vec<(String, String)>,
    pub(super) show: String,
    pub(super) place: Range<usize>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) head: String,
    pub(super) wanted: Wanted,
}

/// What is wrong with a placeholder, and how to mend it.
struct Wrong(String, String);

fn wrong<T>(problem: impl Into<String>, help: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(problem.into(), help.into()))
}

impl Template {
    /// Reads a template; `file` is only named in problems.
    ///
    /// # Errors
    /// Every placeholder that is none, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let (file, text) = (file.to_owned(), text.to_owned());
        let mut template =
            Self { file, text, pieces: Vec::new(), files: Vec::new(), replications: None };
        let mut problems = Vec::new();
        let mut from = 0;
        while let Some(start) = template.text[from..].find("{{").map(|at| from + at) {
            let Some(end) = template.text[start..].find("}}").map(|at| start + at + 2) else {
                let help = Some("close it with `}}`".to_owned());
                problems.push(template.problem(start..start + 2, "this has no end", help));
                break;
            };
            template.pieces.push(Piece::Text(from..start));
            from = end;
            let inside = template.text[start + 2..end - 2].to_owned();
            match template.piece(&inside, start..end) {
                Ok(Some(piece)) => template.pieces.push(piece),
                // What only sets something leaves no empty line behind.
                Ok(None) if template.text[end..].starts_with('\n') => from += 1,
                Ok(None) => {}
                Err(Wrong(problem, help)) => {
                    problems.push(template.problem(start..end, problem, Some(help)));
                }
            }
        }
        template.pieces.push(Piece::Text(from..template.text.len()));
        if problems.is_empty() { Ok(template) } else { Err(problems) }
    }

    fn piece(&mut self, inside: &str, place: Range<usize>) -> Result<Option<Piece>, Wrong> {
        let mut parts = inside.split('|').map(str::trim);
        let words: Vec<_> = parts.next().unwrap_or_default().split_whitespace().collect();
        let parts: Vec<_> = parts.collect();
        match (&words[..], &parts[..]) {
            (["commands"], []) => Ok(Some(Piece::Commands)),
            (["runs", number], []) => {
                self.replications = Some(runs(number)?);
                Ok(None)
            }
            (["runs", file, number], []) => {
                let file = self.file(file, &place)?;
                self.files[file].replications = Some(runs(number)?);
                Ok(None)
            }
            (["table", file], [variants, columns]) => {
                let file = self.file(file, &place)?;
                let names = variants.split(',').map(str::trim).filter(|name| !name.is_empty());
                let variants: Vec<_> = names.map(str::to_owned).collect();
                if variants.is_empty() {
                    let problem = "this table has no variants".to_owned();
                    return Err(Wrong(problem, "name some, with commas, or `*` for all".into()));
                }
                let mut at = place.end - 2 - columns_from_end(inside);
                let columns = columns.split(';').map(|column| {
                    let start = at + (column.len() - column.trim_start().len());
                    at += column.len() + 1;
                    Column::read(column.trim(), start..start + column.trim().len())
                });
                let columns = columns.collect::<Result<_, _>>()?;
                Ok(Some(Piece::Table { file, variants, columns, place }))
            }
            (["chart", file, variant @ .., kind], [words])
                if variant.len() == usize::from(*kind != "comparison") =>
            {
                if !charts::KINDS.contains(kind) {
                    let problem = format!("there is no chart `{kind}`");
                    return wrong(problem, suggest(kind, &charts::KINDS));
                }
                let file = self.file(file, &place)?;
                let (variant, kind) = (variant.concat(), (*kind).to_owned());
                Ok(Some(Piece::Chart { file, variant, kind, words: (*words).to_owned(), place }))
            }
            (["chart", ..], []) => wrong(
                "a chart says in words what it shows",
                "add them, for those who do not see it: `{{ chart … | words }}`",
            ),
            ([file, variant, measure @ ..], []) if !measure.is_empty() && is_file(file) => {
                let file = self.file(file, &place)?;
                let wanted = Wanted::read(measure, place)?;
                Ok(Some(Piece::Value { file, variant: (*variant).to_owned(), wanted }))
            }
            _ => wrong("this is no placeholder", FORMS),
        }
    }

    /// The index of a scenario file.
    fn file(&mut self, name: &str, place: &Range<usize>) -> Result<usize, Wrong> {
        if !is_file(name) {
            return wrong(format!("`{name}` is no scenario file"), "its name ends in .yaml");
        }
        let known = self.files.iter().position(|used| used.name == name);
        Ok(known.unwrap_or_else(|| {
            let (name, place) = (name.to_owned(), place.clone());
            self.files.push(Used { name, replications: None, place });
            self.files.len() - 1
        }))
    }

    /// An error at a place of the template.
    pub(super) fn problem(
        &self,
        place: Range<usize>,
        problem: impl Into<String>,
        help: Option<String>,
    ) -> Diagnostic {
        Diagnostic::error(&self.file, &self.text, place, problem, help)
    }

    /// The scenario files, relative to the template, with the runs that it asks for instead of
    /// theirs.
    pub fn files(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.files.iter().map(|used| (&*used.name, used.replications.or(self.replications)))
    }

    /// An error about one of the scenario files, where it is named first.
    pub fn about_file(&self, file: usize, problem: &str, help: Option<String>) -> Diagnostic {
        self.problem(self.files[file].place.clone(), problem, help)
    }

    /// The file as it was named.
    pub fn name(&self) -> &str {
        &self.file
    }

    pub(super) fn text(&self, place: &Range<usize>) -> &str {
        &self.text[place.clone()]
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What a placeholder asks for and a scenario does not have; `scenarios` are those of
    /// [`Self::files`], in their order. What only runs can tell is not looked at. Returns what each of
    /// them is to be asked.
    ///
    /// # Errors
    /// Every such placeholder, with its place.
    pub fn check(&self, scenarios: &[&Scenario]) -> Result<Vec<Vec<Expectation>>, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut all = vec![Vec::new(); scenarios.len()];
        let mut push = |place: &Range<usize>, problem: String, help| {
            let found = self.problem(place.clone(), problem, Some(help));
            if !problems.contains(&found) {
                problems.push(found);
            }
        };
        for (index, used) in self.files.iter().enumerate() {
            if !self.pieces.iter().any(|piece| piece.file() == Some(index)) {
                let problem = format!("nothing of `{}` is shown", used.name);
                push(&used.place, problem, "ask for a measure of it, or leave it out".into());
            }
        }
        for piece in &self.pieces {
            let (Some(file), Some(place)) = (piece.file(), piece.place()) else { continue };
            let scenario = scenarios[file];
            let names: Vec<_> = scenario.variants.iter().map(|it| &*it.name).collect();
            for variant in piece.variants(scenario) {
                if !names.contains(&variant) {
                    let problem = format!("`{}` has no variant `{variant}`", scenario.name);
                    push(place, problem, suggest(variant, &names));
                    continue;
                }
                for wanted in piece.wanted() {
                    match wanted.ask(scenario, variant) {
                        Some(Ok(asked)) => all[file].push(asked.expectation),
                        Some(Err(refused)) => {
                            push(&wanted.place, refused.problem, refused.help.unwrap_or_default());
                        }
                        None => {}
                    }
                }
            }
        }
        if problems.is_empty() { Ok(all) } else { Err(problems) }
    }

    /// The variants of a file that the template speaks of, in the order of the scenario.
    pub fn variants(&self, file: usize, scenario: &Scenario) -> Vec<usize> {
        let of_file = self.pieces.iter().filter(|piece| piece.file() == Some(file));
        let named: Vec<_> = of_file.flat_map(|piece| piece.variants(scenario)).collect();
        let wanted = |index: &usize| named.contains(&&*scenario.variants[*index].name);
        (0..scenario.variants.len()).filter(wanted).collect()
    }
}

/// A number of runs.
fn runs(word: &str) -> Result<u32, Wrong> {
    word.parse().ok().filter(|it| (1..=MOST_RUNS).contains(it)).ok_or_else(|| {
        let problem = format!("`{word}` is no number of runs");
        Wrong(problem, format!("accepted are 1 to {MOST_RUNS}"))
    })
}

/// How many bytes before the end of a placeholder its last part begins, blanks left aside.
fn columns_from_end(inside: &str) -> usize {
    inside.rsplit('|').next().map_or(0, |last| last.trim_start().len())
}

fn is_file(word: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| word.ends_with(ending))
}

impl Piece {
    const fn file(&self) -> Option<usize> {
        match self {
            Self::Text(_) | Self::Commands => None,
            Self::Value { file, .. } | Self::Table { file, .. } | Self::Chart { file, .. } => {
                Some(*file)
            }
        }
    }

    const fn place(&self) -> Option<&Range<usize>> {
        match self {
            Self::Text(_) | Self::Commands => None,
            Self::Value { wanted, .. } => Some(&wanted.place),
            Self::Table { place, .. } | Self::Chart { place, .. } => Some(place),
        }
    }

    /// The variants it speaks of; `*` and the comparison speak of all.
    pub(super) fn variants<'a>(&'a self, scenario: &'a Scenario) -> Vec<&'a str> {
        let all = || scenario.variants.iter().map(|variant| &*variant.name).collect();
        match self {
            Self::Text(_) | Self::Commands => Vec::new(),
            Self::Value { variant, .. } => vec![variant],
            Self::Table { variants, .. } if *variants == ["*"] => all(),
            Self::Table { variants, .. } => variants.iter().map(String::as_str).collect(),
            Self::Chart { variant, .. } if variant.is_empty() => all(),
            Self::Chart { variant, .. } => vec![variant],
        }
    }

    fn wanted(&self) -> impl Iterator<Item = &Wanted> {
        let (one, columns) = match self {
            Self::Value { wanted, .. } => (Some(wanted), &[][..]),
            Self::Table { columns, .. } => (None, &columns[..]),
            Self::Text(_) | Self::Commands | Self::Chart { .. } => (None, &[][..]),
        };
        one.into_iter().chain(columns.iter().map(|column| &column.wanted))
    }
}

impl Wanted {
    fn read(words: &[&str], place: Range<usize>) -> Result<Self, Wrong> {
        let Some((measure, words)) = words.split_first() else {
            return wrong("no measure is named", FORMS);
        };
        let (mut keys, mut show) = (Vec::new(), SHOWN[0].to_owned());
        for word in words {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-.%/".contains(c);
            match word.split_once('=') {
                Some(("show", shown)) if SHOWN.contains(&shown) => show = shown.to_owned(),
                Some(("show", shown)) => {
                    return wrong(format!("nothing is shown as `{shown}`"), suggest(shown, &SHOWN));
                }
                Some((key, value))
                    if !key.is_empty() && [key, value].iter().all(|it| it.chars().all(plain)) =>
                {
                    keys.push((key.to_owned(), value.to_owned()));
                }
                _ => {
                    let problem = format!("`{word}` says nothing of a measure");
                    return wrong(
                        problem,
                        "write `service=NAME`, `within=2min` or `show=interval`",
                    );
                }
            }
        }
        Ok(Self { measure: (*measure).to_owned(), keys, show, place })
    }

    /// Is it a place in `summary.json` rather than a measure of `expect`?
    pub(super) fn is_path(&self) -> bool {
        self.measure.contains('.') && self.keys.is_empty()
    }

    /// The measure of a variant; `None` for what `expect` does not know.
    pub(super) fn ask(&self, scenario: &Scenario, variant: &str) -> Option<Result<Asked, Refused>> {
        (!self.is_path() && self.measure != ABOUT)
            .then(|| asked::ask(scenario, variant, &self.measure, &self.keys))
    }
}

impl Column {
    /// `MEASURE key=value… as words`.
    fn read(text: &str, place: Range<usize>) -> Result<Self, Wrong> {
        let (wanted, head) = match text.split_once(" as ") {
            Some((wanted, head)) => (wanted, Some(head.trim().to_owned())),
            None => (text, None),
        };
        let words: Vec<_> = wanted.split_whitespace().collect();
        let wanted = Wanted::read(&words, place)?;
        let head = head.unwrap_or_else(|| wanted.measure.replace(['_', '.'], " "));
        Ok(Self { head, wanted })
    }
}
