// Sorts by CUB's device-wide radix sort, and counts of values by its histogram, timed as girih's are
// (`benches/src/sorting.rs`).
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o cub_sort cub_sort.cu && ./cub_sort
//
// Every measurement is one line of JSON on standard output. The temporary storage is allocated once, before what is timed.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr int SETS = 2;
constexpr int WARMUP = 6;
constexpr int LAUNCHES = 20;
constexpr int WINDOWS = 3;
constexpr int BINS = 256;

void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        std::exit(1);
    }
}

double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    std::size_t middle = times.size() / 2;
    return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

__host__ __device__ std::uint32_t mixed(std::uint32_t position, std::uint32_t seed) {
    std::uint32_t hash = position * 0x9e3779b1u ^ seed;
    hash ^= hash >> 15;
    hash *= 0x85ebca77u;
    return hash ^ hash >> 13;
}

__global__ void fill(std::uint32_t *keys, std::uint32_t *places, std::size_t length, std::uint32_t seed,
                     int shift) {
    std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; at < length;
         at += stride) {
        keys[at] = mixed(static_cast<std::uint32_t>(at), seed) >> shift;
        places[at] = static_cast<std::uint32_t>(at);
    }
}

struct Set {
    std::uint32_t *keys, *places, *keys_out, *places_out;
};

Set make(std::size_t length, std::uint32_t seed, int shift) {
    Set set;
    for (std::uint32_t **buffer : {&set.keys, &set.places, &set.keys_out, &set.places_out}) {
        check(cudaMalloc(buffer, length * sizeof(std::uint32_t)), "memory");
    }
    fill<<<1024, 256>>>(set.keys, set.places, length, seed, shift);
    check(cudaGetLastError(), "launch");
    return set;
}

void release(const Set &set) {
    for (std::uint32_t *buffer : {set.keys, set.places, set.keys_out, set.places_out}) {
        check(cudaFree(buffer), "memory");
    }
}

double between_events(const std::function<void()> &work) {
    cudaEvent_t start, end;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&end), "event");
    check(cudaEventRecord(start), "event");
    work();
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "launch");
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, start, end), "event");
    check(cudaEventDestroy(start), "event");
    check(cudaEventDestroy(end), "event");
    return milliseconds * 1e3;
}

// Asks `call` for its temporary storage, then times it on the sets in turn, and prints the line.
using Call = std::function<cudaError_t(void *, std::size_t &, const Set &)>;
void measure(const char *op, const char *way, std::size_t length, std::size_t bytes,
             const std::vector<Set> &sets, const Call &call) {
    std::size_t size = 0;
    void *storage = nullptr;
    check(call(nullptr, size, sets[0]), "size");
    check(cudaMalloc(&storage, size), "memory");
    int turn = 0;
    auto launch = [&] { check(call(storage, size, sets[turn++ % SETS]), "launch"); };
    for (int warm = 0; warm < WARMUP; ++warm) {
        launch();
    }
    check(cudaDeviceSynchronize(), "launch");
    std::vector<double> singles, windows, enqueued;
    for (int single = 0; single < LAUNCHES; ++single) {
        singles.push_back(between_events(launch));
    }
    for (int window = 0; window < WINDOWS; ++window) {
        double time = between_events([&] {
            auto start = std::chrono::steady_clock::now();
            for (int single = 0; single < LAUNCHES; ++single) {
                launch();
            }
            std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
            enqueued.push_back(spent.count() / LAUNCHES);
        });
        windows.push_back(time / LAUNCHES);
    }
    check(cudaFree(storage), "memory");
    double window = median(windows);
    std::printf("{\"peer\": \"cub\", \"op\": \"%s\", \"dtype\": \"u32\", \"rows\": %zu, \"columns\": 1, "
                "\"data\": \"uniform\", \"way\": \"%s\", \"bytes\": %zu, \"median_us\": %.3f, "
                "\"window_us\": %.3f, \"enqueue_us\": %.3f, \"items_per_ns\": %.3f}\n",
                op, way, length, bytes, median(singles), window, median(enqueued), length / window / 1e3);
    std::fflush(stdout);
}

// The outputs are in order, and pairs are the input's.
void verify(const Set &set, std::size_t length, std::uint32_t seed, bool pairs) {
    std::vector<std::uint32_t> keys(length), places(length);
    std::size_t bytes = length * sizeof(std::uint32_t);
    check(cudaMemcpy(keys.data(), set.keys_out, bytes, cudaMemcpyDeviceToHost), "copy");
    check(cudaMemcpy(places.data(), set.places_out, bytes, cudaMemcpyDeviceToHost), "copy");
    for (std::size_t at = 0; at < length; ++at) {
        bool in_order = at == 0 || keys[at - 1] <= keys[at];
        if (!in_order || (pairs && mixed(places[at], seed) != keys[at])) {
            std::fprintf(stderr, "cub sorted wrongly at %zu of %zu\n", at, length);
            std::exit(1);
        }
    }
}

void of_length(std::size_t length) {
    std::vector<Set> sets;
    for (int set = 0; set < SETS; ++set) {
        sets.push_back(make(length, set + 1, 0));
    }
    measure("sort_keys", "DeviceRadixSort::SortKeys", length, 8 * length, sets,
            [&](void *storage, std::size_t &size, const Set &set) {
                return cub::DeviceRadixSort::SortKeys(storage, size, set.keys, set.keys_out, length);
            });
    verify(sets[0], length, 1, false);
    measure("sort_pairs", "DeviceRadixSort::SortPairs", length, 16 * length, sets,
            [&](void *storage, std::size_t &size, const Set &set) {
                return cub::DeviceRadixSort::SortPairs(storage, size, set.keys, set.keys_out, set.places,
                                                       set.places_out, length);
            });
    verify(sets[1], length, 2, true);
    for (const Set &set : sets) {
        release(set);
    }
    sets.clear();
    for (int set = 0; set < SETS; ++set) {
        sets.push_back(make(length, set + 1, 24));
    }
    measure("bincount", "DeviceHistogram::HistogramEven", length, 4 * length, sets,
            [&](void *storage, std::size_t &size, const Set &set) {
                return cub::DeviceHistogram::HistogramEven(storage, size, set.keys, set.places_out, BINS + 1,
                                                           0u, static_cast<unsigned>(BINS),
                                                           static_cast<int>(length));
            });
    for (const Set &set : sets) {
        release(set);
    }
}

} // namespace

int main() {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "device");
    std::printf("{\"gpu\": \"%s\", \"cub\": \"%d.%d.%d\"}\n", properties.name, CUB_MAJOR_VERSION,
                CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    for (int log : {20, 24, 28}) {
        of_length(std::size_t(1) << log);
    }
    return 0;
}
