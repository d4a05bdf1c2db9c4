// Kernels whose waves talk through LDS, one pattern each. Workgroups have 256 work-items.
typedef unsigned int u32;
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"), amdgpu_flat_work_group_size(256, 256)))
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3), loader_uninitialized))
#define SYNC()                                                                                                         \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                               \
  __builtin_amdgcn_s_barrier();                                                                                        \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

static LDS int sums[256];
KERNEL void reduce(GLOBAL const int *in, GLOBAL int *out) {
  u32 i = ITEM;
  sums[i] = in[256 * GROUP + i];
  SYNC();
  for (u32 half = 128; half; half /= 2) {
    if (i < half) sums[i] += sums[i + half];
    SYNC();
  }
  if (!i) out[GROUP] = sums[0];
}

static LDS int tile[32][33];
KERNEL void transpose(GLOBAL const int *in, GLOBAL int *out) {
  u32 x = ITEM & 31, y = ITEM / 32, base = 32 * GROUP;
  for (u32 k = 0; k < 32; k += 8) tile[y + k][x] = in[(base + y + k) * 32 + x];
  SYNC();
  for (u32 k = 0; k < 32; k += 8) out[(base + y + k) * 32 + x] = tile[x][y + k];
}

static LDS float left[16][17], right[16][17];
KERNEL void product(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, u32 n) {
  u32 x = ITEM & 15, y = ITEM / 16;
  float sum = 0;
  for (u32 k = 0; k < n; k += 16) {
    left[y][x] = a[y * n + k + x];
    right[y][x] = b[(k + y) * 16 + x];
    SYNC();
    for (u32 j = 0; j < 16; j++) sum += left[y][j] * right[j][x];
    SYNC();
  }
  c[y * 16 + x] = sum;
}

static LDS int ping[256], pong[256];
KERNEL void scan(GLOBAL const int *in, GLOBAL int *out) {
  u32 i = ITEM;
  ping[i] = in[256 * GROUP + i];
  SYNC();
  for (u32 step = 1; step < 256; step *= 4) {
    pong[i] = ping[i] + (i >= step ? ping[i - step] : 0);
    SYNC();
    ping[i] = pong[i] + (i >= 2 * step ? pong[i - 2 * step] : 0);
    SYNC();
  }
  out[256 * GROUP + i] = ping[i];
}

static LDS int row[258];
KERNEL void stencil(GLOBAL const int *in, GLOBAL int *out, u32 steps) {
  u32 i = ITEM;
  row[i + 1] = in[i];
  if (i < 2) row[257 * i] = 0;
  SYNC();
  for (u32 s = 0; s < steps; s++) {
    int next = row[i] - 2 * row[i + 1] + row[i + 2];
    SYNC();
    row[i + 1] = next;
    SYNC();
  }
  out[i] = row[i + 1];
}

static LDS u32 bins[64];
KERNEL void histogram(GLOBAL const u32 *in, GLOBAL u32 *out, u32 n) {
  u32 i = ITEM;
  if (i < 64) bins[i] = 0;
  SYNC();
  for (u32 k = i; k < n; k += 256) __atomic_fetch_add(&bins[in[k] & 63], 1, __ATOMIC_RELAXED);
  SYNC();
  if (i < 64) out[i] = bins[i];
}

static LDS int keys[256];
KERNEL void sort(GLOBAL const int *in, GLOBAL int *out) {
  u32 i = ITEM;
  keys[i] = in[i];
  for (u32 size = 2; size <= 256; size *= 2)
    for (u32 step = size / 2; step; step /= 2) {
      SYNC();
      u32 other = i ^ step;
      if (other > i) {
        int low = keys[i], high = keys[other];
        if ((low > high) == !(i & size)) keys[i] = high, keys[other] = low;
      }
    }
  SYNC();
  out[i] = keys[i];
}
