//! Attributes and parameters of an op: one way to read a parameter, whether it is an attribute or an operand.

use crate::error::bail;
use crate::{Attr, DType, Dim, InferenceContext, PartialElements, Result, ShapeError, TensorShape};

/// A parameter as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Param {
    /// Every element is a number.
    Known(PartialElements),
    /// The number of elements is known, and something of them.
    Partial(PartialElements),
    /// Nothing of the elements is known.
    Unknown {
        /// The number of elements, where the parameter is a vector of a known or named length.
        len: Option<Dim>,
        /// The rank of the operand.
        rank: Option<usize>,
    },
    /// Neither attribute nor operand.
    Absent,
}

impl Param {
    /// The elements, known or partial.
    pub fn elements(self) -> Option<PartialElements> {
        match self {
            Param::Known(elements) | Param::Partial(elements) => Some(elements),
            _ => None,
        }
    }
}

/// A parameter that is a list: see [`InferenceContext::param_vector`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum List {
    /// Its elements, each a number, an expression or an unknown integer.
    Elements(Vec<Dim>),
    /// Only its length may be known.
    Unknown(Option<usize>),
    /// Neither attribute nor operand.
    Absent,
}

impl List {
    /// The number of elements, where it is known.
    pub fn known_len(&self) -> Option<usize> {
        match self {
            List::Elements(elements) => Some(elements.len()),
            List::Unknown(len) => *len,
            List::Absent => None,
        }
    }

    /// The elements, where all are numbers.
    pub fn as_known(&self) -> Option<Vec<i64>> {
        match self {
            List::Elements(elements) => elements.iter().map(Dim::as_known).collect(),
            _ => None,
        }
    }
}

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident / $name_or:ident -> $type:ty, $what:literal, $pattern:pat => $value:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// It is absent or of another kind.
        pub fn $name(&self, name: &str) -> Result<$type> {
            match self.attr(name) {
                Some($pattern) => Ok($value),
                other => Err(wrong_kind(name, $what, other)),
            }
        }

        $(#[$doc])*
        /// Where it is absent, `default`.
        ///
        /// # Errors
        /// It is of another kind.
        pub fn $name_or(&self, name: &str, default: $type) -> Result<$type> {
            if self.attr(name).is_some() { self.$name(name) } else { Ok(default) }
        }
    )*};
}

#[cold]
fn wrong_kind(name: &str, what: &str, got: Option<&Attr>) -> ShapeError {
    match got {
        Some(attr) => ShapeError::new(format_args!("{name} must be {what}, got {} ({attr})", attr.kind())),
        None => ShapeError::new(format_args!("{name} must be given: it is {what}")),
    }
}

impl<'a> InferenceContext<'a> {
    readers! {
        /// An integer attribute.
        int / int_or -> i64, "an integer", Attr::Int(value) => *value;
        /// A flag.
        bool / bool_or -> bool, "a bool", Attr::Bool(value) => *value;
        /// A float attribute.
        float / float_or -> f64, "a float", Attr::Float(value) => *value;
        /// A text.
        str / str_or -> &'a str, "a string", Attr::Str(value) => value;
        /// A list of integers.
        ints / ints_or -> &'a [i64], "a list of integers", Attr::Ints(values) => values;
        /// An element type.
        dtype / dtype_or -> DType, "a dtype", Attr::DType(value) => *value;
        /// A shape.
        shape / shape_or -> &'a TensorShape, "a shape", Attr::Shape(value) => value;
    }

    /// The parameter of this name: an attribute, or an operand's elements as far as they are known.
    ///
    /// # Errors
    /// The attribute can't be read as integers.
    pub fn param(&self, name: &str) -> Result<Param> {
        let elements = match self.attr(name) {
            Some(attr) => match attr.to_elements() {
                Some(elements) => elements,
                None => match attr {
                    Attr::Shape(shape) if shape.rank().is_none() => {
                        return Ok(Param::Unknown { len: None, rank: Some(1) });
                    }
                    _ => return Err(wrong_kind(name, "an integer or a list of integers", Some(attr))),
                },
            },
            None => {
                let Some(index) = self.operand(name) else { return Ok(Param::Absent) };
                match self.input_value(index) {
                    Some(value) => value.clone(),
                    None => {
                        let shape = self.input(index);
                        let len = shape.dims().and_then(|dims| match dims {
                            [] => Some(Dim::known(1)),
                            [len] => Some(len.clone()),
                            _ => None,
                        });
                        // A vector of no elements has a known value whatever feeds it.
                        if shape.rank() == Some(1) && len == Some(Dim::known(0)) {
                            return Ok(Param::Known(PartialElements::vector([])));
                        }
                        return Ok(Param::Unknown { len, rank: shape.rank() });
                    }
                }
            }
        };
        Ok(if elements.is_known() { Param::Known(elements) } else { Param::Partial(elements) })
    }

