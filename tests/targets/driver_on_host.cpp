// CUDA's runtime and driver for one device that is the host, as far as CuPy calls them; `cupy_on_host.py` leads CuPy here.
//
// Work is done when it is enqueued; a stream that captures keeps it for its graph instead. What would be an error on a device is one here:
// copies to or from what is no memory of the device, waiting for a stream that captures, launches that no device does. Memory begins with
// all bits set, and ends where a page begins that nobody may touch. What is not here names itself on stderr and fails.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#define VISIBLE extern "C" __attribute__((visibility("default")))
#define RUNTIME(name) VISIBLE int host_##name  // for CuPy's `name`, which is led here
#define DRIVER(name) VISIBLE int name          // found by its name

enum Status {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, ILLEGAL_STATE = 401,
    NOT_FOUND = 500, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_ISOLATION = 905,
};
enum Direction { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE };
const int ALIGNED = 512, PAGE = 4096, DEFAULT_SHARED = 48 << 10, MOST_SHARED = 227 << 10;

typedef std::function<int()> Work;
typedef std::vector<Work> Graph;
struct Stream { Graph *kept; };  // while it captures
struct Function { std::string name; int number, most_shared; std::vector<size_t> sizes; };

static std::map<char *, size_t> memory;
static size_t in_use, limit = (size_t)8 << 30;
static int last_error;

// In Python: a module's number for an image; a function's for a name in a module, with the sizes of its parameters; running it.
static struct Hooks {
    size_t (*load)(const void *image);
    int (*find)(size_t module, const char *name, size_t *sizes, int *count);
    int (*run)(int function, const unsigned *grid, unsigned threads, void **arguments);
} hooks;
VISIBLE void set_hooks(Hooks given) { hooks = given; }

static int fail(int status, const char *what) {
    fprintf(stderr, "the device on the host: %s\n", what);
    return last_error = status;
}
VISIBLE int unsupported(const char *name) { return fail(NOT_SUPPORTED, name); }

static Graph *captured(void *stream) { return (uintptr_t)stream < 3 ? nullptr : ((Stream *)stream)->kept; }  // 0, 1, 2: the default ones
static int enqueue(void *stream, Work work) {
    if (Graph *graph = captured(stream)) return graph->push_back(work), SUCCESS;
    return work();
}
static int done(int status) { return last_error = status; }

// ---- the device

RUNTIME(cudaDriverGetVersion)(int *version) { return *version = 13000, SUCCESS; }
RUNTIME(cudaRuntimeGetVersion)(int *version) { return *version = 13000, SUCCESS; }
RUNTIME(cudaGetDeviceCount)(int *count) { return *count = 1, SUCCESS; }
RUNTIME(cudaGetDevice)(int *device) { return *device = 0, SUCCESS; }
RUNTIME(cudaSetDevice)(int device) { return device ? done(INVALID_DEVICE) : SUCCESS; }
RUNTIME(cudaDeviceSynchronize)() { return SUCCESS; }
RUNTIME(cudaGetLastError)() { int error = last_error; return last_error = SUCCESS, error; }
RUNTIME(cudaPeekAtLastError)() { return last_error; }
RUNTIME(cudaDeviceCanAccessPeer)(int *can, int, int) { return *can = 0, SUCCESS; }
RUNTIME(cudaGetDeviceProperties)(char *properties, int) { return strcpy(properties, "host"), SUCCESS; }
RUNTIME(cudaDeviceGetAttribute)(int *value, int attribute, int) {
    static const std::map<int, int> known = {
        {1, 1024}, {5, 2147483647}, {8, DEFAULT_SHARED}, {10, 32}, {16, 132}, {75, 9}, {76, 0}, {97, MOST_SHARED}, {115, 1},
    };
    const auto found = known.find(attribute);
    return *value = found == known.end() ? 0 : found->second, SUCCESS;
}
VISIBLE const char *host_cudaGetErrorName(int status) { return status == OUT_OF_MEMORY ? "cudaErrorMemoryAllocation" : "cudaErrorOfTheHost"; }
VISIBLE const char *host_cudaGetErrorString(int status) { return status == OUT_OF_MEMORY ? "out of memory" : "said on stderr"; }

// ---- memory

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1); }
VISIBLE char *block_of(char *p, size_t *bytes) {
    auto after = memory.upper_bound(p);
    if (after == memory.begin() || p >= (--after)->first + whole_pages(after->second)) return nullptr;
    return *bytes = whole_pages(after->second), after->first;
}
static bool on_device(const void *p, size_t bytes) {
    size_t whole;
    const char *start = block_of((char *)p, &whole);
    return !bytes || (start && (char *)p + bytes <= start + whole);
}

