//! What the launchers refuse, in the words that a user reads.

use super::model::{handle, list};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{ScatterMode, gather, gather_into, scatter_into, supports_gather};
use girih_testkit::{DeviceKind, Rt, cases, check::same};

cases! {
    gather_refuses_bad_arguments,
    gather_into_refuses_bad_outputs,
    scatter_refuses_bad_arguments,
    refuses_types_that_the_device_lacks,
    the_next_call_works,
}

fn refusal<T>(result: girih::Result<T>) -> String {
    match result {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn gather_refuses_bad_arguments(rt: &Rt) {
    let input = handle(&rt.put_tensor(&[0f32; 12], &[3, 4]));
    let index = list(&rt.put(&[0i32]));
    let call = |input: &TensorHandle, index: &TensorHandle, axis| {
        refusal(gather(&rt.client, input, index, axis, Bounds::Mask))
    };
    assert_eq!(
        call(&input, &index, 2),
        "axis 2 of input, which has rank 2; gather needs an axis in 0..2"
    );
    let square = handle(&rt.put_tensor(&[0i32; 4], &[2, 2]));
    assert_eq!(
        call(&input, &square, 0),
        "index has rank 2; gather needs rank 1"
    );
    let floats = list(&rt.put(&[0f32]));
    assert_eq!(
        call(&input, &floats, 0),
        format!(
            "index has elements of type {}; gather needs an integer type",
            floats.dtype
        )
    );
    let long = TensorHandle::new(
        input.handle.clone(),
        vec![3usize, 4],
        vec![5usize, 1],
        input.dtype,
    );
    assert_eq!(
        call(&long, &index, 0),
        "input of shape [3, 4] and strides [5, 1] reaches element 14 of a buffer of 12; gather needs strides within it"
    );
}

fn gather_into_refuses_bad_outputs(rt: &Rt) {
    let input = handle(&rt.put_tensor(&[0f32; 12], &[3, 4]));
    let index = list(&rt.put(&[0i32, 1]));
    let call = |output: &TensorHandle| {
        refusal(gather_into(
            &rt.client,
            &input,
            &index,
            output,
            0,
            Bounds::Mask,
        ))
    };
    let tall = handle(&rt.put_tensor(&[0f32; 12], &[3, 4]));
    assert_eq!(call(&tall), "output has shape [3, 4]; gather needs [2, 4]");
    let ints = handle(&rt.put_tensor(&[0i32; 8], &[2, 4]));
    assert_eq!(
        call(&ints),
        format!(
            "output has elements of type {}; gather needs {}",
            ints.dtype, input.dtype
        )
    );
    let expanded = TensorHandle::new(
        tall.handle.clone(),
        vec![2usize, 4],
        vec![0usize, 1],
        tall.dtype,
    );
    assert_eq!(
        call(&expanded),
        "output of shape [2, 4] and strides [0, 1] has elements that overlap; gather writes only where they do not"
    );
}

fn scatter_refuses_bad_arguments(rt: &Rt) {
    let target = handle(&rt.put_tensor(&[0f32; 12], &[3, 4]));
    let index = list(&rt.put(&[0i32, 1]));
    let updates = handle(&rt.put_tensor(&[0f32; 8], &[2, 4]));
    let call = |target: &TensorHandle, updates: &TensorHandle, axis| {
        refusal(scatter_into(
            &rt.client,
            target,
            &index,
            updates,
            axis,
            ScatterMode::Set,
            Bounds::Mask,
        ))
    };
    assert_eq!(call(&target, &updates, 0), "accepted");
    assert_eq!(
        call(&target, &updates, 7),
        "axis 7 of target, which has rank 2; scatter needs an axis in 0..2"
    );
    assert_eq!(
        call(&target, &target, 0),
        "updates has shape [3, 4]; scatter needs [2, 4]"
    );
    let expanded = TensorHandle::new(
        target.handle.clone(),
        vec![3usize, 4],
        vec![0usize, 1],
        target.dtype,
    );
    assert_eq!(
        call(&expanded, &updates, 0),
        "target of shape [3, 4] and strides [0, 1] has elements that overlap; scatter writes only where they do not"
    );
}

fn refuses_types_that_the_device_lacks(rt: &Rt) {
    let bf16 = ElemType::Float(FloatKind::BF16);
    let i32s = list(&rt.put(&[0i32])).dtype;
    let answer = refusal(supports_gather(&rt.client, bf16, i32s));
    if rt.kind == DeviceKind::Cuda {
        assert_eq!(answer, "accepted");
        return;
    }
    // On the CPU runtime CubeCL claims the type and gives garbage: girih refuses it there.
    assert!(
        answer.contains("has no buffers of") && answer.contains("gather needs it"),
        "{answer}"
    );
    let half = handle(&rt.put_tensor(&[0f32; 4], &[2, 2]));
    let brain = TensorHandle::new(half.handle.clone(), vec![2usize, 2], vec![2usize, 1], bf16);
    let index = list(&rt.put(&[0i32]));
    assert_eq!(
        refusal(gather(&rt.client, &brain, &index, 0, Bounds::Mask)),
        answer
    );
}

fn the_next_call_works(rt: &Rt) -> Result<(), String> {
    let input = rt.put_tensor(&[1f32, 2.0, 3.0], &[3, 1]);
    let index = rt.put(&[2i32, 0]);
    let refused = gather(&rt.client, &handle(&input), &list(&index), 5, Bounds::Mask);
    assert!(refused.is_err());
    let output = rt.poisoned_tensor::<f32>(&[2, 1], &[1, 1]);
    gather_into(
        &rt.client,
        &handle(&input),
        &list(&index),
        &handle(&output),
        0,
        Bounds::Mask,
    )
    .and_then(girih::Checked::check)
    .map_err(|error| error.to_string())?;
    same(
        &rt.read_tensor(&output).map_err(|error| error.to_string())?,
        &[3.0, 1.0],
    )
}
