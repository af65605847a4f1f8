//! `string_ngrams`: runs of neighboring strings of a ragged vector, joined.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType};

use super::params::{attribute_error, check_strings, in_shape_fn, int_tensor, ints, strings};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, RaggedValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ragged::Unchecked;
use crate::tensor::{Strings, StringsBuilder};

impl<'g> Value<'g> {
    /// Joins every run of `widths[0]` neighboring strings of a row with `separator`, then every run of `widths[1]`,
    /// and so on. Row `i` is `self[splits[i]..splits[i + 1]]`.
    ///
    /// `string[n], splits [s] -> ngrams string[u], splits [s]`; `splits` is i32 or i64. As TensorFlow's `StringNGrams`
    /// without padding; imported graphs may pad rows. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let words = g.constant(["a", "b", "c"])?;
    /// let [pairs, splits] = words.string_ngrams(g.constant([0i64, 2, 3])?, &[1, 2], "-")?;
    /// let [pairs, splits] = g.compile(&[pairs, splits][..])?.run(&[])?;
    /// assert_eq!(pairs.to_string(), "string[4] [\"a\", \"b\", \"a-b\", \"c\"]");
    /// assert_eq!(splits.to_vec::<i64>()?, [0, 3, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, an operand is not a vector, or a width is less than 1 or more than 65,536. Splits
    /// that do not ascend from 0 to the number of strings fail the run.
    #[track_caller]
    pub fn string_ngrams(
        self,
        splits: impl IntoOperand<'g>,
        widths: &[i64],
        separator: &str,
    ) -> Result<[Value<'g>; 2]> {
        let splits = splits.into_own_operand(self.graph(), Location::caller());
        let call = self.graph().op(&DEF).data(self).data(splits);
        let call = call.attr("separator", separator).attr("ngram_widths", Attr::Ints(widths.into()));
        let call = call.attr("left_pad", "").attr("right_pad", "").attr("pad_width", 0);
        exactly(call.attr("preserve_short_sequences", false).finish_all()?)
    }
}

impl<'g> RaggedValue<'g> {
    /// Joins every run of `widths[0]` neighboring strings of a row with `separator`, then every run of `widths[1]`,
    /// and so on. The rows are the rows of the innermost partition.
    ///
    /// `string[n, (r)] -> string[n, (ngrams)]`. As TensorFlow's `tf.strings.ngrams` without padding. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let words = g.constant(["to be", "or"])?.string_split("", -1)?;
    /// let grams = g.compile(words.string_ngrams(&[1, 2], "_")?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(grams.to_string(), "[[\"to\", \"be\", \"to_be\"], [\"or\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, there is an axis below the rows, or a width is less than 1 or more than 65,536.
    #[track_caller]
    pub fn string_ngrams(self, widths: &[i64], separator: &str) -> Result<RaggedValue<'g>> {
        self.graph().in_call("string_ngrams", || {
            let mut partitions = self.partitions();
            let rows = partitions.pop().expect("a ragged value has a partition");
            let [grams, splits] = self.flat_values().string_ngrams(rows.row_splits(), widths, separator)?;
            // The op returns splits that ascend to the number of n-grams.
            partitions.extend(RaggedValue::from_row_splits(grams, Unchecked(splits))?.partitions());
            Ok(RaggedValue::new(grams, &partitions))
        })
    }
}

pub(crate) static DEF: OpDef = OpDef::host("string_ngrams", run)
    .attrs(&[
        Attribute::bytes_or("separator", ""),
        Attribute::ints("ngram_widths"),
        Attribute::bytes_or("left_pad", ""),
        Attribute::bytes_or("right_pad", ""),
        Attribute::int_or("pad_width", 0),
        Attribute::bool_or("preserve_short_sequences", false),
    ])
    .operands(&[Operand::Data("data"), Operand::Data("data_splits")])
    .outputs(|_, _| 2)
    .shape_fn(|cx| {
        in_shape_fn(Options::new(cx.attrs()))?;
        shapeflow_shape_fns::string::ngrams(cx)
    })
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("StringNGrams")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 1)?;
    dtype::check_indices(operands, 1)?;
    let splits = operands.get(1).copied().unwrap_or(DType::I64);
    Ok(vec![DType::String, splits])
}

/// The greatest width of n-grams and of padding.
const MAX_WIDTH: i64 = 1 << 16;

struct Options<'a> {
    separator: &'a [u8],
    left_pad: &'a [u8],
    right_pad: &'a [u8],
    widths: Vec<i64>,
    /// The number of pads at each end of a row. If it is negative, runs of width `w` get `w - 1` pads.
    pad_width: i64,
    preserves_short: bool,
}

