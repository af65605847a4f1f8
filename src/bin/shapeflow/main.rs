//! The command line: infers, runs, dumps and benchmarks TensorFlow models.

mod bench;
mod check;
mod document;
mod dump;
mod failure;
mod infer;
mod model;
mod ops;
mod output;
mod progress;
mod run;
mod shell;
mod signatures;
mod state;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use failure::Failure;

fn main() -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    match command().try_get_matches() {
        Ok(matches) => finish(run(&matches), json),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            finish(Ok(document::with_final_newline(error.to_string())), false)
        }
        Err(error) => finish(Err(Failure::usage(text_of_usage_error(&error))), json),
    }
}

/// Returns the text of an error in the arguments. If the model is missing, `--fetch` may have taken it.
fn text_of_usage_error(error: &clap::Error) -> String {
    let text = error.to_string();
    if error.kind() != ErrorKind::MissingRequiredArgument || !text.contains("<MODEL>") {
        return text;
    }
    let given = command().ignore_errors(true).try_get_matches();
    let fetched: Vec<String> = match given.as_ref().map(ArgMatches::subcommand) {
        Ok(Some((_, arguments))) => match arguments.try_get_many::<String>("fetch") {
            Ok(Some(values)) => values.cloned().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    match fetched.is_empty() {
        true => text,
        false => format!(
            "error: MODEL must be given, and --fetch took {}\n  help: put MODEL before --fetch, which takes all \
             values that follow it",
            fetched.join(", ")
        ),
    }
}

/// Prints the document of a command, and its errors. The first error gives the exit code.
fn finish(result: Result<Vec<u8>, Failure>, json: bool) -> ExitCode {
    let (document, code) = match result {
        Ok(document) => (document, None),
        Err(failure) => {
            output::print_error(failure.message());
            let code = failure.code();
            (failure.into_document(json), Some(code))
        }
    };
    let unwritten = output::print(&document).err();
    if let Some(failure) = &unwritten {
        output::print_error(failure.message());
    }
    ExitCode::from(code.or(unwritten.map(|failure| failure.code())).unwrap_or(0))
}

fn run(matches: &ArgMatches) -> Result<Vec<u8>, Failure> {
    if let Some((_, arguments)) = matches.subcommand() {
        model::check_streams(arguments)?;
    }
    match matches.subcommand() {
        Some(("infer", arguments)) => infer::infer(arguments),
        Some(("run", arguments)) => run::run(arguments),
        Some(("dump", arguments)) => dump::dump(arguments),
        Some(("bench", arguments)) => bench::bench(arguments),
        Some(("check", arguments)) => check::check(arguments),
        Some(("ops", arguments)) => Ok(ops::ops(arguments)),
        Some(("completions", arguments)) => shell::completions(arguments, command()),
        Some(("man", _)) => shell::man(command()),
        Some(("schema", _)) => Ok(shell::schema()),
        _ => Err(Failure::usage(
            "error: a command must be given: infer, run, dump, bench, check, ops, completions, man or schema"
                .to_string(),
        )),
    }
}

/// The help of `--fetch` for commands that run a model.
const RESULTS: &str =
    "The tensors to compute [default: the outputs of the signature, else the tensors that no node reads]";

/// Returns the declaration of all commands and their arguments.
fn command() -> Command {
    let model = || {
        Arg::new("model")
            .value_name("MODEL")
            .required(true)
            .value_parser(value_parser!(std::path::PathBuf))
            .help("A GraphDef (.pb, .pbtxt), a SavedModel folder, or - for standard input")
    };
    let shape =
        || {
            Arg::new("shape").long("shape").value_name("NAME=2,?,n").action(ArgAction::Append).help(
                "Sets the shape of an input, of its declared rank: sizes, ? and names, or .. for any rank",
            )
        };
    let unknown = || {
        Arg::new("allow-unknown")
            .long("allow-unknown")
            .action(ArgAction::SetTrue)
            .help("Imports unknown ops as nodes of unknown shape")
    };
    let json = || Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints one JSON document");
    let feeds = || {
        Arg::new("feeds")
            .long("feeds")
            .value_name("FEEDS.npz")
            .value_parser(value_parser!(std::path::PathBuf))
            .help("The values of placeholders or other tensors, by NAME[:i]")
    };
    let fetch = || {
        Arg::new("fetch")
            .long("fetch")
            .value_name("NAME[:i]")
            .num_args(1..)
            .action(ArgAction::Append)
            .help("The tensors to compute")
    };
    let signature = || {
        Arg::new("signature")
            .long("signature")
            .value_name("NAME")
            .help("The signature of a SavedModel that names inputs and outputs [default: serving_default]")
    };
    let stateful = || {
        Arg::new("stateful")
            .long("stateful")
            .action(ArgAction::SetTrue)
            .help("Makes the variables that the model writes inputs and results, as run --state does")
    };
    let threads = || {
        Arg::new("threads")
            .long("threads")
            .value_name("N")
            .default_value("1")
            .value_parser(value_parser!(u16).range(1..))
            .help("The number of threads for large kernels")
    };
    let memory_limit = || {
        Arg::new("memory-limit")
            .long("memory-limit")
            .value_name("MIB")
            .value_parser(value_parser!(u32).range(1..))
            .help("Refuses a run that needs more memory than this, in MiB")
    };
    let count = |name: &'static str, default: &'static str, help: &'static str| {
        let least = i64::from(name == "repeat");
        let range = value_parser!(u32).range(least..);
        Arg::new(name).long(name).value_name("N").default_value(default).value_parser(range).help(help)
    };
    let file = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(std::path::PathBuf)).help(help)
    };
    Command::new("shapeflow")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(shell::version())
        .about("Infers shapes of TensorFlow graphs, compiles each once for all sizes, and runs them.")
        .subcommand_required(true)
        .subcommand(Command::new("infer").about("Prints every node: name, op, dtype and partial shape").args(
            [
                model(),
                feeds().help("Makes the tensors of this file inputs"),
                signature(),
                stateful(),
                shape(),
                unknown(),
                json(),
            ],
        ))
        .subcommand(
            Command::new("run")
                .about("Runs a model on tensors from an npz file")
                .args([
                    model(),
                    feeds(),
                    fetch().help(RESULTS),
                    file("out", "OUT.npz", "Writes the results to this file; - is standard output"),
                    file("trace", "TRACE.json", "Writes a trace for chrome://tracing and Perfetto"),
                ])
                .args([
                    file(
                        "state",
                        "STATE.npz",
                        "Keeps the variables of the model in this file; the model gives their first values",
                    ),
                    signature(),
                    shape(),
                    threads(),
                    memory_limit(),
                    json(),
                ]),
        )
        .subcommand(
            Command::new("dump")
                .about("Writes a stage of the compiler as text, picture, page or GraphDef")
                .args([
                    model(),
                    Arg::new("stage")
                        .long("stage")
                        .default_value("graph")
                        .value_parser(["graph", "optimized", "kernels", "clif", "asm"])
                        .help("The stage"),
                    Arg::new("format")
                        .long("format")
                        .value_parser(["text", "dot", "svg", "html", "json", "pb", "pbtxt"])
                        .help("The format; by default the extension of FILE decides, else text"),
                    Arg::new("output")
                        .short('o')
                        .long("output")
                        .value_name("FILE")
                        .value_parser(value_parser!(std::path::PathBuf))
                        .help("Writes to this file; - is standard output"),
                ])
                .args([
                    fetch(),
                    feeds().help("Makes these tensors inputs; a compiled stage runs and shows times"),
                ])
                .args([signature(), stateful(), shape(), unknown(), json()]),
        )
        .subcommand(
            Command::new("bench")
                .about("Measures building, compiling and running models, and compares them")
                .args([
                    model().num_args(1..),
                    feeds()
                        .action(ArgAction::Append)
                        .help("The tensors to feed; may be given several times to compare feeds"),
                    fetch().help(RESULTS),
                ])
                .args([
                    count("repeat", "100", "The number of measured runs"),
                    count("warmup", "10", "The number of runs before the measured ones"),
                ])
                .args([
                    threads()
                        .value_delimiter(',')
                        .value_name("N,…")
                        .help("The numbers of threads for large kernels; several are compared"),
                    Arg::new("isa")
                        .long("isa")
                        .value_name("ISA,…")
                        .value_delimiter(',')
                        .help("The instruction sets for kernels: avx512, avx2, clif; several are compared"),
                    signature(),
                    stateful(),
                    shape(),
                    json(),
                ]),
        )
        .subcommand(
            Command::new("check")
                .about("Tells whether a model can run: its ops by count, and what computes them")
                .args([model(), fetch(), signature(), stateful(), shape(), json()]),
        )
        .subcommand(Command::new("ops").about("Lists every registered op").arg(json()))
        .subcommand(
            Command::new("completions").about("Prints the completion script of a shell").arg(
                Arg::new("shell")
                    .value_name("SHELL")
                    .required(true)
                    .value_parser(value_parser!(clap_complete::Shell))
                    .help("The shell"),
            ),
        )
        .subcommand(Command::new("man").about("Prints the manual page in roff format"))
        .subcommand(Command::new("schema").about("Prints the JSON Schema of the documents of --json"))
}
