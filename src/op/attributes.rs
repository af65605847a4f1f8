//! The declaration of the attributes of an op, and the check of the attributes of a call.

use shapeflow_shape_fns::{Attr, Attribute, Attrs};
use smallvec::SmallVec;

use super::{Body, OpDef};
use crate::error::{Error, ErrorKind, Phase, Result};

impl OpDef {
    /// Declares the attributes: names, kinds and default values. A call with another attribute, with a value of another
    /// kind, or without a required attribute is refused. An op without a declaration has no attributes.
    ///
    /// The body reads a declared attribute by methods of [`Attrs`] such as [`Attrs::float`], which return the value of
    /// the call or the default value. A definition that is no `static` gives the declaration as a constant:
    /// `.attrs(const { &[Attribute::int("radius")] })`.
    ///
    /// ```
    /// use shapeflow::{Attribute, DType, Graph, OpDef, Operand, shape, shape_fns};
    ///
    /// /// `x` where `x > 0`, and `x * slope` elsewhere.
    /// static LEAKY: OpDef = OpDef::compute("leaky", |cx, _output, index| {
    ///     let slope = cx.attrs().float("slope");
    ///     let x = cx.operand(0, index);
    ///     let (zero, slope) = (x.like(0.0), x.like(slope));
    ///     x.clone().maximum(zero.clone()) + x.minimum(zero) * slope
    /// })
    /// .operands(&[Operand::Data("x")])
    /// .attrs(&[Attribute::float_or("slope", 0.25)])
    /// .shape_fn(shape_fns::common::unary);
    ///
    /// let g = Graph::new();
    /// let x = g.constant([4.0f32, -4.0])?;
    /// let exe = g.compile([g.op(&LEAKY).data(x).finish()?, g.op(&LEAKY).data(x).attr("slope", 0.5).finish()?])?;
    /// let [usual, steep] = exe.run(&[])?;
    /// assert_eq!(usual.to_vec::<f32>()?, [4.0, -1.0]);
    /// assert_eq!(steep.to_vec::<f32>()?, [4.0, -2.0]);
    ///
    /// let error = g.op(&LEAKY).data(x).attr("slop", 0.5).finish().unwrap_err();
    /// assert!(error.message().ends_with("leaky has only the attribute slope, got an attribute slop"));
    /// let error = g.op(&LEAKY).data(x).attr("slope", "0.5").finish().unwrap_err();
    /// assert!(error.message().ends_with("the attribute slope of leaky must be a float, got \"0.5\""));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub const fn attrs(mut self, attributes: &'static [Attribute]) -> OpDef {
        // A constant function cannot drop the attributes that this replaces. They own no memory.
        std::mem::forget(std::mem::replace(&mut self.no_attrs, Attrs::declared(attributes)));
        self
    }

    /// Returns the declared attributes.
    pub fn attributes(&self) -> &'static [Attribute] {
        self.no_attrs.declaration()
    }

    /// Returns TensorFlow's op type of a placeholder call, else `None`. An import adds a placeholder call for a node
    /// whose op has no definition, and for a node that inference refused. Nothing computes such a call.
    pub(crate) fn stands_for<'a>(&self, attrs: &'a Attrs) -> Option<&'a str> {
        match (&self.body, attrs.get("op")) {
            (Body::ShapeOnly, Some(Attr::Str(op_type))) => Some(op_type),
            _ => None,
        }
    }

    /// Returns the attributes of a call as text, without flags that are false by default, and without names that begin
    /// with `_`: an import keeps these for an export, but they change nothing. The attributes of a node with graphs
    /// inside are its results' types, which texts show anyway.
    pub(crate) fn attrs_text(&self, attrs: &Attrs) -> String {
        if self.stands_for(attrs).is_some() || self.control().is_some() {
            return String::new();
        }
        let is_off = |name: &str, attr: &Attr| {
            let declared = self.attributes().iter().find(|attribute| attribute.name() == name);
            *attr == Attr::Bool(false) && declared.is_none_or(|attribute| attribute.is_default(attr))
        };
        let shown = attrs.iter().filter(|(name, attr)| !name.starts_with('_') && !is_off(name, attr));
        shown.map(|(name, attr)| format!("{name}={attr}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the attributes of a call that gives none.
    pub(crate) fn no_attrs(&self) -> &Attrs {
        &self.no_attrs
    }

    /// Checks the attributes of a call against the declaration. An imported call may have attributes that only
    /// TensorFlow's op has. A call may give an operand as an attribute of the same name.
    ///
    /// # Errors
    /// The op lacks an attribute of the call, a value is of another kind than the declared one, or a required attribute
    /// is absent.
    pub(crate) fn check_attrs(&self, attrs: &Attrs, is_imported: bool) -> Result<()> {
        let refuse = |message| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        if self.takes_any_attrs {
            return Ok(());
        }
        let op = self.name;
        let operands = self.operands.unwrap_or_default();
        for (name, value) in attrs.iter() {
            match self.attributes().iter().find(|attribute| attribute.name() == name) {
                Some(attribute) if attribute.accepts(value) => {}
                Some(attribute) => {
                    let kind = attribute.kind();
                    return refuse(format!("the attribute {name} of {op} must be {kind}, got {value}"));
                }
                None if is_imported || operands.iter().any(|operand| operand.name() == name) => {}
                None => return refuse(self.unknown_attr(name)),
            }
        }
        let mut required = self.attributes().iter().filter(|attribute| attribute.is_required());
        match required.find(|attribute| attrs.get(attribute.name()).is_none()) {
            Some(attribute) => {
                let (name, kind) = (attribute.name(), attribute.kind());
                refuse(format!("the attribute {name} of {op} must be given: it is {kind}"))
            }
            None => Ok(()),
        }
    }

    /// Returns the message about an attribute that the op lacks.
    fn unknown_attr(&self, unknown: &str) -> String {
        let op = self.name;
        let parameters = self.operands.unwrap_or_default().iter().filter(|operand| operand.is_parameter());
        let mut known: SmallVec<[&str; 8]> = self.attributes().iter().map(Attribute::name).collect();
        for parameter in parameters.map(|operand| operand.name()) {
            if !known.contains(&parameter) {
                known.push(parameter);
            }
        }
        let has = match &known[..] {
            [] => "no attributes".to_string(),
            [known] => format!("only the attribute {known}"),
            known => format!("only the attributes {}", known.join(", ")),
        };
        format!("{op} has {has}, got an attribute {unknown}")
    }
}
