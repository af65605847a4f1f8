//! Nested lists by serde (feature `serde`): a [`Nested`] list is a sequence of sequences in any format.

use std::fmt;
use std::marker::PhantomData;

use serde_core::de::{Deserialize, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde_core::ser::{Serialize, Serializer};

use super::Nested;

/// Writes an element as itself, and a list as a sequence.
///
/// ```
/// use shapeflow::{Nested, RaggedTensor, ragged};
///
/// let rows: Nested<f32> = serde_json::from_str("[[3, 1.5], [], [2.25]]")?;
/// let rt = RaggedTensor::from_nested(rows)?;
/// assert_eq!(rt, ragged![[3.0f32, 1.5], [], [2.25]]);
/// assert_eq!(serde_json::to_string(&rt.to_nested::<f32>()?)?, "[[3.0,1.5],[],[2.25]]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: Serialize> Serialize for Nested<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Nested::Item(item) => item.serialize(serializer),
            Nested::List(items) => serializer.collect_seq(items),
        }
    }
}

/// Reads a list from a sequence, and an element from a bool, a number or a string. The format must describe itself, as
/// JSON does.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nested<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Nested<T>, D::Error> {
        deserializer.deserialize_any(NestedVisitor(PhantomData))
    }
}

struct NestedVisitor<T>(PhantomData<T>);

/// Reads an element from a value of each of these types.
macro_rules! visit_elements {
    ($($visit:ident $type:ty),*) => {$(
        fn $visit<E: serde_core::de::Error>(self, value: $type) -> Result<Nested<T>, E> {
            T::deserialize(value.into_deserializer()).map(Nested::Item)
        }
    )*};
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for NestedVisitor<T> {
    type Value = Nested<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bool, a number, a string, or a list of nested lists")
    }

    visit_elements!(visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f32 f32, visit_f64 f64, visit_str &str);

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Nested<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Nested::List(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntoNested, RaggedTensor, ragged};

    #[test]
    fn what_is_written_reads_back() {
        let nested = vec![vec![vec![1i32, -2], vec![]], vec![], vec![vec![3]]].into_nested();
        let text = serde_json::to_string(&nested).unwrap();
        assert_eq!(text, "[[[1,-2],[]],[],[[3]]]");
        assert_eq!(serde_json::from_str::<Nested<i32>>(&text).unwrap(), nested);
        let bools: Nested<bool> = serde_json::from_str("[[true], [false, true]]").unwrap();
        assert_eq!(RaggedTensor::from_nested(bools).unwrap().to_string(), "[[true], [false, true]]");
        let words = ragged![["a", "b\"c"], []].to_nested::<String>().unwrap();
        let text = serde_json::to_string(&words).unwrap();
        assert_eq!(text, r#"[["a","b\"c"],[]]"#);
        assert_eq!(serde_json::from_str::<Nested<String>>(&text).unwrap(), words);
        let wide: Nested<u64> = serde_json::from_str("[[18446744073709551615]]").unwrap();
        assert_eq!(wide, vec![vec![u64::MAX]].into_nested());
    }

    #[test]
    fn elements_of_another_type_are_refused() {
        let refused = |text: &str| serde_json::from_str::<Nested<u8>>(text).unwrap_err().to_string();
        assert!(refused("[[256]]").starts_with("invalid value: integer `256`, expected u8"));
        assert!(refused("[[1.5]]").starts_with("invalid type: floating point `1.5`, expected u8"));
        assert!(refused("[[\"a\"]]").starts_with("invalid type: string \"a\", expected u8"));
    }
}
