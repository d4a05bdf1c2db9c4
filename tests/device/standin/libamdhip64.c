/* A stand-in for the HIP runtime: device memory is ordinary memory, launches go to a simulator over a Unix socket.

   STANDIN_SOCKET   path of the simulator's socket
   STANDIN_GPUS     compute units of each GPU, with commas; "304" without it
   STANDIN_NO_VMM   set: addresses cannot be reserved
   STANDIN_FAULTS   file with lines "function error" or "function hang" or "function abort", read at every call
                    ("abort-once" takes the file away first);
                    "function@gpu ..." for one GPU only

   All device memory lies in one arena, a memory file that the simulator maps as well. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int
#define ARENA 0x7dfe00000000ull /* 8 GiB below the images */
#define ARENA_SIZE (14ull << 30)
#define HEAP (32ull << 20) /* in front of it: room for code and arguments of one launch */
#define IMAGES 0x7e0000000000ull
#define GRANULE (2ull << 20)

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
       NO_BINARY = 209, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILURE = 719, NOT_SUPPORTED = 801 };

typedef struct { size_t size; unsigned char *data; } Module;
typedef struct { Module *module; char name[256]; } Function;
typedef struct { double at; } Event;

static int gpu, arena_file = -1, hanging, failed;
static double now = 1000.0; /* microseconds */
static uint64_t heap = ARENA + HEAP;
static struct { uint64_t first, end; } reserved[64];

static int fault(const char *function)
{
    const char *path = getenv("STANDIN_FAULTS");
    FILE *file = path ? fopen(path, "r") : NULL;
    char name[128], what[32], here[128];
    int found = SUCCESS;
    if (!file)
        return SUCCESS;
    snprintf(here, sizeof here, "%s@%d", function, gpu);
    while (fscanf(file, "%127s %31s", name, what) == 2) {
        if (strcmp(name, function) && strcmp(name, here))
            continue;
        if (!strcmp(what, "hang"))
            for (;;)
                pause();
        if (!strcmp(what, "abort-once"))
            unlink(path);
        if (!strncmp(what, "abort", 5))
            abort();
        found = atoi(what);
        break;
    }
    fclose(file);
    return found;
}

#define INJECTED do { int e = fault(__func__); if (e) return e; if (failed) return failed; } while (0)

static int gpus(int *units, int most)
{
    const char *text = getenv("STANDIN_GPUS");
    int count = 0;
    text = text ? text : "304";
    while (*text && count < most) {
        char *end;
        units[count++] = (int)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
        if (end == text && *text)
            break;
    }
    return count;
}

