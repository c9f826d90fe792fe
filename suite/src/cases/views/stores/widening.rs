//! Stores of elements as wider ones.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases, check::Exact, needs};
use half::{bf16, f16};

use super::ONE_CUBE;

cases! {
    widens_to_32_bits,
    widens_bytes needs [needs::I8, needs::U8],
    widens_halves needs [needs::F16],
    widens_bf16 needs [needs::BF16],
    widens_to_64_bits needs [needs::I64, needs::F64],
}

macro_rules! widens {
    ($($kernel:ident: $from:ty => $to:ty;)*) => {$(
        #[cube(launch_unchecked)]
        fn $kernel(x: &[$from], out: &mut [$to]) {
            let cube = this_cube();
            let tile = TileView::<$from, shape![6]>::of(x).load(&cube, 0);
            let mut view = TileViewMut::<$to, shape![6]>::of(out);
            let stored = view.store(&cube, tile, 0);
            view.store(&cube, stored, 1);
        }
    )*};
}

widens! {
    u16_of_u8: u8 => u16;
    i32_of_i8: i8 => i32;
    f32_of_u8: u8 => f32;
    f32_of_i8: i8 => f32;
    f32_of_f16: f16 => f32;
    f32_of_bf16: bf16 => f32;
    i64_of_i32: i32 => i64;
    i64_of_u32: u32 => i64;
    f64_of_f32: f32 => f64;
    f64_of_i32: i32 => f64;
    u32_of_u32: u32 => u32;
}

macro_rules! same_of {
    ($rt:ident, $kernel:ident, $to:ty, $values:expr, $convert:expr) => {{
        let values = $values;
        let convert = $convert;
        let want: Vec<$to> = values
            .iter()
            .chain(&values)
            .map(|&value| convert(value))
            .collect();
        let (x, out) = ($rt.put(&values), $rt.poisoned::<$to>(12));
        // SAFETY: the tile covers `x`, two of it `out`.
        unsafe {
            $kernel::launch_unchecked(&$rt.client, ONE_CUBE, $rt.cube_dim(), x.arg(), out.arg());
        }
        let got = $rt.read(&out)?;
        let alike = got.iter().zip(&want).all(|(got, want)| got.same(*want));
        assert!(alike, "{}: {got:?}, not {want:?}", stringify!($kernel));
    }};
}

fn widens_to_32_bits(rt: &Rt) -> Result<(), Error> {
    same_of!(
        rt,
        u32_of_u32,
        u32,
        [0u32, 1, 2, 3, u32::MAX, 7],
        |value: u32| value
    );
    Ok(())
}

fn widens_bytes(rt: &Rt) -> Result<(), Error> {
    let bytes = [0u8, 1, 127, 128, 254, 255];
    let signed = [0i8, 1, 127, -128, -1, -2];
    same_of!(rt, i32_of_i8, i32, signed, i32::from);
    same_of!(rt, f32_of_u8, f32, bytes, f32::from);
    same_of!(rt, f32_of_i8, f32, signed, f32::from);
    same_of!(rt, u16_of_u8, u16, bytes, u16::from);
    Ok(())
}

fn widens_halves(rt: &Rt) -> Result<(), Error> {
    let values = [
        f16::NEG_ZERO,
        f16::MAX,
        f16::MIN_POSITIVE,
        f16::NAN,
        f16::NEG_INFINITY,
        f16::from_f32(-1.5),
    ];
    same_of!(rt, f32_of_f16, f32, values, f32::from);
    Ok(())
}

fn widens_bf16(rt: &Rt) -> Result<(), Error> {
    let values = [
        bf16::NEG_ZERO,
        bf16::MAX,
        bf16::MIN_POSITIVE,
        bf16::NAN,
        bf16::NEG_INFINITY,
        bf16::from_f32(-1.5),
    ];
    same_of!(rt, f32_of_bf16, f32, values, f32::from);
    Ok(())
}

fn widens_to_64_bits(rt: &Rt) -> Result<(), Error> {
    let signed = [0, 1, -1, i32::MAX, i32::MIN, 77];
    same_of!(rt, i64_of_i32, i64, signed, i64::from);
    same_of!(
        rt,
        i64_of_u32,
        i64,
        [0, 1, u32::MAX, 1 << 31, 5, 6],
        i64::from
    );
    same_of!(rt, f64_of_i32, f64, signed, f64::from);
    let floats = [
        0.1f32,
        -0.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
    ];
    same_of!(rt, f64_of_f32, f64, floats, f64::from);
    Ok(())
}
