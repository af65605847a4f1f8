//! `concat(values, axis)`: joins tensors along an existing axis.

use super::propagate::{element_at, propagate_elements};
use crate::error::bail;
use crate::shape::advice;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `[a, n], [b, n], axis=0 -> [a+b, n]`: adds the dimensions along `axis` and unifies all others. If `axis` is unknown,
/// only the rank of the output is known. Sets the derived parameters `axis`, counted from the front, and `start`: the
/// index along the axis at which each operand begins in the output.
///
/// # Errors
/// The ranks differ or are 0, `axis` is outside the rank, or dimensions along another axis provably differ.
pub fn concat(cx: &mut InferenceContext<'_>) -> Result<()> {
    let members = cx.operands_named("values");
    if members.is_empty() {
        bail!("concat must have at least one operand, got none");
    }
    let ranked = members.clone().find_map(|index| Some((index, cx.input(index).rank()?)));
    let Some((first, rank)) = ranked else {
        cx.param_scalar("axis")?;
        return Ok(());
    };
    for index in members.clone() {
        match cx.input(index).rank() {
            Some(0) => {
                return Err(
                    cx.blame(index, "must have an axis to join along, got a scalar (stack joins scalars)")
                );
            }
            Some(other) if other != rank => {
                let shape = cx.input(first);
                return Err(cx.blame(
                    index,
                    format_args!(
                        "must have rank {rank} like operand {first}, {shape}, got rank {other} in {}",
                        cx.input(index)
                    ),
                ));
            }
            _ => {}
        }
    }
    let Some(axis) = cx.param_axis("axis", rank)? else {
        let output = match members.len() {
            1 => cx.input(first).clone(),
            _ => cx.unknown_shape_of_rank(rank),
        };
        cx.set_output(0, output);
        return Ok(());
    };
    cx.set_derived("axis", [Dim::known(axis as i64)]);
    let mut dims = cx.input(first).dims().unwrap_or_default().to_vec();
    let mut length = Some(Dim::known(0));
    let mut starts = Vec::with_capacity(members.len());
    for index in members.clone() {
        let shape = cx.input(index).clone();
        let Some(member_dims) = shape.dims() else {
            length = None;
            continue;
        };
        for (position, (dim, member_dim)) in dims.iter_mut().zip(member_dims).enumerate() {
            if position == axis {
                if let Some(sum) = length.take() {
                    starts.push(sum.clone());
                    length = Some(cx.add(&sum, member_dim)?);
                }
            } else if dim != member_dim {
                *dim = cx.merge(dim, member_dim).map_err(|_| {
                    let other = advice::concat_axis(cx.input(first), &shape);
                    ShapeError::new(format_args!(
                        "all dimensions except axis {axis} must agree, got {dim} and {member_dim} at axis {position}"
                    ))
                    .with_help_if(
                        other.map(|axis| format!("join along axis {axis}, the only one that differs")),
                    )
                    .operand(index)
                })?;
            }
        }
    }
    if length.is_some() {
        cx.set_derived("start", starts);
    }
    dims[axis] = length.unwrap_or_else(|| cx.fresh());
    cx.set_output(0, TensorShape::from(dims));
    propagate_joined(cx, axis);
    Ok(())
}

/// Sets the output's elements if an operand's elements are tracked and all sizes along the axis are known.
fn propagate_joined(cx: &mut InferenceContext<'_>, axis: usize) {
    let members = cx.operands_named("values");
    if !members.clone().any(|index| cx.input_value(index).is_some()) {
        return;
    }
    let member = |index: usize| {
        let size = cx.input(index).dims()?.get(axis)?.as_known()?;
        Some((usize::try_from(size).ok()?, cx.input_value(index).cloned()))
    };
    let Some(parts) = members.map(member).collect::<Option<Vec<_>>>() else { return };
    propagate_elements(cx, 0, |index| {
        let mut source = index.to_vec();
        for (size, value) in &parts {
            let position = source.get_mut(axis)?;
            if *position < *size {
                return element_at(value.as_ref()?, source);
            }
            *position -= size;
        }
        None
    });
}

#[cfg(test)]
mod tests {
    use super::concat;
    use crate::testing::shape_table;
    use crate::{Attrs, DType, DimTable, InferenceContext, OperandInfo, TensorShape, shape};

    shape_table! { shapes: concat, ["values..", "axis"];
        {axis: 0} "[a, 3]; [b, 3]" => "[a+b, 3]";
        {axis: -1} "[2, 3]; [?, 4]" => "[2, 7]";
        {axis: 0} "[a, n]; [b, m]" => "[a+b, n]";
        {axis: 1} "[?, 3]; [?, 3]" => "[d0_0, 6]";
        {axis: 0} "[2, n]; ?" => "[?, n]";
        {axis: 0} "?; ?" => "?";
        {} "[a, 3]; [b, 3]; i32 []" => "[?, ?]";
        {} "[a, 3]; [b, 3]; [] = 0" => "[a+b, 3]";
        {axis: 0} "[n]" => "[n]";
        {axis: 0} "i32 [2] = [1, n]; [1] = [?]" => "[3] = [1, n, v1_0]";
        {axis: 1} "i32 [2, 1] = [1, n]; i32 [2, 1]; i32 [2, 1] = [3, m]" => "[2, 3] = [1, ?, 3, n, ?, m]";
        {axis: 0} "[a, 3]; [b, 4]" => "error all dimensions except axis 0 must agree, got 3 and 4 at axis 1";
        {axis: 0} "[]; []" => "error operand 0 must have an axis to join along";
        {axis: 0} "[2]; [2, 3]" => "error operand 1 must have rank 1 like operand 0, [2], got rank 2 in [2, 3]";
        {axis: 2} "[2, 2]; [2, 2]" => "error axis must be in [-2, 2), got 2";
    }
    #[test]
    fn a_sum_of_more_operands_than_a_polynomial_has_terms_is_unknown() {
        let mut table = DimTable::in_definition_order();
        let shapes: Vec<TensorShape> = (0..70).map(|_| table.import(&shape![?])).collect();
        let operands: Vec<OperandInfo<'_>> =
            shapes.iter().map(|shape| OperandInfo { shape, dtype: DType::F32, value: None }).collect();
        let attrs = Attrs::new().with("axis", 0);
        let mut cx = InferenceContext::new(&["values.."], &operands, &attrs, &mut table, 1);
        concat(&mut cx).unwrap();
        let result = cx.finish().unwrap();
        let (_, starts) = result.derived().find(|(name, _)| *name == "start").unwrap();
        // The sum of 65 dimensions has too many terms and becomes a new symbol. When a graph runs, the library calls
        // `concat` with known sizes, which gives the symbol its value.
        let sum = starts[65].as_symbol().unwrap();
        assert!(starts[64].as_symbol().is_none() && starts[69].mentions(sum));
        assert!(result.shapes()[0].dims().unwrap()[0].mentions(sum));
    }

    shape_table! { axis_first: concat, ["axis", "values.."];
        {} "[] = 1; [2, n]; [2, m]" => "[2, m+n]";
    }
}
