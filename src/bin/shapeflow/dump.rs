//! `shapeflow dump`: a stage of the compiler in one of several formats.

use std::path::Path;

use clap::ArgMatches;
use shapeflow::interchange::{Imported, to_graphdef, to_pbtxt};
use shapeflow::{Snapshot, StageKind, Tensor, TensorView, Trace, Value};

use super::failure::Failure;
use super::model::{feeds, fetched, flag, import, list, path};
use super::run::options;

/// Writes the stage to a file or standard output.
pub(crate) fn dump(arguments: &ArgMatches) -> Result<String, Failure> {
    let stage: StageKind = arguments.get_one::<String>("stage").map_or("graph", String::as_str).parse()?;
    let file = arguments.contains_id("output").then(|| path(arguments, "output")).transpose()?;
    let format = match arguments.get_one::<String>("format").map(String::as_str) {
        Some(format) => format,
        None if flag(arguments, "json") => "json",
        None => file.map_or("text", format_of),
    };
    let fetches: Vec<&str> = list(arguments, "fetch").collect();
    let imported = import(arguments, (!fetches.is_empty()).then_some(&fetches[..]))?;
    let bytes = match format {
        "pb" | "pbtxt" if stage != StageKind::Graph => {
            return Err(Failure::input(format_args!("{format} writes the stage graph, got --stage {stage}")));
        }
        "pb" => to_graphdef(imported.graph(), &wanted(&imported, &fetches)?)?,
        "pbtxt" => to_pbtxt(imported.graph(), &wanted(&imported, &fetches)?)?.into_bytes(),
        _ => drawn(arguments, &imported, &fetches, stage, format)?.into_bytes(),
    };
    match file {
        Some(file) => {
            std::fs::write(file, bytes).map_err(|error| Failure::output(file, error))?;
            Ok(String::new())
        }
        None => {
            use std::io::Write;
            let mut out = std::io::stdout().lock();
            let written = out.write_all(&bytes).and_then(|()| match format {
                "pb" => Ok(()),
                _ if bytes.ends_with(b"\n") => Ok(()),
                _ => out.write_all(b"\n"),
            });
            // A reader that has seen enough is no failure.
            let _ = written.and_then(|()| out.flush());
            Ok(String::new())
        }
    }
}

/// The format that a file's name asks for.
fn format_of(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("dot" | "gv") => "dot",
        Some("svg") => "svg",
        Some("html" | "htm") => "html",
        Some("json") => "json",
        Some("pb") => "pb",
        Some("pbtxt") => "pbtxt",
        _ => "text",
    }
}

/// What is fetched, or all that no other node reads and inference has not refused.
fn wanted<'m>(imported: &'m Imported, fetches: &[&str]) -> Result<Vec<Value<'m>>, Failure> {
    if !fetches.is_empty() {
        return Ok(fetched(imported, fetches)?.into_iter().map(|(_, value)| value).collect());
    }
    let ends: Vec<Value<'m>> = imported.fetches().filter_map(|name| imported.value(name).ok()).collect();
    if ends.is_empty() {
        return Err(Failure::input("the model has no node that could be fetched"));
    }
    Ok(ends)
}

fn drawn(
    arguments: &ArgMatches,
    imported: &Imported,
    fetches: &[&str],
    stage: StageKind,
    format: &str,
) -> Result<String, Failure> {
    // A page has something to say of every stage up to its own.
    let kept = if format == "html" && stage == StageKind::Kernels { StageKind::Clif } else { stage };
    let trace = Trace::new();
    let mut snapshot = imported.graph().snapshot();
    if stage > StageKind::Graph {
        let options = options(arguments).trace(&trace);
        let exe = imported.graph().compile_with(&options, &wanted(imported, fetches)?)?;
        if arguments.contains_id("feeds") {
            let ports = exe.inputs().iter().map(|port| (port.name.as_str(), port.dtype, &port.shape));
            let tensors = feeds(path(arguments, "feeds")?, ports)?;
            let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
            exe.run_all(&views)?;
        }
        let whole = match (format, stage) {
            ("text", StageKind::Kernels) => Some(exe.kernels()),
            ("text", StageKind::Clif) => Some(exe.clif()?),
            _ => None,
        };
        if let Some(text) = whole.filter(|text| !text.is_empty()) {
            return Ok(text);
        }
        snapshot = exe.snapshot(kept)?;
        if snapshot.stage() < stage {
            eprintln!("note: the model is compiled when it runs; its kernels are there with --feeds");
        }
    }
    Ok(written(&snapshot, format, &trace))
}

fn written(snapshot: &Snapshot, format: &str, trace: &Trace) -> String {
    match format {
        "dot" => snapshot.to_dot(),
        "svg" => snapshot.to_svg(),
        "html" => snapshot.to_html(Some(trace)),
        "json" => snapshot.to_json(),
        _ => snapshot.text().to_string(),
    }
}
