//! `random_index_shuffle`: the position of an index in a random order of all indices.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::tensor::{Tensor, TensorView};

pub(crate) static ALL: &[&OpDef] = &[&DEF];

impl<'g> Value<'g> {
    /// Returns the position of each index in a random order of the integers from 0 to `max_index`. It does not make the
    /// order, so it takes few operations for any `max_index`. `self` is the seed.
    ///
    /// `seed [3], index [], max_index [] -> []`, or vectors: `[n, 3], [n], [n] -> [n]`, where a single entry of one
    /// operand serves all entries of the others. The seed is i32, i64, u32 or u64; the index and `max_index` have one
    /// dtype of these. Different indices have different positions, except as in TensorFlow: if `max_index` is a power
    /// of 2 that is at least 65536, and its exponent is even, then `max_index` and another index may share a position.
    /// As TensorFlow's `RandomIndexShuffle` with 4 rounds. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let seed = g.constant([1, 2, 3])?;
    /// let y = seed.random_index_shuffle(g.constant([0, 1, 2, 3])?, g.constant(3)?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// let mut places = y.to_vec::<i32>()?;
    /// places.sort();
    /// assert_eq!(places, [0, 1, 2, 3]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is too high, the lengths differ, the seed does not have 3 columns, or a dtype is not supported. The run
    /// fails if an index is not from 0 to its `max_index`.
    #[doc(alias = "index_shuffle")]
    #[track_caller]
    pub fn random_index_shuffle(
        self,
        index: impl IntoOperand<'g>,
        max_index: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let graph = self.graph();
        let sources = [index.into_source(graph, location), max_index.into_source(graph, location)];
        let [index, max_index] = one_dtype(graph, location, sources);
        graph.op(&DEF).data(index).data(self).data(max_index).finish_at(location)
    }
}

static DEF: OpDef = OpDef::host("random_index_shuffle", run)
    .attrs(&[Attribute::int_or("rounds", 4)])
    .operands(&[Operand::Data("index"), Operand::Data("seed"), Operand::Data("max_index")])
    .shape_fn(shapeflow_shape_fns::random::index_shuffle)
    .dtype_rule(|dtypes, attrs| {
        check_rounds(attrs)?;
        let names = ["index", "seed", "max_index"];
        for (name, other) in names.into_iter().zip(dtypes) {
            if !matches!(other, DType::I32 | DType::I64 | DType::U32 | DType::U64) {
                return dtype::refuse(format!("{name} must be i32, i64, u32 or u64, got {other}"));
            }
        }
        match dtypes {
            [index, _, limit] if index != limit => {
                dtype::refuse(format!("index and max_index must have one dtype, got {index} and {limit}"))
            }
            [index, ..] => Ok(vec![*index]),
            [] => Err(Error::msg("random_index_shuffle needs an index")),
        }
    })
    .tensorflow(&[TfOp::new("RandomIndexShuffle")]);

