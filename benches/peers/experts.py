"""Mixture of experts: tokens brought into the order of their experts, then one multiply for each; by torch."""

from __future__ import annotations

import torch

from timing import DEVICE, Report, measure

SHAPES = ((8192, 4096, 14336, 8, 2), (4096, 2048, 1408, 64, 6), (512, 7168, 2048, 64, 8))
"""Tokens, columns in, columns out, experts, experts of a token."""


def run(report: Report) -> None:
    for tokens, inner, outer, experts, chosen in SHAPES:
        case = {
            "tokens": tokens,
            "inner": inner,
            "outer": outer,
            "experts": experts,
            "chosen": chosen,
            "dtype": "bf16",
        }
        values = torch.randn(tokens, inner, device=DEVICE, dtype=torch.bfloat16)
        weights = torch.randn(experts, inner, outer, device=DEVICE, dtype=torch.bfloat16) * 0.02
        expert = torch.rand(tokens, experts, device=DEVICE).topk(chosen, 1).indices.flatten()
        token = expert.argsort() // chosen
        ends = torch.bincount(expert, minlength=experts).cumsum(0).int()
        permuted = values[token]
        flops = 2 * tokens * chosen * inner * outer

        def multiply(permuted=permuted, weights=weights, ends=ends) -> torch.Tensor:
            return torch._grouped_mm(permuted, weights, offs=ends)

        def permute(values=values, token=token) -> torch.Tensor:
            return values.index_select(0, token)

        def both(permute=permute, weights=weights, ends=ends) -> torch.Tensor:
            return torch._grouped_mm(permute(), weights, offs=ends)

        moved = 2 * tokens * chosen * inner * 2
        report.add("torch", "experts permute", measure([permute], 8), moved=moved, **case)
        for op, work in (("experts multiply", multiply), ("experts permute+multiply", both)):
            report.attempt(
                f"torch {op} {case}",
                lambda op=op, work=work, flops=flops, case=case: report.add(
                    "torch", op, measure([work], 8), flops=flops, **case
                ),
            )
    matmul(report)


def matmul(report: Report, size: int = 8192) -> None:
    """cuBLAS on square matrices: the ceiling of every multiply."""
    a, b = (torch.randn(size, size, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    report.add(
        "torch", "matmul", measure([lambda: a @ b], 10), flops=2 * size**3, size=size, dtype="bf16"
    )