static int arena(void)
{
    if (arena_file >= 0)
        return SUCCESS;
    int file = memfd_create("standin", 0);
    if (file < 0 || ftruncate(file, ARENA_SIZE))
        return OUT_OF_MEMORY;
    void *at = mmap((void *)ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
    if (at != (void *)ARENA)
        return OUT_OF_MEMORY;
    arena_file = file;
    return SUCCESS;
}

API hipInit(unsigned flags) { INJECTED; return arena(); }
API hipRuntimeGetVersion(int *version) { *version = 60342134; return SUCCESS; }

API hipGetDeviceCount(int *count)
{
    int units[16];
    INJECTED;
    *count = gpus(units, 16);
    return *count ? SUCCESS : NO_DEVICE;
}

API hipSetDevice(int number)
{
    int units[16];
    if (number < 0 || number >= gpus(units, 16))
        return INVALID_DEVICE;
    gpu = number;
    INJECTED;
    return SUCCESS;
}

API hipDeviceGetPCIBusId(char *out, int size, int number)
{
    INJECTED;
    snprintf(out, size, "0000:%02x:00.0", 0xc1 + number);
    return SUCCESS;
}

API hipGetDevicePropertiesR0600(void *properties, int number)
{
    int units[16];
    char *out = properties;
    INJECTED;
    if (number < 0 || number >= gpus(units, 16))
        return INVALID_DEVICE;
    memset(out, 0, 1472);
    strcpy(out, "AMD Instinct MI300X");
    memcpy(out + 388, &units[number], sizeof(int));
    strcpy(out + 1160, "gfx942:sramecc+:xnack-");
    return SUCCESS;
}

__attribute__((visibility("default"))) const char *hipGetErrorName(int code)
{
    switch (code) {
    case INVALID_VALUE: return "hipErrorInvalidValue";
    case OUT_OF_MEMORY: return "hipErrorOutOfMemory";
    case NO_DEVICE: return "hipErrorNoDevice";
    case INVALID_IMAGE: return "hipErrorInvalidImage";
    case NO_BINARY: return "hipErrorNoBinaryForGpu";
    case NOT_FOUND: return "hipErrorNotFound";
    case ILLEGAL_ADDRESS: return "hipErrorIllegalAddress";
    case LAUNCH_FAILURE: return "hipErrorLaunchFailure";
    case 701: return "hipErrorLaunchOutOfResources";
    case NOT_SUPPORTED: return "hipErrorNotSupported";
    default: return "hipErrorUnknown";
    }
}

API hipMalloc(void **out, size_t size)
{
    INJECTED;
    size = (size + 0xfff) & ~0xfffull;
    if (heap + size > IMAGES - GRANULE)
        return OUT_OF_MEMORY;
    *out = (void *)heap;
    heap += size;
    return SUCCESS;
}

API hipFree(void *at) /* the last allocation only is used again; processes live short */
{
    if (madvise(at, 0x1000, MADV_REMOVE))
        return INVALID_VALUE;
    return SUCCESS;
}

API hipMemGetInfo(size_t *available, size_t *total)
{
    *total = 192ull << 30;
    *available = 512ull << 20;
    return SUCCESS;
}

API hipMemGetAllocationGranularity(size_t *granule, const void *properties, int which)
{
    *granule = GRANULE;
    return getenv("STANDIN_NO_VMM") ? NOT_SUPPORTED : SUCCESS;
}

API hipMemAddressReserve(void **out, size_t size, size_t align, void *wanted, unsigned long long flags)
{
    INJECTED;
    uint64_t at = (uint64_t)wanted;
    int slot = -1, taken = at < IMAGES - GRANULE || at + size > ARENA + ARENA_SIZE;
    for (int i = 0; i < 64; i++) {
        if (!reserved[i].end)
            slot = i;
        else if (at < reserved[i].end && reserved[i].first < at + size)
            taken = 1;
    }
    if (slot < 0)
        return OUT_OF_MEMORY;
    if (taken)
        at = ARENA + ARENA_SIZE; /* somewhere else, as a runtime may */
    reserved[slot].first = at;
    reserved[slot].end = at + size;
    *out = (void *)at;
    return SUCCESS;
}

API hipMemCreate(void **handle, size_t size, const void *properties, unsigned long long flags)
{
    INJECTED;
    *handle = (void *)1;
    return SUCCESS;
}

API hipMemMap(void *at, size_t size, size_t offset, void *handle, unsigned long long flags) { return SUCCESS; }
API hipMemSetAccess(void *at, size_t size, const void *access, size_t count) { return SUCCESS; }
API hipMemUnmap(void *at, size_t size) { return madvise(at, size, MADV_REMOVE) ? INVALID_VALUE : SUCCESS; }
API hipMemRelease(void *handle) { return SUCCESS; }
API hipMemAddressFree(void *at, size_t size)
{
    for (int i = 0; i < 64; i++)
        if (reserved[i].end == (uint64_t)at + size && reserved[i].first == (uint64_t)at) {
            reserved[i].end = 0;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

API hipMemcpy(void *to, const void *from, size_t size, int kind)
{
    INJECTED;
    memcpy(to, from, size);
    return SUCCESS;
}

API hipMemset(void *at, int byte, size_t size)
{
    INJECTED;
    if (byte == 0)
        return madvise(at, size & ~0xfffull, MADV_REMOVE) ? INVALID_VALUE : SUCCESS;
    memset(at, byte, size);
    return SUCCESS;
}

API hipModuleLoadData(Module **out, const unsigned char *data)
{
    INJECTED;
    uint64_t sections;
    uint16_t entry, count;
    if (memcmp(data, "\177ELF", 4))
        return INVALID_IMAGE;
    if (data[48] != 0x4c) /* EF_AMDGPU_MACH_AMDGCN_GFX942 in e_flags */
        return NO_BINARY;
    memcpy(&sections, data + 40, 8); /* lld puts the section headers last */
    memcpy(&entry, data + 58, 2);
    memcpy(&count, data + 60, 2);
    Module *module = malloc(sizeof *module);
    module->size = sections + (size_t)entry * count;
    module->data = malloc(module->size);
    memcpy(module->data, data, module->size);
    *out = module;
    return SUCCESS;
}

API hipModuleUnload(Module *module)
{
    free(module->data);
    free(module);
    return SUCCESS;
}

API hipModuleGetFunction(Function **out, Module *module, const char *name)
{
    INJECTED;
    Function *function = malloc(sizeof *function);
    function->module = module;
    snprintf(function->name, sizeof function->name, "%s", name);
    *out = function;
    return SUCCESS;
}

static int full(int (*act)(int, void *, size_t), int socket, void *data, size_t size)
{
    for (char *at = data; size; ) {
        int done = act(socket, at, size);
        if (done <= 0)
            return 0;
        at += done;
        size -= done;
    }
    return 1;
}

static int reading(int socket, void *at, size_t size) { return (int)read(socket, at, size); }
static int writing(int socket, void *at, size_t size) { return (int)write(socket, at, size); }

static int connection = -1;

static int simulate(Function *function, unsigned *shape, void *arguments, size_t size, double *microseconds)
{
    struct { uint64_t arena, arena_size, module_size, arguments_size; int32_t process, file; uint32_t shape[7]; char name[256]; } head;
    struct { int32_t status, unused; double microseconds; } answer;
    if (connection < 0) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        connection = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("STANDIN_SOCKET"));
        if (connect(connection, (void *)&address, sizeof address))
            return -1;
    }
    memset(&head, 0, sizeof head);
    head.arena = ARENA;
    head.arena_size = ARENA_SIZE;
    head.module_size = function->module->size;
    head.arguments_size = size;
    head.process = getpid();
    head.file = arena_file;
    memcpy(head.shape, shape, sizeof head.shape);
    strcpy(head.name, function->name);
    if (!full(writing, connection, &head, sizeof head) ||
        !full(writing, connection, function->module->data, function->module->size) ||
        !full(writing, connection, arguments, size) || !full(reading, connection, &answer, sizeof answer))
        return -1;
    *microseconds = answer.microseconds;
    return answer.status;
}

API hipModuleLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, void *stream, void **parameters, void **extra)
{
    INJECTED;
    unsigned shape[7] = { gx, gy, gz, bx, by, bz, lds };
    double microseconds = 0;
    if (parameters || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3)
        return INVALID_VALUE;
    switch (simulate(function, shape, extra[1], *(size_t *)extra[3], &microseconds)) {
    case 0:
        now += microseconds;
        return SUCCESS;
    case 1: /* as ROCr does: it blames the kernel and ends the process */
        fprintf(stderr, "Memory access fault by GPU node-1 (Agent handle: 0x%lx) on address 0x10000000000. "
                "Reason: Page not present or supervisor privilege.\n", (unsigned long)getpid());
        fprintf(stderr, "GPU core dump failed\n");
        abort();
    case 2:
        hanging = 1;
        return SUCCESS;
    default:
        return 999;
    }
}

static int wait_for_all(void)
{
    while (hanging)
        pause();
    return SUCCESS;
}

API hipDeviceSynchronize(void) { INJECTED; return wait_for_all(); }

API hipEventCreate(Event **out)
{
    *out = calloc(1, sizeof **out);
    return SUCCESS;
}

API hipEventRecord(Event *event, void *stream)
{
    event->at = now;
    return SUCCESS;
}

API hipEventSynchronize(Event *event)
{
    int error = fault(__func__);
    if (error == ILLEGAL_ADDRESS || error == LAUNCH_FAILURE)
        failed = error; /* nothing works in this process from now on */
    return error ? error : wait_for_all();
}

API hipEventElapsedTime(float *milliseconds, Event *begin, Event *end)
{
    *milliseconds = (float)((end->at - begin->at) / 1e3);
    return SUCCESS;
}