impl<'a> Options<'a> {
    /// Reads the attributes.
    ///
    /// # Errors
    /// A width is less than 1, or a number is too large.
    fn new(attrs: &'a Attrs) -> Result<Options<'a>> {
        let widths = attrs.ints("ngram_widths").to_vec();
        if let Some(width) = widths.iter().find(|width| !(1..=MAX_WIDTH).contains(*width)) {
            return Err(attribute_error(format!(
                "ngram_widths must be between 1 and {MAX_WIDTH}, got {width}"
            )));
        }
        let pad_width = attrs.int("pad_width");
        if pad_width > MAX_WIDTH {
            return Err(attribute_error(format!("pad_width must be at most {MAX_WIDTH}, got {pad_width}")));
        }
        Ok(Options {
            separator: attrs.bytes("separator"),
            left_pad: attrs.bytes("left_pad"),
            right_pad: attrs.bytes("right_pad"),
            widths,
            pad_width,
            preserves_short: attrs.bool("preserve_short_sequences"),
        })
    }

    /// Returns the number of pads at each end for runs of this width.
    fn pads(&self, width: i64) -> i64 {
        if self.pad_width < 0 { width - 1 } else { self.pad_width.min(width - 1) }
    }

    /// Appends all n-grams of this width of a row. `line` is memory for the words of the row.
    fn append(
        &self,
        made: &mut StringsBuilder,
        row: Strings<'_>,
        width: i64,
        line: &mut StringsBuilder,
    ) -> Result<()> {
        let pads = self.pads(width) as usize;
        if self.separator.is_empty() && pads == 0 {
            return made.push_neighbors(row, width as usize, 0);
        }
        line.clear();
        let pad = |line: &mut StringsBuilder, pad: &[u8]| {
            (0..pads).try_for_each(|_| {
                line.append(pad)?;
                line.push(self.separator)
            })
        };
        pad(line, self.left_pad)?;
        line.push_each_with(row, self.separator)?;
        pad(line, self.right_pad)?;
        made.push_neighbors(line.strings(), width as usize, self.separator.len())
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let options = Options::new(cx.attrs())?;
    let (x, splits) = (strings(cx, 0)?, ints(cx, 1)?);
    check_splits(&splits, x.len())?;
    let bytes = x.all_bytes().len().saturating_mul(options.widths.len());
    let mut made = StringsBuilder::with_capacity(x.len().saturating_mul(options.widths.len()), bytes)?;
    let mut line = StringsBuilder::new();
    let mut starts: Vec<i64> = splits.first().map(|_| 0).into_iter().collect();
    for bounds in splits.windows(2) {
        // Without strings, rows get no pads.
        if x.is_empty() {
            starts.push(0);
            continue;
        }
        let row = x.slice(bounds[0] as usize..bounds[1] as usize);
        let (before, length) = (made.len(), row.len() as i64);
        for &width in &options.widths {
            options.append(&mut made, row, width, &mut line)?;
        }
        if options.preserves_short && length > 0 && made.len() == before && options.pad_width >= 0 {
            options.append(&mut made, row, length + 2 * options.pad_width, &mut line)?;
        }
        starts.push(made.len() as i64);
    }
    let (count, dtype) = (made.len(), cx.input(1)?.dtype());
    cx.set_output(0, made.finish(&[count])?)?;
    cx.set_output(1, int_tensor(dtype, &[starts.len()], &starts)?)
}

/// Checks that splits ascend from 0 to `count`. If there are no strings, `splits` may be empty.
///
/// # Errors
/// The splits do not ascend from 0 to `count`.
pub(super) fn check_splits(splits: &[i64], count: usize) -> Result<()> {
    let fits = match (splits.first(), splits.last()) {
        (Some(0), Some(last)) => *last == count as i64 && splits.is_sorted(),
        (None, _) => count == 0,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let message = format!("splits must ascend from 0 to {count}, the number of elements, got {splits:?}");
    Err(Error::new(ErrorKind::Index, Phase::Run, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::Tensor;

    #[test]
    fn rows_without_any_string_get_no_pads() {
        let attrs = Attrs::new().with("ngram_widths", [2]).with("pad_width", 1).with("separator", "-");
        let attrs = attrs.with("left_pad", "L").with("right_pad", "R");
        let of = |words: &[&str], splits: &[i64]| {
            let words = Tensor::from_strings(&[words.len()], words).unwrap();
            let outputs = run(&DEF, &attrs, &[words, tensor(&[splits.len()], splits)]).unwrap();
            let grams: Vec<Vec<u8>> = outputs[0].as_strings().unwrap().iter().map(<[u8]>::to_vec).collect();
            (grams, outputs[1].to_vec::<i64>().unwrap())
        };
        assert_eq!(of(&[], &[0, 0]), (vec![], vec![0, 0]));
        let padded = ["L-R", "L-a", "a-R", "L-R"].map(|gram| gram.as_bytes().to_vec());
        assert_eq!(of(&["a"], &[0, 0, 1, 1]), (padded.to_vec(), vec![0, 1, 3, 4]));
    }
}
