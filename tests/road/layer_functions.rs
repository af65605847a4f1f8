//! Layers that a user's program defines as functions, closures and trait objects.

use shapeflow::{DType, Graph, Result, Tensor, TensorView, Value, shape};

struct Dense {
    w: Tensor,
    b: Tensor,
}

impl Dense {
    #[track_caller]
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        (x.matmul(&self.w)? + &self.b).ok()
    }
}

trait Layer {
    #[track_caller]
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>>;
}

impl Layer for Dense {
    #[track_caller]
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        Dense::apply(self, x)
    }
}

struct Activation(for<'g> fn(Value<'g>) -> Result<Value<'g>>);

impl Layer for Activation {
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        (self.0)(x)
    }
}

fn sequential<'g>(x: Value<'g>, layers: &[Box<dyn Layer>]) -> Result<Value<'g>> {
    layers.iter().enumerate().try_fold(x, |x, (number, layer)| {
        let _scope = x.graph().scope(format!("layer{number}"));
        layer.apply(x)
    })
}

fn residual<'g>(x: Value<'g>, f: impl FnOnce(Value<'g>) -> Result<Value<'g>>) -> Result<Value<'g>> {
    (x + f(x)?).ok()
}

fn dense(w: [[f32; 2]; 2], b: [f32; 2]) -> Dense {
    Dense { w: Tensor::from(w), b: Tensor::from(b) }
}

#[test]
fn layers_may_be_functions_closures_and_trait_objects() -> Result<()> {
    let layers: Vec<Box<dyn Layer>> = vec![
        Box::new(dense([[1.0, 0.0], [0.0, -1.0]], [0.5, 0.0])),
        Box::new(Activation(|x| x.relu())),
        Box::new(Activation(|x| (x * 2.0).ok())),
    ];
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 2])?;
    let y = residual(x, |x| sequential(x, &layers))?;
    assert_eq!(y.shape(), shape!["n", 2]);
    assert!(g.to_string().contains("layer1"), "{g}");
    let [y] = g.compile(y)?.run(&[TensorView::new(&[2, 2], &[1.0f32, 2.0, -3.0, -4.0])?])?;
    assert_eq!(y.to_vec::<f32>()?, [4.0, 2.0, -3.0, 4.0]);
    // If the shapes of a layer do not fit, the error names the layer's scope.
    let wide = g.input("wide", DType::F32, shape!["n", 3])?;
    let error = sequential(wide, &layers).unwrap_err();
    assert_eq!(error.scopes().map(|(name, _)| name).collect::<Vec<_>>(), ["layer0"]);
    Ok(())
}
