/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_verify.c: what `shoal verify` says of results that differ in one thing, in the same and in other units.
 */
#define _GNU_SOURCE 1
#include "result_fixture.h"
#include "core/formats/table.h"
#include "core/report/report.h"

/* Two systems of three bodies at t = 10 with a snapshot each at 5. */
static shoal_result *make_result(const fixture *at, double length, double time)
{
    shoal_result *result = NULL;
    assert_int_equal(shoal_result_create(at->context, 2, 3, 0, &result), SHOAL_OK);
    assert_int_equal(shoal_units_init(at->context, NULL, NULL, NULL, NAN, &result->units), SHOAL_OK);
    result->units.length = length;
    result->units.time = time;
    double row[3][SHOAL_STATE];
    for (int b = 0; b < 3; b++) {
        strcpy(result->body_name[b], (const char *[]){"star", "b", "c"}[b]);
        for (int q = 0; q < SHOAL_STATE; q++)
            row[b][q] = q == 0 ? 1 : q > 3 ? b * (q == 5) * time / length : b * (q == 1) / length;
    }
    for (int64_t s = 0; s < 2; s++) {
        const double half = 5 / time;
        result->id[s] = 10 + s;
        result->outcome[s] = SHOAL_SURVIVED;
        result->t_initial[s] = 0;
        result->t_stop[s] = result->t_final[s] = 10 / time;
        memcpy(result->final + s * 21, row, sizeof row);
        assert_int_equal(shoal_result_append(at->context, result, 1, &s, &half, row[0]), SHOAL_OK);
    }
    return result;
}

static bool compare(const fixture *at, const shoal_result *a, const shoal_result *b,
                    const shoal_verify_options *options, char **text)
{
    size_t size = 0;
    bool same = false;
    FILE *out = open_memstream(text, &size);
    assert_int_equal(shoal_verify(at->context, a, b, options, out, &same), SHOAL_OK);
    fclose(out);
    return same;
}

enum { ID = -7, N_LIVE, OUTCOME, UNKNOWN, SNAPSHOT, TIME, CENTRAL };

static void results_are_compared(void **state)
{
    const fixture *at = *state;
    shoal_verify_options options = {.threshold = {1e-10, 1e-10, 1e-10, 1e-10}};
    static const struct {
        int what; /* quantity of body c in system 11, or below 0 */
        double factor, difference;
        const char *word;
    } cases[] = {
        {0, 1, 0, "same as itself"},
        {1, 1 + 3e-10, 3e-10, "position"},
        {5, 1 - 4e-10, 4e-10, "velocity"},
        {0, 1 + 5e-10, 5e-10, "mass"},
        {TIME, 1 + 6e-10, 6e-10, "time"},
        {SNAPSHOT, 1 + 3e-10, 3e-10, "position"},
        {CENTRAL, 1, 3e-10, "system 11, star, t = 10"}, /* its nearest planet is at 1 AU */
        {UNKNOWN, NAN, INFINITY, "position         inf"},
        {OUTCOME, 1, 0, "outcomes: 1 differ, the first in system 11 (survived, ejected)"},
        {N_LIVE, 1, 0, "number of bodies: 1 systems differ, first 11"},
        {ID, 1, 0, "only in the first file: 1 systems, first 11"},
    };
    const shoal_verify_options loose = {.threshold = {1e-9, 1e-9, 1e-9, 1e-9}};
    for (int i = 0; i < SHOAL_COUNT(cases); i++)
        for (int scaled = 0; scaled < 2; scaled++) { /* the other one in other units */
            shoal_result *a = make_result(at, 1, 1), *b = scaled ? make_result(at, 0.25, 4) : make_result(at, 1, 1);
            char *text = NULL;
            switch (cases[i].what) {
            case TIME: b->t_final[1] *= cases[i].factor; break;
            case SNAPSHOT: b->snapshot[35 + 1] *= cases[i].factor; break;
            case CENTRAL: b->final[21 + 1] = 3e-10 / b->units.length; break;
            case UNKNOWN: b->final[35 + 1] *= cases[i].factor; break;
            case OUTCOME: b->outcome[1] = SHOAL_EJECTED; break;
            case N_LIVE: b->n_live[1] = 2; break;
            case ID: b->id[1] = 10, b->id[0] = a->id[0] = 9; break;
            default: b->final[35 + cases[i].what] *= cases[i].factor;
            }
            const bool same = compare(at, a, b, &options, &text);
            if (same != (i == 0) || (i && !strstr(text, cases[i].word)))
                fail_msg("case %d: %s", i, text);
            assert_non_null(
                strstr(text, cases[i].what == ID ? "compared: 1 systems, 1" : "compared: 2 systems, 2 snapshots"));
            if (cases[i].what >= 0 && i) { /* which body, when, by how much */
                assert_non_null(strstr(text, "system 11, c, t = 10"));
                const double printed = strtod(strstr(text, cases[i].word) + 9, NULL);
                assert_true(fabs(printed - cases[i].difference) < 1e-12);
            }
            free(text);
            assert_int_equal(compare(at, a, b, &loose, &text), cases[i].difference < 1 && cases[i].what > OUTCOME);
            free(text);
            shoal_result_destroy(&a);
            shoal_result_destroy(&b);
        }
}

