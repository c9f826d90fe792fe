//! What a reduction of segments would launch, without doing it.

use super::grouping::{Ends, Grouping};
use super::job::Cut;
use super::rows::{Rows, sum_type};
use super::{Kind, Reduction, Rules, rows_of, supports};
use crate::check;
use core::fmt;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::Device;

/// How a [`segment_reduce`](crate::segment_reduce()) is launched. Its `Display` is a table.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Grouping, Reduction, Result, explain_segment_reduce};
///
/// fn short_and_long(client: &Client) -> Result<()> {
///     let rows = client.empty(4 * 1000 * 16);
///     let rows = TensorHandle::new_contiguous(vec![1000, 16], rows, f32::elem_type_native());
///     let short = explain_segment_reduce(client, &rows, Grouping::Length(10), Reduction::Sum)?;
///     assert_eq!((short.kernels.as_slice(), short.temporary), (["reduce"].as_slice(), 0));
///     let long = explain_segment_reduce(client, &rows, Grouping::Length(500), Reduction::Sum)?;
///     assert_eq!(long.kernels, ["reduce", "finish"]);
///     println!("{long}");
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # short_and_long(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    /// The launcher.
    pub call: &'static str,
    /// The element.
    pub element: ElemType,
    /// What is launched, one after another: `copy` of rows that do not lie as rows, `sort` of ids in any order, `offsets` of ids,
    /// `reduce`, and `finish` of long segments.
    pub kernels: Vec<&'static str>,
    /// How many segments there are.
    pub segments: usize,
    /// How many rows there are.
    pub rows: usize,
    /// Most rows of a segment that one team reduces.
    pub longest: usize,
    /// Windows of as many rows that longer segments are cut into; none where no segment can be longer.
    pub windows: usize,
    /// Elements of one access.
    pub width: usize,
    /// Units of a team.
    pub team: u32,
    /// Accesses that a unit has of a row.
    pub accesses: usize,
    /// Rows that a team has in flight.
    pub in_flight: usize,
    /// Tiles of a row, a team to each.
    pub tiles: usize,
    /// Units of a cube.
    pub units: u32,
    /// Bytes of memory beside the arguments and the result: the copy, the parts of windows, offsets; of a sort its keys and places,
    /// twice, without its counts of about 1 KiB for each tile of some thousand keys.
    pub temporary: u64,
    /// Bytes that must be moved: each row once, each result once.
    pub bytes_ideal: u64,
}

impl fmt::Display for SegmentPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.width * self.element.size();
        writeln!(f, "{} of {}", self.call, self.element)?;
        writeln!(f, "  kernels        {}", self.kernels.join(", "))?;
        writeln!(
            f,
            "  segments       {} of {} rows",
            self.segments, self.rows
        )?;
        writeln!(f, "  a team's rows  {} at most", self.longest)?;
        writeln!(f, "  windows        {}", self.windows)?;
        writeln!(
            f,
            "  vector width   {} ({bytes} bytes an access)",
            self.width
        )?;
        writeln!(f, "  team           {} units of {}", self.team, self.units)?;
        writeln!(
            f,
            "  accesses       {} a unit and row, {} rows in flight",
            self.accesses, self.in_flight
        )?;
        writeln!(f, "  tiles          {} a row", self.tiles)?;
        writeln!(f, "  temporary      {} bytes", self.temporary)?;
        write!(f, "  bytes          {} at least", self.bytes_ideal)
    }
}

/// What [`segment_reduce`](crate::segment_reduce()) would launch.
///
/// # Errors
///
/// As [`segment_reduce`](crate::segment_reduce()).
pub fn explain_segment_reduce(
    client: &Client,
    values: &TensorHandle,
    grouping: Grouping<'_>,
    reduction: Reduction,
) -> Result<SegmentPlan> {
    const CALL: &str = "segment_reduce";
    let device = Device::of(client);
    supports(CALL, &device, "values", values.dtype, reduction)?;
    let shape = rows_of(CALL, client, "values", values)?;
    let (entries, columns) = (shape[0], shape[1..].iter().product::<usize>());
    let segments = grouping.segments(CALL, &device, entries)?;
    let mut of_result = shape.clone();
    of_result[0] = segments;
    check::elements(CALL, "the result", &of_result)?;
    let size = values.dtype.size();
    let mut kernels = vec![];
    let mut temporary = 0;
    let is_copied = !Rows::are_in(values) && !shape.contains(&0);
    let rows = match is_copied {
        true => {
            kernels.push("copy");
            temporary += (entries * columns * size) as u64;
            TensorHandle::new_contiguous(shape, values.handle.clone(), values.dtype)
        }
        false => values.clone(),
    };
    let (offsets, length) = match grouping {
        Grouping::Length(length) => (None, length),
        Grouping::Offsets(list) => (Some(list), 0),
        Grouping::SortedIds { ids, .. } | Grouping::Ids { ids, .. } => {
            if matches!(grouping, Grouping::Ids { .. }) {
                kernels.push("sort");
                temporary += 2 * (entries * (ids.dtype.size() + 4)) as u64;
            }
            kernels.push("offsets");
            temporary += 4 * (segments as u64 + 1);
            (Some(ids), 0)
        }
    };
    let ends = Ends {
        offsets: offsets.cloned(),
        length,
        segments,
        entries,
    };
    let rules = Rules::of_segments(Kind::from(reduction));
    let cut = Cut::new(&device, &Rows::new(client, &rows), &ends, rules);
    if segments * columns > 0 {
        kernels.push("reduce");
        if cut.slots > 0 {
            kernels.push("finish");
            temporary += cut.temporary(sum_type(values.dtype));
        }
    }
    Ok(SegmentPlan {
        call: CALL,
        element: values.dtype,
        kernels,
        segments,
        rows: entries,
        longest: ends.longest(),
        windows: cut.slots / 2,
        width: cut.width,
        team: cut.plan.team,
        accesses: cut.plan.blocks,
        in_flight: cut.plan.batch,
        tiles: cut.tiles.count,
        units: cut.plan.units,
        temporary,
        bytes_ideal: ((entries + segments) * columns * size) as u64,
    })
}
