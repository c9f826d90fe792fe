//! Tensors that no memory has, as every argument of every launcher: an error each that names the argument, no panic, and the next
//! call works.

mod lists;
mod lookups;
mod sums;

use super::model::{handle, list};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Error, Result};
use girih_testkit::{Rt, cases};
use lists::{compactions_refuse_them, scans_refuse_them, sorts_refuse_them};
use lookups::{gathers_refuse_them, scatters_refuse_them};
use std::panic::{AssertUnwindSafe, catch_unwind};
use sums::{products_refuse_them, segments_refuse_them, sparse_steps_refuse_them};

cases! {
    gathers_refuse_them,
    scatters_refuse_them,
    sorts_refuse_them,
    scans_refuse_them,
    compactions_refuse_them,
    segments_refuse_them,
    sparse_steps_refuse_them,
    products_refuse_them,
}

/// What is wrong with the launchers, one fault a line.
type Outcome = std::result::Result<(), String>;

/// The launcher's call, with its tensors in the order of its arguments.
type Call<'a> = Box<dyn Fn(&[TensorHandle]) -> Result<()> + 'a>;

/// A launcher with arguments that it takes.
struct Launcher<'a> {
    name: &'static str,
    arguments: Vec<(&'static str, TensorHandle)>,
    call: Call<'a>,
}

impl<'a> Launcher<'a> {
    fn new(
        name: &'static str,
        arguments: Vec<(&'static str, TensorHandle)>,
        call: impl Fn(&[TensorHandle]) -> Result<()> + 'a,
    ) -> Self {
        Self {
            name,
            arguments,
            call: Box::new(call),
        }
    }
}

/// Makes a tensor one that no memory has.
type Ruin = fn(&mut TensorHandle);

const COUNTLESS: &str = "more elements than can be counted";

const RUINS: [(&str, Ruin); 9] = [
    ("a stride too few", |tensor| {
        let strides: Vec<usize> = tensor.strides().iter().skip(1).copied().collect();
        tensor.metadata.strides = strides.as_slice().into();
    }),
    ("a stride past the buffer", |tensor| step(tensor, 1 << 20)),
    ("a stride past all integers", |tensor| {
        step(tensor, usize::MAX / 2 + 1);
    }),
    ("a start past the buffer", |tensor| {
        tensor.handle = tensor.handle.clone().offset_start(1 << 20);
    }),
    ("a start within an element", |tensor| {
        tensor.handle = tensor.handle.clone().offset_start(2);
    }),
    ("memory of another device", |tensor| {
        tensor.handle.service.device.index_id += 1;
    }),
    ("elements without a size", |tensor| {
        tensor.dtype = ElemType::Index;
    }),
    ("elements that are no numbers", |tensor| {
        tensor.dtype = ElemType::Bool;
    }),
    (COUNTLESS, |tensor| {
        let rank = tensor.shape().len();
        tensor.metadata.shape = vec![1usize << 40; rank.max(2)].into();
        tensor.metadata.strides = vec![0usize; rank.max(2)].as_slice().into();
    }),
];

/// Sets the first axis's stride.
fn step(tensor: &mut TensorHandle, stride: usize) {
    let mut strides: Vec<usize> = tensor.strides().iter().copied().collect();
    strides[0] = stride;
    tensor.metadata.strides = strides.as_slice().into();
}

/// Shapes that a launcher may take or refuse.
const SHAPES: [Ruin; 4] = [
    |tensor| reshape(tensor, &[]),
    |tensor| {
        let mut shape: Vec<usize> = tensor.shape().iter().copied().collect();
        shape[0] = 0;
        reshape(tensor, &shape);
    },
    |tensor| {
        let mut shape: Vec<usize> = tensor.shape().iter().copied().collect();
        shape.insert(0, 1);
        reshape(tensor, &shape);
    },
    |tensor| {
        let shape: Vec<usize> = tensor.shape().iter().map(|_| 0).collect();
        reshape(tensor, &shape);
    },
];

fn reshape(tensor: &mut TensorHandle, shape: &[usize]) {
    *tensor = TensorHandle::new_contiguous(shape.to_vec(), tensor.handle.clone(), tensor.dtype);
}

/// Gives each launcher each ruin of each argument.
fn refuse(launchers: Vec<Launcher<'_>>) -> Outcome {
    let mut faults = vec![];
    for Launcher {
        name,
        arguments,
        call,
    } in &launchers
    {
        let tensors: Vec<TensorHandle> = arguments.iter().map(|(_, of)| of.clone()).collect();
        let attempt = |tensors: &[TensorHandle]| {
            catch_unwind(AssertUnwindSafe(|| call(tensors)))
                .map_err(|panic| format!("panics: {}", message(&*panic)))
        };
        let mut is_taken = |when: &str| match attempt(&tensors) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => faults.push(format!("{name} {when}: {error}")),
            Err(panic) => faults.push(format!("{name} {when} {panic}")),
        };
        is_taken("before");
        for (at, (argument, _)) in arguments.iter().enumerate() {
            for (what, ruin) in RUINS {
                let mut ruined = tensors.clone();
                ruin(&mut ruined[at]);
                let fault = match attempt(&ruined) {
                    Ok(Ok(())) => "accepts it".into(),
                    Ok(Err(Error::Server(error))) => format!("launches: {error}"),
                    // A type is refused for what the device lacks, whoever has it.
                    Ok(Err(Error::Device { .. })) => continue,
                    // So large a tensor may be refused for what another of the arguments is not.
                    Ok(Err(_)) if what == COUNTLESS => continue,
                    Ok(Err(error)) if error.to_string().contains(argument) => continue,
                    Ok(Err(error)) => format!("does not name it: {error}"),
                    Err(panic) => panic,
                };
                faults.push(format!("{name}, {argument} of {what}: {fault}"));
            }
            for (number, reshaped) in SHAPES.into_iter().enumerate() {
                let mut ruined = tensors.clone();
                reshaped(&mut ruined[at]);
                let shape = ruined[at].shape().clone();
                if let Err(panic) = attempt(&ruined) {
                    faults.push(format!(
                        "{name}, {argument} of shape {shape:?} ({number}): {panic}"
                    ));
                }
            }
        }
        let mut is_taken = |when: &str| match attempt(&tensors) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => faults.push(format!("{name} {when}: {error}")),
            Err(panic) => faults.push(format!("{name} {when} {panic}")),
        };
        is_taken("after");
    }
    assert!(!launchers.is_empty());
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("\n")),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "with no text".into())
}

/// What is read last of a device: an error there is a kernel's.
fn read(rt: &Rt, tensor: &TensorHandle) -> Result<()> {
    rt.client.read_one(tensor.handle.clone())?;
    Ok(())
}

fn floats(rt: &Rt, shape: &[usize]) -> TensorHandle {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|at| at as f32).collect();
    handle(&rt.put_tensor(&values, shape))
}

fn ints(rt: &Rt, values: &[i32]) -> TensorHandle {
    list(&rt.put(values))
}

fn int_rows(rt: &Rt, values: &[i32], shape: &[usize]) -> TensorHandle {
    handle(&rt.put_tensor(values, shape))
}

const I32: fn() -> ElemType = i32::elem_type_native;
const U32: fn() -> ElemType = u32::elem_type_native;
