//! `sobol`: points of a Sobol sequence.

use std::sync::OnceLock;

use shapeflow_shape_fns::{Attribute, DType};
use sobol::Sobol;
use sobol::params::JoeKuoD6;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::graph::{Graph, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;

/// The greatest dimension of a point.
const MAX_DIM: usize = 21_200;

/// The dimensions for which the small table has direction numbers.
const STANDARD_DIMS: usize = 1000;

/// The bits of a coordinate. The numbers of points stay below `2^BITS`.
const BITS: usize = 31;

impl Graph {
    /// Makes points of the Sobol sequence, which fill the unit cube more evenly than random points do.
    ///
    /// `dim [], num_results [], skip [] -> [num_results, dim]`; the result is f32 or f64 in [0, 1), except that a
    /// coordinate of f32 rounds to 1 after more than 2^24 points. `dim` is at most 21,200. The first point is all 0.5;
    /// `skip` leaves out that many points. The direction numbers are new-joe-kuo-6 (Joe and Kuo, "Constructing Sobol
    /// sequences with better two-dimensional projections", 2008). As TensorFlow's `SobolSample`; unlike there, `dim`
    /// and `num_results` may be 0, and no point after the first 2^30 is negative. Runs on the host. Needs the feature
    /// `sobol`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let points = g.sobol(2, 3, 0, DType::F32)?;
    /// let [points] = g.compile(points)?.run(&[])?;
    /// assert_eq!(points, Tensor::from([[0.5f32, 0.5], [0.75, 0.25], [0.25, 0.75]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A parameter is negative, or `dtype` is neither f32 nor f64. The run fails if `dim` is more than 21,200, or
    /// `num_results + skip` is 2^31 - 1 or more.
    #[doc(alias = "sobol_sample")]
    #[doc(alias = "SobolEngine")]
    #[doc(alias = "quasirandom")]
    #[track_caller]
    pub fn sobol<'g>(
        &'g self,
        dim: impl IntoParam<'g>,
        num_results: impl IntoParam<'g>,
        skip: impl IntoParam<'g>,
        dtype: DType,
    ) -> Result<Value<'g>> {
        let call = self.op(&DEF).size("dim", dim).size("num_results", num_results).size("skip", skip);
        call.attr("dtype", dtype).finish()
    }
}

pub(crate) static ALL: &[&OpDef] = &[&DEF];

static DEF: OpDef = OpDef::host("sobol", run)
    .attrs(&[Attribute::dtype_or("dtype", DType::F32)])
    .operands(&[Operand::Size("dim"), Operand::Size("num_results"), Operand::Size("skip")])
    .shape_fn(shapeflow_shape_fns::random::sobol)
    .dtype_rule(|operands, attrs| {
        dtype::check_indices(operands, 0)?;
        match attrs.dtype("dtype") {
            float @ (DType::F32 | DType::F64) => Ok(vec![float]),
            other => dtype::refuse(format!("dtype must be f32 or f64, got {other}")),
        }
    })
    .tensorflow(&[TfOp::new("SobolSample")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let scalar = |name, operand| -> Result<usize> {
        Ok(param_sizes(cx, name, operand)?.first().copied().unwrap_or(0))
    };
    let (dim, count, skip) = (scalar("dim", 0)?, scalar("num_results", 1)?, scalar("skip", 2)?);
    let refuse = |message| Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    if dim > MAX_DIM {
        return refuse(format!("dim must be at most {MAX_DIM}, got {dim}"));
    }
    // Without coordinates or points, no direction number is needed.
    if dim > 0 && count > 0 && count.saturating_add(skip) >= (1 << BITS) - 1 {
        return refuse(format!("num_results + skip must be less than 2147483647, got {count} + {skip}"));
    }
    let mut output = cx.unfilled_output(0, &[count, dim])?;
    if dim == 0 || count == 0 {
        return Ok(());
    }
    let dtype = output.dtype();
    let bytes = dtype.size_bytes().expect("f32 and f64 have a size");
    let directions = Sobol::<f32>::init_direction_vals::<u32>(dim, BITS, parameters(dim));
    // The bits of coordinate `i` of point `n` are the xor of the direction numbers of the bits of `n`'s Gray code.
    let gray = |point: usize| point ^ (point >> 1);
    let first = gray(skip + 1);
    let mut point: Vec<u32> = directions.iter().map(|numbers| xor_of(numbers, first)).collect();
    let rows = output.bytes_mut().chunks_exact_mut(bytes * dim);
    for (row, number) in rows.zip(skip + 1..) {
        for (slot, coordinate) in row.chunks_exact_mut(bytes).zip(&point) {
            let fraction = f64::from(*coordinate) / 2f64.powi(32);
            eval_cast(Scalar::F64(fraction), dtype).write_bytes(slot).expect("a slot holds one element");
        }
        // The Gray codes of consecutive numbers differ in one bit.
        let bit = (gray(number) ^ gray(number + 1)).trailing_zeros() as usize;
        for (coordinate, numbers) in point.iter_mut().zip(&directions) {
            *coordinate ^= numbers[bit];
        }
    }
    Ok(())
}

/// Returns the xor of the direction numbers at the bits of `mask`.
fn xor_of(numbers: &[u32], mask: usize) -> u32 {
    numbers
        .iter()
        .enumerate()
        .filter(|(bit, _)| mask >> bit & 1 == 1)
        .fold(0, |all, (_, number)| all ^ number)
}

/// Returns the parameters of at least `dim` dimensions. The table of all dimensions takes tens of milliseconds to read,
/// and is read once.
fn parameters(dim: usize) -> &'static JoeKuoD6 {
    static STANDARD: OnceLock<JoeKuoD6> = OnceLock::new();
    static EXTENDED: OnceLock<JoeKuoD6> = OnceLock::new();
    match dim <= STANDARD_DIMS {
        true => STANDARD.get_or_init(JoeKuoD6::standard),
        false => EXTENDED.get_or_init(JoeKuoD6::extended),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "dim=i32[]; num_results=i32[]; skip=i32[]" => "f32[?, ?]",
        "dim=i32[1]; num_results=i32[]; skip=i32[]" => error "dim must be one integer, got rank 1",
    }

    #[test]
    fn points_continue_after_those_that_are_skipped() -> Result<()> {
        let g = Graph::new();
        let all = g.sobol(1200, 20, 0, DType::F64)?;
        let last = g.sobol(1200, 7, 13, DType::F64)?;
        let [all, last] = g.compile([all, last])?.run(&[])?;
        assert_eq!(all.as_slice::<f64>()?[13 * 1200..], *last.as_slice::<f64>()?);
        Ok(())
    }

    #[test]
    fn numbers_beyond_the_tables_are_refused() -> Result<()> {
        let refused = |dim: i64, count: i64, skip: i64| -> Result<String> {
            let g = Graph::new();
            let points = g.sobol(dim, count, skip, DType::F32)?;
            Ok(g.compile(points)?.run::<1>(&[]).unwrap_err().message().to_string())
        };
        assert!(refused(21_201, 1, 0)?.ends_with("dim must be at most 21200, got 21201"));
        let expected = "num_results + skip must be less than 2147483647, got 2 + 2147483645";
        assert!(refused(1, 2, (1 << 31) - 3)?.ends_with(expected));
        Ok(())
    }
}
