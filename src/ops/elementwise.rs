//! Elementwise ops as rows: `unary_ops!` and `binary_ops!`.
//!
//! The header of a table has `rules`, the module of dtype rules, and `result`, a text about the result for the docs.
//!
//! A row holds, in this order: the documentation of the builder method; the names of the method and of the definition;
//! the dtype rule, a function of `rules`; the TensorFlow op types; an example; the body; and optionally a shape
//! function and a dtype rule that replace the default ones. The dtype rule `number` accepts integers and floats;
//! `numeric` accepts complex numbers too. An example has operands and a result, after `=` if the result is exact and
//! after `~` if it is rounded to four digits.
//!
//! `own_shape_fn` after an op type says that TensorFlow's shape function for the op type takes other shapes than the
//! op's shape function. An imported node keeps TensorFlow's shape function. `divides` after the op types says that the
//! op divides operand 0 by operand 1, so a builder call with an integer constant 0 as divisor is refused. A path after
//! `;` names the function that computes the op in TensorFlow, which lacks it.
//!
//! ```text
//! unary_ops! { rules = unary, result = "":
//!     /// The cube root of every element; negative for negative elements.
//!     cbrt, CBRT: float, [; in_tensorflow::cbrt], [8.0, -27.0] ~ [2.0, -3.0], math::cbrt;
//! }
//! ```
//!
//! The macros generate the builder method, the `OpDef` and the file's list `ALL`. The macros also generate the part of
//! the documentation that the columns determine: shapes, dtypes, TensorFlow's names, fusion, the example and errors.

/// The shape function or the dtype rule of a row; the first argument is the default.
macro_rules! function_of_row {
    ($usual:path) => {
        $usual
    };
    ($usual:path, $own:path) => {
        $own
    };
}

/// Ops of one operand. The result has the operand's shape. The module of dtype rules `$rules` determines the dtype of
/// the result. The text `$result` may be empty.
macro_rules! unary_ops {
    (rules = $rules:ident, result = $result:literal: $($(#[$meta:meta])* $method:ident, $DEF:ident: $class:ident, [$($op:literal $($own:ident)?),* $(; $function:path)?], $x:tt $(= $exact:tt)? $(~ $near:tt)?, $body:expr $(, shape = $shape:path)?;)*) => {
        impl<'g> $crate::graph::Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..] -> [..]`, ", $crate::ops::row_docs::dtype_words!(many $class), $result, ".",
                $crate::ops::row_docs::tensorflow_words!($($op),*), " Fuses into kernels.",
            )]
            ///
            /// ```
            /// # use shapeflow::{Graph, Tensor};
            /// let g = Graph::new();
            #[doc = $crate::ops::row_docs::call_words!($method, $x)]
            /// let [y] = g.compile(y)?.run(&[])?;
            $(#[doc = $crate::ops::row_docs::exact_words!($exact)])?
            $(#[doc = $crate::ops::row_docs::near_words!($near)])?
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            #[doc = concat!("The element type is not ", $crate::ops::row_docs::dtype_words!(one $class), ".")]
            #[track_caller]
            pub fn $method(self) -> $crate::error::Result<$crate::graph::Value<'g>> {
                self.unary(&$DEF, std::panic::Location::caller())
            }
        )*}

        impl<'g> $crate::graph::RaggedValue<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "Applies [`Value::", stringify!($method), "`](crate::Value::", stringify!($method),
                ") to every element. The dense kernel runs on the flat values.",
            )]
            ///
            /// # Errors
            #[doc = concat!("The element type is not ", $crate::ops::row_docs::dtype_words!(one $class), ".")]
            #[track_caller]
            pub fn $method(self) -> $crate::error::Result<$crate::graph::RaggedValue<'g>> {
                self.unary(&$DEF, std::panic::Location::caller())
            }
        )*}

        $(pub(crate) static $DEF: $crate::op::OpDef = {
            $crate::op::OpDef::compute(stringify!($method), |cx, _output, index| {
                let body: fn($crate::expr::Expr) -> $crate::expr::Expr = $body;
                body(cx.operand(0, index))
            })
            .operands(&[$crate::op::Operand::Data("x")])
            .shape_fn($crate::ops::elementwise::function_of_row!($crate::shape_fns::common::unary $(, $shape)?))
            .dtype_rule($crate::dtype::$rules::$class)
            .tensorflow(&[$($crate::op::TfOp::new($op) $(.$own())?),*])
            $(.in_tensorflow($crate::op::TfFunction::Composed($function)))?
        };)*

        /// Every op of the file.
        pub(crate) static ALL: &[&$crate::op::OpDef] = &[$(&$DEF),*];
    };
}

