//! What the kernel can do, and the form that suits.

use super::beside::Beside;
use super::form::{Form, Groups, MOST_GROUPS, ROWS, Routing, Share, Writing};
use super::product::Product;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih::cuda::wgmma::Major;
use girih::device::Device;

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
    let processors = device.processors();
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
    // Two tiles at a time where that leaves few without work.
    let pairs = |count: usize| count.is_multiple_of(2) || count >= 15;
    let halves_b = columns > 64 || product.majors()[1] != Some(Major::Mn);
    let share = if halves_b && pairs(down) && (groups != Groups::Rows || down >= 8) {
        Share::B
    } else if pairs(across) && product.gather.is_none() {
        Share::A
    } else {
        Share::Nothing
    };
    form_of(product, columns, share)
}

/// The form of a product whose tiles have so many columns, and whose clusters share so; there may be no such
/// [kernel](Form::is_possible).
pub fn form_of(product: &Product<'_>, columns: u32, share: Share) -> Form {
    Form {
        columns,
        stages: match columns {
            256 => 4,
            128 => 6,
            _ => 8,
        },
        share,
        majors: product.majors().map(|major| major.unwrap_or(Major::K)),
        band: match share {
            Share::B => 8,
            _ => 16,
        },
        groups: product.groups(),
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
        bounds: product.bounds,
        beside: Beside::Nothing,
    }
}
