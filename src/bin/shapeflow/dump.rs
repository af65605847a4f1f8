//! `shapeflow dump`: writes a stage of the compiler in one of several formats.

use std::path::Path;

use clap::ArgMatches;
use shapeflow::interchange::{Exported, Imported, tensor_names};
use shapeflow::{Error, Snapshot, StageKind, Tensor, TensorView, Trace, Value};

use super::document::with_final_newline;
use super::failure::Failure;
use super::model::{NamedFeeds, fetched, flag, import, list, path};
use super::output::{print_error, write_file};
use super::run::options;
use super::state::{State, with_state};

/// Writes a stage to the file of `--output`, or returns it for standard output. Refused nodes are shown with their
/// errors.
pub(crate) fn dump(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let stage: StageKind = arguments.get_one::<String>("stage").map_or("graph", String::as_str).parse()?;
    let file = arguments.contains_id("output").then(|| path(arguments, "output")).transpose()?;
    let format = match arguments.get_one::<String>("format").map(String::as_str) {
        Some(format) if format != "json" && flag(arguments, "json") => {
            return Err(Failure::input(format_args!(
                "--json prints JSON, so --format must be json or absent, got {format}"
            )));
        }
        Some(format) => format,
        None if flag(arguments, "json") => "json",
        None => file.map_or(Ok("text"), format_of)?,
    };
    let fetches: Vec<&str> = list(arguments, "fetch").collect();
    let mut feeds = NamedFeeds::read(arguments)?;
    let imported = import(arguments, (!fetches.is_empty()).then_some(&fetches[..]), Some(&mut feeds))?;
    let refused = imported.check().err();
    let document = match format {
        "pb" | "pbtxt" if stage != StageKind::Graph => {
            return Err(Failure::input(format_args!(
                "{format} must have --stage graph, got --stage {stage}"
            )));
        }
        "pb" => exported(&imported, &fetches)?.to_bytes(),
        "pbtxt" => {
            let text = exported(&imported, &fetches)?.to_text();
            with_final_newline(format!("{}{text}", refused_comments("#", "omitted", &imported)))
        }
        _ => with_final_newline(drawn(arguments, &imported, &fetches, &mut feeds, stage, format)?),
    };
    match (file, refused) {
        (Some(file), refused) => {
            write_file(file, document)?;
            refused.map_or(Ok(Vec::new()), |error| Err(error.into()))
        }
        (None, Some(error)) => Err(Failure::with_document(error, document)),
        (None, None) => Ok(document),
    }
}

/// Returns a comment for each refused node, for a document that lacks these nodes. `mark` begins a comment; `fate` says
/// what became of the node.
fn refused_comments(mark: &str, fate: &str, imported: &Imported) -> String {
    let refused = imported.check().err();
    let errors = refused.iter().flat_map(Error::all).map(|error| {
        let text = format!("node {} is {fate}: {}", error.node().unwrap_or_default(), error.message());
        format!("{mark} {}\n", text.replace('\n', &format!("\n{mark} ")))
    });
    errors.collect()
}

/// Returns the format for the extension of a file.
///
/// # Errors
/// No format has the extension.
fn format_of(file: &Path) -> Result<&'static str, Failure> {
    Ok(match file.extension().and_then(|extension| extension.to_str()) {
        Some("dot" | "gv") => "dot",
        Some("svg") => "svg",
        Some("html" | "htm") => "html",
        Some("json") => "json",
        Some("pb") => "pb",
        Some("pbtxt") => "pbtxt",
        Some("txt") | None => "text",
        Some(other) => {
            return Err(Failure::input(format_args!(
                "the extension of {} must be txt, dot, svg, html, json, pb or pbtxt, got {other}; or give --format",
                file.display()
            )));
        }
    })
}