/// Ops of two operands of one dtype, which broadcast. The module of dtype rules `$rules` determines the dtype of the
/// result. The text `$result` may be empty.
macro_rules! binary_ops {
    (rules = $rules:ident, result = $result:literal: $($(#[$meta:meta])* $method:ident, $DEF:ident: $class:ident, [$($op:literal $($own:ident)?),* $(; $function:path)?] $($divides:ident)?, $x:tt, $y:tt $(= $exact:tt)? $(~ $near:tt)?, $body:expr $(, shape = $shape:path)? $(, dtypes = $dtypes:path)?;)*) => {
        impl<'g> $crate::graph::Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..], [..] -> broadcast`, ", $crate::ops::row_docs::dtype_words!(many $class), " of one dtype",
                $result, ".", $crate::ops::row_docs::tensorflow_words!($($op),*), " Fuses into kernels.",
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
                ", or the shapes do not broadcast.",
            )]
            #[track_caller]
            pub fn $method(
                self,
                other: impl $crate::graph::IntoOperand<'g>,
            ) -> $crate::error::Result<$crate::graph::Value<'g>> {
                self.binary(&$DEF, other, std::panic::Location::caller())
            }
        )*}

        impl<'g> $crate::graph::RaggedValue<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "Applies [`Value::", stringify!($method), "`](crate::Value::", stringify!($method),
                ") to every pair of elements. The dense kernel runs on the flat values.",
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "The dtypes differ or are not ", $crate::ops::row_docs::dtype_words!(or $class),
                ", the partitions cannot be equal, or a dense operand does not broadcast.",
            )]
            #[track_caller]
            pub fn $method(
                self,
                other: impl $crate::ops::IntoRaggedOperand<'g>,
            ) -> $crate::error::Result<$crate::graph::RaggedValue<'g>> {
                self.binary(&$DEF, other, std::panic::Location::caller())
            }
        )*}

        $(pub(crate) static $DEF: $crate::op::OpDef = {
            $crate::op::OpDef::compute(stringify!($method), |cx, _output, index| {
                $crate::ops::broadcast::lower_binary(cx, index, $body)
            })
            .operands(&[$crate::op::Operand::Data("x"), $crate::op::Operand::Data("y")])
            .shape_fn($crate::ops::elementwise::function_of_row!($crate::shape_fns::common::broadcast $(, $shape)?))
            .dtype_rule($crate::ops::elementwise::function_of_row!($crate::dtype::$rules::$class $(, $dtypes)?))
            $(.$divides())?
            .tensorflow(&[$($crate::op::TfOp::new($op) $(.$own())?),*])
            $(.in_tensorflow($crate::op::TfFunction::Composed($function)))?
        };)*

        /// Every op of the file.
        pub(crate) static ALL: &[&$crate::op::OpDef] = &[$(&$DEF),*];
    };
}