RUNTIME(cudaMalloc)(void **p, size_t bytes) {
    if (in_use + bytes > limit) return done(OUT_OF_MEMORY);
    const size_t whole = whole_pages(bytes);
    char *made = (char *)mmap(nullptr, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return done(OUT_OF_MEMORY);
    mprotect(made + whole, PAGE, PROT_NONE);
    memset(made, 0xff, whole);
    in_use += memory[made] = bytes;
    return *p = made, SUCCESS;
}
RUNTIME(cudaFree)(void *p) {
    if (!p) return SUCCESS;
    const auto found = memory.find((char *)p);
    if (found == memory.end()) return fail(INVALID_VALUE, "memory is freed that was never allocated");
    in_use -= found->second;
    munmap(p, whole_pages(found->second) + PAGE);
    return memory.erase(found), SUCCESS;
}
RUNTIME(cudaHostAlloc)(void **p, size_t bytes, unsigned) { return *p = malloc(bytes), SUCCESS; }
RUNTIME(cudaFreeHost)(void *p) { return free(p), SUCCESS; }
RUNTIME(cudaMemGetInfo)(size_t *free_bytes, size_t *all) { return *free_bytes = limit - in_use, *all = limit, SUCCESS; }
struct PointerAttributes { int type, device; void *on_device, *on_host; long reserved[8]; };
RUNTIME(cudaPointerGetAttributes)(PointerAttributes *attributes, void *p) {
    return *attributes = PointerAttributes{on_device(p, 1) ? 2 : 0, 0, p, nullptr, {}}, SUCCESS;
}

RUNTIME(cudaMemcpyAsync)(void *to, const void *from, size_t bytes, int direction, void *stream) {
    const bool to_device = direction == HOST_TO_DEVICE || direction == DEVICE_TO_DEVICE;
    const bool from_device = direction == DEVICE_TO_HOST || direction == DEVICE_TO_DEVICE;
    if (to_device && !on_device(to, bytes)) return fail(INVALID_VALUE, "a copy to what is no memory of the device");
    if (from_device && !on_device(from, bytes)) return fail(INVALID_VALUE, "a copy from what is no memory of the device");
    return enqueue(stream, [=] { return memmove(to, from, bytes), SUCCESS; });
}
RUNTIME(cudaMemcpy)(void *to, const void *from, size_t bytes, int direction) { return host_cudaMemcpyAsync(to, from, bytes, direction, nullptr); }
RUNTIME(cudaMemsetAsync)(void *p, int value, size_t bytes, void *stream) {
    if (!on_device(p, bytes)) return fail(INVALID_VALUE, "what is no memory of the device is filled");
    return enqueue(stream, [=] { return memset(p, value, bytes), SUCCESS; });
}
RUNTIME(cudaMemset)(void *p, int value, size_t bytes) { return host_cudaMemsetAsync(p, value, bytes, nullptr); }

// ---- streams, events, graphs

RUNTIME(cudaStreamCreate)(Stream **s) { return *s = new Stream{nullptr}, SUCCESS; }
RUNTIME(cudaStreamCreateWithFlags)(Stream **s, unsigned) { return host_cudaStreamCreate(s); }
RUNTIME(cudaStreamCreateWithPriority)(Stream **s, unsigned, int) { return host_cudaStreamCreate(s); }
RUNTIME(cudaStreamDestroy)(Stream *) { return SUCCESS; }
RUNTIME(cudaStreamSynchronize)(void *s) { return captured(s) ? fail(CAPTURE_UNSUPPORTED, "a stream that captures is waited for") : SUCCESS; }
RUNTIME(cudaStreamQuery)(void *s) { return host_cudaStreamSynchronize(s); }
RUNTIME(cudaStreamWaitEvent)(void *s, void *, unsigned) {
    return captured(s) ? fail(CAPTURE_ISOLATION, "a stream that captures waits for an event of another one") : SUCCESS;
}
RUNTIME(cudaEventCreate)(void **event) { return *event = new int, SUCCESS; }
RUNTIME(cudaEventCreateWithFlags)(void **event, unsigned) { return host_cudaEventCreate(event); }
RUNTIME(cudaEventDestroy)(int *event) { return delete event, SUCCESS; }
RUNTIME(cudaEventRecord)(void *, void *) { return SUCCESS; }
RUNTIME(cudaEventQuery)(void *) { return SUCCESS; }
RUNTIME(cudaEventSynchronize)(void *) { return SUCCESS; }
RUNTIME(cudaEventElapsedTime)(float *milliseconds, void *, void *) { return *milliseconds = 1.0f, SUCCESS; }
RUNTIME(cudaStreamBeginCapture)(void *s, int) {
    if ((uintptr_t)s < 3 || captured(s)) return fail(CAPTURE_UNSUPPORTED, "a default stream, or one that captures, is to capture");
    return ((Stream *)s)->kept = new Graph, SUCCESS;
}
RUNTIME(cudaStreamEndCapture)(Stream *s, Graph **graph) {
    if (!captured(s)) return fail(ILLEGAL_STATE, "the end of a capture that was not begun");
    *graph = s->kept;
    return s->kept = nullptr, SUCCESS;
}
RUNTIME(cudaStreamIsCapturing)(void *s, int *capturing) { return *capturing = captured(s) != nullptr, SUCCESS; }
RUNTIME(cudaGraphInstantiate)(Graph **made, Graph *graph, unsigned long long) { return *made = new Graph(*graph), SUCCESS; }
RUNTIME(cudaGraphDestroy)(Graph *graph) { return delete graph, SUCCESS; }
RUNTIME(cudaGraphExecDestroy)(Graph *graph) { return delete graph, SUCCESS; }
RUNTIME(cudaGraphLaunch)(Graph *graph, void *) {
    int status = SUCCESS;
    for (Work &work : *graph) status = status ? status : work();
    return status;
}

// ---- modules and kernels

DRIVER(cuInit)(unsigned) { return NO_DEVICE; }  // which NVRTC asks
DRIVER(cuGetExportTable)(const void **, const void *) { return NOT_SUPPORTED; }
DRIVER(cuGetErrorName)(int, const char **text) { return *text = "CUDA_ERROR_OF_THE_HOST", SUCCESS; }
DRIVER(cuGetErrorString)(int, const char **text) { return *text = "said on stderr", SUCCESS; }
DRIVER(cuCtxGetCurrent)(void **context) { return *context = &hooks, SUCCESS; }
DRIVER(cuCtxGetDevice)(int *device) { return *device = 0, SUCCESS; }
DRIVER(cuModuleLoadData)(size_t *module, const void *image) { return (*module = hooks.load(image)) ? SUCCESS : fail(INVALID_IMAGE, "an unknown image"); }
DRIVER(cuModuleUnload)(void *) { return SUCCESS; }
DRIVER(cuModuleGetFunction)(Function **found, size_t module, const char *name) {
    size_t sizes[1024];
    int count = 0;
    const int number = hooks.find(module, name, sizes, &count);
    if (number < 0) return fail(NOT_FOUND, name);
    return *found = new Function{name, number, DEFAULT_SHARED, std::vector<size_t>(sizes, sizes + count)}, SUCCESS;
}
DRIVER(cuFuncGetAttribute)(int *value, int attribute, Function *f) { return *value = attribute == 0 ? 1024 : attribute == 8 ? f->most_shared : 0, SUCCESS; }
DRIVER(cuFuncSetAttribute)(Function *f, int attribute, int value) {
    if (attribute != 8) return SUCCESS;  // of dynamic shared memory
    if (value > MOST_SHARED) return fail(INVALID_VALUE, "more shared memory than there is");
    return f->most_shared = value, SUCCESS;
}
DRIVER(cuLaunchKernel)(
    Function *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
    void **arguments, void **extra
) {
    const bool plain = z == 1 && threads_y == 1 && threads_z == 1 && !extra;
    if (!plain || !x || x > 2147483647u || !y || y > 65535 || !threads || threads > 1024 || (int)shared > f->most_shared)
        return fail(INVALID_VALUE, ("a launch that no device does: " + f->name).c_str());
    std::vector<std::vector<char>> given;  // as they are now
    for (size_t k = 0; k < f->sizes.size(); k++) given.emplace_back((char *)arguments[k], (char *)arguments[k] + f->sizes[k]);
    return enqueue(stream, [=]() mutable {
        std::vector<void *> places;
        for (auto &argument : given) places.push_back(argument.data());
        const unsigned grid[2] = {x, y};
        return hooks.run(f->number, grid, threads, places.data()) ? fail(LAUNCH_FAILED, f->name.c_str()) : SUCCESS;
    });
}
