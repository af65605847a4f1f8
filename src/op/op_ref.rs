//! [`OpRef`]: a reference to a definition.

use std::sync::Arc;

use super::OpDef;

/// A reference to a definition, static or shared.
#[derive(Clone)]
pub struct OpRef(Ref);

#[derive(Clone)]
enum Ref {
    Static(&'static OpDef),
    Shared(Arc<OpDef>),
}

impl OpRef {
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref::<OpDef>(self).addr()
    }
}

impl std::ops::Deref for OpRef {
    type Target = OpDef;
    fn deref(&self) -> &OpDef {
        match &self.0 {
            Ref::Static(def) => def,
            Ref::Shared(def) => def,
        }
    }
}

impl From<&'static OpDef> for OpRef {
    fn from(def: &'static OpDef) -> OpRef {
        OpRef(Ref::Static(def))
    }
}

impl From<Arc<OpDef>> for OpRef {
    fn from(def: Arc<OpDef>) -> OpRef {
        OpRef(Ref::Shared(def))
    }
}

impl From<&Arc<OpDef>> for OpRef {
    fn from(def: &Arc<OpDef>) -> OpRef {
        OpRef(Ref::Shared(def.clone()))
    }
}
