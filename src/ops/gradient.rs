//! Gradients of elementwise ops as rows: `gradient_ops!`.
//!
//! A row holds the documentation of the builder method, the names of the method and of the definition, the class of
//! dtypes, the TensorFlow op types, an example, and the body. Both operands have one shape. The header names them in
//! TensorFlow's order.

macro_rules! gradient_ops {
    ([$first:literal, $second:literal]: $($(#[$meta:meta])* $method:ident, $DEF:ident: $class:ident, [$($op:literal),*], $x:tt, $y:tt $(= $exact:tt)? $(~ $near:tt)?, $body:expr;)*) => {
        impl<'g> $crate::graph::Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..], [..] -> [..]`, ", $crate::ops::row_docs::dtype_words!(many $class), " of one dtype.",
                $crate::ops::row_docs::tensorflow_words!($($op),*), " Fuses into kernels.",
            )]
            ///
            /// ```
            /// # use shapeflow::{Graph, Tensor};
            /// let g = Graph::new();
            #[doc = $crate::ops::row_docs::call_words!($method, $x, $y)]
            /// let [y] = g.compile(y)?.run(&[])?;
            $(#[doc = $crate::ops::row_docs::exact_words!($exact)])?
            $(#[doc = $crate::ops::row_docs::near_words!($near)])?
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            #[doc = concat!(
                "The dtypes differ or are not ", $crate::ops::row_docs::dtype_words!(or $class),
                ", or the shapes differ.",
            )]
            #[track_caller]
            pub fn $method(
                self,
                other: impl $crate::graph::IntoOperand<'g>,
            ) -> $crate::error::Result<$crate::graph::Value<'g>> {
                self.binary(&$DEF, other, std::panic::Location::caller())
            }
        )*}

        $(pub(crate) static $DEF: $crate::op::OpDef = {
            $crate::op::OpDef::compute(stringify!($method), |cx, _output, index| {
                let body: fn($crate::expr::Expr, $crate::expr::Expr) -> $crate::expr::Expr = $body;
                $crate::ops::widen::widened_pair(cx.operand(0, index), cx.operand(1, index), body)
            })
            .operands(&[$crate::op::Operand::Data($first), $crate::op::Operand::Data($second)])
            .shape_fn($crate::shape_fns::common::same_shape)
            .dtype_rule($crate::dtype::binary::$class)
            .tensorflow(&[$($crate::op::TfOp::new($op)),*])
        };)*

        /// Every op of the file.
        pub(crate) static ALL: &[&$crate::op::OpDef] = &[$(&$DEF),*];
    };
}

pub(crate) use gradient_ops;
