/*
 * What is said about a machine: from trees of files made here, and from a management library whose
 * every answer is known (fake_nvml.c, found through LD_LIBRARY_PATH).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "probe/machine/machine.h"
#include "probe/machine/machine_host.h"
#include "probe/machine/nvml.h"
#include "probe/profile/profile_machine.h"

static char root[64];

/* Writes a file of the tree, its folders too. */
static void put(const char *path, const char *text)
{
    char name[512];
    FILE *file;

    snprintf(name, sizeof(name), "%s%s", root, path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_tree(void **state)
{
    strcpy(root, "/tmp/xferscope-machine-XXXXXX");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_tree(void **state)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -r '%s'", root);
    return system(command);
}

#define CPU "/sys/devices/system/cpu/cpu"

static void make_server(void)
{
    put(CPU "0/cpufreq/scaling_governor", "performance\n");
    put(CPU "1/cpufreq/scaling_governor", "performance\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("/sys/module/nvidia/version", "580.1.2\n");
    put("/sys/class/dmi/id/sys_vendor", "Maker\n");
    put("/proc/cpuinfo", "processor : 0\nflags\t\t: fpu sse2 clflushopt\n");
    put("/proc/loadavg", "0.20 0.10 0.00 1/200 300\n");
    put("/proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 5000 kB\n"
                         "SwapFree: 4000 kB\n");
    put("/usr/local/cuda/version.json",
        "{\"cuda\": {\"name\": \"CUDA SDK\", \"version\": \"12.8.1\"}}");
}

static void a_server_is_described(void **state)
{
    struct xfp_machine m = {.cpus = 2, .numa_nodes = 1};
    char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES];

    make_server();
    xfp_read_host(root, &m);
    assert_string_equal(m.governor, "performance");
    assert_string_equal(m.huge_pages, "madvise");
    assert_string_equal(m.hypervisor, "none");
    assert_string_equal(m.driver_release, "580.1.2");
    assert_int_equal(m.toolkit_version, 12080);
    assert_non_null(strstr(m.kernel, "Linux"));
    assert_true(m.memlock_bytes == XFP_NO_LIMIT || m.memlock_bytes >= 0);
    assert_int_equal(xfp_host_troubles(root, &m, text), 0);
    xfp_free_machine(&m);
}

/* An empty tree: a container that shows nothing, another architecture. */
static void what_is_not_there_is_not_known(void **state)
{
    struct xfp_machine m = {.cpus = 2, .numa_nodes = 2};
    char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES];

    xfp_read_host(root, &m);
    assert_string_equal(m.governor, "");
    assert_string_equal(m.huge_pages, "");
    assert_string_equal(m.hypervisor, "");
    assert_string_equal(m.driver_release, "");
    assert_int_equal(m.toolkit_version, 0);
    assert_int_equal(xfp_host_troubles(root, &m, text), 0);
    xfp_free_machine(&m);
}

static void every_trouble_is_one_line(void **state)
{
    static const char *const says[] = {"\"mixed\"", "200 MiB available", "load 3.0 on 2",
                                       "NUMA balancing"};
    struct xfp_machine m = {.cpus = 2, .numa_nodes = 2};
    char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES];

    make_server();
    put(CPU "1/cpufreq/scaling_governor", "powersave\n");
    put("/proc/cpuinfo", "flags : fpu hypervisor sse2\n");
    put("/proc/loadavg", "3.00 1.00 0.00 1/200 300\n");
    put("/proc/meminfo", "MemTotal: 4096000 kB\nMemAvailable: 204800 kB\nSwapTotal: 5000 kB\n"
                         "SwapFree: 0 kB\n");
    put("/proc/sys/kernel/numa_balancing", "1\n");
    xfp_read_host(root, &m);
    assert_string_equal(m.hypervisor, "Maker");
    assert_int_equal(xfp_host_troubles(root, &m, text), XFP_HOST_TROUBLES);
    for (size_t i = 0; i < XFP_HOST_TROUBLES; i++) {
        assert_non_null(strstr(text[i], says[i]));
        assert_null(strchr(text[i], '\n'));
    }
    xfp_free_machine(&m);
}

static void a_toolkit_of_headers_has_a_version(void **state)
{
    struct xfp_machine m = {.cpus = 1, .numa_nodes = 1};

    put("/usr/local/cuda/include/cuda.h",
        "#ifndef X\n#define CUDA_VERSION_OLD 1\n#define CUDA_VERSION 12060\n");
    xfp_read_host(root, &m);
    assert_int_equal(m.toolkit_version, 12060);
    xfp_free_machine(&m);
}

static void memory_is_what_the_system_and_the_container_leave(void **state)
{
    assert_true(xfp_available_memory(root) == UINT64_MAX);
    put("/proc/meminfo", "MemTotal: 4000 kB\nMemAvailable: 3000 kB\n");
    assert_int_equal(xfp_available_memory(root), 3000 * 1024);
    put("/sys/fs/cgroup/memory.max", "max\n");
    put("/sys/fs/cgroup/memory.current", "1000\n");
    assert_int_equal(xfp_available_memory(root), 3000 * 1024);
    put("/sys/fs/cgroup/memory.max", "5000\n");
    assert_int_equal(xfp_available_memory(root), 4000);
    put("/sys/fs/cgroup/memory.stat", "anon 400\ninactive_file 600\n");
    assert_int_equal(xfp_available_memory(root), 4600);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "9500\n");
    assert_int_equal(xfp_available_memory(root), 0);
}

