//! The host's side: what the kernel can do, the form that suits, and the launch.

use super::beside::Beside;
use super::form::{DEPTH, Form, Groups, MOST_GROUPS, ROWS, Routing, Share, UNITS, Writing};
use super::kernel::hopper_kernel;
use super::schedule::ProblemLaunch;
use crate::matmul::Activation;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih::device::Device;

/// A product: `c[p, r, n] (+)= weights[r] activation(sum over k of a[p, r, k] b[p, k, n] + bias[p, n])`, where with `ends` the
/// rows are in groups, and `p` is the row's group of B and of the bias alone; or, with `groups_of_inner`, positions of K are in
/// groups, and the sum of result `p` is over group `p`. With `gather` row `r` of A is
/// `a[gather[r], ..]`, with `scatter` row `r` of the result is written to `c[scatter[r], ..]`.
///
/// Every element must lie in its buffer; lists lie one element after another, and have one type.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    /// The operands and the result: their buffers and element types alone.
    pub a: &'a TensorHandle,
    /// The second operand.
    pub b: &'a TensorHandle,
    /// The result.
    pub c: &'a TensorHandle,
    /// Rows of the product.
    pub rows: usize,
    /// Rows of the tensor A, and of the result: others than `rows` where a list names them.
    pub rows_of: [usize; 2],
    /// Columns.
    pub columns: usize,
    /// Positions that are summed over.
    pub inner: usize,
    /// Products, or groups of rows.
    pub products: usize,
    /// Strides of A along its rows and K.
    pub a_strides: [usize; 2],
    /// Strides of B along K and its columns.
    pub b_strides: [usize; 2],
    /// Strides of the result along its rows and columns.
    pub c_strides: [usize; 2],
    /// From a product's A, B, result and bias to the next one's; of groups of rows those of A and the result are 0, of
    /// others those of A and B.
    pub steps: [usize; 4],
    /// Elements of the result's type, added to every row.
    pub bias: Option<&'a TensorHandle>,
    /// The bias's stride along the columns.
    pub bias_stride: usize,
    /// What becomes of each element.
    pub activation: Activation,
    /// Where each group ends.
    pub ends: Option<&'a TensorHandle>,
    /// Whether the groups are of positions of K, rather than of rows.
    pub groups_of_inner: bool,
    /// The rows of A.
    pub gather: Option<&'a TensorHandle>,
    /// The rows of the result.
    pub scatter: Option<&'a TensorHandle>,
    /// A factor for each row.
    pub weights: Option<&'a TensorHandle>,
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether the result is added to.
    pub adds: bool,
}

impl Product<'_> {
    fn groups(&self) -> Groups {
        match (self.ends, self.groups_of_inner) {
            (None, _) => Groups::Nothing,
            (Some(_), false) => Groups::Rows,
            (Some(_), true) => Groups::Inner,
        }
    }

    /// How A and B lie, where bulk copies reach them.
    fn majors(&self) -> [Option<Major>; 2] {
        let inner = self.inner;
        let a = major(self.a_strides, self.rows_of[0], inner);
        let b = major(swapped(self.b_strides), self.columns, inner);
        match self.groups() {
            // Groups of K end at any row of a tile, and what is past the end is cleared.
            Groups::Inner => [
                of_lines(self.a_strides, self.rows_of[0], inner),
                of_lines(swapped(self.b_strides), self.columns, inner),
            ],
            _ => [a, b],
        }
    }
}

