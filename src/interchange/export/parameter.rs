//! Exports parameters that are attributes in this crate and inputs in TensorFlow. Auxiliary nodes compute them. The
//! import skips these nodes, except those that compute a parameter with a size without a name.

use shapeflow_shape_fns::{Attr, DType, Dim, DimFactor, DimFunction, PartialElements, Symbol, TensorShape};

use super::super::proto::AttrKind;
use super::size_source::{Place, SizeSource, SizeSources, Terms, is_input};
use super::{Exporter, constant_def, has_unnamed_sizes, put, typed_node};
use crate::error::Result;
use crate::graph::ValueIx;
use crate::op::Absent;
use crate::tensor::Tensor;

/// The value of a parameter, in a form that TensorFlow nodes can compute.
pub(super) enum Parameter {
    Elements(PartialElements),
    Float(f64),
    /// The numbers of all axes of a value of unknown rank.
    AxesOf(ValueIx),
}

impl Parameter {
    /// Returns the value of an attribute; `None` if the attribute is neither a float nor integers.
    pub(super) fn of(attr: &Attr) -> Option<Parameter> {
        match attr {
            Attr::Float(value) => Some(Parameter::Float(*value)),
            attr => attr.to_elements().map(Parameter::Elements),
        }
    }

    /// Returns the value of an omitted operand. `shape` is the shape of the first operand `data`; `ones` is the number
    /// of elements of [`Absent::Ones`]. Returns `None` for [`Absent::ReversedAxes`] of an unknown rank.
    pub(super) fn absent(what: Absent, data: ValueIx, shape: &TensorShape, ones: usize) -> Option<Parameter> {
        let rank = shape.rank().map(|rank| rank as i64);
        Some(Parameter::Elements(match what {
            Absent::Zero => PartialElements::scalar(Dim::known(0)),
            Absent::One => PartialElements::scalar(Dim::known(1)),
            Absent::Ones => PartialElements::vector((0..ones).map(|_| Dim::known(1))),
            Absent::AllAxes => match rank {
                Some(rank) => PartialElements::vector((0..rank).map(Dim::known)),
                None => return Some(Parameter::AxesOf(data)),
            },
            Absent::ReversedAxes => PartialElements::vector((0..rank?).rev().map(Dim::known)),
        }))
    }

    /// Reshapes a vector to a matrix of rows of two elements. Any other parameter stays as it is.
    pub(super) fn in_pairs(self) -> Parameter {
        match self {
            Parameter::Elements(elements) if elements.rank() == 1 => {
                let sizes = [elements.len() / 2, 2];
                let pairs = PartialElements::with_sizes(&sizes, elements.elements().iter().cloned());
                Parameter::Elements(pairs.unwrap_or(elements))
            }
            other => other,
        }
    }

    /// Makes a vector of a scalar. Any other parameter stays as it is.
    pub(super) fn into_vector(self) -> Parameter {
        match self {
            Parameter::Elements(elements) if elements.rank() == 0 => {
                Parameter::Elements(PartialElements::vector(elements.elements().iter().cloned()))
            }
            other => other,
        }
    }

    /// Returns whether all constants in the elements fit i32. The values of symbols are not known.
    pub(super) fn is_narrow(&self) -> bool {
        match self {
            Parameter::Elements(elements) => elements.elements().iter().all(is_narrow),
            _ => true,
        }
    }
}

