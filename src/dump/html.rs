//! Dumps as one self-contained HTML page: the graph, and the details of each node and kernel.

use serde_json::json;

use super::labels::escaped;
use super::svg;
use super::trace::KernelKey;
use super::{Snapshot, Trace};

/// The program of the page.
const SCRIPT: &str = concat!(
    include_str!("page/scene.js"),
    include_str!("page/panel.js"),
    include_str!("page/search.js"),
    include_str!("page/page.js")
);

impl Snapshot {
    /// Returns the stage as one self-contained HTML page. With a trace, the page shows the time of each kernel.
    ///
    /// The graph can be moved, zoomed and searched. At first the scopes are open that fit into the window; a click on a
    /// scope opens or closes the scope, which stays under the pointer. A click on a node shows its op, attributes,
    /// source line and shape, the origin of each dimension, and the loops and code of its kernel. A snapshot of
    /// [`StageKind::Kernels`](crate::StageKind::Kernels) has loops, [`StageKind::Clif`](crate::StageKind::Clif) also
    /// Cranelift code, and [`StageKind::Asm`](crate::StageKind::Asm) also machine instructions.
    ///
    /// Each thing on the page has an address: `page.html#v3` shows the value `%3`, `#step2` the step 2, and `#loops`,
    /// `#clif` and `#asm` the first kernel with such code.
    pub fn to_html(&self, trace: Option<&Trace>) -> String {
        let times = trace.map(Trace::kernel_times).unwrap_or_default();
        let data = self.json(&|kernel| {
            let time = times.get(&KernelKey { program: self.origin, step: kernel.step })?;
            Some(json!({"runs": time.runs, "total_us": time.total_us, "least_us": time.least_us}))
        });
        // A `</script>` or `<!--` in the data would end the script element, or change how a browser reads the element.
        let embedded = |data: &serde_json::Value| data.to_string().replace('<', "\\u003c");
        let fill = [
            ("@STAGE@", escaped(self.stage.name())),
            ("@GRAPH_STYLE@", svg::STYLE.to_string()),
            ("@PAGE_STYLE@", include_str!("page/page.css").to_string()),
            ("@DATA@", embedded(&data)),
            ("@SCENE@", embedded(&self.scene())),
            ("@SCRIPT@", SCRIPT.to_string()),
        ];
        let mut page = String::new();
        let mut rest = include_str!("page/page.html");
        for (mark, content) in fill {
            let Some((before, after)) = rest.split_once(mark) else { continue };
            page.push_str(before);
            page.push_str(&content);
            rest = after;
        }
        page.push_str(rest);
        page
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Graph, Result, StageKind, shape};

    #[test]
    fn a_page_has_every_part_and_no_addresses() -> Result<()> {
        let g = Graph::new();
        let x = g.input("</script><b>", DType::F32, shape!["b", 4])?;
        let page = g.compile(x.softmax(-1)?)?.snapshot(StageKind::Clif)?.to_html(None);
        for mark in ["@STAGE@", "@GRAPH_STYLE@", "@PAGE_STYLE@", "@SCENE@", "@DATA@", "@SCRIPT@"] {
            assert!(!page.contains(mark), "{mark}");
        }
        assert!(!page.contains("</script><b>"));
        let addresses = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!addresses.contains("http://") && !addresses.contains("https://"));
        Ok(())
    }
}
