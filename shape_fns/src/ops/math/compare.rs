//! Comparisons whose results are followed where they are decided, so that what they select stays known.

use super::arithmetic::follow;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError, common};

/// 1 or 0 where a condition is decided.
fn decided(answer: Option<bool>) -> Result<Dim> {
    match answer {
        Some(answer) => Ok(Dim::known(answer.into())),
        None => Err(ShapeError::new("a comparison must be decided")),
    }
}

fn at_least(a: &Dim, b: &Dim) -> Option<bool> {
    Guard::Ge(a.clone(), b.clone()).decide()
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident by $shape:path: |$a:ident, $b:ident| $answer:expr;)*) => {$(
        $(#[$doc])*
        /// Of integers the result follows where it is the same for all values of the symbols.
        ///
        /// # Errors
        /// Two dimensions are provably different and neither is 1.
        pub fn $name(cx: &mut InferenceContext<'_>) -> Result<()> {
            $shape(cx)?;
            follow(cx, |$a, $b| decided($answer));
            Ok(())
        }
    )*};
}

comparisons! {
    /// `x == y`, of the shape of [`common::equality`].
    equal by common::equality: |a, b| a.same(b);
    /// `x != y`, of the shape of [`common::equality`].
    not_equal by common::equality: |a, b| a.same(b).map(|same| !same);
    /// `x >= y`, of the shape of [`common::broadcast`].
    greater_equal by common::broadcast: |a, b| at_least(a, b);
    /// `x <= y`, of the shape of [`common::broadcast`].
    less_equal by common::broadcast: |a, b| at_least(b, a);
    /// `x > y`, of the shape of [`common::broadcast`].
    greater by common::broadcast: |a, b| at_least(b, a).map(|at_most| !at_most);
    /// `x < y`, of the shape of [`common::broadcast`].
    less by common::broadcast: |a, b| at_least(a, b).map(|at_least| !at_least);
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { equalities: super::equal, ["x", "y"];
        {} "i32 [4] = [n, n, 3, m]; i32 [4] = [n, n+1, 3, 5]" => "[4] = [1, 0, 1, ?]";
        {} "[2]; [2]" => "[2]";
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
