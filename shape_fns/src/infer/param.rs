//! Methods of [`InferenceContext`] that read attributes and parameters. A parameter is an attribute or an operand.

use super::attribute::Omitted;
use crate::error::bail;
use crate::{Attr, DType, Dim, InferenceContext, PartialElements, Result, ShapeError, TensorShape, counted};

/// The elements of a parameter, as far as they are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Param {
    /// Every element is a number.
    Known(PartialElements),
    /// The number of elements is known. At least one element is not a known number: it is an expression or unknown.
    Partial(PartialElements),
    /// No element is known.
    Unknown {
        /// The number of elements: 1 for a scalar, the length of a vector, and `None` for every other rank.
        len: Option<Dim>,
        /// The rank, if it is known.
        rank: Option<usize>,
    },
    /// The op has neither an attribute nor an operand of this name.
    Absent,
}

impl Param {
    /// Returns the elements, which may be partly unknown.
    pub fn elements(self) -> Option<PartialElements> {
        match self {
            Param::Known(elements) | Param::Partial(elements) => Some(elements),
            _ => None,
        }
    }
}

/// The elements of a parameter that is a list: see [`InferenceContext::param_vector`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum List {
    /// The elements: each is a number, an expression or an unknown integer.
    Elements(Vec<Dim>),
    /// The elements are unknown; the length may be known.
    Unknown(Option<usize>),
    /// The op has neither an attribute nor an operand of this name.
    Absent,
}

impl List {
    /// Returns the number of elements if it is known.
    pub fn known_len(&self) -> Option<usize> {
        match self {
            List::Elements(elements) => Some(elements.len()),
            List::Unknown(len) => *len,
            List::Absent => None,
        }
    }

