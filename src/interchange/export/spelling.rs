//! Exports a node with TensorFlow's spelling of its op: an op type, and the way in which its inputs and attributes
//! express the node.

use std::collections::BTreeMap;

use prost::bytes::Bytes;
use shapeflow_shape_fns::{Attr, DType, Dim, lookup};

use super::super::proto::{AttrKind, ListValue, NodeDef};
use super::super::signature::{Argument, ArgumentType, Attribute, OpSignature, signature};
use super::super::{ABSENT, FORWARDS, IMPLIED};
use super::attrs::{add_own, add_own_elements, of_kind};
use super::parameter::Parameter;
use super::{Exporter, PRODUCER, has_unnamed_sizes, node_def, put, typed_node};
use crate::error::Result;
use crate::graph::{Node, ValueIx};
use crate::op::dtype_number::number_of;
use crate::op::{Body, TfOp, spread_names};

/// The source of an input of the TensorFlow op: a value, or a parameter that is an attribute in this crate.
enum InputSource {
    Value(ValueIx),
    Parameter(&'static str, Parameter),
}

/// The inputs of a TensorFlow node before it is written.
struct Draft {
    /// The inputs, each with the argument that TensorFlow's signature declares for it.
    inputs: Vec<(Argument, InputSource)>,
    /// The inputs of the TensorFlow op that the node lacks. The export writes a default for each.
    absent: Vec<&'static str>,
}

impl Exporter<'_> {
    /// Exports the node with the first of TensorFlow's spellings that can express the node; `None` if no spelling can.
    pub(super) fn spelled(&mut self, node: &Node, name: &str) -> Result<Option<NodeDef>> {
        if let Body::ShapeOnly = node.op.body {
            return match node.op.operand_names() {
                Some(_) => self.spell(node, name, &TfOp::new(node.op.name())),
                None => Ok(None),
            };
        }
        for spelling in node.op.tensorflow_ops() {
            if let Some(def) = self.spell(node, name, spelling)? {
                return Ok(Some(def));
            }
        }
        Ok(None)
    }

