//! How long the algebra takes on layouts of depth 3.

use criterion::{Criterion, criterion_group, criterion_main};
use girih_layout::{Layout, Tiler};
use std::hint::black_box;

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

/// The processor's name, without which the times say little.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(
        || String::from("unknown"),
        |(_, name)| name.trim().to_string(),
    )
}

fn algebra(criterion: &mut Criterion) {
    println!("CPU: {}", cpu());
    // 128 x 64 elements, 8 leaves, depth 3: an interleaved tile.
    let whole =
        layout("((_8,(_4,_4)),((_2,_8),(_2,_2))):((_1,(_16,_128)),((_8,_512),(_64,_4096)))");
    let inner =
        layout("((_4,(_2,_4)),((_8,_2),(_4,_4))):((_1,(_4,_32)),((_128,_8),(_1024,_4096)))");
    let tile = layout("((_4,_2),(_2,_4)):((_1,_4),(_16,_128))");
    assert_eq!((whole.depth(), inner.depth()), (3, 3));

    criterion.bench_function("coalesce", |b| b.iter(|| black_box(&whole).coalesce()));
    criterion.bench_function("composition", |b| {
        b.iter(|| {
            black_box(&whole)
                .composition(black_box(&inner))
                .expect("it exists")
        })
    });
    criterion.bench_function("complement", |b| {
        b.iter(|| black_box(&whole).complement(1 << 20).expect("it exists"))
    });
    criterion.bench_function("logical_divide", |b| {
        b.iter(|| {
            black_box(&whole)
                .logical_divide(black_box(&tile))
                .expect("it exists")
        })
    });
    let tiler = Tiler::from((32, 16));
    criterion.bench_function("zipped_divide by mode", |b| {
        b.iter(|| {
            black_box(&whole)
                .zipped_divide(black_box(&tiler))
                .expect("it exists")
        })
    });
    criterion.bench_function("left_inverse", |b| {
        b.iter(|| black_box(&whole).left_inverse().expect("it exists"))
    });
    criterion.bench_function("index", |b| {
        b.iter(|| black_box(&whole).index(black_box(4711)).expect("in range"))
    });
}

criterion_group!(benches, algebra);
criterion_main!(benches);
