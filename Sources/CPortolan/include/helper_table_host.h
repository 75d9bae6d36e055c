/* SPDX-License-Identifier: Apache-2.0 */
/* For hosts only: the table of the extension portolan.helpers/1. */
#ifndef PORTOLAN_HELPER_TABLE_HOST_H
#define PORTOLAN_HELPER_TABLE_HOST_H

#include "portolan/helper_table.h"

PORTOLAN_BEGIN

/* The table, which is valid for as long as the process. */
const portolan_helper_table *portolan_host_helper_table(void);

PORTOLAN_END

#endif