static void odd_files_do_no_harm(void **state)
{
    struct xfp_machine m = {.cpus = 1, .numa_nodes = 1};
    char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES], name[512];

    put("/usr/local/cuda/version.json", "{\"cuda\": {\"version\": \"x.y\"}}");
    put("/usr/local/cuda/include/cuda.h", "#define CUDA_VERSION many\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise never\n");
    put("/proc/meminfo", "MemTotal: many kB\n");
    put(CPU "0/cpufreq/scaling_governor", "\033[2Jodd\n");
    put("/proc/loadavg", "");
    snprintf(name, sizeof(name), "%s/sys/module/nvidia/version", root);
    put("/sys/module/nvidia/x", "");
    mkdir(name, 0700); /* a folder where a file should be */
    xfp_read_host(root, &m);
    assert_int_equal(m.toolkit_version, 0);
    assert_string_equal(m.huge_pages, "");
    assert_string_equal(m.governor, "?[2Jodd");
    assert_string_equal(m.driver_release, "");
    assert_int_equal(xfp_host_troubles(root, &m, text), 1);
    xfp_free_machine(&m);
}

static void the_management_library_is_asked(void **state)
{
    char pci[] = "0000:18:00.0", other[] = "0000:19:00.0", driver[32];
    struct xfp_gpu gpu = {.pci = pci, .nvlinks = -1, .ecc = -1, .mig = -1};
    struct xfp_gpu_use use;

    xfp_nvml_open();
    xfp_nvml_driver(driver, sizeof(driver));
    assert_string_equal(driver, "999.12.3");
    xfp_nvml_describe(&gpu, &use);
    assert_int_equal(use.processes, 1);
    assert_int_equal(use.percent, 37);
    assert_int_equal(gpu.pcie_max_gen, 5);
    assert_int_equal(gpu.pcie_max_width, 16);
    assert_int_equal(gpu.pcie_gen, 0); /* nobody has used it yet */
    assert_int_equal(gpu.nvlinks, 2);
    assert_int_equal(gpu.nvlink_version, 4);
    assert_int_equal(gpu.ecc, 1);
    assert_int_equal(gpu.mig, 0);
    for (int i = 0; i < 3; i++)
        xfp_nvml_see_link(&gpu);
    assert_int_equal(gpu.pcie_gen, 4); /* the best of three looks */
    assert_int_equal(gpu.pcie_width, 8);
    assert_string_equal(xfp_nvml_slowed(&gpu), "too hot");

    gpu = (struct xfp_gpu){.pci = other, .nvlinks = -1, .ecc = -1, .mig = -1};
    xfp_nvml_describe(&gpu, &use);
    xfp_nvml_see_link(&gpu);
    assert_int_equal(use.processes, -1);
    assert_int_equal(use.percent, -1);
    assert_int_equal(gpu.nvlinks, -1);
    assert_int_equal(gpu.ecc, -1);
    assert_int_equal(gpu.pcie_gen, 0);
    assert_string_equal(xfp_nvml_slowed(&gpu), "");
    xfp_nvml_close();
    xfp_nvml_driver(driver, sizeof(driver));
    assert_string_equal(driver, "");
}

/* What was seen of links and clocks, judged when all is measured. */
static void a_narrow_link_and_a_hot_gpu_are_warnings(void **state)
{
    char pci[] = "0000:18:00.0", other[] = "0000:19:00.0";
    struct xfp_gpu gpus[] = {
        {.pci = pci, .pcie_gen = 4, .pcie_width = 8, .pcie_max_gen = 5, .pcie_max_width = 16},
        {.pci = other, .pcie_gen = 5, .pcie_width = 16, .pcie_max_gen = 5, .pcie_max_width = 16},
        {.pci = other, .pcie_max_gen = 5, .pcie_max_width = 16}, /* never used: nothing is known */
    };
    struct xfp_profile profile = {.machine = {.gpu_count = 3, .gpus = gpus}};
    struct xfp_session session = {.profile = &profile, .sys.warn = xfp_session_warn};

    session.sys.warned = &session;
    xfp_nvml_open();
    xfp_judge_gpus(&session);
    assert_int_equal(profile.warning_count, 2);
    assert_string_equal(profile.warnings[0],
                        "GPU 0: its PCIe link ran at generation 4 x8, of 5 x16");
    assert_string_equal(profile.warnings[1], "GPU 0: its clocks are held down (too hot)");
    profile.machine.simulated = true;
    xfp_judge_gpus(&session);
    assert_int_equal(profile.warning_count, 2);
    for (size_t i = 0; i < profile.warning_count; i++)
        free(profile.warnings[i]);
    free(profile.warnings);
    xfp_nvml_close();
}

