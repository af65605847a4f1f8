//! Ops that split strings into words, characters, or n-grams.

use crate::ragged::row_count;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// `input[n], delimiter[] -> indices[u, 2], values[u], shape[2]`: a sparse matrix of the parts, where `u` depends on
/// the data.
///
/// # Errors
/// `input` is not a vector, or the delimiter is not a scalar.
pub fn string_split(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<1>(0).map_err(|error| error.with_help("make a vector of the strings with .reshape([-1])"))?;
    cx.scalar(1)?;
    let (parts, two) = (cx.fresh(), Dim::known(2));
    cx.set_output(0, TensorShape::new([parts.clone(), two.clone()]));
    cx.set_output(1, TensorShape::new([parts]));
    cx.set_output(2, TensorShape::new([two]));
    Ok(())
}

/// `input[..] -> row_splits[n+1], characters[u]`, where `n` is the number of strings and `u` depends on the data. A
/// third output holds the byte offset of each character.
///
/// # Errors
/// Never fails.
pub fn unicode_decode(cx: &mut InferenceContext<'_>) -> Result<()> {
    let splits = match cx.input(0).num_elements() {
        Some(strings) => cx.add(&strings, &Dim::known(1))?,
        None => cx.fresh(),
    };
    let characters = cx.fresh();
    cx.set_output(0, TensorShape::new([splits]));
    cx.set_output(1, TensorShape::new([characters.clone()]));
    cx.set_output(2, TensorShape::new([characters]));
    Ok(())
}

/// `input_values[c], input_splits[n+1] -> [n]`.
///
/// # Errors
/// An operand is not a vector, or `input_splits` is provably empty.
pub fn unicode_encode(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<1>(0)?;
    let strings = row_count(cx, 1)?;
    cx.set_output(0, TensorShape::new([strings]));
    Ok(())
}

/// `data[n], data_splits[s] -> ngrams[u], splits[s]`, where `u` depends on the data.
///
/// # Errors
/// An operand is not a vector.
pub fn ngrams(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<1>(0)?;
    let [splits] = cx.axes::<1>(1)?;
    let count = cx.fresh();
    cx.set_output(0, TensorShape::new([count]));
    cx.set_output(1, TensorShape::new([splits]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ngrams, string_split, unicode_decode, unicode_encode};
    use crate::testing::shape_table;

    shape_table! { words: string_split, ["input", "delimiter"];
        {} "string [5]; string []" => "[?, 2]; [?]; [2]";
        {} "string []; ?" => "error(3 outputs) input must have rank 1";
        {} "?; string [1]" => "error(3 outputs) delimiter must have rank 0";
    }
    shape_table! { characters: unicode_decode, ["input"];
        {} "string [5, n]" => "[5*n+1]; [?]";
        {} "string []" => "[2]; [?]; [?]";
        {} "string ?" => "[?]; [?]";
    }
    shape_table! { encoded: unicode_encode, ["input_values", "input_splits"];
        {} "i32 [5]; i64 [n]" => "[n-1]";
        {} "?; ?" => "[?]";
        {} "i32 [5, 2]; ?" => "error input_values must have rank 1";
        {} "?; i64 [0]" => "error input_splits must have one more element than there are rows, got no elements";
    }
    shape_table! { grams: ngrams, ["data", "data_splits"];
        {} "string [5]; i64 [?]" => "[?]; [d1_0]";
        {} "string [5, 2]; ?" => "error(2 outputs) data must have rank 1";
    }
}
