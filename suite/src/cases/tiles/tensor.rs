//! Products added to tiles that are held for them: by matrix instructions where the device has them, by plain units elsewhere.

use cubecl::prelude::*;
use cubecl::tf32;
use girih::device::Device;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases, check::Exact, check::same, needs};
use half::{bf16, f16};

use super::model::{By, ONE_CUBE, group_of};

cases! {
    halves needs [needs::F16],
    brain_floats needs [needs::BF16],
    floats,
    floats_as_tf32,
    signed_bytes needs [needs::I8],
    unsigned_bytes needs [needs::U8],
    bytes_of_either_sign needs [needs::I8, needs::U8],
    halves_are_added_as_floats needs [needs::F16],
    floats_are_rounded_where_it_is_asked_alone,
    a_loop_over_tiles needs [needs::F16],
    sums_are_shared_and_reduced,
    vectors_of_two,
    vectors_of_four_are_refused,
    other_factors_are_refused,
    other_holders_are_refused,
}

/// Each group adds the product of its tiles to what it has, twice; `T` is what it holds the sums for.
#[cube(launch_unchecked)]
pub(super) fn twice<E: Numeric, F: Numeric, G: Numeric, T: Scalar, M: Size, N: Size, K: Size>(
    a: &Tensor<F>,
    b: &Tensor<G>,
    before: &Tensor<E>,
    c: &mut Tensor<E>,
    #[comptime] by: By,
    #[comptime] size: u32,
) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let a = TileView::<F, (M, K)>::of(a)
        .load(&group, (at, 0))
        .share(&group);
    let b = TileView::<G, (K, N)>::of(b)
        .load(&group, (at, 0))
        .share(&group);
    let before = TileView::<E, (M, N)>::of(before).load(&group, (at, 0));
    let mut sum = before.hold_products::<T>(&group);
    sum.mma(&group, &a, &b);
    sum.mma(&group, &a, &b);
    // Element by element, with a tile that is loaded where it is used.
    TileViewMut::<E, (M, N)>::of(c).store(&group, sum + &before, (at, 0));
}

/// A group of each kind, its units, and the extents of its tiles: rows, columns, and what is summed over.
fn parties(rt: &Rt) -> Vec<(By, u32, [usize; 3])> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let units = rt.units.min(4 * plane);
    let lanes = plane.min(4);
    vec![
        // Whole instructions: one for each plane, several, and fewer than planes.
        (By::Cube, units, [32, 16, 32]),
        (By::Cube, units, [48, 40, 64]),
        (By::Cube, units, [16, 8, 32]),
        (By::Plane, plane, [16, 24, 32]),
        // A rest along K, less than an instruction takes, and none.
        (By::Cube, units, [32, 16, 45]),
        (By::Plane, plane, [16, 8, 7]),
        (By::Cube, units, [32, 16, 0]),
        // Extents that no instruction has, and lanes.
        (By::Cube, units, [24, 12, 32]),
        (By::Cube, units, [5, 3, 9]),
        (By::Lanes(lanes), lanes, [16, 8, 32]),
    ]
}

/// The host's factors, whose products and sums every type here holds.
fn factor(at: usize, salt: usize, least: i64) -> i64 {
    least + ((at * 37 + salt) % 11) as i64
}

struct Types<E, F, G> {
    left: fn(i64) -> F,
    right: fn(i64) -> G,
    sum: fn(i64) -> E,
    /// The least factors.
    least: [i64; 2],
}

impl<F> Types<f32, F, F> {
    /// Factors of a float, by the conversion to it; their sums are floats.
    fn of(factor: fn(i64) -> F) -> Self {
        Self {
            left: factor,
            right: factor,
            sum: |value| value as f32,
            least: [-5, -6],
        }
    }
}

