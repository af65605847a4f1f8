//! Constants and placeholders: ops whose shape is an attribute.

use crate::error::bail;
use crate::{Attr, InferenceContext, Result, ShapeError, TensorShape};

/// Sets the output to the shape in attribute `shape`, or leaves it unranked if the attribute is absent. Unknown
/// dimensions become fresh symbols.
///
/// # Errors
/// The attribute is not a shape.
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

/// Sets the output to the shape in attribute `shape`. The operand is the default value.
///
/// # Errors
/// The operand's shape provably differs from the attribute.
pub fn placeholder_with_default(cx: &mut InferenceContext<'_>) -> Result<()> {
    placeholder(cx)?;
    let (shape, default) = (cx.output(0).clone(), cx.input(0).clone());
    if !shape.is_compatible_with(&default) {
        return Err(ShapeError::new(format_args!(
            "the default value must be compatible with the shape, got {default} for {shape}"
        ))
        .operand(0));
    }
    Ok(())
}

/// Sets the output to the shape in attribute `value`. If the attribute holds elements, sets the shape and the elements
/// of the output.
///
/// # Errors
/// The attribute is absent, it is neither a shape nor elements, or the shape is not fully known.
pub fn constant(cx: &mut InferenceContext<'_>) -> Result<()> {
    match cx.attr("value") {
        Some(Attr::Shape(shape)) if shape.is_fully_defined() => cx.set_output(0, shape.clone()),
        Some(Attr::Shape(shape)) => bail!("a constant must have a fully known shape, got {shape}"),
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

    shape_table! { placeholders: placeholder, [];
        {shape: shape!["n", 3]} "" => "[n, 3]";
        {shape: shape![?, 3]} "" => "[?, 3]";
        {} "" => "?";
        {shape: 3} "" => "error shape must be a shape, got an integer (3)";
    }
    shape_table! { placeholders_with_default: placeholder_with_default, ["input"];
        {shape: shape!["n", 4]} "[3, ?]" => "[n, 4]";
        {shape: shape![5, 4]} "[3, ?]" => "error the default value must be compatible with the shape, got [3, ?] for [5, 4]";
    }
    shape_table! { constants: constant, [];
        {value: shape![2, 3]} "" => "[2, 3]";
        {value: PartialElements::known(&[4, 5])} "" => "[2] = [4, 5]";
        {value: shape![2, ?]} "" => "error a constant must have a fully known shape, got [2, ?]";
        {} "" => "error value must be given: it is elements or their shape";
    }
}
