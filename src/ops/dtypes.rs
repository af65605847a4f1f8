//! `OpDef::dtypes` and `OpDef::body_kind`: facts about an op, which `shapeflow ops` prints.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shapeflow_shape_fns::{Attr, Attrs, DType, TensorShape};

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Value};
use crate::op::{Body, CompositeCx, OpDef, Operand};

/// The dtypes to try for the other data operands, because some ops accept a dtype only in combination with another.
const OTHERS: [DType; 4] = [DType::I32, DType::I64, DType::Bool, DType::F32];

/// The dtype to try for an attribute that a call must give. An op that quantizes accepts no other kind of dtype.
const RESULT: DType = DType::QI8;

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
        let data = self.operand_list().map_or(1, |operands| {
            operands
                .iter()
                .filter(|operand| matches!(operand, Operand::Data(_) | Operand::Variadic(_)))
                .count()
        });
        if data == 0 {
            return Vec::new();
        }
        DType::all().filter(|dtype| self.takes(*dtype, data)).collect()
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

    /// Returns whether the first of `count` data operands may have `dtype` for some dtypes of the other operands. If
    /// `count` is more than 2, it is enough that some operand may have `dtype`.
    fn takes(&self, dtype: DType, count: usize) -> bool {
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
        let attrs = self.required_attrs();
        all.filter(has_dtype_as_data).any(|dtypes| {
            // Only dtype errors count, because the probe lacks shapes, and its attributes are arbitrary.
            catch_unwind(AssertUnwindSafe(|| self.probe(&dtypes, &attrs)))
                .is_ok_and(|result| !result.is_err_and(|error| error.kind() == ErrorKind::DType))
        })
    }

    /// Returns some value for each attribute that a call must give.
    fn required_attrs(&self) -> Attrs {
        let values = [
            Attr::Int(1),
            Attr::DType(RESULT),
            Attr::from("VALID"),
            Attr::Shape(TensorShape::unranked()),
            Attr::from([1, 1, 1, 1]),
            Attr::from(true),
            Attr::DTypes([RESULT].into()),
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

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use crate::Registry;

    #[test]
    fn all_but_a_few_ops_accept_some_dtype() {
        let registry = Registry::builtin();
        let without_dtype: Vec<&str> =
            registry.iter().filter(|op| op.dtypes().is_empty()).map(|op| op.name()).collect();
        assert!(without_dtype.len() < 45, "{without_dtype:?}");
        let dtypes = |name: &str| registry.get(name).map(|op| op.dtypes()).unwrap_or_default();
        assert!(dtypes("add").contains(&DType::F32) && !dtypes("add").contains(&DType::String));
        assert_eq!(dtypes("logical_not"), [DType::Bool]);
        assert!(dtypes("transpose").contains(&DType::String));
        assert!(dtypes("select").contains(&DType::F32));
    }
}
