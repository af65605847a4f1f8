//! `Value`: a node's output, as a handle to build with.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};
use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::{Extra, Graph, IntoOperand, ValueIx};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::OpDef;
use crate::ops;

const POISONED: u32 = 1 << 31;

/// A node's output: a small handle, not data (see [`Tensor`](crate::Tensor)).
///
/// Methods infer shapes at once and return `Result<Value>`. Operators infer at once too and return a
/// `Value`; one that was refused is *poisoned* and carries its error to the next method, to [`Value::ok`]
/// or to `compile`.
#[derive(Clone, Copy)]
#[must_use = "a value that nothing uses is dead code"]
pub struct Value<'g> {
    graph: &'g Graph,
    id: u32,
}

/// A [`Value`] without the borrow of its graph: `Send`, `'static`, storable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueId {
    pub(super) graph: u32,
    pub(super) index: ValueIx,
}

impl<'g> Value<'g> {
    pub(crate) fn new(graph: &'g Graph, index: ValueIx) -> Value<'g> {
        Value { graph, id: index.0 }
    }

    /// A value that stands for an error.
    pub(crate) fn poisoned(graph: &'g Graph, error: Error, dtype: DType) -> Value<'g> {
        let mut data = graph.write();
        let id = data.errors.len() as u32 | POISONED;
        data.errors.push((error, dtype));
        drop(data);
        Value { graph, id }
    }

    /// The graph the value belongs to.
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// The value's place in its graph, or the error of the operator that was refused.
    pub(crate) fn index(self) -> Result<ValueIx> {
        if self.id & POISONED == 0 {
            return Ok(ValueIx(self.id));
        }
        Err(self.graph.read().errors[(self.id & !POISONED) as usize].0.clone())
    }

    /// What one stores beside the graph.
    pub fn id(self) -> ValueId {
        ValueId { graph: self.graph.tag(), index: ValueIx(self.id) }
    }

    /// The value itself, unless the operator that made it was refused.
    ///
    /// # Errors
    /// The located error of that operator.
    pub fn ok(self) -> Result<Value<'g>> {
        self.index().map(|_| self)
    }

    /// The element type.
    pub fn dtype(self) -> DType {
        let data = self.graph.read();
        match self.id & POISONED {
            0 => data.values[self.id as usize].dtype,
            _ => data.errors[(self.id & !POISONED) as usize].1,
        }
    }

    /// What is known of the shape now; unranked for a poisoned value.
    pub fn shape(self) -> TensorShape {
        let data = self.graph.read();
        match self.id & POISONED {
            0 => data.table.resolve_shape(&data.values[self.id as usize].shape),
            _ => TensorShape::unranked(),
        }
    }

    /// One dimension of the shape; a negative axis counts from the end.
    ///
    /// # Errors
    /// The rank is unknown, or there is no such axis.
    #[track_caller]
    pub fn dim(self, axis: i64) -> Result<Dim> {
        let location = Location::caller();
        self.index()?;
        let shape = self.shape();
        shape.dim(axis).cloned().ok_or_else(|| {
            Error::new(
                ErrorKind::Shape,
                Phase::Build,
                format!("dim({axis}) needs that axis, got shape {shape}"),
            )
            .at(location)
        })
    }

    /// Gives the node that made this value a name, shown below its scopes.
    pub fn named(self, name: &str) -> Value<'g> {
        if self.id & POISONED == 0 {
            let mut data = self.graph.write();
            let node = data.values[self.id as usize].node;
            data.nodes[node.at()].extra.get_or_insert_with(|| Box::new(Extra::default())).name =
                Some(name.to_string());
        }
        self
    }

    pub(crate) fn binary<T: IntoOperand<'g>>(
        self,
        def: &'static OpDef,
        other: T,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        let other = other.into_operand(self, location);
        self.graph.op(def).data(self).data(other).finish_at(location)
    }

    pub(crate) fn or_poison(self, result: Result<Value<'g>>) -> Value<'g> {
        result.unwrap_or_else(|error| Value::poisoned(self.graph, error, self.dtype()))
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            Ok(index) => write!(f, "{index}: {}{}", self.dtype(), self.shape()),
            Err(error) => write!(f, "poisoned: {error}"),
        }
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $DEF:path),* $(,)?) => {$(
        impl<'g, T: IntoOperand<'g>> $Trait<T> for Value<'g> {
            type Output = Value<'g>;
            #[track_caller]
            fn $method(self, other: T) -> Value<'g> {
                self.or_poison(self.binary(&$DEF, other, Location::caller()))
            }
        }
        operators!(@left f64 $Trait $method $DEF);
        operators!(@left i64 $Trait $method $DEF);
    )*};
    (@left $Scalar:ident $Trait:ident $method:ident $DEF:path) => {
        impl<'g> $Trait<Value<'g>> for $Scalar {
            type Output = Value<'g>;
            #[track_caller]
            fn $method(self, other: Value<'g>) -> Value<'g> {
                let location = Location::caller();
                let left = self.into_operand(other, location);
                other.or_poison(left.binary(&$DEF, other, location))
            }
        }
    };
}
operators!(
    Add add ops::math::add::DEF,
    Sub sub ops::math::sub::DEF,
    Mul mul ops::math::mul::DEF,
    Div div ops::math::div::DEF,
    Rem rem ops::math::floormod::DEF,
    BitAnd bitand ops::logical::bitwise_and::DEF,
    BitOr bitor ops::logical::bitwise_or::DEF,
    BitXor bitxor ops::logical::bitwise_xor::DEF,
);

use std::ops::BitXor;

impl<'g> Neg for Value<'g> {
    type Output = Value<'g>;
    #[track_caller]
    fn neg(self) -> Value<'g> {
        self.or_poison(self.graph.op(&ops::math::neg::DEF).data(self).finish_at(Location::caller()))
    }
}

impl<'g> Not for Value<'g> {
    type Output = Value<'g>;
    #[track_caller]
    fn not(self) -> Value<'g> {
        self.or_poison(
            self.graph.op(&ops::logical::bitwise_not::DEF).data(self).finish_at(Location::caller()),
        )
    }
}

/// The sum of at least one value.
///
/// # Panics
/// The iterator is empty: there is no graph to put a zero into.
impl<'g> Sum for Value<'g> {
    #[track_caller]
    fn sum<I: Iterator<Item = Value<'g>>>(mut values: I) -> Value<'g> {
        let first = values.next().expect("the sum of no values has no graph to live in");
        values.fold(first, |sum, value| sum + value)
    }
}
