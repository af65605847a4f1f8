//! `bench` compares models, feeds, instruction sets and numbers of threads.

use super::*;

#[test]
fn bench_compares_variants() {
    let folder = Folder::new("bench");
    let other = folder.file("other.npz");
    write_npz(&other, [("x", &Tensor::zeros(DType::F32, &[2, 4]).unwrap())]).unwrap();
    let mut arguments =
        vec!["bench", MODEL, MODEL, "--feeds", FEEDS, "--feeds", &other, "--threads", "1,2", "--repeat", "2"];
    let text = printed(&arguments);
    assert_eq!(text.lines().count(), 9, "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with("1.00×"), "{text}");
    arguments.push("--json");
    let variants = json(&arguments)["variants"].as_array().unwrap().clone();
    let feeds: Vec<&str> = variants.iter().map(|variant| variant["feeds"].as_str().unwrap()).collect();
    assert_eq!(feeds, [FEEDS, FEEDS, &other, &other].repeat(2));
    let (code, _, errors) = refused(&["bench", MODEL, "--feeds", FEEDS, "--isa", "neon"]);
    assert!(code == 2 && errors.contains("clif, avx2 or avx512"), "{errors}");
}
