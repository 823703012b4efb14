//! `page`: templates filled with what runs came to, or pages compared with it.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::PageArguments;
use crate::cli::arguments::Runs;
use crate::cli::console::Console;
use crate::cli::interrupt::Interrupt;
use crate::cli::run;
use crate::cli::run::quoted;
use crate::cli::work::Done;
use crate::cli::work::work;
use crate::report::Material;
use crate::report::files;
use crate::report::files::Output;
use crate::report::page::Ran;
use crate::report::page::Template;
use crate::scenario;
use crate::scenario::LoadError;
use crate::scenario::model::Scenario;

/// How templates are named.
const ENDING: &str = ".page.md";

/// A template with its scenarios.
struct Ready {
    name: String,
    template: Template,
    /// Path, scenario, replications instead of its own.
    files: Vec<(PathBuf, Arc<Scenario>, Option<u32>)>,
}

/// Fills every template, or compares every page; nothing runs before all templates are in order.
pub(super) fn page(arguments: &PageArguments, console: &mut Console) -> Result<Exit, Error> {
    let ready = arguments.templates.iter().map(|path| read(path));
    let ready = ready.collect::<Result<Vec<_>, _>>()?;
    for (index, page) in ready.iter().enumerate() {
        if ready[..index].iter().any(|other| other.name == page.name) {
            let problem =
                format!("two templates are named {}{ENDING}: one page would be lost", page.name);
            return Err(Error::Usage(problem));
        }
    }
    let interrupt = Interrupt::listen();
    let mut worst = Exit::Success;
    for page in &ready {
        let made = match make(page, arguments, console, &interrupt)? {
            Ok(made) => made,
            Err(exit) => return Ok(worst.worst(exit)),
        };
        if arguments.check {
            for difference in made.iter().filter_map(|file| differs(&arguments.out, file)) {
                console.note(&difference);
                worst = worst.worst(Exit::CheckFailed);
            }
        } else {
            files::put(&arguments.out, &made)?;
            if !arguments.quiet {
                let paths = made.iter().map(|file| arguments.out.join(&file.path));
                let paths: Vec<_> = paths.map(|path| path.display().to_string()).collect();
                console.say(&format!("{}\n", paths.join("\n")));
            }
        }
    }
    Ok(worst)
}

/// Reads a template and the scenarios it names; what it asks for is there as far as paper tells.
fn read(path: &Path) -> Result<Ready, Error> {
    let file = path.to_string_lossy().replace('\\', "/");
    let base = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(name) = base.strip_suffix(ENDING).filter(|name| !name.is_empty()) else {
        return Err(Error::Usage(format!("`{file}` is no template: its name ends in {ENDING}")));
    };
    let text = fs::read_to_string(path)
        .map_err(|source| LoadError::Read { file: file.clone(), source })?;
    let template = Template::parse(&file, &text).map_err(LoadError::Invalid)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files = Vec::new();
    for (index, (name, replications)) in template.files().enumerate() {
        let path = folder.join(name);
        // What is doubtful about a scenario is for those who run it.
        let loaded = match scenario::load(&path) {
            Err(LoadError::Read { source, .. }) => {
                let problem = format!("`{name}` could not be read: {source}");
                let help = Some("scenarios are named relative to the template".to_owned());
                return Err(
                    LoadError::Invalid(vec![template.about_file(index, &problem, help)]).into()
                );
            }
            other => other?,
        };
        files.push((path, Arc::new(loaded), replications));
    }
    let scenarios: Vec<_> = files.iter().map(|(_, scenario, _)| &**scenario).collect();
    let asked = template.check(&scenarios).map_err(LoadError::Invalid)?;
    for ((_, scenario, _), asked) in files.iter_mut().zip(asked) {
        Arc::make_mut(scenario).expect = asked;
    }
    Ok(Ready { name: name.to_owned(), template, files })
}

/// The page and its charts; an exit code where the runs did not come to their end.
fn make(
    page: &Ready,
    arguments: &PageArguments,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Result<Vec<Output>, Exit>, Error> {
    let mut done = Vec::new();
    for (index, (path, scenario, replications)) in page.files.iter().enumerate() {
        let variants = page.template.variants(index, scenario);
        let command = command(path, scenario, &variants, *replications);
        let runs = Runs {
            replications: *replications,
            seed: None,
            threads: arguments.threads,
            quiet: arguments.quiet,
        };
        let Some(Done { experiment, summary }) =
            work(scenario, variants, &runs, console, interrupt)?
        else {
            return Ok(Err(interrupt.exit()));
        };
        let exit = run::exit(console, scenario, &experiment, interrupt);
        if exit != Exit::Success {
            console.note(&format!("`{}` was not made: its runs are not whole", page.name));
            return Ok(Err(exit));
        }
        done.push((scenario, experiment, summary, command, run::worst_case(scenario)));
    }
    let runs: Vec<_> = done
        .iter()
        .map(|(scenario, experiment, summary, command, worst_case)| {
            let results = &experiment.results;
            Ran {
                material: Material { scenario, results, summary, command, worst_case },
                experiment,
            }
        })
        .collect();
    let page = page.template.fill(&page.name, &runs)?.map_err(LoadError::Invalid)?;
    Ok(Ok(page.files))
}

/// The command that makes the same runs.
fn command(
    path: &Path,
    scenario: &Scenario,
    variants: &[usize],
    replications: Option<u32>,
) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let mut words = vec!["stormlab run".to_owned(), quoted(&path)];
    words.extend(replications.map(|number| format!("--replications {number}")));
    if variants.len() < scenario.variants.len() {
        let names: Vec<_> = variants.iter().map(|it| &*scenario.variants[*it].name).collect();
        words.push(format!("--variant {}", quoted(&names.join(","))));
    }
    words.join(" ")
}

/// How a file that is there differs from the one that was made.
fn differs(folder: &Path, made: &Output) -> Option<String> {
    let path = folder.join(&made.path);
    let name = path.display();
    let found = match fs::read(&path) {
        Ok(found) if found == made.bytes => return None,
        Ok(found) => found,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    let (old, new) = (String::from_utf8(found), std::str::from_utf8(&made.bytes));
    let (Ok(old), Ok(new)) = (old, new) else {
        return Some(format!("{name}: another picture than the runs make"));
    };
    let (mut ours, mut theirs) = (new.lines(), old.lines());
    let mut lines = (1..).map(|line| (line, theirs.next(), ours.next()));
    let differs = lines.find(|(_, old, new)| old != new || old.is_none());
    let shown = |line: Option<&str>| line.unwrap_or("(its end)").to_owned();
    Some(match differs {
        Some((line, old, new)) if old != new => format!(
            "{name}:{line}: the page is not what the runs say\n  page  {}\n  runs  {}",
            shown(old),
            shown(new)
        ),
        _ => format!("{name}: the ends of lines differ"),
    })
}
