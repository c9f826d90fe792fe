"""Mixtures of experts, and the products that `matmul.py` has not, by torch.

A product by groups is torch's `_grouped_mm`; a layer is composed of it as girih's is: the routes sorted by expert, the
tokens gathered, two products with an activation between, each row times its weight added to its token.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from matmul import relative_error
from timing import DEVICE, Launch, Report, measure

SHAPES = ((8192, 4096, 14336, 8, 2), (4096, 2048, 1408, 64, 6), (512, 7168, 2048, 64, 8))
"""Tokens, columns in, columns out, experts, experts of a token."""


def run(report: Report) -> None:
    matmul(report, 8192, torch.float16, "f16")
    # TF32 is another product than one of f32, and stays off.
    matmul(report, 4096, torch.float32, "f32")
    for shape in SHAPES:
        groups(report, *shape)
        torch.cuda.empty_cache()
        layer(report, *shape)
        torch.cuda.empty_cache()


def case_of(op: str, tokens: int, inner: int, outer: int, experts: int, chosen: int) -> dict:
    """What girih calls the same workload."""
    return {
        "op": op,
        "dtype": "bf16",
        "rows": tokens * chosen,
        "columns": outer,
        "data": f"{tokens} tokens, {inner} to {outer}, {chosen} of {experts}",
    }


def groups(
    report: Report, tokens: int, inner: int, outer: int, experts: int, chosen: int
) -> None:
    expert = torch.rand(tokens, experts, device=DEVICE).topk(chosen, 1).indices.flatten()
    ends = torch.bincount(expert, minlength=experts).cumsum(0).int()
    rows = tokens * chosen
    given = torch.randn(rows, inner, device=DEVICE, dtype=torch.bfloat16)
    made = torch.randn(rows, outer, device=DEVICE, dtype=torch.bfloat16)

    def grouped_inner() -> torch.Tensor:
        return torch._grouped_mm(given.t(), made, offs=ends)

    def error() -> float:
        """Of some elements of each group's result."""
        out = grouped_inner()
        found, right, begin = [], [], 0
        for group, end in enumerate(ends.tolist()):
            row = torch.randint(inner, (2000 // experts + 1,), device=DEVICE)
            column = torch.randint(outer, row.shape, device=DEVICE)
            right.append((given[begin:end, row].double() * made[begin:end, column].double()).sum(0))
            found.append(out[group, row, column])
            begin = end
        return relative_error(torch.cat(found), torch.cat(right))

    case = case_of("grouped_inner", tokens, inner, outer, experts, chosen)
    moved = (rows * (inner + outer) + experts * inner * outer) * 2
    time(report, grouped_inner, 2 * rows * inner * outer, moved, case, error)


def layer(
    report: Report, tokens: int, model: int, hidden: int, experts: int, chosen: int
) -> None:
    """A whole layer: router, routes, both products, forward alone and with all gradients."""

    def parameter(*shape: int) -> torch.Tensor:
        values = torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16) * 0.02
        return values.requires_grad_()

    values = torch.randn(tokens, model, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
    router = parameter(model, experts)
    up, down = parameter(experts, model, hidden), parameter(experts, hidden, model)

    def compute() -> torch.Tensor:
        probabilities = (values @ router).softmax(1)
        weight, expert = probabilities.topk(chosen, 1)
        weight = weight / weight.sum(1, keepdim=True)
        expert = expert.flatten()
        order = expert.argsort()
        token = order // chosen
        ends = torch.bincount(expert, minlength=experts).cumsum(0).int()
        made = torch._grouped_mm(values.index_select(0, token), up, offs=ends)
        made = torch._grouped_mm(torch.nn.functional.silu(made), down, offs=ends)
        made = made * weight.flatten()[order].unsqueeze(1)
        return torch.zeros_like(values).index_add(0, token, made)

    def moe_forward() -> torch.Tensor:
        with torch.no_grad():
            return compute()

    def moe_forward_backward() -> None:
        for leaf in (values, router, up, down):
            leaf.grad = None
        compute().pow(2).mean().backward()

    flops = 2 * tokens * chosen * model * hidden
    for work, products in ((moe_forward, 2), (moe_forward_backward, 6)):
        case = case_of(work.__name__, tokens, model, hidden, experts, chosen)
        time(report, work, products * flops, 4 * experts * model * hidden, case)


def time(
    report: Report,
    work: Launch,
    flops: int,
    moved: int,
    case: dict,
    error: Callable[[], float] | None = None,
) -> None:
    op = case.pop("op")
    report.attempt(
        f"torch {op} {case}",
        lambda: report.add(
            "torch",
            op,
            measure([work], 8),
            flops=flops,
            moved=moved,
            relative_error=error() if error else None,
            **case,
        ),
    )


def matmul(report: Report, size: int, dtype: torch.dtype, name: str) -> None:
    """cuBLAS on square matrices: the ceiling of every product."""
    a, b = (torch.randn(size, size, device=DEVICE, dtype=dtype) for _ in range(2))
    report.add(
        "torch",
        "matmul",
        measure([lambda: a @ b], 10),
        flops=2 * size**3,
        moved=3 * size**2 * dtype.itemsize,
        dtype=name,
        rows=size,
        columns=size,
        data=f"{size}x{size}x{size}",
    )
