# SPDX-License-Identifier: Apache-2.0
# Sourced by Scripts/check-page, check-receiver-page and screenshots: sets page_python to a Python with selenium and axe-core.
for program in chromium chromedriver; do
    command -v "$program" >/dev/null || {
        echo "$0: $program is missing; apt-get install chromium chromium-driver" >&2
        exit 1
    }
done
page_python=.build/page/bin/python
if ! "$page_python" -c 'import selenium, axe_playwright_python' 2>/dev/null; then
    # Without the dependencies of the second one: only its copy of axe-core is used.
    if ! { python3 -m venv .build/page &&
        .build/page/bin/pip install --quiet --disable-pip-version-check 'selenium==4.*' &&
        .build/page/bin/pip install --quiet --disable-pip-version-check --no-deps 'axe-playwright-python==0.1.*'; }; then
        echo "$0: selenium and axe-core cannot be installed from PyPI" >&2
        exit 1
    fi
fi
export PYTHONDONTWRITEBYTECODE=1
