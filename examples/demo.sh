#!/bin/sh
# Reproduce every study. Reports: out/STUDY/report.html.
#
#     sh examples/demo.sh [MIDFLIGHT]
set -eu
midflight="${1:-midflight}"
for study in daniel-kojo-2008 lim-jang-2009 izumikawa-ehn daniel-overview daniel-abest; do
    "$midflight" reproduce "$study"
done
