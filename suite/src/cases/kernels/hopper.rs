//! Products by Hopper's tensor cores against sums in `f64` on the host: every layout of operands, every way to share them,
//! sizes that divide nothing, groups, and rows by lists.

#[cfg(feature = "offline")]
pub mod compiled;

use super::model::{handle, list};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih::device::Device;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{Form, Product, Share, Writing, form, launch, supports};
use girih_testkit::{Rt, Tensor, cases, needs};
use half::{bf16, f16};

cases! {
    what_is_not_supported needs [needs::WARPGROUP_MMA],
    sizes_of_every_kind needs [needs::WARPGROUP_MMA],
    every_layout_of_operands needs [needs::WARPGROUP_MMA],
    products_in_batches needs [needs::WARPGROUP_MMA],
    results_of_f32_and_operands_of_f16 needs [needs::WARPGROUP_MMA],
    bias_and_activation needs [needs::WARPGROUP_MMA],
    tiles_in_turn needs [needs::WARPGROUP_MMA],
    long_sums needs [needs::WARPGROUP_MMA],
    cubes_that_share_an_operand needs [needs::WARPGROUP_MMA],
    rows_in_groups needs [needs::WARPGROUP_MMA],
    positions_of_k_in_groups needs [needs::WARPGROUP_MMA],
    gathered_rows needs [needs::WARPGROUP_MMA],
    rows_added_by_a_list needs [needs::WARPGROUP_MMA],
}

type Outcome = Result<(), String>;

/// A number between -1 and 1 that looks random.
fn value(position: usize, seed: u32) -> f32 {
    let mut hash = (position as u32).wrapping_mul(0x9e37_79b1) ^ seed.wrapping_mul(0x9e37_79b9);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^= hash >> 13;
    (hash >> 8) as f32 / 8_388_608.0 - 1.0
}

