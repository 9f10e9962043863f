/* Names of functions: their parts, whose they are, and how they are shortened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/run/function_name.h"
#include "tests/analyzer/lab/random_below.h"

#define THREAD "std::thread::_State_impl<std::thread::_Invoker<std::tuple<"
#define VECTOR "std::vector<float, std::allocator<float> >"

static void test_name(void **state)
{
    static const struct {
        const char *function, *name;
    } rows[] = {
        {"main", "main"},
        {"step(int)", "step"},
        {"void fetch<int>(" VECTOR "&, int const*)", "fetch<int>"},
        {"unsigned int const* Pool::get<(Kind)2>(int)", "Pool::get<(Kind)2>"},
        {"(anonymous namespace)::upload(void*)", "(anonymous namespace)::upload"},
        {"void (anonymous namespace)::put<int>(int)", "(anonymous namespace)::put<int>"},
        {"Tensor::operator()(int) const", "Tensor::operator()"},
        {"bool operator< <int>(A<int> const&)", "operator< <int>"},
        {"Tensor::operator float*() const", "Tensor::operator float*"},
        {"main::{lambda(int, A<int>)#2}::operator()(int) const",
         "main::{lambda(int, A<int>)#2}::operator()"},
        {"Solver::solve(" VECTOR "&) [clone .isra.0]", "Solver::solve"},
        {"step [clone .cold]", "step"},
        {"operators(int)", "operators"},
        {"<module>", "<module>"},
        {"f<(a > b)>(int)", "f<(a > b)>"},
        {"", ""},
        {">>>)))", ">>>)))"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct xfa_function_name name = xfa_function_name(rows[i].function);
        char *text = strndup(name.start, (size_t)name.bytes);
        assert_string_equal(text, rows[i].name);
        free(text);
    }
}

static void test_of_library(void **state)
{
    static const char *const theirs[] = {
        "std::vector<int>::~vector()",
        "void thrust::V1::copy<int*>(int*)",
        "cub::DeviceReduce::Sum(int)",
        "cuda::std::span<int>::span()",
        "std::unique_ptr<A> std::make_unique<A>()",
    };
    static const char *const ours[] = {
        "thrust::device_vector<int> make<int>(int)",
        "fill(std::vector<int>&)",
        "stdlib_copy()",
        "cuda::Buffer::upload()",
        "main",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        assert_true(xfa_function_of_library(theirs[i]));
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_false(xfa_function_of_library(ours[i]));
    assert_false(xfa_function_of_library(NULL));
}

static void test_short(void **state)
{
    static const struct {
        const char *function, *brief;
    } rows[] = {
        {"Encryptor::encrypt(unsigned char const*, unsigned char*)",
         "Encryptor::encrypt(unsigned char const*, unsigned char*)"},
        {"Encryptor::encrypt(unsigned char const*, unsigned char*, unsigned long)",
         "Encryptor::encrypt(...)"},
        {"void fetch<unsigned long long>(std::vector<unsigned long long>&)",
         "fetch<unsigned long long>(...)"},
        {"Cache<" VECTOR ", " VECTOR ">::~Cache()", "Cache<...>::~Cache()"},
        {"void A<" VECTOR ">::set<" VECTOR ">(int)", "A<...>::set<...>(...)"},
        {"bool operator<< <" VECTOR ", int>(" VECTOR "&)", "operator<< <" VECTOR ", int>(...)"},
        {THREAD "main::{lambda()#1}> > >::_M_run()", "main::{lambda()#1}"},
        {THREAD "void (*)(int, A<int>), int, A<int> > > >::_M_run()", "void (*)(int, A<int>)"},
        {THREAD "Worker<A<int>, 2>, int> > >::_M_run()", "Worker<A<int>, 2>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *brief = xfa_function_short(rows[i].function);
        assert_string_equal(brief, rows[i].brief);
        free(brief);
    }
}

/* Whatever a trace says: within the text, and never without end. */
static void test_any_text(void **state)
{
    static const char *const parts[] = {
        "<",     ">",       "(", ")",     "{", "}", " ",  "operator",
        "std::", "[clone ", "a", THREAD,  ",", ":", "()", "(anonymous namespace)",
        "[",     "]",       "_", "void ", "&", "-", "->", "operator()"};
    uint64_t seed = 5;
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        char text[1024] = "";
        for (uint64_t i = random_below(&seed, 40); i > 0 && strlen(text) < 900; i--)
            strcat(text, parts[random_below(&seed, sizeof parts / sizeof *parts)]);
        const struct xfa_function_name name = xfa_function_name(text);
        assert_true(name.start >= text && name.bytes >= 0);
        assert_true((size_t)(name.start - text) + (size_t)name.bytes <= strlen(text));
        (void)xfa_function_of_library(text);
        char *brief = xfa_function_short(text);
        assert_true(strlen(brief) > 0 || !*text);
        free(brief);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_of_library),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_any_text),
    };
    return cmocka_run_group_tests_name("names of functions", tests, NULL, NULL);
}