    /// Returns the elements if all are numbers.
    pub fn as_known(&self) -> Option<Vec<i64>> {
        match self {
            List::Elements(elements) => elements.iter().map(Dim::as_known).collect(),
            _ => None,
        }
    }
}

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident / $name_or:ident -> $type:ty, $what:literal, $pattern:pat => $value:expr$(, $Omitted:ident)?;)*) => {$(
        $(#[$doc])*
        /// An absent attribute has the default value that the op declares.
        ///
        /// # Errors
        /// The attribute is of another kind, or it is absent and has no declared default value.
        pub fn $name(&self, name: &str) -> Result<$type> {
            match self.attr(name) {
                Some($pattern) => Ok($value),
                $(None if let Some(Omitted::$Omitted(default)) = self.attrs().omitted(name) => Ok(default),)?
                other => Err(wrong_kind(name, $what, other)),
            }
        }

        $(#[$doc])*
        /// An absent attribute has the default value that the op declares, or else the value `default`.
        ///
        /// # Errors
        /// The attribute is of another kind.
        pub fn $name_or(&self, name: &str, default: $type) -> Result<$type> {
            match self.attr(name) {
                Some(_) => self.$name(name),
                $(None if let Some(Omitted::$Omitted(declared)) = self.attrs().omitted(name) => Ok(declared),)?
                None => Ok(default),
            }
        }
    )*};
}

/// Makes the error about an attribute that is absent or of another kind than `what`.
#[cold]
fn wrong_kind(name: &str, what: &str, got: Option<&Attr>) -> ShapeError {
    match got {
        Some(attr) => ShapeError::new(format_args!("{name} must be {what}, got {} ({attr})", attr.kind())),
        None => ShapeError::new(format_args!("{name} must be given: it is {what}")),
    }
}

impl<'a> InferenceContext<'a> {
    readers! {
        /// Reads an integer attribute.
        int / int_or -> i64, "an integer", Attr::Int(value) => *value, Int;
        /// Reads a bool attribute.
        bool / bool_or -> bool, "a bool", Attr::Bool(value) => *value, Bool;
        /// Reads a float attribute.
        float / float_or -> f64, "a float", Attr::Float(value) => *value, Float;
        /// Reads a string attribute.
        str / str_or -> &'a str, "a string", Attr::Str(value) => value, Str;
        /// Reads an attribute that is a list of integers.
        ints / ints_or -> &'a [i64], "a list of integers", Attr::Ints(values) => values, Ints;
        /// Reads a dtype attribute.
        dtype / dtype_or -> DType, "a dtype", Attr::DType(value) => *value, DType;
        /// Reads a shape attribute.
        shape / shape_or -> &'a TensorShape, "a shape", Attr::Shape(value) => value;
    }

    /// Reads an attribute that is a string of any bytes. An absent attribute has the default value that the op
    /// declares, or else the bytes of `default`.
    ///
    /// # Errors
    /// The attribute is of another kind.
    pub fn bytes_or(&self, name: &str, default: &'a str) -> Result<&'a [u8]> {
        match self.attr(name) {
            Some(Attr::Str(value)) => Ok(value.as_bytes()),
            Some(Attr::Bytes(value)) => Ok(value),
            None if let Some(Omitted::Str(declared)) = self.attrs().omitted(name) => Ok(declared.as_bytes()),
            None => Ok(default.as_bytes()),
            other => Err(wrong_kind(name, "a string", other)),
        }
    }

    /// Returns the parameter `name`: the attribute of this name, or the known elements of the operand of this name.
    ///
    /// # Errors
    /// The attribute is a float, a string or a dtype, or a list of floats, strings, dtypes or shapes.
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
                        // An empty vector has a known value whatever produces it.
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

    /// Returns the elements of a parameter if all are numbers, or `None` if the parameter is absent or an element is
    /// unknown.
    ///
    /// # Errors
    /// The errors of [`InferenceContext::param`].
    pub fn param_ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(match self.param(name)? {
            Param::Known(elements) => elements.as_known(),
            _ => None,
        })
    }

    /// Returns the elements of a parameter, or `None` if the parameter is absent or no element is known.
    ///
    /// # Errors
    /// The errors of [`InferenceContext::param`].
    pub fn param_elements(&self, name: &str) -> Result<Option<PartialElements>> {
        Ok(self.param(name)?.elements())
    }

    /// Returns a parameter that is a single number or expression, or `None` if the parameter is absent or unknown. An
    /// attribute may also be a list of one integer. An operand must be a scalar.
    ///
    /// # Errors
    /// The parameter has another number of elements or another rank, or the errors of [`InferenceContext::param`].
    pub fn param_scalar(&self, name: &str) -> Result<Option<Dim>> {
        if let Some(index) = self.operand(name).filter(|_| self.attr(name).is_none())
            && let Some(rank) = self.input(index).rank().filter(|rank| *rank > 0)
        {
            return Err(self.blame_param(name, format_args!("must be one integer, got rank {rank}")));
        }
        self.param_single(name)
    }

    /// Like [`InferenceContext::param_scalar`], but an operand may also be a vector of one element.
    ///
    /// # Errors
    /// The parameter has another number of elements, or the errors of [`InferenceContext::param`].
    pub fn param_single(&self, name: &str) -> Result<Option<Dim>> {
        match self.param(name)? {
            Param::Known(elements) | Param::Partial(elements) => match elements.elements() {
                [element] => Ok(Some(element.clone())),
                _ => Err(self.blame_param(name, format_args!("must be one integer, got {elements}"))),
            },
            Param::Unknown { len: Some(len), .. } if len.as_known().is_some_and(|len| len != 1) => Err(self
                .blame_param(
                    name,
                    format_args!("must be one integer, got {len}", len = counted(len, "element")),
                )),
            _ => Ok(None),
        }
    }

    /// Returns a parameter that is a list of integers, in row-major order whatever its rank. A single integer is a list
    /// of one element.
    ///
    /// # Errors
    /// The elements are unknown and the rank is greater than 1, or the errors of [`InferenceContext::param`].
    pub fn param_list(&self, name: &str) -> Result<List> {
        Ok(match self.param(name)? {
            Param::Known(elements) | Param::Partial(elements) => List::Elements(elements.elements().to_vec()),
            Param::Unknown { rank: Some(rank), .. } if rank > 1 => {
                return Err(self.blame_param(name, format_args!("must be a vector, got rank {rank}")));
            }
            // A length above `PartialElements::MAX` counts as unknown, because no shape has that many axes.
            Param::Unknown { len, .. } => List::Unknown(
                len.and_then(|len| usize::try_from(len.as_known()?).ok())
                    .filter(|len| *len <= PartialElements::MAX),
            ),
            Param::Absent => List::Absent,
        })
    }

    /// Like [`InferenceContext::param_list`], but an operand must be a vector.
    ///
    /// # Errors
    /// The operand has another rank, or the errors of [`InferenceContext::param`].
    pub fn param_vector(&self, name: &str) -> Result<List> {
        if let Some(index) = self.operand(name).filter(|_| self.attr(name).is_none())
            && let Some(rank) = self.input(index).rank().filter(|rank| *rank != 1)
        {
            return Err(self.blame_param(name, format_args!("must be a vector, got rank {rank}")));
        }
        self.param_list(name)
    }

    /// Makes an error about a parameter: `{name} {requirement}`. The error blames the operand if the parameter is an
    /// operand.
    pub fn blame_param(&self, name: &str, requirement: impl std::fmt::Display) -> ShapeError {
        let error = ShapeError::new(format_args!("{name} {requirement}"));
        match self.operand(name) {
            Some(index) if self.attr(name).is_none() => error.operand(index),
            _ => error,
        }
    }

    /// Returns a parameter that is an axis of a tensor of rank `rank`, counted from the front, or `None` if the
    /// parameter is absent or unknown. An unknown operand is axis 0 if the rank is 1.
    ///
    /// # Errors
    /// The axis is outside `-rank..rank`, or the errors of [`InferenceContext::param_scalar`].
    pub fn param_axis(&self, name: &str, rank: usize) -> Result<Option<usize>> {
        match self.param_scalar(name)?.and_then(|dim| dim.as_known()) {
            Some(axis) => self.axis_of(name, axis, rank).map(Some),
            // A tensor of rank 1 has only axis 0.
            None if rank == 1 && self.operand(name).is_some() => Ok(Some(0)),
            None => Ok(None),
        }
    }

    /// Returns `axis` counted from the front.
    ///
    /// # Errors
    /// The axis is outside `-rank..rank`. The message names the parameter `name`.
    pub fn axis_of(&self, name: &str, axis: i64, rank: usize) -> Result<usize> {
        normalize_axis(axis, rank).map_err(|error| {
            self.blame_param(name, error.message().trim_start_matches("axis ")).with_help_if(error.help())
        })
    }
}

/// Returns `axis` counted from the front: a negative axis counts from the end.
///
/// # Errors
/// The axis is outside `-rank..rank`.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize> {
    let count = i64::try_from(rank).unwrap_or(i64::MAX);
    let positive = if axis < 0 { axis.checked_add(count) } else { Some(axis) };
    match positive.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ if rank == 0 => bail!("axis requires a tensor of rank at least 1, got {axis} for a scalar"),
        _ => {
            let error = ShapeError::new(format_args!("axis must be in [-{rank}, {rank}), got {axis}"));
            let past = usize::try_from(axis) == Ok(rank);
            Err(error
                .with_help_if(past.then(|| format!("axes count from 0: the last one is {} or -1", rank - 1))))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Attribute, Attrs, DimTable, InferenceContext};

    static DECLARED: [Attribute; 3] = [
        Attribute::int_or("batch", 2),
        Attribute::str_or("mode", "SAME"),
        Attribute::bool("keep").optional(),
    ];

    #[test]
    fn an_absent_attribute_has_the_declared_default() {
        let (attrs, mut table) = (Attrs::declared(&DECLARED), DimTable::new());
        let cx = InferenceContext::new(&[], &[], &attrs, &mut table, 1);
        assert_eq!((cx.int("batch").unwrap(), cx.int_or("batch", 7).unwrap()), (2, 2));
        assert_eq!(
            (cx.str_or("mode", "").unwrap(), cx.bytes_or("mode", "").unwrap()),
            ("SAME", &b"SAME"[..])
        );
        // Neither attribute has a declared default.
        assert!(cx.bool_or("keep", true).unwrap() && cx.bool("keep").is_err());
        assert_eq!(cx.int_or("other", 7).unwrap(), 7);
        let (attrs, mut table) = (attrs.with("batch", 3), DimTable::new());
        let cx = InferenceContext::new(&[], &[], &attrs, &mut table, 1);
        assert_eq!(cx.int_or("batch", 7).unwrap(), 3);
    }
}
