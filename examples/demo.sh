#!/bin/sh
# Reproduce every study that needs no kernel. Reports: out/STUDY/report.html.
#
#     sh examples/demo.sh [MIDFLIGHT]
set -eu
midflight="${1:-midflight}"
for study in daniel-kojo-2008 lim-jang-2009 izumikawa-ehn daniel-overview daniel-abest careful-resume related-work leo-schedule; do
    "$midflight" reproduce "$study"
done
echo "linux-handoffs is left out: it needs a kernel. make lab builds one; then: $midflight reproduce linux-handoffs"