fn products<E, F, G, H>(rt: &Rt, types: &Types<E, F, G>) -> Result<(), String>
where
    E: Numeric + CubeElement + Exact,
    F: Numeric + CubeElement,
    G: Numeric + CubeElement,
    H: Numeric,
{
    for (by, size, [rows, columns, inner]) in parties(rt) {
        let plane = rt.client.properties().hardware.plane_size_max;
        let units = rt.units.min(4 * plane);
        let groups = (units / size) as usize;
        let [of_left, of_right] = types.least;
        let left: Vec<i64> = (0..rows * inner * groups)
            .map(|at| factor(at, 3, of_left))
            .collect();
        let right: Vec<i64> = (0..inner * columns * groups)
            .map(|at| factor(at, 5, of_right))
            .collect();
        let before: Vec<i64> = (0..rows * columns * groups)
            .map(|at| factor(at, 7, 0))
            .collect();
        let a: Vec<F> = left.iter().map(|&value| (types.left)(value)).collect();
        let b: Vec<G> = right.iter().map(|&value| (types.right)(value)).collect();
        let sums: Vec<E> = before.iter().map(|&value| (types.sum)(value)).collect();
        let a = rt.put_tensor(&a, &[rows * groups, inner]);
        let b = rt.put_tensor(&b, &[inner * groups, columns]);
        let sums = rt.put_tensor(&sums, &[rows * groups, columns]);
        let c = rt.poisoned_tensor::<E>(&[rows * groups, columns], &[columns, 1]);
        // SAFETY: the tiles cover the tensors.
        unsafe {
            twice::launch_unchecked::<E, F, G, H>(
                &rt.client,
                ONE_CUBE,
                CubeDim::new_1d(units),
                rows,
                columns,
                inner,
                a.arg(),
                b.arg(),
                sums.arg(),
                c.arg(),
                by,
                size,
            );
        }
        let got = rt.read_tensor(&c).map_err(|error| error.to_string())?;
        let mut want = vec![];
        for row in 0..rows * groups {
            for column in 0..columns {
                let first = row / rows * inner;
                let terms = (0..inner)
                    .map(|k| left[row * inner + k] * right[(first + k) * columns + column]);
                let so_far = before[row * columns + column];
                want.push((types.sum)(2 * so_far + 2 * terms.sum::<i64>()));
            }
        }
        same(&got, &want).map_err(|error| {
            format!("{rows} x {columns} of {inner} by {by:?} of {size}: {error}")
        })?;
    }
    Ok(())
}

fn halves(rt: &Rt) -> Result<(), String> {
    let types = Types::of(|value| f16::from_f64(value as f64));
    products::<f32, f16, f16, f16>(rt, &types)
}

fn brain_floats(rt: &Rt) -> Result<(), String> {
    let types = Types::of(|value| bf16::from_f64(value as f64));
    products::<f32, bf16, bf16, bf16>(rt, &types)
}

fn floats(rt: &Rt) -> Result<(), String> {
    products::<f32, f32, f32, f32>(rt, &Types::of(|value| value as f32))
}

fn floats_as_tf32(rt: &Rt) -> Result<(), String> {
    products::<f32, f32, f32, tf32>(rt, &Types::of(|value| value as f32))
}

fn signed_bytes(rt: &Rt) -> Result<(), String> {
    let byte = |value| value as i8;
    let types = Types {
        left: byte,
        right: byte,
        sum: |value| value as i32,
        least: [-128, 117],
    };
    products::<i32, i8, i8, i8>(rt, &types)
}

fn unsigned_bytes(rt: &Rt) -> Result<(), String> {
    let byte = |value| value as u8;
    let types = Types {
        left: byte,
        right: byte,
        sum: |value| value as i32,
        least: [0, 245],
    };
    products::<i32, u8, u8, u8>(rt, &types)
}

fn bytes_of_either_sign(rt: &Rt) -> Result<(), String> {
    let types = Types {
        left: |value| value as i8,
        right: |value| value as u8,
        sum: |value| value as i32,
        least: [-128, 245],
    };
    products::<i32, i8, u8, i8>(rt, &types)
}

/// What a group of all units makes of one value in all of `a` and one in all of `b`, summed over 32.
fn of_constants<F, H>(rt: &Rt, a: F, b: F) -> Result<Vec<f32>, Error>
where
    F: Numeric + CubeElement,
    H: Numeric,
{
    let a = rt.put_tensor(&[a; 16 * 32], &[16, 32]);
    let b = rt.put_tensor(&[b; 32 * 8], &[32, 8]);
    let before = rt.put_tensor(&[0f32; 16 * 8], &[16, 8]);
    let c = rt.poisoned_tensor::<f32>(&[16, 8], &[8, 1]);
    let units = rt
        .units
        .min(rt.client.properties().hardware.plane_size_max * 4);
    // SAFETY: the tiles cover the tensors.
    unsafe {
        twice::launch_unchecked::<f32, F, F, H>(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_1d(units),
            16,
            8,
            32,
            a.arg(),
            b.arg(),
            before.arg(),
            c.arg(),
            By::Cube,
            units,
        );
    }
    rt.read_tensor(&c)
}

fn halves_are_added_as_floats(rt: &Rt) -> Result<(), String> {
    // No half holds one of the products, which are 2047 times 2^20, and none 17 bits, which the sums have.
    let (a, b) = (f16::from_f32(32768.0), f16::MAX);
    let got = of_constants::<f16, f16>(rt, a, b).map_err(|error| error.to_string())?;
    same(&got, &[64.0 * 32768.0 * 65504.0; 16 * 8])
}