/* All that is known about a machine comes back from its file. */
static void a_machine_survives_its_file(void **state)
{
    static const char text[] =
        "{\"schema\":\"xferscope-profile\",\"version\":1,\"paths\":[],"
        "\"rules\":{\"paper\":true,\"flushed\":true,\"verified\":false,\"seconds\":12.5},"
        "\"machine\":{\"hostname\":\"h\",\"driver_release\":\"580.1\",\"toolkit_version\":13000,"
        "\"kernel\":\"Linux 6\",\"governor\":\"performance\",\"huge_pages\":\"never\","
        "\"hypervisor\":\"KVM\",\"memlock_bytes\":-1,"
        "\"nodes\":[{\"node\":1,\"cpus\":8,\"memory_bytes\":1024}],"
        "\"gpus\":[{\"name\":\"g\",\"pcie\":{\"gen\":4,\"width\":8,\"max_gen\":5,\"max_width\":16},"
        "\"nvlinks\":0,\"ecc\":true,\"peers\":[1,3]}]}}";
    char error[256], name[128];
    struct xfp_profile *p = xfp_parse(text, strlen(text), error, sizeof(error));
    const struct xfp_gpu *g;

    assert_non_null(p);
    snprintf(name, sizeof(name), "%s/m.json", root);
    assert_int_equal(xfp_save(p, name, error, sizeof(error)), 0);
    xfp_free(p);
    p = xfp_read_file(name, error, sizeof(error));
    assert_non_null(p);
    g = &p->machine.gpus[0];
    assert_true(p->rules.known && p->rules.paper && p->rules.flushed && !p->rules.verified);
    assert_true(p->rules.seconds == 12.5);
    assert_string_equal(p->machine.driver_release, "580.1");
    assert_string_equal(p->machine.kernel, "Linux 6");
    assert_string_equal(p->machine.governor, "performance");
    assert_string_equal(p->machine.huge_pages, "never");
    assert_string_equal(p->machine.hypervisor, "KVM");
    assert_int_equal(p->machine.toolkit_version, 13000);
    assert_int_equal(p->machine.memlock_bytes, XFP_NO_LIMIT);
    assert_int_equal(p->machine.node_count, 1);
    assert_int_equal(p->machine.nodes[0].cpus, 8);
    assert_int_equal(g->pcie_gen * 1000 + g->pcie_width * 100 + g->pcie_max_gen, 4805);
    assert_int_equal(g->pcie_max_width, 16);
    assert_int_equal(g->nvlinks, 0);
    assert_int_equal(g->ecc, 1);
    assert_int_equal(g->mig, -1);
    assert_int_equal(g->peer_count, 2);
    assert_int_equal(g->peers[1], 3);
    xfp_free(p);
}

static void a_profile_without_rules_has_none(void **state)
{
    static const char text[] =
        "{\"schema\":\"xferscope-profile\",\"version\":1,\"paths\":[],\"machine\":{}}";
    char error[256];
    struct xfp_profile *p = xfp_parse(text, strlen(text), error, sizeof(error));

    assert_non_null(p);
    assert_false(p->rules.known);
    xfp_free(p);
}

static const struct hostile {
    const char *machine, *says;
} hostile[] = {
    {"{\"gpus\":[{\"pcie\":7}]}", "machine.gpus[0].pcie: must be an object"},
    {"{\"gpus\":[{\"pcie\":{\"gen\":-1}}]}", "gen: -1"},
    {"{\"gpus\":[{\"peers\":[\"a\"]}]}", "machine.gpus[0].peers: must be numbers"},
    {"{\"gpus\":[{\"peers\":[999]}]}", "machine.gpus[0].peers: must be numbers"},
    {"{\"gpus\":[{\"ecc\":1}]}", "ecc: must be true or false"},
    {"{\"nodes\":[3]}", "machine.nodes[0]: must be an object"},
    {"{\"memlock_bytes\":-2}", "memlock_bytes: -2"},
    {"{\"kernel\":\"\\u001b[2J\"}", "kernel: has control characters"},
};

static void a_hostile_machine_is_one_clear_line(void **state)
{
    char text[512], error[256];

    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        snprintf(text, sizeof(text),
                 "{\"schema\":\"xferscope-profile\",\"version\":1,\"paths\":[],\"machine\":%s}",
                 hostile[i].machine);
        assert_null(xfp_parse(text, strlen(text), error, sizeof(error)));
        if (!strstr(error, hostile[i].says))
            fail_msg("%s: %s", hostile[i].machine, error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_server_is_described, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_known, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(every_trouble_is_one_line, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(a_toolkit_of_headers_has_a_version, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(memory_is_what_the_system_and_the_container_leave,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(odd_files_do_no_harm, make_tree, remove_tree),
        cmocka_unit_test(the_management_library_is_asked),
        cmocka_unit_test(a_narrow_link_and_a_hot_gpu_are_warnings),
        cmocka_unit_test_setup_teardown(a_machine_survives_its_file, make_tree, remove_tree),
        cmocka_unit_test(a_profile_without_rules_has_none),
        cmocka_unit_test(a_hostile_machine_is_one_clear_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
