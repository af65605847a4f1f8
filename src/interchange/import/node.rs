//! A node that is an op: which definition it is, and how its inputs and attributes become ours.

use prost::bytes::Bytes;
use shapeflow_shape_fns::{Attr, Attrs, DType, Registered, TensorShape, lookup};

use super::super::dtype_number::dtype_of;
use super::super::proto::AttrKind;
use super::super::signature::{ArgumentType, Signature, signature};
use super::super::{ABSENT, OWN_OPERANDS};
use super::frame::{Frame, damaged};
use super::typed::{check_inputs, ours, typed};
use super::{Built, Importer, Slot, attrs, opaque};
use crate::error::Result;
use crate::graph::{OpBuilder, Value};
use crate::op::{OpRef, Operand, TfOp, spread_names};

/// More tensors than any node takes or gives.
pub(super) const MAX_TENSORS: usize = 1 << 16;

impl<'a, 'g> Importer<'a, 'g> {
    /// A node that is an op of the registry, or has a shape function, or is opaque.
    pub(super) fn op(
        &mut self,
        frame: &Frame<'a, 'g>,
        at: usize,
        name: &str,
        inputs: &[Option<Slot<'g>>],
    ) -> Result<Built<'g>> {
        let op_type = frame.nodes[at].op.as_str();
        let signature = signature(op_type);
        let present: Vec<Slot<'g>> = inputs.iter().flatten().cloned().collect();
        if let Some(own) = self.options.ops.get(op_type).filter(|_| signature.is_none()) {
            return self.own(frame, at, &own, name, &present);
        }
        let row = lookup(op_type);
        if let Some(signature) = signature {
            check_inputs(frame, at, signature, inputs)?;
        }
        let expected = self.output_types(frame, at, signature);
        let plain = attrs::plain(frame, at, signature, &self.budget)?;
        let noted = attrs::noted(frame, at, &self.budget)?;
        let absent = match frame.attr(at, ABSENT) {
            Some(AttrKind::List(list)) => &list.s[..],
            _ => &[],
        };
        for (def, spelling) in self.kernels.candidates(op_type) {
            let Some(call) = self.place(&def, &spelling, row, inputs, &plain, &noted, absent) else {
                continue;
            };
            let Some(attrs) = typed(&def, &spelling, call.attrs, &call.dtypes, &expected, frame, at, row)
            else {
                continue;
            };
            let def = match row {
                Some(row) => self.kernels.adapted(&def, &spelling, row),
                None => def,
            };
            let mut builder = OpBuilder::new(self.graph, def).attrs(attrs);
            for (place, value) in call.operands {
                builder = builder.operand(place, value);
            }
            return self.finish(builder, name);
        }
        if present.len() != inputs.len() {
            return damaged("the node must note what its parameters are".to_string());
        }
        let Some(row) = row else { return self.opaque(frame, at, name, &present) };
        let dtypes: Option<Vec<DType>> = expected.iter().copied().collect();
        let Some(dtypes) = dtypes else { return self.opaque(frame, at, name, &present) };
        let mut attrs = Attrs::new();
        for (name, attr) in plain.iter() {
            attrs.insert(ours(name, &[], Some(row)).to_string(), attr.clone());
        }
        attrs.insert("dtypes", Attr::DTypes(dtypes.into()));
        let mut builder = OpBuilder::new(self.graph, self.kernels.shapes_only(row)).attrs(attrs);
        for (place, slot) in present.iter().enumerate() {
            builder = builder.operand(place, slot.value);
        }
        self.finish(builder, name)
    }

