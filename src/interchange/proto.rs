//! The protobuf messages of TensorFlow graphs, with TensorFlow's field numbers.

use std::collections::BTreeMap;

use prost::bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GraphDef {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeDef>,
    #[prost(message, optional, tag = "2")]
    pub library: Option<FunctionDefLibrary>,
    #[prost(int32, tag = "3")]
    pub version: i32,
    #[prost(message, optional, tag = "4")]
    pub versions: Option<VersionDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct VersionDef {
    #[prost(int32, tag = "1")]
    pub producer: i32,
    #[prost(int32, tag = "2")]
    pub min_consumer: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NodeDef {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub op: String,
    #[prost(string, repeated, tag = "3")]
    pub input: Vec<String>,
    #[prost(string, tag = "4")]
    pub device: String,
    #[prost(btree_map = "string, message", tag = "5")]
    pub attr: BTreeMap<String, AttrValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AttrValue {
    #[prost(oneof = "AttrKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub value: Option<AttrKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum AttrKind {
    #[prost(message, tag = "1")]
    List(ListValue),
    #[prost(bytes = "bytes", tag = "2")]
    S(Bytes),
    #[prost(int64, tag = "3")]
    I(i64),
    #[prost(float, tag = "4")]
    F(f32),
    #[prost(bool, tag = "5")]
    B(bool),
    #[prost(int32, tag = "6")]
    Type(i32),
    #[prost(message, tag = "7")]
    Shape(TensorShapeProto),
    #[prost(message, tag = "8")]
    Tensor(Box<TensorProto>),
    #[prost(string, tag = "9")]
    Placeholder(String),
    #[prost(message, tag = "10")]
    Func(NameAttrList),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListValue {
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub s: Vec<Bytes>,
    #[prost(int64, repeated, tag = "3")]
    pub i: Vec<i64>,
    #[prost(float, repeated, tag = "4")]
    pub f: Vec<f32>,
    #[prost(bool, repeated, tag = "5")]
    pub b: Vec<bool>,
    #[prost(int32, repeated, tag = "6")]
    pub r#type: Vec<i32>,
    #[prost(message, repeated, tag = "7")]
    pub shape: Vec<TensorShapeProto>,
    #[prost(message, repeated, tag = "9")]
    pub func: Vec<NameAttrList>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NameAttrList {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(btree_map = "string, message", tag = "2")]
    pub attr: BTreeMap<String, AttrValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorShapeProto {
    #[prost(message, repeated, tag = "2")]
    pub dim: Vec<DimProto>,
    #[prost(bool, tag = "3")]
    pub unknown_rank: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DimProto {
    #[prost(int64, tag = "1")]
    pub size: i64,
    #[prost(string, tag = "2")]
    pub name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorProto {
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub tensor_shape: Option<TensorShapeProto>,
    #[prost(bytes = "bytes", tag = "4")]
    pub tensor_content: Bytes,
    #[prost(float, repeated, tag = "5")]
    pub float_val: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub double_val: Vec<f64>,
    #[prost(int32, repeated, tag = "7")]
    pub int_val: Vec<i32>,
    #[prost(bytes = "bytes", repeated, tag = "8")]
    pub string_val: Vec<Bytes>,
    #[prost(float, repeated, tag = "9")]
    pub scomplex_val: Vec<f32>,
    #[prost(int64, repeated, tag = "10")]
    pub int64_val: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub bool_val: Vec<bool>,
    #[prost(double, repeated, tag = "12")]
    pub dcomplex_val: Vec<f64>,
    #[prost(int32, repeated, tag = "13")]
    pub half_val: Vec<i32>,
    #[prost(uint32, repeated, tag = "16")]
    pub uint32_val: Vec<u32>,
    #[prost(uint64, repeated, tag = "17")]
    pub uint64_val: Vec<u64>,
    #[prost(bytes = "bytes", tag = "18")]
    pub float8_val: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FunctionDefLibrary {
    #[prost(message, repeated, tag = "1")]
    pub function: Vec<FunctionDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FunctionDef {
    #[prost(message, optional, tag = "1")]
    pub signature: Option<OpDefProto>,
    #[prost(message, repeated, tag = "3")]
    pub node_def: Vec<NodeDef>,
    #[prost(btree_map = "string, string", tag = "4")]
    pub ret: BTreeMap<String, String>,
    #[prost(btree_map = "string, message", tag = "5")]
    pub attr: BTreeMap<String, AttrValue>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub control_ret: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OpDefProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub input_arg: Vec<ArgDef>,
    #[prost(message, repeated, tag = "3")]
    pub output_arg: Vec<ArgDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ArgDef {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub r#type: i32,
    #[prost(string, tag = "4")]
    pub type_attr: String,
    #[prost(string, tag = "5")]
    pub number_attr: String,
    #[prost(string, tag = "6")]
    pub type_list_attr: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SavedModel {
    #[prost(int64, tag = "1")]
    pub saved_model_schema_version: i64,
    #[prost(message, repeated, tag = "2")]
    pub meta_graphs: Vec<MetaGraphDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MetaGraphDef {
    #[prost(message, optional, tag = "1")]
    pub meta_info_def: Option<MetaInfoDef>,
    #[prost(message, optional, tag = "2")]
    pub graph_def: Option<GraphDef>,
    #[prost(message, optional, tag = "3")]
    pub saver_def: Option<SaverDef>,
    #[prost(btree_map = "string, message", tag = "4")]
    pub collection_def: BTreeMap<String, CollectionDef>,
    #[prost(btree_map = "string, message", tag = "5")]
    pub signature_def: BTreeMap<String, SignatureDef>,
    #[prost(message, repeated, tag = "6")]
    pub asset_file_def: Vec<AssetFileDef>,
    #[prost(message, optional, tag = "7")]
    pub object_graph_def: Option<SavedObjectGraph>,
}

/// The objects of the program that saved the model.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SavedObjectGraph {
    #[prost(message, repeated, tag = "1")]
    pub nodes: Vec<SavedObject>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub concrete_functions: BTreeMap<String, SavedFunction>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SavedObject {
    #[prost(message, repeated, tag = "1")]
    pub children: Vec<ObjectReference>,
}

/// A member of an object: the number of the object that it is, and its name.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ObjectReference {
    #[prost(int32, tag = "1")]
    pub node_id: i32,
    #[prost(string, tag = "2")]
    pub local_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SavedFunction {
    /// The numbers of the objects that the function reads, its last arguments.
    #[prost(int32, repeated, tag = "2")]
    pub bound_inputs: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MetaInfoDef {
    #[prost(string, repeated, tag = "4")]
    pub tags: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SaverDef {
    #[prost(string, tag = "3")]
    pub restore_op_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CollectionDef {
    #[prost(message, optional, tag = "1")]
    pub node_list: Option<NodeList>,
    #[prost(message, optional, tag = "5")]
    pub any_list: Option<AnyList>,
}

/// Messages of any type.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnyList {
    #[prost(message, repeated, tag = "1")]
    pub value: Vec<AnyMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnyMessage {
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NodeList {
    #[prost(string, repeated, tag = "1")]
    pub value: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AssetFileDef {
    #[prost(message, optional, tag = "1")]
    pub tensor_info: Option<TensorInfo>,
    #[prost(string, tag = "2")]
    pub filename: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SignatureDef {
    #[prost(btree_map = "string, message", tag = "1")]
    pub inputs: BTreeMap<String, TensorInfo>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub outputs: BTreeMap<String, TensorInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorInfo {
    #[prost(string, tag = "1")]
    pub name: String,
}
