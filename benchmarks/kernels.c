// Kernels with what compilers put into code objects: several kernels, device functions, .got, .data, .bss, relocations,
// a constant table, static and dynamic LDS, scratch.
typedef unsigned int u32;
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))
static const CONSTANT u32 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
GLOBAL int counter = 5;
GLOBAL int zeros[256];
GLOBAL int *GLOBAL pointer = &zeros[7];
typedef int (*function)(int);
__attribute__((noinline)) int twice(int x) { return x * 2 + zeros[x & 255]; }
__attribute__((noinline)) int square(int x) { return x * x + counter; }
__attribute__((noinline, visibility("default"))) int exported(int x) { return x - *pointer; }
function GLOBAL functions[3] = {twice, square, exported};
extern LDS int dynamic[];
static LDS int fixed[64] __attribute__((loader_uninitialized));
KERNEL void lookup(GLOBAL int *out, u32 n) {
  u32 i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
  if (i < n) out[i] = table[i & 15] + counter;
}
KERNEL void calls(GLOBAL int *out, int which) {
  u32 i = __builtin_amdgcn_workitem_id_x();
  out[i] = functions[which](out[i]) + twice(i) + exported(which);
}
KERNEL void shared(GLOBAL int *out) {
  u32 i = __builtin_amdgcn_workitem_id_x();
  fixed[i & 63] = out[i];
  dynamic[i] = fixed[(i + 1) & 63];
  __builtin_amdgcn_s_barrier();
  out[i] = dynamic[i ^ 1];
}
KERNEL void scratch(GLOBAL int *out, int n) {
  int local[32];
  for (int i = 0; i < 32; i++) local[i] = out[i] * n;
  for (int i = 0; i < n; i++) local[(local[i & 31] & 31)] += i;
  for (int i = 0; i < 32; i++) out[i] = local[i];
}
KERNEL void floats(GLOBAL float *out, float x) {
  u32 i = __builtin_amdgcn_workitem_id_x();
  float y = out[i];
  for (int k = 0; k < 9; k++) y = y * x + (float)k / (y + 1.0f);
  switch (i & 7) {
    case 0: y += 1; break;
    case 1: y *= 3; break;
    case 2: y -= x; break;
    case 5: y /= x; break;
    default: y = -y;
  }
  out[i] = y;
}
