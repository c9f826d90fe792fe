//! The launches of sums by token.

use super::combine::{Teams, combine_backward_kernel, combine_kernel};
use super::{I32, float_sums, units};
use crate::check::{self, list};
use crate::scan::cubes;
use crate::segment::gradient::each;
use crate::segment::rows::{Rows, address, buffer, room};
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::{Error, Result};

/// Rows added up by token: `out[t, ..] =` the sum over `j` of `weights[t, j] rows[places[t, j], ..]`; without weights the sum of the
/// rows alone.
///
/// `rows` has shape `[R, N]`, `places` and `weights` `[T, k]`, as [`route_experts`] gives them; the result `[T, N]` is contiguous and of
/// the rows' type. Sums are of `f32` for halves, rounded once, in the order of `j`: every run gives the same, and nothing is added
/// atomically. A place out of range adds nothing.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, combine_experts};
///
/// fn sums(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let rows = tensor(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0], vec![3, 2]);
///     let places = client.create_from_slice(i32::as_bytes(&[0, 2, 1, 7]));
///     let places = TensorHandle::new_contiguous(vec![2, 2], places, i32::elem_type_native());
///     let weights = tensor(&[0.5, 2.0, 1.0, 1.0], vec![2, 2]);
///     let out = combine_experts(client, &rows, &places, Some(&weights))?;
///     let bytes = client.read_one(out.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [200.5, 401.0, 10.0, 20.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Device`] where the device does not store a type.
///
/// [`route_experts`]: crate::route_experts
pub fn combine_experts(
    client: &Client,
    rows: &TensorHandle,
    places: &TensorHandle,
    weights: Option<&TensorHandle>,
) -> Result<TensorHandle> {
    const CALL: &str = "combine_experts";
    let device = Device::of(client);
    let combining = Combining::new(CALL, &device, rows, places, weights)?;
    let Combining {
        rows,
        places,
        weights,
        tokens,
        chosen,
        sums,
    } = combining;
    let elements = tokens * rows.columns;
    let out = room(client, elements, rows.element.size());
    if elements > 0 {
        let width = rows.width(&device);
        let all = elements / width;
        let (count, dim) = each(&device, all);
        // SAFETY: vectors are below their number, and places masked.
        unsafe {
            combine_kernel::launch_unchecked(
                client,
                count,
                dim,
                address(&[rows.len(), elements]),
                width,
                rows.arg(),
                buffer(&places.handle, tokens * chosen),
                weights
                    .map(|weights| buffer(&weights.handle, tokens * chosen))
                    .into(),
                buffer(&out, elements),
                rows.count,
                rows.columns / width,
                rows.step / width,
                all,
                chosen,
                [rows.element, sums],
            );
        }
    }
    let shape = vec![tokens, rows.columns];
    Ok(TensorHandle::new_contiguous(shape, out, rows.element))
}

/// The gradients of [`combine_experts`].
#[derive(Clone, Debug)]
pub struct CombineGradients {
    /// That of the rows, `weights[t, j] gradient[t, ..]` at `places[t, j]`: contiguous.
    pub rows: TensorHandle,
    /// That of the weights, `[T, k]`: the product of `gradient[t, ..]` with `rows[places[t, j], ..]`.
    pub weights: TensorHandle,
}

