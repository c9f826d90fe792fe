//! Elements along an axis and rows in pages: values, gradients, and what is refused.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error, Offence, paged_gather, sum_along_axis, take_along_axis};
use girih_testkit::{Rt, cases, needs};

use super::host::{finite_differences, resolve};
use super::{Host, assert_equals, assert_matches, device, floats, ints, total};

const POLICIES: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];
const TOLERANCE: f64 = 1e-3;

cases! {
    takes_along_every_axis_under_every_policy,
    takes_from_views_and_by_views,
    takes_f16_and_integers needs [needs::F16],
    sums_along_every_axis_under_every_policy,
    gradients_of_taking,
    gradients_of_taking_are_those_of_flex,
    gradients_of_sums,
    gradients_of_taking_in_f16 needs [needs::F16],
    gathers_pages_under_every_policy,
    gathers_pages_that_hold_keys_and_values,
    gradients_of_pages,
    between_fused_chains,
    names_the_first_offence,
    refuses_bad_arguments,
}

/// Places of an index of any rank.
#[derive(Clone)]
struct Places {
    shape: Vec<usize>,
    values: Vec<i64>,
}

impl Places {
    /// Places in and out of range of an axis of 5.
    fn wild(shape: &[usize]) -> Self {
        let count = shape.iter().product();
        let place = |n: usize| (n as i64 * 7) % 11 - 3;
        Self {
            shape: shape.to_vec(),
            values: (0..count).map(place).collect(),
        }
    }

    fn on<const D: usize>(&self, device: &Device) -> Tensor<D, Int> {
        let values: Vec<i32> = self.values.iter().map(|&place| place as i32).collect();
        Tensor::from_data(TensorData::new(values, self.shape.clone()), device)
    }

    /// For each place the element of a table of that extent along the axis.
    fn targets(&self, axis: usize, extent: usize, bounds: Bounds) -> Vec<Option<usize>> {
        let inner: usize = self.shape[axis + 1..].iter().product();
        let along = self.shape[axis];
        let target = |(n, &place): (usize, &i64)| {
            let slice = resolve(place, extent, bounds)?;
            Some((n / inner / along * extent + slice) * inner + n % inner)
        };
        self.values.iter().enumerate().map(target).collect()
    }
}

fn taken(table: &Host, axis: usize, places: &Places, bounds: Bounds) -> Host {
    let targets = places.targets(axis, table.shape[axis], bounds);
    let value = |target: Option<usize>| target.map_or(0.0, |target| table.values[target]);
    Host {
        shape: places.shape.clone(),
        values: targets.into_iter().map(value).collect(),
    }
}

fn sums(updates: &Host, axis: usize, places: &Places, extent: usize, bounds: Bounds) -> Host {
    let mut shape = updates.shape.clone();
    shape[axis] = extent;
    let mut sums = Host::zeros(&shape);
    let targets = places.targets(axis, extent, bounds);
    for (target, value) in targets.into_iter().zip(&updates.values) {
        if let Some(target) = target {
            sums.values[target] += value;
        }
    }
    sums
}

/// Shapes of a table with 5 elements along each axis in turn, and of indices with 7.
fn shapes() -> [([usize; 3], [usize; 3]); 3] {
    [
        ([5, 2, 4], [7, 2, 4]),
        ([2, 5, 4], [2, 7, 4]),
        ([2, 4, 5], [2, 4, 7]),
    ]
}

fn takes_along_every_axis_under_every_policy(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (axis, (shape, index)) in shapes().into_iter().enumerate() {
        let (table, places) = (Host::sample(&shape, 60), Places::wild(&index));
        for bounds in POLICIES {
            let index = places.on::<3>(&device);
            let got = take_along_axis(floats::<3>(&table, &device), axis, index, bounds)?;
            assert_equals(got.into_inner(), &taken(&table, axis, &places, bounds));
        }
    }
    Ok(())
}