/* A body that is gone from both is no difference, and the next one takes its place in a table. */
static void gone_bodies(void **state)
{
    const fixture *at = *state;
    shoal_verify_options options = {.threshold = {1e-10, 1e-10, 1e-10, 1e-10}};
    shoal_result *a = make_result(at, 1, 1), *b = make_result(at, 1, 1);
    shoal_table table = {.context = at->context, .path = "result"};
    char *text;
    for (int q = 0; q < SHOAL_STATE; q++)
        a->final[21 + q] = b->final[21 + q] = NAN; /* the star of system 11 */
    b->final[35 + 1] += 3e-10;                     /* c is 1 AU from b, which comes first now */
    assert_false(compare(at, a, b, &options, &text));
    assert_non_null(strstr(text, "3e-10"));
    free(text);
    b->final[35 + 1] = a->final[35 + 1];
    assert_true(compare(at, a, b, &options, &text));
    free(text);
    assert_int_equal(shoal_table_from_result(a, (bool[]){true, true}, SHOAL_QUERY_FINAL, 0, false, &table), SHOAL_OK);
    assert_int_equal(table.n_systems, 2);
    assert_int_equal(table.systems[1].n_bodies, 2);
    assert_true(table.bodies[4].x == 2);
    assert_string_equal(table.names[2], "c");
    shoal_table_release(&table);
    shoal_result_destroy(&a);
    shoal_result_destroy(&b);
}

/* A result is the same as itself, whatever is in it: numbers are compared by place. */
static void unknown_numbers(void **state)
{
    const fixture *at = *state;
    shoal_verify_options options = {0};
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    char *text;
    for (int i = 0; i < SHOAL_COUNT(odd); i++)
        for (int q = 0; q <= SHOAL_STATE; q++) { /* the last one: all of them, and the times */
            shoal_result *a = make_result(at, 1, 1), *b = make_result(at, 1, 1), *known = make_result(at, 1, 1);
            shoal_result *of[] = {a, b};
            for (int k = 0; k < 2; k++) {
                for (int j = 0; j < SHOAL_STATE; j++)
                    if (q == j || q == SHOAL_STATE)
                        of[k]->final[j] = of[k]->final[35 + j] = of[k]->snapshot[7 + j] = odd[i];
                if (q == SHOAL_STATE)
                    of[k]->t_final[0] = of[k]->t_stop[1] = of[k]->snapshot_time[1] = odd[i];
            }
            if (!compare(at, a, b, &options, &text))
                fail_msg("%g in place %d: %s", odd[i], q, text);
            free(text);
            assert_false(compare(at, a, known, &options, &text));
            free(text);
            shoal_result_destroy(&a);
            shoal_result_destroy(&b);
            shoal_result_destroy(&known);
        }
}

/* What a file says steers no terminal. */
static void control_characters(void **state)
{
    const fixture *at = *state;
    static const struct {
        const char *text, *plain;
        bool is_plain;
    } cases[] = {
        {"", "", true},
        {"d's \"\xc3\xa9\xc2\xa0\"", "d's \"\xc3\xa9\xc2\xa0\"", true},
        {"a\x1b[2J\nb\x7f", "a?[2J?b?", false},
        {"\xc2\x9b", "??", false},
        {"\xc2", "\xc2", true},
    };
    char text[32];
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        strcpy(text, cases[i].text);
        assert_int_equal(shoal_is_plain(text), cases[i].is_plain);
        assert_string_equal(shoal_make_plain(text), cases[i].plain);
        assert_true(shoal_is_plain(text));
        assert_int_equal(shoal_fail(at->context, SHOAL_E_INPUT, "%s.", cases[i].text), SHOAL_E_INPUT);
        assert_true(shoal_is_plain(shoal_context_message(at->context)));
    }
    assert_false(shoal_is_name("\""));

    shoal_result *a = make_result(at, 1, 1), *b;
    strcpy(a->body_name[1], "b\x1b[2J");
    assert_int_equal(shoal_store_write(at->context, at->path, a), SHOAL_OK);
    assert_int_equal(shoal_report_read(at->context, at->path, &b), SHOAL_OK);
    assert_string_equal(b->body_name[1], "b?[2J");
    shoal_result_destroy(&a);
    shoal_result_destroy(&b);
}

/* Thresholds in the units of the first: c is at 2 AU. */
static void absolute_thresholds(void **state)
{
    const fixture *at = *state;
    shoal_result *a = make_result(at, 0.25, 4), *b = make_result(at, 1, 1);
    char *text;
    b->final[35 + 1] += 1e-6;
    shoal_verify_options options = {.threshold = {3.9e-6, 0, 0, 0}, .absolute = true};
    assert_false(compare(at, a, b, &options, &text));
    assert_non_null(strstr(text, "4e-06"));
    free(text);
    options.threshold[SHOAL_VERIFY_POSITION] = 4.1e-6;
    assert_true(compare(at, a, b, &options, &text));
    free(text);
    shoal_result_destroy(&a);
    shoal_result_destroy(&b);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {TEST(results_are_compared), TEST(gone_bodies), TEST(unknown_numbers),
                                       TEST(absolute_thresholds), TEST(control_characters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
