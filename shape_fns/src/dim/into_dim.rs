//! [`IntoDim`]: the types that can be given where a dimension is expected.

use crate::Dim;
use crate::dim::symbol::Symbol;
use crate::dim::{DimRepr, Invalid};

/// The dimension `?`. Each conversion makes a new anonymous symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unknown;

/// The types that can be given where a dimension is expected: numbers, [`Dim`]s, names of symbols (`"?"` is an
/// unknown), and [`Unknown`].
pub trait IntoDim {
    /// Converts to a dimension. The dimension is invalid if a number does not fit in `i64` or a name is ill-formed.
    fn into_dim(self) -> Dim;
}

impl IntoDim for Dim {
    fn into_dim(self) -> Dim {
        self
    }
}

impl IntoDim for Unknown {
    fn into_dim(self) -> Dim {
        Dim(DimRepr::Symbol(Symbol::free()))
    }
}

impl IntoDim for &str {
    fn into_dim(self) -> Dim {
        if self == "?" { Unknown.into_dim() } else { Dim::symbol(self) }
    }
}

impl IntoDim for usize {
    fn into_dim(self) -> Dim {
        i64::try_from(self).map_or(Dim(DimRepr::Invalid(Invalid::Overflow)), Dim::known)
    }
}

macro_rules! into_dim {
    ($($int:ty)*) => {$(
        impl IntoDim for $int {
            fn into_dim(self) -> Dim {
                Dim::known(self.into())
            }
        }
    )*};
}
into_dim!(i32 i64 u32);

/// A reference converts as the value to which it refers.
impl<T: IntoDim + Clone> IntoDim for &T {
    fn into_dim(self) -> Dim {
        self.clone().into_dim()
    }
}

/// `None` converts to an unknown.
impl<T: IntoDim> IntoDim for Option<T> {
    fn into_dim(self) -> Dim {
        self.map_or_else(|| Unknown.into_dim(), IntoDim::into_dim)
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim::known(value)
    }
}

impl From<i32> for Dim {
    fn from(value: i32) -> Dim {
        value.into_dim()
    }
}

impl From<usize> for Dim {
    fn from(value: usize) -> Dim {
        value.into_dim()
    }
}

impl From<Symbol> for Dim {
    fn from(symbol: Symbol) -> Dim {
        Dim(DimRepr::Symbol(symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknowns_are_distinct_and_names_are_not() {
        assert_ne!(Dim::UNKNOWN.into_dim(), Dim::UNKNOWN.into_dim());
        assert_ne!("?".into_dim(), "?".into_dim());
        assert_ne!(None::<i64>.into_dim(), None::<i64>.into_dim());
        assert_eq!(("n".into_dim(), Some(3).into_dim()), (Dim::symbol("n"), Dim::known(3)));
        let n = Dim::symbol("n");
        assert_eq!([(&&n).into_dim(), (&&&n).into_dim(), (&&"n").into_dim()], [n.clone(), n.clone(), n]);
        let error = "a b".into_dim().validate().unwrap_err();
        assert!(error.message().ends_with(r#"followed by letters, digits, _ and ., got "a b""#), "{error}");
        assert!(usize::MAX.into_dim().validate().is_err());
    }
}
