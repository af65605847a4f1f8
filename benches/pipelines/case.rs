//! `Case`: a graph and what it is fed.

use shapeflow::{Executable, Graph, Result, Tensor, TensorShape, Value};

/// What adds a graph to the values of its inputs, and gives its results.
pub type Build = for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Vec<Value<'g>>>;

/// A graph and what it is fed.
pub struct Case {
    /// What the case is called, also among the peers.
    pub name: &'static str,
    /// The shape under which each input is declared; inputs beyond these are constants of the graph.
    pub shapes: &'static [&'static str],
    /// The inputs, the same in every run.
    pub inputs: Box<dyn Fn() -> Result<Vec<Tensor>>>,
    /// The graph.
    pub build: Build,
}

impl Case {
    /// A case of these parts.
    pub fn new(
        name: &'static str,
        shapes: &'static [&'static str],
        inputs: impl Fn() -> Result<Vec<Tensor>> + 'static,
        build: Build,
    ) -> Case {
        Case { name, shapes, inputs: Box::new(inputs), build }
    }

    /// The graph, built and compiled.
    pub fn compile(&self, inputs: &[Tensor]) -> Result<Executable> {
        let g = Graph::new();
        let outputs = self.build(&g, inputs)?;
        g.compile(&outputs)
    }

    /// Adds the case to a graph; gives its results.
    pub fn build<'g>(&self, g: &'g Graph, inputs: &[Tensor]) -> Result<Vec<Value<'g>>> {
        let mut values = Vec::with_capacity(inputs.len());
        for (at, input) in inputs.iter().enumerate() {
            values.push(match self.shapes.get(at) {
                Some(shape) => {
                    let shape: TensorShape = shape.parse()?;
                    g.input(&format!("x{at}"), input.dtype(), shape)?
                }
                None => g.constant(input)?,
            });
        }
        (self.build)(g, &values)
    }
}

/// Numbers in [-1, 1), the same in every run.
pub fn numbers(sizes: &[usize]) -> Result<Tensor> {
    scaled(sizes, 1.0, 0.0)
}

/// Numbers in [offset - scale, offset + scale).
pub fn scaled(sizes: &[usize], scale: f32, offset: f32) -> Result<Tensor> {
    let unit = |i: u32| (mix(i) >> 8) as f32 / (1 << 23) as f32 - 1.0;
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| unit(i) * scale + offset).collect())
}

/// The same numbers in double precision.
pub fn scaled_f64(sizes: &[usize], scale: f64, offset: f64) -> Result<Tensor> {
    let unit = |i: u32| f64::from(mix(i)) / f64::from(1u32 << 31) - 1.0;
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| unit(i) * scale + offset).collect())
}

/// Integers in [0, limit).
pub fn integers(sizes: &[usize], limit: u32) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| (mix(i) % limit) as i32).collect())
}

/// Bytes of every value.
pub fn bytes(sizes: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| (mix(i) >> 24) as u8).collect())
}

/// Flags, half of them set.
pub fn flags(sizes: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| mix(i) >> 31 == 1).collect())
}

fn count(sizes: &[usize]) -> u32 {
    sizes.iter().product::<usize>() as u32
}

/// A bijection that leaves no visible order in the bits.
fn mix(i: u32) -> u32 {
    let i = (i ^ (i >> 16)).wrapping_mul(0x7feb_352d);
    let i = (i ^ (i >> 15)).wrapping_mul(0x846c_a68b);
    i ^ (i >> 16)
}
