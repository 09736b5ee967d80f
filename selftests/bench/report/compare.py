# SPDX-License-Identifier: GPL-2.0-only
"""Which instruction counts have risen since an earlier run?

Other units are left out: they measure the machine, and what else it did.
"""

RISE = 1.03


def counts(results):
    return {(row["metric"], row["impl"], row["n"]): row["value"]
            for row in results if row["unit"] == "instructions"}


def compare(base, results):
    """Returns lines that tell, and whether nothing has risen."""
    before, after = counts(base), counts(results)
    common = [key for key in before if key in after]
    risen = [key for key in common if after[key] > before[key] * RISE]
    lines = [f"risen: {metric} of {impl} at {n:,}: {before[metric, impl, n]:g} -> "
             f"{after[metric, impl, n]:g} instructions"
             for metric, impl, n in risen]
    if not common:
        return lines + ["FAILED: the earlier run has no instruction count that this one has"], \
            False
    lines += [f"not measured now: {metric} of {impl} at {n:,}"
              for metric, impl, n in before if (metric, impl, n) not in after]
    verdict = "FAILED: " if risen else ""
    return lines + [f"{verdict}{len(risen)} of {len(common)} instruction counts have risen by "
                    f"more than {RISE - 1:.0%}"], not risen