fn takes_from_views_and_by_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (table, places) = (Host::sample(&[5, 8], 61), Places::wild(&[7, 8]));
    let view = floats::<2>(&table.transpose(), &device).transpose();
    let turned = Host {
        shape: places.shape.clone(),
        values: places.values.iter().map(|&place| place as f64).collect(),
    };
    let by = ints::<2>(&turned.transpose(), &device).transpose();
    let got = take_along_axis(view, 0, by, Bounds::Wrap)?.into_inner();
    assert_equals(got, &taken(&table, 0, &places, Bounds::Wrap));
    Ok(())
}

fn takes_f16_and_integers(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (table, places) = (Host::sample(&[5, 8], 62), Places::wild(&[7, 8]));
    let half = floats::<2>(&table, &device).cast(DType::F16);
    let got = take_along_axis(half, 0, places.on(&device), Bounds::Mask)?.into_inner();
    assert_eq!(got.dtype(), DType::F16);
    assert_equals(got, &taken(&table, 0, &places, Bounds::Mask));
    let whole = table.map(|value| value * 4.0);
    let got = take_along_axis(
        ints::<2>(&whole, &device),
        0,
        places.on(&device),
        Bounds::Mask,
    )?;
    assert_equals(got.into_inner(), &taken(&whole, 0, &places, Bounds::Mask));
    Ok(())
}

fn sums_along_every_axis_under_every_policy(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (axis, (_, index)) in shapes().into_iter().enumerate() {
        let (updates, places) = (Host::sample(&index, 63), Places::wild(&index));
        for bounds in POLICIES {
            let index = places.on::<3>(&device);
            let got = sum_along_axis(floats::<3>(&updates, &device), axis, index, 5, bounds)?;
            assert_equals(got.into_inner(), &sums(&updates, axis, &places, 5, bounds));
        }
    }
    Ok(())
}

/// `sum(weights * (result + 1)^2)` on a device.
fn loss<const D: usize>(result: Tensor<D>, weights: &Host, device: &Device) -> Tensor<1> {
    total((result + 1.0).powi_scalar(2) * floats::<D>(weights, device))
}

/// The same on the host.
fn host_loss(result: &Host, weights: &Host) -> f64 {
    result
        .zip(weights, |result, weight| weight * (result + 1.0).powi(2))
        .sum()
}

fn gradients_of_taking(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    for (axis, (shape, index)) in shapes().into_iter().enumerate() {
        let (table, places) = (Host::sample(&shape, 64), Places::wild(&index));
        let weights = Host::sample(&index, 65);
        for bounds in POLICIES {
            let leaf = floats::<3>(&table, &device).require_grad();
            let got = take_along_axis(leaf.clone(), axis, places.on(&device), bounds)?;
            let gradients = loss(got.into_inner(), &weights, &device).backward();
            let want = finite_differences(&table, |table| {
                host_loss(&taken(table, axis, &places, bounds), &weights)
            });
            let got = leaf.grad(&gradients).expect("the table is a leaf");
            assert_matches(got, &want, TOLERANCE);
        }
    }
    Ok(())
}

fn gradients_of_taking_are_those_of_flex(rt: &Rt) -> Result<(), Error> {
    let places = Places {
        shape: vec![3, 4],
        values: vec![4, 0, 4, 1, 4, 2, 2, 2, 0, 0, 3, 4],
    };
    let (table, weights) = (Host::sample(&[5, 4], 66), Host::sample(&[3, 4], 67));
    let flex = Device::flex().autodiff();
    let leaf = floats::<2>(&table, &flex).require_grad();
    let own = leaf.clone().gather(0, places.on(&flex));
    let of_flex = leaf.grad(&loss(own, &weights, &flex).backward());
    let want = Host {
        shape: vec![5, 4],
        values: of_flex
            .expect("a leaf")
            .try_to_vec_as()
            .expect("on the host"),
    };
    let device = device(rt).autodiff();
    let leaf = floats::<2>(&table, &device).require_grad();
    let got = take_along_axis(leaf.clone(), 0, places.on(&device), Bounds::Assume)?.into_inner();
    let gradients = loss(got, &weights, &device).backward();
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    Ok(())
}

