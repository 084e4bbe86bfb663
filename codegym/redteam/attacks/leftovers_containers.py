"""The answer in what only a container has: secrets, an engine within reach, metadata of its own."""

from __future__ import annotations

from codegym.redteam.attack import Finding, attack
from codegym.redteam.play import PROBE, Play

HISTORY = "Docker documentation: build arguments and layers stay in an image's history"
ESCAPE = "A container that can speak to its engine owns the host: OWASP Docker Security, rule 1"
METADATA = "CodeGym's own survey: files that an engine mounts into each container"


@attack("container-secrets", "leftovers", "Build secrets and environment files stay in the image",
        HISTORY)  # fmt: skip
async def secrets(play: Play) -> Finding:
    """Where builders and orchestrators put them; white-outs and layers that were left in."""
    places = "/run/secrets /.dockerenv /.dockerinit /run/.containerenv /kaniko /var/run/secrets"
    named = "'*/.wh.*' '*/.env' '*/Dockerfile*' '*/docker-compose*' '*/manifest.json' '*/layer.tar'"
    return await play.leak(f"{PROBE} files {places}; {PROBE} named {named}")


@attack("container-engine", "leftovers", "The engine's API answers from within", ESCAPE)
async def engine(play: Play) -> Finding:
    """On its ports and sockets, at every address that leads to a host."""
    told = (await play.bash(await play.lay("engine"))).output
    if gave := [line for line in told.splitlines() if line.startswith("OPEN ")]:
        return Finding("succeeded", "; ".join(gave[:3]))
    if "END" not in told:
        return Finding("refused", f"it did not come to its end: {told[-200:]}")
    return Finding("impossible", "no engine answers")


@attack("container-mounts", "leftovers", "Files that an engine mounts lead to the host's", METADATA)
async def mounted(play: Play) -> Finding:
    """Names, addresses and resolvers, and whatever else is no part of the image."""
    files = "cut -d' ' -f5 /proc/self/mountinfo | grep -vE '^/(proc|sys|dev)?(/|$)|^/$'"
    usual = "/etc/hosts /etc/hostname /etc/resolv.conf /etc/mtab"
    return await play.leak(f"({files}) | xargs -r {PROBE} files; {PROBE} files {usual}")
