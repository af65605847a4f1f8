//! `OpDef::dtypes` and `OpDef::body_kind`: facts about an op, which `shapeflow ops` prints.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shapeflow_shape_fns::{Attr, Attrs, DType, TensorShape};

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Value};
use crate::op::{Body, CompositeCx, OpDef, Operand};

/// The dtypes to try for the other data operands, because some ops accept a dtype only in combination with another.
const OTHERS: [DType; 4] = [DType::I32, DType::I64, DType::Bool, DType::F32];

/// The dtypes to try for an attribute that a call must give. An op that quantizes accepts no other kind of dtype.
const RESULTS: [DType; 2] = [DType::QI8, DType::F32];

/// The dtypes to try for the operands after the data if no simpler call is accepted: scales, zero points, ranges, keys.
const PARAMETERS: [DType; 4] = [DType::F32, DType::I32, DType::I64, DType::String];

impl OpDef {
    /// Returns the dtypes of an op's data. For an op with one or two data operands, the result is the dtypes that the
    /// first data operand may have; for an op with more, the dtypes that some data operand may have. The list is empty
    /// for an op without data operands.
    ///
    /// ```
    /// use shapeflow::{DType, Registry};
    ///
    /// let registry = Registry::builtin();
    /// let erf = registry.get("erf").expect("erf is built in");
    /// assert!(erf.dtypes().contains(&DType::F64) && !erf.dtypes().contains(&DType::I32));
    /// ```
    pub fn dtypes(&self) -> Vec<DType> {
        let operands = self.operand_list();
        let is_data = |operand: &Operand| matches!(operand, Operand::Data(_) | Operand::Variadic(_));
        let count = operands.map_or(1, |operands| operands.iter().filter(|operand| is_data(operand)).count());
        if count == 0 {
            return Vec::new();
        }
        let attrs = RESULTS.map(|result| self.required_attrs(result));
        let accepts = |dtypes: &[DType]| attrs.iter().any(|attrs| self.accepts(dtypes, attrs));
        let simple: Vec<DType> = DType::all().filter(|dtype| takes(*dtype, count, &accepts)).collect();
        if !simple.is_empty() {
            return simple;
        }
        // The parameters before the data are operands, and not attributes.
        let before =
            operands.map_or(0, |operands| operands.iter().take_while(|operand| !is_data(operand)).count());
        let after_parameters = |dtypes: &[DType]| accepts(&[&vec![DType::I32; before][..], dtypes].concat());
        DType::all().filter(|dtype| takes_with_parameters(*dtype, count, &after_parameters)).collect()
    }

    /// Returns how the elements are computed: `compute` (a scalar expression, fused into kernels), `contraction` (a
    /// matmul), `host` (a Rust function), `control` (graphs inside the node), `composite` (other ops), `input`,
    /// `constant`, or `shape only` (not at all).
    pub fn body_kind(&self) -> &'static str {
        match self.body {
            Body::Input => "input",
            Body::Constant => "constant",
            Body::Compute(_) => "compute",
            Body::Contraction { .. } => "contraction",
            Body::Host(_) | Body::HostWith(_) => "host",
            Body::Control(_) => "control",
            Body::Composite(_) => "composite",
            Body::ShapeOnly => "shape only",
        }
    }

    /// Returns whether the op accepts operands of these dtypes. Only dtype errors count, because the probe lacks
    /// shapes, and its attributes are arbitrary.
    fn accepts(&self, dtypes: &[DType], attrs: &Attrs) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.probe(dtypes, attrs)))
            .is_ok_and(|result| !result.is_err_and(|error| error.kind() == ErrorKind::DType))
    }

    /// Returns some value for each attribute that a call must give; `result` for a dtype.
    fn required_attrs(&self, result: DType) -> Attrs {
        let values = [
            Attr::Int(1),
            Attr::DType(result),
            Attr::from("VALID"),
            Attr::Shape(TensorShape::unranked()),
            Attr::from([1, 1, 1, 1]),
            Attr::from(true),
            Attr::DTypes([result].into()),
            Attr::Shapes([TensorShape::unranked()].into()),
        ];
        let required = self.attributes().iter().filter(|attribute| attribute.is_required());
        required.fold(self.no_attrs().clone(), |attrs, attribute| {
            match values.iter().find(|value| attribute.accepts(value)) {
                Some(value) => attrs.with(attribute.name(), value.clone()),
                None => attrs,
            }
        })
    }

    /// Infers the op's result for operands of these dtypes.
    fn probe(&self, dtypes: &[DType], attrs: &Attrs) -> Result<()> {
        let Body::Composite(build) = self.body else {
            return self.infer_dtypes(dtypes, attrs).map(|_| ());
        };
        let graph = Graph::new();
        let values: Vec<Value<'_>> = dtypes
            .iter()
            .enumerate()
            .map(|(number, dtype)| graph.input(&number.to_string(), *dtype, TensorShape::unranked()))
            .collect::<Result<_, Error>>()?;
        build(&CompositeCx { attrs }, &values)?;
        graph.check()
    }
}