pub(crate) use {binary_ops, function_of_row, unary_ops};

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use crate::op::OpDef;
    use crate::ops::testing::check_row;
    use crate::ops::{logical, math, nn};

    fn unary() -> impl Iterator<Item = &'static OpDef> {
        let files = [
            math::unary::ALL,
            math::exponential::ALL,
            math::predicate::ALL,
            math::special::ALL,
            math::trigonometric::ALL,
            nn::activation::ALL,
        ];
        files
            .into_iter()
            .flatten()
            .copied()
            .chain([&logical::negation::BITWISE_NOT, &logical::negation::LOGICAL_NOT])
            .chain([&logical::population_count::DEF])
    }

    fn binary() -> impl Iterator<Item = &'static OpDef> {
        let files = [
            math::binary::ALL,
            math::no_nan::ALL,
            logical::bits::ALL,
            logical::compare::ALL,
            logical::equality::ALL,
            logical::shift::ALL,
        ];
        files.into_iter().flatten().copied()
    }

    fn gradients() -> impl Iterator<Item = &'static OpDef> {
        let files = [math::gradient::ALL, nn::gradient_from_operand::ALL, nn::gradient_from_result::ALL];
        files.into_iter().flatten().copied()
    }

    /// Returns a dtype that the op accepts.
    fn dtype_of(def: &OpDef) -> DType {
        let dtypes = def.dtypes();
        let known = [DType::F32, DType::I32, DType::Bool];
        *known.iter().find(|dtype| dtypes.contains(dtype)).unwrap()
    }

    fn check(def: &'static OpDef, inputs: &str, expected: Result<&str, &str>) {
        let dtype = dtype_of(def).to_string();
        let other = if dtype == "f32" { "f64" } else { "i64" };
        let inputs = inputs.replace('T', &dtype).replace('U', other);
        check_row(def, &Attrs::new(), &inputs, expected);
    }

    #[test]
    fn a_unary_op_keeps_the_shape() {
        for def in unary() {
            check(def, "T[2, n]", Ok("[2, d0_1]"));
            check(def, "T?", Ok("?"));
        }
    }

    #[test]
    fn operands_of_a_binary_op_broadcast_and_have_one_dtype() {
        for def in binary() {
            check(def, "T[2, n]; T[n]", Ok("[2, d0_1]"));
            check(def, "T[3, 1]; T[?]", Ok("[3, d1_0]"));
            check(def, "T?; T[2]", Ok("?"));
            check(def, "T[2, 3]; T[2]", Err("3 and 2"));
            check(def, "T[2]; U[2]", Err("one dtype, got"));
        }
    }

    #[test]
    fn operands_of_a_gradient_have_one_shape_and_one_dtype() {
        for def in gradients() {
            check(def, "T[2, n]; T[2, n]", Ok("[2, d0_1]"));
            check(def, "T[3, ?]; T[?, 4]", Ok("[3, 4]"));
            check(def, "T[2, 1]; T[2, 3]", Err("must agree"));
            check(def, "T[2]; U[2]", Err("one dtype, got"));
        }
    }

    #[test]
    fn ops_accept_the_dtypes_of_their_rows() {
        let number = |dtype: DType| dtype.is_integer() || dtype.is_float();
        let rows: [(&str, &dyn Fn(DType) -> bool); 10] = [
            (
                "bessel_i0e bessel_i1e cbrt ceil digamma elu elu_grad erf erfc erfinv exp2 floor hard_sigmoid \
                 hard_swish is_finite is_inf is_nan lgamma log2 log_sigmoid mish ndtri selu selu_grad silu softplus \
                 softplus_grad softsign softsign_grad",
                &DType::is_float,
            ),
            (
                "acos acosh asin asinh atan atanh cos cosh div_no_nan exp expm1 log log1p mul_no_nan reciprocal \
                 reciprocal_grad rsqrt rsqrt_grad sigmoid sigmoid_grad sin sinh sqrt sqrt_grad tan tanh tanh_grad \
                 xdivy xlog1py xlogy",
                &|dtype| dtype.is_float() || dtype.is_complex(),
            ),
            ("abs", &|dtype| number(dtype) && dtype.is_signed()),
            ("neg sign", &|dtype| dtype.is_numeric() && dtype.is_signed()),
            ("add mul pow square squared_difference sub", &DType::is_numeric),
            (
                "floordiv floormod greater greater_equal less less_equal maximum minimum relu relu6 relu6_grad relu_grad \
                 round truncatediv truncatemod",
                &number,
            ),
            ("left_shift population_count right_shift", &DType::is_integer),
            ("bitwise_and bitwise_not bitwise_or bitwise_xor", &|dtype| {
                dtype.is_integer() || dtype == DType::Bool
            }),
            ("logical_and logical_not logical_or logical_xor", &|dtype| dtype == DType::Bool),
            ("equal not_equal", &|dtype| {
                dtype.is_numeric() || dtype.is_quantized() || matches!(dtype, DType::Bool | DType::String)
            }),
        ];
        for def in unary().chain(binary()).chain(gradients()) {
            let row = rows.iter().find(|(names, _)| names.split_whitespace().any(|name| name == def.name()));
            let (_, takes) = row.unwrap_or_else(|| panic!("{} is in no row", def.name()));
            let expected: Vec<DType> = DType::all().filter(|dtype| takes(*dtype)).collect();
            assert_eq!(def.dtypes(), expected, "{}", def.name());
        }
    }

    #[test]
    fn comparisons_give_bool() {
        for def in logical::compare::ALL.iter().chain(logical::equality::ALL) {
            assert_eq!(def.infer_dtypes(&[DType::I32; 2], &Attrs::new()).unwrap(), [DType::Bool]);
        }
    }
}