fn check_rounds(attrs: &Attrs) -> Result<()> {
    let rounds = attrs.int("rounds");
    if !(4..=1024).contains(&rounds) || rounds % 2 != 0 {
        let message = format!("rounds must be an even number from 4 to 1024, got {rounds}");
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    Ok(())
}

/// Returns the elements as u64. Negative integers have no u64.
fn unsigned(x: &TensorView<'_>) -> Result<Vec<Option<u64>>> {
    Ok(match x.dtype() {
        DType::U64 => x.to_vec::<u64>()?.into_iter().map(Some).collect(),
        _ => ints(x).into_iter().map(|x| u64::try_from(x).ok()).collect(),
    })
}

/// Returns the low 32 bits of the elements.
fn low_words(x: &TensorView<'_>) -> Result<Vec<u32>> {
    Ok(match x.dtype() {
        DType::U64 => x.to_vec::<u64>()?.into_iter().map(|x| x as u32).collect(),
        _ => ints(x).into_iter().map(|x| x as u32).collect(),
    })
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let operands = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    // The operands of rank 0, and a seed of rank 1, have a single entry.
    let counts = operands.iter().zip([0, 1, 0]);
    let counts: Vec<Option<usize>> =
        counts.map(|(x, single)| (x.sizes().len() > single).then(|| x.sizes()[0])).collect();
    let count = counts.iter().flatten().copied().next();
    if counts.iter().flatten().any(|other| Some(*other) != count) || operands[1].sizes().last() != Some(&3) {
        let sizes = operands.each_ref().map(|x| x.sizes().to_vec());
        let message = format!(
            "index, seed and max_index must have equally many entries, and a seed must have 3 columns, got sizes \
             {sizes:?}"
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let (indices, limits) = (unsigned(&operands[0])?, unsigned(&operands[2])?);
    let seeds = low_words(&operands[1])?;
    let seeds = seeds.as_chunks::<3>().0;
    let rounds = cx.attrs().int("rounds") as usize;
    let of = |which: usize, entry: usize| if counts[which].is_some() { entry } else { 0 };
    let mut places = Vec::with_capacity(count.unwrap_or(1));
    for entry in 0..count.unwrap_or(1) {
        let (index, limit) = (indices[of(0, entry)], limits[of(2, entry)]);
        let (Some(index), Some(limit)) = (index, limit.filter(|limit| index <= Some(*limit))) else {
            let message = format!(
                "an index must be from 0 to max_index, got {} and {} at entry {entry}",
                operands[0].to_tensor()?,
                operands[2].to_tensor()?
            );
            return Err(Error::new(ErrorKind::Index, Phase::Run, message));
        };
        places.push(place_of(index, seeds[of(1, entry)], limit, rounds));
    }
    let sizes: Vec<usize> = count.into_iter().collect();
    let tensor = match operands[0].dtype() {
        DType::I32 => Tensor::from_vec(&sizes, places.into_iter().map(|x| x as i32).collect())?,
        DType::I64 => Tensor::from_vec(&sizes, places.into_iter().map(|x| x as i64).collect())?,
        DType::U32 => Tensor::from_vec(&sizes, places.into_iter().map(|x| x as u32).collect())?,
        _ => Tensor::from_vec(&sizes, places)?,
    };
    cx.set_output(0, tensor)
}

/// Encrypts the index by a block cipher whose blocks hold numbers up to `limit`, again and again until the result is at
/// most `limit`.
fn place_of(index: u64, seed: [u32; 3], limit: u64, rounds: usize) -> u64 {
    if limit == 0 {
        return 0;
    }
    let bits = (limit as f64).log2().ceil() as u32;
    let cipher = Simon::new((bits + bits % 2).max(16) / 2, seed, rounds);
    let mut place = index;
    loop {
        place = cipher.encrypt(place);
        if place <= limit {
            return place;
        }
    }
}

/// The block cipher Simon of Beaulieu et al. (2013) on two words of any number of bits, with few rounds.
struct Simon {
    /// The number of bits of a word, from 8 to 32.
    word: u32,
    keys: Vec<u64>,
}

impl Simon {
    fn new(word: u32, seed: [u32; 3], rounds: usize) -> Simon {
        let mut simon = Simon { word, keys: Vec::with_capacity(rounds) };
        simon.keys.extend(seed.map(|key| u64::from(key) & simon.mask()));
        let constant = 0xffff_fffc & simon.mask();
        let mut sequence = 0x7369_f885_192c_0ef5 & simon.mask();
        for round in 3..rounds {
            let previous = simon.keys[round - 1];
            // A rotation to the right by 3 or 4 bits.
            let rotated = simon.rotated(previous, word - 3) ^ simon.rotated(previous, word - 4);
            simon.keys.push(constant ^ (sequence & 1) ^ simon.keys[round - 3] ^ rotated);
            sequence >>= 1;
        }
        simon
    }

    fn mask(&self) -> u64 {
        (1 << self.word) - 1
    }

    /// Rotates a word to the left.
    fn rotated(&self, x: u64, bits: u32) -> u64 {
        // In a word of 8 bits, 8 bits are a whole turn.
        let bits = bits % self.word;
        (x << bits | x >> (self.word - bits)) & self.mask()
    }

    fn mixed(&self, x: u64) -> u64 {
        (self.rotated(x, 1) & self.rotated(x, 8)) ^ self.rotated(x, 2)
    }

    fn encrypt(&self, x: u64) -> u64 {
        let (mut left, mut right) = (x >> self.word & self.mask(), x & self.mask());
        for &[first, second] in self.keys.as_chunks::<2>().0 {
            left ^= self.mixed(right) ^ first;
            right ^= self.mixed(left) ^ second;
        }
        left << self.word | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run as run_op, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[]; i64[3]; i32[]" => "i32[]",
        "u64[n]; u32[3]; u64[]" => "u64[n]",
        "i64[]; i32[n, 3]; i64[n]" => "i64[n]",
        "i64[]; i32[3]; i32[]" => error "index and max_index must have one dtype, got i64 and i32",
        "f32[]; i32[3]; f32[]" => error "index must be i32, i64, u32 or u64, got f32",
        "i32[2]; i32[3]; i32[3]" => error "the lengths of index, seed and max_index must agree",
    }
    shape_table! { odd: DEF, {"rounds": 5},
        "i32[]; i64[3]; i32[]" => error "rounds must be an even number from 4 to 1024, got 5",
    }

    #[test]
    fn places_are_a_permutation() {
        for limit in [0, 1, 2, 6, 100, 255, 300, 65535, 70000u64] {
            let mut seen = vec![false; limit as usize + 1];
            for index in 0..=limit {
                let place = place_of(index, [limit as u32, 7, 9], limit, 4);
                assert!(!std::mem::replace(&mut seen[place as usize], true), "{limit}: {place}");
            }
        }
    }

    #[test]
    fn indices_beyond_the_limit_are_refused() {
        let seed = tensor(&[3], &[1i32, 2, 3]);
        for (index, limit) in [(3i64, 2i64), (-1, 2), (0, -1)] {
            let operands = [tensor(&[], &[index]), seed.clone(), tensor(&[], &[limit])];
            let error = run_op(&DEF, &Attrs::new(), &operands).unwrap_err();
            assert!(error.message().contains("an index must be from 0 to max_index"), "{error}");
        }
        let operands = [tensor::<i64>(&[0], &[]), seed, tensor(&[], &[0i64])];
        assert_eq!(run_one(&DEF, &Attrs::new(), &operands).sizes(), [0]);
    }
}