    /// Exports the node with one spelling; `None` if the spelling cannot express it.
    fn spell(&mut self, node: &Node, name: &str, spelling: &TfOp) -> Result<Option<NodeDef>> {
        let (Some(signature), Some(row)) = (signature(spelling.op_type), lookup(spelling.op_type)) else {
            return Ok(None);
        };
        if signature.removed_in.is_some_and(|version| version <= PRODUCER) {
            return Ok(None);
        }
        if let Some(rank) = spelling.rank {
            let shape =
                |value: &ValueIx| self.data.table.resolve_shape(&self.data.values[value.index()].shape);
            if node.operands.iter().any(|value| shape(value).rank() != Some(rank)) {
                return Ok(None);
            }
        }
        if let Some((values, magnitude)) = spelling.magnitudes {
            let dtype = |operand: usize| node.operands.get(operand).map(|value| self.dtype(*value));
            if dtype(magnitude) != dtype(values).map(|dtype| dtype.part().unwrap_or(dtype)) {
                return Ok(None);
            }
        }
        if let Some(axis) = spelling.known_from {
            let is_known = |value: ValueIx| {
                let shape = self.data.table.resolve_shape(&self.data.values[value.index()].shape);
                shape.dims().is_some_and(|dims| dims.iter().skip(axis).all(Dim::is_known))
            };
            if !node.operands.iter().copied().chain(node.values()).all(is_known) {
                return Ok(None);
            }
        }
        let Some(draft) = self.draft(node, signature, row.operands, spelling) else { return Ok(None) };
        let Some(types) = self.type_attrs(node, signature, &draft) else { return Ok(None) };
        // TensorFlow refuses the dtype, or has no kernel for it.
        let is_taken =
            |(name, dtype): &(&&str, &DType)| signature.attr(name).is_none_or(|attr| attr.takes(**dtype));
        let refused = types.iter().find(|entry| !is_taken(entry)).map(|(_, dtype)| *dtype);
        let is_of_tensorflow = matches!(node.op.body, Body::ShapeOnly) && !self.is_function_of_op;
        if refused.is_some() && !is_of_tensorflow {
            self.refused = self.refused.or(refused);
            self.first_refused = self.first_refused.or(refused);
            return Ok(None);
        }
        let tensorflow_name_of = |own_name: &str| {
            let names = spelling.attrs.iter().chain(row.attrs);
            names
                .clone()
                .find(|(_, own)| *own == own_name)
                .map_or(own_name.to_string(), |(tensorflow_name, _)| (*tensorflow_name).to_string())
        };
        // A node without the attribute has this crate's default, which is not the value that this spelling implies.
        if spelling.implied.iter().any(|(own, _)| node.attrs().get(own).is_none()) {
            return Ok(None);
        }
        let mut def = node_def(spelling.op_type);
        let is_input = |name: &str| {
            draft
                .inputs
                .iter()
                .any(|(_, input)| matches!(input, InputSource::Parameter(own, _) if *own == name))
        };
        for (own_name, attr) in node.attrs().iter() {
            if matches!(node.op.body, Body::ShapeOnly) && own_name == "dtypes" {
                continue;
            }
            if is_input(own_name) {
                match attr.to_elements() {
                    // The import reads the input.
                    Some(elements) if has_unnamed_sizes(&elements) => {}
                    Some(elements) => add_own_elements(&mut def, own_name, &elements),
                    None => add_own(&mut def, own_name, attr)?,
                }
                continue;
            }
            if let Some((_, value)) =
                spelling.fixed.iter().chain(spelling.composite_attrs).find(|(own, _)| *own == own_name)
            {
                let known = attr.to_elements().and_then(|elements| elements.get(0)?.as_known());
                if known != Some(*value) {
                    return Ok(None);
                }
                add_own(&mut def, own_name, attr)?;
                continue;
            }
            if let Some((_, value)) = spelling.implied.iter().find(|(own, _)| *own == own_name) {
                if !matches!(attr, Attr::Str(given) if &**given == *value) {
                    return Ok(None);
                }
                continue;
            }
            let tensorflow_name = tensorflow_name_of(own_name);
            let declared = signature.attr(&tensorflow_name).map(|declared| declared.kind);
            match (declared, attr) {
                // TensorFlow's type attributes are in `types`. This crate's dtype attribute is added for the import.
                (Some("type"), Attr::DType(_)) => add_own(&mut def, own_name, attr)?,
                (Some(kind), attr) => match of_kind(attr, kind) {
                    Some(AttrKind::F(short)) if attr != &Attr::Float(f64::from(short)) => {
                        put(&mut def, &tensorflow_name, AttrKind::F(short));
                        add_own(&mut def, own_name, attr)?;
                    }
                    Some(kind) => {
                        put(&mut def, &tensorflow_name, kind);
                        if let Attr::Floats(values) = attr
                            && values
                                .iter()
                                .any(|value| (f64::from(*value as f32)).to_bits() != value.to_bits())
                        {
                            add_own(&mut def, own_name, attr)?;
                        }
                    }
                    None => return Ok(None),
                },
                (None, Attr::DType(_)) => add_own(&mut def, own_name, attr)?,
                (None, _) => return Ok(None),
            }
        }
        let mut implied = Vec::new();
        for (attr, dtype) in &types {
            put(&mut def, attr, AttrKind::Type(number_of(*dtype)));
            if !signature.inputs_determine(attr)
                || spelling.attrs.iter().any(|(tensorflow_name, _)| tensorflow_name == attr)
            {
                implied.push(Bytes::from((*attr).to_string()));
            }
        }
        if !implied.is_empty() && !matches!(node.op.body, Body::ShapeOnly) {
            put(&mut def, IMPLIED, AttrKind::List(ListValue { s: implied, ..ListValue::default() }));
        }
        if !draft.absent.is_empty() {
            let names = draft.absent.iter().map(|name| Bytes::from_static(name.as_bytes())).collect();
            put(&mut def, ABSENT, AttrKind::List(ListValue { s: names, ..ListValue::default() }));
        }
        self.add_counts(node, signature, &draft, &mut def);
        let needed = |attr: &&Attribute| attr.default.is_none() && !def.attr.contains_key(attr.name);
        if signature.attrs.iter().any(|attr| needed(&attr)) {
            return Ok(None);
        }
        let is_too_small = |attr: &Attribute| {
            let value = def.attr.get(attr.name).and_then(|attr| attr.value.as_ref());
            matches!((value, attr.minimum), (Some(AttrKind::I(value)), Some(minimum)) if *value < minimum)
        };
        if signature.attrs.iter().any(is_too_small) {
            return Ok(None);
        }
        for (argument, input) in draft.inputs {
            let wanted = match argument.dtype {
                ArgumentType::Fixed(dtype) => Some(dtype),
                ArgumentType::Attr(attr) => types.get(attr).copied(),
                ArgumentType::List(_) => None,
            };
            let tensor = match input {
                InputSource::Value(value) => {
                    let (mut tensor, own) = (self.tensor_name(value), self.dtype(value));
                    let shape = self.data.table.resolve_shape(&self.data.values[value.index()].shape);
                    if argument.is_vector && shape.rank() == Some(0) {
                        let sizes = self.known(name, &[1], &[1], DType::I32)?;
                        let types = [("T", own), ("Tshape", DType::I32)];
                        let mut reshape = typed_node("Reshape", vec![tensor, sizes], &types);
                        put(&mut reshape, FORWARDS, AttrKind::B(true));
                        tensor = self.auxiliary(&format!("{name}/{}", argument.name), reshape);
                    }
                    match wanted.filter(|wanted| *wanted != own) {
                        Some(wanted) => {
                            self.cast_value(&format!("{name}/{}", argument.name), tensor, own, wanted)
                        }
                        None => tensor,
                    }
                }
                InputSource::Parameter(own, parameter) => {
                    let dtype = wanted.unwrap_or(DType::I32);
                    match self.parameter(&format!("{name}/{own}"), &parameter, dtype)? {
                        Some(tensor) => tensor,
                        None => return Ok(None),
                    }
                }
            };
            def.input.push(tensor);
        }
        if let Some(padded) = spelling.padded {
            self.pad_input(node, name, padded, &mut def)?;
        }
        Ok(Some(def))
    }