/// Returns the fetched tensors with their names. Without fetches, returns the outputs of the signature, or else the
/// tensors that no other node reads and that inference accepts.
fn named<'m>(imported: &'m Imported, fetches: &[&str]) -> Result<Vec<(String, Value<'m>)>, Failure> {
    if !fetches.is_empty() {
        return fetched(imported, fetches);
    }
    let owned = |(name, value): (&str, Value<'m>)| (name.to_string(), value);
    let outputs = imported.outputs().unwrap_or_default();
    if !outputs.is_empty() {
        return Ok(outputs.into_iter().map(owned).collect());
    }
    let ends = imported.fetches().filter_map(|name| Some((name, imported.value(name).ok()?)));
    let ends: Vec<(String, Value<'m>)> = ends.map(owned).collect();
    if ends.is_empty() {
        imported.check()?;
        return Err(Failure::input("the model must have a node with outputs, got none"));
    }
    Ok(ends)
}

/// Exports the values of [`named`], whose nodes have their names: a value with another name, such as an output of a
/// function, gets an `Identity` with the name. Prints the ops that TensorFlow lacks: this library reads the file, and
/// TensorFlow does not.
fn exported(imported: &Imported, fetches: &[&str]) -> Result<Exported, Failure> {
    let graph = imported.graph();
    let named = named(imported, fetches)?;
    let values: Vec<Value<'_>> = named.iter().map(|(_, value)| *value).collect();
    // `NAME:i` is no name of a node.
    let is_wrong = |name: &str, exported: &str| name != exported && !name.contains(':');
    let mut outputs = Vec::new();
    for ((name, value), exported) in named.iter().zip(tensor_names(graph, &values)?) {
        outputs.push(match is_wrong(name, &exported) {
            true => value.identity().map_or(*value, |identity| identity.named(name)),
            false => *value,
        });
    }
    for ((name, _), exported) in named.iter().zip(tensor_names(graph, &outputs)?) {
        if is_wrong(name, &exported) {
            print_error(&format!("note: the output {name} is named {exported} in the file"));
        }
    }
    let exported = Exported::new(graph, &outputs)?;
    if !exported.missing_ops().is_empty() {
        print_error(&format!(
            "note: TensorFlow cannot load the file, because it lacks {}",
            exported.missing_ops().join(", ")
        ));
    }
    Ok(exported)
}

/// The number of runs whose times a page shows.
const WARM_RUNS: usize = 10;

/// Takes a snapshot of the stage, and writes it in the format. For a stage after `Graph`, compiles the model, and runs
/// it if there are feeds.
fn drawn(
    arguments: &ArgMatches,
    imported: &Imported,
    fetches: &[&str],
    feeds: &mut NamedFeeds,
    stage: StageKind,
    format: &str,
) -> Result<String, Failure> {
    let trace = Trace::new();
    let mut snapshot = imported.graph().snapshot();
    if stage > StageKind::Graph {
        let options = options(arguments).trace(&trace);
        let outputs = with_state(&named(imported, fetches)?, &State::results(imported)?);
        let exe = imported.graph().compile_with(&options, outputs)?;
        if feeds.are_given() {
            feeds.add_state(State::initial(imported)?);
            let tensors = feeds.of(&exe)?;
            let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
            // The first run compiles and touches memory, so only later runs are timed.
            exe.run_all(&views)?;
            trace.clear();
            for _ in 0..WARM_RUNS {
                exe.run_all(&views)?;
            }
        }
        // The text of the executable has all compiled programs; a snapshot has a single program.
        let all = match (format, stage) {
            ("text", StageKind::Kernels) => Some(exe.kernels()),
            ("text", StageKind::Clif) => Some(exe.clif()?),
            _ => None,
        };
        if let Some(text) = all.filter(|text| !text.is_empty()) {
            return Ok(format!("{text}{}", refused_comments("//", "not compiled", imported)));
        }
        snapshot = exe.snapshot(stage)?.with_refused(imported.graph());
        if snapshot.stage() < stage {
            print_error("note: the model compiles when it runs; give --feeds to see its kernels");
        }
        let programs = exe.stats().compiles.len();
        if programs > 1 && stage >= StageKind::Kernels {
            print_error(&format!("note: this is the first of {programs} programs"));
        }
    }
    Ok(written(&snapshot, format, &trace))
}

/// Writes a snapshot in the format.
fn written(snapshot: &Snapshot, format: &str, trace: &Trace) -> String {
    match format {
        "dot" => snapshot.to_dot(),
        "svg" => snapshot.to_svg(),
        "html" => snapshot.to_html(Some(trace)),
        "json" => snapshot.to_json(),
        _ => snapshot.text().to_string(),
    }
}
