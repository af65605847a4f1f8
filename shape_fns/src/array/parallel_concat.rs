//! `parallel_concat(values..)`: rows joined, each of which is a tensor.

use crate::{Attr, Dim, InferenceContext, Result, ShapeError, TensorShape};

/// The shape of attribute `shape`; every value has it but for one row.
///
/// # Errors
/// `shape` is absent or no shape, or a value has provably another one.
pub fn parallel_concat(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = match cx.attr("shape") {
        Some(Attr::Shape(shape)) => shape.clone(),
        _ => return Err(ShapeError::new("shape must be given: it is a shape")),
    };
    let shape = cx.table().import(&shape);
    if let Some(dims) = shape.dims() {
        let row = TensorShape::new([Dim::known(1)])
            .concatenate(&TensorShape::from(dims.get(1..).unwrap_or_default()));
        for index in 0..cx.len() {
            let own = cx.input(index).clone();
            cx.merge_shapes(&own, &row).map_err(|_| {
                ShapeError::new(format_args!("values must be rows of the shape, got {own} for {shape}"))
                    .operand(index)
            })?;
        }
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parallel_concat;
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { shapes: parallel_concat, ["values.."];
        {shape: shape![2, 3]} "[1, 3]; [?, 3]" => "[2, 3]";
        {shape: shape![2, 3]} "[1, 3]; [2, 3]" => "error values must be rows of the shape, got [2, 3] for [2, 3]";
    }
}
