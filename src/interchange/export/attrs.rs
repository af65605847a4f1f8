//! Translates attributes of this crate to attributes of a NodeDef, the protobuf message in which TensorFlow stores a
//! node.

use prost::bytes::Bytes;
use shapeflow_shape_fns::{Attr, PartialElements};

use super::super::proto::{AttrKind, ListValue, NodeDef};
use super::super::{OWN_ATTR, OWN_PARAM, constant, shape};
use super::put;
use crate::error::Result;
use crate::op::dtype_number::number_of;
use crate::tensor::Tensor;

/// Adds an attribute under the prefix [`OWN_ATTR`] and the attribute's name in this crate. The import reads the
/// attribute back.
pub(super) fn add_own(def: &mut NodeDef, name: &str, attr: &Attr) -> Result<()> {
    if let Attr::Elements(elements) = attr {
        add_own_elements(def, name, elements);
        return Ok(());
    }
    let kind = match attr {
        Attr::Float(value) => AttrKind::Tensor(Box::new(constant::to_proto(&Tensor::scalar(*value))?)),
        // The floats of a list in a NodeDef have 32 bits.
        Attr::Floats(values) => {
            let tensor = Tensor::from_slice(&[values.len()], values)?;
            AttrKind::Tensor(Box::new(constant::to_proto(&tensor)?))
        }
        attr => match value_of(attr) {
            Some(kind) => kind,
            None => return Ok(()),
        },
    };
    put(def, &format!("{OWN_ATTR}{name}"), kind);
    Ok(())
}

/// Adds a parameter that is an attribute in this crate and an input in TensorFlow. The import reads it back.
pub(super) fn add_own_elements(def: &mut NodeDef, name: &str, elements: &PartialElements) {
    let list = ListValue {
        i: elements.sizes().iter().map(|size| *size as i64).collect(),
        s: elements.elements().iter().map(|element| Bytes::from(element.to_string())).collect(),
        ..ListValue::default()
    };
    put(def, &format!("{OWN_PARAM}{name}"), AttrKind::List(list));
}

/// Returns an attribute as a protobuf value; `None` for [`Attr::Elements`].
pub(super) fn value_of(attr: &Attr) -> Option<AttrKind> {
    let empty = ListValue::default;
    let list = |list: ListValue| Some(AttrKind::List(list));
    let text = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    match attr {
        Attr::Bool(value) => Some(AttrKind::B(*value)),
        Attr::Int(value) => Some(AttrKind::I(*value)),
        Attr::Float(value) => Some(AttrKind::F(*value as f32)),
        Attr::DType(dtype) => Some(AttrKind::Type(number_of(*dtype))),
        Attr::Str(value) => Some(AttrKind::S(text(value))),
        Attr::Bytes(value) => Some(AttrKind::S(Bytes::copy_from_slice(value))),
        Attr::Shape(value) => Some(AttrKind::Shape(shape::to_proto(value))),
        Attr::Ints(values) => list(ListValue { i: values.to_vec(), ..empty() }),
        Attr::Floats(values) => {
            list(ListValue { f: values.iter().map(|value| *value as f32).collect(), ..empty() })
        }
        Attr::Bools(values) => list(ListValue { b: values.to_vec(), ..empty() }),
        Attr::Strs(values) => {
            list(ListValue { s: values.iter().map(|value| text(value)).collect(), ..empty() })
        }
        Attr::ByteStrings(values) => list(ListValue {
            s: values.iter().map(|value| Bytes::copy_from_slice(value)).collect(),
            ..empty()
        }),
        Attr::DTypes(values) => {
            list(ListValue { r#type: values.iter().map(|dtype| number_of(*dtype)).collect(), ..empty() })
        }
        Attr::Shapes(values) => {
            list(ListValue { shape: values.iter().map(shape::to_proto).collect(), ..empty() })
        }
        _ => None,
    }
}

/// Returns an attribute as a protobuf value of `kind`, which TensorFlow declares; `None` if the attribute has another
/// kind.
pub(super) fn of_kind(attr: &Attr, kind: &str) -> Option<AttrKind> {
    if let (Attr::Elements(elements), "int" | "list(int)") = (attr, kind) {
        let known = elements.as_known()?;
        return match (kind, known.as_slice()) {
            ("int", [value]) if elements.rank() == 0 => Some(AttrKind::I(*value)),
            ("list(int)", values) => {
                Some(AttrKind::List(ListValue { i: values.to_vec(), ..ListValue::default() }))
            }
            _ => None,
        };
    }
    let fits = match (attr, kind) {
        (Attr::Bool(_), "bool")
        | (Attr::Int(_), "int")
        | (Attr::Float(_), "float")
        | (Attr::DType(_), "type")
        | (Attr::Str(_) | Attr::Bytes(_), "string")
        | (Attr::Shape(_), "shape")
        | (Attr::Ints(_), "list(int)")
        | (Attr::Floats(_), "list(float)")
        | (Attr::Bools(_), "list(bool)")
        | (Attr::Strs(_) | Attr::ByteStrings(_), "list(string)")
        | (Attr::DTypes(_), "list(type)")
        | (Attr::Shapes(_), "list(shape)") => true,
        (Attr::Int(value), "list(int)") => {
            let list = ListValue { i: vec![*value], ..ListValue::default() };
            return Some(AttrKind::List(list));
        }
        _ => false,
    };
    if fits { value_of(attr) } else { None }
}
