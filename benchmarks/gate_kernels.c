// Kernels of the kinds that compilers make, all with the same arguments: loops, selections, LDS and barriers, reductions,
// moves between lanes, 64-bit and integer arithmetic, conversions, divergent branches.
typedef unsigned int u32;
typedef unsigned long long u64;
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define ARGUMENTS GLOBAL float *restrict out, GLOBAL const float *restrict a, GLOBAL const float *restrict b, \
                  GLOBAL const int *restrict k, u32 n
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"), amdgpu_flat_work_group_size(64, 64)))
#define ITEM (__builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x())
static LDS float tile[64] __attribute__((loader_uninitialized));

KERNEL void add(ARGUMENTS) {
  u32 i = ITEM;
  if (i < n) out[i] = a[i] + b[i] * (float)k[i];
}
KERNEL void polynomial(ARGUMENTS) {
  u32 i = ITEM;
  if (i >= n) return;
  float x = a[i], y = 0.25f;
  for (int c = 0; c < k[i]; c++) y = y * x + b[(i + c) % n];
  out[i] = y;
}
KERNEL void reverse(ARGUMENTS) {
  u32 i = ITEM, lane = __builtin_amdgcn_workitem_id_x();
  tile[lane] = i < n ? a[i] : 0.0f;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  float mirrored = tile[63 - lane];
  if (i < n) out[i] = mirrored - b[i];
}
KERNEL void sums(ARGUMENTS) {
  u32 i = ITEM, lane = __builtin_amdgcn_workitem_id_x();
  tile[lane] = i < n ? a[i] * b[i] : 0.0f;
  for (u32 step = 32; step > 0; step /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (lane < step) tile[lane] += tile[lane + step];
  }
  if (lane == 0) out[__builtin_amdgcn_workgroup_id_x()] = tile[0];
}
KERNEL void branches(ARGUMENTS) {
  u32 i = ITEM;
  if (i >= n) return;
  float x = a[i];
  switch (k[i] & 3) {
    case 0: x += b[i]; break;
    case 1: x *= 3.0f; break;
    case 2: x = x > 0.0f ? x / (1.0f + b[i] * b[i]) : -x; break;
    default: x = __builtin_fminf(x, b[i]);
  }
  out[i] = x;
}
KERNEL void hashes(ARGUMENTS) {
  u32 i = ITEM;
  if (i >= n) return;
  u64 h = 1469598103934665603ull;
  for (int c = 0; c < 4; c++) h = (h ^ (u64)(u32)k[(i * 7 + c) % n]) * 1099511628211ull;
  out[i] = (float)(u32)(h >> 16) + a[i];
}
KERNEL void gathers(ARGUMENTS) {
  u32 i = ITEM;
  if (i < n) out[i] = a[(u32)k[i] * 5 % n] - b[(i ^ 1) % n];
}
KERNEL void products(ARGUMENTS) {
  u32 i = ITEM;
  if (i >= n) return;
  float sum = 0.0f;
  for (u32 c = 0; c < 16; c++) sum += a[(i & ~15u) + c < n ? (i & ~15u) + c : 0] * b[c * 8 % n];
  out[i] = sum;
}
