"""``codegym bench --network``: a real proxy, a plain mitmproxy and an origin, measured."""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_proxys_figures():
    command = [sys.executable, "-m", "codegym", "bench", "--network", "--json", "--times", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode == 3 and not os.environ.get("CI"):
        pytest.skip(f"NO EGRESS PROXY: {done.stderr}")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert set(figures) == {"memory_ratio", "proxy_overhead_ratio", "episode_add_ms"}
    assert all(each["p50"] > 0 and each["n"] > 0 for each in figures.values())
    # No figure of time is held to a value here, but what is kept of bodies is a promise.
    assert figures["memory_ratio"]["p50"] < 1.3
