//! Attributes of ops on files. The dtype rules refuse wrong attributes when an op is added, and the kernels read them.

use shapeflow_shape_fns::Attrs;

use crate::error::{Error, ErrorKind, Phase, Result};

/// How strings are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compression {
    None,
    Zlib,
    Gzip,
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
}

/// Joins choices, as in `0, 1 or 3`.
pub(super) fn listed<T: ToString>(choices: impl IntoIterator<Item = T>) -> String {
    let mut texts: Vec<String> = choices.into_iter().map(|choice| choice.to_string()).collect();
    match (texts.pop(), texts.join(", ")) {
        (Some(last), first) if first.is_empty() => last,
        (Some(last), first) => format!("{first} or {last}"),
        (None, first) => first,
    }
}

/// Returns what the text of an attribute means.
///
/// # Errors
/// No choice has the text.
fn choice<T: Copy>(attrs: &Attrs, name: &str, choices: &[(&str, T)]) -> Result<T> {
    let given = attrs.str(name);
    match choices.iter().find(|(text, _)| *text == given) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let texts = choices.iter().map(|(text, _)| format!("{text:?}"));
            refuse(format!("{name} must be {}, got {given:?}", listed(texts)))
        }
    }
}

/// Returns an attribute that is one of a few numbers.
fn one_of(attrs: &Attrs, name: &str, numbers: &[usize]) -> Result<usize> {
    let given = attrs.int(name);
    match usize::try_from(given).ok().filter(|given| numbers.contains(given)) {
        Some(number) => Ok(number),
        None => refuse(format!("{name} must be {}, got {given}", listed(numbers))),
    }
}

/// Returns an attribute that is a number from `least` to `greatest`.
fn in_range(attrs: &Attrs, name: &str, least: i64, greatest: i64) -> Result<i64> {
    match attrs.int(name) {
        given if (least..=greatest).contains(&given) => Ok(given),
        given => refuse(format!("{name} must be from {least} to {greatest}, got {given}")),
    }
}

/// Returns the number of channels to decode to; 0 takes the number from the file. Some file that the op reads can be
/// decoded to each of `choices`.
pub(super) fn channels(attrs: &Attrs, choices: &[usize]) -> Result<usize> {
    one_of(attrs, "channels", choices)
}

/// Returns the factor by which a JPEG file gets smaller.
pub(super) fn ratio(attrs: &Attrs) -> Result<usize> {
    one_of(attrs, "ratio", &[1, 2, 4, 8])
}

/// Returns whether the inverse cosine transform of a JPEG file is the accurate one.
pub(super) fn is_accurate(attrs: &Attrs) -> Result<bool> {
    choice(attrs, "dct_method", &[("", false), ("INTEGER_FAST", false), ("INTEGER_ACCURATE", true)])
}

/// Returns the number of channels that an image for a JPEG file must have, if the op chooses it.
pub(super) fn format(attrs: &Attrs) -> Result<Option<usize>> {
    choice(attrs, "format", &[("", None), ("grayscale", Some(1)), ("rgb", Some(3))])
}

/// Returns the quality of a JPEG file.
pub(super) fn quality(attrs: &Attrs) -> Result<i64> {
    in_range(attrs, "quality", 0, 100)
}

/// Returns the densities of pixels, across and down, which have 16 bits in a JPEG file.
pub(super) fn density(attrs: &Attrs) -> Result<[u16; 2]> {
    let density = |name| in_range(attrs, name, 0, u16::MAX.into()).map(|density| density as u16);
    Ok([density("x_density")?, density("y_density")?])
}

/// Returns whether the densities count pixels in a centimeter, instead of an inch.
pub(super) fn is_metric(attrs: &Attrs) -> Result<bool> {
    choice(attrs, "density_unit", &[("in", false), ("cm", true)])
}

/// Returns how strings are compressed.
pub(super) fn compression_type(attrs: &Attrs) -> Result<Compression> {
    let choices = [("", Compression::None), ("ZLIB", Compression::Zlib), ("GZIP", Compression::Gzip)];
    choice(attrs, "compression_type", &choices)
}

/// Returns the compression of a PNG file from 0 to 9; -1 is the usual one.
pub(super) fn compression(attrs: &Attrs) -> Result<i64> {
    in_range(attrs, "compression", -1, 9)
}

/// Returns a size of a decoded sound; `None` takes the size from the file.
pub(super) fn sound_size(attrs: &Attrs, name: &str) -> Result<Option<usize>> {
    match attrs.int(name) {
        -1 => Ok(None),
        size => match usize::try_from(size) {
            Ok(size) => Ok(Some(size)),
            Err(_) => refuse(format!("{name} must be at least -1, got {size}")),
        },
    }
}