    /// Finds the source of every input of the TensorFlow op. Returns `None` if an input has no source, or if an operand
    /// of the node is the source of no input. `names` are the names of the inputs in the row of the shape function.
    fn draft(
        &self,
        node: &Node,
        signature: &OpSignature,
        names: &[&'static str],
        spelling: &TfOp,
    ) -> Option<Draft> {
        if signature.inputs.len() != names.len() {
            return None;
        }
        let operand_names = node.op.operand_names();
        let declared = node.op.operand_list();
        let operands: Vec<(usize, ValueIx)> = match operand_names {
            Some(names) => spread_names(names, node.operands.len())
                .into_iter()
                .zip(node.operands.iter().copied())
                .collect(),
            None => self.operand_positions(node).collect(),
        };
        let mut draft = Draft { inputs: Vec::new(), absent: Vec::new() };
        let mut used = 0;
        for (argument, &name) in signature.inputs.iter().zip(names) {
            let position = match (operand_names, declared) {
                (Some(names), _) => names.iter().position(|own| *own == name),
                (None, Some(list)) => list.iter().position(|operand| operand.name() == name),
                (None, None) => None,
            };
            let given: Vec<ValueIx> = operands
                .iter()
                .filter(|(operand, _)| Some(*operand) == position)
                .map(|(_, value)| *value)
                .collect();
            used += given.len();
            if !given.is_empty() {
                draft.inputs.extend(given.into_iter().map(|value| (*argument, InputSource::Value(value))));
                continue;
            }
            if let Some(attr) = node.attrs().get(name) {
                let pairs = spelling.pairs.contains(&name);
                let mut parameter = Parameter::of(attr)?;
                if pairs {
                    parameter = parameter.in_pairs();
                }
                if argument.is_vector {
                    parameter = parameter.into_vector();
                }
                draft.inputs.push((*argument, InputSource::Parameter(name, parameter)));
                continue;
            }
            if name.ends_with("..") {
                continue;
            }
            let (_, default) = spelling.absent.iter().find(|(own, _)| *own == name)?;
            let first = *node.operands.first()?;
            let shape = self.data.table.resolve_shape(&self.data.values[first.index()].shape);
            let begin_len = node.attrs().get("begin").and_then(Attr::to_elements).map(|begin| begin.len());
            let begin_len = begin_len.or_else(|| {
                let begin = node.operands.get(1)?;
                let shape = self.data.table.resolve_shape(&self.data.values[begin.index()].shape);
                usize::try_from(shape.dims()?.first()?.as_known()?).ok()
            });
            let parameter = Parameter::absent(*default, first, &shape, begin_len.unwrap_or(0))?;
            draft.inputs.push((*argument, InputSource::Parameter(name, parameter)));
            draft.absent.push(name);
        }
        (used == node.operands.len()).then_some(draft)
    }

    /// Derives the type attributes from the dtypes of inputs and outputs. Returns `None` if TensorFlow's op would have
    /// other output dtypes than the node.
    fn type_attrs(
        &self,
        node: &Node,
        signature: &OpSignature,
        draft: &Draft,
    ) -> Option<BTreeMap<&'static str, DType>> {
        let mut types: BTreeMap<&'static str, DType> = BTreeMap::new();
        for (argument, input) in &draft.inputs {
            if let (ArgumentType::Attr(attr), InputSource::Value(value)) = (argument.dtype, input) {
                // If i32 values and i64 values share an attribute, the attribute is i64, and the i32 values are cast.
                let dtype = self.dtype(*value);
                let known = types.entry(attr).or_insert(dtype);
                if dtype == DType::I64 && *known == DType::I32 {
                    *known = DType::I64;
                }
            }
        }
        let mut outputs = node.values().map(|value| self.dtype(value));
        for output in &signature.outputs {
            let count =
                if output.is_list() && signature.outputs.len() == 1 { node.outputs as usize } else { 1 };
            for dtype in outputs.by_ref().take(count) {
                let known = match output.dtype {
                    ArgumentType::Fixed(fixed) => fixed,
                    ArgumentType::Attr(attr) => *types.entry(attr).or_insert(dtype),
                    ArgumentType::List(_) => dtype,
                };
                if known != dtype {
                    return None;
                }
            }
        }
        if outputs.next().is_some() {
            return None;
        }
        for (argument, input) in &draft.inputs {
            if let (ArgumentType::Attr(attr), InputSource::Parameter(_, parameter)) = (argument.dtype, input)
            {
                let takes_i32 = signature.attr(attr).is_none_or(|attr| attr.takes(DType::I32));
                let is_narrow = takes_i32 && parameter.is_narrow();
                types.entry(attr).or_insert(if is_narrow { DType::I32 } else { DType::I64 });
            }
        }
        Some(types)
    }

    /// Adds the attributes that count inputs and outputs, and the attributes that list dtypes.
    fn add_counts(&self, node: &Node, signature: &OpSignature, draft: &Draft, def: &mut NodeDef) {
        for argument in &signature.inputs {
            let same = draft.inputs.iter().filter(|(own, _)| own.name == argument.name);
            if let Some(count) = argument.count {
                put(def, count, AttrKind::I(same.clone().count() as i64));
            }
            if let ArgumentType::List(list) = argument.dtype {
                let types = same.filter_map(|(_, input)| match input {
                    InputSource::Value(value) => Some(number_of(self.dtype(*value))),
                    InputSource::Parameter(..) => None,
                });
                let types = ListValue { r#type: types.collect(), ..ListValue::default() };
                put(def, list, AttrKind::List(types));
            }
        }
        for output in &signature.outputs {
            if let Some(count) = output.count
                && !def.attr.contains_key(count)
            {
                put(def, count, AttrKind::I(node.outputs.into()));
            }
        }
    }
}