/// An element of operands or results.
trait Element: CubeElement + Scalar {
    /// The largest relative error of rounding to it.
    const ROUNDING: f64;
    fn round(value: f32) -> Self;
    fn wide(self) -> f64;
}
macro_rules! elements {
    ($($element:ty, $rounding:expr, $round:expr;)*) => {$(
        impl Element for $element {
            const ROUNDING: f64 = $rounding;
            fn round(value: f32) -> Self {
                $round(value)
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}
elements! {
    bf16, 1.0 / 256.0, bf16::from_f32;
    f16, 1.0 / 2048.0, f16::from_f32;
    f32, 1.0 / 8_388_608.0, |value| value;
}

/// A matrix with the axis contiguous that `major` says; the other axis steps by multiples of 8.
struct Matrix<E> {
    values: Vec<f64>,
    inner: usize,
    tensor: Tensor<E>,
    /// Strides along the lines and along K.
    strides: [usize; 2],
    /// From a matrix to the next.
    step: usize,
}

impl<E: Element> Matrix<E> {
    /// `count` matrices of `lines` lines, rows of A or columns of B, and `inner` positions of K.
    fn new(rt: &Rt, [count, lines, inner]: [usize; 3], major: Major, seed: u32) -> Self {
        let values: Vec<E> = (0..count * lines * inner)
            .map(|at| E::round(value(at, seed)))
            .collect();
        let strides = match major {
            Major::K => [inner.next_multiple_of(8) + 8, 1],
            Major::Mn => [1, lines.next_multiple_of(8) + 8],
        };
        let longest = match major {
            Major::K => lines * strides[0],
            Major::Mn => inner * strides[1],
        };
        let step = longest + 16;
        let shape = [count, lines, inner];
        let tensor = rt.put_strided(&values, &shape, &[step, strides[0], strides[1]]);
        Self {
            values: values.into_iter().map(Element::wide).collect(),
            inner,
            tensor,
            strides,
            step,
        }
    }

    /// A line of K.
    fn line(&self, line: usize) -> &[f64] {
        &self.values[line * self.inner..][..self.inner]
    }
}

/// The sum of products, and of their magnitudes.
fn dot(a: &[f64], b: &[f64]) -> (f64, f64) {
    a.iter().zip(b).fold((0.0, 0.0), |(sum, size), (a, b)| {
        (sum + a * b, size + (a * b).abs())
    })
}

/// Positions to look at of a result: all of a small one, else the corners' and some of every part.
fn positions(len: usize) -> Vec<usize> {
    const MOST: usize = 40_000;
    if len <= MOST {
        return (0..len).collect();
    }
    let random = (0..MOST).map(|at| {
        let wide = u64::from((value(at, 77).to_bits()).wrapping_mul(0x9e37_79b1));
        (wide as usize * 2_654_435_761 + at * 40_503) % len
    });
    random.chain(0..300).chain(len - 300..len).collect()
}

/// What a product is, but for its operands.
#[derive(Clone, Copy, Debug)]
struct Case {
    rows: usize,
    columns: usize,
    inner: usize,
    count: usize,
    majors: [Major; 2],
}

const fn case(rows: usize, columns: usize, inner: usize) -> Case {
    Case {
        rows,
        columns,
        inner,
        count: 1,
        majors: [Major::K, Major::K],
    }
}

/// Tensor cores cut off what does not fit as they add sixteen products at a time, so that errors grow with their number.
fn close<O: Element>(got: O, want: f64, magnitude: f64, inner: usize) -> bool {
    let allowed = want.abs() * O::ROUNDING + error_of_sums(magnitude, inner);
    (got.wide() - want).abs() <= allowed
}

/// How far a sum of so many products, whose magnitudes add up to that, may be from the right one.
fn error_of_sums(magnitude: f64, inner: usize) -> f64 {
    let additions = inner as f64 / 16.0 + 8.0;
    magnitude * additions / 4_194_304.0 + 1e-6
}

/// Launches, and says what: should the device hang, it is known where.
fn run(device: &Device, product: &Product<'_>, form: Form) -> Outcome {
    let Product {
        rows,
        columns,
        inner,
        products,
        ..
    } = product;
    eprintln!("hopper: {products} of {rows}x{columns}x{inner} as {form:?}");
    if !form.is_possible() {
        return Err(format!("the test asks for {form:?}"));
    }
    launch(device, product, form);
    Ok(())
}

/// Computes a product with the form that suits, changed, and looks at the result.
fn check<E: Element, O: Element>(rt: &Rt, case: Case, change: impl Fn(Form) -> Form) -> Outcome {
    let Case {
        rows,
        columns,
        inner,
        count,
        majors,
    } = case;
    let a = Matrix::<E>::new(rt, [count, rows, inner], majors[0], 1);
    let b = Matrix::<E>::new(rt, [count, columns, inner], majors[1], 2);
    let stride = columns.next_multiple_of(8);
    let out = rt.poisoned_tensor::<O>(&[count, rows, columns], &[rows * stride, stride, 1]);
    let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
    let product = Product {
        steps: [a.step, b.step, rows * stride, 0],
        products: count,
        ..product(
            [&of_a, &of_b, &of_c],
            [rows, columns, inner],
            [&a.strides, &b.strides],
            stride,
        )
    };
    let device = Device::of(&rt.client);
    supports(&device, &product).map_err(|lacking| format!("{case:?}: no {lacking}"))?;
    let form = change(form(&device, &product));
    run(&device, &product, form)?;
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    for at in positions(got.len()) {
        let (row, column) = (at / columns, at % columns);
        let matrix = row / rows;
        let (want, magnitude) = dot(a.line(row), b.line(matrix * columns + column));
        if !close(got[at], want, magnitude, inner) {
            let (got, row) = (got[at].wide(), row % rows);
            return Err(format!(
                "{case:?} as {form:?}: matrix {matrix}, row {row}, column {column} is {got}, not {want}"
            ));
        }
    }
    Ok(())
}

/// A product of one matrix by one.
fn product<'a>(
    [a, b, c]: [&'a TensorHandle; 3],
    [rows, columns, inner]: [usize; 3],
    [a_strides, b_strides]: [&[usize; 2]; 2],
    stride: usize,
) -> Product<'a> {
    Product {
        a,
        b,
        c,
        rows,
        rows_of: [rows, rows],
        columns,
        inner,
        products: 1,
        a_strides: *a_strides,
        b_strides: [b_strides[1], b_strides[0]],
        c_strides: [stride, 1],
        steps: [0; 4],
        bias: None,
        bias_stride: 1,
        activation: Activation::Identity,
        ends: None,
        groups_of_inner: false,
        gather: None,
        scatter: None,
        weights: None,
        bounds: Bounds::Mask,
        adds: false,
    }
}

fn sizes_of_every_kind(rt: &Rt) -> Outcome {
    let sizes = [
        case(128, 256, 64),
        case(128, 256, 192),
        case(1, 1, 1),
        case(1, 8, 8),
        case(64, 64, 64),
        case(129, 257, 65),
        case(200, 264, 136),
        case(300, 520, 520),
        case(7, 1000, 96),
        case(1000, 7, 96),
    ];
    for size in sizes {
        check::<bf16, bf16>(rt, size, |form| form)?;
    }
    // The largest tile too, whatever the size.
    for size in sizes {
        let largest = |form| Form {
            columns: 256,
            stages: 4,
            share: Share::Nothing,
            ..form
        };
        check::<bf16, bf16>(rt, size, largest)?;
    }
    Ok(())
}

fn every_layout_of_operands(rt: &Rt) -> Outcome {
    for majors in [
        [Major::K, Major::K],
        [Major::K, Major::Mn],
        [Major::Mn, Major::K],
        [Major::Mn, Major::Mn],
    ] {
        for size in [case(256, 512, 128), case(136, 264, 200), case(40, 72, 24)] {
            for columns in [256, 128] {
                let of_form = |form| Form {
                    columns,
                    stages: 4,
                    share: Share::Nothing,
                    ..form
                };
                check::<bf16, bf16>(rt, Case { majors, ..size }, of_form)?;
            }
        }
    }
    Ok(())
}

fn cubes_that_share_an_operand(rt: &Rt) -> Outcome {
    for majors in [[Major::K, Major::K], [Major::Mn, Major::Mn]] {
        for share in [Share::A, Share::B] {
            // Of an odd number of tiles, one of a pair has nothing to do.
            for size in [
                case(512, 1024, 320),
                case(384, 768, 136),
                case(100, 200, 640),
            ] {
                let of_form = |form| Form {
                    columns: 256,
                    stages: 4,
                    share,
                    ..form
                };
                check::<bf16, bf16>(rt, Case { majors, ..size }, of_form)?;
            }
        }
    }
    Ok(())
}

fn tiles_in_turn(rt: &Rt) -> Outcome {
    // Every cube has several tiles, and goes around its ring across them.
    let size = case(2304, 4104, 200);
    check::<bf16, bf16>(rt, size, |form| form)?;
    let majors = [Major::K, Major::Mn];
    check::<bf16, bf16>(rt, Case { majors, ..size }, |form| form)?;
    let small = |form| Form {
        columns: 64,
        stages: 8,
        share: Share::A,
        ..form
    };
    check::<bf16, bf16>(rt, case(1288, 2056, 72), small)
}

fn long_sums(rt: &Rt) -> Outcome {
    check::<bf16, bf16>(rt, case(256, 512, 4096), |form| form)?;
    check::<bf16, f32>(rt, case(264, 128, 8200), |form| form)
}

fn products_in_batches(rt: &Rt) -> Outcome {
    let size = Case {
        count: 5,
        ..case(72, 136, 104)
    };
    check::<bf16, bf16>(rt, size, |form| form)?;
    let majors = [Major::Mn, Major::Mn];
    check::<f16, f16>(rt, Case { majors, ..size }, |form| form)
}

fn results_of_f32_and_operands_of_f16(rt: &Rt) -> Outcome {
    for size in [case(256, 512, 128), case(136, 265, 200)] {
        check::<bf16, f32>(rt, size, |form| form)?;
        check::<f16, f32>(rt, size, |form| form)?;
        check::<f16, f16>(rt, size, |form| form)?;
    }
    Ok(())
}

fn applied(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        // Within 1e-7: Abramowitz and Stegun's 7.1.26 is not enough, so the integral itself.
        Activation::Gelu => 0.5 * x * (1.0 + erf(x / 2f64.sqrt())),
    }
}

/// By Simpson's rule.
fn erf(x: f64) -> f64 {
    let steps = 400;
    let width = x / f64::from(steps);
    let at = |i: i32| (-(f64::from(i) * width).powi(2)).exp();
    let sum: f64 = (0..steps)
        .step_by(2)
        .map(|i| at(i) + 4.0 * at(i + 1) + at(i + 2))
        .sum();
    2.0 / std::f64::consts::PI.sqrt() * sum * width / 3.0
}

fn bias_and_activation(rt: &Rt) -> Outcome {
    let [rows, columns, inner] = [136, 264, 72];
    let a = Matrix::<bf16>::new(rt, [1, rows, inner], Major::K, 3);
    let b = Matrix::<bf16>::new(rt, [1, columns, inner], Major::Mn, 4);
    let addends: Vec<f32> = (0..columns).map(|at| 3.0 * value(at, 5)).collect();
    let bias = rt.put(&addends);
    let device = Device::of(&rt.client);
    for activation in [
        Activation::Identity,
        Activation::Relu,
        Activation::Silu,
        Activation::Gelu,
    ] {
        let out = rt.poisoned_tensor::<f32>(&[rows, columns], &[columns, 1]);
        let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
        let bias = list(&bias);
        let product = Product {
            bias: Some(&bias),
            activation,
            ..product(
                [&of_a, &of_b, &of_c],
                [rows, columns, inner],
                [&a.strides, &b.strides],
                columns,
            )
        };
        supports(&device, &product)?;
        run(&device, &product, form(&device, &product))?;
        let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
        for (at, got) in got.into_iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let (sum, magnitude) = dot(a.line(row), b.line(column));
            let want = applied(activation, sum + f64::from(addends[column]));
            if !close(got, want, magnitude + 1.0, inner) {
                return Err(format!(
                    "{activation:?} at {row}, {column}: {got}, not {want}"
                ));
            }
        }
    }
    Ok(())
}

/// Which group each row is in, if any.
fn groups(ends: &[i32], rows: usize) -> Vec<Option<usize>> {
    let ends: Vec<usize> = ends
        .iter()
        .map(|&end| (end.max(0) as usize).min(rows))
        .collect();
    (0..rows)
        .map(|row| {
            (0..ends.len()).find(|&group| {
                let begin = if group == 0 { 0 } else { ends[group - 1] };
                (begin..ends[group]).contains(&row)
            })
        })
        .collect()
}

/// A product of rows in groups, with rows of A from a list if there is one.
fn grouped(
    rt: &Rt,
    rows: usize,
    ends: &[i32],
    sources: Option<&[i32]>,
    share: Option<Share>,
) -> Outcome {
    let [columns, inner] = [520, 136];
    let count = ends.len();
    let rows_of_a = if sources.is_some() { 90 } else { rows };
    let a = Matrix::<bf16>::new(rt, [1, rows_of_a, inner], Major::K, 6);
    let b = Matrix::<bf16>::new(rt, [count, columns, inner], Major::Mn, 7);
    let out = rt.poisoned_tensor::<bf16>(&[rows, columns], &[columns, 1]);
    let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
    let buffer = rt.put(ends);
    let sources_buffer = sources.map(|sources| rt.put(sources));
    let ends_list = list(&buffer);
    let sources_list = sources_buffer.as_ref().map(list);
    let device = Device::of(&rt.client);
    let product = Product {
        rows_of: [rows_of_a, rows],
        products: count,
        steps: [0, b.step, 0, 0],
        ends: Some(&ends_list),
        gather: sources_list.as_ref(),
        ..product(
            [&of_a, &of_b, &of_c],
            [rows, columns, inner],
            [&a.strides, &b.strides],
            columns,
        )
    };
    supports(&device, &product)?;
    let chosen = form(&device, &product);
    // Half of B's columns for each cube are a block of 64 at the least.
    let form = match share {
        Some(share) => Form {
            share,
            columns: 256,
            stages: 4,
            ..chosen
        },
        None => chosen,
    };
    run(&device, &product, form)?;
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let group_of = groups(ends, rows);
    let zeros = vec![0.0; inner];
    for at in positions(got.len()) {
        let (row, column) = (at / columns, at % columns);
        let line = match sources {
            Some(sources) => match usize::try_from(sources[row]) {
                Ok(source) if source < rows_of_a => a.line(source),
                _ => &zeros,
            },
            None => a.line(row),
        };
        let (want, magnitude) = match group_of[row] {
            Some(group) => dot(line, b.line(group * columns + column)),
            None => (0.0, 0.0),
        };
        if !close(got[at], want, magnitude, inner) {
            let got = got[at].wide();
            return Err(format!(
                "ends {ends:?}, {form:?}: row {row}, column {column} is {got}, not {want}"
            ));
        }
    }
    Ok(())
}

fn rows_in_groups(rt: &Rt) -> Outcome {
    let many: Vec<i32> = (0..70).map(|group| group * 9 + group % 5).collect();
    let cases: [(usize, &[i32]); 7] = [
        (300, &[300]),
        (300, &[0, 150, 150, 300, 300]),
        (300, &[129, 130, 258]),
        (700, &[1, 130, 131, 131, 640]),
        (300, &[-5, 1000, 1000]),
        (300, &[0, 0, 0]),
        (640, &many),
    ];
    for (rows, ends) in cases {
        for share in [None, Some(Share::Nothing), Some(Share::A), Some(Share::B)] {
            grouped(rt, rows, ends, None, share)?;
        }
    }
    Ok(())
}

/// A product for each group of positions of K, of which some have what is no number beside a group's end.
fn positions_of_k_in_groups(rt: &Rt) -> Outcome {
    let device = Device::of(&rt.client);
    let [rows, columns, inner] = [200, 264, 330];
    let a = Matrix::<bf16>::new(rt, [1, rows, inner], Major::Mn, 13);
    let b = Matrix::<bf16>::new(rt, [1, columns, inner], Major::Mn, 14);
    // Position 129 is in no group of the second list of ends, and beside one.
    let mut spoilt = a.values.clone();
    for row in 0..rows {
        spoilt[row * inner + 129] = f64::INFINITY;
    }
    let spoilt: Vec<bf16> = spoilt.into_iter().map(bf16::from_f64).collect();
    let with_infinities = rt.put_strided(
        &spoilt,
        &[1, rows, inner],
        &[a.step, a.strides[0], a.strides[1]],
    );
    for (ends, spoils) in [
        (&[64, 64, 65, 300, 330][..], false),
        (&[0, 129], true),
        (&[-3, 1000], false),
        (&[0, 0], false),
    ] {
        let count = ends.len();
        let buffer = rt.put(ends);
        let ends_list = list(&buffer);
        let out =
            rt.poisoned_tensor::<bf16>(&[count, rows, columns], &[rows * columns, columns, 1]);
        let of_a = handle(if spoils { &with_infinities } else { &a.tensor });
        let (of_b, of_c) = (handle(&b.tensor), handle(&out));
        let product = Product {
            products: count,
            steps: [0, 0, rows * columns, 0],
            ends: Some(&ends_list),
            groups_of_inner: true,
            ..product(
                [&of_a, &of_b, &of_c],
                [rows, columns, inner],
                [&a.strides, &b.strides],
                columns,
            )
        };
        supports(&device, &product)?;
        let chosen = form(&device, &product);
        for share in [Share::Nothing, Share::A, Share::B] {
            let form = Form {
                columns: 256,
                stages: 4,
                share,
                ..chosen
            };
            run(&device, &product, form)?;
            let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
            for at in positions(got.len()) {
                let (row, column) = (at / columns, at % columns);
                let (group, row) = (row / rows, row % rows);
                let put = |end: i32| (end.max(0) as usize).min(inner);
                let begin = if group == 0 { 0 } else { put(ends[group - 1]) };
                let of = begin..put(ends[group]).max(begin);
                let (want, magnitude) = dot(&a.line(row)[of.clone()], &b.line(column)[of]);
                if !close(got[at], want, magnitude, inner) {
                    let got = got[at].wide();
                    return Err(format!(
                        "ends {ends:?}, {form:?}: group {group}, row {row}, column {column} is {got}, not {want}"
                    ));
                }
            }
        }
    }
    Ok(())
}

fn gathered_rows(rt: &Rt) -> Outcome {
    for (rows, ends) in [
        (300usize, &[129, 130, 258][..]),
        (700, &[1, 130, 131, 131, 640]),
    ] {
        let sources: Vec<i32> = (0..rows)
            .map(|row| (value(row, 8) * 60.0 + 40.0) as i32 - 5)
            .collect();
        for share in [None, Some(Share::Nothing), Some(Share::B)] {
            grouped(rt, rows, ends, Some(&sources), share)?;
        }
    }
    Ok(())
}

fn rows_added_by_a_list(rt: &Rt) -> Outcome {
    added::<bf16>(rt)?;
    added::<f32>(rt)
}

/// Rows of a gathered product, times factors, added to rows that a list names, some of them to one.
fn added<O: Element>(rt: &Rt) -> Outcome {
    let [rows, columns, inner, targets] = [300usize, 264, 72, 40];
    let ends = [129, 130, 290];
    let a = Matrix::<bf16>::new(rt, [1, 50, inner], Major::K, 9);
    let b = Matrix::<bf16>::new(rt, [3, columns, inner], Major::K, 10);
    let sources: Vec<i32> = (0..rows).map(|row| (row % 57) as i32 - 3).collect();
    let places: Vec<i32> = (0..rows).map(|row| (row * 7 % 45) as i32 - 2).collect();
    let factors: Vec<f32> = (0..rows).map(|row| value(row, 11)).collect();
    let before: Vec<O> = (0..targets * columns)
        .map(|at| O::round(value(at, 12)))
        .collect();
    let out = rt.put_tensor(&before, &[targets, columns]);
    let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
    let buffers = [&ends[..], &sources, &places].map(|values| rt.put(values));
    let [ends_list, sources_list, places_list] = [&buffers[0], &buffers[1], &buffers[2]].map(list);
    let weights = rt.put(&factors);
    let weights = list(&weights);
    let device = Device::of(&rt.client);
    let product = Product {
        rows_of: [50, targets],
        products: 3,
        steps: [0, b.step, 0, 0],
        ends: Some(&ends_list),
        gather: Some(&sources_list),
        scatter: Some(&places_list),
        weights: Some(&weights),
        adds: true,
        ..product(
            [&of_a, &of_b, &of_c],
            [rows, columns, inner],
            [&a.strides, &b.strides],
            columns,
        )
    };
    supports(&device, &product)?;
    let form = form(&device, &product);
    if form.writing != Writing::Add {
        return Err(format!("{form:?} does not add"));
    }
    run(&device, &product, form)?;
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let group_of = groups(&ends, rows);
    // Each sum, and how far rounding after each addition may take it.
    let mut want: Vec<(f64, f64)> = before.iter().map(|value| (value.wide(), 1e-6)).collect();
    for row in 0..rows {
        let (Some(group), Ok(place)) = (group_of[row], usize::try_from(places[row])) else {
            continue;
        };
        let source = usize::try_from(sources[row]).unwrap_or(usize::MAX);
        if place >= targets || source >= 50 {
            continue;
        }
        for column in 0..columns {
            let (sum, magnitude) = dot(a.line(source), b.line(group * columns + column));
            let addend = sum * f64::from(factors[row]);
            let (value, error) = &mut want[place * columns + column];
            *value += addend;
            *error +=
                (addend.abs() + value.abs() + 1.0) * O::ROUNDING + error_of_sums(magnitude, inner);
        }
    }
    for (at, got) in got.into_iter().enumerate() {
        let (want, allowed) = want[at];
        if (got.wide() - want).abs() > allowed {
            let (row, column) = (at / columns, at % columns);
            return Err(format!(
                "{row}, {column} is {}, not {want} within {allowed}",
                got.wide()
            ));
        }
    }
    Ok(())
}

fn what_is_not_supported(rt: &Rt) -> Outcome {
    let device = Device::of(&rt.client);
    let a = rt.put_tensor(&vec![bf16::ZERO; 64 * 60], &[64, 60]);
    let b = rt.put_tensor(&vec![bf16::ZERO; 64 * 64], &[64, 64]);
    let out = rt.poisoned_tensor::<bf16>(&[64, 64], &[64, 1]);
    let (of_a, of_b, of_c) = (handle(&a), handle(&b), handle(&out));
    // Rows of 60 elements do not begin on multiples of 16 bytes.
    let rows = product(
        [&of_a, &of_b, &of_c],
        [64, 64, 60],
        [&[60, 1], &[64, 1]],
        64,
    );
    let columns = Product {
        a_strides: [60, 2],
        ..rows.clone()
    };
    let none = Product {
        inner: 0,
        ..rows.clone()
    };
    for (product, lacking) in [
        (rows, "rows of A"),
        (columns, "rows of A"),
        (none, "extents"),
    ] {
        match supports(&device, &product) {
            Err(reason) if reason.starts_with(lacking) => {}
            other => return Err(format!("{lacking}: {other:?}")),
        }
    }
    Ok(())
}
