//! Crops squares from images of any size, and resizes and normalizes them. Scalars give the position and the side of a
//! crop, and one compilation serves all images and crops.

use shapeflow::{DType, Dim, Graph, Result, Sampling, Tensor, shape};

const SIDE: usize = 4;

pub(crate) fn main() -> Result<()> {
    let g = Graph::new();
    let image = g.input("image", DType::U8, shape!["height", "width", 3])?;
    let scalar = |name| g.input(name, DType::I32, shape![])?.as_dim(name);
    let (top, left, side) = (scalar("top")?, scalar("left")?, scalar("side")?);
    let crop = image.slice([top, left, Dim::known(0)], [side.clone(), side, Dim::known(3)])?;
    assert_eq!(crop.shape().to_string(), "[side, side, 3]");

    let pixels = crop.cast(DType::F32)? / 255.0;
    let centered = (pixels - g.constant([0.5f32, 0.4, 0.3])?).expand_dims(0)?;
    let small = centered.resize_bilinear([SIDE as i64, SIDE as i64], Sampling::HalfPixel)?.squeeze([0])?;
    let exe = g.compile([("crop", small)])?;

    for (height, width, [top, left, side]) in [(20, 30, [3, 5, 8]), (64, 48, [0, 40, 8]), (9, 9, [1, 1, 8])] {
        let level = |row: usize, column: usize, channel: usize| (row * 31 + column * 17 + channel * 5) % 256;
        let bytes = (0..height * width * 3).map(|i| level(i / 3 / width, i / 3 % width, i % 3) as u8);
        let image = Tensor::from_vec(&[height, width, 3], bytes.collect())?;
        let [top_scalar, left_scalar, side_scalar] = [top, left, side].map(|n| Tensor::scalar(n as i32));
        let views = [image.view(), top_scalar.view(), left_scalar.view(), side_scalar.view()];
        let [crop] = exe.run(&views)?;
        assert_eq!(crop.sizes(), [SIDE, SIDE, 3]);

        // The resize halves the side of the crop: each pixel is the mean of a block of two by two pixels.
        let crop = crop.to_vec::<f32>()?;
        for (position, got) in crop.iter().enumerate() {
            let (row, column, channel) = (position / 3 / SIDE, position / 3 % SIDE, position % 3);
            let block = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(down, right)| {
                level(top + 2 * row + down, left + 2 * column + right, channel) as f32 / 255.0
            });
            let expected = block.iter().sum::<f32>() / 4.0 - [0.5, 0.4, 0.3][channel];
            assert!((got - expected).abs() < 1e-5, "{got} {expected}");
        }
        println!("a crop of the {height} x {width} image has its first pixel at {:?}", &crop[..3]);
    }
    assert_eq!(exe.stats().compiles.len(), 1);
    Ok(())
}
