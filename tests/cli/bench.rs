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

#[test]
fn bench_compares_instruction_sets() {
    #[cfg(target_arch = "x86_64")]
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let has_avx2 = false;
    let isas: &[&str] = if has_avx2 { &["avx2", "clif"] } else { &["clif", "clif"] };
    let list = isas.join(",");
    let arguments = ["bench", MODEL, "--feeds", FEEDS, "--isa", &list, "--repeat", "2"];
    let text = printed(&arguments);
    assert_eq!(text.lines().count(), 3, "{text}");
    for (line, isa) in text.lines().skip(1).zip(isas) {
        assert!(line.split_whitespace().any(|word| word == *isa), "{text}");
    }
    let document = json(&[&arguments[..], &["--json"]].concat());
    let variants = document["variants"].as_array().unwrap();
    let measured: Vec<&str> = variants.iter().map(|variant| variant["isa"].as_str().unwrap()).collect();
    assert_eq!(measured, isas);
}

#[test]
fn warm_up_runs_are_not_measured() {
    for warmup in ["0", "3"] {
        let text = printed(&["bench", MODEL, "--feeds", FEEDS, "--repeat", "2", "--warmup", warmup]);
        assert!(text.contains("(2 runs)"), "{text}");
    }
    let (code, _, errors) = refused(&["bench", MODEL, "--feeds", FEEDS, "--warmup", "some"]);
    assert!(code == 2 && errors.contains("--warmup"), "{errors}");
}
