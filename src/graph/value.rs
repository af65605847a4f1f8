//! `Value`: a handle to an output of a node, to build with.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use shapeflow_shape_fns::{DType, TensorShape};

use super::{Extra, Graph, Poison, ValueInfo, ValueIx};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};
use crate::tensor::Tensor;

/// The bit of `Value::id` that marks a poisoned value. The other bits are then the index of the value's error in
/// `GraphData::poisons`.
const POISONED: u32 = 1 << 31;

/// An output of a node. A `Value` is a small handle and holds no data; [`Tensor`](crate::Tensor) holds data.
///
/// A method infers shapes at once and returns `Result<Value>`. An operator (`x + y`) infers at once too, but returns a
/// `Value`. A refused operator gives a *poisoned* value, which carries the error to the next method, to
/// [`Value::ok`] or to `compile`.
#[derive(Clone, Copy)]
#[must_use = "a run computes only values that are used; `let _ = x.named(..)` names a value without using it"]
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

    /// Makes a poisoned value, which carries `error` and claims to have `dtype`.
    pub(crate) fn poisoned(graph: &'g Graph, error: Error, dtype: DType) -> Value<'g> {
        let mut data = graph.write();
        let id = data.poisons.len() as u32 | POISONED;
        data.poisons.push(Poison { error, dtype, is_returned: AtomicBool::new(false) });
        drop(data);
        Value { graph, id }
    }

    /// Adds the op to the error of a scalar that the op's call at this line has refused. Any other value stays as it
    /// is.
    pub(crate) fn refused_by(self, op: &str, location: &'static Location<'static>) -> Value<'g> {
        if self.id & POISONED != 0
            && let Some(poison) = self.graph.write().poisons.get_mut((self.id & !POISONED) as usize)
            && poison.error.op().is_none()
            && poison.error.recorded_location() == Some(location)
        {
            poison.error = poison.error.clone().with_op(op, op);
        }
        self
    }

    /// Returns the graph that the value belongs to.
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Returns the index of the value. A poisoned value returns its error, and the graph notes that the error was
    /// returned. A value of a branch or a loop body whose closure has returned gives an error too.
    pub(crate) fn index(self) -> Result<ValueIx> {
        let data = self.graph.read();
        if self.id & POISONED != 0 {
            let Some(poison) = data.poisons.get((self.id & !POISONED) as usize) else { return Err(closed()) };
            poison.is_returned.store(true, Ordering::Relaxed);
            return Err(poison.error.clone());
        }
        // A refused call of a composite op may have removed the value.
        match data.values.get(self.id as usize).is_none_or(ValueInfo::is_closed) {
            true => Err(closed()),
            false => Ok(ValueIx(self.id)),
        }
    }

    /// Returns the id of the value, which can be stored without borrowing the graph; see [`Graph::value`].
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Value, ValueId, shape};
    ///
    /// fn build(g: &Graph) -> shapeflow::Result<ValueId> {
    ///     Ok(g.input("x", DType::F32, shape!["n"])?.relu()?.id())
    /// }
    /// let g = Graph::new();
    /// let output = build(&g)?;
    /// let exe = g.compile(g.value(output)?)?;
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn id(self) -> ValueId {
        ValueId { graph: self.graph.tag(), index: ValueIx(self.id) }
    }

    /// Returns the value itself, unless it is poisoned.
    ///
    /// Only operators such as `x + y` give a value that needs `ok`. A method such as `x.add(y)` returns a `Result`
    /// already, and `Result::ok` on that `Result` drops the error: use `?` there.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.input("x", DType::F32, shape![2])?, g.input("y", DType::F32, shape![3])?);
    /// assert!((x * 2.0 + 1.0).ok().is_ok());
    /// let error = (x + y * 2.0).ok().unwrap_err();
    /// assert_eq!(error.op(), Some("add"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The located error of the operator that was refused.
    pub fn ok(self) -> Result<Value<'g>> {
        self.index().map(|_| self)
    }

    /// Returns the element type.
    pub fn dtype(self) -> DType {
        let data = self.graph.read();
        match self.id & POISONED {
            0 => data.values.get(self.id as usize).map_or(DType::F32, |info| info.dtype),
            _ => data.poisons.get((self.id & !POISONED) as usize).map_or(DType::F32, |poison| poison.dtype),
        }
    }

    /// Returns the shape as far as it is known now; unranked for a poisoned value.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4])?;
    /// assert_eq!(x.reshape([-1])?.shape().to_string(), "[4*n]");
    /// assert_eq!(x.shape().rank(), Some(2));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn shape(self) -> TensorShape {
        let data = self.graph.read();
        match data.values.get(self.id as usize).filter(|_| self.id & POISONED == 0) {
            Some(info) => data.table.resolve_shape(&info.shape),
            None => TensorShape::unranked(),
        }
    }

    /// Returns the value's elements if they are known before a run: those of a constant, or of a small expression of
    /// constants. A value that depends on an input, a variable, a random number or a host op gives `None`, and so does
    /// an expression with more than 256 nodes or with a tensor of more than 4,096 elements.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape![2])?;
    /// let scale = g.constant([2.0f32, 3.0])? + 1.0;
    /// assert_eq!(scale.static_value(), Some(Tensor::from([3.0f32, 4.0])));
    /// assert_eq!((x * scale).static_value(), None);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "get_static_value")]
    #[doc(alias = "constant_value")]
    pub fn static_value(self) -> Option<Tensor> {
        let data = self.graph.read();
        let info = data.values.get(self.id as usize).filter(|_| self.id & POISONED == 0)?;
        data.constants.get(&info.node).cloned().or_else(|| data.const_fold(ValueIx(self.id)))
    }

    /// Names the value. An output to which the caller of [`Graph::compile`] gives no name has this name. Errors and
    /// dumps show the name of a node after the names of the node's scopes.
    ///
    /// Each output of a node has a name of its own. The name of the node, in errors, dumps and exported models, is the
    /// name of its first output that has one. A second name of a value replaces the first. An input is always exported
    /// with the name under which it is fed.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let exe = g.compile(x.relu()?.named("active"))?;
    /// let results = exe.run_named(&[("x", TensorView::new(&[2], &[-1.0f32, 1.0])?)])?;
    /// assert_eq!(results.tensor("active")?.to_vec::<f32>()?, [0.0, 1.0]);
    ///
    /// let [best, place] = x.top_k(1)?;
    /// let exe = g.compile([best.named("best"), place.named("place")])?;
    /// assert_eq!(exe.outputs().iter().map(|port| &*port.name).collect::<Vec<_>>(), ["best", "place"]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn named(self, name: impl AsRef<str>) -> Value<'g> {
        if self.id & POISONED == 0 && self.index().is_ok() {
            let mut data = self.graph.write();
            let index = data.values[self.id as usize].node;
            let mut name_of_node = name.as_ref().to_string();
            if data.nodes[index.index()].outputs > 1 {
                data.output_names.insert(ValueIx(self.id), name_of_node);
                let mut names = data.nodes[index.index()].values().map(|value| data.output_names.get(&value));
                name_of_node = names.find_map(Option::<&String>::cloned).expect("an output has a name");
            }
            data.nodes[index.index()].extra.get_or_insert_with(|| Box::new(Extra::default())).name =
                Some(name_of_node);
        }
        self
    }

    /// Adds the origin of this value to an error that says that the value belongs to another graph.
    pub(crate) fn named_as_foreign(self, error: Error) -> Error {
        let Ok(index) = self.index() else { return error };
        let data = self.graph.read();
        let node = data.values[index.index()].node;
        let location = data.nodes[node.index()].location;
        let origin = format!("the value of the other graph comes from {}", data.node_label(node));
        error.note(origin, Some(location).filter(|location| !is_library_line(location)))
    }

    /// Returns the value of `result`, or a poisoned value that carries its error.
    pub(crate) fn or_poison(self, result: Result<Value<'g>>) -> Value<'g> {
        result.unwrap_or_else(|error| Value::poisoned(self.graph, error, self.dtype()))
    }
}

/// The error about a value of a branch or a loop body that is used after its closure has returned.
fn closed() -> Error {
    let message = "a value of a branch or a loop body must be used inside its closure, got one of a closure that has \
                   returned";
    Error::new(ErrorKind::ForeignValue, Phase::Build, message)
        .with_help("return the value from the closure, and use the result of the call")
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            Ok(index) => write!(f, "{index}: {}", type_text(self.dtype(), &self.shape())),
            Err(error) => write!(f, "poisoned: {error}"),
        }
    }
}
