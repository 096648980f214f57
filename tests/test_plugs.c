/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_plugs.c: the built-in descriptors say what their kernel texts say: counts of slots and parameters, the first
 * body, who chooses its steps, what a monitor sees. (Plugins': core/plug/plugin.c.)
 */
#include "testing.h"

/* the monitors' and the forces' texts at one lane */
#define LANES 1
#include "core/kernel/lane.h"
#include "core/kernel/known.kern.h"
#include "gravitation/newton.kern.h"
#include "gravitation/forces.kern.h"
#include "monitors/watch.kern.h"

#define assert_same(what, name, said, is) \
    if ((said) != (is))                   \
    fail_msg("%s: %s: %d in the descriptor, %d in the kernel text", name, what, (int)(said), (int)(is))

static void propagators_are_as_their_texts_say(void **state)
{
    (void)state;
    for (int i = 0; shoal_cpu_kernel_table[i]; i++) {
        const shoal_cpu_kernels *text = shoal_cpu_kernel_table[i];
        const shoal_propagator *propagator = shoal_propagator_find(NULL, text->propagator);
        assert_non_null(propagator);
        assert_same("n_slots", text->propagator, propagator->n_slots, text->n_slots);
        assert_same("n_own", text->propagator, propagator->n_own, text->n_own);
        assert_same("first_body", text->propagator, propagator->first_body, text->first_body);
        assert_same("adaptive", text->propagator, propagator->adaptive, text->adaptive);
    }
}

static void monitors_are_as_their_texts_say(void **state)
{
    const shoal_monitor *const *monitors = shoal_plugs_of(NULL)->monitors;
    (void)state;
#define MONITOR(name, sees)                                                                              \
    assert_same("n_slots", #name, monitors[SHOAL_MONITOR_##name]->n_slots, name##_SLOTS);                \
    assert_same("n_parameters", #name, monitors[SHOAL_MONITOR_##name]->n_parameters, name##_PARAMETERS); \
    assert_same("ends_only", #name, monitors[SHOAL_MONITOR_##name]->ends_only, SHOAL_SEES_##sees <= SHOAL_SEES_ENDS);
#include "monitors/list.h"
#undef MONITOR
}

static void forces_are_as_their_texts_say(void **state)
{
    const shoal_force *const *forces = shoal_plugs_of(NULL)->forces;
    (void)state;
#define FORCE(name) assert_same("n_parameters", #name, forces[SHOAL_FORCE_##name]->n_parameters, name##_PARAMETERS);
#include "gravitation/list.h"
#undef FORCE
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(propagators_are_as_their_texts_say),
        cmocka_unit_test(monitors_are_as_their_texts_say),
        cmocka_unit_test(forces_are_as_their_texts_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