/// Returns whether the first of `count` data operands may have `dtype` for some dtypes of the other operands. If
/// `count` is more than 2, it is enough that some operand may have `dtype`.
fn takes(dtype: DType, count: usize, accepts: &dyn Fn(&[DType]) -> bool) -> bool {
    let all_same = vec![dtype; count];
    let rest_is = OTHERS.iter().map(|other| {
        let mut dtypes = vec![*other; count];
        dtypes[0] = dtype;
        dtypes
    });
    let last_is = OTHERS.iter().map(|other| {
        let mut dtypes = vec![dtype; count];
        dtypes[count - 1] = *other;
        dtypes
    });
    let first_is = OTHERS.iter().map(|other| {
        let mut dtypes = vec![dtype; count];
        dtypes[0] = *other;
        dtypes
    });
    // The values of a sparse tensor stand between indices and sizes.
    let second_is = OTHERS.iter().filter(|_| count > 2).map(|other| {
        let mut dtypes = vec![*other; count];
        dtypes[1] = dtype;
        dtypes
    });
    // With three or more operands, as in select, the first operand may be a condition. It is then enough that
    // another operand has `dtype`.
    let has_dtype_as_data = |dtypes: &Vec<DType>| dtypes[0] == dtype || count > 2;
    let all = std::iter::once(all_same).chain(rest_is).chain(last_is).chain(first_is).chain(second_is);
    all.filter(has_dtype_as_data).any(|dtypes| accepts(&dtypes))
}

/// Returns whether one, two or all of `count` operands may have `dtype` while the others alternate between two dtypes.
fn takes_with_parameters(dtype: DType, count: usize, accepts: &dyn Fn(&[DType]) -> bool) -> bool {
    let pairs = || PARAMETERS.iter().flat_map(|a| PARAMETERS.iter().map(move |b| [*a, *b]));
    (1..=count.min(2)).chain([count]).any(|data| {
        pairs().any(|pair| {
            let parameters = pair.iter().cycle().take(count - data);
            let dtypes: Vec<DType> = std::iter::repeat_n(&dtype, data).chain(parameters).copied().collect();
            accepts(&dtypes)
        })
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use crate::Registry;

    #[test]
    fn all_but_a_few_ops_accept_some_dtype() {
        let registry = Registry::builtin();
        let dtypes = |name: &str| registry.get(name).map(|op| op.dtypes()).unwrap_or_default();
        let without_dtype: Vec<&str> =
            registry.iter().filter(|op| op.dtypes().is_empty()).map(|op| op.name()).collect();
        assert!(without_dtype.len() < 21, "{without_dtype:?}");
        assert!(dtypes("concat").contains(&DType::String) && dtypes("batch_norm").contains(&DType::F32));
        assert!(dtypes("add").contains(&DType::F32) && !dtypes("add").contains(&DType::String));
        assert_eq!(dtypes("logical_not"), [DType::Bool]);
        assert!(dtypes("transpose").contains(&DType::String));
        assert!(dtypes("select").contains(&DType::F32));
    }
}
