#!/bin/sh
# Reproduce every study. Without a kernel (make lab) linux-handoffs has the simulator's side alone. Reports: out/STUDY/report.html.
#
#     sh examples/demo.sh [MIDFLIGHT]
set -eu
midflight="${1:-midflight}"
for study in daniel-kojo-2008 lim-jang-2009 izumikawa-ehn daniel-overview daniel-abest careful-resume related-work leo-schedule linux-handoffs; do
    "$midflight" reproduce "$study"
done