/// The gradients of [`combine_experts`] for its rows and weights, given that of its result: one pass over both.
///
/// `places` name each row once, as [`route_experts`] makes them: a row that they do not name would have no gradient, and one named
/// twice that of one of both.
///
/// # Errors
///
/// As [`combine_experts`]; [`Error::Shape`] and [`Error::Element`] of the gradient; [`Error::Argument`] where there are other places than
/// rows.
///
/// [`route_experts`]: crate::route_experts
pub fn combine_experts_backward(
    client: &Client,
    gradient: &TensorHandle,
    rows: &TensorHandle,
    places: &TensorHandle,
    weights: &TensorHandle,
) -> Result<CombineGradients> {
    const CALL: &str = "combine_experts_backward";
    let device = Device::of(client);
    let combining = Combining::new(CALL, &device, rows, places, Some(weights))?;
    let Combining {
        rows,
        places,
        weights,
        tokens,
        chosen,
        sums,
    } = combining;
    let routes = tokens * chosen;
    if routes != rows.count {
        return Err(Error::Argument {
            call: CALL,
            argument: "the number of places",
            given: routes.to_string(),
            allowed: format!("{}, as many as there are rows", rows.count),
        });
    }
    check::same_type(CALL, "gradient", gradient.dtype, rows.element)?;
    check::shape(CALL, "gradient", gradient, &[tokens, rows.columns])?;
    check::within(CALL, client, "gradient", gradient)?;
    let elements = routes * rows.columns;
    let of_rows = room(client, elements, rows.element.size());
    let of_weights = match elements {
        // Sums of nothing.
        0 => client.create_from_slice(&vec![0; (routes * sums.size()).max(1)]),
        _ => room(client, routes, sums.size()),
    };
    if elements > 0 {
        let gradient = Rows::new(client, gradient);
        let width = rows.width(&device).min(gradient.width(&device));
        let vectors = rows.columns / width;
        let teams = teams(&device, sums, vectors, chosen);
        let all = routes.div_ceil((teams.units / teams.team) as usize);
        let turns = match device.target() {
            // A cube of a CPU costs more than a row.
            Target::Cpu => all.div_ceil(16),
            _ => 1,
        };
        let weights = weights.expect("they were given");
        // SAFETY: routes are below their number, vectors below a row's, and places are masked.
        unsafe {
            combine_backward_kernel::launch_unchecked(
                client,
                cubes(&device, all.div_ceil(turns)),
                CubeDim::new_1d(teams.units),
                address(&[rows.len(), gradient.len(), elements]),
                width,
                gradient.arg(),
                rows.arg(),
                buffer(&places.handle, routes),
                buffer(&weights.handle, routes),
                buffer(&of_rows, elements),
                buffer(&of_weights, routes),
                rows.count,
                vectors,
                gradient.step / width,
                rows.step / width,
                routes,
                turns,
                teams,
                [rows.element, sums],
            );
        }
    }
    let shape = vec![routes, rows.columns];
    Ok(CombineGradients {
        rows: TensorHandle::new_contiguous(shape, of_rows, rows.element),
        weights: TensorHandle::new_contiguous(vec![tokens, chosen], of_weights, sums),
    })
}

/// A team as wide as rows are, of a plane at most.
fn teams(device: &Device, sums: ElemType, vectors: usize, chosen: usize) -> Teams {
    let hardware = &device.client().properties().hardware;
    let plane = 1u32 << hardware.plane_size_min.max(1).ilog2();
    let team = match device.target() {
        Target::Cpu => 1,
        // WGSL passes no f64 from lane to lane.
        Target::Wgsl if sums == ElemType::Float(FloatKind::F64) => 1,
        _ => plane.min(vectors.next_power_of_two().min(64) as u32),
    };
    let units = units(device);
    Teams {
        team: team.min(units),
        units,
        chosen,
    }
}

/// The checked arguments of sums by token.
struct Combining {
    rows: Rows,
    places: TensorHandle,
    weights: Option<TensorHandle>,
    tokens: usize,
    chosen: usize,
    /// The type of the sums, and of the weights.
    sums: ElemType,
}

impl Combining {
    fn new(
        call: &'static str,
        device: &Device,
        rows: &TensorHandle,
        places: &TensorHandle,
        weights: Option<&TensorHandle>,
    ) -> Result<Self> {
        for (argument, tensor) in [("rows", rows), ("places", places)] {
            let given = tensor.shape().len();
            if given != 2 {
                return Err(Error::Rank {
                    call,
                    argument,
                    given,
                    allowed: "2".into(),
                });
            }
        }
        let sums = float_sums(call, device, "rows", rows)?;
        check::element(call, device, I32)?;
        check::same_type(call, "places", places.dtype, I32)?;
        check::within(call, device.client(), "places", places)?;
        let [tokens, chosen] = [places.shape()[0], places.shape()[1]];
        if let Some(weights) = weights {
            check::same_type(call, "weights", weights.dtype, sums)?;
            check::shape(call, "weights", weights, &[tokens, chosen])?;
            check::within(call, device.client(), "weights", weights)?;
        }
        let client = device.client();
        Ok(Self {
            rows: Rows::new(client, rows),
            places: list(client, places),
            weights: weights.map(|weights| list(client, weights)),
            tokens,
            chosen,
            sums,
        })
    }
}
