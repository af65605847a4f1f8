//! Imports a node that is an op: chooses a definition, and maps the node's inputs and attributes to the operands and
//! attributes of the definition.

use prost::bytes::Bytes;
use shapeflow_shape_fns::{Attr, Attrs, DType, Registered, TensorShape, counted, lookup};

use super::super::proto::AttrKind;
use super::super::signature::{ArgumentType, OpSignature, signature};
use super::super::{ABSENT, OWN_OPERANDS, shape};
use super::attrs;
use super::built::{Built, ImportedValue};
use super::definitions::OpDefinitions;
use super::frame::{Frame, MAX_TENSORS, damaged};
use super::importer::Importer;
use super::typed::{add_dtype_attrs, check_inputs, own_name};
use super::unknown::MAX_OUTPUTS;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{OpBuilder, Value};
use crate::op::dtype_number::dtype_of;
use crate::op::{OpRef, Operand, TfOp, spread_names};

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports an op with a definition of the registry. If no definition fits, the node gets a shape function only. If
    /// the op has no shape function either, the node becomes opaque.
    pub(super) fn op(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[Option<ImportedValue<'g>>],
    ) -> Result<Built<'g>> {
        let op_type = frame.nodes[index].op.as_str();
        let signature = signature(op_type);
        let present: Vec<ImportedValue<'g>> = inputs.iter().flatten().cloned().collect();
        if let Some(def) = self.own_definition(op_type).filter(|_| signature.is_none()) {
            return self.own_op(frame, index, &def, name, &present);
        }
        let row = lookup(op_type);
        if let Some(signature) = signature {
            check_inputs(frame, index, signature, inputs)?;
        }
        let expected = self.output_types(frame, index, signature);
        let declared_attrs = attrs::tensorflow_attrs(frame, index, signature, &self.budget)?;
        let exported = attrs::exported_attrs(frame, index, &self.budget)?;
        let absent = match frame.attr(index, ABSENT) {
            Some(AttrKind::List(list)) => &list.s[..],
            _ => &[],
        };
        let options = self.options;
        let mut refusal: Option<Error> = None;
        for (def, spelling) in options.ops.candidates(op_type) {
            let Some(call) =
                self.map_operands(def, spelling, row, inputs, &declared_attrs, &exported, absent)
            else {
                continue;
            };
            let attrs =
                add_dtype_attrs(def, spelling, call.attrs, &call.dtypes, &expected, frame, index, row);
            let attrs = match attrs {
                Ok(attrs) => attrs,
                Err(error) => {
                    refusal = refusal.or(error);
                    continue;
                }
            };
            let def = match row {
                Some(row) => self.definitions.adapted(def, spelling, row),
                None => def.clone(),
            };
            let mut builder = OpBuilder::new(self.graph, def).attrs(attrs);
            for (position, value) in call.operands {
                builder = builder.operand(position, value);
            }
            return self.finish(builder, name);
        }
        // An attribute has a wrong value. A refusal of another kind means that this crate cannot compute the node.
        if let Some(refusal) = refusal.take_if(|refusal| refusal.kind() == ErrorKind::Attribute) {
            return Err(refusal);
        }
        if present.len() != inputs.len() {
            return damaged(
                "the node must have the values of its auxiliary inputs as attributes".to_string(),
            );
        }
        let Some(row) = row else { return self.opaque(frame, index, name, &present) };
        let dtypes: Option<Vec<DType>> = expected.iter().copied().collect();
        let Some(dtypes) = dtypes else { return self.opaque(frame, index, name, &present) };
        let mut attrs = Attrs::new();
        for (name, attr) in declared_attrs.iter() {
            attrs.insert(own_name(name, &[], Some(row)).to_string(), attr.clone());
        }
        attrs.insert("dtypes", Attr::DTypes(dtypes.into()));
        let refusal = refusal.as_ref().map(Error::message);
        let mut builder = OpBuilder::new(self.graph, self.definitions.shapes_only(row, refusal)).attrs(attrs);
        for (position, imported) in present.iter().enumerate() {
            builder = builder.operand(position, imported.value);
        }
        self.finish(builder, name)
    }

    /// Adds the node to the graph, and names its values. A composite may return its operand, which keeps its name.
    fn finish(&mut self, builder: OpBuilder<'g>, name: &str) -> Result<Built<'g>> {
        let first = self.graph.len();
        let values = builder.finish_all_at(self.location)?;
        for value in &values {
            let index = value.index()?;
            let node = self.graph.read().values[index.index()].node;
            if node.index() >= first {
                let _ = value.named(name);
            }
        }
        Ok(Built::of(values.into_vec()))
    }

    /// Imports an op that TensorFlow lacks, in the form that this crate's export writes.
    fn own_op(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        def: &OpRef,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let attrs = attrs::exported_attrs(frame, index, &self.budget)?;
        let positions: Vec<usize> = match (frame.attr(index, OWN_OPERANDS), def.operand_list()) {
            (Some(AttrKind::List(list)), Some(_)) => {
                list.i.iter().map(|position| usize::try_from(*position).unwrap_or(usize::MAX)).collect()
            }
            _ => (0..inputs.len()).collect(),
        };
        let declared = def.operand_list().map_or(usize::MAX, <[Operand]>::len);
        if positions.len() != inputs.len() || positions.iter().any(|position| *position >= declared) {
            return damaged(format!(
                "the node must name an operand for each of its {}",
                counted(inputs.len(), "input")
            ));
        }
        let mut builder = OpBuilder::new(self.graph, def.clone()).attrs(attrs);
        for (position, imported) in positions.into_iter().zip(inputs) {
            builder = builder.operand(position, imported.value);
        }
        self.finish(builder, name)
    }

    /// Maps the inputs to the operands of a definition; `None` if the inputs do not fit. `absent` has the names of
    /// inputs that the node lacks in this crate: the export added them.
    #[expect(
        clippy::too_many_arguments,
        reason = "a node has attributes of TensorFlow and attributes that an export of this crate adds"
    )]
    fn map_operands(
        &self,
        def: &OpRef,
        spelling: &TfOp,
        row: Option<&'static Registered>,
        inputs: &[Option<ImportedValue<'g>>],
        declared_attrs: &Attrs,
        exported: &Attrs,
        absent: &[Bytes],
    ) -> Option<CallParts<'g>> {
        let list = def.operand_list()?;
        let names: Vec<&str> = match row {
            Some(row) => row.operands.to_vec(),
            None => list.iter().map(|operand| operand.name()).collect(),
        };
        let positions: Vec<usize> = names
            .iter()
            .map(|name| list.iter().position(|operand| operand.name() == *name))
            .collect::<Option<_>>()?;
        let operands: Vec<(usize, &Option<ImportedValue<'g>>)> = spread_names(&names, inputs.len())
            .into_iter()
            .map(|number| positions[number])
            .zip(inputs)
            .collect();
        let single = names.iter().filter(|name| !name.ends_with("..")).count();
        if operands.len() < inputs.len() || inputs.len() < single {
            return None;
        }
        let mut attrs = Attrs::new();
        for (name, attr) in declared_attrs.iter().filter(|(_, attr)| !matches!(attr, Attr::DType(_))) {
            attrs.insert(own_name(name, spelling.attrs, row).to_string(), attr.clone());
        }
        for (name, value) in spelling.implied {
            attrs.insert(*name, *value);
        }
        for (name, attr) in exported.iter() {
            attrs.insert(name.to_string(), attr.clone());
        }
        let mut call = CallParts { operands: Vec::new(), dtypes: Vec::new(), attrs };
        for (position, imported) in operands {
            let operand = list.get(position)?;
            let omitted = absent.iter().any(|name| name == operand.name().as_bytes());
            if omitted || exported.get(operand.name()).is_some() {
                continue;
            }
            let imported = imported.as_ref()?;
            // Shape inference tracks elements of integers only, so a float parameter must be a constant.
            if matches!(operand, Operand::Size(_)) && imported.value.dtype().is_float() {
                let float = self.constant_float(imported.value)?;
                call.attrs.insert(operand.name(), Attr::Float(float));
                continue;
            }
            // A parameter of TensorFlow may be a narrower integer. A parameter of this crate is i32 or i64.
            let is_parameter = matches!(operand, Operand::Size(_) | Operand::Structure(_));
            let is_narrow = matches!(imported.value.dtype(), DType::I8 | DType::I16);
            let value = match is_parameter && is_narrow {
                true => imported.value.cast(DType::I64).ok()?,
                false => imported.value,
            };
            call.operands.push((position, value));
        }
        call.operands.sort_by_key(|(position, _)| *position);
        call.dtypes = call.operands.iter().map(|(_, value)| value.dtype()).collect();
        Some(call)
    }

    /// Returns the float that a constant scalar holds.
    fn constant_float(&self, value: Value<'g>) -> Option<f64> {
        let tensor = self.graph.read().const_fold(value.index().ok()?)?;
        match tensor.dtype() {
            DType::F32 => tensor.item::<f32>().ok().map(f64::from),
            DType::F64 => tensor.item::<f64>().ok(),
            _ => None,
        }
    }

    /// Returns the dtype of every output; `None` for a dtype that neither the signature nor the attributes give.
    pub(super) fn output_types(
        &self,
        frame: &Frame<'a, 'g>,
        index: usize,
        signature: Option<&OpSignature>,
    ) -> Vec<Option<DType>> {
        let Some(signature) = signature else { return Vec::new() };
        let mut types = Vec::new();
        for output in &signature.outputs {
            let count = output.count.map_or(1, |count| frame.int(index, count).unwrap_or(0));
            match output.dtype {
                ArgumentType::Fixed(dtype) => types.extend(std::iter::repeat_n(Some(dtype), count)),
                ArgumentType::Attr(attr) => {
                    let dtype = match frame.attr(index, attr) {
                        Some(AttrKind::Type(number)) => dtype_of(*number),
                        _ => signature.attr(attr).and_then(|attr| attr.default?.parse().ok()),
                    };
                    types.extend(std::iter::repeat_n(dtype, count));
                }
                ArgumentType::List(attr) => {
                    let list = frame.types(index, attr).unwrap_or_default();
                    types.extend(list.iter().map(|number| dtype_of(*number)));
                }
            }
        }
        types.truncate(MAX_TENSORS);
        types
    }

    /// Imports a node without a definition. The dtypes of its outputs come from the signature, the attributes, and the
    /// nodes that read the outputs. The shapes come from the attribute `output_shapes`. Any other dtype or shape is
    /// unknown.
    pub(super) fn opaque(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op_type = frame.nodes[index].op.as_str();
        let mut types = match signature(op_type) {
            Some(signature) => self.output_types(frame, index, Some(signature)),
            None => match frame.attr(index, "Tout") {
                Some(AttrKind::List(list)) => list.r#type.iter().map(|number| dtype_of(*number)).collect(),
                _ => Vec::new(),
            },
        };
        if signature(op_type).is_none() && types.is_empty() {
            let declared = ["dtype", "DstT", "out_type", "T"].into_iter().find_map(|attr| {
                match frame.attr(index, attr) {
                    Some(AttrKind::Type(number)) => dtype_of(*number),
                    _ => None,
                }
            });
            types.push(declared);
        }
        if frame.depth == 0 {
            let read_dtype = |output: usize| self.reader_dtypes.get(&(index, output));
            let last = (0..MAX_OUTPUTS).rev().find(|output| read_dtype(*output).is_some());
            types.resize(types.len().max(last.map_or(0, |last| last + 1)), None);
            for (output, known) in types.iter_mut().enumerate() {
                *known = known.or(read_dtype(output).copied().flatten());
            }
        }
        let known: Vec<DType> = types.iter().map(|dtype| dtype.unwrap_or(DType::F32)).collect();
        let shapes: Vec<TensorShape> = self.declared_shapes(frame, index, types.len())?;
        let mut attrs = Attrs::new().with("op", op_type).with("dtypes", Attr::DTypes(known.into()));
        if shapes.iter().any(|shape| shape.rank().is_some()) {
            attrs.insert("shapes", Attr::Shapes(shapes.into()));
        }
        let mut builder = OpBuilder::new(self.graph, OpDefinitions::opaque()).attrs(attrs);
        for (position, imported) in inputs.iter().enumerate() {
            builder = builder.operand(position, imported.value);
        }
        let mut built = self.finish(builder, name)?;
        for (imported, dtype) in built.outputs.iter_mut().zip(types) {
            imported.has_known_dtype = dtype.is_some();
        }
        Ok(built)
    }

    /// Returns the output shapes that a branch or a call declares; empty if it declares none.
    fn declared_shapes(&self, frame: &Frame<'a, 'g>, index: usize, count: usize) -> Result<Vec<TensorShape>> {
        let Some(AttrKind::List(list)) = frame.attr(index, "output_shapes") else { return Ok(Vec::new()) };
        if list.shape.len() != count {
            return Ok(Vec::new());
        }
        list.shape.iter().map(|proto| shape::from_proto(proto, &self.budget)).collect()
    }
}

/// The operands and attributes of a call.
struct CallParts<'g> {
    /// The values, each with the position of its operand in the op's declaration.
    operands: Vec<(usize, Value<'g>)>,
    /// The dtypes of the values.
    dtypes: Vec<DType>,
    attrs: Attrs,
}
