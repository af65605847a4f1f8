//! Ops whose shape is an attribute: constants and placeholders.

use crate::error::bail;
use crate::{Attr, InferenceContext, Result, ShapeError, TensorShape};

/// The shape of attribute `shape`, unranked without one; unknown dimensions of it are new.
///
/// # Errors
/// The attribute is no shape.
pub fn placeholder(cx: &mut InferenceContext<'_>) -> Result<()> {
    let unranked = TensorShape::unranked();
    let shape = match cx.attr("shape") {
        Some(Attr::Shape(shape)) => shape,
        None => &unranked,
        Some(other) => bail!("shape must be a shape, got {} ({other})", other.kind()),
    };
    let shape = cx.table().import(shape);
    cx.set_output(0, shape);
    Ok(())
}

/// What attribute `shape` and the operand, which is the default, both say.
///
/// # Errors
/// The two provably differ.
pub fn placeholder_with_default(cx: &mut InferenceContext<'_>) -> Result<()> {
    placeholder(cx)?;
    let (shape, default) = (cx.output(0).clone(), cx.input(0).clone());
    if !shape.is_compatible_with(&default) {
        return Err(ShapeError::new(format_args!(
            "the default must fit the shape, got {default} for {shape}"
        ))
        .operand(0));
    }
    Ok(())
}

/// The shape of attribute `value`, and its elements where they are integers.
///
/// # Errors
/// The attribute is absent, neither a shape nor elements, or a shape that is not fully known.
pub fn constant(cx: &mut InferenceContext<'_>) -> Result<()> {
    match cx.attr("value") {
        Some(Attr::Shape(shape)) if shape.is_fully_defined() => cx.set_output(0, shape.clone()),
        Some(Attr::Shape(shape)) => bail!("a constant must have known sizes, got {shape}"),
        Some(Attr::Elements(elements)) => {
            cx.set_output(0, elements.shape());
            cx.set_output_value(0, elements.as_ref().clone());
        }
        Some(other) => bail!("value must be elements or their shape, got {} ({other})", other.kind()),
        None => bail!("value must be given: it is elements or their shape"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{constant, placeholder, placeholder_with_default};
    use crate::testing::shape_table;
    use crate::{PartialElements, shape};

    shape_table! { fed: placeholder, [];
        {shape: shape!["n", 3]} "" => "[n, 3]";
        {shape: shape![?, 3]} "" => "[?, 3]";
        {} "" => "?";
        {shape: 3} "" => "error shape must be a shape, got an integer (3)";
    }
    shape_table! { perhaps_fed: placeholder_with_default, ["input"];
        {shape: shape!["n", 4]} "[3, ?]" => "[n, 4]";
        {shape: shape![5, 4]} "[3, ?]" => "error the default must fit the shape, got [3, ?] for [5, 4]";
    }
    shape_table! { constants: constant, [];
        {value: shape![2, 3]} "" => "[2, 3]";
        {value: PartialElements::known(&[4, 5])} "" => "[2] = [4, 5]";
        {value: shape![2, ?]} "" => "error a constant must have known sizes, got [2, ?]";
        {} "" => "error value must be given: it is elements or their shape";
    }
}
