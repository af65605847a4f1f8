//! [`Case`]: a graph and its inputs.

use shapeflow::{DType, Executable, Graph, Result, Tensor, TensorShape, Value};

/// A function that builds a graph from the values of its inputs, and returns its results.
pub type Build = for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Vec<Value<'g>>>;

/// A graph and its inputs.
pub struct Case {
    /// The name of the case, which the peers use too.
    pub name: &'static str,
    /// The declared shapes of the first inputs. The other inputs are constants of the graph.
    pub shapes: &'static [&'static str],
    /// Makes the inputs, the same in every run.
    pub inputs: Box<dyn Fn() -> Result<Vec<Tensor>>>,
    /// Builds the graph.
    pub build: Build,
}

impl Case {
    /// Returns a case with these parts.
    pub fn new(
        name: &'static str,
        shapes: &'static [&'static str],
        inputs: impl Fn() -> Result<Vec<Tensor>> + 'static,
        build: Build,
    ) -> Case {
        Case { name, shapes, inputs: Box::new(inputs), build }
    }

    /// Builds and compiles the graph.
    pub fn compile(&self, inputs: &[Tensor]) -> Result<Executable> {
        let g = Graph::new();
        let outputs = self.build(&g, inputs)?;
        g.compile(&outputs)
    }

    /// Adds the case to a graph, and returns its results.
    pub fn build<'g>(&self, g: &'g Graph, inputs: &[Tensor]) -> Result<Vec<Value<'g>>> {
        let mut values = Vec::with_capacity(inputs.len());
        for (index, input) in inputs.iter().enumerate() {
            values.push(match self.shapes.get(index) {
                Some(shape) => {
                    let shape: TensorShape = shape.parse()?;
                    g.input(&format!("x{index}"), input.dtype(), shape)?
                }
                None => g.constant(input)?,
            });
        }
        (self.build)(g, &values)
    }
}

/// Returns numbers in [-1, 1), the same in every run.
pub fn numbers(sizes: &[usize]) -> Result<Tensor> {
    scaled(sizes, 1.0, 0.0)
}

/// Returns numbers in [offset - scale, offset + scale), the same in every run.
pub fn scaled(sizes: &[usize], scale: f32, offset: f32) -> Result<Tensor> {
    let unit = |i: u32| (mix(i) >> 8) as f32 / (1 << 23) as f32 - 1.0;
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| unit(i) * scale + offset).collect())
}

/// Returns f64 numbers in [offset - scale, offset + scale), the same in every run.
pub fn scaled_f64(sizes: &[usize], scale: f64, offset: f64) -> Result<Tensor> {
    let unit = |i: u32| f64::from(mix(i)) / f64::from(1u32 << 31) - 1.0;
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| unit(i) * scale + offset).collect())
}

/// Returns complex numbers whose parts are in [-1, 1), the same in every run.
pub fn complex_numbers(count: usize) -> Result<Tensor> {
    Tensor::from_bits(DType::C64, &[count], numbers(&[2 * count])?.as_slice::<f32>()?)
}

/// Returns numbers in [-1, 1) of which no two are equal, the same in every run. There are at most 2^24.
pub fn distinct(sizes: &[usize]) -> Result<Tensor> {
    // The product with an odd number, and the xor of a number with itself shifted right by half of its bits, are
    // bijections of numbers of 24 bits.
    const MASK: u32 = (1 << 24) - 1;
    let unit = |i: u32| {
        let i = i.wrapping_mul(0x6c_a68b) & MASK;
        let i = (i ^ (i >> 12)).wrapping_mul(0x2d_352d) & MASK;
        (i ^ (i >> 12)) as f32 / (1 << 23) as f32 - 1.0
    };
    Tensor::from_vec(sizes, (0..count(sizes)).map(unit).collect())
}

/// Returns integers in [0, limit), the same in every run.
pub fn integers(sizes: &[usize], limit: u32) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| (mix(i) % limit) as i32).collect())
}

/// Returns bytes of every value, the same in every run.
pub fn bytes(sizes: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| (mix(i) >> 24) as u8).collect())
}

/// Returns flags, the same in every run. About half of them are set.
pub fn flags(sizes: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..count(sizes)).map(|i| mix(i) >> 31 == 1).collect())
}

fn count(sizes: &[usize]) -> u32 {
    sizes.iter().product::<usize>() as u32
}

/// Mixes the bits of a number. The mapping is a bijection.
fn mix(i: u32) -> u32 {
    let i = (i ^ (i >> 16)).wrapping_mul(0x7feb_352d);
    let i = (i ^ (i >> 15)).wrapping_mul(0x846c_a68b);
    i ^ (i >> 16)
}