    fn finish(&mut self, builder: OpBuilder<'g>, name: &str) -> Result<Built<'g>> {
        let values = builder.finish_all_at(self.location)?;
        Ok(Built::of(values.into_iter().map(|value| value.named(name)).collect()))
    }

    /// A node of an op that only this crate has, as our export writes it.
    fn own(
        &mut self,
        frame: &Frame<'a, 'g>,
        at: usize,
        def: &OpRef,
        name: &str,
        inputs: &[Slot<'g>],
    ) -> Result<Built<'g>> {
        let attrs = attrs::noted(frame, at, &self.budget)?;
        let places: Vec<usize> = match (frame.attr(at, OWN_OPERANDS), def.operand_list()) {
            (Some(AttrKind::List(list)), Some(_)) => {
                list.i.iter().map(|place| usize::try_from(*place).unwrap_or(usize::MAX)).collect()
            }
            _ => (0..inputs.len()).collect(),
        };
        let declared = def.operand_list().map_or(usize::MAX, <[Operand]>::len);
        if places.len() != inputs.len() || places.iter().any(|place| *place >= declared) {
            return damaged(format!("the node must say which operand each of {} inputs is", inputs.len()));
        }
        let mut builder = OpBuilder::new(self.graph, def.clone()).attrs(attrs);
        for (place, slot) in places.into_iter().zip(inputs) {
            builder = builder.operand(place, slot.value);
        }
        self.finish(builder, name)
    }

    /// Puts inputs where the definition has them; `None` where it has no such operand.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a node says, and what an export of ours has noted of it"
    )]
    fn place(
        &self,
        def: &OpRef,
        spelling: &TfOp,
        row: Option<&'static Registered>,
        inputs: &[Option<Slot<'g>>],
        plain: &Attrs,
        noted: &Attrs,
        absent: &[Bytes],
    ) -> Option<Call<'g>> {
        let list = def.operand_list()?;
        let names: Vec<&str> = match row {
            Some(row) => row.operands.to_vec(),
            None => list.iter().map(|operand| operand.name()).collect(),
        };
        let places: Vec<usize> = names
            .iter()
            .map(|name| list.iter().position(|operand| operand.name() == *name))
            .collect::<Option<_>>()?;
        let operands: Vec<(usize, &Option<Slot<'g>>)> =
            spread_names(&names, inputs.len()).into_iter().map(|number| places[number]).zip(inputs).collect();
        let single = names.iter().filter(|name| !name.ends_with("..")).count();
        if operands.len() < inputs.len() || inputs.len() < single {
            return None;
        }
        let mut attrs = Attrs::new();
        for (name, attr) in plain.iter().filter(|(_, attr)| !matches!(attr, Attr::DType(_))) {
            attrs.insert(ours(name, spelling.attrs, row).to_string(), attr.clone());
        }
        for (name, attr) in noted.iter() {
            attrs.insert(name.to_string(), attr.clone());
        }
        let mut call = Call { operands: Vec::new(), dtypes: Vec::new(), attrs };
        for (place, slot) in operands {
            let operand = list.get(place)?;
            let left_out = absent.iter().any(|name| name == operand.name().as_bytes());
            if left_out || noted.get(operand.name()).is_some() {
                continue;
            }
            let slot = slot.as_ref()?;
            // Elements of floats are not followed through the graph, so a float parameter is one only if it is known.
            if matches!(operand, Operand::Size(_)) && slot.value.dtype().is_float() {
                let float = self.constant_float(slot.value)?;
                call.attrs.insert(operand.name(), Attr::Float(float));
                continue;
            }
            call.operands.push((place, slot.value));
        }
        call.operands.sort_by_key(|(place, _)| *place);
        call.dtypes = call.operands.iter().map(|(_, value)| value.dtype()).collect();
        Some(call)
    }

    fn constant_float(&self, value: Value<'g>) -> Option<f64> {
        let tensor = self.graph.read().const_fold(value.index().ok()?)?;
        match tensor.dtype() {
            DType::F32 => tensor.item::<f32>().ok().map(f64::from),
            DType::F64 => tensor.item::<f64>().ok(),
            _ => None,
        }
    }

    /// The dtype of every output, as far as signature and attributes say.
    pub(super) fn output_types(
        &self,
        frame: &Frame<'a, 'g>,
        at: usize,
        signature: Option<&Signature>,
    ) -> Vec<Option<DType>> {
        let Some(signature) = signature else { return Vec::new() };
        let mut types = Vec::new();
        for output in &signature.outputs {
            let count = output.count.map_or(1, |count| frame.int(at, count).unwrap_or(0));
            match output.dtype {
                ArgumentType::Fixed(dtype) => types.extend(std::iter::repeat_n(Some(dtype), count)),
                ArgumentType::Attr(attr) => {
                    let dtype = match frame.attr(at, attr) {
                        Some(AttrKind::Type(number)) => dtype_of(*number),
                        _ => signature.attr(attr).and_then(|attr| attr.default?.parse().ok()),
                    };
                    types.extend(std::iter::repeat_n(dtype, count));
                }
                ArgumentType::List(attr) => {
                    let list = frame.types(at, attr).unwrap_or_default();
                    types.extend(list.iter().map(|number| dtype_of(*number)));
                }
            }
        }
        types.truncate(MAX_TENSORS);
        types
    }

    /// A node whose outputs have unknown shapes.
    pub(super) fn opaque(
        &mut self,
        frame: &Frame<'a, 'g>,
        at: usize,
        name: &str,
        inputs: &[Slot<'g>],
    ) -> Result<Built<'g>> {
        let op_type = frame.nodes[at].op.as_str();
        let mut types = match signature(op_type) {
            Some(signature) => self.output_types(frame, at, Some(signature)),
            None => match frame.attr(at, "Tout") {
                Some(AttrKind::List(list)) => list.r#type.iter().map(|number| dtype_of(*number)).collect(),
                _ => Vec::new(),
            },
        };
        if signature(op_type).is_none() && types.is_empty() {
            let own =
                ["dtype", "DstT", "out_type", "T"].into_iter().find_map(|attr| match frame.attr(at, attr) {
                    Some(AttrKind::Type(number)) => dtype_of(*number),
                    _ => None,
                });
            types.push(own);
        }
        if frame.depth == 0 {
            // Readers know what they read.
            let read = |output: usize| self.read_as.get(&(at, output));
            let last = (0..super::unknown::MOST_OUTPUTS).rev().find(|output| read(*output).is_some());
            types.resize(types.len().max(last.map_or(0, |last| last + 1)), None);
            for (output, known) in types.iter_mut().enumerate() {
                *known = known.or(read(output).copied().flatten());
            }
        }
        let known: Vec<DType> = types.iter().map(|dtype| dtype.unwrap_or(DType::F32)).collect();
        let shapes: Vec<TensorShape> = self.declared_shapes(frame, at, types.len())?;
        let mut attrs = Attrs::new().with("op", op_type).with("dtypes", Attr::DTypes(known.into()));
        if shapes.iter().any(|shape| shape.rank().is_some()) {
            attrs.insert("shapes", Attr::Shapes(shapes.into()));
        }
        let mut builder = OpBuilder::new(self.graph, opaque()).attrs(attrs);
        for (place, slot) in inputs.iter().enumerate() {
            builder = builder.operand(place, slot.value);
        }
        let mut made = self.finish(builder, name)?;
        for (slot, dtype) in made.outputs.iter_mut().zip(types) {
            slot.typed = dtype.is_some();
        }
        Ok(made)
    }

    /// The shapes that a branch or call says its outputs have.
    fn declared_shapes(&self, frame: &Frame<'a, 'g>, at: usize, count: usize) -> Result<Vec<TensorShape>> {
        let Some(AttrKind::List(list)) = frame.attr(at, "output_shapes") else { return Ok(Vec::new()) };
        if list.shape.len() != count {
            return Ok(Vec::new());
        }
        list.shape.iter().map(|proto| super::shape::from_proto(proto, &self.budget)).collect()
    }
}

/// A call of a definition: which operand each value is, and the attributes.
struct Call<'g> {
    operands: Vec<(usize, Value<'g>)>,
    dtypes: Vec<DType>,
    attrs: Attrs,
}