/// Whether the kernel computes the product on the device, and if not, what stands against it.
///
/// # Errors
///
/// What the device, the types, the strides or the sizes lack, as a noun.
pub fn supports(device: &Device, product: &Product<'_>) -> Result<(), &'static str> {
    let halves = [FloatKind::F16, FloatKind::BF16].map(ElemType::Float);
    let sums = ElemType::Float(FloatKind::F32);
    let element = product.a.dtype;
    let output = product.c.dtype;
    let lists = [product.ends, product.gather, product.scatter];
    let integers = [
        ElemType::Int(IntKind::I32),
        ElemType::Int(IntKind::I64),
        ElemType::UInt(UIntKind::U32),
    ];
    let bounded = [product.rows, product.columns, product.inner]
        .into_iter()
        .chain(product.rows_of)
        .all(|extent| extent > 0 && extent < 1 << 31);
    let needs = [
        (
            device.has_warpgroup_mma(),
            "tensor cores that warpgroups feed from shared memory",
        ),
        (halves.contains(&element), "operands of f16 or bf16"),
        (
            halves.contains(&output) || output == sums,
            "a result of f16, bf16 or f32",
        ),
        (
            bounded && product.products > 0 && product.products < 1 << 16,
            "extents from 1 to 2^31",
        ),
        (
            product.majors()[0].is_some() && is_aligned(product.a, &[product.steps[0]]),
            "rows of A, or columns, that are contiguous and begin on multiples of 16 bytes",
        ),
        (
            product.majors()[1].is_some() && is_aligned(product.b, &[product.steps[1]]),
            "columns of B, or rows, that are contiguous and begin on multiples of 16 bytes",
        ),
        (
            product.c_strides[1] == 1 || product.columns == 1,
            "a result whose rows are contiguous",
        ),
        (
            product.ends.is_none() || product.products <= MOST_GROUPS,
            "1024 groups at most",
        ),
        (
            lists
                .iter()
                .flatten()
                .all(|list| integers.contains(&list.dtype)),
            "lists of i32, u32 or i64",
        ),
        (
            product.gather.is_none() || product.majors()[0] == Some(Major::K),
            "rows of A that are contiguous, where they are gathered",
        ),
        (
            lists[1..].iter().flatten().count() == 0
                || matches!(product.bounds, Bounds::Mask | Bounds::Assume),
            "indices that are masked, or in range",
        ),
        (
            product.bias.is_none() || product.bias_stride == 1,
            "a bias that is contiguous",
        ),
        (
            !product.adds || writes_vectors(product),
            "a result whose rows begin on multiples of 16 bytes, where it is added to",
        ),
    ];
    match needs.iter().find(|(has, _)| !has) {
        None => Ok(()),
        Some((_, lacking)) => Err(lacking),
    }
}

/// That lines lie side by side, if bulk copies reach the operand so.
fn of_lines([line, k]: [usize; 2], lines: usize, inner: usize) -> Option<Major> {
    let is_so = (line == 1 || lines == 1) && (inner == 1 || k.is_multiple_of(8));
    is_so.then_some(Major::Mn)
}

/// How an operand lies, of so many lines along M or N and positions of K, given its strides along these; `None` where bulk
/// copies do not reach it.
fn major([line, k]: [usize; 2], lines: usize, inner: usize) -> Option<Major> {
    let steps = |stride: usize, extent: usize| extent == 1 || stride.is_multiple_of(8);
    match (line, k) {
        _ if (k == 1 || inner == 1) && steps(line, lines) => Some(Major::K),
        _ => of_lines([line, k], lines, inner),
    }
}

fn swapped([first, second]: [usize; 2]) -> [usize; 2] {
    [second, first]
}

/// Whether a tensor of 16-bit elements begins on a multiple of 16 bytes, and steps by such.
fn is_aligned(tensor: &TensorHandle, steps: &[usize]) -> bool {
    let start = tensor.handle.offset_start.unwrap_or(0) as usize;
    start.is_multiple_of(16) && steps.iter().all(|step| step.is_multiple_of(8))
}

/// Whether the result's rows are stored 16 bytes at a time.
fn writes_vectors(product: &Product<'_>) -> bool {
    let width = 16 / product.c.dtype.size();
    let start = product.c.handle.offset_start.unwrap_or(0) as usize;
    let row = match product.rows_of[1] {
        1 => 0,
        _ => product.c_strides[0],
    };
    start.is_multiple_of(16)
        && [product.columns, row, product.steps[2]]
            .into_iter()
            .all(|step| step.is_multiple_of(width))
}

/// The form that suits a product that the kernel [computes](supports).
pub fn form(device: &Device, product: &Product<'_>) -> Form {
    let processors = processors(device) as usize;
    let groups = product.groups();
    // Rows of a product, and tiles of all.
    let rows = match groups {
        Groups::Rows => product.rows.div_ceil(product.products),
        _ => product.rows,
    };
    let down = rows.div_ceil(ROWS as usize);
    let tiles = |columns: u32| product.products * down * product.columns.div_ceil(columns as usize);
    let columns = [256, 128]
        .into_iter()
        .find(|&columns| tiles(columns) >= processors)
        .unwrap_or(64);
    let across = product.columns.div_ceil(columns as usize);
    let majors = product.majors().map(|major| major.unwrap_or(Major::K));
    // Two tiles at a time where that leaves few without work.
    let pairs = |count: usize| count.is_multiple_of(2) || count >= 15;
    let halves_b = columns > 64 || majors[1] == Major::K;
    let share = if halves_b && pairs(down) && (groups != Groups::Rows || down >= 8) {
        Share::B
    } else if pairs(across) && product.gather.is_none() {
        Share::A
    } else {
        Share::Nothing
    };
    Form {
        columns,
        stages: match columns {
            256 => 4,
            128 => 6,
            _ => 8,
        },
        share,
        majors,
        band: match share {
            Share::B => 8,
            _ => 16,
        },
        groups,
        routing: match product.gather {
            Some(_) => Routing::Gather,
            None => Routing::InOrder,
        },
        writing: match product.adds {
            true => Writing::Add,
            false => Writing::Set,
        },
        vectors: writes_vectors(product),
        biased: product.bias.is_some(),
        weighted: product.weights.is_some(),
        activation: product.activation,
        beside: Beside::Nothing,
    }
}

fn processors(device: &Device) -> u32 {
    let hardware = &device.client().properties().hardware;
    hardware.num_streaming_multiprocessors.unwrap_or(132)
}

/// Launches a product that the kernel [computes](supports), in that form.
pub fn launch(device: &Device, product: &Product<'_>, form: Form) {
    launch_beside(device, product, form, product.c);
}

/// The same with a tensor beside the result, of its type and strides, that begins on a multiple of 16 bytes. With
/// [`Beside::Nothing`] it is not touched.
pub fn launch_beside(device: &Device, product: &Product<'_>, form: Form, beside: &TensorHandle) {
    let clusters_of = |extent: usize, at_once: u32| extent.div_ceil(at_once as usize);
    let across = clusters_of(product.columns, form.columns_at_once());
    let down = clusters_of(product.rows, form.rows_at_once());
    // Of groups, each may have a tile that it does not fill, and so may the rows in none.
    let tiles = match form.groups {
        Groups::Rows => (down + product.products + 1) * across,
        _ => down * across * product.products,
    };
    let cubes = form.cubes();
    let clusters = (processors(device) / cubes).max(1).min(tiles as u32);
    let width = 16 / product.c.dtype.size();
    let [step_a, step_b, step_c, step_bias] = product.steps;
    let of_a = match form.groups {
        Groups::Nothing => product.products,
        _ => 1,
    };
    let list = |tensor: &TensorHandle| {
        let len = tensor.shape().iter().product();
        buffer(&tensor.handle, len)
    };
    let elements = |tensor: &TensorHandle| {
        (tensor.handle.size_in_used() as usize / tensor.dtype.size()).max(1)
    };
    let float = ElemType::Float(FloatKind::F32);
    let integer = ElemType::Int(IntKind::I32);
    let lists = [product.ends, product.gather, product.scatter];
    let list_type = lists.iter().flatten().next().map(|list| list.dtype);
    let types = [
        product.a.dtype,
        product.c.dtype,
        product.weights.map_or(float, |weights| weights.dtype),
        list_type.unwrap_or(integer),
    ];
    let map_a = map(
        product.a,
        form.majors[0],
        [of_a, product.rows_of[0], product.inner],
        [step_a, product.a_strides[0], product.a_strides[1]],
        if form.share == Share::A {
            ROWS / 2
        } else {
            ROWS
        },
    );
    let half = if form.share == Share::B { 2 } else { 1 };
    let [b_k, b_column] = product.b_strides;
    let map_b = map(
        product.b,
        form.majors[1],
        [product.products, product.columns, product.inner],
        [step_b, b_column, b_k],
        form.columns / half,
    );
    let gathered = product
        .gather
        .map(|_| buffer(&product.a.handle, elements(product.a) / 8));
    let written = |tensor: &TensorHandle| match form.vectors {
        true => buffer(&tensor.handle, elements(tensor) / width),
        false => buffer(&tensor.handle, elements(tensor)),
    };
    let problem = ProblemLaunch::new(
        product.rows as u32,
        product.columns as u32,
        product.inner as u32,
        product.products as u32,
        u32::from(of_a > 1 && step_a > 0),
        u32::from(product.products > 1 && step_b > 0),
        across as u32,
        tiles as u32,
    );
    // SAFETY: bulk copies end at the extents of their tensor maps, which were checked to lie in the buffers, as were those
    // that mask all stores, and what is read of the lists and the bias; rows of lists are masked by their tensors' rows.
    unsafe {
        hopper_kernel::launch_unchecked(
            device.client(),
            CubeCount::new_1d(clusters * cubes),
            CubeDim::new_1d(UNITS),
            AddressType::from_len(elements(product.c).max(elements(product.a))),
            if form.vectors { width } else { 1 },
            width,
            map_a,
            map_b,
            gathered.into(),
            product.gather.map(list).into(),
            product.ends.map(list).into(),
            product
                .bias
                .map(|bias| buffer(&bias.handle, elements(bias)))
                .into(),
            product.weights.map(list).into(),
            product.scatter.map(list).into(),
            written(product.c),
            written(beside),
            problem,
            product.rows_of[0] as u32,
            product.a_strides[0] / 8,
            product.inner as u32,
            step_bias,
            product.rows_of[1] as u32,
            product.c_strides[0],
            step_c,
            form,
            types,
        );
    }
}

fn buffer(handle: &Handle, len: usize) -> BufferArg {
    // SAFETY: callers pass no more elements than the buffer has.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}

/// What bulk copies are told of an operand with so many matrices, lines and positions of K, a copy having `lines` lines and 64
/// positions of K where K is contiguous, and 64 of each where it is not.
fn map(
    tensor: &TensorHandle,
    major: Major,
    [matrices, lines, inner]: [usize; 3],
    [matrix, line, k]: [usize; 3],
    lines_at_once: u32,
) -> TensorMapArg<Tiled> {
    // Repeated matrices are one; and of what is there once, any stride will do that bulk copies take.
    let matrices = if matrix == 0 { 1 } else { matrices };
    let step = |stride: usize, extent: usize| match extent {
        1 => stride.next_multiple_of(8).max(8),
        _ => stride,
    };
    let (outer, row, extents, tile) = match major {
        Major::K => (
            step(matrix, matrices),
            step(line, lines),
            [matrices, lines, inner],
            [1, lines_at_once as usize, DEPTH as usize],
        ),
        Major::Mn => (
            step(matrix, matrices),
            step(k, inner),
            [matrices, inner, lines],
            [1, DEPTH as usize, 64],
        ),
    };
    // SAFETY: the extents and strides are the tensor's own, which was checked to lie in its buffer.
    let argument = unsafe {
        TensorArg::from_raw_parts(
            tensor.handle.clone(),
            [outer, row, 1].as_slice().into(),
            extents.as_slice().into(),
        )
    };
    let tile_size = tile.as_slice().into();
    TensorMapArg::new(TiledArgs { tile_size }, argument, tensor.dtype)
        .with_swizzle(TensorMapSwizzle::B128)
        .with_prefetch(TensorMapPrefetch::B256)
}
