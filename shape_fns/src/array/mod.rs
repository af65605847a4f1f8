//! Shape functions of the ops that move elements without computing on them.

mod transpose;

pub use transpose::transpose;
