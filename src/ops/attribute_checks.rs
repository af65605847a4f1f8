//! Tests of the declared attributes of all ops: a call with an unknown attribute, or with a value of another kind, is
//! refused.

use std::collections::HashSet;

use shapeflow_shape_fns::{Attr, DType, TensorShape};

use crate::Graph;

/// One value of each kind.
fn values() -> Vec<Attr> {
    vec![
        Attr::from(true),
        Attr::from(1i64),
        Attr::from(0.5),
        Attr::from(DType::F32),
        Attr::from("text"),
        Attr::of_bytes(b"\xff"),
        Attr::from(TensorShape::scalar()),
        Attr::from([1, 2]),
        Attr::from(&[0.5, 1.5][..]),
        Attr::Bools([true, false].into()),
        Attr::Strs(["a".into(), "b".into()].into()),
        Attr::from(&[DType::F32, DType::I64][..]),
        Attr::Shapes([TensorShape::scalar()].into()),
    ]
}

#[test]
fn unknown_attributes_are_refused() {
    let graph = Graph::new();
    for def in super::defs() {
        let error = graph.op(def).attr("epsilom", 1e-3).finish_all().unwrap_err();
        assert!(error.message().ends_with("got an attribute epsilom"), "{}: {error}", def.name());
    }
}

#[test]
fn values_of_another_kind_are_refused() {
    let graph = Graph::new();
    for def in super::defs() {
        let mut names = HashSet::new();
        for attribute in def.attributes() {
            let name = attribute.name();
            assert!(names.insert(name), "{} declares {name} twice", def.name());
            let wrong: Vec<Attr> = values().into_iter().filter(|value| !attribute.accepts(value)).collect();
            assert!(wrong.len() >= 7, "{} accepts nearly every value for {name}", def.name());
            for value in wrong {
                let message = format!(
                    "the attribute {name} of {} must be {}, got {value}",
                    def.name(),
                    attribute.kind()
                );
                let error = graph.op(def).attr(name, value).finish_all().unwrap_err();
                assert!(error.message().ends_with(&message), "{error}");
            }
            if let Some(default) = attribute.default() {
                assert!(attribute.accepts(&default) && attribute.is_default(&default), "{name}");
            }
        }
    }
}

#[test]
fn required_attributes_must_be_given() {
    let graph = Graph::new();
    for def in super::defs() {
        if let Some(attribute) = def.attributes().iter().find(|attribute| attribute.is_required()) {
            let message = format!("the attribute {} of {} must be given", attribute.name(), def.name());
            let error = graph.op(def).finish_all().unwrap_err();
            assert!(error.message().contains(&message), "{error}");
        }
    }
}
