//! A problem, its place in the text, and how it prints.
//!
//! Whoever finds a problem knows a byte range and nothing of files; the `Source` turns the range
//! into line, column and an excerpt once, when all problems are known. Excerpts are cut to a
//! screen's width and stripped of control characters, so a hostile file cannot drive a terminal.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// Problems beyond this many are counted, not kept: nobody reads further, and a file of a million
/// mistakes must not cost more than the file.
pub(super) const MOST_PROBLEMS: usize = 100;
/// Characters of a source line that are printed.
const EXCERPT_WIDTH: usize = 100;
/// Characters of the offending text that are repeated in the machine form.
const FOUND_WIDTH: usize = 60;

/// A byte range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The first byte.
    pub(super) start: usize,
    /// The byte after the last.
    pub(super) end: usize,
}

impl Place {
    /// Does `other` lie inside?
    pub(super) const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A problem as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Where.
    pub(super) place: Place,
    /// What is wrong.
    pub(super) problem: String,
    /// How to mend it.
    pub(super) help: Option<String>,
}

/// The problems found so far, each once.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
    /// Found after the list was full.
    further: usize,
}

impl Problems {
    /// Notes a problem without advice.
    pub(super) fn push(&mut self, place: Place, problem: impl Into<String>) {
        self.note(Problem { place, problem: problem.into(), help: None });
    }

    /// Notes a problem and how to mend it.
    pub(super) fn push_with(
        &mut self,
        place: Place,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.note(Problem { place, problem: problem.into(), help: Some(help.into()) });
    }

    fn note(&mut self, problem: Problem) {
        let known = |kept: &Problem| kept.place == problem.place && kept.problem == problem.problem;
        if self.list.iter().any(known) {
            return;
        }
        if self.list.len() < MOST_PROBLEMS {
            self.list.push(problem);
        } else {
            self.further += 1;
        }
    }

    /// Takes over the problems of a merged text. Those that are known already are inherited and
    /// dropped; those outside `own` (the lines that were merged in) say with `context` which
    /// merged text they belong to.
    pub(super) fn absorb(&mut self, other: Self, own: Place, context: &str) {
        self.further += other.further;
        for mut problem in other.list {
            let known =
                |kept: &Problem| kept.place == problem.place && kept.problem == problem.problem;
            if self.list.iter().any(known) {
                continue;
            }
            if !own.contains(problem.place) {
                problem.problem = format!("{context}: {}", problem.problem);
            }
            self.note(problem);
        }
    }

    /// Takes over the problems of a part, as they are.
    pub(super) fn take(&mut self, other: Self) {
        self.further += other.further;
        for problem in other.list {
            self.note(problem);
        }
    }

    /// Puts words before the problems found at exactly `place`.
    pub(super) fn prefix_at(&mut self, place: Place, words: &str) {
        for problem in self.list.iter_mut().filter(|problem| problem.place == place) {
            problem.problem = format!("{words}: {}", problem.problem);
        }
    }

    /// Is there room for more? Costly advice is not worth giving when there is not.
    pub(super) fn has_room(&self) -> bool {
        self.list.len() < MOST_PROBLEMS
    }

    /// Has none been found?
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems in the order of the text.
    pub(super) fn into_diagnostics(
        mut self,
        source: &Source<'_>,
        severity: Severity,
    ) -> Vec<Diagnostic> {
        self.list.sort_by_key(|problem| problem.place.start);
        let of = |problem| Diagnostic { severity, ..source.diagnostic(problem) };
        let mut all: Vec<_> = self.list.into_iter().map(of).collect();
        if self.further > 0
            && let Some(last) = all.last_mut()
        {
            let more = format!("{} further problems are not shown", self.further);
            last.help = Some(match last.help.take() {
                Some(help) => format!("{help}; {more}"),
                None => more,
            });
        }
        all
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is no scenario.
    Error,
    /// It runs as written, but that is hardly what is meant.
    Warning,
}

/// A problem with its place, for people (`Display`) and for machines (`Serialize`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The text at that place, cut to a few words.
    pub found: String,
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    pub help: Option<String>,
    /// The source line, cut around the place and without control characters.
    #[serde(skip)]
    excerpt: String,
    /// Where in the excerpt the marks start, and how many there are.
    #[serde(skip)]
    marks: (usize, usize),
}