    /// The elements of a parameter where all are numbers; `None` where it is absent or some are not.
    ///
    /// # Errors
    /// As [`InferenceContext::param`].
    pub fn param_ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(match self.param(name)? {
            Param::Known(elements) => elements.as_known(),
            _ => None,
        })
    }

    /// The elements of a parameter where something is known of them.
    ///
    /// # Errors
    /// As [`InferenceContext::param`].
    pub fn param_elements(&self, name: &str) -> Result<Option<PartialElements>> {
        Ok(self.param(name)?.elements())
    }

    /// A parameter that is one number, or an expression; `None` where it is absent or unknown. An attribute may also be
    /// a list of one, an operand must be a scalar.
    ///
    /// # Errors
    /// It has another number of elements or another rank, or as [`InferenceContext::param`].
    pub fn param_scalar(&self, name: &str) -> Result<Option<Dim>> {
        if let Some(index) = self.operand(name).filter(|_| self.attr(name).is_none())
            && let Some(rank) = self.input(index).rank().filter(|rank| *rank > 0)
        {
            return Err(self.blame_param(name, format_args!("must be one integer, got rank {rank}")));
        }
        self.param_single(name)
    }

    /// As [`InferenceContext::param_scalar`], where an operand may be a vector of one element too.
    ///
    /// # Errors
    /// It has another number of elements, or as [`InferenceContext::param`].
    pub fn param_single(&self, name: &str) -> Result<Option<Dim>> {
        match self.param(name)? {
            Param::Known(elements) | Param::Partial(elements) => match elements.elements() {
                [element] => Ok(Some(element.clone())),
                _ => Err(self.blame_param(name, format_args!("must be one integer, got {elements}"))),
            },
            Param::Unknown { len: Some(len), .. } if len.as_known().is_some_and(|len| len != 1) => {
                Err(self.blame_param(name, format_args!("must be one integer, got {len}")))
            }
            _ => Ok(None),
        }
    }

    /// A parameter that is a list of integers, in row-major order whatever its rank; one integer stands for a list of
    /// one.
    ///
    /// # Errors
    /// Nothing is known of the elements and there is more than one axis, or as [`InferenceContext::param`].
    pub fn param_list(&self, name: &str) -> Result<List> {
        Ok(match self.param(name)? {
            Param::Known(elements) | Param::Partial(elements) => List::Elements(elements.elements().to_vec()),
            Param::Unknown { rank: Some(rank), .. } if rank > 1 => {
                return Err(self.blame_param(name, format_args!("must be a vector, got rank {rank}")));
            }
            // More entries than are followed are not counted either: nobody makes shapes of so many axes.
            Param::Unknown { len, .. } => List::Unknown(
                len.and_then(|len| usize::try_from(len.as_known()?).ok())
                    .filter(|len| *len <= PartialElements::MAX),
            ),
            Param::Absent => List::Absent,
        })
    }

    /// As [`InferenceContext::param_list`], where an operand must have one axis.
    ///
    /// # Errors
    /// An operand of another rank, or as [`InferenceContext::param`].
    pub fn param_vector(&self, name: &str) -> Result<List> {
        if let Some(index) = self.operand(name).filter(|_| self.attr(name).is_none())
            && let Some(rank) = self.input(index).rank().filter(|rank| *rank != 1)
        {
            return Err(self.blame_param(name, format_args!("must be a vector, got rank {rank}")));
        }
        self.param_list(name)
    }

    /// An error about a parameter, blaming its operand where it is one.
    pub fn blame_param(&self, name: &str, requirement: impl std::fmt::Display) -> ShapeError {
        let error = ShapeError::new(format_args!("{name} {requirement}"));
        match self.operand(name) {
            Some(index) if self.attr(name).is_none() => error.operand(index),
            _ => error,
        }
    }

    /// A parameter that is an axis of a tensor of this rank, counted from the front; `None` where it is absent or
    /// unknown. An operand that is unknown is 0 where there is but one axis.
    ///
    /// # Errors
    /// It is outside `-rank..rank`, or as [`InferenceContext::param_scalar`].
    pub fn param_axis(&self, name: &str, rank: usize) -> Result<Option<usize>> {
        match self.param_scalar(name)?.and_then(|dim| dim.as_known()) {
            Some(axis) => self.axis_of(name, axis, rank).map(Some),
            // Of one axis there is no choice.
            None if rank == 1 && self.operand(name).is_some() => Ok(Some(0)),
            None => Ok(None),
        }
    }

    /// The axis counted from the front.
    ///
    /// # Errors
    /// It is outside `-rank..rank`; the message names the parameter.
    pub fn axis_of(&self, name: &str, axis: i64, rank: usize) -> Result<usize> {
        normalize_axis(axis, rank).map_err(|error| {
            self.blame_param(name, error.message().trim_start_matches("axis ")).with_help_if(error.help())
        })
    }
}

/// The axis counted from the front.
///
/// # Errors
/// It is outside `-rank..rank`.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize> {
    let count = i64::try_from(rank).unwrap_or(i64::MAX);
    let positive = if axis < 0 { axis.checked_add(count) } else { Some(axis) };
    match positive.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ if rank == 0 => bail!("axis must be of a tensor of rank at least 1, got {axis} for a scalar"),
        _ => {
            let error = ShapeError::new(format_args!("axis must be in [-{rank}, {rank}), got {axis}"));
            let past = usize::try_from(axis) == Ok(rank);
            Err(error
                .with_help_if(past.then(|| format!("axes count from 0: the last one is {} or -1", rank - 1))))
        }
    }
}
