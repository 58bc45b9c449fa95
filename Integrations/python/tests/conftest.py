# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a double of the executable."""
    for name in [name for name in os.environ if name.startswith("FAKE_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("MARTLET", raising=False)
    script = tmp_path / "bin" / "martlet"
    script.parent.mkdir()
    double = Path(__file__).with_name("fake_martlet.py")
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{double}" "$@"\n')
    script.chmod(0o755)
    return str(script)