fn gradients_of_sums(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (updates, places) = (Host::sample(&[7, 4], 68), Places::wild(&[7, 4]));
    let weights = Host::sample(&[5, 4], 69);
    for bounds in POLICIES {
        let leaf = floats::<2>(&updates, &device).require_grad();
        let got = sum_along_axis(leaf.clone(), 0, places.on(&device), 5, bounds)?.into_inner();
        let gradients = loss(got, &weights, &device).backward();
        let want = finite_differences(&updates, |updates| {
            host_loss(&sums(updates, 0, &places, 5, bounds), &weights)
        });
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    }
    Ok(())
}

fn gradients_of_taking_in_f16(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (table, places) = (Host::sample(&[5, 8], 70), Places::wild(&[7, 8]));
    let leaf = floats::<2>(&table, &device).cast(DType::F16).require_grad();
    let got = take_along_axis(leaf.clone(), 0, places.on(&device), Bounds::Mask)?.into_inner();
    let gradients = total(got.mul_scalar(0.5)).backward();
    // Halves for each copy: exact in f16.
    let halves = Host::zeros(&[7, 8]).map(|_| 0.5);
    let got = leaf.grad(&gradients).expect("the table is a leaf");
    assert_eq!(got.dtype(), DType::F16);
    assert_matches(got, &sums(&halves, 0, &places, 5, Bounds::Mask), 0.0);
    Ok(())
}

/// Sequences of 4, 0, 5 and 1 rows in pages of 2.
const OFFSETS: [i32; 5] = [0, 4, 4, 9, 10];
/// Entries that no row needs are no pages.
const TABLE: [i64; 12] = [2, 0, -9, 99, 99, 99, 5, -1, 4, 2, 77, 77];
/// The rows there are, and two more.
const ROWS: usize = 12;

fn table(device: &Device) -> Tensor<2, Int> {
    let places = Places {
        shape: vec![4, 3],
        values: TABLE.to_vec(),
    };
    places.on(device)
}

fn offsets(device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(OFFSETS.to_vec(), [5]), device)
}

/// The rows of pages `[5, 2, width]`.
fn paged(pages: &Host, bounds: Bounds) -> Host {
    let width = pages.shape[2];
    let mut rows = Host::zeros(&[ROWS, width]);
    for sequence in 0..4 {
        let [first, end] = [OFFSETS[sequence], OFFSETS[sequence + 1]].map(|at| at as usize);
        for row in first..end {
            let position = row - first;
            let entry = TABLE[sequence * 3 + position / 2];
            if let Some(page) = resolve(entry, pages.shape[0], bounds) {
                let from = (page * 2 + position % 2) * width;
                rows.values[row * width..][..width].copy_from_slice(&pages.values[from..][..width]);
            }
        }
    }
    rows
}

fn gathers_pages_under_every_policy(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for width in [1, 8] {
        let pages = Host::sample(&[5, 2, width], 71);
        for bounds in POLICIES {
            let on = floats::<3>(&pages, &device);
            let got = paged_gather::<3, 2, _>(on, table(&device), offsets(&device), ROWS, bounds)?;
            assert_equals(got.into_inner(), &paged(&pages, bounds));
        }
    }
    let whole = Host::sample(&[5, 2, 4], 72).map(|value| value * 4.0);
    let on = ints::<3>(&whole, &device);
    let got = paged_gather::<3, 2, _>(on, table(&device), offsets(&device), ROWS, Bounds::Mask)?;
    assert_equals(got.into_inner(), &paged(&whole, Bounds::Mask));
    Ok(())
}

fn gathers_pages_that_hold_keys_and_values(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let cache = Host::sample(&[5, 2, 2, 8], 73);
    for half in 0..2 {
        let own = |page: usize| &cache.values[(page * 2 + half) * 16..][..16];
        let pages = Host {
            shape: vec![5, 2, 8],
            values: (0..5).flat_map(|page| own(page).to_vec()).collect(),
        };
        let view = floats::<4>(&cache, &device).slice([0..5, half..half + 1, 0..2, 0..8]);
        let got = paged_gather::<3, 2, _>(
            view.reshape([5, 2, 8]),
            table(&device),
            offsets(&device),
            ROWS,
            Bounds::Wrap,
        )?;
        assert_equals(got.into_inner(), &paged(&pages, Bounds::Wrap));
    }
    Ok(())
}

