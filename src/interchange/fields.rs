//! The fields of TensorFlow's protobuf messages: the table by which protobuf text is read and written.

use FieldKind::{Bool, Bytes, DataType, Double, Float, Int, Int32, Message as Sub, Str, UInt, UInt32};

/// A message type: its fields in the order of their numbers.
pub(super) struct Message {
    pub fields: &'static [Field],
}

/// A field of a message. The table does not say whether a field is repeated, because protobuf text writes each value of
/// a repeated field like the value of a single one.
pub(super) struct Field {
    pub name: &'static str,
    pub number: u32,
    pub kind: FieldKind,
}

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum FieldKind {
    /// An i64, as a varint.
    Int,
    /// An i32, as a varint of 64 bits.
    Int32,
    /// A u64, as a varint.
    UInt,
    /// A u32, as a varint.
    UInt32,
    Bool,
    /// The number of a dtype. Protobuf text writes the name of the dtype.
    DataType,
    Float,
    Double,
    Str,
    Bytes,
    Message(&'static Message),
}

impl Message {
    /// Returns the field with this name.
    pub(super) fn by_name(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the field with this number.
    pub(super) fn by_number(&self, number: u32) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.number == number)
    }
}

macro_rules! messages {
    ($($name:ident { $($field:literal $number:literal $kind:expr),* $(,)? })*) => {$(
        pub(super) static $name: Message =
            Message { fields: &[$(Field { name: $field, number: $number, kind: $kind }),*] };
    )*};
}

messages! {
    GRAPH { "node" 1 Sub(&NODE), "library" 2 Sub(&LIBRARY), "version" 3 Int32, "versions" 4 Sub(&VERSIONS) }
    VERSIONS { "producer" 1 Int32, "min_consumer" 2 Int32, "bad_consumers" 3 Int32 }
    NODE {
        "name" 1 Str, "op" 2 Str, "input" 3 Str, "device" 4 Str, "attr" 5 Sub(&ATTR_ENTRY),
        "experimental_debug_info" 6 Sub(&DEBUG_INFO),
    }
    DEBUG_INFO { "original_node_names" 1 Str, "original_func_names" 2 Str }
    ATTR_ENTRY { "key" 1 Str, "value" 2 Sub(&ATTR) }
    ATTR {
        "list" 1 Sub(&LIST), "s" 2 Bytes, "i" 3 Int, "f" 4 Float, "b" 5 Bool, "type" 6 DataType,
        "shape" 7 Sub(&SHAPE), "tensor" 8 Sub(&TENSOR), "placeholder" 9 Str, "func" 10 Sub(&FUNC),
    }
    LIST {
        "s" 2 Bytes, "i" 3 Int, "f" 4 Float, "b" 5 Bool, "type" 6 DataType, "shape" 7 Sub(&SHAPE),
        "tensor" 8 Sub(&TENSOR), "func" 9 Sub(&FUNC),
    }
    FUNC { "name" 1 Str, "attr" 2 Sub(&ATTR_ENTRY) }
    SHAPE { "dim" 2 Sub(&DIM), "unknown_rank" 3 Bool }
    DIM { "size" 1 Int, "name" 2 Str }
    TENSOR {
        "dtype" 1 DataType, "tensor_shape" 2 Sub(&SHAPE), "version_number" 3 Int32, "tensor_content" 4 Bytes,
        "float_val" 5 Float, "double_val" 6 Double, "int_val" 7 Int32, "string_val" 8 Bytes,
        "scomplex_val" 9 Float, "int64_val" 10 Int, "bool_val" 11 Bool, "dcomplex_val" 12 Double,
        "half_val" 13 Int32, "uint32_val" 16 UInt32, "uint64_val" 17 UInt, "float8_val" 18 Bytes,
    }
    LIBRARY { "function" 1 Sub(&FUNCTION), "gradient" 2 Sub(&GRADIENT) }
    GRADIENT { "function_name" 1 Str, "gradient_func" 2 Str }
    FUNCTION {
        "signature" 1 Sub(&OP), "node_def" 3 Sub(&NODE), "ret" 4 Sub(&TEXT_ENTRY), "attr" 5 Sub(&ATTR_ENTRY),
        "control_ret" 6 Sub(&TEXT_ENTRY), "arg_attr" 7 Sub(&ARG_ATTR_ENTRY),
        "resource_arg_unique_id" 8 Sub(&ID_ENTRY),
    }
    TEXT_ENTRY { "key" 1 Str, "value" 2 Str }
    ARG_ATTR_ENTRY { "key" 1 UInt32, "value" 2 Sub(&ARG_ATTRS) }
    ARG_ATTRS { "attr" 1 Sub(&ATTR_ENTRY) }
    ID_ENTRY { "key" 1 UInt32, "value" 2 UInt32 }
    OP {
        "name" 1 Str, "input_arg" 2 Sub(&ARG), "output_arg" 3 Sub(&ARG), "attr" 4 Sub(&ATTR_DEF),
        "summary" 5 Str, "description" 6 Str, "is_aggregate" 16 Bool, "is_stateful" 17 Bool,
        "is_commutative" 18 Bool, "allows_uninitialized_input" 19 Bool, "control_output" 20 Str,
    }
    ARG {
        "name" 1 Str, "description" 2 Str, "type" 3 DataType, "type_attr" 4 Str, "number_attr" 5 Str,
        "type_list_attr" 6 Str, "is_ref" 16 Bool,
    }
    ATTR_DEF {
        "name" 1 Str, "type" 2 Str, "default_value" 3 Sub(&ATTR), "description" 4 Str, "has_minimum" 5 Bool,
        "minimum" 6 Int, "allowed_values" 7 Sub(&ATTR),
    }
    SAVED_MODEL { "saved_model_schema_version" 1 Int, "meta_graphs" 2 Sub(&META_GRAPH) }
    META_GRAPH {
        "meta_info_def" 1 Sub(&META_INFO), "graph_def" 2 Sub(&GRAPH), "saver_def" 3 Sub(&SAVER),
        "collection_def" 4 Sub(&COLLECTION_ENTRY), "signature_def" 5 Sub(&SIGNATURE_ENTRY),
        "asset_file_def" 6 Sub(&ASSET),
    }
    META_INFO { "tags" 4 Str, "tensorflow_version" 5 Str, "tensorflow_git_version" 6 Str }
    SAVER {
        "filename_tensor_name" 1 Str, "save_tensor_name" 2 Str, "restore_op_name" 3 Str, "max_to_keep" 4 Int32,
        "sharded" 5 Bool,
    }
    COLLECTION_ENTRY { "key" 1 Str, "value" 2 Sub(&COLLECTION) }
    COLLECTION { "node_list" 1 Sub(&NODE_LIST) }
    NODE_LIST { "value" 1 Str }
    ASSET { "tensor_info" 1 Sub(&INFO), "filename" 2 Str }
    SIGNATURE_ENTRY { "key" 1 Str, "value" 2 Sub(&SIGNATURE) }
    SIGNATURE { "inputs" 1 Sub(&INFO_ENTRY), "outputs" 2 Sub(&INFO_ENTRY), "method_name" 3 Str }
    INFO_ENTRY { "key" 1 Str, "value" 2 Sub(&INFO) }
    INFO { "name" 1 Str, "dtype" 2 DataType, "tensor_shape" 3 Sub(&SHAPE) }
}
