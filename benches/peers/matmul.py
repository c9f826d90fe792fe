"""One matrix by one, and rows in groups by their groups' matrices; by torch, of uniform elements as girih's benchmark has."""

from __future__ import annotations

import torch

from timing import DEVICE, Report, measure

SIZES = (1024, 4096, 8192)
LAYERS = ((8192, 4096, 14336, 8, 2), (4096, 2048, 1408, 64, 6), (512, 7168, 2048, 64, 8))
"""Tokens, columns in, columns out, experts, experts of a token."""
SAMPLES = 2000
"""Elements whose error is looked at."""


def uniform(*shape: int) -> torch.Tensor:
    """Elements between -1 and 1."""
    return torch.empty(shape, device=DEVICE).uniform_(-1, 1).to(torch.bfloat16)


def relative_error(found: torch.Tensor, right: torch.Tensor) -> float:
    """How far results are from the right ones of `f64`, all together: the norm of their errors over that of the right ones."""
    return ((found.double() - right).norm() / right.norm()).item()


def places(*extents: int) -> list[torch.Tensor]:
    """As many random indices below each extent as girih's benchmark looks at."""
    return [torch.randint(extent, (SAMPLES,), device=DEVICE) for extent in extents]


def error_of_product(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> float:
    row, column = places(*out.shape)
    return relative_error(out[row, column], (a[row].double() * b[:, column].double().T).sum(1))


def error_of_groups(
    out: torch.Tensor, rows: torch.Tensor, matrices: torch.Tensor, ends: torch.Tensor
) -> float:
    row, column = places(*out.shape)
    group = torch.bucketize(row, ends, right=True)
    right = (rows[row].double() * matrices[group, :, column].double()).sum(1)
    return relative_error(out[row, column], right)


def run(report: Report) -> None:
    for size in SIZES:
        a, b = uniform(size, size), uniform(size, size)
        case = {"dtype": "bf16", "rows": size, "columns": size, "data": f"{size}x{size}x{size}"}
        ways = {"rows": b, "columns": b.T}
        for way, second in ways.items():
            time = measure([lambda a=a, second=second: a @ second], 10)
            error = error_of_product(a @ second, a, second)
            report.add(
                "torch", "matmul", time, flops=2 * size**3, relative_error=error, way=way, **case
            )
    others(report, 8192)
    for layer in LAYERS:
        of_layer(report, *layer)
        torch.cuda.empty_cache()


def others(report: Report, size: int) -> None:
    """`f32` multiplied as `tf32`, and `i8` to `i32`."""
    case = {"rows": size, "columns": size, "data": f"{size}x{size}x{size}"}
    flops = 2 * size**3
    a, b = (torch.empty(size, size, device=DEVICE).uniform_(-1, 1) for _ in range(2))
    torch.backends.cuda.matmul.allow_tf32 = True
    report.add("torch", "matmul", measure([lambda: a @ b], 10), flops=flops, dtype="tf32", **case)
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (
        torch.randint(-128, 128, (size, size), device=DEVICE, dtype=torch.int8) for _ in range(2)
    )
    for way, second in {"rows": b, "columns": b.T}.items():
        report.attempt(
            f"torch _int_mm of {way}",
            lambda way=way, second=second: report.add(
                "torch",
                "matmul",
                measure([lambda: torch._int_mm(a, second)], 10),
                flops=flops,
                dtype="i8",
                way=way,
                **case,
            ),
        )


def of_layer(
    report: Report, tokens: int, inner: int, outer: int, experts: int, chosen: int
) -> None:
    case = {
        "dtype": "bf16",
        "rows": tokens * chosen,
        "columns": outer,
        "data": f"{tokens} tokens, {inner} to {outer}, {chosen} of {experts}",
    }
    flops = 2 * tokens * chosen * inner * outer
    values, weights = uniform(tokens, inner), uniform(experts * inner, outer)
    weights = weights.view(experts, inner, outer)
    expert = torch.rand(tokens, experts, device=DEVICE).topk(chosen, 1).indices.flatten()
    token = expert.argsort() // chosen
    ends = torch.bincount(expert, minlength=experts).cumsum(0).int()
    permuted = values[token]
    ways = {
        "grouped": lambda: torch._grouped_mm(permuted, weights, offs=ends),
        "gather_grouped": lambda: torch._grouped_mm(
            values.index_select(0, token), weights, offs=ends
        ),
    }
    for op, work in ways.items():
        report.attempt(
            f"torch {op} {case}",
            lambda op=op, work=work: report.add(
                "torch",
                op,
                measure([work], 10),
                flops=flops,
                relative_error=error_of_groups(work(), permuted, weights, ends),
                **case,
            ),
        )