impl Diagnostic {
    /// An error in a text that is no scenario, at a range of its bytes.
    pub fn error(
        file: &str,
        text: &str,
        place: Range<usize>,
        problem: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        let place = Place { start: place.start, end: place.end };
        Source { file, text }.diagnostic(Problem { place, problem: problem.into(), help })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(f, "{word}: {}", self.problem)?;
        writeln!(f, "  --> {}:{}:{}", self.file, self.line, self.column)?;
        if !self.excerpt.trim().is_empty() {
            let (start, length) = self.marks;
            writeln!(f, "  {number} | {}", self.excerpt)?;
            writeln!(f, "  {margin} | {}{}", " ".repeat(start), "^".repeat(length))?;
        }
        match &self.help {
            Some(help) => writeln!(f, "  {margin} = help: {help}"),
            None => Ok(()),
        }
    }
}

/// A text and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    /// The file as it was named.
    pub(super) file: &'t str,
    /// Its content.
    pub(super) text: &'t str,
}

impl Source<'_> {
    /// The line of a byte, from 1.
    pub(super) fn line_of(&self, byte: usize) -> usize {
        let bytes = self.text.as_bytes();
        let end = byte.min(bytes.len());
        // YAML breaks lines at `\n`, at `\r\n` and at a `\r` alone.
        let breaks = |at: &usize| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        1 + (0..end).filter(breaks).count()
    }

    fn diagnostic(&self, problem: Problem) -> Diagnostic {
        let start = self.boundary(problem.place.start);
        let end = self.boundary(problem.place.end.max(start));
        let line_start = self.text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line_end =
            self.text[start..].find(['\n', '\r']).map_or(self.text.len(), |at| start + at);
        let marked = self.text[start..end.min(line_end)].trim_end();
        let column = self.text[line_start..start].chars().count();
        let length = marked.chars().count().max(1);

        let line: Vec<char> = self.text[line_start..line_end].trim_end().chars().collect();
        let first =
            if column + length.min(20) > EXCERPT_WIDTH { column - column.min(20) } else { 0 };
        let excerpt: String =
            line.iter().skip(first).take(EXCERPT_WIDTH).map(|c| printable(*c)).collect();
        let length = length.min((EXCERPT_WIDTH + first).saturating_sub(column).max(1));
        Diagnostic {
            severity: Severity::Error,
            file: self.file.chars().map(printable).collect(),
            line: self.line_of(start),
            column: column + 1,
            found: marked.chars().take(FOUND_WIDTH).map(printable).collect(),
            problem: problem.problem.chars().map(printable).collect(),
            help: problem.help.map(|help| help.chars().map(printable).collect()),
            excerpt,
            marks: (column - first, length),
        }
    }

    /// The nearest character boundary at or before `byte`.
    fn boundary(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        (0..=byte).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// Characters that must not reach a terminal: controls, and those that turn the direction of text.
pub(super) fn is_forbidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_forbidden(c) => '\u{fffd}',
        c => c,
    }
}

/// A piece of the text, quoted for a message: short, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(FOUND_WIDTH).map(printable).collect();
    if text.chars().nth(FOUND_WIDTH).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// The known name nearest to `wrong`, if any is near.
pub(super) fn nearest<'n>(
    wrong: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    const NEAR: f64 = 0.75;
    if wrong.len() > FOUND_WIDTH {
        return None;
    }
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wrong, name), name))
        .filter(|(score, _)| *score >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: usize, end: usize) -> String {
        let mut problems = Problems::default();
        problems.push_with(Place { start, end }, "it is wrong", "mend it");
        problems.into_diagnostics(&Source { file: "a.yaml", text }, Severity::Error)[0].to_string()
    }

    #[test]
    fn a_problem_shows_its_line_with_marks_under_the_place() {
        let expected = "error: it is wrong
  --> a.yaml:2:6
  2 |   b: 2ms
    |      ^^^
    = help: mend it
";
        assert_eq!(shown("a: 1\n  b: 2ms\n", 10, 13), expected);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place_and_controls_are_hidden() {
        let text = format!("{}\u{1b}[31mwrong{}", "x".repeat(5_000), "y".repeat(5_000));
        let shown = shown(&text, 5_000, 9_000);
        assert!(shown.lines().all(|line| line.chars().count() < 120), "{shown}");
        assert!(!shown.contains('\u{1b}'));
        assert!(shown.contains(":1:5001"));
    }

    #[test]
    fn places_outside_the_text_or_inside_a_character_do_no_harm() {
        shown("ä", 1, 1);
        shown("", 7, 3);
        shown("ä\nö", 4, 99);
    }

    #[test]
    fn a_problem_is_kept_once_and_a_flood_is_counted() {
        let mut problems = Problems::default();
        for i in 0..500 {
            problems.push(Place { start: i / 2, end: i / 2 }, "again");
        }
        let shown = problems.into_diagnostics(&Source { file: "a", text: "" }, Severity::Error);
        assert_eq!(shown.len(), MOST_PROBLEMS);
        assert!(shown.last().unwrap().help.as_ref().unwrap().contains("further problems"));
    }
}
