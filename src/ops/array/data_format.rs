//! `data_format_dim_map` and `data_format_vec_permute`: axes and sizes of images in another layout.

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{CompositeCx, HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;
use crate::tensor::Tensor;

impl<'g> Value<'g> {
    /// Maps axes of the layout `source` to the axes of the layout `target` that have the same letter. A layout has 4 or
    /// 5 letters, one for each axis, such as `NHWC`. A negative axis counts from the end. With `n` letters, an element
    /// `x` that is no axis counts as in TensorFlow: `x >= n` as axis `x % n`; `x < -n` as axis 0 if `n` divides `x`,
    /// and as the last axis otherwise.
    ///
    /// `[..] -> [..]`, i32 or i64. As TensorFlow's `DataFormatDimMap`. The op is composed of other ops, which fuse into
    /// kernels.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let y = g.constant([0, 1, 2, 3, -1])?.data_format_dim_map("NHWC", "NCHW")?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 2, 3, 1, 1]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither i32 nor i64, a layout does not have 4 or 5 letters, a letter repeats, or `target` is
    /// not a permutation of `source`.
    #[track_caller]
    pub fn data_format_dim_map(self, source: &str, target: &str) -> Result<Value<'g>> {
        self.graph().op(&DIM_MAP).data(self).attr("src_format", source).attr("dst_format", target).finish()
    }

    /// Permutes entries that belong to axes, such as sizes, from the order of the layout `source` to the order of the
    /// layout `target`. A layout has 4 or 5 letters, one for each axis, such as `NHWC`. `self` has one entry for each
    /// axis, or for each of the axes D, H and W of the layout.
    ///
    /// `[n] -> [n]` or `[n, 2] -> [n, 2]`, i32 or i64. As TensorFlow's `DataFormatVecPermute`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let y = g.constant([8, 20, 30, 3])?.data_format_vec_permute("NHWC", "NCHW")?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [8, 3, 20, 30]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither i32 nor i64, the rank is not 1 or 2, a layout does not have 4 or 5 letters, a letter
    /// repeats, or `target` is not a permutation of `source`. The run fails if `self` does not have one entry for each
    /// axis, or for each of the axes D, H and W.
    #[track_caller]
    pub fn data_format_vec_permute(self, source: &str, target: &str) -> Result<Value<'g>> {
        self.graph()
            .op(&VEC_PERMUTE)
            .data(self)
            .attr("src_format", source)
            .attr("dst_format", target)
            .finish()
    }
}

const FORMATS: &[Attribute] =
    &[Attribute::str_or("src_format", "NHWC"), Attribute::str_or("dst_format", "NCHW")];

pub(crate) static DIM_MAP: OpDef = OpDef::composite("data_format_dim_map", build_map)
    .attrs(FORMATS)
    .operands(&[Operand::Data("x")])
    .dtype_rule(output_dtype)
    .tensorflow(&[TfOp::new("DataFormatDimMap")]);

pub(crate) static VEC_PERMUTE: OpDef = OpDef::host("data_format_vec_permute", run_permute)
    .attrs(FORMATS)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape)
    .dtype_rule(output_dtype)
    .tensorflow(&[TfOp::new("DataFormatVecPermute")]);

fn output_dtype(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(dtypes, 0)?;
    Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Integer)?])
}

/// Infers the shape as TensorFlow does, but also refuses layouts that TensorFlow's kernel refuses.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    formats(cx.str_or("src_format", "NHWC")?, cx.str_or("dst_format", "NCHW")?).map_err(ShapeError::new)?;
    shapeflow_shape_fns::array::permute_by_format(cx)
}

/// Returns the letters of both layouts.
///
/// # Errors
/// A layout does not have 4 or 5 letters, a letter repeats, or one layout is not a permutation of the other.
fn formats(source: &str, target: &str) -> std::result::Result<[Vec<char>; 2], String> {
    for (name, letters) in [("src_format", source), ("dst_format", target)] {
        if !matches!(letters.chars().count(), 4 | 5) {
            return Err(format!("{name} must have 4 or 5 letters, got {letters:?}"));
        }
    }
    let letters = [source, target].map(|text| text.chars().collect::<Vec<char>>());
    let sorted = letters.clone().map(|mut letters| {
        letters.sort_unstable();
        letters
    });
    let is_repeated = sorted[0].windows(2).any(|pair| pair[0] == pair[1]);
    if sorted[0] != sorted[1] || is_repeated {
        return Err(format!(
            "src_format must not repeat a letter, and dst_format must be a permutation of it, got {source:?} and \
             {target:?}"
        ));
    }
    Ok(letters)
}

