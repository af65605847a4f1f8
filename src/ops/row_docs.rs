//! The parts of the documentation of a builder method that the columns of its row determine.

/// The name of a dtype rule's class in documentation: in the plural (`many`), in the singular (`one`), or in a negation
/// (`or`).
macro_rules! dtype_words {
    (many float) => {
        "floats"
    };
    (one float) => {
        "a float"
    };
    (or float) => {
        "floats"
    };
    (many inexact) => {
        "floats and complex numbers"
    };
    (one inexact) => {
        "a float or a complex number"
    };
    (or inexact) => {
        "floats or complex numbers"
    };
    (many integer) => {
        "integers"
    };
    (one integer) => {
        "an integer"
    };
    (or integer) => {
        "integers"
    };
    (many number) => {
        "integers and floats"
    };
    (one number) => {
        "an integer or a float"
    };
    (or number) => {
        "integers or floats"
    };
    (many numeric) => {
        "integers, floats and complex numbers"
    };
    (one numeric) => {
        "an integer, a float or a complex number"
    };
    (or numeric) => {
        "integers, floats or complex numbers"
    };
    (many signed_numeric) => {
        "signed integers, floats and complex numbers"
    };
    (one signed_numeric) => {
        "a signed integer, a float or a complex number"
    };
    (many signed) => {
        "signed integers and floats"
    };
    (one signed) => {
        "a signed integer or a float"
    };
    (many bits) => {
        "integers and bool"
    };
    (one bits) => {
        "an integer or bool"
    };
    (or bits) => {
        "integers or bool"
    };
    (many boolean) => {
        "bool"
    };
    (one boolean) => {
        "bool"
    };
    (or boolean) => {
        "bool"
    };
    (many scalar) => {
        "bool, integers and floats"
    };
    (or scalar) => {
        "bool, integers or floats"
    };
}

/// The sentence of the documentation that names the TensorFlow op types of a row.
macro_rules! tensorflow_words {
    () => {
        ""
    };
    ($op:literal) => {
        concat!(" As TensorFlow's `", $op, "`.")
    };
    ($op:literal, $other:literal) => {
        concat!(" As TensorFlow's `", $op, "` and `", $other, "`.")
    };
}

/// The line of an example that calls the method of a row.
macro_rules! call_words {
    ($method:ident, $x:tt) => {
        concat!("let y = g.constant(", stringify!($x), ")?.", stringify!($method), "()?;")
    };
    ($method:ident, $x:tt, $y:tt) => {
        concat!(
            "let y = g.constant(",
            stringify!($x),
            ")?.",
            stringify!($method),
            "(g.constant(",
            stringify!($y),
            ")?)?;"
        )
    };
}

/// The line of an example that expects exactly these elements.
macro_rules! exact_words {
    ($expected:tt) => {
        concat!("assert_eq!(y, Tensor::from(", stringify!($expected), "));")
    };
}

/// The line of an example that expects these elements, which are rounded to four digits.
macro_rules! near_words {
    ($expected:tt) => {
        concat!("y.allclose(&Tensor::from(", stringify!($expected), "), 1e-3, 1e-12).unwrap();")
    };
}

pub(crate) use {call_words, dtype_words, exact_words, near_words, tensorflow_words};
