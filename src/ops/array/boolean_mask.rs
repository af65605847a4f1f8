//! `boolean_mask`: selects the slices whose flag is set.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::in_tensorflow;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfFunction};
use crate::tensor::TensorView;
use crate::tiles;

use super::axis::given_axis;
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Selects the slices of `self` whose flag in `mask` is set. The slices keep their order.
    ///
    /// `[a.., m.., b..], mask bool[m..] -> [a.., ?, b..]`, any dtype. The axes of `mask` match the axes of `self` from
    /// `axis` on. The result has one axis in place of the matched axes, and its size depends on the flags. A negative
    /// `axis` counts from the end. As TensorFlow's `tf.boolean_mask`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let elements = g.constant([0, 1, 2, 3])?.boolean_mask(g.constant([true, false, true, false])?, 0)?;
    /// let rows = g.constant([[1, 2], [3, 4], [5, 6]])?.boolean_mask(g.constant([true, false, true])?, 0)?;
    /// let [elements, rows] = g.compile([elements, rows])?.run(&[])?;
    /// assert_eq!(elements, Tensor::from([0, 2]));
    /// assert_eq!(rows, Tensor::from([[1, 2], [5, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `mask` is not bool, has rank 0 or unknown rank, or differs in its dimensions from the matched axes of `self`.
    #[doc(alias = "masked_select")]
    #[doc(alias = "compress")]
    #[track_caller]
    pub fn boolean_mask(self, mask: Value<'g>, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).data(mask).int_attr("axis", axis).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("boolean_mask", run)
    .attrs(&[Attribute::int_or("axis", 0)])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::boolean_mask))
    .operands(&[Operand::Data("x"), Operand::Data("mask")])
    .shape_fn(shapeflow_shape_fns::array::boolean_mask)
    .dtype_rule(dtypes)
    .takes_handles(StringHandles::Any);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    if let Some(other) = operands.get(1).filter(|dtype| **dtype != DType::Bool) {
        return dtype::refuse_with_help(
            format!("the mask must be bool, got {other}"),
            "compare it with .not_equal(0)".to_string(),
        );
    }
    Ok(vec![dtype::common(operands, 0, 1, dtype::Class::Any)?])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, mask) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let axis = given_axis(cx, 2, x.view().sizes().len())?.unwrap_or(0);
    select(cx, x.view(), mask.view(), axis)
}

fn select(cx: &mut HostCx<'_>, x: TensorView<'_>, mask: TensorView<'_>, axis: usize) -> Result<()> {
    let end = axis + mask.sizes().len();
    if x.sizes().get(axis..end) != Some(mask.sizes()) || mask.sizes().is_empty() {
        let message = format!(
            "the mask must have the sizes of the tensor from axis {axis} on, got {:?} for {:?}",
            mask.sizes(),
            x.sizes()
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let flags = mask.as_slice::<bool>()?;
    let picked = tiles::count(flags);
    let (outer, inner) = (&x.sizes()[..axis], &x.sizes()[end..]);
    let sizes = [outer, &[picked], inner].concat();
    let mut output = cx.unfilled_output(0, &sizes)?;
    if output.is_empty() {
        return Ok(());
    }
    // The result has elements, so no size is 0 and the divisions are exact.
    let source = x.bytes();
    let row = source.len() / x.len() * inner.iter().product::<usize>();
    let target = output.bytes_mut();
    for (from, to) in source.chunks_exact(row * flags.len()).zip(target.chunks_exact_mut(row * picked)) {
        match row {
            1 => pick::<1>(from, to, flags),
            2 => pick::<2>(from, to, flags),
            4 => pick::<4>(from, to, flags),
            8 => pick::<8>(from, to, flags),
            16 => pick::<16>(from, to, flags),
            _ => copy_runs(from, to, flags, row),
        }
    }
    Ok(())
}

/// Copies the elements of `N` bytes whose flag is set.
fn pick<const N: usize>(from: &[u8], to: &mut [u8], flags: &[bool]) {
    tiles::compress(from.as_chunks::<N>().0, flags, to.as_chunks_mut::<N>().0);
}

/// Copies the rows of `row` bytes whose flag is set. Adjacent rows are copied together.
fn copy_runs(from: &[u8], to: &mut [u8], flags: &[bool], row: usize) {
    let mut done = 0;
    let mut start = 0;
    while let Some(begin) = flags[start..].iter().position(|&flag| flag).map(|ahead| start + ahead) {
        let end = flags[begin..].iter().position(|&flag| !flag).map_or(flags.len(), |ahead| begin + ahead);
        let bytes = (end - begin) * row;
        to[done..done + bytes].copy_from_slice(&from[begin * row..end * row]);
        done += bytes;
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OutputAllocator;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"axis": 0},
        "[n, 3]; bool[n]" => "[?, 3]",
        "[n, 3, m]; bool[?, 3]" => "[?, m]",
        "[n]; [n]" => error "the mask must be bool, got f32",
        "[4]; bool[3]" => error "",
        "[4]; bool[]" => error "",
    }
    shape_table! { inner: DEF, {"axis": 1},
        "[n, 3, m]; bool[3]" => "[n, ?, m]",
    }

    #[test]
    fn masks_of_every_density_select_rows_of_every_width() {
        for row in [1usize, 2, 3, 5] {
            for period in [1, 2, 3, 64, 1000] {
                let flags: Vec<bool> = (0..300usize).map(|i| i % period == 0).collect();
                let x: Vec<u16> = (0..300 * row as u16).collect();
                let expected: Vec<u16> = x
                    .chunks(row)
                    .zip(&flags)
                    .filter(|(_, flag)| **flag)
                    .flat_map(|(row, _)| row.to_vec())
                    .collect();
                let y = run_one(&DEF, &Attrs::new(), &[tensor(&[300, row], &x), tensor(&[300], &flags)]);
                assert_eq!(y.sizes(), [expected.len() / row, row]);
                assert_eq!(y.to_vec::<u16>().unwrap(), expected);
            }
        }
    }

    #[test]
    fn strings_are_selected() {
        let x = Tensor::from_strings(&[2, 2], &["a", "b", "c", "d"]).unwrap();
        let y = run_one(&DEF, &Attrs::new().with("axis", -1), &[x, tensor(&[2], &[false, true])]);
        assert_eq!((y.sizes(), y.as_strings().unwrap().at(1)), (&[2, 1][..], &b"d"[..]));
    }

    #[test]
    fn the_run_checks_the_sizes_of_the_mask() {
        let mask = tensor(&[2], &[true, false]);
        let attrs = Attrs::new();
        let cx = &mut HostCx::new(&[], &attrs, [DType::U8].into_iter(), OutputAllocator::default());
        let error = select(cx, tensor(&[3], &[1u8, 2, 3]).view(), mask.view(), 0).unwrap_err();
        assert_eq!(
            error.message(),
            "the mask must have the sizes of the tensor from axis 0 on, got [2] for [3]"
        );
    }
}
