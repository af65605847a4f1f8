//! Translates attributes of a TensorFlow node to attributes of this crate. The node is in a [`Frame`]: the nodes of the
//! main graph or of one function.

use shapeflow_shape_fns::{Attr, Attrs, Dim, PartialElements, TensorShape};

use super::super::limits::Budget;
use super::super::proto::{AttrKind, ListValue};
use super::super::signature::OpSignature;
use super::super::{OWN_ATTR, OWN_PARAM, constant, shape};
use super::frame::{Frame, damaged};
use crate::error::Result;
use crate::op::dtype_number::dtype_of;

/// Returns the attributes of a node under TensorFlow's names, without attributes that the inputs determine. TensorFlow
/// ignores attributes that its op does not declare, and so does this function.
///
/// # Errors
/// A shape attribute is invalid, or the call of the function does not give the value of an attribute.
pub(super) fn tensorflow_attrs(
    frame: &Frame<'_, '_>,
    node: usize,
    signature: Option<&OpSignature>,
    budget: &Budget,
) -> Result<Attrs> {
    let mut attrs = Attrs::new();
    let Some(def) = frame.nodes.get(node) else { return Ok(attrs) };
    for (name, value) in &def.attr {
        let declared = signature.map(|signature| signature.attr(name));
        let is_ignored = matches!(declared, Some(None))
            || signature.is_some_and(|signature| signature.inputs_determine(name));
        if name.starts_with('_') || is_ignored {
            continue;
        }
        let kind = declared.flatten().map(|attr| attr.kind);
        match (frame.resolve(value), &value.value) {
            (Some(value), _) => {
                if let Some(attr) = attr_of(value, kind, budget)? {
                    attrs.insert(name.clone(), attr);
                }
            }
            (None, Some(AttrKind::Placeholder(given))) => {
                return damaged(format!("the call must give the attribute {given}, which is {name} here"));
            }
            (None, _) => {}
        }
    }
    // If the node lacks a type attribute, this adds TensorFlow's default, because this crate's op may have another
    // default.
    for attr in signature.iter().flat_map(|signature| &signature.attrs) {
        if attr.kind == "type"
            && !def.attr.contains_key(attr.name)
            && !signature.is_some_and(|signature| signature.inputs_determine(attr.name))
            && let Some(dtype) = attr.default.and_then(|text| text.parse().ok())
        {
            attrs.insert(attr.name, Attr::DType(dtype));
        }
    }
    Ok(attrs)
}

/// Translates an attribute; `None` for a kind that no op of this crate reads. An empty list gets its element type from
/// `kind`, the declared kind of the attribute.
///
/// A float keeps the value of the f32 in the model, also for an op on f64: TensorFlow computes with 0.20000000298 where
/// the program said 0.2.
fn attr_of(value: &AttrKind, kind: Option<&str>, budget: &Budget) -> Result<Option<Attr>> {
    Ok(match value {
        AttrKind::S(bytes) => Some(Attr::of_bytes(bytes)),
        AttrKind::I(value) => Some(Attr::Int(*value)),
        AttrKind::F(value) => Some(Attr::Float(f64::from(*value))),
        AttrKind::B(value) => Some(Attr::Bool(*value)),
        AttrKind::Type(number) => dtype_of(*number).map(Attr::DType),
        AttrKind::Shape(proto) => Some(Attr::Shape(shape::from_proto(proto, budget)?)),
        AttrKind::List(list) => list_of(list, kind, budget)?,
        AttrKind::Tensor(_) | AttrKind::Placeholder(_) | AttrKind::Func(_) => None,
    })
}

fn list_of(list: &ListValue, kind: Option<&str>, budget: &Budget) -> Result<Option<Attr>> {
    let is_declared = kind.is_some();
    let kind = match kind {
        _ if !list.i.is_empty() => "list(int)",
        _ if !list.f.is_empty() => "list(float)",
        _ if !list.s.is_empty() => "list(string)",
        _ if !list.b.is_empty() => "list(bool)",
        _ if !list.r#type.is_empty() => "list(type)",
        _ if !list.shape.is_empty() => "list(shape)",
        kind => kind.unwrap_or("list(int)"),
    };
    Ok(match kind {
        "list(int)" => Some(Attr::Ints(list.i.as_slice().into())),
        "list(float)" => Some(Attr::Floats(list.f.iter().map(|value| f64::from(*value)).collect())),
        "list(string)" => Some(Attr::of_byte_strings(&list.s)),
        "list(bool)" => Some(Attr::Bools(list.b.as_slice().into())),
        "list(type)" => {
            let dtypes: Option<Vec<_>> = list.r#type.iter().map(|number| dtype_of(*number)).collect();
            dtypes.map(|dtypes| Attr::DTypes(dtypes.into()))
        }
        "list(shape)" => {
            let shape = |proto| {
                let shape = shape::from_proto(proto, budget)?;
                Ok(if is_declared { with_unknown_as_minus_one(&shape) } else { shape })
            };
            let shapes: Result<Vec<_>> = list.shape.iter().map(shape).collect();
            Some(Attr::Shapes(shapes?.into()))
        }
        _ => None,
    })
}

/// Returns a shape with -1 in place of each unknown size. An op that reads a list of shapes takes -1 for an unknown
/// size. A symbol in this place would need a value in every run.
fn with_unknown_as_minus_one(shape: &TensorShape) -> TensorShape {
    let size = |size: &Dim| if size.as_known().is_some() { size.clone() } else { Dim::known(-1) };
    shape.dims().map_or(TensorShape::unranked(), |sizes| TensorShape::new(sizes.iter().map(size)))
}

/// Returns the attributes and parameters that this crate's export added under this crate's names. These attributes and
/// parameters take precedence over TensorFlow's attributes, which may have fewer bits or fewer elements.
///
/// # Errors
/// An added attribute is invalid.
pub(super) fn exported_attrs(frame: &Frame<'_, '_>, node: usize, budget: &Budget) -> Result<Attrs> {
    let mut attrs = Attrs::new();
    let Some(def) = frame.nodes.get(node) else { return Ok(attrs) };
    for (name, value) in &def.attr {
        let Some(value) = frame.resolve(value) else { continue };
        if let Some(name) = name.strip_prefix(OWN_PARAM) {
            if let AttrKind::List(list) = value
                && let Some(elements) = elements_of(list)
            {
                attrs.insert(name.to_string(), elements);
            }
        } else if let Some(name) = name.strip_prefix(OWN_ATTR) {
            let attr = match value {
                AttrKind::Tensor(proto) => {
                    let tensor = constant::from_proto(proto, &mut budget.clone())?;
                    match tensor.sizes() {
                        [] => tensor.item::<f64>().ok().map(Attr::Float),
                        _ => tensor.to_vec::<f64>().ok().map(|values| Attr::Floats(values.into())),
                    }
                }
                value => attr_of(value, None, budget)?,
            };
            if let Some(attr) = attr {
                attrs.insert(name.to_string(), attr);
            }
        }
    }
    Ok(attrs)
}

/// Reads the elements of a parameter from the form that the export writes: the sizes as integers, and each element as
/// text.
fn elements_of(list: &ListValue) -> Option<PartialElements> {
    let sizes: Vec<usize> = list.i.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<_>>()?;
    let element = |text: &prost::bytes::Bytes| std::str::from_utf8(text).ok()?.parse::<Dim>().ok();
    let dims: Vec<Dim> = list.s.iter().map(element).collect::<Option<_>>()?;
    PartialElements::with_sizes(&sizes, dims).ok()
}
