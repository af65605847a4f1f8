//! The nodes without operands: inputs and constants.

use std::panic::Location;

use shapeflow_shape_fns::{DType, TensorShape};

#[cfg(feature = "graphdef")]
use super::ValueId;
use super::{CONSTANT, Extra, Graph, INPUT, IntoConstant, Node, NodeIx, Value};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::{elements_of, shape_of};
use crate::tensor::Tensor;

impl Graph {
    /// Adds an input: a tensor that is fed when the graph runs.
    ///
    /// The shape may have unknown (`?`) and named dimensions, or be unknown altogether: `shape!["b", 64]`,
    /// `shape![?, 3]`, `shape![..]`, `[2, 3]`. A dimension may also be linear in one symbol: `2 * &n + 1`. Write `?`
    /// for any other size, such as one that a strided convolution computes: the run checks it where it meets an
    /// operand.
    ///
    /// ```
    /// use shapeflow::{DType, Dim, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let tokens = g.input("tokens", DType::I32, shape!["batch", ?])?;
    /// let image = g.input("image", DType::F32, [480, 640, 3])?;
    /// let anything = g.input("anything", DType::F32, shape![..])?;
    /// let pairs = g.input("pairs", DType::F32, [2 * Dim::symbol("n"), Dim::known(2)])?;
    /// assert_eq!(pairs.shape().to_string(), "[2*n, 2]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The name is empty or taken, a size is negative, or a dimension is not linear in one symbol.
    #[track_caller]
    pub fn input(&self, name: &str, dtype: DType, shape: impl Into<TensorShape>) -> Result<Value<'_>> {
        self.input_at(name, dtype, shape.into(), Location::caller())
    }

    pub(crate) fn input_at(
        &self,
        name: &str,
        dtype: DType,
        shape: TensorShape,
        location: &'static Location<'static>,
    ) -> Result<Value<'_>> {
        let refused = |error: Error| {
            error.with_op("input", format!("input \"{name}\" {}", type_text(dtype, &shape))).at(location)
        };
        let refuse = |kind, message: String| Err(refused(Error::new(kind, Phase::Build, message)));
        if name.is_empty() {
            return refuse(ErrorKind::Attribute, "an input must have a name".to_string());
        }
        for dim in shape.dims().unwrap_or_default() {
            if dim.as_known().is_some_and(|size| size < 0) {
                return refuse(ErrorKind::Shape, format!("a size must not be negative, got {dim}"));
            }
            if let Err(error) = dim.validate() {
                return refuse(ErrorKind::Shape, error.to_string());
            }
            if dim.as_known().is_none() && dim.as_linear().is_none() {
                return refuse(
                    ErrorKind::Shape,
                    format!(
                        "a dimension of an input must be known, a symbol, or linear in one symbol, got {dim}"
                    ),
                );
            }
        }
        if self.read().open_regions > 0 {
            let message = "an input must be made outside the branches and loop bodies that read it";
            return refuse(ErrorKind::Attribute, message.to_string());
        }
        let mut data = self.write();
        let mut is_foreign = false;
        for dim in shape.dims().unwrap_or_default() {
            dim.symbols(&mut |symbol| is_foreign |= data.table.is_foreign(symbol));
        }
        if is_foreign {
            return Err(refused(self.foreign_dim()));
        }
        if !data.input_names.insert(name.to_string()) {
            let other = data.inputs.iter().find(|(other, _)| other == name);
            let other = other.map(|(_, value)| data.node_of(*value).location);
            drop(data);
            let message = "the name of an input must be unique in its graph".to_string();
            return refuse(ErrorKind::Attribute, message)
                .map_err(|error: Error| error.note("the other input is made", other));
        }
        let node = NodeIx(data.nodes.len() as u32);
        data.table.set_origin(node.0);
        let shape = data.table.import(&shape);
        let extra = Extra { name: Some(name.to_string()), ..Extra::default() };
        let value = data.push(
            Node { extra: Some(Box::new(extra)), ..Node::leaf(&INPUT, location, 0) },
            [(dtype, shape, None)],
        );
        data.inputs.push((name.to_string(), value));
        drop(data);
        Ok(Value::new(self, value))
    }

    /// Adds a constant: a number, a bool or a string, nested arrays of these, a slice, a vector, or a [`Tensor`].
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let weights = g.constant([[0.5f32, -1.0], [1.5, 2.0]])?;
    /// let words = g.constant(vec!["a", "b", "c"])?;
    /// let zeros = g.constant(Tensor::full(&[100, 3], 0.0f64)?)?;
    /// assert_eq!(format!("{weights:?} {words:?} {zeros:?}"), "%0: f32[2, 2] %1: string[3] %2: f64[100, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory for the tensor is refused.
    #[track_caller]
    pub fn constant<'g>(&'g self, constant: impl IntoConstant) -> Result<Value<'g>> {
        let location = Location::caller();
        let tensor = constant.into_constant().map_err(|error| error.with_phase(Phase::Build).at(location))?;
        Ok(self.constant_at(tensor, location))
    }

    pub(crate) fn constant_at(&self, tensor: Tensor, location: &'static Location<'static>) -> Value<'_> {
        let mut data = self.write();
        let node = NodeIx(data.nodes.len() as u32);
        let shape = shape_of(tensor.sizes());
        let elements = elements_of(&tensor.view());
        let scope = data.scope;
        let dtype = tensor.dtype();
        data.constants.insert(node, tensor);
        let value = data.push(Node::leaf(&CONSTANT, location, scope), [(dtype, shape, elements)]);
        drop(data);
        Value::new(self, value)
    }

    /// Returns the inputs in the order of their calls.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let _ = (g.input("x", DType::F32, shape!["n"])?, g.input("k", DType::I64, shape![])?);
    /// let dtypes: Vec<DType> = g.inputs().iter().map(|input| input.dtype()).collect();
    /// assert_eq!(dtypes, [DType::F32, DType::I64]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn inputs(&self) -> Vec<Value<'_>> {
        self.read().inputs.iter().map(|(_, value)| Value::new(self, *value)).collect()
    }

    /// Returns the inputs with their names, in the order of their calls.
    #[cfg(feature = "graphdef")]
    pub(crate) fn named_inputs(&self) -> Vec<(String, ValueId)> {
        let data = self.read();
        data.inputs.iter().map(|(name, value)| (name.clone(), Value::new(self, *value).id())).collect()
    }
}