impl Exporter<'_> {
    /// Adds the nodes that compute a parameter with elements of `dtype`, and returns the name of the tensor. Adds
    /// nothing and returns none if TensorFlow cannot compute the parameter.
    ///
    /// # Errors
    /// An allocation is refused.
    pub(super) fn parameter(
        &mut self,
        name: &str,
        parameter: &Parameter,
        dtype: DType,
    ) -> Result<Option<String>> {
        let elements = match parameter {
            Parameter::Float(value) => {
                let tensor = match dtype {
                    DType::F32 => Tensor::scalar(*value as f32),
                    DType::F64 => Tensor::scalar(*value),
                    _ => return Ok(None),
                };
                let def = constant_def(&tensor)?;
                return Ok(Some(self.auxiliary(name, def)));
            }
            Parameter::AxesOf(value) => return self.axes_of(name, *value, dtype).map(Some),
            Parameter::Elements(elements) => elements,
        };
        if let Some(known) = elements.as_known() {
            let Some(tensor) = integers(elements.sizes(), &known, dtype)? else { return Ok(None) };
            let def = constant_def(&tensor)?;
            return Ok(Some(self.auxiliary(name, def)));
        }
        if !matches!(dtype, DType::I32 | DType::I64) {
            return Ok(None);
        }
        let is_imported = std::mem::replace(&mut self.is_imported, has_unnamed_sizes(elements));
        let tensor = self.elements(name, elements, dtype);
        self.is_imported = is_imported;
        tensor
    }

    /// Returns whether nodes before the exported node determine a dimension, as a number that i32 nodes can compute.
    pub(super) fn is_known_before(&self, dim: &Dim) -> bool {
        is_narrow(&self.data.table.resolve(dim)) && self.element_form(dim).is_some()
    }

    /// Adds the nodes that compute elements of `dtype`, i32 or i64: see [`Exporter::parameter`].
    pub(super) fn elements(
        &mut self,
        name: &str,
        elements: &PartialElements,
        dtype: DType,
    ) -> Result<Option<String>> {
        // No node is added unless all elements can be computed.
        let forms: Option<Vec<ElementForm>> =
            elements.elements().iter().map(|element| self.element_form(element)).collect();
        let Some(forms) = forms else { return Ok(None) };
        let is_narrow = |element: &Dim| is_narrow(&self.data.table.resolve(element));
        if dtype == DType::I32 && !elements.elements().iter().all(is_narrow) {
            return Ok(None);
        }
        let mut inputs = Vec::new();
        for form in forms {
            inputs.push(self.element(name, &form, dtype)?);
        }
        if elements.rank() == 0 {
            return Ok(inputs.pop());
        }
        let mut pack = typed_node("Pack", inputs, &[("T", dtype)]);
        put(&mut pack, "N", AttrKind::I(elements.len() as i64));
        let mut packed = self.auxiliary(name, pack);
        if elements.rank() > 1 {
            let sizes: Vec<i64> = elements.sizes().iter().map(|size| *size as i64).collect();
            let shape = self.known(name, &[sizes.len()], &sizes, DType::I32)?;
            let types = [("T", dtype), ("Tshape", DType::I32)];
            packed = self.auxiliary_node(name, "Reshape", vec![packed, shape], &types);
        }
        Ok(Some(packed))
    }

    /// Returns an element in a form that TensorFlow nodes can compute, if there is one.
    fn element_form(&self, element: &Dim) -> Option<ElementForm> {
        self.form(element, &mut Vec::new())
    }

    /// Returns an element in a form that TensorFlow nodes can compute without the symbols `open`, which are being
    /// solved for.
    fn form(&self, element: &Dim, open: &mut Vec<Symbol>) -> Option<ElementForm> {
        if let Some(value) = element.as_known() {
            return Some(ElementForm::Known(value));
        }
        let element = self.data.table.resolve(element);
        if let Some(value) = element.as_known() {
            return Some(ElementForm::Known(value));
        }
        self.sum_form(element.terms()?, open).map(ElementForm::Sum)
    }

    fn sum_form(&self, terms: Terms, open: &mut Vec<Symbol>) -> Option<SumForm> {
        let mut factor = |factor: DimFactor| match factor {
            DimFactor::Symbol(symbol) => self.symbol_form(symbol, open),
            DimFactor::Call(function, args) => {
                let args = args.iter().map(|arg| self.form(arg, open)).collect::<Option<Vec<_>>>()?;
                Some(Factor::Call(function, args))
            }
            _ => None,
        };
        let terms = terms.into_iter().map(|(coefficient, factors)| {
            Some((coefficient, factors.into_iter().map(&mut factor).collect::<Option<Vec<_>>>()?))
        });
        terms.collect()
    }

    /// Returns the size of an axis or the element that a symbol stands for, or else a form that is solved for the
    /// symbol: `n` is `size - 1` if the size of an input is `n+1`.
    fn symbol_form(&self, symbol: Symbol, open: &mut Vec<Symbol>) -> Option<Factor> {
        let data = self.data;
        let sources = self.sources.get_or_init(|| SizeSources::of(data));
        let is_usable = |value: ValueIx| {
            let is_exported = self.exported[data.values[value.index()].node.index()];
            is_exported && (value < self.before || is_input(data, value))
        };
        if let Some(source) = sources.exact(data, symbol, &is_usable) {
            return Some(Factor::Size(source));
        }
        if open.len() == SOLVED_SYMBOLS || open.contains(&symbol) {
            return None;
        }
        open.push(symbol);
        let solved = sources.equations(data, symbol, &is_usable).take(EQUATIONS).find_map(|equation| {
            // The nodes that solve the equation may be i32 nodes.
            if !equation.divisor.iter().chain(&equation.rest).all(is_narrow_term) {
                return None;
            }
            let divisor = self.sum_form(equation.divisor, open)?;
            let rest = self.sum_form(equation.rest, open)?;
            Some(Factor::Solved { source: equation.source, divisor, rest })
        });
        open.pop();
        solved
    }

    /// Adds nodes that compute one element, and returns the name of the scalar tensor.
    fn element(&mut self, name: &str, form: &ElementForm, dtype: DType) -> Result<String> {
        match form {
            ElementForm::Known(value) => self.known(name, &[], &[*value], dtype),
            ElementForm::Sum(terms) => self.sum(name, terms, dtype),
        }
    }

    fn sum(&mut self, name: &str, terms: &SumForm, dtype: DType) -> Result<String> {
        let mut sum = None;
        // The constant comes last, as in `2 * n + 1`.
        let (products, constants): (Vec<_>, Vec<_>) =
            terms.iter().partition(|(_, factors)| !factors.is_empty());
        for (coefficient, factors) in products.into_iter().chain(constants) {
            let mut product = None;
            for factor in factors {
                let factor = match factor {
                    Factor::Size(source) => self.number_at(name, *source, dtype)?,
                    Factor::Call(function, args) => self.function_of(name, *function, args, dtype)?,
                    Factor::Solved { source, divisor, rest } => {
                        let mut solved = self.number_at(name, *source, dtype)?;
                        if !rest.is_empty() {
                            let rest = self.sum(name, rest, dtype)?;
                            solved = self.combined(name, "Sub", Some(solved), rest, dtype);
                        }
                        if !matches!(&divisor[..], [(1, factors)] if factors.is_empty()) {
                            let divisor = self.sum(name, divisor, dtype)?;
                            solved = self.combined(name, "FloorDiv", Some(solved), divisor, dtype);
                        }
                        solved
                    }
                };
                product = Some(self.combined(name, "Mul", product, factor, dtype));
            }
            if *coefficient != 1 || product.is_none() {
                let coefficient = self.known(name, &[], &[*coefficient], dtype)?;
                product = Some(self.combined(name, "Mul", product, coefficient, dtype));
            }
            sum = product.map(|product| self.combined(name, "AddV2", sum, product, dtype));
        }
        match sum {
            Some(sum) => Ok(sum),
            None => self.known(name, &[], &[0], dtype),
        }
    }

    /// Adds nodes that read a size or an element, and returns the name of the scalar tensor.
    fn number_at(&mut self, name: &str, source: SizeSource, dtype: DType) -> Result<String> {
        let value = source.value;
        match source.place {
            Place::Axis(axis) => self.size(name, value, axis, dtype),
            Place::Scalar => self.cast(name, self.tensor_name(value), self.dtype(value), dtype),
            Place::Element(index) => {
                let (vector, own) = (self.tensor_name(value), self.dtype(value));
                let element = self.element_at(name, vector, index as i64, own)?;
                self.cast(name, element, own, dtype)
            }
        }
    }

    /// Adds nodes that compute a function of elements, and returns the name of the scalar tensor.
    fn function_of(
        &mut self,
        name: &str,
        function: DimFunction,
        args: &[ElementForm],
        dtype: DType,
    ) -> Result<String> {
        let mut args = args.iter().map(|arg| self.element(name, arg, dtype)).collect::<Result<Vec<_>>>()?;
        let op = match function {
            DimFunction::FloorDiv | DimFunction::CeilDiv => "FloorDiv",
            DimFunction::Mod => "FloorMod",
            DimFunction::Min => "Minimum",
            DimFunction::Max => "Maximum",
            DimFunction::Bcast => "BroadcastArgs",
        };
        // ceil(a / b) = -floor(-a / b)
        let is_negated = function == DimFunction::CeilDiv;
        if let (true, Some(first)) = (is_negated, args.first_mut()) {
            *first = self.negated(name, std::mem::take(first), dtype);
        }
        // Only vectors broadcast.
        let is_vector = function == DimFunction::Bcast;
        if is_vector {
            for arg in &mut args {
                let mut pack = typed_node("Pack", vec![std::mem::take(arg)], &[("T", dtype)]);
                put(&mut pack, "N", AttrKind::I(1));
                *arg = self.auxiliary(name, pack);
            }
        }
        let mut result = None;
        for arg in args {
            result = Some(self.combined(name, op, result, arg, dtype));
        }
        let result = result.expect("a function has arguments");
        Ok(match (is_negated, is_vector) {
            (true, _) => self.negated(name, result, dtype),
            (_, true) => self.element_at(name, result, 0, dtype)?,
            _ => result,
        })
    }

    /// Adds a node that negates a tensor, and returns its name.
    fn negated(&mut self, name: &str, tensor: String, dtype: DType) -> String {
        self.auxiliary_node(name, "Neg", vec![tensor], &[("T", dtype)])
    }

    /// Adds a node that combines two scalars, and returns its name. If the first is absent, returns the second.
    fn combined(
        &mut self,
        name: &str,
        op: &str,
        first: Option<String>,
        second: String,
        dtype: DType,
    ) -> String {
        let Some(first) = first else { return second };
        self.auxiliary_node(name, op, vec![first, second], &[("T", dtype)])
    }

    /// Adds nodes that compute the size of an axis, and returns the name of the scalar tensor.
    pub(super) fn size(&mut self, name: &str, value: ValueIx, axis: usize, dtype: DType) -> Result<String> {
        let (source, axis) = (self.tensor_name(value), axis as i64);
        let types = [("T", self.dtype(value)), ("out_type", dtype)];
        let shape = self.auxiliary_node(&format!("{name}/shape"), "Shape", vec![source], &types);
        self.element_at(name, shape, axis, dtype)
    }

    /// Adds nodes that read an element of a vector, and returns the name of the scalar tensor.
    fn element_at(&mut self, name: &str, vector: String, index: i64, dtype: DType) -> Result<String> {
        let begin = self.known(name, &[1], &[index], DType::I32)?;
        let end = self.known(name, &[1], &[index + 1], DType::I32)?;
        let strides = self.known(name, &[1], &[1], DType::I32)?;
        let mut slice = typed_node(
            "StridedSlice",
            vec![vector, begin, end, strides],
            &[("T", dtype), ("Index", DType::I32)],
        );
        put(&mut slice, "shrink_axis_mask", AttrKind::I(1));
        Ok(self.auxiliary(&format!("{name}/size"), slice))
    }

    /// Adds nodes that compute `range(0, rank(x), 1)`, and returns the name of the tensor.
    fn axes_of(&mut self, name: &str, value: ValueIx, dtype: DType) -> Result<String> {
        let source = self.tensor_name(value);
        let types = [("T", self.dtype(value))];
        let rank = self.auxiliary_node(&format!("{name}/rank"), "Rank", vec![source], &types);
        let start = self.known(name, &[], &[0], DType::I32)?;
        let delta = self.known(name, &[], &[1], DType::I32)?;
        let range = self.auxiliary_node(name, "Range", vec![start, rank, delta], &[("Tidx", DType::I32)]);
        self.cast(name, range, DType::I32, dtype)
    }

    /// Casts a tensor to another dtype, and returns the name of the result.
    fn cast(&mut self, name: &str, tensor: String, from: DType, to: DType) -> Result<String> {
        if from == to {
            return Ok(tensor);
        }
        Ok(self.auxiliary_node(name, "Cast", vec![tensor], &[("SrcT", from), ("DstT", to)]))
    }

    /// Adds a cast of an operand of this crate, and returns the name of the result. The import computes the cast: no
    /// attribute holds the operand.
    pub(super) fn cast_value(&mut self, name: &str, tensor: String, from: DType, to: DType) -> String {
        let def = typed_node("Cast", vec![tensor], &[("SrcT", from), ("DstT", to)]);
        self.extra(name, def)
    }

    /// Adds a constant with these integers, which fit `dtype`, and returns its name.
    pub(super) fn known(
        &mut self,
        name: &str,
        sizes: &[usize],
        values: &[i64],
        dtype: DType,
    ) -> Result<String> {
        let tensor = integers(sizes, values, dtype)?.expect("the callers check that the integers fit");
        let def = constant_def(&tensor)?;
        Ok(self.auxiliary(&format!("{name}/const"), def))
    }

    /// Adds an auxiliary node of TensorFlow's op `op` with these type attributes. Returns its unique name, which begins
    /// with `name`.
    pub(super) fn auxiliary_node(
        &mut self,
        name: &str,
        op: &str,
        inputs: Vec<String>,
        types: &[(&str, DType)],
    ) -> String {
        let def = typed_node(op, inputs, types);
        self.auxiliary(name, def)
    }
}