fn floats_are_rounded_where_it_is_asked_alone(rt: &Rt) -> Result<(), String> {
    // The 10 bits of tf32 have not the last one.
    let fine = 1.0 + f32::powi(2.0, -12);
    let device = Device::of(&rt.client);
    let rounds = device.multiplies_matrices(tf32::elem_type_native(), f32::elem_type_native());
    let asked = of_constants::<f32, tf32>(rt, fine, 1.0).map_err(|error| error.to_string())?;
    same(&asked, &[if rounds { 64.0 } else { 64.0 * fine }; 16 * 8])?;
    let exact = of_constants::<f32, f32>(rt, fine, 1.0).map_err(|error| error.to_string())?;
    same(&exact, &[64.0 * fine; 16 * 8])
}

/// c = max(a b, 0), a tile for each cube.
#[cube(launch_unchecked)]
pub(super) fn product<E: Numeric, F: Numeric, T: Size, K: Size>(
    a: &Tensor<F>,
    b: &Tensor<F>,
    c: &mut Tensor<E>,
) {
    let cube = this_cube();
    let steps = a.shape(1).div_ceil(K::value());
    let (row, column) = (CUBE_POS_X, CUBE_POS_Y);
    let a = TileView::<F, (T, K)>::of(a);
    let b = TileView::<F, (K, T)>::of(b);
    let mut sum = Tile::<E, (T, T)>::zeros().hold_products::<F>(&cube);
    for step in 0..steps {
        let left = a.load_masked(&cube, Zero, (row, step)).share(&cube);
        let right = b.load_masked(&cube, Zero, (step, column)).share(&cube);
        sum.mma(&cube, &left, &right);
    }
    let sum = sum.maximum(E::from_int(0));
    TileViewMut::<E, (T, T)>::of(c).store_masked(&cube, sum, (row, column));
}

fn a_loop_over_tiles(rt: &Rt) -> Result<(), String> {
    for [rows, columns, inner] in [[64, 64, 64], [70, 40, 50], [5, 3, 100], [64, 64, 0]] {
        let left: Vec<i64> = (0..rows * inner).map(|at| factor(at, 3, -5)).collect();
        let right: Vec<i64> = (0..inner * columns).map(|at| factor(at, 5, -6)).collect();
        let half = |values: &[i64]| -> Vec<f16> {
            values
                .iter()
                .map(|&value| f16::from_f64(value as f64))
                .collect()
        };
        let a = rt.put_tensor(&half(&left), &[rows, inner]);
        let b = rt.put_tensor(&half(&right), &[inner, columns]);
        let c = rt.poisoned_tensor::<f32>(&[rows, columns], &[columns, 1]);
        let cubes = CubeCount::new_2d(rows.div_ceil(64) as u32, columns.div_ceil(64) as u32);
        // SAFETY: loads and stores are masked.
        unsafe {
            product::launch_unchecked::<f32, f16>(
                &rt.client,
                cubes,
                CubeDim::new_1d(rt.units.min(128)),
                64,
                32,
                a.arg(),
                b.arg(),
                c.arg(),
            );
        }
        let got = rt.read_tensor(&c).map_err(|error| error.to_string())?;
        let mut want = vec![];
        for row in 0..rows {
            for column in 0..columns {
                let terms = (0..inner).map(|k| left[row * inner + k] * right[k * columns + column]);
                want.push(terms.sum::<i64>().max(0) as f32);
            }
        }
        same(&got, &want).map_err(|error| format!("{rows} x {columns} of {inner}: {error}"))?;
    }
    Ok(())
}

/// The transpose of a product, and its largest elements by row.
#[cube(launch_unchecked)]
fn turned(transposed: &mut Tensor<i32>, largest: &mut [i32]) {
    let cube = this_cube();
    let a = Tile::<i32, shape![16, 32]>::iota() % 7;
    let b = Tile::<i32, shape![32, 8]>::iota() % 5;
    let mut sum = Tile::<i32, shape![16, 8]>::zeros().hold_products::<i32>(&cube);
    sum.mma(&cube, &a, &b);
    let most = sum.max::<1>(&cube).reshape::<shape![16]>();
    TileViewMut::<i32, shape![16]>::of(largest).store(&cube, most, 0);
    // What is held so is held so again.
    let again = (&sum - 1).hold_products::<i32>(&cube);
    let turned = again.share(&cube).transpose();
    TileViewMut::<i32, shape![8, 16]>::of(transposed).store(&cube, turned, (0, 0));
}

fn sums_are_shared_and_reduced(rt: &Rt) -> Result<(), String> {
    let transposed = rt.poisoned_tensor::<i32>(&[8, 16], &[16, 1]);
    let largest = rt.poisoned::<i32>(16);
    // SAFETY: the tiles cover the tensors.
    unsafe {
        turned::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_1d(rt.units.min(64)),
            transposed.arg(),
            largest.arg(),
        );
    }
    let product = |row: i32, column: i32| -> i32 {
        (0..32)
            .map(|k| (row * 32 + k) % 7 * ((k * 8 + column) % 5))
            .sum()
    };
    let want: Vec<i32> = (0..128).map(|at| product(at % 16, at / 16) - 1).collect();
    let got = rt
        .read_tensor(&transposed)
        .map_err(|error| error.to_string())?;
    same(&got, &want)?;
    let want: Vec<i32> = (0..16)
        .filter_map(|row| (0..8).map(|column| product(row, column)).max())
        .collect();
    same(
        &rt.read(&largest).map_err(|error| error.to_string())?,
        &want,
    )
}

