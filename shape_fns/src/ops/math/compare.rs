//! Comparisons. An element of the result is known if the comparison is decided for all sizes. A later `select` with
//! this condition then knows which operand it returns.

use super::arithmetic::propagate_binary;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError, common};

/// Returns 1 or 0, or an error if the condition is undecided.
fn decided_element(answer: Option<bool>) -> Result<Dim> {
    match answer {
        Some(answer) => Ok(Dim::known(answer.into())),
        None => Err(ShapeError::new("a comparison must be decided")),
    }
}

/// Returns whether `a >= b`, or `None` if that depends on the sizes.
fn at_least(a: &Dim, b: &Dim) -> Option<bool> {
    Guard::Ge(a.clone(), b.clone()).decide()
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident by $shape:path: |$a:ident, $b:ident| $answer:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// For integers, an element of the result is known if it is the same for all values of the symbols.
        ///
        /// # Errors
        /// Two dimensions are provably different and neither is 1.
        pub fn $name(cx: &mut InferenceContext<'_>) -> Result<()> {
            $shape(cx)?;
            propagate_binary(cx, |$a, $b| decided_element($answer));
            Ok(())
        }
    )*};
}

comparisons! {
    /// `x == y`, with the shape of [`common::equality`].
    equal by common::equality: |a, b| a.same(b);
    /// `x != y`, with the shape of [`common::equality`].
    not_equal by common::equality: |a, b| a.same(b).map(|same| !same);
    /// `x >= y`, with the shape of [`common::broadcast`].
    greater_equal by common::broadcast: |a, b| at_least(a, b);
    /// `x <= y`, with the shape of [`common::broadcast`].
    less_equal by common::broadcast: |a, b| at_least(b, a);
    /// `x > y`, with the shape of [`common::broadcast`].
    greater by common::broadcast: |a, b| at_least(b, a).map(|at_most| !at_most);
    /// `x < y`, with the shape of [`common::broadcast`].
    less by common::broadcast: |a, b| at_least(a, b).map(|at_least| !at_least);
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { equalities: super::equal, ["x", "y"];
        {} "i32 [4] = [n, n, 3, m]; i32 [4] = [n, n+1, 3, 5]" => "[4] = [1, 0, 1, ?]";
        {} "[2]; [2]" => "[2]";
        {incompatible_shape_error: false} "i32 [2] = [1, 2]; i32 [3] = [1, 2, 3]" => "[]";
    }
    shape_table! { inequalities: super::not_equal, ["x", "y"];
        {} "i32 [2] = [n, -1]; i32 [] = -1" => "[2] = [1, 0]";
    }
    shape_table! { orders: super::greater, ["x", "y"];
        {} "i32 [3] = [n+1, n, n]; i32 [3] = [n, n, 2]" => "[3] = [1, 0, ?]";
    }
    shape_table! { bounds: super::greater_equal, ["x", "y"];
        {} "i32 [2] = [n, -1]; i32 [] = 0" => "[2] = [1, 0]";
    }
    shape_table! { less: super::less, ["x", "y"];
        {} "i32 [2] = [n, -1]; i32 [] = 0" => "[2] = [0, 1]";
    }
    shape_table! { at_most: super::less_equal, ["x", "y"];
        {} "i32 [2] = [n, 3]; i32 [2] = [n+1, 2]" => "[2] = [1, 0]";
    }
}