/// Returns the letters of the layouts of a call.
///
/// # Errors
/// As [`formats`].
fn formats_of(attrs: &Attrs) -> Result<[Vec<char>; 2]> {
    formats(attrs.str("src_format"), attrs.str("dst_format"))
        .map_err(|message| Error::new(ErrorKind::Attribute, Phase::Build, message))
}

/// Returns for each letter of `of` its index in `within`, which has the same letters.
fn letter_indices(of: &[char], within: &[char]) -> Vec<usize> {
    of.iter().filter_map(|letter| within.iter().position(|other| other == letter)).collect()
}

fn build_map<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[x] = values else { return Err(Error::msg("data_format_dim_map needs one operand")) };
    output_dtype(&[x.dtype()], cx.attrs())?;
    let [source, target] = formats_of(cx.attrs())?;
    let map = letter_indices(&source, &target);
    let map = match x.dtype() {
        DType::I32 => Tensor::from_vec(&[map.len()], map.iter().map(|axis| *axis as i32).collect()),
        _ => Tensor::from_vec(&[map.len()], map.iter().map(|axis| *axis as i64).collect()),
    };
    let count = source.len() as i64;
    let rest = x.add(count)?.truncatemod(count)?;
    let axis = rest.less(0)?.select(count - 1, rest)?;
    Ok(vec![x.graph().constant(map?)?.gather(axis, 0)?])
}

fn run_permute(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let [mut source, mut target] = formats_of(cx.attrs())?;
    let refuse = |message: String| Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    let (count, spatial) = (source.len(), source.len() - 2);
    let (rows, width) = (x.sizes().first().copied().unwrap_or(0), x.sizes().get(1).copied());
    if (rows != count && rows != spatial) || width.is_some_and(|width| width != 2) {
        let sizes = x.sizes();
        return refuse(format!(
            "x must have sizes [{count}], [{spatial}], [{count}, 2] or [{spatial}, 2], got {sizes:?}"
        ));
    }
    if rows == spatial {
        for letters in [&mut source, &mut target] {
            letters.retain(|letter| matches!(letter, 'H' | 'W') || (*letter == 'D' && spatial == 3));
        }
        if source.len() != spatial {
            return refuse(format!(
                "src_format must have the letters H and W, and D if it has 5 letters, got {:?}",
                cx.attrs().str("src_format")
            ));
        }
    }
    let width = width.unwrap_or(1);
    let starts = letter_indices(&target, &source).into_iter().map(|row| row * width);
    let output = take(&x, x.sizes(), width, starts)?;
    cx.set_output(0, output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DIM_MAP, {},
        "i32[n, 3]" => "i32[n, 3]",
        "[n]" => error "must be i32 or i64, got f32",
    }
    shape_table! { short: DIM_MAP, {"src_format": "NHW"},
        "i32[n]" => error "src_format must have 4 or 5 letters, got \"NHW\"",
    }
    shape_table! { repeated: DIM_MAP, {"src_format": "NHHW", "dst_format": "NHWH"},
        "i32[n]" => error "src_format must not repeat a letter, and dst_format must be a permutation of it",
    }
    shape_table! { entries: VEC_PERMUTE, {},
        "i32[4, 2]" => "i32[4, 2]",
        "i64[n]" => "i64[n]",
        "i32[]" => error "must have rank at least 1",
    }

    #[test]
    fn entries_follow_their_letters() {
        let attrs = |source, target| Attrs::new().with("src_format", source).with("dst_format", target);
        let permute = |source, target, x: Tensor| {
            run_one(&VEC_PERMUTE, &attrs(source, target), &[x]).to_vec::<i32>().unwrap()
        };
        let pairs = tensor(&[3, 2], &[1, 2, 3, 4, 5, 6]);
        assert_eq!(permute("NDHWC", "NCWHD", pairs), [5, 6, 3, 4, 1, 2]);
        assert_eq!(permute("HWNC", "WHNC", tensor(&[2], &[4, 9])), [9, 4]);
        let error = run(&VEC_PERMUTE, &attrs("ABCD", "DCBA"), &[tensor(&[2], &[4, 9])]).unwrap_err();
        assert!(error.message().contains("src_format must have the letters H and W"));
        let error = run(&VEC_PERMUTE, &Attrs::new(), &[tensor(&[3], &[1, 2, 3])]).unwrap_err();
        assert!(error.message().contains("x must have sizes [4], [2], [4, 2] or [2, 2], got [3]"));
    }
}
