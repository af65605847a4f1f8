//! What an [`Executable`] shows of itself: its kernels, its code and its figures.

use super::executable::Executable;
use super::stats::Stats;
use crate::dump::{Snapshot, StageKind};
use crate::error::Result;
use crate::graph::MetRegions;

impl Executable {
    /// Returns what has been compiled, planned and allocated so far.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let exe = g.compile((x * 2.0).ok()?)?;
    /// for n in [1, 2, 3] {
    ///     exe.run_all(&[TensorView::new(&[n], &vec![0.0f32; n])?])?;
    /// }
    /// assert_eq!((exe.stats().compiles.len(), exe.stats().plan_misses), (1, 3));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn stats(&self) -> Stats {
        self.new_stats(&mut MetRegions::default())
    }

    /// Returns the figures as [`Executable::stats`] does, without the regions that `met` has.
    pub(super) fn new_stats(&self, met: &mut MetRegions) -> Stats {
        let mut stats = Stats {
            compiles: self.specializations().reasons(),
            compile_time: self.compile_time(),
            ..Stats::default()
        };
        self.specializations().for_each(&mut |specialization| stats.add(specialization));
        stats.regions = self.region_stats(met);
        stats
    }

    /// Returns the fused kernels as loops, the matrix products and the host nodes as text, in the order in which they
    /// run. The kernels of branches and loop bodies come last.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let exe = g.compile((x * 2.0 + 1.0).relu()?)?;
    /// println!("{}", exe.kernels());
    /// assert_eq!(exe.kernels().matches("kernel(").count(), 1);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn kernels(&self) -> String {
        self.new_kernels(&mut MetRegions::default())
    }

    /// Returns the kernels as [`Executable::kernels`] does, without the regions that `met` has.
    pub(super) fn new_kernels(&self, met: &mut MetRegions) -> String {
        let mut text = String::new();
        self.specializations().for_each(&mut |compiled| text.push_str(&compiled.program.to_string()));
        text + &self.region_kernels(met)
    }

    /// Returns the intermediate code of every kernel function as text.
    ///
    /// # Errors
    /// Code generation does not support the processor.
    pub fn clif(&self) -> Result<String> {
        let mut text = Ok(String::new());
        self.specializations().for_each(&mut |compiled| {
            if let Ok(all) = &mut text {
                match compiled.program.clif() {
                    Ok(more) => all.push_str(&more),
                    Err(error) => text = Err(error),
                }
            }
        });
        text
    }

    /// Returns a snapshot of the compiled graph, with its kernels if `stage` is [`StageKind::Kernels`] or later.
    ///
    /// A graph that is compiled for each run's ranks or structure parameters (axes, permutations) has the kernels of
    /// its first specialization, and none before the first run. If the graph is compiled in several parts, the snapshot
    /// has the kernels of the first part.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, StageKind, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let snapshot = g.compile(x.exp()?)?.snapshot(StageKind::Kernels)?;
    /// assert!(snapshot.to_dot().contains("exp"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Code generation does not support the processor; [`StageKind::Asm`] in a build without `disasm`.
    pub fn snapshot(&self, stage: StageKind) -> Result<Snapshot> {
        let mut snapshot = None;
        if stage >= StageKind::Kernels {
            self.specializations().for_each(&mut |compiled| {
                snapshot.get_or_insert_with(|| compiled.program.snapshot(stage));
            });
        }
        let mut snapshot = snapshot.unwrap_or_else(|| Ok(self.specializations().graph_snapshot()))?;
        if stage == StageKind::Kernels {
            snapshot.text.push_str(&self.region_kernels(&mut MetRegions::default()));
        }
        Ok(snapshot)
    }
}