fn gradients_of_pages(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (pages, weights) = (Host::sample(&[5, 2, 3], 74), Host::sample(&[ROWS, 3], 75));
    for bounds in POLICIES {
        let leaf = floats::<3>(&pages, &device).require_grad();
        let (table, offsets) = (table(&device), offsets(&device));
        let got = paged_gather::<3, 2, _>(leaf.clone(), table, offsets, ROWS, bounds)?.into_inner();
        let gradients = loss(got, &weights, &device).backward();
        let want = finite_differences(&pages, |pages| host_loss(&paged(pages, bounds), &weights));
        let got = leaf.grad(&gradients).expect("the pages are a leaf");
        assert_matches(got, &want, TOLERANCE);
    }
    Ok(())
}

fn between_fused_chains(rt: &Rt) -> Result<(), Error> {
    let plain = device(rt);
    for device in [plain.clone(), plain.autodiff()] {
        let (values, places) = (Host::sample(&[5, 8], 76), Places::wild(&[7, 8]));
        let produced = (floats::<2>(&values, &device) * 0.1 + 1.0).tanh();
        let got = take_along_axis(produced, 0, places.on(&device), Bounds::Wrap)?.into_inner();
        let got = (got * 2.0 + 0.5).exp();
        let produced = values.map(|value| (value * 0.1 + 1.0).tanh());
        let want =
            taken(&produced, 0, &places, Bounds::Wrap).map(|value| (value * 2.0 + 0.5).exp());
        assert_matches(got, &want, 1e-4);
    }
    Ok(())
}

/// The offence that an op's error names.
#[track_caller]
fn offence<T: std::fmt::Debug>(result: Result<T, Error>) -> Offence {
    match result {
        Err(Error::Kernel(girih::Error::OutOfRange(offence))) => offence,
        other => panic!("no offence was reported: {other:?}"),
    }
}

fn names_the_first_offence(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let places = Places {
        shape: vec![2, 4],
        values: vec![0, 1, 2, 0, 1, 5, 0, -1],
    };
    let values = floats::<2>(&Host::sample(&[3, 4], 77), &device);
    let got = take_along_axis(values, 0, places.on(&device), Bounds::Report)?.check();
    let want = Offence {
        position: 5,
        index: 5,
        axis: 0,
        extent: 3,
    };
    assert_eq!(offence(got), want);
    let pages = floats::<3>(&Host::sample(&[5, 2, 4], 78), &device);
    let (by, at) = (table(&device), offsets(&device));
    let got = paged_gather::<3, 2, _>(pages, by, at, ROWS, Bounds::Report)?.check();
    let want = Offence {
        position: 6,
        index: 5,
        axis: 0,
        extent: 5,
    };
    assert_eq!(offence(got), want);
    Ok(())
}

fn refuses_bad_arguments(rt: &Rt) {
    let device = device(rt);
    let values = || floats::<2>(&Host::sample(&[3, 4], 79), &device);
    let refusal = |axis, places: Places| {
        let index = places.on::<2>(&device);
        match take_along_axis(values(), axis, index, Bounds::Mask) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(refusal(0, Places::wild(&[2, 4])), "accepted");
    assert_eq!(
        refusal(0, Places::wild(&[2, 3])),
        "index has shape [2, 3]; take_along_axis needs [2, 4]"
    );
    assert_eq!(
        refusal(2, Places::wild(&[2, 4])),
        "axis 2 of table, which has rank 2; take_along_axis needs an axis in 0..2"
    );
    let pages = floats::<3>(&Host::sample(&[5, 2, 4], 80), &device);
    let (by, at) = (table(&device), offsets(&device));
    let wrong = paged_gather::<3, 3, _>(pages.clone(), by.clone(), at.clone(), ROWS, Bounds::Mask);
    let text = wrong.map(|_| ()).expect_err("the rank is 3").to_string();
    assert!(text.starts_with("the result has rank 3"), "{text}");
    let short = at.narrow(0, 0, 3);
    let wrong = paged_gather::<3, 2, _>(pages, by, short, ROWS, Bounds::Mask);
    let text = wrong
        .map(|_| ())
        .expect_err("offsets are missing")
        .to_string();
    assert_eq!(text, "offsets has shape [3]; paged_gather needs [5]");
}
