//! `sort`, `sort_pairs` and `argsort` against the host's stable sort.

mod paths;
mod payload;
mod properties;
mod shapes;
mod types;

use super::keys::Key;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Error;
use girih_kernels::{SortOptions, SortPath, sort, sort_path};
use girih_testkit::{
    DeviceKind, Rt,
    case::{Case, Need},
};
use std::cmp::Reverse;

/// Every case of sorts.
pub fn cases() -> Vec<Case> {
    [
        paths::cases(),
        payload::cases(),
        properties::cases(),
        shapes::cases(),
        types::cases(),
    ]
    .concat()
}

/// Cubes that go on while others wait for them.
pub(super) const WAITS: Need = Need {
    what: "cubes that go on while others wait for them",
    met: |rt| matches!(rt.kind, DeviceKind::Cuda | DeviceKind::Cpu),
};

/// The paths that the device can go with rows of so many keys. Each costs compilations for every type, so that the path which
/// CUDA never chooses is gone there with u32 and f32 alone, and the one that the CPU never chooses with four types.
fn paths<E: Key>(rt: &Rt, payload: Option<ElemType>, [rows, len]: [usize; 2]) -> Vec<SortPath> {
    let all = [
        SortPath::OneCube,
        SortPath::OneSweep,
        SortPath::AtOnce,
        SortPath::ThreeKernels,
    ];
    let is_rare = ![u32::cube_type(), f32::cube_type()].contains(&E::cube_type());
    let is_rarest = is_rare && ![i32::cube_type(), u64::cube_type()].contains(&E::cube_type());
    let is_cuda = rt.kind == DeviceKind::Cuda;
    let is_cpu = rt.kind == DeviceKind::Cpu;
    all.into_iter()
        .filter(|&path| path != SortPath::ThreeKernels || !(is_cuda && is_rare))
        .filter(|path| {
            let waits = matches!(path, SortPath::OneSweep | SortPath::AtOnce);
            !(waits && is_cpu && is_rarest)
        })
        .filter(|&path| {
            let options = SortOptions {
                path: Some(path),
                ..SortOptions::default()
            };
            sort_path(&rt.client, E::cube_type(), payload, [rows, len], &options).is_ok()
        })
        .collect()
}

pub(super) fn tensor<E: Key>(rt: &Rt, values: &[E], shape: &[usize]) -> TensorHandle {
    TensorHandle::new_contiguous(shape.to_vec(), rt.put(values).handle(), E::cube_type())
}

pub(super) fn read<E: CubeElement>(rt: &Rt, tensor: TensorHandle) -> Result<Vec<E>, String> {
    let count: usize = tensor.shape().iter().product();
    let bytes = rt
        .client
        .read_one(tensor.handle)
        .map_err(|error| error.to_string())?;
    Ok(E::from_bytes(&bytes)[..count].to_vec())
}

/// The places of the keys of a row in the order asked for.
fn order<E: Key>(keys: &[E], options: &SortOptions) -> Vec<usize> {
    let bits = options.bits.clone().unwrap_or(0..E::BITS);
    let digits = |key: &E| {
        let count = bits.end - bits.start;
        match count {
            0 => 0,
            _ => (key.place() >> bits.start) & (u128::MAX >> (128 - count)),
        }
    };
    let mut places: Vec<usize> = (0..keys.len()).collect();
    match options.descending {
        false => places.sort_by_key(|&place| digits(&keys[place])),
        true => places.sort_by_key(|&place| Reverse(digits(&keys[place]))),
    }
    places
}

/// Sorts on the device by every path that it has, and compares bit by bit.
fn sorted<E: Key>(rt: &Rt, keys: &[E], options: &SortOptions) -> Result<(), String> {
    sorted_there(rt, &tensor(rt, keys, &[keys.len()]), keys, options)
}

/// The same of keys that are already there.
fn sorted_there<E: Key>(
    rt: &Rt,
    input: &TensorHandle,
    keys: &[E],
    options: &SortOptions,
) -> Result<(), String> {
    let want: Vec<u128> = order(keys, options)
        .into_iter()
        .map(|place| keys[place].bits())
        .collect();
    for path in paths::<E>(rt, None, [1, keys.len()]) {
        let options = SortOptions {
            path: Some(path),
            ..options.clone()
        };
        let out = sort(&rt.client, input, 0, &options).map_err(|error| error.to_string())?;
        let got: Vec<u128> = read::<E>(rt, out)?.into_iter().map(Key::bits).collect();
        compare(&got, &want)
            .map_err(|error| format!("{} keys by {options:?}: {error}", keys.len()))?;
    }
    Ok(())
}

fn compare<T: PartialEq + std::fmt::Debug>(got: &[T], want: &[T]) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements, not {}", got.len(), want.len()));
    }
    match (0..got.len()).find(|&at| got[at] != want[at]) {
        None => Ok(()),
        Some(at) => Err(format!("element {at} is {:?}, not {:?}", got[at], want[at])),
    }
}

pub(super) fn text(error: Error) -> String {
    error.to_string()
}

pub(super) fn expect(got: Option<String>, want: &str) -> Result<(), String> {
    match got.as_deref() == Some(want) {
        true => Ok(()),
        false => Err(format!("{got:?}, not {want:?}")),
    }
}
