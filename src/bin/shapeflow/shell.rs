//! `shapeflow completions`, `man` and `schema`: print files that integrate the command line into a system.

use clap::{ArgMatches, Command};
use clap_complete::Shell;

use super::failure::Failure;

/// Prints the completion script of a shell.
pub(crate) fn completions(arguments: &ArgMatches, mut command: Command) -> Result<Vec<u8>, Failure> {
    let Some(shell) = arguments.get_one::<Shell>("shell").copied() else {
        return Err(Failure::input("a shell must be given"));
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "shapeflow", &mut script);
    Ok(script)
}

/// Prints one manual page for all commands. Each command has a section of its own.
pub(crate) fn man(mut command: Command) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| Failure::output("the manual page", error);
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let man = clap_mangen::Man::new(subcommand.clone());
        let name = subcommand.get_name().to_uppercase();
        page.extend_from_slice(format!(".SH \"COMMAND {name}\"\n").as_bytes());
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    Ok(page)
}

/// Prints the JSON Schema of the documents that `--json` prints.
pub(crate) fn schema() -> Vec<u8> {
    include_bytes!("schema.json").to_vec()
}

/// Returns the version, the features of the build, and the instruction set for kernels.
pub(crate) fn version() -> String {
    let features = [
        ("cranelift", cfg!(feature = "cranelift")),
        ("strings", cfg!(feature = "strings")),
        ("threads", cfg!(feature = "threads")),
        ("graphdef", cfg!(feature = "graphdef")),
        ("npz", cfg!(feature = "npz")),
        ("safetensors", cfg!(feature = "safetensors")),
        ("fft", cfg!(feature = "fft")),
        ("media", cfg!(feature = "media")),
        ("sobol", cfg!(feature = "sobol")),
        ("disasm", cfg!(feature = "disasm")),
        ("dumps", cfg!(feature = "dumps")),
    ];
    let features: Vec<&str> =
        features.iter().filter(|(_, is_enabled)| *is_enabled).map(|(name, _)| *name).collect();
    let isa =
        shapeflow::Isa::of_host().map_or_else(|error| error.message().to_string(), |isa| isa.to_string());
    format!("{}\nfeatures: {}\nkernels: {isa}", env!("CARGO_PKG_VERSION"), features.join(", "))
}
