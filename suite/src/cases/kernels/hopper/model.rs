//! Products on the host in f64, operands in every layout, and launches of the kernel alone.

use super::super::model::handle;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih::device::Device;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{Form, Product, form, launch_beside, supports};
use girih_testkit::{Rt, Tensor};
use half::{bf16, f16};

/// What a case gives.
pub type Outcome = Result<(), String>;

/// A number between -1 and 1 that looks random.
pub fn value(position: usize, seed: u32) -> f32 {
    let mut hash = (position as u32).wrapping_mul(0x9e37_79b1) ^ seed.wrapping_mul(0x9e37_79b9);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^= hash >> 13;
    (hash >> 8) as f32 / 8_388_608.0 - 1.0
}

/// An element of operands or results.
pub trait Element: CubeElement + Scalar {
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
pub struct Matrix<E> {
    pub values: Vec<f64>,
    pub inner: usize,
    pub tensor: Tensor<E>,
    /// Strides along the lines and along K.
    pub strides: [usize; 2],
    /// From a matrix to the next.
    pub step: usize,
}

impl<E: Element> Matrix<E> {
    /// `count` matrices of `lines` lines, rows of A or columns of B, and `inner` positions of K.
    pub fn new(rt: &Rt, [count, lines, inner]: [usize; 3], major: Major, seed: u32) -> Self {
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
    pub fn line(&self, line: usize) -> &[f64] {
        &self.values[line * self.inner..][..self.inner]
    }
}

/// The sum of products, and of their magnitudes.
pub fn dot(a: &[f64], b: &[f64]) -> (f64, f64) {
    a.iter().zip(b).fold((0.0, 0.0), |(sum, size), (a, b)| {
        (sum + a * b, size + (a * b).abs())
    })
}

/// Positions to look at of a result: all of a small one, else the corners' and some of every part.
pub fn positions(len: usize) -> Vec<usize> {
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
pub struct Case {
    pub rows: usize,
    pub columns: usize,
    pub inner: usize,
    pub count: usize,
    pub majors: [Major; 2],
}

/// One product of matrices whose rows and columns are contiguous along K.
pub const fn case(rows: usize, columns: usize, inner: usize) -> Case {
    Case {
        rows,
        columns,
        inner,
        count: 1,
        majors: [Major::K, Major::K],
    }
}

/// Tensor cores cut off what does not fit as they add sixteen products at a time, so that errors grow with their number.
pub fn close<O: Element>(got: O, want: f64, magnitude: f64, inner: usize) -> bool {
    let allowed = want.abs() * O::ROUNDING + error_of_sums(magnitude, inner);
    (got.wide() - want).abs() <= allowed
}

/// How far a sum of so many products, whose magnitudes add up to that, may be from the right one.
pub fn error_of_sums(magnitude: f64, inner: usize) -> f64 {
    let additions = inner as f64 / 16.0 + 8.0;
    magnitude * additions / 4_194_304.0 + 1e-6
}

/// Launches, and says what: should the device hang, it is known where.
pub fn run(device: &Device, product: &Product<'_>, form: Form) -> Outcome {
    run_beside(device, product, form, product.c)
}

/// The same with a tensor beside the result, of its type and strides.
pub fn run_beside(
    device: &Device,
    product: &Product<'_>,
    form: Form,
    beside: &TensorHandle,
) -> Outcome {
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
    launch_beside(device, product, form, beside, &[None, None]);
    Ok(())
}

/// Computes a product with the form that suits, changed, and looks at the result.
pub fn check<E: Element, O: Element>(
    rt: &Rt,
    case: Case,
    change: impl Fn(Form) -> Form,
) -> Outcome {
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
pub fn product<'a>(
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