/// The greatest number of symbols that one element is solved for.
const SOLVED_SYMBOLS: usize = 4;

/// The greatest number of equations that are tried for a symbol.
const EQUATIONS: usize = 16;

/// An element of a parameter, in a form that TensorFlow nodes can compute.
enum ElementForm {
    Known(i64),
    Sum(SumForm),
}

/// The sum of products, each of a coefficient and factors.
type SumForm = Vec<(i64, Vec<Factor>)>;

/// A factor of an element.
enum Factor {
    Size(SizeSource),
    /// The solution `(source - rest) / divisor` of an equation `source = divisor·symbol + rest`.
    Solved {
        source: SizeSource,
        divisor: SumForm,
        rest: SumForm,
    },
    /// A function of elements.
    Call(DimFunction, Vec<ElementForm>),
}

/// Returns whether all constants in a dimension fit i32.
fn is_narrow(dim: &Dim) -> bool {
    match (dim.as_known(), dim.terms()) {
        (Some(value), _) => i32::try_from(value).is_ok(),
        (None, Some(terms)) => terms.iter().all(is_narrow_term),
        (None, None) => true,
    }
}

fn is_narrow_term((coefficient, factors): &(i64, Vec<DimFactor>)) -> bool {
    i32::try_from(*coefficient).is_ok()
        && factors.iter().all(|factor| match factor {
            DimFactor::Call(_, args) => args.iter().all(is_narrow),
            _ => true,
        })
}

/// Returns a tensor of the integers with elements of `dtype`; `None` if an integer does not fit `dtype`.
fn integers(sizes: &[usize], values: &[i64], dtype: DType) -> Result<Option<Tensor>> {
    Ok(match dtype {
        DType::I64 => Some(Tensor::from_slice(sizes, values)?),
        DType::I32 => {
            let narrow: Option<Vec<i32>> = values.iter().map(|value| i32::try_from(*value).ok()).collect();
            narrow.map(|narrow| Tensor::from_slice(sizes, &narrow)).transpose()?
        }
        DType::Bool => {
            let flags: Vec<bool> = values.iter().map(|value| *value != 0).collect();
            Some(Tensor::from_slice(sizes, &flags)?)
        }
        _ => None,
    })
}