/// Sums from and to memory of vectors.
#[cube(launch_unchecked)]
fn of_vectors<V: Size>(before: &Tensor<Vector<f32, V>>, c: &mut Tensor<Vector<f32, V>>) {
    let cube = this_cube();
    let a = Tile::<f32, shape![16, 32]>::iota() * 0.0 + 1.0;
    let b = Tile::<f32, shape![32, 8]>::iota_along::<1>();
    let before = TileView::<f32, shape![16, 8]>::of(before).load(&cube, (0, 0));
    let mut sum = before.hold_products::<tf32>(&cube);
    sum.mma(&cube, &a, &b);
    TileViewMut::<f32, shape![16, 8]>::of(c).store(&cube, sum, (0, 0));
}

fn sums_of_vectors(rt: &Rt, width: usize) -> Result<Vec<f32>, Error> {
    let before: Vec<f32> = (0..128).map(|at| at as f32).collect();
    let before = rt.put_tensor(&before, &[16, 8]);
    let c = rt.poisoned_tensor::<f32>(&[16, 8], &[8, 1]);
    // SAFETY: the tiles cover the tensors.
    unsafe {
        of_vectors::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_1d(rt.units.min(64)),
            width,
            before.arg(),
            c.arg(),
        );
    }
    rt.read_tensor(&c)
}

fn vectors_of_two(rt: &Rt) -> Result<(), String> {
    let want: Vec<f32> = (0..128).map(|at| (at + at % 8 * 32) as f32).collect();
    for width in [1, 2] {
        let got = sums_of_vectors(rt, width).map_err(|error| error.to_string())?;
        same(&got, &want).map_err(|error| format!("vectors of {width}: {error}"))?;
    }
    Ok(())
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, text: &str) {
    match result {
        Err(Error::Kernel { reason, .. }) => {
            assert!(reason.contains(text), "`{text}` is not in: {reason}")
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn vectors_of_four_are_refused(rt: &Rt) {
    let text = "held for products, in packets of 2 elements, stored to vectors of 4";
    assert_refused(sums_of_vectors(rt, 4), text);
}

#[cube(launch_unchecked)]
fn of_other_factors<F: Numeric, G: Numeric, T: Scalar>(out: &mut [F]) {
    let cube = this_cube();
    let a = Tile::<F, shape![16, 32]>::iota();
    let b = Tile::<G, shape![32, 8]>::iota();
    let mut sum = Tile::<F, shape![16, 8]>::zeros().hold_products::<T>(&cube);
    sum.mma(&cube, &a, &b);
    TileViewMut::<F, shape![128]>::of(out).store(&cube, sum.share(&cube).reshape(), 0);
}

fn other_factors_are_refused(rt: &Rt) {
    let refused = |text: &str, out: &girih_testkit::Buffer<u32>| assert_refused(rt.read(out), text);
    let units = CubeDim::new_1d(rt.units.min(64));
    let out = rt.put(&[0u32; 128]);
    // SAFETY: the kernels do not compile.
    unsafe {
        of_other_factors::launch_unchecked::<u32, i32, u32>(&rt.client, ONE_CUBE, units, out.arg());
    }
    refused(
        "a factor of i32, and a sum that is held for products of u32",
        &out,
    );
    // SAFETY: as above.
    unsafe {
        of_other_factors::launch_unchecked::<u32, u32, tf32>(
            &rt.client,
            ONE_CUBE,
            units,
            out.arg(),
        );
    }
    refused(
        "a factor of u32, and a sum that is held for products of tf32",
        &out,
    );
}

#[cube(launch_unchecked)]
fn of_other_holders(out: &mut Tensor<u32>) {
    let cube = this_cube();
    let sum = Tile::<u32, shape![16, 8]>::zeros().hold_products::<u32>(&cube);
    let other = Tile::<u32, shape![16, 8]>::iota().hold(&cube);
    TileViewMut::<u32, shape![16, 8]>::of(out).store(&cube, sum + other, (0, 0));
}

fn other_holders_are_refused(rt: &Rt) {
    let out = rt.put_tensor(&[0u32; 128], &[16, 8]);
    // SAFETY: the kernel does not compile.
    unsafe {
        of_other_holders::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_1d(rt.units.min(64)),
            out.arg(),
        );
    }
    assert_refused(
        rt.read_tensor(&out),
        "a tile that is held for products and one that is not",
    );
}
