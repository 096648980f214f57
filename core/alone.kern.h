/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * alone.kern.h: the text of the model `system` for the leader of a GPU's team, who makes alone what is rare and not worth sharing: words,
 * forces, monitors and the propagator once more, as if a thread had the whole system, in a namespace of their own. CUDA C++, included by a
 * propagator's text where TEAM > 1. The state that it is given has the layout of that model (team.h: team_hand_in, team_hand_out).
 *
 * Its loops stay rolled, since all that it points at is in memory anyhow.
 */
#undef SHOAL_TEAM_H
#undef TEAM
#undef N_BODIES
#undef LANE_UNROLL
#undef LANE_BIG_FN
#define TEAM 1
#define N_BODIES (TEAM_BODIES * (1 + SHOAL_VARIATIONAL))
#define LANE_UNROLL LANE_KEEP_ROLLED
#define LANE_BIG_FN LANE_CALLED_FN

namespace alone {
#include "core/team.h"
#include "gravitation/newton.kern.h"
#include "gravitation/forces.kern.h"
#include "monitors/observe.kern.h"
#include KERNEL_TEXT(PROPAGATOR)
}

#undef TEAM
#undef N_BODIES
#undef LANE_UNROLL
#undef LANE_BIG_FN
#define TEAM SHOAL_TEAM
#define N_BODIES ((TEAM_FIRST + TEAM_EACH) * (1 + SHOAL_VARIATIONAL))
#define LANE_UNROLL LANE_UNROLL_FULLY
#define LANE_BIG_FN LANE_FN
