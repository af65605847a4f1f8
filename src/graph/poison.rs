//! `Poison`: the error of a poisoned value, and whether the program has seen the error.

use std::sync::atomic::{AtomicBool, Ordering};

use shapeflow_shape_fns::DType;

use super::Graph;
use crate::error::{Error, Result};

/// A poisoned value.
pub(crate) struct Poison {
    pub error: Error,
    /// The dtype that the value claims to have.
    pub dtype: DType,
    /// Whether a call has returned the error.
    pub is_returned: AtomicBool,
}

impl Graph {
    /// Reports the calls of operators (`x + y`) that this graph refused. The result is the error of the first refused
    /// call, and lists the other errors.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.input("x", DType::F32, shape![2])?, g.input("y", DType::F32, shape![3])?);
    /// g.check()?;
    /// let _ = x + y;
    /// assert!(g.check().unwrap_err().message().contains("dimensions must be equal or 1 to broadcast"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operator was refused and left a poisoned value.
    pub fn check(&self) -> Result<()> {
        let data = self.read();
        Error::join(distinct(data.poisons.iter().map(|poison| &poison.error))).map_or(Ok(()), Err)
    }

    /// Joins the errors of poisoned outputs, and then the errors of other poisoned values that no call has returned to
    /// the program.
    pub(crate) fn errors_of_outputs(&self, outputs: Vec<Error>) -> Option<Error> {
        let data = self.read();
        let unseen = data.poisons.iter().filter(|poison| !poison.is_returned.load(Ordering::Relaxed));
        Error::join(distinct(outputs.iter().chain(unseen.map(|poison| &poison.error))))
    }
}

/// Returns every error once. An operator on a poisoned value records the error of its operand again.
fn distinct<'a>(all: impl Iterator<Item = &'a Error>) -> Vec<Error> {
    let mut errors: Vec<Error> = Vec::new();
    for error in all {
        if !errors.iter().any(|known| known.is(error)) {
            errors.push(error.clone());
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use crate::{DType, Graph, Result, shape};

    #[test]
    fn a_compile_error_is_the_error_of_its_outputs() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![3])?;
        let i = g.input("i", DType::I32, shape![3])?;
        // The program has handled this error.
        let half = (i * 0.5).ok().unwrap_err();
        let error = g.compile(x + i).unwrap_err();
        assert_eq!(error.op(), Some("add"));
        assert_eq!(error.all().count(), 1, "{error}");
        assert!(g.check().unwrap_err().all().any(|other| other.location() == half.location()));
        // No call has returned the error of `unseen`, so a failed compile lists it, after the errors of its outputs.
        let unseen = (x - i).named("unseen");
        let error = g.compile([x, -(x * i), i / x]).unwrap_err();
        let ops: Vec<Option<&str>> = error.all().map(|error| error.op()).collect();
        assert!(error.message().starts_with("mul("), "{error}");
        assert_eq!(ops[0], Some("mul"));
        assert!(ops.contains(&Some("sub")) && !error.all().any(|other| other.is(&half)), "{error}");
        assert!(unseen.ok().is_err());
        // The error of a value that no output needs does not stop a compile.
        g.compile(x * 2.0)?;
        Ok(())
    }
}
