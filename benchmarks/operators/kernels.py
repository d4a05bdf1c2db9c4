"""The operators' sources. All are memory-bound or reduce, but the last one."""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    """y = softmax of each row of x, f32, rows of `columns` <= BLOCK elements."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, y, columns, BLOCK: tl.constexpr):
    """y = (x - mean) / sqrt(variance + 1e-5) * weight + bias along each row, f32."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    centred = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    result = centred * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row * columns + at, result, mask=inside)


@triton.jit
def depthwise_conv(x, weight, y, height, width, BLOCK: tl.constexpr):
    """y[c] = x[c] convolved with the 3 x 3 kernel weight[c], without padding; one row of one channel a program."""
    channel = tl.program_id(1)
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(3):
        line = x + (channel * height + row + i) * width
        for j in tl.static_range(3):
            value = tl.load(line + at + j, mask=at + j < width, other=0.0)
            total += value * tl.load(weight + channel * 9 + i * 3 + j)
    tl.store(y + (channel * (height - 2) + row) * (width - 2) + at, total, mask=at < width - 2)


@triton.jit
def gelu(x, y, count, BLOCK: tl.constexpr):
    """y = GELU of x by the error function, f32."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count)
    tl.store(y + at, 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476)), mask=at < count)


@triton.jit
def cross_entropy(x, labels, loss, columns, BLOCK: tl.constexpr):
    """loss = log of the sum of exponentials of a row minus its label's value, f32."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    top = tl.max(values, axis=0)
    total = tl.log(tl.sum(tl.exp(values - top), axis=0)) + top
    tl.store(loss + row, total - tl.load(x + row * columns + tl.load(labels + row)))


@triton.jit
def max_pool(x, y, height, width, BLOCK: tl.constexpr):
    """y[c] = maxima of 2 x 2 squares of x[c], f32; one row of one channel a program."""
    channel = tl.program_id(1)
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width // 2
    line = x + (channel * height + 2 * row) * width + 2 * at
    low = tl.maximum(tl.load(line, mask=inside), tl.load(line + 1, mask=inside))
    high = tl.maximum(tl.load(line + width, mask=inside), tl.load(line + width + 1, mask=inside))
    tl.store(y + (channel * (height // 2) + row) * (width // 2) + at, tl.maximum(low, high), mask=inside)


@triton.jit
def sum_reduction(x, y, rows, columns, BLOCK: tl.constexpr):
    """y[b] = sum of x[b] over its rows, f32."""
    batch = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < columns
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(rows):
        total += tl.load(x + (batch * rows + row) * columns + at, mask=inside, other=0.0)
    tl.store(y + batch * columns + at, total, mask=inside)


@triton.jit
def matmul_swish_norm(a, b, y, K, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """y = group norm of swish(a @ b.T) for bf16 a [M, K] and b [N, K]; a group is the BLOCK_N columns of a tile."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_tile = a + rows[:, None] * K + steps[None, :]
    b_tile = b + columns[None, :] * K + steps[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_tile), tl.load(b_tile), total)
        a_tile += BLOCK_K
        b_tile += BLOCK_K
    value = total * tl.sigmoid(total)
    mean = tl.sum(value, axis=1) / BLOCK_N
    centred = value - mean[:, None]
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / BLOCK_N + 1e-5)
    tl.store(y + rows[:, None] * N + columns[None, :], centred * scale[:, None])
